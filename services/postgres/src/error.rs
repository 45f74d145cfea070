//! What goes wrong between a caller's text and its result.

use std::fmt;

use thiserror::Error;
use ziggurat_sql::Refusal;

pub use super::driver::{DriverError, ServerError};
use super::pool::LeaseError;

/// Why a statement has no result, or not all of it.
///
/// `Display` is for the log. A caller is shown a [`Refusal`] or a [`Report`].
#[derive(Debug, Error)]
pub enum QueryError {
    /// The text holds no statement.
    #[error("query is empty")]
    Empty,
    /// The text was not sent.
    #[error("query refused")]
    Refused(#[from] Refusal),
    /// PostgreSQL refused the statement, or gave it up.
    #[error("statement failed: {phase}")]
    Failed {
        /// How far it came.
        phase: Phase,
        /// What PostgreSQL says about it.
        #[source]
        report: Box<Report>,
    },
    /// A value cannot be read.
    #[error("row cannot be decoded")]
    Row(#[source] DriverError),
    /// The connection broke.
    #[error("connection lost")]
    Connection(#[source] DriverError),
    /// PostgreSQL gave no answer, not even that its own time limit has passed.
    #[error("no answer from the database in time")]
    Silent,
    /// Large rows of other statements took all the room there is for them.
    #[error("no room for a large row")]
    NoRoom,
    /// There is no connection to run it on.
    #[error("no connection")]
    Lease(#[from] LeaseError),
}

/// How far a statement came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Its transaction could not be started.
    Begin,
    /// It was not understood: its syntax, or a name in it, is wrong.
    Parse,
    /// It failed while running.
    Run,
    /// It ran, and its transaction could not be completed.
    Commit,
}

/// What PostgreSQL says about a statement, in the caller's own terms.
///
/// `Display` writes it the way clients recognise it:
/// `ERROR: relation "nope" does not exist (SQLSTATE 42P01)`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// `ERROR`, `FATAL` or `PANIC`.
    pub severity: &'static str,
    /// What happened.
    pub message: String,
    /// The five characters of the SQL standard.
    pub sqlstate: String,
    /// More about it.
    pub detail: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// Where in the caller's text, in characters, counted from one.
    pub position: Option<usize>,
}

// === impl Phase ===

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Begin => "its transaction did not begin",
            Self::Parse => "it was not understood",
            Self::Run => "it failed while running",
            Self::Commit => "its transaction did not commit",
        })
    }
}

// === impl Report ===

impl Report {
    /// Reports on a message that held the caller's text after `lead` characters of ours.
    pub(crate) fn new(error: &ServerError, lead: usize) -> Self {
        let position = error.position.and_then(|place| place.checked_sub(lead));
        Self {
            severity: severity(&error.severity),
            message: error.message.clone(),
            sqlstate: error.code.clone(),
            detail: error.detail.clone(),
            hint: error.hint.clone(),
            position: position.filter(|&position| position > 0),
        }
    }

    /// Makes one that says nothing but its code.
    #[cfg(any(test, feature = "test-support"))]
    #[must_use]
    pub fn with_sqlstate(sqlstate: &str) -> Self {
        Self {
            severity: "ERROR",
            message: String::new(),
            sqlstate: sqlstate.to_owned(),
            detail: None,
            hint: None,
            position: None,
        }
    }

    /// Whether PostgreSQL hung up after saying it.
    pub(crate) fn is_fatal(&self) -> bool {
        self.severity != "ERROR"
    }

    /// Whether somebody put an end to it: an operator, a timeout, a shutdown (class 57).
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
    /// Sorts an error of the driver.
    pub(crate) fn new(error: DriverError, phase: Phase, lead: usize) -> Self {
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

    /// A value that is not what it should be.
    pub fn value(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Row(DriverError::value(error))
    }
}

fn severity(severity: &str) -> &'static str {
    match severity {
        "PANIC" => "PANIC",
        "FATAL" => "FATAL",
        // The rest are not errors, and PostgreSQL sends none of them as one.
        _ => "ERROR",
    }
}
