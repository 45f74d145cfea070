//! Errors of a queue and its workers.

use thiserror::Error;
use ziggurat_llm as llm;
use ziggurat_postgres::{driver::DriverError, pool::LeaseError};
use ziggurat_runtime::causes;

/// SQLSTATE for a missing right.
const NO_RIGHT: &str = "42501";

/// Rights that `install` and `uninstall` need.
const TO_INSTALL: &str = "the role needs to own the table, or TRIGGER on it and CREATE on its \
                          schema; without -apply the statements are printed, for a role that has \
                          these rights";

/// Rights that all other commands need.
const TO_WORK: &str = "the role needs SELECT on the id, the text and the vector, UPDATE on the \
                       vector, and SELECT, INSERT, UPDATE and DELETE on the queue: the statements \
                       that `ziggurat-rag sync install` prints grant them";

/// Reason why the vectors of a table cannot be kept in step. The messages are for the operator.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SyncError {
    /// There is no connection to PostgreSQL.
    #[error("{}", causes(.0))]
    Lease(#[from] LeaseError),
    /// PostgreSQL refused a statement, or the connection broke.
    #[error("{task}: {}", causes(error))]
    Database {
        /// The task that failed.
        task: String,
        /// The reason.
        error: DriverError,
    },
    /// The role lacks a right.
    #[error("{task}: {}: {needs}", causes(error))]
    Right {
        /// The task that failed.
        task: String,
        /// The reason.
        error: DriverError,
        /// The rights that the task needs.
        needs: &'static str,
    },
    /// The table cannot be kept in step.
    #[error("table {table}: {problem}")]
    Table {
        /// Its name.
        table: String,
        /// The reason.
        problem: String,
    },
    /// The triggers are missing, or were made for other columns or by another version.
    #[error(
        "table {table}: {problem}; `ziggurat-rag sync install` prints the statements that add \
         them, and runs them with -apply"
    )]
    NotInstalled {
        /// Its name.
        table: String,
        /// The reason.
        problem: &'static str,
    },
    /// The provider makes no vectors, of any text.
    #[error("no vectors: {0}")]
    Provider(#[source] llm::Error),
}

// === impl SyncError ===

impl SyncError {
    pub(crate) fn installing(task: String, error: DriverError) -> Self {
        Self::of(task, error, TO_INSTALL)
    }

    fn of(task: String, error: DriverError, needs: &'static str) -> Self {
        match error {
            DriverError::Server(ref report) if report.code == NO_RIGHT => {
                Self::Right { task, error, needs }
            }
            error => Self::Database { task, error },
        }
    }

    /// Returns whether PostgreSQL refused the values of some row, and not the statement.
    pub(crate) fn is_about_a_row(&self) -> bool {
        let Self::Database {
            error: DriverError::Server(report),
            ..
        } = self
        else {
            return false;
        };
        // Data exceptions, violated constraints, and what functions raise.
        ["22", "23", "P0"]
            .iter()
            .any(|class| report.code.starts_with(class))
    }
}

/// Adds the task that failed to an error of PostgreSQL.
pub(crate) trait During<T> {
    /// Names the task.
    fn during(self, task: &str) -> Result<T, SyncError>;
}

impl<T> During<T> for Result<T, DriverError> {
    fn during(self, task: &str) -> Result<T, SyncError> {
        self.map_err(|error| SyncError::of(task.to_owned(), error, TO_WORK))
    }
}
