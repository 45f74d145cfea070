//! Generates the documents from the handlers and compares them with those that are committed.

mod platform;
mod rag;
mod sign_in;
mod tools;
mod v3_0;

use serde_json::{Map, Value, json};

use crate::{PLATFORM, RAG, TOOLS};

/// Describes the operation that returns the document.
fn document_path(name: &str, tag: &str) -> Value {
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

/// Returns the members of an object, and none of any other value.
fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

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
            "run this test with ZIGGURAT_BLESS=1 and commit openapi/ziggurat-{name}.json"
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
