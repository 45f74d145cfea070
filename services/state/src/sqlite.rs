//! Conversations in an SQLite file.

mod reference;
mod writer;

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use sqlx::{
    ConnectOptions as _, Row as _, SqlSafeStr as _, SqlitePool,
    migrate::{Migration, MigrationType, Migrator},
    sqlite::{
        SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteRow, SqliteSynchronous,
    },
};
use tokio::sync::mpsc;
use tracing::info;

use super::{
    Conversation, Conversations, Listed, Page, Revision, StoreError,
    conversation::{storable, written},
    row::{Cells, conversation, listed},
};

pub use self::writer::Writer;
use self::writer::{Change, Done, Job, WAITING};

/// Name of the file.
const FILE: &str = "conversations.db";

/// Number of connections that read at the same time.
const READERS: u32 = 4;

/// Maximum wait for a lock of another process, and for a connection.
const PATIENCE: Duration = Duration::from_secs(5);

/// Stores conversations in a local file.
///
/// Reads run in parallel; all writes go through one [`Writer`].
#[derive(Clone, Debug)]
pub struct Sqlite {
    readers: SqlitePool,
    jobs: mpsc::Sender<Job>,
}

// === impl Sqlite ===

impl Sqlite {
    /// Opens the file in this folder; creates both if missing. Only their owner can access them.
    ///
    /// Nothing is written before the [`Writer`] runs.
    ///
    /// # Errors
    /// Fails if the folder or the file cannot be used, or if the file belongs to another program. A
    /// file of the reference implementation is converted.
    pub async fn open(folder: &Path) -> Result<(Self, Writer), StoreError> {
        let path = folder.join(FILE);
        // Held until the tables exist, because another process may be starting as well.
        let _turn = prepare(folder, &path)?;
        let options = SqliteConnectOptions::new()
            .filename(&path)
            .busy_timeout(PATIENCE);
        let is_of_reference = reference::is_in(&options, &path).await?;
        let writing = options
            .clone()
            .journal_mode(SqliteJournalMode::Wal)
            // Each commit is on disk before it is acknowledged. With NORMAL, a power failure could
            // lose the last commits.
            .synchronous(SqliteSynchronous::Full)
            .log_slow_statements(tracing::log::LevelFilter::Off, Duration::ZERO);
        let mut connection = writing.connect().await?;
        if is_of_reference {
            reference::set_aside(&mut connection).await?;
        }
        migrations()
            .run_direct(None, &mut connection, false)
            .await?;
        let taken_over = reference::take_over(&mut connection, Timestamp::now()).await;
        match taken_over {
            Ok(None) => {}
            Ok(Some(count)) => info!(
                count,
                "conversations of the reference implementation were taken over"
            ),
            Err(StoreError::Json(_)) => return Err(StoreError::Foreign { path }),
            Err(error) => return Err(error),
        }
        let readers = SqlitePoolOptions::new()
            .max_connections(READERS)
            .acquire_timeout(PATIENCE)
            .test_before_acquire(false)
            .connect_lazy_with(options.read_only(true));
        let (jobs, inbox) = mpsc::channel(WAITING);
        let writer = Writer::new(writing, connection, readers.clone(), inbox);
        Ok((Self { readers, jobs }, writer))
    }

    async fn change(&self, change: Change) -> Result<Done, StoreError> {
        let (job, done) = Job::new(change);
        let sent = self.jobs.send(job).await;
        sent.map_err(|_| StoreError::Closed)?;
        // The writer drops the sender when it stops.
        done.await.unwrap_or(Err(StoreError::Closed))
    }
}

impl Cells for SqliteRow {
    fn text(&self, at: usize) -> Result<String, StoreError> {
        Ok(self.try_get(at)?)
    }
}

impl Conversations for Sqlite {
    async fn list(&self, owner: &str, page: Page) -> Result<Vec<Listed>, StoreError> {
        let rows = sqlx::query(
            "SELECT id, title, connection, created_at, updated_at, preview FROM conversations \
             WHERE username = ? ORDER BY updated_at DESC, id DESC LIMIT ? OFFSET ?",
        )
        .bind(owner)
        .bind(page.limit)
        .bind(i64::try_from(page.offset).unwrap_or(i64::MAX))
        .fetch_all(&self.readers)
        .await?;
        rows.iter().map(listed).collect()
    }

    async fn find(&self, owner: &str, id: &str) -> Result<Option<Conversation>, StoreError> {
        let row = sqlx::query(
            "SELECT id, username, title, provider, model, connection, preview, created_at, \
             updated_at, messages FROM conversations WHERE id = ? AND username = ?",
        )
        .bind(id)
        .bind(owner)
        .fetch_optional(&self.readers)
        .await?;
        row.as_ref().map(conversation).transpose()
    }

    async fn create(&self, new: Conversation) -> Result<(), StoreError> {
        self.change(Change::Create(new)).await.map(|_| ())
    }

    async fn replace(
        &self,
        owner: &str,
        id: &str,
        revision: Revision,
    ) -> Result<Option<Conversation>, StoreError> {
        let change = Change::Replace {
            owner: owner.to_owned(),
            id: id.to_owned(),
            revision: Box::new(revision),
        };
        self.change(change).await.map(|done| done.replaced)
    }

    async fn rename(
        &self,
        owner: &str,
        id: &str,
        title: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let change = Change::Rename {
            owner: owner.to_owned(),
            id: id.to_owned(),
            title: storable(title.to_owned()),
            updated_at: written(now),
        };
        self.change(change).await.map(|done| done.rows > 0)
    }

    async fn delete(&self, owner: &str, id: &str) -> Result<bool, StoreError> {
        let change = Change::Delete {
            owner: owner.to_owned(),
            id: id.to_owned(),
        };
        self.change(change).await.map(|done| done.rows > 0)
    }

    async fn delete_all(&self, owner: &str) -> Result<u64, StoreError> {
        let owner = owner.to_owned();
        let done = self.change(Change::DeleteAll { owner }).await?;
        Ok(done.rows)
    }
}

fn migrations() -> Migrator {
    let conversations = include_str!("sqlite/0001_conversations.sql").into_sql_str();
    Migrator::with_migrations(vec![Migration::new(
        1,
        "conversations".into(),
        MigrationType::Simple,
        conversations,
        false,
    )])
}

/// Creates the folder and an empty file. Other processes wait until the returned lock is dropped.
pub fn prepare(folder: &Path, path: &Path) -> Result<File, StoreError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|error| unusable(folder, error))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let lock_path = folder.join(format!(".{name}.lock"));
    let lock = owned(&lock_path)?;
    lock.lock().map_err(|error| unusable(&lock_path, error))?;
    let file = owned(path)?;
    // SQLite gives its other files the mode of this file.
    let only_ours = Permissions::from_mode(0o600);
    let about = file.metadata().map_err(|error| unusable(path, error))?;
    if about.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(path, only_ours).map_err(|error| unusable(path, error))?;
    }
    Ok(lock)
}

fn owned(path: &Path) -> Result<File, StoreError> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(|error| unusable(path, error))
}

fn unusable(path: &Path, error: io::Error) -> StoreError {
    StoreError::Io {
        path: PathBuf::from(path),
        source: Arc::new(error),
    }
}
