//! Metadata of one database, loaded once for all its callers.

#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    error::Error,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::{
    FutureExt as _,
    future::{Shared, WeakShared},
};
use thiserror::Error;
use tokio::time::{self, Instant};
use tracing::warn;
use ziggurat_postgres::{
    call_context::CallContext, database::Database, error::QueryError, metadata::Metadata,
    pool::Pools, single_round_trip,
};
use ziggurat_runtime::lock;

use crate::inspection::Inspection;

/// Longest wait of a call for the connection of a load. Once connected, the call waits for the
/// load, which `query_timeout` limits.
const MAX_WAIT: Duration = Duration::from_secs(3);

/// Limit on the roles for which it is kept which tables they see.
const MAX_VIEWS: usize = 1000;

/// Metadata cache of a database.
///
/// All callers share the metadata, and see the part that their role has a right to. It is loaded on a connection of its
/// own that closes afterwards: so no session of a caller can change the result, and no statement of
/// a caller delays the load.
#[derive(Debug)]
pub(super) struct Cache {
    database: Arc<Database>,
    /// Names of columns without defaults, since their values are masked for some callers.
    hidden: Vec<String>,
    state: Mutex<State>,
    /// The tables as roles of callers see them.
    views: Mutex<HashMap<Box<str>, Arc<Metadata>>>,
}

#[derive(Debug, Default)]
struct State {
    latest: Option<Snapshot>,
    /// The load that callers wait for. Weak, so that the load is cancelled when its last caller
    /// stops waiting.
    loading: Option<WeakShared<Load>>,
    /// The load that was begun at the start of the server.
    warming: Option<WeakShared<Load>>,
    /// Is true once the load has a connection.
    is_connected: bool,
    was_loaded: bool,
    /// Counts schema changes: a load that began before a change is not cached after it.
    edition: u64,
}

#[derive(Clone, Debug)]
struct Snapshot {
    metadata: Arc<Metadata>,
    since: Instant,
}

// Boxed, because its type cannot be named.
type Load = Pin<Box<dyn Future<Output = Loaded> + Send>>;

type Loaded = Result<Arc<Metadata>, Arc<QueryError>>;

/// Reason why the metadata of a database is not available.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum MetadataError {
    /// The first load takes longer than a call may wait.
    #[error("the database is still being prepared")]
    NotReady,
    /// The database is unreachable or the load has failed. This has been logged.
    #[error("metadata could not be loaded")]
    Load(#[source] Arc<QueryError>),
}

/// Pool under an unused session key, closed on drop.
struct OwnPool<'a> {
    pools: &'a Pools,
    key: String,
}

// === impl MetadataError ===

impl MetadataError {
    /// Returns the message for a caller; also logs a connection error.
    #[must_use]
    pub fn public_message(&self) -> String {
        if let Self::Load(cause) = self
            && let QueryError::Lease(cause) = &**cause
        {
            return cause.public_message();
        }
        self.to_string()
    }
}

// === impl Cache ===

impl Cache {
    pub(super) fn new(database: Arc<Database>) -> Arc<Self> {
        Self::hiding(database, Vec::new())
    }

    /// Makes a cache without the defaults of columns with these names.
    pub(super) fn hiding(database: Arc<Database>, hidden: Vec<String>) -> Arc<Self> {
        let (state, views) = Default::default();
        Arc::new(Self {
            database,
            hidden,
            state,
            views,
        })
    }

    /// Returns the cached metadata if it is recent enough; otherwise loads it.
    ///
    /// Calls during a load wait for the same result. A call that is cancelled does not stop the
    /// load for the others. The statements name the call that began it. An error goes to all waiting calls, and the next call tries again.
    pub(super) async fn metadata(
        self: &Arc<Self>,
        pools: &Pools,
        max_age: Duration,
        call: &CallContext,
    ) -> Result<Arc<Metadata>, MetadataError> {
        let (load, has_timeout) = {
            let mut state = lock(&self.state);
            if let Some(fresh) = state.fresh(max_age) {
                return Ok(fresh);
            }
            match state.ongoing() {
                Some(load) => (load, !state.was_loaded),
                // The call that begins a load has no timeout; otherwise a slow database would never
                // be ready.
                None => (self.begin(&mut state, pools, call.clone()), false),
            }
        };
        let loaded = if has_timeout {
            self.wait(load).await?
        } else {
            load.await
        };
        loaded.map_err(MetadataError::Load)
    }

