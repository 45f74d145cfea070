//! Reasons to end without a result.

use std::error::Error as StdError;

use thiserror::Error;
use ziggurat_postgres::{driver::DriverError, error::QueryError, pool::LeaseError};

use crate::canary::MIN_LENGTH;

/// Error of a proof that could not be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProveError {
    /// The database is not one to write to.
    #[error("refusing to write: {0}")]
    Refused(String),
    /// No value is long enough to be looked for.
    #[error("no line of the file has a value of {MIN_LENGTH} characters")]
    NoValue,
    /// There is no connection.
    #[error("there is no connection")]
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

/// Reason why a table got no row of a caller.
#[derive(Debug, Error)]
pub(crate) enum Unplanted {
    /// A trigger or a rule took each row away.
    #[error("it takes no row")]
    Dropped,
    /// The caller does not see it.
    #[error("B does not read its own row")]
    Unseen,
    /// PostgreSQL refuses the row.
    #[error("{}", said(.0))]
    Refused(DriverError),
    /// The caller cannot read the table.
    #[error("{}", said(.0))]
    Unreadable(#[from] QueryError),
    /// The caller has no connection.
    #[error("{}", .0.cause())]
    Connection(#[from] LeaseError),
}

/// Returns the innermost cause, which is the sentence of PostgreSQL if it has one.
fn said(error: &(dyn StdError + 'static)) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
