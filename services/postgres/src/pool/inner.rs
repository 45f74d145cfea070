//! Shared state of the clones and leases of a pool.

use std::{
    error::Error,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    time::{self, Instant},
};
use tracing::debug;
use ziggurat_runtime::lock;
use ziggurat_telemetry::DatabaseMetrics;

use crate::{
    database::{ConnectionLimit, Database, Permits},
    kind::Catalogue,
    pool::{LeaseError, Shared, connection::Connection, reaper::CleanupJob, wait::Wait},
};

/// Idle time up to which a connection is leased without a check.
pub(super) const TRUSTED_IDLE: Duration = Duration::from_secs(1);

/// Pause before another attempt to connect, when PostgreSQL has no connection left.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// A connection that is being opened.
type Opened<'a> = Pin<Box<dyn Future<Output = Result<Box<Connection>, LeaseError>> + Send + 'a>>;

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) database: Arc<Database>,
    pub(super) permits: Arc<Semaphore>,
    /// Limit that the sessions of one account share.
    pub(super) share: Arc<ConnectionLimit>,
    pub(super) idle: Mutex<Vec<Idle>>,
    /// Set when the first connection was leased.
    pub(super) was_used: AtomicBool,
    /// Set when released connections must be closed.
    pub(super) is_retired: AtomicBool,
    pub(super) catalogue: Catalogue,
    pub(super) shared: Weak<Shared>,
    pub(crate) metrics: DatabaseMetrics,
    /// Unbounded, but each job is for a connection, and those are limited.
    pub(super) cleanup_jobs: mpsc::UnboundedSender<CleanupJob>,
}

#[derive(Debug)]
pub(super) struct Idle {
    // Boxed: it is large, and moves with every lease.
    pub(super) connection: Box<Connection>,
    pub(super) since: Instant,
}

/// Connection and its permit in the pool.
#[derive(Debug)]
pub(super) struct HeldConnection {
    pub(super) connection: Box<Connection>,
    pub(super) permit: OwnedSemaphorePermit,
}

// === impl Inner ===

