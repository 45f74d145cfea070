//! The tools of the suite.

mod eliciting;
mod notifying;
pub(crate) mod plain;

use ziggurat_mcp::{Error, Schema, ToolDescriptor, ToolHandler, ToolRequest, ToolResult, Tools};

use crate::client_requests::ClientRequests;

/// A tool that is a function.
struct Act<F> {
    name: &'static str,
    schema: Schema,
    function: F,
}

impl<F, A> ToolHandler for Act<F>
where
    F: Fn(ToolRequest) -> A + Send + Sync + 'static,
    A: Future<Output = Result<ToolResult, Error>> + Send,
{
    fn describe(&self) -> ToolDescriptor {
        ToolDescriptor::new(self.name, "A tool for tests.", self.schema.clone())
    }

    async fn call(&self, request: ToolRequest) -> Result<ToolResult, Error> {
        (self.function)(request).await
    }
}

/// Adds a function without arguments.
fn add<F, A>(tools: Tools, name: &'static str, function: F) -> Tools
where
    F: Fn(ToolRequest) -> A + Send + Sync + 'static,
    A: Future<Output = Result<ToolResult, Error>> + Send + 'static,
{
    let schema = Schema::new();
    tools.with(Act {
        name,
        schema,
        function,
    })
}

pub(crate) fn all(client: &ClientRequests) -> Tools {
    let tools = plain::add_to(Tools::new());
    let tools = notifying::add_to(tools, client);
    eliciting::add_to(tools)
}
