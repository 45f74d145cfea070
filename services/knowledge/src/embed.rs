//! Embedders: they make the vectors.

use std::fmt::Display;

use ziggurat_llm::{self as llm, Embedder};
use ziggurat_telemetry::traces::Trace;

/// Makes the vectors of texts.
///
/// Passages and questions need the same one.
pub trait Embed: Send + Sync {
    /// The reason why there is no vector; shown to the caller.
    type Error: Display + Send;

    /// Makes the vector of a text, for a call with a trace.
    fn vector(
        &self,
        text: &str,
        trace: Trace,
    ) -> impl Future<Output = Result<Vec<f32>, Self::Error>> + Send;

    /// Returns the maximum number of texts for [`vectors`](Self::vectors).
    fn max_batch(&self) -> usize {
        1
    }

    /// Makes the vectors of several texts, in their order.
    fn vectors(
        &self,
        texts: &[&str],
    ) -> impl Future<Output = Result<Vec<Vec<f32>>, Self::Error>> + Send {
        async move {
            let mut vectors = Vec::with_capacity(texts.len());
            for text in texts {
                vectors.push(self.vector(text, Trace::off()).await?);
            }
            Ok(vectors)
        }
    }
}

// === impl Embedder ===

impl Embed for Embedder {
    type Error = llm::Error;

    async fn vector(&self, text: &str, trace: Trace) -> Result<Vec<f32>, llm::Error> {
        Ok(self.with_trace(trace).embed(text).await?.vector)
    }

    fn max_batch(&self) -> usize {
        Self::max_batch(self)
    }

    async fn vectors(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, llm::Error> {
        self.embed_all(texts, Self::max_batch(self)).await
    }
}
