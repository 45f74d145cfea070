//! What the servers say of themselves, in OpenAPI 3.0.3.
//!
//! A document is put together from the handlers (`tools`, `rag`, `platform`), lowered from the
//! revision utoipa writes to the one clients read ([`v3_0`]), and committed as JSON; a test fails
//! when the two differ. A server sends the committed bytes: it knows nothing of how they came to be.
//!
//! ```
//! let document: serde_json::Value = serde_json::from_str(ziggurat_openapi::TOOLS)?;
//! assert_eq!(document["openapi"], "3.0.3");
//! assert!(document["paths"]["/health"]["get"].is_object());
//! # Ok::<_, serde_json::Error>(())
//! ```
//!
//! After a change to a handler: `cargo run -p ziggurat-openapi > openapi/ziggurat-tools.json`,
//! or the same with `-- rag` or `-- platform` for the others.

pub mod platform;
pub mod rag;
pub mod tools;
pub mod v3_0;

use serde_json::{Map, Value, json};

/// The document of the tool server, JSON.
pub const TOOLS: &str = include_str!("../ziggurat-tools.json");

/// The document of the retrieval server, JSON.
pub const RAG: &str = include_str!("../ziggurat-rag.json");

/// The document of the account service, JSON.
pub const PLATFORM: &str = include_str!("../ziggurat-platform.json");

/// A page that shows the document of the server it comes from. It needs nothing from anywhere
/// else.
pub const PAGE: &str = include_str!("page.html");

/// Where the page looks for the document.
pub const PATH: &str = "/api/openapi.json";

/// What describes all of it describes itself.
fn itself(name: &str, tag: &str) -> Value {
    json!({
        "operationId": name,
        "tags": [tag],
        "summary": "This document",
        "responses": {"200": {
            "description": "OpenAPI 3.0.3",
            "content": {"application/json": {"schema": {"type": "object"}}},
        }},
    })
}

/// The members of an object; none of anything else.
fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_documents_are_those_of_the_handlers() {
        for (name, committed, generated) in [
            ("tools", TOOLS, tools::document()),
            ("rag", RAG, rag::document()),
            ("platform", PLATFORM, platform::document()),
        ] {
            let committed: Value = serde_json::from_str(committed).expect("JSON");
            let generated = generated.expect("nothing unknown");
            if std::env::var_os("ZIGGURAT_BLESS").is_some() && generated != committed {
                let path = format!("{}/ziggurat-{name}.json", env!("CARGO_MANIFEST_DIR"));
                let text = serde_json::to_string_pretty(&generated).expect("JSON");
                std::fs::write(path, text + "\n").expect("written");
                continue;
            }
            assert!(
                generated == committed,
                "run `cargo run -p ziggurat-openapi -- {name} > openapi/ziggurat-{name}.json`, or \
                 this test with ZIGGURAT_BLESS=1"
            );
        }
    }

    #[test]
    fn every_operation_has_a_name_of_its_own() {
        for document in [tools::document(), rag::document(), platform::document()] {
            let document = document.expect("nothing unknown");
            let mut names = Vec::new();
            for methods in document["paths"].as_object().expect("paths").values() {
                for operation in methods.as_object().expect("methods").values() {
                    let name = operation["operationId"].as_str().expect("a name");
                    names.push(name.to_owned());
                    assert!(operation["summary"].is_string(), "{operation}");
                }
            }
            let count = names.len();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), count, "{names:?}");
        }
    }

    #[test]
    fn the_page_needs_nothing_from_elsewhere() {
        for elsewhere in ["http:", "https:", "src=", "@import", "url(", "//cdn"] {
            assert!(!PAGE.contains(elsewhere), "{elsewhere}");
        }
        assert!(PAGE.contains(PATH));
    }
}
