//! The metadata of one database, read once for all who use it.

#[cfg(test)]
mod tests;

use std::{
    error::Error,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
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
use ziggurat_postgres::{database::Database, error::QueryError, metadata::Metadata, pool::Pools};

/// Longest wait of a call for a connection to read by. With a connection the call waits until the
/// tables are read, which `query_timeout` limits.
const PATIENCE: Duration = Duration::from_secs(3);

/// What is known of a database.
///
/// The role is the same for every caller, so what it sees is too. It is read on a connection of
/// its own, which closes afterwards: no caller's session can change what others see, and no
/// caller's statements keep others waiting.
#[derive(Debug)]
pub(super) struct Cache {
    database: Arc<Database>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    latest: Option<Snapshot>,
    /// What callers wait for together. Weak: when the last of them goes away, so does what is
    /// sent to PostgreSQL.
    loading: Option<WeakShared<Load>>,
    /// Set while the server starts.
    warming: Option<WeakShared<Load>>,
    /// Set once there is a connection to read by.
    is_connected: bool,
    was_loaded: bool,
    /// Counts the changes: what was begun before one is not kept after it.
    edition: u64,
}

#[derive(Clone, Debug)]
struct Snapshot {
    metadata: Arc<Metadata>,
    since: Instant,
}

// Boxed: one per load.
type Load = Pin<Box<dyn Future<Output = Loaded> + Send>>;

type Loaded = Result<Arc<Metadata>, Arc<QueryError>>;

/// Why nothing is known of the tables of a database.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum MetadataError {
    /// It is being read for the first time, and that takes longer than a call waits.
    #[error("the database is still being prepared")]
    NotReady,
    /// It cannot be reached, or not be read. This has been logged.
    #[error("metadata could not be loaded")]
    Load(#[source] Arc<QueryError>),
}

/// Connections under a name nobody has, for as long as it lives.
struct Visit<'a> {
    pools: &'a Pools,
    key: String,
}

// === impl MetadataError ===

impl MetadataError {
    /// Says it to a caller; why there is no connection, in the log too.
    #[must_use]
    pub fn told(&self) -> String {
        if let Self::Load(cause) = self
            && let QueryError::Lease(cause) = &**cause
        {
            return cause.told();
        }
        self.to_string()
    }
}

// === impl Cache ===

impl Cache {
    pub(super) fn new(database: Arc<Database>) -> Arc<Self> {
        let state = Mutex::default();
        Arc::new(Self { database, state })
    }

    /// What is known, if it is no older than it may be; else it is read.
    ///
    /// Whoever asks while it is read waits for the same answer. Who gives up waiting leaves it
    /// to the others; an error is told to those who wait, and the next one tries again.
    pub(super) async fn metadata(
        self: &Arc<Self>,
        pools: &Pools,
        max_age: Duration,
    ) -> Result<Arc<Metadata>, MetadataError> {
        let (load, is_patient) = {
            let mut state = self.state();
            if let Some(fresh) = state.fresh(max_age) {
                return Ok(fresh);
            }
            match state.ongoing() {
                Some(load) => (load, state.was_loaded),
                // Who begins sees it through, or a slow database would never be ready.
                None => (self.begin(&mut state, pools), true),
            }
        };
        let loaded = if is_patient {
            load.await
        } else {
            self.wait(load).await?
        };
        loaded.map_err(MetadataError::Load)
    }

    /// Waits for what is read for the first time.
    async fn wait(&self, mut load: Shared<Load>) -> Result<Loaded, MetadataError> {
        match time::timeout(PATIENCE, &mut load).await {
            Ok(loaded) => Ok(loaded),
            Err(_) if self.state().is_connected => Ok(load.await),
            Err(_) => Err(MetadataError::NotReady),
        }
    }

    /// Reads it while the server starts; statements wait for that.
    pub(super) fn warm(self: &Arc<Self>, pools: &Pools) -> impl Future<Output = ()> + use<> {
        // Now, and not when somebody polls: the first statement may be quicker than the task.
        let load = {
            let mut state = self.state();
            let load = state
                .ongoing()
                .unwrap_or_else(|| self.begin(&mut state, pools));
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

    /// Waits while the server starts, for as long as a call may. Whether it could be read is
    /// for the statement to find out.
    pub(super) async fn ready(&self) -> Result<(), MetadataError> {
        let warming = {
            let state = self.state();
            state.warming.as_ref().and_then(WeakShared::upgrade)
        };
        match warming {
            Some(load) => self.wait(load).await.map(drop),
            None => Ok(()),
        }
    }

    /// Forgets what is known: it is not so any more.
    pub(super) fn forget(&self) {
        let mut state = self.state();
        state.edition += 1;
        state.latest = None;
        state.loading = None;
    }

    fn begin(self: &Arc<Self>, state: &mut State, pools: &Pools) -> Shared<Load> {
        let (cache, pools, edition) = (Arc::clone(self), pools.clone(), state.edition);
        state.is_connected = false;
        let load: Load = Box::pin(async move {
            let since = Instant::now();
            let read = cache.read(&pools).await.map(Arc::new);
            let loaded = read.map_err(Arc::new);
            let is_first = cache.state().end(edition, since, loaded.as_ref().ok());
            if let (true, Ok(metadata)) = (is_first, &loaded) {
                cache.warn_of_powers(metadata);
            }
            loaded
        });
        let load = load.shared();
        state.loading = load.downgrade();
        load
    }

    async fn read(&self, pools: &Pools) -> Result<Metadata, QueryError> {
        let connect_once = Visit::new(pools);
        let pool = pools.pool(&connect_once.key, &self.database);
        let read = async {
            let lease = pool.lease().await?;
            self.state().is_connected = true;
            Metadata::load(lease).await
        };
        read.await.inspect_err(|error| {
            // Why there is no connection is logged where a caller is told.
            if !matches!(error, QueryError::Lease(_)) {
                self.warn_of(error);
            }
        })
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

    /// Says once per database what its role can do that names alone keep callers from.
    fn warn_of_powers(&self, metadata: &Metadata) {
        if metadata.powers().is_empty() {
            return;
        }
        let settings = self.database.settings();
        warn!(
            database = self.database.name(),
            role = settings.user,
            powers = metadata.powers().join(", "),
            "the role can reach beyond its database; connect as one that can do less"
        );
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while holding it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// Takes over what was read. Returns whether nothing had been before.
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

// === impl Visit ===

impl<'a> Visit<'a> {
    fn new(pools: &'a Pools) -> Self {
        static VISITS: AtomicU64 = AtomicU64::new(0);
        let connect_once = VISITS.fetch_add(1, Ordering::Relaxed);
        // No session key has a space.
        let key = format!("metadata {connect_once}");
        Self { pools, key }
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        self.pools.close(&self.key);
    }
}
