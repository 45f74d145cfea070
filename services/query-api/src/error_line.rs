//! Errors of statements, for programs.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use ziggurat_answers::{SqlErrors, WITHHELD};
use ziggurat_databases::Current;
use ziggurat_postgres::error::QueryError;

use crate::stop::{CANCELLED, Stop};

/// Error of a statement.
#[derive(Debug, Default, Serialize, ToSchema)]
#[schema(as = QueryError)]
pub(crate) struct ErrorLine {
    /// The message, of PostgreSQL if that reported the error.
    pub(crate) message: String,
    /// The five-character code of PostgreSQL.
    sqlstate: Option<String>,
    /// Position in the statement, in characters, counted from one.
    position: Option<usize>,
    /// The detail of PostgreSQL.
    detail: Option<String>,
    /// The hint of PostgreSQL.
    hint: Option<String>,
    /// The reason, for programs: `failed`, `timeout`, `refused`, `too_costly`, `too_many_rows`, `busy`,
    /// `not_text`, `connection_lost`, `cancelled`; `confirm`: the statement writes, and was undone; or
    /// `no_preview`: the same, and there is no preview to confirm.
    pub(crate) code: &'static str,
    /// The seal to send the request again with, for the code `confirm`.
    #[serde(skip_serializing_if = "Option::is_none")]
    confirm: Option<String>,
    /// The rows that the statement would change, in a database with previews; null if they cannot be
    /// shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    preview: Option<Value>,
    /// The reason why there is no preview.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

// === impl ErrorLine ===

impl ErrorLine {
    /// Describes the end of a statement that was cancelled.
    pub(crate) fn cancelled(message: &str) -> Self {
        Self {
            message: message.to_owned(),
            code: CANCELLED,
            ..Self::default()
        }
    }

    /// Describes an error of a statement, which `lead` characters precede in the text of the caller.
    pub(crate) fn new(error: &QueryError, current: &Current, lead: usize) -> Self {
        let QueryError::Failed { report, .. } = error else {
            let message = match error {
                QueryError::Refused(refusal) => refusal.to_string(),
                error => {
                    let errors = SqlErrors::new(current, "");
                    errors.unreported(error).as_str().to_owned()
                }
            };
            return Self {
                message,
                code: code(error),
                ..Self::default()
            };
        };
        Self {
            message: report.message.clone(),
            sqlstate: Some(report.sqlstate.clone()),
            position: report.position.map(|position| position + lead),
            detail: report.detail.clone(),
            hint: if error.is_about_a_write() && current.withholds_writes() {
                Some(WITHHELD.to_owned())
            } else {
                report.hint.clone()
            },
            code: code(error),
            ..Self::default()
        }
    }

    /// Adds the demand to confirm the statement, or the reason why it was undone.
    pub(crate) fn stop(&mut self, stop: Stop) {
        match stop {
            Stop::Confirm(demand) => {
                demand.error.clone_into(&mut self.message);
                self.code = demand.code;
                self.confirm = Some(demand.confirm);
                self.preview = demand.preview;
                self.reason = demand.reason;
            }
            Stop::Refused(refusal) => {
                let rejection = refusal.rejection();
                rejection.message().clone_into(&mut self.message);
                self.code = rejection.code();
            }
            Stop::Preview(_) => {}
        }
    }
}

fn code(error: &QueryError) -> &'static str {
    match error {
        QueryError::Failed { report, .. } if report.sqlstate == "57014" => "timeout",
        QueryError::Silent => "timeout",
        QueryError::Refused(_) => "refused",
        QueryError::TooCostly { .. } => "too_costly",
        QueryError::Changes(_) => "too_many_rows",
        QueryError::NoRoom => "busy",
        QueryError::Row(_) => "not_text",
        QueryError::Connection(_) | QueryError::Lease(_) => "connection_lost",
        _ => "failed",
    }
}
