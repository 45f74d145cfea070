//! Keeps the vectors of a table in step with its texts.
//!
//! [`TableSync::install`] adds a queue and triggers to a table: each insert, and each update that
//! changes the text, puts the id of the row into the queue. A [`Worker`] takes rows from the queue
//! in batches, asks the provider for the vectors of their texts, and writes them. Any number of
//! workers share a queue.
//!
//! ```no_run
//! use tokio::sync::watch;
//! use ziggurat_llm::Embedder;
//! use ziggurat_postgres::pool::Pool;
//! use ziggurat_sync::{SyncedTable, TableSync, Worker, WorkerSettings};
//!
//! # async fn example(pool: Pool) -> Result<(), ziggurat_sync::SyncError> {
//! let table = SyncedTable {
//!     table: "documents".into(),
//!     id: "id".into(),
//!     text: "content".into(),
//!     vector: "embedding".into(),
//! };
//! let sync = TableSync::new(pool, table);
//! sync.install().await?;
//! let worker = Worker::new(sync, Embedder::local(), WorkerSettings::default());
//! let (stop, stopped) = watch::channel(false);
//! worker.run(stopped).await;
//! # drop(stop);
//! # Ok(())
//! # }
//! ```
//!
//! # Claims
//!
//! A claim is a short statement that writes the number of the worker and the end of the claim into
//! the rows of the queue, so no transaction is open during the call to the provider. The worker
//! holds an advisory lock with its number on a connection of its own: when its process is killed,
//! the lock falls with the connection, and other workers take its claims at once. Where a pooler
//! shares connections there is no such lock, and a claim ends by its time.
//!
//! # Writes
//!
//! A vector is written only if the text of the row is still the one that was read, and the row leaves
//! the queue only if its version is still the one that was claimed: both are compared in one
//! statement. A row that the application has locked is skipped and tried again. No statement of a
//! worker waits for a lock of the application, so workers and applications never block each other in
//! a circle.

mod backfill;
mod batch_statements;
mod definition;
mod embedding;
mod error;
mod presence;
mod queue;
mod statements;
mod status;
#[cfg(test)]
mod tests;
mod worker;

use ziggurat_postgres::pool::Pool;

use self::{definition::Definition, queue::Queue};

pub use self::{
    backfill::{Backfill, BackfillProgress},
    error::SyncError,
    status::{FailedRows, Status, Watched},
    worker::{Worker, WorkerSettings},
};

/// A table and the columns that sync uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncedTable {
    /// The name, which may have a schema before a dot and parts in quotes.
    pub table: String,
    /// Column that identifies a row.
    pub id: String,
    /// Column of the text.
    pub text: String,
    /// Column of the vector.
    pub vector: String,
}

/// The queue of a table: installed, looked at, and removed.
#[derive(Clone, Debug)]
pub struct TableSync {
    pool: Pool,
    table: SyncedTable,
}

// === impl TableSync ===

impl TableSync {
    /// Uses a table with the role of a pool.
    #[must_use]
    pub fn new(pool: Pool, table: SyncedTable) -> Self {
        Self { pool, table }
    }

    /// Returns the table.
    #[must_use]
    pub fn table(&self) -> &SyncedTable {
        &self.table
    }

    /// Returns the statements that add the queue and the triggers.
    ///
    /// # Errors
    /// Fails if the table does not fit.
    pub async fn install_statements(&self) -> Result<Vec<String>, SyncError> {
        let definition = Definition::load(&self.pool, &self.table).await?;
        definition.check_owners(&self.pool).await?;
        Ok(definition.install())
    }

    /// Adds the queue and the triggers in one transaction. Existing objects stay or are replaced,
    /// and the queue keeps its rows.
    ///
    /// # Errors
    /// Fails if the table does not fit, if the role lacks a right, and if the table is locked for
    /// longer than five seconds.
    pub async fn install(&self) -> Result<(), SyncError> {
        let statements = self.install_statements().await?;
        self.apply(&statements, "installing the triggers").await
    }

    /// Returns the statements that remove the queue and the triggers. The vectors stay.
    ///
    /// # Errors
    /// Fails if the table is missing.
    pub async fn uninstall_statements(&self) -> Result<Vec<String>, SyncError> {
        let definition = Definition::load(&self.pool, &self.table).await?;
        Ok(definition.uninstall())
    }

    /// Removes the queue and the triggers in one transaction.
    ///
    /// # Errors
    /// Fails as [`install`](Self::install) does.
    pub async fn uninstall(&self) -> Result<(), SyncError> {
        let statements = self.uninstall_statements().await?;
        self.apply(&statements, "removing the triggers").await
    }

    async fn apply(&self, statements: &[String], task: &str) -> Result<(), SyncError> {
        // Waiting longer for the lock of the table would block the writers that wait behind it.
        let script = format!(
            "BEGIN; SET LOCAL lock_timeout = '5s'; SET LOCAL client_min_messages = warning; \
             SET LOCAL search_path = pg_catalog; {}; COMMIT",
            statements.join("; ")
        );
        let mut lease = self.pool.lease().await?;
        let applied = lease.begin().ask(&script).await;
        let task = format!("{task} of table {}", self.table.table);
        applied.map_err(|error| SyncError::installing(task, error))?;
        lease.settle();
        Ok(())
    }

    /// Checks that the queue and the triggers are there.
    ///
    /// # Errors
    /// Fails if they are missing, or were made for other columns or by another version.
    pub async fn check(&self) -> Result<(), SyncError> {
        Queue::open(self).await.map(drop)
    }

    /// Reads the figures of the queue.
    ///
    /// # Errors
    /// Fails if there is no queue.
    pub async fn status(&self) -> Result<Status, SyncError> {
        Queue::open(self).await?.status().await
    }

    /// Reads why rows have failed for good: the most common reasons first, at most `limit`.
    ///
    /// # Errors
    /// Fails if there is no queue.
    pub async fn failures(&self, limit: u32) -> Result<Vec<FailedRows>, SyncError> {
        Queue::open(self).await?.failures(limit).await
    }

    /// Puts the rows that have failed for good back into the queue, and returns their number.
    ///
    /// # Errors
    /// Fails if there is no queue.
    pub async fn retry(&self) -> Result<u64, SyncError> {
        Queue::open(self).await?.retry().await
    }
}
