//! The task that writes to the file.

use sqlx::{
    ConnectOptions as _, Connection as _, Row as _, SqliteConnection, SqlitePool,
    sqlite::SqliteConnectOptions,
};
use tokio::sync::{mpsc, oneshot};
use tracing::warn;

use crate::{Conversation, Revision, StoreError};

/// Number of jobs that may wait for the writer; further callers wait for a free slot.
pub(super) const WAITING: usize = 256;

/// Maximum number of changes in one commit.
const BATCH: usize = 64;

/// Writes the changes of a [`Sqlite`](super::Sqlite).
///
/// A commit to disk takes the same time for one change as for many. All changes that arrive during
/// a commit form the next one, and are acknowledged after it.
#[derive(Debug)]
#[must_use = "nothing is written unless it runs"]
pub struct Writer {
    options: SqliteConnectOptions,
    /// None after a failed commit.
    connection: Option<SqliteConnection>,
    /// Closed first: SQLite merges its log into the file when the last connection closes.
    readers: SqlitePool,
    inbox: mpsc::Receiver<Job>,
}

/// A change to the stored conversations.
#[derive(Debug)]
pub(super) enum Change {
    Create(Conversation),
    Replace {
        owner: String,
        id: String,
        revision: Box<Revision>,
    },
    Rename {
        owner: String,
        id: String,
        title: String,
        updated_at: String,
    },
    Delete {
        owner: String,
        id: String,
    },
    DeleteAll {
        owner: String,
    },
}

/// A change, and the channel for its outcome.
#[derive(Debug)]
pub(super) struct Job {
    change: Change,
    done: oneshot::Sender<Result<Done, StoreError>>,
}

/// Outcome of a change.
#[derive(Debug, Default)]
pub(super) struct Done {
    /// Number of changed conversations.
    pub(super) rows: u64,
    /// New state of a replaced conversation.
    pub(super) replaced: Option<Conversation>,
}

// === impl Job ===

impl Job {
    pub(super) fn new(change: Change) -> (Self, oneshot::Receiver<Result<Done, StoreError>>) {
        let (done, outcome) = oneshot::channel();
        (Self { change, done }, outcome)
    }
}

// === impl Writer ===

impl Writer {
    pub(super) fn new(
        options: SqliteConnectOptions,
        connection: SqliteConnection,
        readers: SqlitePool,
        inbox: mpsc::Receiver<Job>,
    ) -> Self {
        Self {
            options,
            connection: Some(connection),
            readers,
            inbox,
        }
    }

    /// Writes until all senders are dropped, then closes the file.
    pub async fn run(mut self) {
        let mut batch = Vec::with_capacity(BATCH);
        while self.inbox.recv_many(&mut batch, BATCH).await > 0 {
            let outcomes = match self.commit(&batch).await {
                Ok(outcomes) => outcomes,
                Err(error) => {
                    // The connection may still be inside the transaction.
                    self.connection = None;
                    let error = StoreError::from(error);
                    batch.iter().map(|_| Err(error.clone())).collect()
                }
            };
            for (job, outcome) in batch.drain(..).zip(outcomes) {
                // The caller may have stopped waiting.
                let _ = job.done.send(outcome);
            }
        }
        self.readers.close().await;
        if let Some(connection) = self.connection
            && let Err(error) = connection.close().await
        {
            warn!(%error, "the store was not closed in good order");
        }
    }

    /// Commits the whole batch or nothing; a change that fails alone does not affect the others.
    async fn commit(&mut self, batch: &[Job]) -> sqlx::Result<Vec<Result<Done, StoreError>>> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(self.options.connect().await?),
        };
        // Takes the write lock at the start: waiting for it later would fail instead.
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
        let mut outcomes = Vec::with_capacity(batch.len());
        for job in batch {
            let outcome = job.change.apply(&mut transaction).await;
            outcomes.push(outcome);
        }
        transaction.commit().await?;
        Ok(outcomes)
    }
}

// === impl Change ===

impl Change {
    async fn apply(&self, connection: &mut SqliteConnection) -> Result<Done, StoreError> {
        let query = match self {
            Self::Create(new) => sqlx::query(
                "INSERT INTO conversations (id, username, title, provider, model, connection, \
                 preview, created_at, updated_at, messages) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            )
            .bind(&new.id)
            .bind(&new.username)
            .bind(&new.title)
            .bind(&new.provider)
            .bind(&new.model)
            .bind(&new.connection)
            .bind(&new.preview)
            .bind(&new.created_at)
            .bind(&new.updated_at)
            .bind(new.messages.get()),
            Self::Replace {
                owner,
                id,
                revision,
            } => return replace(connection, owner, id, revision).await,
            Self::Rename {
                owner,
                id,
                title,
                updated_at,
            } => sqlx::query(
                "UPDATE conversations SET title = ?, updated_at = ? WHERE id = ? AND username = ?",
            )
            .bind(title)
            .bind(updated_at)
            .bind(id)
            .bind(owner),
            Self::Delete { owner, id } => {
                sqlx::query("DELETE FROM conversations WHERE id = ? AND username = ?")
                    .bind(id)
                    .bind(owner)
            }
            Self::DeleteAll { owner } => {
                sqlx::query("DELETE FROM conversations WHERE username = ?").bind(owner)
            }
        };
        let rows = query.execute(connection).await?.rows_affected();
        let replaced = None;
        Ok(Done { rows, replaced })
    }
}

async fn replace(
    connection: &mut SqliteConnection,
    owner: &str,
    id: &str,
    revision: &Revision,
) -> Result<Done, StoreError> {
    let row = sqlx::query(
        "UPDATE conversations SET provider = ?, model = ?, connection = ?, preview = ?, \
         messages = ?, updated_at = ? WHERE id = ? AND username = ? RETURNING title, created_at",
    )
    .bind(&revision.provider)
    .bind(&revision.model)
    .bind(&revision.connection)
    .bind(&revision.preview)
    .bind(revision.messages.get())
    .bind(&revision.updated_at)
    .bind(id)
    .bind(owner)
    .fetch_optional(connection)
    .await?;
    let Some(row) = row else {
        return Ok(Done::default());
    };
    let replaced = revision.applied(id, owner, row.try_get(0)?, row.try_get(1)?);
    Ok(Done {
        rows: 1,
        replaced: Some(replaced),
    })
}