impl Inner {
    pub(super) fn idle(&self) -> MutexGuard<'_, Vec<Idle>> {
        lock(&self.idle)
    }

    /// Takes the connection that was used last, so that the others can expire. Also returns whether
    /// it was taken without a check.
    pub(super) async fn usable(&self, wait: Wait) -> Option<(Box<Connection>, bool)> {
        loop {
            let now = Instant::now();
            let idle = {
                let mut list = self.idle();
                let idle = list.pop()?;
                // The permit that the caller holds counts for the connection taken off the list.
                if self.is_stale(&idle, self.open_besides(&list), now) {
                    self.send(CleanupJob::Close(idle.connection));
                    continue;
                }
                idle
            };
            let mut connection = idle.connection;
            if now - idle.since < TRUSTED_IDLE && connection.is_judged(&self.database) {
                return Some((connection, true));
            }
            if connection.is_fit(&self.database, wait).await {
                return Some((connection, false));
            }
        }
    }

    /// Connects, after the limits of the account and of all callers allow it.
    ///
    /// If PostgreSQL itself has no connection left, other programs hold the rest: idle connections
    /// of this server are closed, and connecting is tried again until the connect timeout.
    // Boxed: rare, and larger than what a lease needs else. By its type it is compiled in this crate
    // only, and not once more in each that leases.
    #[inline(never)]
    pub(super) fn open(&self, wait: Wait) -> Opened<'_> {
        Box::pin(self.connect_in_turn(wait))
    }

    async fn connect_in_turn(&self, wait: Wait) -> Result<Box<Connection>, LeaseError> {
        let permit = self.permit(wait).await?;
        let until = wait.end_of_connecting();
        let mut waiting = None;
        let mut full = None;
        loop {
            match self.connect(until).await {
                Ok(mut connection) => {
                    connection.permit = Some(permit);
                    return Ok(connection);
                }
                Err(error) if error.is_full() && Instant::now() + RETRY_PAUSE < until => {
                    full = Some(error);
                    waiting.get_or_insert_with(|| self.database.connection_limit().wait());
                    self.make_way(|pool| pool.database.is_on_a_server_of(&self.database));
                    time::sleep(RETRY_PAUSE).await;
                }
                // The last attempt may time out, and an earlier error says more.
                Err(error) if Instant::now() >= until => return Err(full.unwrap_or(error)),
                Err(error) => return Err(error),
            }
        }
    }

    /// Connects, whatever the limits, and records it.
    pub(super) async fn connect(&self, until: Instant) -> Result<Box<Connection>, LeaseError> {
        let mut connection = Connection::open(&self.database, until).await;
        match &mut connection {
            Ok(connection) => connection.counted = self.metrics.connection_opened(),
            Err(_) => self.metrics.connection_failed(),
        }
        connection
    }

    /// Waits for the permits of a connection.
    async fn permit(&self, wait: Wait) -> Result<Permits, LeaseError> {
        if let Some(permit) = self.try_permit() {
            return Ok(permit);
        }
        let database = || self.database.name().to_owned();
        let limit = self.database.settings().connect_timeout;
        let of_account = if let Some(permit) = self.share.try_take(true) {
            permit
        } else {
            let waiting = self.share.wait();
            self.make_way(|pool| Arc::ptr_eq(&pool.share, &self.share));
            let permit = waiting.take(true, wait.at_most(limit)).await;
            permit.ok_or_else(|| LeaseError::Account {
                database: database(),
                connections: self.share.count(),
                limit: wait.taken(),
            })?
        };
        // One permit of the account is taken by this call.
        let holds_some = self.share.taken() > 1;
        let waiting = self.database.connection_limit().wait();
        self.make_way(|pool| pool.database.is_limited_with(&self.database));
        let of_all = waiting.take(holds_some, wait.at_most(limit)).await;
        let of_all = of_all.ok_or_else(|| LeaseError::Full {
            database: database(),
            limit: wait.taken(),
        })?;
        Ok(Permits {
            _of_all: of_all,
            _of_account: of_account,
        })
    }

    fn try_permit(&self) -> Option<Permits> {
        let holds_some = self.share.taken() > 0;
        let of_account = self.share.try_take(true)?;
        let of_all = self.database.connection_limit().try_take(holds_some)?;
        Some(Permits {
            _of_all: of_all,
            _of_account: of_account,
        })
    }

    /// Closes the connection that was idle for longest, among the pools that `may_have_to` selects.
    fn make_way(&self, may_have_to: impl Fn(&Self) -> bool) {
        if let Some(shared) = self.shared.upgrade() {
            shared.make_way(may_have_to);
        }
    }

    /// Opens an idle connection for the minimum, if permits are free.
    pub(super) async fn top_up(&self) {
        let permit = Arc::clone(&self.permits).try_acquire_owned();
        let (Ok(permit), Some(shared_permit)) = (permit, self.try_permit()) else {
            return;
        };
        let until = Wait::begin(&self.database).end_of_connecting();
        match self.connect(until).await {
            Ok(mut connection) => {
                connection.permit = Some(shared_permit);
                self.take_back(HeldConnection { connection, permit });
            }
            // The next sweep tries again, and a caller that needs a connection gets its own error.
            Err(error) => debug!(
                error = &error as &dyn Error,
                database = self.database.name(),
                "cannot keep a connection open"
            ),
        }
    }

    /// Returns the number of connections, including a list of idle ones.
    fn open_besides(&self, idle: &[Idle]) -> usize {
        idle.len() + size(self.database.settings().max_connections)
            - self.permits.available_permits()
    }

    /// Returns whether fewer connections are open than the minimum.
    pub(super) fn is_short(&self) -> bool {
        let least = size(self.database.settings().min_connections);
        self.was_used.load(Ordering::Relaxed)
            && !self.permits.is_closed()
            && self.open_besides(&self.idle()) < least
    }

    /// Returns whether an idle connection has to be closed while `open` are open.
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
            self.send(CleanupJob::Close(idle.connection));
        }
    }

    /// Keeps a connection for the next lease, then releases its permit.
    pub(super) fn take_back(&self, held: HeldConnection) {
        let HeldConnection {
            mut connection,
            permit,
        } = held;
        // A long row must not use memory for the lifetime of the connection.
        connection.client.shrink();
        let idle = Idle {
            connection,
            since: Instant::now(),
        };
        let mut list = self.idle();
        // Checked under the lock: code that closes the pool or searches for idle connections locks
        // the list too, so it runs entirely before or after this.
        let is_wanted = !self.permits.is_closed()
            && !self.is_retired.load(Ordering::Relaxed)
            && !self.database.connection_limit().are_awaited()
            && !self.share.are_awaited();
        if !is_wanted || self.is_stale(&idle, self.open_besides(&list), idle.since) {
            self.send(CleanupJob::Close(idle.connection));
        } else {
            list.push(idle);
        }
        drop(list);
        drop(permit);
    }

    /// Sends a job to the reaper. Without a reaper the connection is dropped, which PostgreSQL
    /// notices at its next write.
    pub(super) fn send(&self, errand: CleanupJob) {
        self.cleanup_jobs.send(errand).ok();
    }
}

fn size(connections: u32) -> usize {
    connections.try_into().unwrap_or(usize::MAX)
}
