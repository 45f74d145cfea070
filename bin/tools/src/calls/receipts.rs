//! Receipts of calls of tools.

use serde_json::Value;
use ziggurat_calls::{CallReceipt, Caller, mcp::Message};
use ziggurat_mcp::{self as mcp, Recorded};
use ziggurat_receipts::{canonical, open_arguments};

use crate::calls::{DeclaredTool, McpDoor};

// === impl McpDoor ===

impl McpDoor {
    /// Returns the receipt that a call of a tool gets, if it gets one.
    pub(super) fn receipt(
        &self,
        message: &Message<'_>,
        tool: Option<&DeclaredTool>,
        caller: &mcp::Caller,
        who: &Caller<'_>,
    ) -> Option<CallReceipt> {
        let receipt = self.calls.receipt(message, caller, who)?;
        let arguments = caller.arguments(message.call).unwrap_or("{}");
        let arguments: Value = serde_json::from_str(arguments).ok()?;
        let statement = match tool.map_or(Recorded::Nothing, |tool| tool.recorded) {
            Recorded::Statement(name) => arguments[name].as_str().map(str::to_owned),
            _ => None,
        };
        let hidden = message
            .subject
            .map(|name| self.sql_tools.hidden_arguments(name));
        let hidden = hidden.unwrap_or_default();
        let parameters = canonical(&open_arguments(arguments, &hidden));
        let receipt = receipt.with_statement(statement.as_deref());
        Some(receipt.with_parameters(parameters, hidden))
    }
}
