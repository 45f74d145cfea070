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
//!
//! # Who may have how many
//!
//! A caller has as many connections to a database as its pool has room for, and all callers
//! together as many as the description allows. When those are all taken, a connection that
//! somebody keeps unused makes way for one that is wanted. Waiting is fair and ends: for room in
//! a caller's own pool after the lease timeout, for the rest after the connect timeout. There
//! are as many pools as callers that were admitted, times the databases they may use, and those
//! without connections are forgotten.

mod cause;
mod connection;
mod error;
mod inner;
mod reaper;
#[cfg(test)]
mod tests;
mod wait;

use std::{
    collections::HashMap,
    mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError, mpsc},
    time::{self, Instant},
};
use tracing::trace;

use super::{
    LOG_TARGET,
    database::{ConnectionLimit, Database},
    driver::Client,
    kind::Catalogue,
};

pub(crate) use self::connection::{Session, milliseconds};
pub use self::{
    cause::{Cause, Tried},
    error::LeaseError,
    reaper::Reaper,
};
use self::{
    connection::Connection,
    inner::{Held, Inner},
    reaper::CleanupJob,
    wait::Wait,
};

/// Connections that the sessions of one account share, as a multiple of those of one session.
const SHARE: u32 = 4;

/// Time after which a statement is given up that PostgreSQL should have ended: it may be silent.
const GRACE: Duration = Duration::from_secs(3);

/// The pools of all callers.
#[derive(Clone, Debug)]
pub struct Pools {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// By caller, then by the name of the database.
    pools: Mutex<HashMap<String, HashMap<String, Pool>>>,
    /// By account, then by the name of the database.
    shares: Mutex<HashMap<String, HashMap<String, Weak<ConnectionLimit>>>>,
    errands: mpsc::UnboundedSender<CleanupJob>,
}

/// The connections of one caller to one database.
#[derive(Clone, Debug)]
pub struct Pool {
    inner: Arc<Inner>,
}

