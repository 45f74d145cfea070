//! Values that a closure may return.

use serde::Serialize;

#[cfg(feature = "schemars")]
use crate::Schema;
use crate::{Block, Error, Structure, Text, ToolResult};

/// A value that can be the result of a tool.
pub trait IntoResult: Send {
    /// Converts the value.
    ///
    /// # Errors
    ///
    /// Returns an error if the value has no JSON form.
    fn into_result(self) -> Result<ToolResult, Error>;
}

/// A result as a structure for programs, and as the same JSON in text for models.
///
/// ```
/// use ziggurat_mcp::{Json, Schema, Tool};
///
/// #[derive(serde::Deserialize)]
/// struct Nothing {}
///
/// #[derive(serde::Serialize)]
/// struct Load {
///     one_minute: f64,
/// }
///
/// let load = Tool::with_schema("load", "The load.", Schema::new(), |_: Nothing| async {
///     Ok(Json(Load { one_minute: 0.25 }))
/// });
/// # let _ = load;
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Json<T>(pub T);

/// A result with a schema, for the closures of [`Tool::new`](crate::Tool::new).
#[cfg(feature = "schemars")]
pub trait DescribedResult: IntoResult {
    /// Returns the schema of the structure, if every result has one.
    #[must_use]
    fn schema() -> Option<Schema> {
        None
    }
}

// === impl IntoResult ===

impl IntoResult for ToolResult {
    fn into_result(self) -> Result<ToolResult, Error> {
        Ok(self)
    }
}

impl IntoResult for Text {
    fn into_result(self) -> Result<ToolResult, Error> {
        Ok(ToolResult::text(self))
    }
}

impl IntoResult for String {
    fn into_result(self) -> Result<ToolResult, Error> {
        Ok(ToolResult::text(self))
    }
}

impl IntoResult for &str {
    fn into_result(self) -> Result<ToolResult, Error> {
        Ok(ToolResult::text(self))
    }
}

impl IntoResult for () {
    fn into_result(self) -> Result<ToolResult, Error> {
        Ok(ToolResult::text(Text::new()))
    }
}

impl IntoResult for Block {
    fn into_result(self) -> Result<ToolResult, Error> {
        Ok(ToolResult::blocks([self]))
    }
}

impl IntoResult for Vec<Block> {
    fn into_result(self) -> Result<ToolResult, Error> {
        Ok(ToolResult::blocks(self))
    }
}

impl<T: Serialize + Send> IntoResult for Json<T> {
    fn into_result(self) -> Result<ToolResult, Error> {
        let structure = Structure::new(&self.0).map_err(Error::internal)?;
        let json = structure.as_json();
        Ok(ToolResult::text(json).with_structure(Some(structure)))
    }
}

// === impl DescribedResult ===

#[cfg(feature = "schemars")]
impl DescribedResult for ToolResult {}

#[cfg(feature = "schemars")]
impl DescribedResult for Text {}

#[cfg(feature = "schemars")]
impl DescribedResult for String {}

#[cfg(feature = "schemars")]
impl DescribedResult for &str {}

#[cfg(feature = "schemars")]
impl DescribedResult for () {}

#[cfg(feature = "schemars")]
impl DescribedResult for Block {}

#[cfg(feature = "schemars")]
impl DescribedResult for Vec<Block> {}

#[cfg(feature = "schemars")]
impl<T: Serialize + Send + schemars::JsonSchema> DescribedResult for Json<T> {
    fn schema() -> Option<Schema> {
        Some(Schema::of_output::<T>())
    }
}
