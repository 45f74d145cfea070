//! Whoever makes the vectors.

use std::fmt::Display;

use ziggurat_llm::{self as llm, Embedder};

/// Makes the vectors of texts.
///
/// The same one has to make those of the passages and those of the questions.
pub trait Embed: Send + Sync {
    /// Why there is no vector; shown to whoever asked for it.
    type Error: Display + Send;

    /// Makes the vector of a text.
    fn vector(&self, text: &str) -> impl Future<Output = Result<Vec<f32>, Self::Error>> + Send;
}

// === impl Result ===

/// One that may not be there, and says why when it is asked.
impl<T: Embed, P: Display + Send + Sync> Embed for Result<T, P> {
    type Error = String;

    async fn vector(&self, text: &str) -> Result<Vec<f32>, String> {
        let embedder = self.as_ref().map_err(ToString::to_string)?;
        let vector = embedder.vector(text).await;
        vector.map_err(|error| error.to_string())
    }
}

// === impl Embedder ===

impl Embed for Embedder {
    type Error = llm::Error;

    async fn vector(&self, text: &str) -> Result<Vec<f32>, llm::Error> {
        Ok(self.embed(text).await?.vector)
    }
}
