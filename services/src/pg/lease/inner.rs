//! What the clones and the leases of a pool share.

use std::{
    error::Error,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use sqlx::Connection as _;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    time::{self, Instant},
};
use tracing::debug;

use crate::pg::{database::Database, kind::Catalogue};

use super::{LeaseError, Shared, connection::Connection, reaper::Errand};

/// How long an idle connection is lent without asking whether it is still there.
pub(super) const TRUSTED_IDLE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) database: Arc<Database>,
    pub(super) room: Arc<Semaphore>,
    pub(super) idle: Mutex<Vec<Idle>>,
    /// Whether anybody ever had a connection.
    pub(super) was_used: AtomicBool,
    /// Whether connections are closed as soon as nobody uses them.
    pub(super) is_retired: AtomicBool,
    pub(super) catalogue: Catalogue,
    pub(super) shared: Weak<Shared>,
    /// Unbounded, but each errand is a connection, and those are counted.
    pub(super) errands: mpsc::UnboundedSender<Errand>,
}

#[derive(Debug)]
pub(super) struct Idle {
    pub(super) connection: Connection,
    pub(super) since: Instant,
}

/// A connection and the room it takes.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) connection: Connection,
    pub(super) room: OwnedSemaphorePermit,
}

// === impl Inner ===

impl Inner {
    pub(super) fn idle(&self) -> MutexGuard<'_, Vec<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the connection that was used last, so that the others can grow old, and says
    /// whether it was taken on trust.
    pub(super) async fn usable(&self) -> Option<(Connection, bool)> {
        loop {
            let now = Instant::now();
            let idle = {
                let mut list = self.idle();
                let idle = list.pop()?;
                // The room held for it stands for the one that was taken off the list.
                if self.is_stale(&idle, self.open_besides(&list), now) {
                    self.send(Errand::Close(idle.connection));
                    continue;
                }
                idle
            };
            let mut connection = idle.connection;
            if now - idle.since < TRUSTED_IDLE {
                return Some((connection, true));
            }
            let limit = self.database.settings().connect_timeout;
            if let Ok(Ok(())) = time::timeout(limit, connection.inner.ping()).await {
                return Some((connection, false));
            }
        }
    }

    /// Connects, once all callers together have room for it.
    pub(super) async fn open(&self) -> Result<Connection, LeaseError> {
        let seat = self.seat().await?;
        let mut connection = Connection::open(&self.database).await?;
        connection.seat = Some(seat);
        Ok(connection)
    }

    async fn seat(&self) -> Result<OwnedSemaphorePermit, LeaseError> {
        let seats = self.database.seats();
        if let Some(seat) = seats.try_take() {
            return Ok(seat);
        }
        let waiting = seats.wait();
        if let Some(shared) = self.shared.upgrade() {
            shared.make_way(&self.database);
        }
        let limit = self.database.settings().connect_timeout;
        let seat = time::timeout(limit, waiting.take()).await;
        seat.map_err(|_| LeaseError::Full {
            database: self.database.name().to_owned(),
            limit,
        })
    }

    /// Opens a connection that is to be kept, unless somebody needs the room for it.
    pub(super) async fn top_up(&self) {
        let room = Arc::clone(&self.room).try_acquire_owned();
        let (Ok(room), Some(seat)) = (room, self.database.seats().try_take()) else {
            return;
        };
        match Connection::open(&self.database).await {
            Ok(mut connection) => {
                connection.seat = Some(seat);
                self.take_back(Held { connection, room });
            }
            // It is tried again soon, and whoever needs one is told.
            Err(error) => debug!(
                error = &error as &dyn Error,
                database = self.database.name(),
                "a connection could not be kept open"
            ),
        }
    }

    /// How many connections there are, a list of idle ones included.
    fn open_besides(&self, idle: &[Idle]) -> usize {
        idle.len() + size(self.database.settings().max_connections) - self.room.available_permits()
    }

    /// Whether fewer are open than are to be kept open.
    pub(super) fn is_short(&self) -> bool {
        let least = size(self.database.settings().min_connections);
        self.was_used.load(Ordering::Relaxed)
            && !self.room.is_closed()
            && self.open_besides(&self.idle()) < least
    }

    /// Whether a connection has to go, where so many are open.
    fn is_stale(&self, idle: &Idle, open: usize, now: Instant) -> bool {
        let settings = self.database.settings();
        let is_unused = now - idle.since >= settings.max_idle;
        (is_unused && open > size(settings.min_connections))
            || now - idle.connection.since >= settings.max_lifetime
    }

    pub(super) fn drop_stale(&self) {
        let mut list = self.idle();
        let mut open = self.open_besides(&list);
        let now = Instant::now();
        for idle in list.extract_if(.., |idle| {
            let goes = self.is_stale(idle, open, now);
            open -= usize::from(goes);
            goes
        }) {
            self.send(Errand::Close(idle.connection));
        }
    }

    /// Keeps a connection for the next lease, then makes room for it.
    pub(super) fn take_back(&self, held: Held) {
        let Held {
            mut connection,
            room,
        } = held;
        // One long row must not cost its length for as long as the connection lives.
        connection.inner.shrink_buffers();
        let idle = Idle {
            connection,
            since: Instant::now(),
        };
        let mut list = self.idle();
        // Under the lock: whoever closes the pool or looks for a connection nobody uses comes to
        // the list after this, or did before.
        let is_wanted = !self.room.is_closed()
            && !self.is_retired.load(Ordering::Relaxed)
            && !self.database.seats().are_awaited();
        if !is_wanted || self.is_stale(&idle, self.open_besides(&list), idle.since) {
            self.send(Errand::Close(idle.connection));
        } else {
            list.push(idle);
        }
        drop(list);
        drop(room);
    }

    /// Without a reaper the connection is dropped, which PostgreSQL notices when it next writes
    /// to it.
    pub(super) fn send(&self, errand: Errand) {
        self.errands.send(errand).ok();
    }
}

fn size(connections: u32) -> usize {
    connections.try_into().unwrap_or(usize::MAX)
}
