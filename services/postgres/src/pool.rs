//! Connections, leased to one caller at a time.
//!
//! A caller has its own [`Pool`] for each database it uses, so that no other caller sees its
//! temporary tables and settings. A pool is a list of idle connections behind a fair semaphore.
//! Returning a connection costs nothing, while a general pool would ask PostgreSQL whether it still
//! works; instead, a connection that was idle for a while is checked before it is leased.
//!
//! # Abandoned statements
//!
//! A caller that disconnects drops its [`Lease`], and `drop` cannot send to PostgreSQL. So a lease
//! that is dropped in the middle of a statement goes to the [`Reaper`], a future that the program
//! has to run: it cancels the statement over a second connection, and closes the one that ran it.
//! Only then is the permit of the connection free again, so that a client that keeps disconnecting
//! cannot use more of PostgreSQL than one that waits. The reaper also closes connections that were
//! idle for too long. It keeps no pool alive.
//!
//! # Limits
//!
//! A caller may have as many connections to a database as its pool has permits, and all callers as
//! many as the settings allow. When those are all taken, an idle connection of another caller is
//! closed to make room. Waiting is fair and limited: by the lease timeout for the caller's own
//! pool, by the connect timeout for the rest. There are as many pools as admitted callers, times
//! the databases they may use, and pools without connections are dropped.

mod cause;
mod connection;
mod error;
mod inner;
mod lease;
mod pair;
mod reaper;
#[cfg(test)]
mod tests;
mod wait;

use std::{
    collections::HashMap,
    mem,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError, mpsc},
    time::{self, Instant},
};
use tracing::trace;
use ziggurat_runtime::lock;
use ziggurat_telemetry::{IdleCount, Metrics};

use crate::{
    LOG_TARGET,
    call_context::CallContext,
    database::{ConnectionLimit, Database},
    driver::Client,
    kind::Catalogue,
};

pub use self::{
    cause::{Cause, TriedHost},
    error::LeaseError,
    lease::Lease,
    pair::LeasePair,
    reaper::Reaper,
};
use self::{connection::Connection, inner::HeldConnection, reaper::CleanupJob, wait::Wait};
pub(crate) use self::{
    connection::{Session, milliseconds},
    inner::Inner,
};

/// Factor for the connections that the sessions of one account share.
const SHARE: u32 = 4;

/// The pools of all callers.
#[derive(Clone, Debug)]
pub struct Pools {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// By caller and the name of the database: one for each role and settings that the caller has
    /// there.
    pools: Mutex<HashMap<String, HashMap<String, Vec<Pool>>>>,
    /// By account and the name of the database.
    shares: Mutex<HashMap<String, HashMap<String, Weak<ConnectionLimit>>>>,
    metrics: Metrics,
    /// Limit on the pairs of connections of all callers.
    pairs: Arc<Semaphore>,
    cleanup_jobs: mpsc::UnboundedSender<CleanupJob>,
}

/// The connections of one caller to one database.
#[derive(Clone, Debug)]
pub struct Pool {
    inner: Arc<Inner>,
    /// The call that its connections are leased for.
    call: CallContext,
}

// === impl Pools ===

impl Pools {
    /// Makes the pools and their [`Reaper`].
    ///
    /// The caller gets the reaper because only the program spawns tasks and knows when to join
    /// them.
    pub fn new() -> (Self, Reaper) {
        Self::with_metrics(Metrics::off())
    }

