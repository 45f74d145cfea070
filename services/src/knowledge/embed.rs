//! Whoever makes the vectors.

use std::fmt::Display;

/// Makes the vectors of texts.
///
/// The same one has to make those of the passages and those of the questions.
pub trait Embed: Send + Sync {
    /// Why there is no vector; shown to whoever asked for it.
    type Error: Display + Send;

    /// Makes the vector of a text.
    fn vector(&self, text: &str) -> impl Future<Output = Result<Vec<f32>, Self::Error>> + Send;
}
