//! Reasons to end without a result.

use thiserror::Error;
use ziggurat_postgres::{driver::DriverError, error::QueryError, pool::LeaseError};

/// Error of a proof that could not be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProveError {
    /// The database is not one to write to.
    #[error("refusing to write: {0}")]
    Refused(String),
    /// There is no connection.
    #[error("{}", .0.cause())]
    Connection(#[from] LeaseError),
    /// The owner of the database could not do this.
    #[error("cannot {doing}: {}", said(source))]
    Owner {
        /// The task, as a verb.
        doing: &'static str,
        /// The cause.
        source: DriverError,
    },
    /// A caller could not read the catalogue.
    #[error("cannot read the catalogue as a caller")]
    Caller(#[from] QueryError),
    /// An answer has another form than expected.
    #[error("the catalogue has an unknown form")]
    Catalogue(#[from] serde_json::Error),
}

/// Returns the sentence of PostgreSQL, or the one of the connection.
pub(crate) fn said(error: &DriverError) -> String {
    match error {
        DriverError::Server(error) => error.to_string(),
        error => error.to_string(),
    }
}