    /// Makes the pools and their [`Reaper`], and records connections and statements.
    pub fn with_metrics(metrics: Metrics) -> (Self, Reaper) {
        let (cleanup_jobs, inbox) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared {
            pools: Mutex::default(),
            shares: Mutex::default(),
            metrics,
            pairs: pair::limit(),
            cleanup_jobs,
        });
        let weak = Arc::downgrade(&shared);
        let idle = move || weak.upgrade().map_or_else(Vec::new, |it| it.idle_counts());
        shared.metrics.read_idle_connections(idle);
        let reaper = Reaper::new(inbox, Arc::downgrade(&shared));
        (Self { shared }, reaper)
    }

    /// Returns the pool of a caller for a database, made at first use.
    ///
    /// `caller` is a session key, never the token itself; `account` is common to several sessions,
    /// which share four times the connections of one. Making a pool does not connect. If the
    /// settings of the database have changed, a new pool replaces the old one, which tasks that
    /// hold it may still use.
    #[must_use]
    pub fn pool_of(&self, caller: &str, account: &str, database: &Arc<Database>) -> Pool {
        let mut callers = lock(&self.shared.pools);
        let known = callers
            .get_mut(caller)
            .and_then(|pools| pools.get_mut(database.name()));
        if let Some(pools) = known {
            let is_it = |pool: &&Pool| Arc::ptr_eq(&pool.inner.database, database);
            if let Some(pool) = pools.iter().find(is_it)
                && !pool.is_closed()
            {
                return pool.clone();
            }
            // Other tokens of the caller may have another role.
            pools.retain(|pool| {
                let stays = pool.inner.database.acts() != database.acts();
                if !stays {
                    pool.retire();
                }
                stays
            });
        }
        let share = self.shared.share(account, database);
        let pool = Pool::new(Arc::clone(database), share, &self.shared);
        let pools = callers.entry(caller.to_owned()).or_default();
        let pools = pools.entry(database.name().to_owned()).or_default();
        pools.push(pool.clone());
        pool
    }

    /// Returns the number of open connections to a database, of those that no call uses, and of the
    /// callers that wait because the limit is reached.
    #[must_use]
    pub fn connections(&self, database: &Database) -> [usize; 3] {
        let pools = lock(&self.shared.pools);
        let its = pools
            .values()
            .filter_map(|pools| pools.get(database.name()));
        let idle = its.flatten().map(|pool| pool.inner.idle().len()).sum();
        let limit = database.connection_limit();
        [limit.taken(), idle, limit.waiting()]
    }

    /// Returns the pool of a caller with an account of its own.
    #[must_use]
    pub fn pool(&self, caller: &str, database: &Arc<Database>) -> Pool {
        self.pool_of(caller, caller, database)
    }

    /// Connects once to a database that is not configured. There is no pool: the connection closes
    /// when the lease ends.
    ///
    /// # Errors
    /// Fails when PostgreSQL is unreachable or refuses the login.
    pub async fn connect_once(&self, database: &Arc<Database>) -> Result<Lease, LeaseError> {
        let share = Arc::new(ConnectionLimit::of_account(1));
        let pool = Pool::new(Arc::clone(database), share, &self.shared);
        let lease = pool.lease().await?;
        pool.close();
        Ok(lease)
    }

    /// Closes all pools of a caller with a token that is no longer valid.
    ///
    /// Tasks that wait for a connection get an error. A running statement may finish, within its
    /// timeout, and then its connection closes.
    pub fn close(&self, caller: &str) {
        let pools = lock(&self.shared.pools).remove(caller);
        let pools = pools.iter().flat_map(HashMap::values).flatten();
        pools.for_each(Pool::close);
    }

    /// Drops the pools of a caller. Tasks that hold one may still use it, its idle connections
    /// close, and the others close when they are released.
    pub fn retire(&self, caller: &str) {
        let pools = lock(&self.shared.pools).remove(caller);
        let pools = pools.iter().flat_map(HashMap::values).flatten();
        pools.for_each(Pool::retire);
    }

    /// Closes the pools of a caller for all databases but this one.
    pub fn close_others(&self, caller: &str, database: &str) {
        if let Some(pools) = lock(&self.shared.pools).get_mut(caller) {
            pools.retain(|name, pools| {
                let stays = name == database;
                if !stays {
                    pools.iter().for_each(Pool::close);
                }
                stays
            });
        }
    }

    /// Drops the pools of all callers for a database that was removed or changed, as
    /// [`retire`](Self::retire) does.
    pub fn retire_database(&self, database: &str) {
        for pools in lock(&self.shared.pools).values_mut() {
            let removed = pools.remove(database).unwrap_or_default();
            removed.iter().for_each(Pool::retire);
        }
    }

    /// Closes all pools, so that the reaper can end.
    pub fn close_all(&self) {
        let callers = mem::take(&mut *lock(&self.shared.pools));
        callers
            .values()
            .flat_map(HashMap::values)
            .flatten()
            .for_each(Pool::close);
    }
}

