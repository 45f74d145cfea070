//! The task that writes to the file.

use sqlx::{
    ConnectOptions as _, Connection as _, SqliteConnection, SqlitePool,
    sqlite::SqliteConnectOptions,
};
use tokio::sync::{mpsc, oneshot};
use tracing::warn;

use crate::{
    StoreError,
    sqlite::Query,
    statement::{Row, sqlite_rows},
};

/// Maximum number of changes in one commit.
const BATCH: usize = 64;

/// Writes the changes of [`Conversations`](crate::Conversations) in a file.
///
/// A commit to disk takes the same time for one change as for many. All changes that arrive during
/// a commit form the next one, and are acknowledged after it.
#[derive(Debug)]
#[must_use = "nothing is written unless it runs"]
pub struct Writer {
    pub(super) options: SqliteConnectOptions,
    /// None after a failed commit.
    pub(super) connection: Option<SqliteConnection>,
    /// Closed first: SQLite merges its log into the file when the last connection closes.
    pub(super) readers: SqlitePool,
    pub(super) inbox: mpsc::Receiver<Job>,
}

/// A change, and the channel for the rows it returns.
pub(crate) struct Job {
    change: Query,
    done: oneshot::Sender<Result<Vec<Row>, StoreError>>,
}

// === impl Job ===

impl Job {
    /// Sends a change to the writer, and waits until it is committed.
    pub(crate) async fn run(
        jobs: &mpsc::Sender<Self>,
        change: Query,
    ) -> Result<Vec<Row>, StoreError> {
        let (done, outcome) = oneshot::channel();
        let sent = jobs.send(Self { change, done }).await;
        sent.map_err(|_| StoreError::Closed)?;
        // The writer drops the sender when it stops.
        outcome.await.unwrap_or(Err(StoreError::Closed))
    }
}

// === impl Writer ===

impl Writer {
    /// Writes until all senders are dropped, then closes the file.
    pub async fn run(mut self) {
        let mut batch = Vec::with_capacity(BATCH);
        while self.inbox.recv_many(&mut batch, BATCH).await > 0 {
            let (changes, callers): (Vec<_>, Vec<_>) = batch
                .drain(..)
                .map(|job: Job| (job.change, job.done))
                .unzip();
            let outcomes = match self.commit(changes).await {
                Ok(outcomes) => outcomes,
                Err(error) => {
                    // The connection may still be inside the transaction.
                    self.connection = None;
                    let error = StoreError::from(error);
                    callers.iter().map(|_| Err(error.clone())).collect()
                }
            };
            for (caller, outcome) in callers.into_iter().zip(outcomes) {
                // The caller may have stopped waiting.
                let _ = caller.send(outcome);
            }
        }
        self.readers.close().await;
        if let Some(connection) = self.connection
            && let Err(error) = connection.close().await
        {
            warn!(%error, "the store was not closed properly");
        }
    }

    /// Commits the whole batch or nothing; a change that fails alone does not affect the others.
    async fn commit(
        &mut self,
        changes: Vec<Query>,
    ) -> sqlx::Result<Vec<Result<Vec<Row>, StoreError>>> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(self.options.connect().await?),
        };
        // Takes the write lock at the start: waiting for it later would fail instead.
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
        let mut outcomes = Vec::with_capacity(changes.len());
        for change in changes {
            outcomes.push(sqlite_rows(&mut *transaction, change).await);
        }
        transaction.commit().await?;
        Ok(outcomes)
    }
}
