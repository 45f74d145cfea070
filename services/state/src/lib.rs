//! State of the servers: conversations, the library, sessions, failed logins and usage of callers.
//!
//! [`Conversations`] are stored in a file, or in PostgreSQL when several replicas of a server share
//! them. A conversation belongs to one user; other users cannot find it. The [`Library`] is in the
//! same place: queries and prompts that their users keep and share.
//!
//! ```
//! use tokio::task::JoinSet;
//! use ziggurat_state::{Conversations, Draft, Page, StoreError};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let (store, writer) = Conversations::local(folder.path()).await?;
//! let mut tasks = JoinSet::new();
//! // The program runs it next to its server.
//! tasks.spawn(writer.run());
//!
//! let draft: Draft = serde_json::from_str(
//!     r#"{"messages": [{"role": "user", "content": "How many orders are there?"}]}"#,
//! )?;
//! let now = "2026-11-21T10:00:00Z".parse()?;
//! let made = draft.into_conversation("alice", now)?;
//! store.create(made.clone()).await?;
//! assert_eq!(made.title, "How many orders are there?");
//!
//! let listed = store.list("alice", Page::default()).await?;
//! assert_eq!(listed[0].id, made.id);
//! assert!(store.find("bob", &made.id).await?.is_none());
//! # Ok(())
//! # }
//! ```
//!
//! Acknowledged changes are on disk: a crash of the process or of the machine loses none of them.

mod conversation;
mod conversations;
mod id;
mod library;
mod library_item;
mod shared;
mod sqlite;
mod state_database;
mod statement;
mod storage;
mod tables;
#[cfg(test)]
mod tests;
mod words;

use std::{io, path::PathBuf, sync::Arc};

use sqlx::migrate::MigrateError;
use thiserror::Error;
pub use ziggurat_postgres::{driver::DriverError, pool::LeaseError};

pub use self::{
    conversation::{Conversation, Draft, Listed, Message, Revision},
    conversations::{Conversations, Page},
    library::{Filter, Library, Reader},
    library_item::{Item, ItemContent, ItemKind},
    shared::{
        Answer, Attempt, CallLease, CallerUsage, LookUp, NewSession, SessionBatcher, Shared,
        SharedSession, UsageExchange, UsagePage,
    },
    sqlite::{FileOptions, Writer, prepare},
    state_database::{InvalidState, StateDatabase, StateSettings, migrator, within},
    statement::{Cell, Row, Value},
    tables::{Tables, TablesTransaction},
    words::Words,
};

/// An error of a store, for the log. Clients only learn which operation failed.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The folder or the file cannot be used.
    #[error("{} cannot be used", path.display())]
    Io {
        /// Path of the folder or file.
        path: PathBuf,
        /// Error of the operating system.
        source: Arc<io::Error>,
    },
    /// The file belongs to another program.
    #[error(
        "{} was created by another program and cannot be used: move it, or set data_dir to another \
         folder",
        path.display()
    )]
    Foreign {
        /// Path of the file.
        path: PathBuf,
    },
    /// A later version of the program has changed the file.
    #[error(
        "{} was changed by a later version of this program: run that version, or move the file to \
         begin without its conversations",
        path.display()
    )]
    Later {
        /// Path of the file.
        path: PathBuf,
    },
    /// The tables could not be brought up to date.
    #[error("cannot migrate the tables of the store")]
    Migrate(#[source] Arc<MigrateError>),
    /// The SQLite file could not be read or written.
    #[error("the store could not be read or written")]
    Sql(#[source] Arc<sqlx::Error>),
    /// The database of the replicas returned an error.
    #[error("the store could not be read or written")]
    Postgres(#[source] Arc<DriverError>),
    /// A newer program has changed the tables.
    #[error("the tables of the store have a newer version: {0}")]
    Newer(i64),
    /// There is no connection to the database.
    #[error("the store has no connection")]
    Lease(#[source] Arc<LeaseError>),
    /// The database did not answer in time.
    #[error("the store does not respond")]
    TimedOut,
    /// The store was closed, because the server is stopping.
    #[error("the store is closed")]
    Closed,
    /// The operating system has no random bytes.
    #[error("no random bytes for an id")]
    Random(#[from] rand::rngs::SysError),
    /// A message is not valid JSON.
    #[error("the messages cannot be written as JSON")]
    Json(#[source] Arc<serde_json::Error>),
}

// === impl StoreError ===

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(Arc::new(error))
    }
}

impl From<DriverError> for StoreError {
    fn from(error: DriverError) -> Self {
        match error {
            DriverError::TimedOut => Self::TimedOut,
            error => Self::Postgres(Arc::new(error)),
        }
    }
}

impl From<MigrateError> for StoreError {
    fn from(error: MigrateError) -> Self {
        Self::Migrate(Arc::new(error))
    }
}

impl From<LeaseError> for StoreError {
    fn from(error: LeaseError) -> Self {
        Self::Lease(Arc::new(error))
    }
}

impl From<serde_json::Error> for StoreError {
    fn from(error: serde_json::Error) -> Self {
        Self::Json(Arc::new(error))
    }
}