impl Shared {
    /// Returns the limit that the sessions of an account share.
    fn share(&self, account: &str, database: &Arc<Database>) -> Arc<ConnectionLimit> {
        let mut shares = lock(&self.shares);
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

    /// Counts the idle connections of each pool.
    fn idle_counts(&self) -> Vec<IdleCount> {
        let pools = lock(&self.pools);
        let pools = pools.values().flat_map(HashMap::values).flatten();
        let idle_of = |Pool { inner, .. }: &Pool| IdleCount {
            database: inner.database.name().to_owned(),
            count: inner.idle().len() as u64,
        };
        pools.map(idle_of).collect()
    }

    /// Closes connections that were idle for too long, opens those below the minimum, and drops
    /// unused pools.
    fn sweep(&self) {
        let mut shares = lock(&self.shares);
        shares.retain(|_, shares| {
            shares.retain(|_, share| share.strong_count() > 0);
            !shares.is_empty()
        });
        drop(shares);
        lock(&self.pools).retain(|_, pools| {
            pools.retain(|_, pools| {
                pools.retain(|pool| {
                    pool.inner.drop_stale();
                    // One at a time, so that callers get permits meanwhile.
                    if pool.inner.is_short() {
                        pool.inner.send(CleanupJob::Open(Arc::clone(&pool.inner)));
                    }
                    pool.is_in_use()
                });
                !pools.is_empty()
            });
            !pools.is_empty()
        });
    }

    /// Closes the connection that was idle for longest, among the pools that `may_have_to` selects.
    fn make_way(&self, may_have_to: impl Fn(&Inner) -> bool) {
        let pools = lock(&self.pools);
        let oldest = pools
            .values()
            .flat_map(HashMap::values)
            .flatten()
            .filter(|pool| may_have_to(&pool.inner))
            .filter_map(|pool| Some((pool.inner.idle().first()?.since, pool)))
            .min_by_key(|(since, _)| *since);
        if let Some((_, pool)) = oldest {
            let mut idle = pool.inner.idle();
            // It may have been leased meanwhile; then it is closed when it is released.
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
        let max_connections = database.settings().max_connections;
        Self {
            call: CallContext::default(),
            inner: Arc::new(Inner {
                permits: Arc::new(Semaphore::new(
                    max_connections.try_into().unwrap_or(usize::MAX),
                )),
                share,
                idle: Mutex::default(),
                was_used: AtomicBool::new(false),
                is_retired: AtomicBool::new(false),
                catalogue: Catalogue::default(),
                metrics: shared.metrics.database(database.name()),
                database,
                shared: Arc::downgrade(shared),
                cleanup_jobs: shared.cleanup_jobs.clone(),
            }),
        }
    }

    /// Sets the call that its connections are leased for.
    #[must_use]
    pub fn with_call(mut self, call: CallContext) -> Self {
        self.call = call;
        self
    }

    /// Returns the call that its connections are leased for.
    #[must_use]
    pub fn call(&self) -> &CallContext {
        &self.call
    }

    /// Returns the database it connects to.
    #[must_use]
    pub fn database(&self) -> &Arc<Database> {
        &self.inner.database
    }

    /// Checks that the caller may use the database. It needs no connection.
    ///
    /// # Errors
    /// Fails if the database knows its callers, and this one may not use it.
    pub fn check_open(&self) -> Result<(), LeaseError> {
        let database = &self.inner.database;
        database.refusal().map_or(Ok(()), |why| {
            Err(LeaseError::NotOpen {
                database: database.name().to_owned(),
                why: why.to_owned(),
            })
        })
    }

    /// Waits for a connection; first come, first served.
    ///
    /// # Errors
    /// Fails when the pool is closed, also while waiting, when there is no connection in time, and
    /// when PostgreSQL is unreachable or refuses the login.
    pub async fn lease(&self) -> Result<Lease, LeaseError> {
        let inner = &self.inner;
        self.check_open()?;
        let wait = Wait::begin(&inner.database);
        let began = inner.metrics.is_on().then(Instant::now);
        // The semaphore is fair: a free permit goes to waiting callers first.
        let permit = match Arc::clone(&inner.permits).try_acquire_owned() {
            Ok(permit) => permit,
            Err(TryAcquireError::Closed) => return Err(LeaseError::Closed),
            Err(TryAcquireError::NoPermits) => self.wait_for_permit(wait).await?,
        };
        self.lease_with(permit, wait, began).await
    }

    /// Takes an idle connection, or opens one, with a permit of the pool.
    async fn lease_with(
        &self,
        permit: OwnedSemaphorePermit,
        wait: Wait,
        began: Option<Instant>,
    ) -> Result<Lease, LeaseError> {
        let inner = &self.inner;
        let (mut connection, is_untested) = match inner.usable(wait).await {
            Some(usable) => usable,
            None => (inner.open(wait).await?, false),
        };
        if self.is_closed() {
            inner.send(CleanupJob::Close(connection));
            return Err(LeaseError::Closed);
        }
        connection.session.prefix.renew();
        inner.was_used.store(true, Ordering::Relaxed);
        let waited = began.map(|began| began.elapsed()).unwrap_or_default();
        inner.metrics.connection_lent(waited);
        trace!(target: LOG_TARGET, process = connection.process, "connection lent");
        let held = HeldConnection { connection, permit };
        let call = self.call.clone();
        Ok(Lease::new(
            held,
            Arc::clone(inner),
            (is_untested, wait),
            call,
        ))
    }

    /// Waits for a permit of the pool.
    async fn wait_for_permit(&self, wait: Wait) -> Result<OwnedSemaphorePermit, LeaseError> {
        let inner = &self.inner;
        let limit = wait.at_most(inner.database.settings().lease_timeout);
        let permit = Arc::clone(&inner.permits).acquire_owned();
        let permit = time::timeout(limit, permit).await;
        let permit = permit.map_err(|_| self.busy(wait))?;
        permit.map_err(|_| LeaseError::Closed)
    }

    /// Returns the error for a caller that uses all its connections.
    fn busy(&self, wait: Wait) -> LeaseError {
        let database = &self.inner.database;
        LeaseError::Busy {
            database: database.name().to_owned(),
            connections: database.settings().max_connections,
            limit: wait.taken(),
        }
    }

    pub(crate) fn catalogue(&self) -> &Catalogue {
        &self.inner.catalogue
    }

    /// Returns the short name of a type, such as `int8` or `text[]`, if it is known: it is built in,
    /// or a result of this pool had it.
    #[must_use]
    pub fn type_name(&self, oid: u32) -> Option<Arc<str>> {
        let name = self.inner.catalogue.name(oid);
        name.filter(|name| !name.is_empty())
    }

    /// Opens a second connection, for one short query while a lease is in the middle of a result.
    ///
    /// It is not counted, since the caller holds a lease and could wait for itself.
    pub async fn side_connection(&self) -> Result<Client, LeaseError> {
        let until = Wait::begin(&self.inner.database).end_of_connecting();
        let connection = self.inner.connect(until).await?;
        Ok(connection.client)
    }

    /// Opens a second connection to the same database without the role and the masks of a caller.
    pub(crate) async fn side_connection_to(
        &self,
        database: &Arc<Database>,
    ) -> Result<Client, LeaseError> {
        let until = Wait::begin(database).end_of_connecting();
        let connection = Connection::open(database, until).await?;
        Ok(connection.client)
    }

    fn is_closed(&self) -> bool {
        self.inner.permits.is_closed()
    }

    fn is_in_use(&self) -> bool {
        // A task holds the pool or a lease of it, or the pool has idle connections.
        Arc::strong_count(&self.inner) > 1 || !self.inner.idle().is_empty()
    }

    fn close(&self) {
        self.inner.permits.close();
        self.close_idle();
    }

    fn retire(&self) {
        self.inner.is_retired.store(true, Ordering::Relaxed);
        self.close_idle();
    }

    fn close_idle(&self) {
        for idle in self.inner.idle().drain(..) {
            self.inner.send(CleanupJob::Close(idle.connection));
        }
    }
}
