//! Errors of statements.

use std::fmt;

use thiserror::Error;
use ziggurat_sql::Refusal;

pub use crate::driver::{DriverError, ServerError};
use crate::pool::LeaseError;

/// Reason for a statement without a complete result.
///
/// `Display` is for the log. Callers see a [`Refusal`] or a [`Report`].
#[derive(Debug, Error)]
pub enum QueryError {
    /// The text holds no statement.
    #[error("query is empty")]
    Empty,
    /// The text was not sent.
    #[error("query refused")]
    Refused(#[from] Refusal),
    /// PostgreSQL refused or cancelled the statement.
    #[error("statement failed: {phase}")]
    Failed {
        /// The phase that failed.
        phase: Phase,
        /// The error of PostgreSQL.
        #[source]
        report: Box<Report>,
    },
    /// A value cannot be read.
    #[error("row cannot be decoded")]
    Row(#[source] DriverError),
    /// The connection broke.
    #[error("connection lost")]
    Connection(#[source] DriverError),
    /// PostgreSQL did not answer, not even with an error of its own timeout.
    #[error("the database did not answer in time")]
    Silent,
    /// Large rows of other statements use all the memory allowed for them.
    #[error("too much memory is in use for large rows")]
    NoRoom,
    /// Its estimated cost is above the limit, or there is no estimate.
    #[error("the estimated cost is above the limit")]
    TooCostly {
        /// The estimate of PostgreSQL.
        cost: Option<f64>,
        /// The limit.
        max: f64,
    },
    /// It may not be committed, because the number of rows that it may change is limited.
    #[error("the changes are not committed")]
    Changes(#[from] ChangeLimit),
    /// There is no connection to run it on.
    #[error("no connection")]
    Lease(#[from] LeaseError),
}

/// Reason not to commit a statement, where the number of rows that it may change is limited.
/// `Display` is for the caller.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ChangeLimit {
    /// It changed too many rows.
    #[error(
        "The statement was rolled back: it changed {} rows, and at most {} {} allowed.",
        grouped(*rows), grouped(*max), if *max == 1 { "is" } else { "are" }
    )]
    Exceeded {
        /// Number of changed rows. A row that was changed twice counts twice.
        rows: u64,
        /// The limit.
        max: u64,
    },
    /// It locked a table against everything, as commands do that empty or alter one.
    #[error(
        "The statement was rolled back: it empties or alters {0}, whose rows cannot be counted."
    )]
    Locked(String),
    /// It dropped something that may have had rows.
    #[error("The statement was rolled back: it drops a table, a view or an index.")]
    Dropped,
    /// It changed a table of which PostgreSQL does not count the rows.
    #[error("The statement was rolled back: it changes {0}, whose rows cannot be counted.")]
    Uncounted(String),
    /// PostgreSQL counts no rows.
    #[error("The statement was rolled back: track_counts is off, so its rows cannot be counted.")]
    CountsOff,
    /// Its deferred triggers change rows again and again.
    #[error("The statement was rolled back: its deferred triggers do not come to an end.")]
    Triggers,
    /// It has ended its transaction itself.
    #[error("The statement ended its own transaction, so its rows were not counted.")]
    Ended,
}

/// Phase of a statement in which it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Its transaction could not be started.
    Begin,
    /// It could not be parsed: its syntax, or a name in it, is wrong.
    Parse,
    /// It failed while running.
    Run,
    /// It ran, but its transaction could not be committed.
    Commit,
}

/// Error of PostgreSQL, with a position in the caller's text.
///
/// `Display` writes it in the form that clients know:
/// `ERROR: relation "nope" does not exist (SQLSTATE 42P01)`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// `ERROR`, `FATAL` or `PANIC`.
    pub severity: &'static str,
    /// The message.
    pub message: String,
    /// The five-character SQLSTATE code.
    pub sqlstate: String,
    /// The detail.
    pub detail: Option<String>,
    /// The hint.
    pub hint: Option<String>,
    /// Position in the caller's text, in characters, counted from one.
    pub position: Option<usize>,
    /// Schema of the table, data type or constraint that the error is about.
    pub schema: Option<String>,
    /// Name of that table.
    pub table: Option<String>,
    /// Name of its column that the error is about.
    pub column: Option<String>,
    /// Name of the data type that the error is about.
    pub data_type: Option<String>,
    /// Name of the constraint that was violated.
    pub constraint: Option<String>,
}

