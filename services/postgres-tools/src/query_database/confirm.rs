//! Confirmation by the user before a statement writes.

use serde_json::json;
use tracing::warn;
use ziggurat_databases::Current;
use ziggurat_mcp::{Elicitation, Error, Question, Reported, ToolRequest, ToolResult};
use ziggurat_postgres::statement::Statement;

const KEY: &str = "confirm";

const DECLINED: &str = "The user did not confirm the statement, and it was not run.";

/// Limit on the bytes of a statement that are shown to the user.
const LONGEST: usize = 2000;

const UNKNOWN: &str = "It is not known whether this confirmation was used before, and the \
    statement was not run. Try again later.";

/// Asks the client's user to confirm a statement that may write, if the client supports it. Returns
/// `None` if the statement may run.
///
/// A client that cannot ask its user runs the statement without confirmation, like every client of
/// older revisions. An answer is valid for one run of this statement in this database: a client
/// that sends it a second time is asked again.
pub(super) async fn question(
    current: &Current,
    query: &str,
    statement: &Statement,
    request: &ToolRequest,
) -> Result<Option<ToolResult>, Error> {
    let context = request.caller().context();
    let can_ask = context.revision().is_modern() && context.capabilities().elicitation;
    if !can_ask || !current.database().allows_writes() || statement.only_reads() {
        return Ok(None);
    }
    let state = format!("write to {}", current.label());
    let inputs = request.inputs();
    let mut was_confirmed = false;
    if inputs.state() == Some(&state) {
        if inputs.is_declined(KEY) {
            return Err(Reported::new(DECLINED).into());
        }
        match inputs.form(KEY).and_then(|form| form.get(KEY)?.as_bool()) {
            Some(true) if use_up(request).await? => return Ok(None),
            Some(true) => was_confirmed = true,
            Some(false) => return Err(Reported::new(DECLINED).into()),
            // Without an answer the question is repeated.
            None => {}
        }
    }
    let ask = Elicitation::new().with(KEY, form(current.label(), query, was_confirmed));
    request.ask(ask.with_state(state)).map(Some)
}

async fn use_up(request: &ToolRequest) -> Result<bool, Reported> {
    request.use_up().await.map_err(|error| {
        let error: &dyn std::error::Error = &error;
        warn!(error, "cannot mark a confirmation as used");
        Reported::new(UNKNOWN)
    })
}

fn form(label: &str, query: &str, was_confirmed: bool) -> Question {
    let shown = &query[..query.floor_char_boundary(LONGEST)];
    let cut = if shown.len() < query.len() {
        " …"
    } else {
        ""
    };
    let before = if was_confirmed {
        "This confirmation is used up, and the statement may have been run with it already.\n\n"
    } else {
        ""
    };
    let message =
        format!("{before}May this statement be run in the database {label}?\n\n{shown}{cut}");
    let schema = json!({
        "type": "object",
        "properties": {KEY: {
            "type": "boolean",
            "title": "Run the statement",
            "description": "It may change or remove data.",
        }},
        "required": [KEY],
    });
    Question::form(message, schema)
}
