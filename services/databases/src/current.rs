//! The database that a caller is using.

use std::{sync::Arc, time::Duration};

use ziggurat_postgres::{
    call_context::CallContext,
    database::Database,
    metadata::Metadata,
    pool::{Pool, Pools},
};

use crate::{MetadataError, cache::Cache};

/// The database that a caller is using, and its connections to it.
#[derive(Clone, Debug)]
pub struct Current {
    pub(super) pool: Pool,
    pub(super) pools: Pools,
    pub(super) cache: Arc<Cache>,
    /// The database allows writes, and the grant of the caller does not.
    pub(super) withholds_writes: bool,
}

// === impl Current ===

impl Current {
    /// Returns the name of the database in responses.
    #[must_use]
    pub fn label(&self) -> &str {
        self.pool.database().name()
    }

    /// Returns the database.
    #[must_use]
    pub fn database(&self) -> &Arc<Database> {
        self.pool.database()
    }

    /// Returns whether the database allows writes that the grant of the caller does not.
    #[must_use]
    pub fn withholds_writes(&self) -> bool {
        self.withholds_writes
    }

    /// Sets the call that statements in it run for.
    #[must_use]
    pub fn with_call(self, call: CallContext) -> Self {
        Self {
            pool: self.pool.with_call(call),
            ..self
        }
    }

    /// Returns the caller's connections to it.
    #[must_use]
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Waits for the load at the start of the server. If that load fails, the statement itself
    /// reports the error.
    ///
    /// # Errors
    /// Fails with [`MetadataError::NotReady`] if there is no connection after three seconds.
    pub async fn ready(&self) -> Result<(), MetadataError> {
        self.cache.ready().await
    }

    /// Returns its tables, at most `metadata_ttl` old.
    ///
    /// If they are not cached, one load serves all concurrent calls; calls that join the first load
    /// wait at most three seconds for its connection.
    ///
    /// # Errors
    /// Fails if the load fails or there is no connection.
    pub async fn metadata(&self) -> Result<Arc<Metadata>, MetadataError> {
        self.seen_within(self.database().settings().metadata_ttl)
            .await
    }

    /// Returns the tables that the role of the caller sees, at most `max_age` old.
    async fn seen_within(&self, max_age: Duration) -> Result<Arc<Metadata>, MetadataError> {
        self.check_open()?;
        let call = self.pool.call();
        let whole = self.cache.metadata(&self.pools, max_age, call).await?;
        match self.role() {
            None => Ok(whole),
            Some(role) => self.cache.seen_by(&self.pools, &whole, role, call).await,
        }
    }

    /// Returns the role of the caller, if it has one of its own.
    fn role(&self) -> Option<&str> {
        self.database().acts()?.role()
    }

    /// Checks that the caller may use the database. Its tables are kept for all callers.
    fn check_open(&self) -> Result<(), MetadataError> {
        let open = self.pool.check_open();
        open.map_err(|error| MetadataError::Load(Arc::new(error.into())))
    }

    /// Returns its tables if they are cached, of any age; nothing is loaded.
    #[must_use]
    pub fn cached_metadata(&self) -> Option<Arc<Metadata>> {
        self.pool.check_open().ok()?;
        match self.role() {
            None => self.cache.cached().map(|(metadata, _)| metadata),
            Some(role) => self.cache.view(role),
        }
    }

    /// Returns the age of its cached tables, if they are these.
    #[must_use]
    pub fn metadata_age(&self, metadata: &Arc<Metadata>) -> Option<Duration> {
        let (cached, age) = self.cache.cached()?;
        cached.is_of(metadata).then_some(age)
    }

    /// Returns its tables, at most `age` old; for callers that are about to report a missing table.
    ///
    /// # Errors
    /// Fails under the same conditions as [`metadata`](Self::metadata).
    pub async fn metadata_within(&self, age: Duration) -> Result<Arc<Metadata>, MetadataError> {
        self.seen_within(self.database().settings().metadata_ttl.min(age))
            .await
    }
}
