//! `read_resource`: reads resources for clients that can only call tools.

use std::fmt::{self, Write as _};

use serde::Deserialize;

use crate::{
    Annotations, Caller, EntryKind, Error, Lenient, Property, Reported, Resources, Schema,
    ToolDescriptor, ToolHandler, ToolRequest, ToolResult, record::LogIds,
};

const MISSING_URI: &str = "Error: 'uri' parameter is required. \
    Call read_resource with list set to true to see which URIs there are.";

/// Reads a resource by its URI, or lists all resources.
#[derive(Clone, Debug)]
pub struct ReadResource {
    resources: Resources,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Arguments {
    uri: Lenient<String>,
    list: Lenient<bool>,
}

// === impl ReadResource ===

impl ReadResource {
    /// Makes a tool that reads the resources the server lists.
    #[must_use]
    pub fn new(resources: Resources) -> Self {
        Self { resources }
    }

    async fn list(&self, caller: Caller) -> Result<String, Error> {
        let resources = match self.resources.listed(&caller, None) {
            Some(listed) => {
                let listed = listed.await.map_err(|failure| unreadable(&failure))?;
                listed.resources
            }
            None => self.resources.descriptors().cloned().collect(),
        };
        let mut list = String::from("Available Resources:\n====================\n\n");
        for resource in resources
            .iter()
            .filter(|it| caller.sees(EntryKind::Resource, &it.uri))
        {
            write!(
                list,
                "URI: {}\nName: {}\nDescription: {}\nMIME Type: {}\n\n",
                resource.uri, resource.name, resource.description, resource.mime_type,
            )
            .expect("a string takes all that is written");
        }
        Ok(list)
    }

    async fn read(&self, uri: &str, caller: Caller) -> Result<String, Reported> {
        let ids = LogIds::of(&caller);
        let is_seen = caller.sees(EntryKind::Resource, uri);
        let contents = is_seen.then(|| self.resources.read(uri, caller, false));
        let read = match contents.flatten() {
            Some(contents) => contents.await,
            None => Ok(None),
        };
        match read {
            Ok(Some(contents)) => Ok(contents.text),
            Ok(None) => Err(unreadable(format_args!("Resource not found: {uri}"))),
            Err(failure) => {
                ids.log(&failure, "tools/call", uri);
                Err(unreadable(&failure))
            }
        }
    }
}

impl ToolHandler for ReadResource {
    fn describe(&self) -> ToolDescriptor {
        let uri = Property::string(
            "The URI of the resource, as `list` shows it; for example pg://system_info.",
        );
        let list =
            Property::boolean("List the resources instead of reading one.").with_default(false);
        ToolDescriptor::new(
            "read_resource",
            "Reads one of the server's resources by its URI, or lists them all. Resources are \
             facts about the server and its database that need no query: ask for the list first \
             if the URI is not known.",
            Schema::new()
                .with_optional("uri", uri)
                .with_optional("list", list),
        )
        .with_title("Read a resource")
        .with_annotations(Annotations::reading())
        // Clients without support for resources depend on it.
        .with_always_enabled()
    }

    async fn call(&self, request: ToolRequest) -> Result<ToolResult, Error> {
        let arguments: Arguments = request.arguments()?;
        if arguments.list.0.unwrap_or_default() {
            return Ok(ToolResult::text(self.list(request.into_caller()).await?));
        }
        let uri = arguments.uri.or_report(MISSING_URI)?;
        let text = self.read(&uri, request.into_caller()).await?;
        Ok(ToolResult::text(text))
    }
}

fn unreadable(problem: impl fmt::Display) -> Reported {
    Reported::new(format!("Error reading resource: {problem}"))
}
