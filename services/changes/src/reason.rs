//! Reasons for which there is no preview.

use std::time::Duration;

use thiserror::Error;

/// Reason for which there is no preview. `Display` is for people, as a part of a sentence.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The text has a command that ends or divides its transaction.
    #[error("it ends its own transaction")]
    Transaction,
    /// The command does something that a rollback does not undo, or that no row shows.
    #[error("{0} cannot be previewed")]
    Command(String),
    /// A table of the catalogue has changed.
    #[error("it changes definitions ({0})")]
    Definitions(String),
    /// A table is locked against everything.
    #[error("it empties, alters or locks {0} as a whole")]
    Whole(String),
    /// It changes large objects.
    #[error("it writes large objects")]
    LargeObjects,
    /// A table is foreign, or stored in another way.
    #[error("{0} is not an ordinary table")]
    Unusual(String),
    /// PostgreSQL does not count rows.
    #[error("track_counts is off")]
    Uncounted,
    /// The reader is on another server.
    #[error("the snapshot could not be shared")]
    Snapshot,
    /// The caller may not read a table, and the operator wants no preview then.
    #[error("you may not read {0}")]
    Unreadable(String),
    /// A table is too large to be read through.
    #[error("{0} is too large to be searched")]
    TooLarge(String),
    /// More rows change than a preview may have.
    #[error("it changes more than {0} rows")]
    Rows(u32),
    /// The changed rows are larger than a preview may be.
    #[error("the changed rows have more than {0} bytes")]
    Bytes(usize),
    /// The rows that it returns are larger than may be held.
    #[error("the rows that it returns have more than {0} bytes")]
    Returned(usize),
    /// The run takes too long.
    #[error("it takes longer than {0:?}")]
    Time(Duration),
}
