//! Values that a closure may return.

use serde::Serialize;

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