    /// Returns the tables as a role sees them, which is asked once for these tables.
    pub(super) async fn seen_by(
        &self,
        pools: &Pools,
        whole: &Metadata,
        role: &str,
        call: &CallContext,
    ) -> Result<Arc<Metadata>, MetadataError> {
        let known = self.view(role);
        if let Some(view) = known.filter(|view| view.is_of(whole)) {
            return Ok(view);
        }
        let own = OwnPool::new(pools);
        let pool = pools.pool(&own.key, &self.database).with_call(call.clone());
        let asked = async { whole.seen_by(pool.lease().await?, role).await };
        let seen = asked.await.inspect_err(|error| self.warn_of(error));
        let seen = Arc::new(seen.map_err(|error| MetadataError::Load(Arc::new(error)))?);
        let mut views = lock(&self.views);
        if views.len() >= MAX_VIEWS {
            views.retain(|_, view| view.is_of(whole));
            if views.len() >= MAX_VIEWS {
                views.clear();
            }
        }
        views.insert(role.into(), Arc::clone(&seen));
        Ok(seen)
    }

    /// Returns the tables as a role saw them last.
    pub(super) fn view(&self, role: &str) -> Option<Arc<Metadata>> {
        lock(&self.views).get(role).cloned()
    }

    /// Returns the cached metadata of any age, and its age.
    pub(super) fn cached(&self) -> Option<(Arc<Metadata>, Duration)> {
        let state = lock(&self.state);
        let latest = state.latest.as_ref()?;
        Some((Arc::clone(&latest.metadata), latest.since.elapsed()))
    }

    /// Waits for the first load.
    async fn wait(&self, mut load: Shared<Load>) -> Result<Loaded, MetadataError> {
        match time::timeout(MAX_WAIT, &mut load).await {
            Ok(loaded) => Ok(loaded),
            Err(_) if lock(&self.state).is_connected => Ok(load.await),
            Err(_) => Err(MetadataError::NotReady),
        }
    }

    /// Loads the metadata while the server starts; statements wait for it.
    pub(super) fn warm(self: &Arc<Self>, pools: &Pools) -> impl Future<Output = ()> + use<> {
        // Begins before the future is polled, because the first statement may come earlier.
        let load = {
            let mut state = lock(&self.state);
            let load = state
                .ongoing()
                .unwrap_or_else(|| self.begin(&mut state, pools, CallContext::default()));
            state.warming = load.downgrade();
            load
        };
        let cache = Arc::clone(self);
        async move {
            if let Err(error) = load.await
                && matches!(*error, QueryError::Lease(_))
            {
                cache.warn_of(&error);
            }
        }
    }

    /// Waits for the load at the start of the server, at most as long as a call may wait. If that
    /// load fails, the statement itself reports the error.
    pub(super) async fn ready(&self) -> Result<(), MetadataError> {
        let warming = {
            let state = lock(&self.state);
            state.warming.as_ref().and_then(WeakShared::upgrade)
        };
        match warming {
            Some(load) => self.wait(load).await.map(drop),
            None => Ok(()),
        }
    }

    /// Drops the cached metadata, because it is outdated.
    pub(super) fn forget(&self) {
        let mut state = lock(&self.state);
        state.edition += 1;
        state.latest = None;
        state.loading = None;
    }