// === impl Phase ===

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Begin => "failed to begin the transaction",
            Self::Parse => "failed to parse",
            Self::Run => "failed while running",
            Self::Commit => "failed to commit the transaction",
        })
    }
}

// === impl Report ===

impl Report {
    /// Makes a report on a message in which `lead` characters precede the caller's text.
    pub(crate) fn new(error: &ServerError, lead: usize) -> Self {
        let position = error.position.and_then(|place| place.checked_sub(lead));
        Self {
            severity: severity(&error.severity),
            message: error.message.clone(),
            sqlstate: error.code.clone(),
            detail: error.detail.clone(),
            hint: error.hint.clone(),
            position: position.filter(|&position| position > 0),
            schema: error.schema.clone(),
            table: error.table.clone(),
            column: error.column.clone(),
            data_type: error.data_type.clone(),
            constraint: error.constraint.clone(),
        }
    }

    /// Returns the report without the texts, which may quote values.
    pub(crate) fn without_values(&self) -> Self {
        let error = ServerError {
            severity: self.severity.to_owned(),
            message: "the statement failed".to_owned(),
            code: self.sqlstate.clone(),
            ..ServerError::default()
        };
        Self::new(&error, 0)
    }

    /// Returns the report about a masked column, by its schema, table and name, with the columns that
    /// the caller may read in its place.
    pub(crate) fn about_masked(&self, column: [String; 3], readable: &[String]) -> Self {
        let (path, readable) = (column.join("."), readable.join(", "));
        let [schema, table, column] = column.map(Some);
        let error = ServerError {
            severity: self.severity.to_owned(),
            message: format!("{path} is masked; readable here: {readable}"),
            code: self.sqlstate.clone(),
            schema,
            table,
            column,
            ..ServerError::default()
        };
        Self::new(&error, 0)
    }

    /// Makes a report with only a code.
    #[cfg(any(test, feature = "test-support"))]
    #[must_use]
    pub fn with_sqlstate(sqlstate: &str) -> Self {
        let error = ServerError {
            code: sqlstate.to_owned(),
            ..ServerError::default()
        };
        Self::new(&error, 0)
    }

    /// Returns whether PostgreSQL closed the connection after the error.
    pub(crate) fn is_fatal(&self) -> bool {
        self.severity != "ERROR"
    }

    /// Returns whether an operator, a timeout or a shutdown ended the statement (class 57).
    pub(crate) fn is_intervention(&self) -> bool {
        self.sqlstate.starts_with("57")
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} (SQLSTATE {})",
            self.severity, self.message, self.sqlstate
        )
    }
}

impl std::error::Error for Report {}

// === impl QueryError ===

impl QueryError {
    /// Classifies an error of the driver. In the message that failed, `lead` characters precede the
    /// caller's text.
    #[must_use]
    pub fn new(error: DriverError, phase: Phase, lead: usize) -> Self {
        match error {
            DriverError::Server(error) => Self::Failed {
                phase,
                report: Box::new(Report::new(&error, lead)),
            },
            DriverError::TimedOut => Self::Silent,
            DriverError::NoRoom => Self::NoRoom,
            error @ (DriverError::Value(_) | DriverError::Oversized { .. }) => Self::Row(error),
            error => Self::Connection(error),
        }
    }

    /// Returns whether PostgreSQL refused a write in a read-only transaction.
    #[must_use]
    pub fn is_about_a_write(&self) -> bool {
        matches!(self, Self::Failed { report, .. } if report.sqlstate == "25006")
    }

    /// Returns whether the connection was dead before it got the message.
    pub(crate) fn is_dead_connection(&self) -> bool {
        match self {
            Self::Connection(DriverError::Io(_)) => true,
            // The error that the server sent when it ended the idle connection.
            Self::Failed { report, .. } => report.is_fatal() && report.is_intervention(),
            _ => false,
        }
    }

    /// Returns the error for an invalid value.
    pub fn value(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Row(DriverError::value(error))
    }
}

/// Writes a number with a comma between each three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn severity(severity: &str) -> &'static str {
    match severity {
        "PANIC" => "PANIC",
        "FATAL" => "FATAL",
        // The other severities are not errors, and PostgreSQL sends none of them as one.
        _ => "ERROR",
    }
}
