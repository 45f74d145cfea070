//! What the servers say of themselves, in OpenAPI 3.0.3.
//!
//! A document is put together from the handlers (`tools`), lowered from the revision utoipa
//! writes to the one clients read ([`v3_0`]), and committed as JSON; a test fails when the two
//! differ. A server sends the committed bytes: it knows nothing of how they came to be.
//!
//! ```
//! let document: serde_json::Value = serde_json::from_str(ziggurat_openapi::TOOLS)?;
//! assert_eq!(document["openapi"], "3.0.3");
//! assert!(document["paths"]["/health"]["get"].is_object());
//! # Ok::<_, serde_json::Error>(())
//! ```
//!
//! After a change to a handler: `cargo run -p ziggurat-openapi > openapi/ziggurat-tools.json`.

pub mod tools;
pub mod v3_0;

/// The document of the tool server, JSON.
pub const TOOLS: &str = include_str!("../ziggurat-tools.json");

/// A page that shows the document of the server it comes from. It needs nothing from anywhere
/// else.
pub const PAGE: &str = include_str!("page.html");

/// Where the page looks for the document.
pub const PATH: &str = "/api/openapi.json";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_document_is_the_one_of_the_handlers() {
        let generated = tools::document().expect("nothing unknown");
        let committed: serde_json::Value = serde_json::from_str(TOOLS).expect("JSON");
        assert!(
            generated == committed,
            "run `cargo run -p ziggurat-openapi > openapi/ziggurat-tools.json`"
        );
    }

    #[test]
    fn every_operation_has_a_name_of_its_own() {
        let document = tools::document().expect("nothing unknown");
        let mut names = Vec::new();
        for methods in document["paths"].as_object().expect("paths").values() {
            for operation in methods.as_object().expect("methods").values() {
                names.push(
                    operation["operationId"]
                        .as_str()
                        .expect("a name")
                        .to_owned(),
                );
                assert!(operation["summary"].is_string(), "{operation}");
            }
        }
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count, "{names:?}");
    }

    #[test]
    fn the_page_needs_nothing_from_elsewhere() {
        for elsewhere in ["http:", "https:", "src=", "@import", "url(", "//cdn"] {
            assert!(!PAGE.contains(elsewhere), "{elsewhere}");
        }
        assert!(PAGE.contains(PATH));
    }
}
