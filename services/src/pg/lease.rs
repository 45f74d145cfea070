//! Connections, lent to one caller at a time.
//!
//! A caller has a [`Pool`] for each database it uses, and shares it with nobody: temporary
//! tables and settings are its own. A pool is a list of idle connections behind a fair
//! semaphore. Giving a connection back costs nothing, where a general pool would ask PostgreSQL
//! whether it is still there; instead, one that was idle for a while is asked before it is lent.
//!
//! # Abandoned statements
//!
//! A caller that goes away drops its [`Lease`], and `drop` cannot talk to PostgreSQL. So a
//! lease that is dropped in the middle of a statement goes to the [`Reaper`], the one future
//! that whoever builds the server has to run: it cancels the statement from a connection of its
//! own, and closes the one that ran it. The room of a connection is free again only then, so
//! that a client that keeps going away cannot use more of PostgreSQL than one that stays. The
//! reaper also closes what has been idle for too long. It holds no more than the pools do.

mod reaper;
#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection};
use thiserror::Error;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    time::{self, Instant},
};

use super::{database::Database, kind::Catalogue};

use self::reaper::Errand;
pub use self::reaper::Reaper;

/// How long an idle connection is lent without asking whether it is still there.
const TRUSTED_IDLE: Duration = Duration::from_secs(1);

/// The pools of all callers.
#[derive(Clone, Debug)]
pub struct Pools {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// By caller, then by the name of the database.
    pools: Mutex<HashMap<String, HashMap<String, Pool>>>,
    errands: mpsc::UnboundedSender<Errand>,
}

/// The connections of one caller to one database.
#[derive(Clone, Debug)]
pub struct Pool {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    database: Arc<Database>,
    room: Arc<Semaphore>,
    idle: Mutex<Vec<Idle>>,
    catalogue: Catalogue,
    /// Unbounded, but each errand is a connection, and those are counted.
    errands: mpsc::UnboundedSender<Errand>,
}

#[derive(Debug)]
struct Idle {
    connection: Connection,
    since: Instant,
}

/// A connection, and what PostgreSQL knows it by.
#[derive(Debug)]
struct Connection {
    inner: PgConnection,
    process: i32,
    since: Instant,
}

/// A connection and the room it takes.
#[derive(Debug)]
struct Held {
    connection: Connection,
    room: OwnedSemaphorePermit,
}

/// A connection that is its holder's until it is dropped.
///
/// What becomes of it then depends on what it was doing. Between statements it goes back to its
/// pool. In the middle of one (see [`begin`](Self::begin)) the statement is cancelled and the
/// connection closed.
#[derive(Debug)]
pub struct Lease {
    /// `None` only while it is being dropped.
    held: Option<Held>,
    pool: Arc<Inner>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Between statements and outside of transactions.
    Settled,
    /// Something may be running.
    Busy,
    /// Nobody is at the other end.
    Broken,
}

/// Why there is no connection.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LeaseError {
    /// The caller's pools were closed, because its token expired or the server is stopping.
    #[error("the pool is closed")]
    Closed,
    /// PostgreSQL did not answer in time.
    #[error("connecting to database '{database}' took longer than {limit:?}")]
    TimedOut {
        /// The configured name.
        database: String,
        /// How long it was waited for.
        limit: Duration,
    },
    /// PostgreSQL cannot be reached, or lets nobody in.
    #[error("failed to connect to database '{database}'")]
    Connect {
        /// The configured name.
        database: String,
        /// What the driver says.
        source: sqlx::Error,
    },
}

// === impl Pools ===

