//! Confirmation by the user before a statement writes.

use ziggurat_answers::confirm::{self, Confirmation};
use ziggurat_databases::Current;
use ziggurat_mcp::{Error, ToolRequest, ToolResult};
use ziggurat_postgres::statement::Statement;

/// Limit on the bytes of a statement that are shown to the user.
const LONGEST: usize = 2000;

/// Asks the client's user to confirm a statement that may write, if the client supports it. Returns
/// `None` if the statement may run.
///
/// A client that cannot ask its user runs the statement without confirmation, like every client of
/// older revisions.
pub(super) async fn question(
    current: &Current,
    query: &str,
    statement: &Statement,
    request: &ToolRequest,
) -> Result<Option<ToolResult>, Error> {
    if !confirm::can_ask(request) || !current.database().allows_writes() || statement.only_reads() {
        return Ok(None);
    }
    let label = current.label();
    let shown = &query[..query.floor_char_boundary(LONGEST)];
    let cut = if shown.len() < query.len() {
        " …"
    } else {
        ""
    };
    let confirmation = Confirmation {
        state: format!("write to {label}"),
        message: format!("May this statement be run in the database {label}?\n\n{shown}{cut}"),
        subject: "statement",
    };
    confirmation.question(request).await
}
