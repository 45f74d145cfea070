//! Results with a schema.

use serde::Serialize;

use crate::{Block, IntoResult, Json, Schema, Text, ToolResult};

/// A result with a schema, for the closures of [`Tool::new`](crate::Tool::new).
pub trait DescribedResult: IntoResult {
    /// Returns the schema of the structure, if every result has one.
    #[must_use]
    fn schema() -> Option<Schema> {
        None
    }
}

// === impl DescribedResult ===

impl DescribedResult for ToolResult {}

impl DescribedResult for Text {}

impl DescribedResult for String {}

impl DescribedResult for &str {}

impl DescribedResult for () {}

impl DescribedResult for Block {}

impl DescribedResult for Vec<Block> {}

impl<T: Serialize + Send + schemars::JsonSchema> DescribedResult for Json<T> {
    fn schema() -> Option<Schema> {
        Some(Schema::of_output::<T>())
    }
}
