//! Records of calls of the operator's own tools.

use std::sync::Arc;

use ziggurat_audit::Record;
use ziggurat_calls::mcp::{CALL, Message};
use ziggurat_mcp::Caller;
use ziggurat_sql_tools::CallRecord;

use crate::calls::McpDoor;

// === impl McpDoor ===

impl McpDoor {
    /// Returns whether a call names a tool of the operator that exists, but not for its caller.
    pub(super) fn hides_own_tool(&self, message: &Message<'_>, caller: &Caller) -> bool {
        let hides = |tool| self.sql_tools.hide(tool, &self.databases, caller);
        message.method == Some(CALL) && message.subject.is_some_and(hides)
    }

    /// Adds the statement and the arguments of a call, if it is one of a tool of the operator. Returns
    /// whether it is.
    pub(super) fn add_own_tool(
        &self,
        record: &Record,
        message: &Message<'_>,
        caller: &Caller,
    ) -> bool {
        let tool = message.subject.filter(|_| message.method == Some(CALL));
        let arguments = caller.arguments(message.call);
        let own = tool.and_then(|tool| {
            self.sql_tools
                .record(tool, arguments, &self.databases, caller)
        });
        let Some(own) = own else {
            return false;
        };
        if let Some(statement) = &own.statement {
            record.statement(statement);
        }
        if record.has_arguments()
            && let Ok(json) = serde_json::to_string(&own)
        {
            record.arguments(&json);
        }
        if record.is_required()
            && let Some(database) = self.database_of_own(caller, &own)
        {
            record.database(&database);
        }
        true
    }

    /// Returns the name of the database that a tool of the operator works on.
    fn database_of_own(&self, caller: &Caller, own: &CallRecord<'_>) -> Option<Arc<str>> {
        let identity = caller.extension();
        let database = match own.database() {
            None => self.databases.current(identity).ok()?,
            Some(name) => self.databases.named(identity, name)?,
        };
        Some(database.label().into())
    }
}
