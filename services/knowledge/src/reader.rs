//! The single connection for reading a knowledge base.

use std::{
    ops::{Deref, DerefMut},
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};

use sqlx::{
    ConnectOptions as _,
    sqlite::{SqliteConnectOptions, SqliteConnection},
};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Lends its connection to one task at a time.
///
/// There is only one, because a second would be opened later and might find another file under the
/// same path.
pub(super) struct Reader {
    connection: Mutex<Option<SqliteConnection>>,
    turns: Semaphore,
}

/// The connection; dropping it returns it, also when the query was cancelled.
pub(super) struct Turn<'a> {
    connection: Option<SqliteConnection>,
    reader: &'a Reader,
    _permit: SemaphorePermit<'a>,
}

// === impl Reader ===

impl Reader {
    /// Opens the file, which must exist.
    pub(super) async fn open(path: &Path) -> Result<Self, sqlx::Error> {
        let options = SqliteConnectOptions::new().filename(path).read_only(true);
        let connection = options.connect().await?;
        Ok(Self {
            connection: Mutex::new(Some(connection)),
            turns: Semaphore::new(1),
        })
    }

    pub(super) async fn turn(&self) -> Turn<'_> {
        let permit = self.turns.acquire().await.expect("it is never closed");
        let connection = self.place().take();
        Turn {
            connection,
            reader: self,
            _permit: permit,
        }
    }

    fn place(&self) -> MutexGuard<'_, Option<SqliteConnection>> {
        // No code panics while holding it.
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Turn ===

impl Deref for Turn<'_> {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        self.connection.as_ref().expect("it is taken when dropped")
    }
}

impl DerefMut for Turn<'_> {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        self.connection.as_mut().expect("it is taken when dropped")
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.reader.place() = self.connection.take();
    }
}
