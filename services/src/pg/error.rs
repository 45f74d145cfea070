//! What goes wrong between a caller's text and its result.

use std::fmt;

use sqlx::postgres::{PgDatabaseError, PgErrorPosition, PgSeverity};
use thiserror::Error;

use super::{lease::LeaseError, lexer::Refusal};

/// Why a statement has no result, or not all of it.
///
/// `Display` is for the log. A caller is shown a [`Refusal`] or a [`Report`].
#[derive(Debug, Error)]
#[non_exhaustive]
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
    Row(#[source] sqlx::Error),
    /// The connection broke.
    #[error("connection lost")]
    Connection(#[source] sqlx::Error),
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
    pub(crate) fn new(error: &PgDatabaseError, lead: usize) -> Self {
        let position = match error.position() {
            Some(PgErrorPosition::Original(position)) => {
                position.checked_sub(lead).filter(|&position| position > 0)
            }
            // Inside a function: the caller's text has no such place.
            Some(PgErrorPosition::Internal { .. }) | None => None,
        };
        Self {
            severity: severity(error.severity()),
            message: error.message().to_owned(),
            sqlstate: error.code().to_owned(),
            detail: error.detail().map(str::to_owned),
            hint: error.hint().map(str::to_owned),
            position,
        }
    }

    /// One that says nothing but its code.
    #[cfg(test)]
    pub(crate) fn with_sqlstate(sqlstate: &str) -> Self {
        Self {
            severity: "ERROR",
            message: String::new(),
            sqlstate: sqlstate.to_owned(),
            detail: None,
            hint: None,
            position: None,
        }
    }

    /// What PostgreSQL says in an error of the driver, if it comes from there.
    pub(crate) fn of(error: &sqlx::Error, lead: usize) -> Option<Self> {
        let sqlx::Error::Database(error) = error else {
            return None;
        };
        let error = error.try_downcast_ref::<PgDatabaseError>()?;
        Some(Self::new(error, lead))
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
    pub(crate) fn new(error: sqlx::Error, phase: Phase, lead: usize) -> Self {
        let report = Report::of(&error, lead);
        match report {
            Some(report) => Self::Failed {
                phase,
                report: Box::new(report),
            },
            None => Self::Connection(error),
        }
    }
}

fn severity(severity: PgSeverity) -> &'static str {
    match severity {
        PgSeverity::Panic => "PANIC",
        PgSeverity::Fatal => "FATAL",
        // The rest are not errors, and PostgreSQL sends none of them as one.
        _ => "ERROR",
    }
}
