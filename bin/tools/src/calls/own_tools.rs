//! Records of calls of the operator's own tools.

use std::sync::Arc;

use ziggurat_audit::Record;
use ziggurat_sql_tools::CallRecord;

use crate::calls::{CallObserver, Start};

// === impl CallObserver ===

impl CallObserver {
    /// Returns whether a call names a tool of the operator that exists, but not for its caller.
    pub(super) fn hides_own_tool(&self, start: &Start<'_>) -> bool {
        let hides = |tool| self.sql_tools.hide(tool, &self.databases, start.caller);
        start.method == Some("tools/call") && start.subject.is_some_and(hides)
    }

    /// Adds the statement and the arguments of a call, if it is one of a tool of the operator that its
    /// caller sees. Returns whether it is.
    pub(super) fn add_own_tool(&self, record: &Record, start: &Start<'_>) -> bool {
        if start.is_hidden || start.method != Some("tools/call") {
            return false;
        }
        let (tool, arguments) = (
            start.subject.unwrap_or_default(),
            start.caller.arguments(start.call),
        );
        let Some(own) = self.sql_tools.record(tool, arguments, start.caller) else {
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
            && let Some(database) = self.database_of_own(start, &own)
        {
            record.database(&database);
        }
        true
    }

    /// Returns the name of the database that a tool of the operator works on.
    fn database_of_own(&self, start: &Start<'_>, own: &CallRecord<'_>) -> Option<Arc<str>> {
        let database = match own.database() {
            None => self.databases.current(start.identity).ok()?,
            Some(name) => self.databases.named(start.identity, name)?,
        };
        Some(database.label().into())
    }
}