    fn begin(
        self: &Arc<Self>,
        state: &mut State,
        pools: &Pools,
        call: CallContext,
    ) -> Shared<Load> {
        let (cache, pools, edition) = (Arc::clone(self), pools.clone(), state.edition);
        state.is_connected = false;
        let load: Load = Box::pin(async move {
            let since = Instant::now();
            let read = cache.read(&pools, call).await.map(Arc::new);
            let loaded = read.map_err(Arc::new);
            let is_first = lock(&cache.state).end(edition, since, loaded.as_ref().ok());
            if let (true, Ok(metadata)) = (is_first, &loaded) {
                cache.warn_of_powers(metadata);
            }
            loaded
        });
        let load = load.shared();
        state.loading = load.downgrade();
        load
    }

    async fn read(&self, pools: &Pools, call: CallContext) -> Result<Metadata, QueryError> {
        let own = OwnPool::new(pools);
        let pool = pools.pool(&own.key, &self.database).with_call(call);
        let read = async {
            let lease = pool.lease().await?;
            lock(&self.state).is_connected = true;
            let mut metadata = Metadata::load(lease).await?;
            metadata.hide_defaults(&self.hidden);
            Ok(metadata)
        };
        read.await.inspect_err(|error| {
            // Connection errors are logged when a caller receives them.
            if !matches!(error, QueryError::Lease(_)) {
                self.warn_of(error);
            }
        })
    }

    /// Lets PostgreSQL check a text that it does not run.
    pub(super) async fn prove(&self, pools: &Pools, text: &str) -> Result<(), QueryError> {
        let own = OwnPool::new(pools);
        let lease = pools.pool(&own.key, &self.database).lease().await?;
        single_round_trip::prove(lease, text).await
    }

    /// Connects, and asks for the properties of the server and the role.
    pub(super) async fn inspect(&self, pools: &Pools) -> Result<Inspection, QueryError> {
        let own = OwnPool::new(pools);
        let lease = pools.pool(&own.key, &self.database).lease().await?;
        Inspection::ask(lease).await
    }

    fn warn_of(&self, error: &QueryError) {
        let hosts = self.database.settings().all_hosts();
        let hosts: Vec<_> = hosts.iter().map(ToString::to_string).collect();
        warn!(
            error = error as &dyn Error,
            database = self.database.name(),
            hosts = hosts.join(","),
            "metadata could not be loaded"
        );
    }

    /// Logs once per database the rights of its role that give access beyond the database.
    fn warn_of_powers(&self, metadata: &Metadata) {
        if metadata.powers().is_empty() {
            return;
        }
        let settings = self.database.settings();
        warn!(
            database = self.database.name(),
            role = settings.user,
            powers = metadata.powers().join(", "),
            "the role has privileges beyond its database; connect with a role that has fewer"
        );
    }
}

// === impl State ===

impl State {
    fn fresh(&self, max_age: Duration) -> Option<Arc<Metadata>> {
        let latest = self.latest.as_ref()?;
        (latest.since.elapsed() < max_age).then(|| Arc::clone(&latest.metadata))
    }

    fn ongoing(&self) -> Option<Shared<Load>> {
        self.loading.as_ref().and_then(WeakShared::upgrade)
    }

    /// Stores the result of a load. Returns whether it is the first result.
    fn end(&mut self, edition: u64, since: Instant, metadata: Option<&Arc<Metadata>>) -> bool {
        let is_first = metadata.is_some() && !self.was_loaded;
        self.was_loaded |= metadata.is_some();
        if self.edition != edition {
            return is_first;
        }
        self.loading = None;
        if let Some(metadata) = metadata.map(Arc::clone) {
            self.latest = Some(Snapshot { metadata, since });
        }
        is_first
    }
}

// === impl OwnPool ===

impl<'a> OwnPool<'a> {
    fn new(pools: &'a Pools) -> Self {
        static POOLS: AtomicU64 = AtomicU64::new(0);
        let number = POOLS.fetch_add(1, Ordering::Relaxed);
        // Session keys have no space, so the key is unused.
        let key = format!("metadata {number}");
        Self { pools, key }
    }
}

impl Drop for OwnPool<'_> {
    fn drop(&mut self) {
        self.pools.close(&self.key);
    }
}