impl Pools {
    /// Makes the pools, and the future that cleans up after them.
    ///
    /// The [`Reaper`] is given to the caller because only the program spawns tasks and knows
    /// when to join them.
    pub fn new() -> (Self, Reaper) {
        let (errands, inbox) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared {
            pools: Mutex::default(),
            errands,
        });
        let reaper = Reaper::new(inbox, Arc::downgrade(&shared));
        (Self { shared }, reaper)
    }

    /// The pool of a caller for a database, made when it is first asked for.
    ///
    /// `caller` is a session key, never the token itself. Making a pool connects to nothing.
    /// When the description of the database is another than before, so is the pool.
    #[must_use]
    pub fn pool(&self, caller: &str, database: &Arc<Database>) -> Pool {
        let mut callers = self.shared.lock();
        let known = callers
            .get(caller)
            .and_then(|pools| pools.get(database.name()));
        if let Some(pool) = known {
            if Arc::ptr_eq(&pool.inner.database, database) && !pool.is_closed() {
                return pool.clone();
            }
            pool.close();
        }
        let pool = Pool::new(Arc::clone(database), self.shared.errands.clone());
        callers
            .entry(caller.to_owned())
            .or_default()
            .insert(database.name().to_owned(), pool.clone());
        pool
    }

    /// Closes all pools of a caller: its token is no good any more.
    ///
    /// Whoever waits for a connection is told so; a statement that runs may end, which its
    /// timeout bounds, and then its connection closes.
    pub fn close(&self, caller: &str) {
        let pools = self.shared.lock().remove(caller);
        pools.iter().flat_map(HashMap::values).for_each(Pool::close);
    }

    /// Closes the pools of a caller for all databases but this one.
    pub fn close_others(&self, caller: &str, database: &str) {
        if let Some(pools) = self.shared.lock().get_mut(caller) {
            pools.retain(|name, pool| {
                let stays = name == database;
                if !stays {
                    pool.close();
                }
                stays
            });
        }
    }

    /// Closes the pools of all callers for a database: it is not there any more, or not there
    /// any more as it was described.
    pub fn close_database(&self, database: &str) {
        for pools in self.shared.lock().values_mut() {
            if let Some(pool) = pools.remove(database) {
                pool.close();
            }
        }
    }

    /// Closes everything, so that the reaper can come to its end.
    pub fn close_all(&self) {
        let callers = mem::take(&mut *self.shared.lock());
        callers
            .values()
            .flat_map(HashMap::values)
            .for_each(Pool::close);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, HashMap<String, Pool>>> {
        // Nothing panics while holding it, and a map is whole at any time.
        self.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes what has been idle for too long, and forgets pools nobody uses.
    fn sweep(&self) {
        self.lock().retain(|_, pools| {
            pools.retain(|_, pool| {
                pool.inner.drop_stale();
                pool.is_in_use()
            });
            !pools.is_empty()
        });
    }
}

// === impl Pool ===

impl Pool {
    fn new(database: Arc<Database>, errands: mpsc::UnboundedSender<Errand>) -> Self {
        let room = database.settings().max_connections;
        Self {
            inner: Arc::new(Inner {
                room: Arc::new(Semaphore::new(room.try_into().unwrap_or(usize::MAX))),
                idle: Mutex::default(),
                catalogue: Catalogue::default(),
                database,
                errands,
            }),
        }
    }

    /// The database it connects to.
    #[must_use]
    pub fn database(&self) -> &Arc<Database> {
        &self.inner.database
    }

    /// Waits for a connection; those who came first get theirs first.
    ///
    /// # Errors
    /// When the pool is closed, also while waiting, and when PostgreSQL lets nobody in.
    pub async fn lease(&self) -> Result<Lease, LeaseError> {
        let room = Arc::clone(&self.inner.room).acquire_owned().await;
        let room = room.map_err(|_| LeaseError::Closed)?;
        let connection = match self.inner.usable().await {
            Some(connection) => connection,
            None => Connection::open(&self.inner.database).await?,
        };
        if self.is_closed() {
            self.inner.send(Errand::Close(connection));
            return Err(LeaseError::Closed);
        }
        Ok(Lease {
            held: Some(Held { connection, room }),
            pool: Arc::clone(&self.inner),
            state: State::Settled,
        })
    }

    pub(crate) fn catalogue(&self) -> &Catalogue {
        &self.inner.catalogue
    }

    /// Connects once more, for one short question while a lease is in the middle of a result.
    ///
    /// Not counted: whoever asks holds a lease, and could wait for its own.
    pub(crate) async fn aside(&self) -> Result<PgConnection, LeaseError> {
        Ok(Connection::open(&self.inner.database).await?.inner)
    }

    fn is_closed(&self) -> bool {
        self.inner.room.is_closed()
    }

    fn is_in_use(&self) -> bool {
        // Somebody else holds the pool, or a lease of it, or it has connections to keep.
        Arc::strong_count(&self.inner) > 1 || !self.inner.idle().is_empty()
    }

    fn close(&self) {
        self.inner.room.close();
        for idle in self.inner.idle().drain(..) {
            self.inner.send(Errand::Close(idle.connection));
        }
    }
}

// === impl Inner ===

impl Inner {
    fn idle(&self) -> MutexGuard<'_, Vec<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the connection that was used last, so that the others can grow old.
    async fn usable(&self) -> Option<Connection> {
        loop {
            let idle = self.idle().pop()?;
            if self.is_stale(&idle) {
                self.send(Errand::Close(idle.connection));
                continue;
            }
            let mut connection = idle.connection;
            if idle.since.elapsed() < TRUSTED_IDLE {
                return Some(connection);
            }
            let limit = self.database.settings().connect_timeout;
            if let Ok(Ok(())) = time::timeout(limit, connection.inner.ping()).await {
                return Some(connection);
            }
        }
    }

    fn is_stale(&self, idle: &Idle) -> bool {
        let settings = self.database.settings();
        idle.since.elapsed() >= settings.max_idle
            || idle.connection.since.elapsed() >= settings.max_lifetime
    }

    fn drop_stale(&self) {
        for idle in self.idle().extract_if(.., |idle| self.is_stale(idle)) {
            self.send(Errand::Close(idle.connection));
        }
    }

    /// Keeps a connection for the next lease, then makes room for it.
    fn take_back(&self, held: Held) {
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
        // Under the lock: whoever closes the pool empties the list after this, or did before.
        if self.room.is_closed() || self.is_stale(&idle) {
            self.send(Errand::Close(idle.connection));
        } else {
            list.push(idle);
        }
        drop(list);
        drop(room);
    }

    /// Without a reaper the connection is dropped, which PostgreSQL notices when it next writes
    /// to it.
    fn send(&self, errand: Errand) {
        self.errands.send(errand).ok();
    }
}

// === impl Connection ===

impl Connection {
    /// Connects and settles what every statement relies on.
    async fn open(database: &Database) -> Result<Self, LeaseError> {
        let settings = database.settings();
        let connect = async {
            let mut inner = database.options().connect().await?;
            let process = set_up(&mut inner, database).await?;
            Ok(Self {
                inner,
                process,
                since: Instant::now(),
            })
        };
        match time::timeout(settings.connect_timeout, connect).await {
            Ok(connected) => connected.map_err(|source| LeaseError::Connect {
                database: settings.name.clone(),
                source,
            }),
            Err(_) => Err(LeaseError::TimedOut {
                database: settings.name.clone(),
                limit: settings.connect_timeout,
            }),
        }
    }
}

/// Settings travel as statements, since poolers refuse them as start-up parameters.
async fn set_up(connection: &mut PgConnection, database: &Database) -> sqlx::Result<i32> {
    let timeout = milliseconds(database.query_timeout());
    let access = if database.allows_writes() {
        "off"
    } else {
        "on"
    };
    let set_up = format!(
        "SET statement_timeout = {timeout}; \
         SET default_transaction_read_only = {access}; \
         SELECT pg_backend_pid()"
    );
    let row = sqlx::raw_sql(AssertSqlSafe(set_up))
        .fetch_one(connection)
        .await?;
    sqlx::Row::try_get(&row, 0)
}

/// A timeout as PostgreSQL takes it, where zero is none.
pub(crate) fn milliseconds(timeout: Option<Duration>) -> u128 {
    // Rounded up: less than a millisecond must not become forever.
    timeout.map_or(0, |timeout| timeout.as_nanos().div_ceil(1_000_000))
}

// === impl Lease ===

impl Lease {
    /// Lends the connection to a statement.
    ///
    /// Until [`settle`](Self::settle) says that it has come to its end, dropping the lease
    /// cancels what runs and closes the connection. So an error, or a future that is dropped,
    /// needs no further care.
    ///
    /// ```no_run
    /// # use ziggurat_services::pg::lease::Lease;
    /// # async fn example(mut lease: Lease) -> sqlx::Result<()> {
    /// let version: String = sqlx::query_scalar("SELECT version()")
    ///     .fetch_one(lease.begin())
    ///     .await?;
    /// lease.settle();
    /// # Ok(())
    /// # }
    /// ```
    pub fn begin(&mut self) -> &mut PgConnection {
        self.state = State::Busy;
        &mut self.held_mut().connection.inner
    }

    /// Says that nothing runs and no transaction is open.
    pub fn settle(&mut self) {
        self.state = State::Settled;
    }

    /// Says that the connection is of no use, and nothing can be cancelled.
    pub(crate) fn give_up(&mut self) {
        self.state = State::Broken;
    }

    /// The database it is connected to.
    #[must_use]
    pub fn database(&self) -> &Arc<Database> {
        &self.pool.database
    }

    /// The pool it came from.
    pub(crate) fn pool(&self) -> Pool {
        Pool {
            inner: Arc::clone(&self.pool),
        }
    }

    fn held_mut(&mut self) -> &mut Held {
        self.held.as_mut().expect("held until it is dropped")
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(held) = self.held.take() else {
            return;
        };
        match self.state {
            State::Settled => self.pool.take_back(held),
            State::Busy => {
                let pool = Arc::clone(&self.pool);
                self.pool.send(Errand::Cancel { held, pool });
            }
            State::Broken => drop(held),
        }
    }
}
