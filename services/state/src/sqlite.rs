//! Files of SQLite: one process owns them, with many readers and one writer.

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
    ConnectOptions as _, SqlitePool,
    migrate::MigrateError,
    sqlite::{
        SqliteArguments, SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions,
        SqliteSynchronous,
    },
};
use tokio::sync::mpsc;
use tracing::info;

use crate::{StoreError, state_database::migrator};

pub(crate) use self::writer::Job;
pub use self::writer::Writer;

/// A statement with its values.
pub(crate) type Query = sqlx::query::Query<'static, sqlx::Sqlite, SqliteArguments>;

/// Name of the file of conversations.
const FILE: &str = "conversations.db";

/// Number of connections that read at the same time.
const READERS: u32 = 4;

/// Maximum wait for a lock of another process, and for a connection.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// Number of jobs that may wait for the writer; further callers wait for a free slot.
const MAX_WAITING: usize = 256;

/// Options of connections to a file, for readers and for the writer.
#[derive(Clone, Debug)]
pub struct FileOptions {
    reading: SqliteConnectOptions,
    /// Options of a connection that writes.
    pub writing: SqliteConnectOptions,
}

// === impl FileOptions ===

impl FileOptions {
    /// Makes the options of the file with this path.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        let reading = SqliteConnectOptions::new()
            .filename(path)
            .busy_timeout(MAX_WAIT)
            .log_slow_statements(tracing::log::LevelFilter::Off, Duration::ZERO);
        let writing = reading
            .clone()
            .journal_mode(SqliteJournalMode::Wal)
            // Each commit is on disk before it is acknowledged. With NORMAL, a power failure could
            // lose the last commits.
            .synchronous(SqliteSynchronous::Full);
        Self { reading, writing }
    }

    /// Makes a pool of connections that read.
    #[must_use]
    pub fn readers(&self) -> SqlitePool {
        pool(READERS).connect_lazy_with(self.reading.clone().read_only(true))
    }

    /// Makes a pool of one connection that writes.
    #[must_use]
    pub fn writer(&self) -> SqlitePool {
        pool(1).connect_lazy_with(self.writing.clone())
    }
}

fn pool(size: u32) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(size)
        .acquire_timeout(MAX_WAIT)
        .test_before_acquire(false)
}

/// Returns the path of the file of conversations in a folder.
pub(crate) fn path_in(folder: &Path) -> PathBuf {
    folder.join(FILE)
}

/// Opens the file of conversations in this folder. Nothing is written before the writer runs.
pub(crate) async fn open(
    folder: &Path,
) -> Result<(SqlitePool, mpsc::Sender<Job>, Writer), StoreError> {
    let path = path_in(folder);
    // Held until the tables exist, because another process may be starting as well.
    let _lock = prepare(folder, &path)?;
    let options = FileOptions::new(&path);
    let is_of_reference = reference::is_in(&options.reading, &path).await?;
    let mut connection = options.writing.connect().await?;
    if is_of_reference {
        reference::rename_table(&mut connection).await?;
    }
    let migrated = migrator(&[
        (
            "conversations",
            include_str!("sqlite/0001_conversations.sql"),
        ),
        ("library", include_str!("sqlite/0002_library.sql")),
        ("accounts", include_str!("sqlite/0003_accounts.sql")),
    ])
    .run_direct(None, &mut connection, false)
    .await;
    if let Err(MigrateError::VersionMissing(_)) = migrated {
        return Err(StoreError::Later { path });
    }
    migrated?;
    let taken_over = reference::import(&mut connection, Timestamp::now()).await;
    match taken_over {
        Ok(None) => {}
        Ok(Some(count)) => info!(
            count,
            "imported the conversations of the older implementation"
        ),
        Err(StoreError::Json(_)) => return Err(StoreError::Foreign { path }),
        Err(error) => return Err(error),
    }
    let readers = options.readers();
    let (jobs, inbox) = mpsc::channel(MAX_WAITING);
    let writer = Writer {
        options: options.writing,
        connection: Some(connection),
        readers: readers.clone(),
        inbox,
    };
    Ok((readers, jobs, writer))
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