/// A connection that is its holder's until it is dropped.
///
/// What becomes of it then depends on what it was doing. Between statements it goes back to its
/// pool. In the middle of one (see `Lease::begin`) the statement is cancelled and the
/// connection closed.
#[derive(Debug)]
pub struct Lease {
    /// `None` only while it is being dropped.
    held: Option<Held>,
    pool: Arc<Inner>,
    state: State,
    /// It was idle before, and has not answered since.
    is_untested: bool,
    /// Its caller's wait for it.
    wait: Wait,
    /// It has not answered yet.
    is_first: bool,
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
            shares: Mutex::default(),
            errands,
        });
        let reaper = Reaper::new(inbox, Arc::downgrade(&shared));
        (Self { shared }, reaper)
    }

    /// The pool of a caller for a database, made when it is first asked for.
    ///
    /// `caller` is a session key, never the token itself; `account` is what several sessions
    /// have in common, and they share four times the connections of one. Making a pool
    /// connects to nothing. When the description of the database is another than before, so is
    /// the pool.
    #[must_use]
    pub fn pool_of(&self, caller: &str, account: &str, database: &Arc<Database>) -> Pool {
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
        let share = self.shared.share(account, database);
        let pool = Pool::new(Arc::clone(database), share, &self.shared);
        callers
            .entry(caller.to_owned())
            .or_default()
            .insert(database.name().to_owned(), pool.clone());
        pool
    }

    /// The pool of a caller that shares its connections with no other.
    #[must_use]
    pub fn pool(&self, caller: &str, database: &Arc<Database>) -> Pool {
        self.pool_of(caller, caller, database)
    }

    /// Connects to a database that nobody has configured, for one errand. There is no pool: the
    /// connection closes when the lease ends.
    ///
    /// # Errors
    /// When PostgreSQL lets nobody in.
    pub async fn connect_once(&self, database: &Arc<Database>) -> Result<Lease, LeaseError> {
        let share = Arc::new(ConnectionLimit::of_account(1));
        let pool = Pool::new(Arc::clone(database), share, &self.shared);
        let lease = pool.lease().await?;
        pool.close();
        Ok(lease)
    }

    /// Closes all pools of a caller: its token is no good any more.
    ///
    /// Whoever waits for a connection is told so; a statement that runs may end, which its
    /// timeout bounds, and then its connection closes.
    pub fn close(&self, caller: &str) {
        let pools = self.shared.lock().remove(caller);
        pools.iter().flat_map(HashMap::values).for_each(Pool::close);
    }

    /// Forgets the pools of a caller. Whoever holds one may go on with it, and connections that
    /// nobody uses close: the last goes with the last that holds its pool.
    pub fn retire(&self, caller: &str) {
        let pools = self.shared.lock().remove(caller);
        for pool in pools.iter().flat_map(HashMap::values) {
            pool.inner.is_retired.store(true, Ordering::Relaxed);
            pool.close_idle();
        }
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

    /// Returns the seats that the sessions of an account share.
    fn share(&self, account: &str, database: &Arc<Database>) -> Arc<ConnectionLimit> {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        let known = shares
            .get(account)
            .and_then(|shares| shares.get(database.name()))
            .and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let count = database.settings().max_connections.saturating_mul(SHARE);
            let share = Arc::new(ConnectionLimit::of_account(count));
            shares
                .entry(account.to_owned())
                .or_default()
                .insert(database.name().to_owned(), Arc::downgrade(&share));
            share
        })
    }

    /// Closes what has been idle for too long, opens what is to be kept open, and forgets pools
    /// that are not in use.
    fn sweep(&self) {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        shares.retain(|_, shares| {
            shares.retain(|_, share| share.strong_count() > 0);
            !shares.is_empty()
        });
        drop(shares);
        self.lock().retain(|_, pools| {
            pools.retain(|_, pool| {
                pool.inner.drop_stale();
                // One at a time, so that callers find room meanwhile.
                if pool.inner.is_short() {
                    pool.inner.send(CleanupJob::Open(Arc::clone(&pool.inner)));
                }
                pool.is_in_use()
            });
            !pools.is_empty()
        });
    }

    /// Closes the connection that was unused for longest, of the pools that may have to.
    fn make_way(&self, may_have_to: impl Fn(&Inner) -> bool) {
        let pools = self.lock();
        let oldest = pools
            .values()
            .flat_map(HashMap::values)
            .filter(|pool| may_have_to(&pool.inner))
            .filter_map(|pool| Some((pool.inner.idle().first()?.since, pool)))
            .min_by_key(|(since, _)| *since);
        if let Some((_, pool)) = oldest {
            let mut idle = pool.inner.idle();
            // It may have been lent meanwhile; then it is not kept when it comes back.
            if !idle.is_empty() {
                pool.inner
                    .send(CleanupJob::Close(idle.remove(0).connection));
            }
        }
    }
}

// === impl Pool ===

