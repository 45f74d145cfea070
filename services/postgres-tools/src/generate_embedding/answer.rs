//! The answer with a vector.

use std::fmt::Write as _;

use serde::Serialize;
use ziggurat_llm::Embedder;
use ziggurat_mcp::{Property, Schema, Structure};

const RULE: &str = "==================================================";

/// Note on vectors of the local embedder, which are too weak for regular use.
const LOCAL: &str = "made by the server itself from words and parts of words, for trying things \
    out; no model was asked, and it compares with no vector of another provider.";

/// The structured answer.
#[derive(Serialize)]
struct Embedded<'a> {
    provider: &'a str,
    model: &'a str,
    dimensions: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
    embedding: &'a [f32],
}

/// Returns the schema of the structured answer.
pub(super) fn schema() -> Schema {
    let dimensions = Property::integer("The number of dimensions.").with_minimum(1);
    Schema::new()
        .with_required("provider", Property::string("The provider of the vector."))
        .with_required("model", Property::string("The model of the vector."))
        .with_required("dimensions", dimensions)
        .with_optional("note", Property::string("The limits of the vector."))
        .with_required("embedding", Property::numbers("The vector."))
}

/// Makes the structured answer.
pub(super) fn structure(embedder: &Embedder, vector: &[f32]) -> Structure {
    let answer = Embedded {
        provider: embedder.provider(),
        model: embedder.model(),
        dimensions: vector.len(),
        note: embedder.is_local().then_some(LOCAL),
        embedding: vector,
    };
    Structure::new(&answer).expect("texts and numbers are JSON")
}

/// Writes a vector, with its provider, its model and its text.
pub(super) fn write(embedder: &Embedder, text: &str, vector: &[f32]) -> String {
    let (provider, model, dimensions) = (embedder.provider(), embedder.model(), vector.len());
    let letters = text.chars().count();
    let note = if embedder.is_local() {
        format!("Note: {LOCAL}\n")
    } else {
        String::new()
    };
    let mut answer = format!(
        "Embedding Generated Successfully\n{RULE}\n\nProvider: {provider}\nModel: {model}\n\
         Dimensions: {dimensions}\nText Length: {letters} characters\n{note}\nText:\n{text}\n\n\
         Embedding Vector ({dimensions} dimensions):\n["
    );
    for (at, number) in vector.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        // Writing to a string cannot fail, and the shortest form of a number is JSON.
        let _ = write!(answer, "{comma}\n  {number}");
    }
    answer.push_str("\n]");
    answer
}
