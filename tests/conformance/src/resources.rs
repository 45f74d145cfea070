//! The resources of the suite.

use serde_json::json;
use ziggurat_mcp::{
    Caller, Placeholders, ReadError, ResourceDescriptor, ResourceHandler,
    ResourceTemplateDescriptor, Resources, TemplateHandler,
};

/// An image of one pixel.
pub(crate) const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

struct Static {
    uri: &'static str,
    mime_type: &'static str,
    text: &'static str,
    is_bytes: bool,
}

struct Data;

impl ResourceHandler for Static {
    fn describe(&self) -> ResourceDescriptor {
        let name = self.uri.trim_start_matches("test://");
        let about = ResourceDescriptor::new(self.uri, name, "Always the same.")
            .with_mime_type(self.mime_type);
        if self.is_bytes {
            about.with_bytes()
        } else {
            about
        }
    }

    async fn read(&self, _: Caller) -> Result<String, ReadError> {
        Ok(self.text.to_owned())
    }
}

impl TemplateHandler for Data {
    fn describe(&self) -> ResourceTemplateDescriptor {
        ResourceTemplateDescriptor::new(
            "test://template/{id}/data",
            "template-data",
            "Data under any id.",
        )
    }

    async fn read(
        &self,
        placeholders: Placeholders,
        _: Caller,
    ) -> Result<Option<String>, ReadError> {
        let id = placeholders.get("id").unwrap_or_default();
        let data = format!("Data for ID: {id}");
        let text = json!({"id": id, "templateTest": true, "data": data});
        Ok(Some(text.to_string()))
    }

    async fn complete(&self, _: String, _: Placeholders, _: Caller) -> Vec<String> {
        Vec::new()
    }
}

pub(crate) fn all() -> Resources {
    let text = |uri, text| Static {
        uri,
        mime_type: "text/plain",
        text,
        is_bytes: false,
    };
    Resources::new()
        .with(text(
            "test://static-text",
            "This is the content of the static text resource.",
        ))
        .with(text("test://watched-resource", "Watched."))
        .with(Static {
            uri: "test://static-binary",
            mime_type: "image/png",
            text: PNG,
            is_bytes: true,
        })
        .with_template(Data)
}
