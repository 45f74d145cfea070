//! Statements in responses.

use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;
use ziggurat_sql::normalized;

use crate::activity::{
    part::Ended,
    slot::{Facts, State, shown_id},
};

/// A statement that runs.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RunningStatement {
    #[serde(flatten)]
    about: About,
    /// `waiting` (for a place or for a connection), `running`, `sending` or `cancelling`.
    state: &'static str,
}

/// A statement that has ended.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = FinishedStatement)]
pub(crate) struct Finished {
    #[serde(flatten)]
    about: About,
    /// The end, in the words of the audit trail: `ok`, `error`, `refused`, `limited`, `timeout`,
    /// `cancelled`, `failed` and others.
    outcome: &'static str,
    /// The SQLSTATE or another code of the error.
    code: Option<String>,
}

/// Form of the text of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextView {
    /// The text that was sent.
    Whole,
    /// The text with `?` for literals.
    Normalized,
    /// The name of the tool that has it.
    Tool,
}

/// Facts about a statement.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StatementFacts)]
pub(crate) struct About {
    /// Id by which it is cancelled.
    id: String,
    caller: StatementCaller,
    /// The way in: `http`, `stdio` or `rest`.
    via: &'static str,
    /// The tool, or the path of the request.
    tool: String,
    /// Name of the database.
    database: String,
    /// The text; null if it is not shown. Of a statement of the operator, callers who are not
    /// administrators get the name of the tool. If columns are masked, texts of other callers have `?`
    /// for literals.
    statement: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    started_at: Timestamp,
    /// Time from its start, in milliseconds.
    ms: f64,
    /// Rows so far.
    rows: u64,
    /// Bytes so far.
    bytes: u64,
}

/// The caller of a statement.
#[derive(Debug, Serialize, ToSchema)]
struct StatementCaller {
    /// `user`, `token`, `client` or `local`.
    kind: &'static str,
    /// Null for a caller without a name.
    name: Option<String>,
}

// === impl RunningStatement ===

impl RunningStatement {
    pub(crate) fn new(facts: Facts, state: State, view: TextView) -> Self {
        let took = facts.began.elapsed();
        Self {
            about: About::new(facts, took, view),
            state: state.as_str(),
        }
    }

    /// Returns what statements are ordered by.
    pub(crate) fn order(&self) -> (Timestamp, &str) {
        (self.about.started_at, &self.about.id)
    }
}

// === impl Finished ===

impl Finished {
    pub(crate) fn new(ended: Ended, view: TextView) -> Self {
        Self {
            about: About::new(ended.facts, ended.took, view),
            outcome: ended.outcome,
            code: text(ended.code),
        }
    }
}

// === impl About ===

impl About {
    fn new(facts: Facts, took: Duration, view: TextView) -> Self {
        let statement = match view {
            TextView::Tool if !facts.statement.is_empty() => facts.tool.clone(),
            TextView::Normalized => normalized(&facts.statement),
            _ => facts.statement,
        };
        Self {
            id: shown_id(facts.id),
            caller: StatementCaller {
                kind: facts.kind,
                name: text(facts.name),
            },
            via: facts.via,
            tool: facts.tool,
            database: facts.database,
            statement: text(statement),
            started_at: facts.started_at,
            ms: (took.as_secs_f64() * 1e6).round() / 1e3,
            rows: facts.rows,
            bytes: facts.bytes,
        }
    }
}

/// Returns a text that is not empty.
fn text(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}
