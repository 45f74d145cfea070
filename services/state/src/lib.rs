//! State of the servers: conversations, sessions and failed logins.
//!
//! [`Conversations`] are stored in a file ([`Sqlite`]), or in PostgreSQL ([`Postgres`]) when
//! several replicas of a server share them. A conversation belongs to one user; other users cannot
//! find it.
//!
//! ```
//! use tokio::task::JoinSet;
//! use ziggurat_state::{Conversations as _, Draft, Page, Sqlite, StoreError};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let (store, writer) = Sqlite::open(folder.path()).await?;
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
mod id;
mod postgres;
mod row;
mod shared;
mod sqlite;
#[cfg(test)]
mod tests;

use std::{io, path::PathBuf, sync::Arc};

use jiff::Timestamp;
use sqlx::migrate::MigrateError;
use thiserror::Error;
pub use ziggurat_postgres::{driver::DriverError, pool::LeaseError};

pub use self::{
    conversation::{Conversation, Draft, Listed, Message, Revision},
    postgres::{InvalidState, Postgres, StateDatabase},
    shared::{Answer, Attempt, LookUp, NewSession, SessionBatcher, Shared, SharedSession},
    sqlite::{Sqlite, Writer},
};
pub use self::{postgres::within, sqlite::prepare};

/// Stores the conversations of users.
///
/// Clones share one store. Every method works on the conversations of `owner` only, as if those of
/// other users did not exist.
pub trait Conversations: Clone + Send + Sync + 'static {
    /// Lists a page, the most recently changed first.
    fn list(
        &self,
        owner: &str,
        page: Page,
    ) -> impl Future<Output = Result<Vec<Listed>, StoreError>> + Send;

    /// Finds a conversation with its messages.
    fn find(
        &self,
        owner: &str,
        id: &str,
    ) -> impl Future<Output = Result<Option<Conversation>, StoreError>> + Send;

    /// Stores a new conversation.
    fn create(&self, new: Conversation) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Replaces the messages of a conversation and returns its new state.
    fn replace(
        &self,
        owner: &str,
        id: &str,
        revision: Revision,
    ) -> impl Future<Output = Result<Option<Conversation>, StoreError>> + Send;

    /// Renames a conversation and returns whether it existed.
    fn rename(
        &self,
        owner: &str,
        id: &str,
        title: &str,
        now: Timestamp,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Deletes a conversation and returns whether it existed.
    fn delete(
        &self,
        owner: &str,
        id: &str,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Deletes all conversations of the owner and returns their number.
    fn delete_all(&self, owner: &str) -> impl Future<Output = Result<u64, StoreError>> + Send;
}

/// A page of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Maximum number of entries in the page.
    pub limit: u32,
    /// Number of entries before the page.
    pub offset: u64,
}

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
        "{} was made by another program and cannot be taken over: move it away, or name another \
         folder as data_dir",
        path.display()
    )]
    Foreign {
        /// Path of the file.
        path: PathBuf,
    },
    /// The tables could not be brought up to date.
    #[error("the tables of the store could not be brought up to date")]
    Migrate(#[source] Arc<MigrateError>),
    /// The SQLite file could not be read or written.
    #[error("the store could not be read or written")]
    Sql(#[source] Arc<sqlx::Error>),
    /// The database of the replicas returned an error.
    #[error("the store could not be read or written")]
    Postgres(#[source] Arc<DriverError>),
    /// A newer program has changed the tables.
    #[error("the tables of the store are of a newer version: {0}")]
    Newer(i64),
    /// There is no connection to the database.
    #[error("the store has no connection")]
    Lease(#[source] Arc<LeaseError>),
    /// The database did not answer in time.
    #[error("the store does not answer")]
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

// === impl Page ===

impl Default for Page {
    fn default() -> Self {
        Self {
            limit: 50,
            offset: 0,
        }
    }
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
