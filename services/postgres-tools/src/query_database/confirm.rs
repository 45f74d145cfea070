//! Confirmation by the user before a statement writes.

use ziggurat_answers::confirm::{self, Confirmation};
use ziggurat_databases::Current;
use ziggurat_mcp::{Error, ToolRequest, ToolResult};
use ziggurat_text::hidden;

/// Question to the user of a client, if a statement may write.
///
/// A client that cannot ask its user runs the statement without confirmation, like every client of
/// older revisions.
pub(super) struct WriteQuestion<'a> {
    current: &'a Current,
    query: &'a str,
    request: &'a ToolRequest,
}

// === impl WriteQuestion ===

impl<'a> WriteQuestion<'a> {
    /// Returns `None` if the database allows no writes, or the client cannot ask.
    pub(super) fn new(
        current: &'a Current,
        query: &'a str,
        request: &'a ToolRequest,
    ) -> Option<Self> {
        let is_open = confirm::can_ask(request) && current.database().allows_writes();
        is_open.then_some(Self {
            current,
            query,
            request,
        })
    }

    /// Returns whether the call answers a question.
    pub(super) fn is_answered(&self) -> bool {
        self.request.inputs().state().is_some()
    }

    /// Asks the user. Returns `None` if the statement may write.
    pub(super) async fn ask(&self) -> Result<Option<ToolResult>, Error> {
        let confirmation = confirmation(self.current, self.query);
        confirmation.question(self.request).await
    }
}

/// Returns the question for a statement.
pub(super) fn confirmation(current: &Current, query: &str) -> Confirmation {
    let (label, shown) = (current.label(), indented(query));
    Confirmation {
        state: format!("write to {label}"),
        message: format!("May this statement be run in the database {label}?\n\n    {shown}"),
        subject: "statement",
        structure: None,
    }
}

/// Writes a statement with all lines but the first indented, so that none of them looks like one of
/// the question.
pub(super) fn indented(query: &str) -> String {
    let lines: Vec<_> = query.split(['\n', '\r']).map(hidden::escaped).collect();
    lines.join("\n    ")
}
