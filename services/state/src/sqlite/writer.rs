//! The one who writes.

use sqlx::{
    ConnectOptions as _, Connection as _, Row as _, SqliteConnection, SqlitePool,
    sqlite::SqliteConnectOptions,
};
use tokio::sync::{mpsc, oneshot};
use tracing::warn;

use crate::{Conversation, Revision, StoreError};

/// How many may wait for the writer; the rest wait for a place among them.
pub(super) const WAITING: usize = 256;

/// How many are written at a time.
const BATCH: usize = 64;

/// Writes what a [`Sqlite`](super::Sqlite) is asked to.
///
/// Reaching the disk takes the same time for one change as for many, so whatever has come in
/// while the disk was busy is committed together, and acknowledged then.
#[derive(Debug)]
#[must_use = "nothing is written unless it runs"]
pub struct Writer {
    options: SqliteConnectOptions,
    /// None after it failed to commit.
    connection: Option<SqliteConnection>,
    /// To be closed first: the last connection is the one that tidies up.
    readers: SqlitePool,
    inbox: mpsc::Receiver<Job>,
}

/// Something to write.
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

/// Something to write, and somebody who waits for it.
#[derive(Debug)]
pub(super) struct Job {
    change: Change,
    done: oneshot::Sender<Result<Done, StoreError>>,
}

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct Done {
    /// How many conversations it was about.
    pub(super) rows: u64,
    /// What was replaced, as it is now.
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

    /// Writes until nobody can ask for more, and leaves one whole file.
    pub async fn run(mut self) {
        let mut batch = Vec::with_capacity(BATCH);
        while self.inbox.recv_many(&mut batch, BATCH).await > 0 {
            let outcomes = match self.commit(&batch).await {
                Ok(outcomes) => outcomes,
                Err(error) => {
                    // It may still be in the middle of the transaction.
                    self.connection = None;
                    let error = StoreError::from(error);
                    batch.iter().map(|_| Err(error.clone())).collect()
                }
            };
            for (job, outcome) in batch.drain(..).zip(outcomes) {
                // Whoever asked may be gone.
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

    /// Writes all of it, or nothing; a change that fails by itself leaves the others alone.
    async fn commit(&mut self, batch: &[Job]) -> sqlx::Result<Vec<Result<Done, StoreError>>> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(self.options.connect().await?),
        };
        // Taken at once: waiting for it in the middle would fail instead.
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
