//! Errors of searches.

use std::{borrow::Cow, io};

use sqlx::{error::DatabaseError, sqlite::SqliteError};
use thiserror::Error;
use tokio::task::JoinError;

/// Reason why a knowledge base cannot answer.
///
/// The messages can be shown to callers: they contain no file names. The errors of SQLite and the
/// system are the source, for the log.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such file.
    #[error("the knowledge base file is missing")]
    Missing,
    /// The system does not permit access to the file.
    #[error("the knowledge base file cannot be read")]
    File(#[source] io::Error),
    /// SQLite cannot read the file.
    #[error("the knowledge base cannot be read")]
    Database(#[source] sqlx::Error),
    /// It is another kind of file.
    #[error("the configured file is not a knowledge base: {0}")]
    Foreign(Cow<'static, str>),
    /// A build was killed while it wrote.
    #[error(
        "the knowledge base was left half written by a build that was cut off; running the build \
         again repairs it"
    )]
    HalfWritten,
    /// The filter names an unknown product.
    #[error("Unknown project name: {0}")]
    UnknownProject(String),
    /// There are passages, but no vectors of this provider.
    #[error(
        "the knowledge base has no vectors of the configured provider '{0}' for what was asked; \
         configure the provider it was built with, or build it again"
    )]
    NoVectors(&'static str),
    /// The vectors have another length than the vector of the question.
    #[error(
        "vectors of {held} numbers in the knowledge base cannot be compared with one of {asked} \
         by the configured provider '{provider}'; configure the model it was built with"
    )]
    Lengths {
        /// The provider of both.
        provider: &'static str,
        /// The length of the vectors in the file.
        held: usize,
        /// The length of the question's vector.
        asked: usize,
    },
    /// The vectors were made by another model.
    #[error(
        "the knowledge base was built with model '{built}' of '{provider}', and '{configured}' is \
         configured; vectors of two models cannot be compared"
    )]
    Model {
        /// The provider of both.
        provider: &'static str,
        /// The model of the file.
        built: String,
        /// The model that is configured.
        configured: String,
    },
    /// The search was interrupted.
    #[error("the search was interrupted")]
    Interrupted(#[source] JoinError),
}

// === impl Error ===

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        /// Only a connection that can write can roll back a change that another has left
        /// incomplete.
        const READONLY_ROLLBACK: &str = "776";
        const NOT_A_DATABASE: &str = "26";
        let code = match &error {
            sqlx::Error::Database(database) => database
                .try_downcast_ref::<SqliteError>()
                .and_then(DatabaseError::code),
            _ => None,
        };
        match code.as_deref() {
            Some(READONLY_ROLLBACK) => Self::HalfWritten,
            Some(NOT_A_DATABASE) => Self::Foreign("it is no SQLite database".into()),
            _ => Self::Database(error),
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Missing,
            _ => Self::File(error),
        }
    }
}