impl Pool {
    fn new(database: Arc<Database>, share: Arc<ConnectionLimit>, shared: &Arc<Shared>) -> Self {
        let room = database.settings().max_connections;
        Self {
            inner: Arc::new(Inner {
                room: Arc::new(Semaphore::new(room.try_into().unwrap_or(usize::MAX))),
                share,
                idle: Mutex::default(),
                was_used: AtomicBool::new(false),
                is_retired: AtomicBool::new(false),
                catalogue: Catalogue::default(),
                database,
                shared: Arc::downgrade(shared),
                errands: shared.errands.clone(),
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
    /// When the pool is closed, also while waiting, when there is no connection in time, and
    /// when PostgreSQL lets nobody in.
    pub async fn lease(&self) -> Result<Lease, LeaseError> {
        let inner = &self.inner;
        let wait = Wait::begin(&inner.database);
        // No caller that waits is passed by: room that comes free is theirs before it is seen here.
        let room = match Arc::clone(&inner.room).try_acquire_owned() {
            Ok(room) => room,
            Err(TryAcquireError::Closed) => return Err(LeaseError::Closed),
            Err(TryAcquireError::NoPermits) => self.room(wait).await?,
        };
        let (connection, is_untested) = match inner.usable(wait).await {
            Some(usable) => usable,
            None => (inner.open(wait).await?, false),
        };
        if self.is_closed() {
            inner.send(CleanupJob::Close(connection));
            return Err(LeaseError::Closed);
        }
        inner.was_used.store(true, Ordering::Relaxed);
        trace!(target: LOG_TARGET, process = connection.process, "connection lent");
        Ok(Lease {
            held: Some(Held { connection, room }),
            pool: Arc::clone(inner),
            state: State::Settled,
            is_untested,
            wait,
            is_first: true,
        })
    }

    /// Waits for room.
    async fn room(&self, wait: Wait) -> Result<OwnedSemaphorePermit, LeaseError> {
        let inner = &self.inner;
        let limit = wait.at_most(inner.database.settings().lease_timeout);
        let room = Arc::clone(&inner.room).acquire_owned();
        let room = time::timeout(limit, room).await;
        let room = room.map_err(|_| LeaseError::Busy {
            database: inner.database.name().to_owned(),
            connections: inner.database.settings().max_connections,
            limit: wait.taken(),
        })?;
        room.map_err(|_| LeaseError::Closed)
    }

    pub(crate) fn catalogue(&self) -> &Catalogue {
        &self.inner.catalogue
    }

    /// Connects once more, for one short question while a lease is in the middle of a result.
    ///
    /// Not counted: whoever asks holds a lease, and could wait for its own.
    pub async fn side_connection(&self) -> Result<Client, LeaseError> {
        let database = &self.inner.database;
        let until = Wait::begin(database).end_of_connecting();
        let connection = Connection::open(database, until).await?;
        Ok(connection.client)
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
        self.close_idle();
    }

    fn close_idle(&self) {
        for idle in self.inner.idle().drain(..) {
            self.inner.send(CleanupJob::Close(idle.connection));
        }
    }
}

// === impl Lease ===

impl Lease {
    /// Lends the connection to a statement.
    ///
    /// Until [`settle`](Self::settle) says that it has come to its end, dropping the lease
    /// cancels what runs and closes the connection. So an error, or a future that is dropped,
    /// needs no further care.
    pub fn begin(&mut self) -> &mut Client {
        self.state = State::Busy;
        let deadline = self.deadline();
        let client = &mut self.held_mut().connection.client;
        client.set_deadline(deadline);
        client
    }

    /// Returns when PostgreSQL must have answered: its own limit ends a statement before that.
    /// What was
    /// waited for a connection counts, but for statements of a call behind its first.
    fn deadline(&self) -> Option<Instant> {
        let limit = self.database().query_timeout()? + GRACE;
        let from = if self.is_first {
            self.wait.since
        } else {
            Instant::now()
        };
        Some(from + limit)
    }

    /// Returns what statements have to know of its session.
    pub(crate) fn session(&self) -> Session {
        let held = self.held.as_ref().expect("held until it is dropped");
        held.connection.session
    }

    /// Says that nothing runs and no transaction is open.
    pub fn settle(&mut self) {
        self.state = State::Settled;
    }

    /// Says that the connection is of no use, and nothing can be cancelled.
    pub(crate) fn give_up(&mut self) {
        self.state = State::Broken;
    }

    /// Says that the connection is alive.
    pub(crate) fn has_answered(&mut self) {
        self.is_untested = false;
        self.is_first = false;
    }

    /// Whether it was idle before, and nobody has heard from it since: it may have died.
    pub(crate) fn is_untested(&self) -> bool {
        self.is_untested
    }

    /// Replaces a connection that turned out to be dead.
    pub(crate) async fn renew(&mut self) -> Result<(), LeaseError> {
        let until = self.wait.end_of_connecting();
        let mut fresh = Connection::open(&self.pool.database, until).await?;
        self.is_untested = false;
        self.state = State::Settled;
        let connection = &mut self.held_mut().connection;
        fresh.seat = connection.seat.take();
        *connection = fresh;
        Ok(())
    }

    /// The database it is connected to.
    #[must_use]
    pub fn database(&self) -> &Arc<Database> {
        &self.pool.database
    }

    /// What PostgreSQL knows the connection by.
    pub(crate) fn process(&self) -> i32 {
        self.held
            .as_ref()
            .expect("held until it is dropped")
            .connection
            .process
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
        let process = held.connection.process;
        trace!(target: LOG_TARGET, process, state = ?self.state, "connection given back");
        match self.state {
            State::Settled => self.pool.take_back(held),
            State::Busy => {
                let pool = Arc::clone(&self.pool);
                self.pool.send(CleanupJob::Cancel { held, pool });
            }
            State::Broken => drop(held),
        }
    }
}
