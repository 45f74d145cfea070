//! What a caller reads of a vector.

use std::fmt::Write as _;

use crate::llm::Embedder;

const RULE: &str = "==================================================";

/// Said of vectors nobody would want to search by for long.
const LOCAL: &str = "Note: made by the server itself from words and parts of words, for trying \
    things out; no model was asked, and it compares with no vector of another provider.\n";

/// Writes a vector down, with where it comes from and what it is of.
pub(super) fn write(embedder: &Embedder, text: &str, vector: &[f32]) -> String {
    let (provider, model, dimensions) = (embedder.provider(), embedder.model(), vector.len());
    let letters = text.chars().count();
    let note = if embedder.is_local() { LOCAL } else { "" };
    let mut answer = format!(
        "Embedding Generated Successfully\n{RULE}\n\nProvider: {provider}\nModel: {model}\n\
         Dimensions: {dimensions}\nText Length: {letters} characters\n{note}\nText:\n{text}\n\n\
         Embedding Vector ({dimensions} dimensions):\n["
    );
    for (at, number) in vector.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        // Writing to a text does not fail, and the shortest form of a number is JSON.
        let _ = write!(answer, "{comma}\n  {number}");
    }
    answer.push_str("\n]");
    answer
}
