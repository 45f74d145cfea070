//! The database a caller is using.

use std::{sync::Arc, time::Duration};

use ziggurat_postgres::{
    database::Database,
    metadata::Metadata,
    pool::{Pool, Pools},
};

use super::{MetadataError, cache::Cache};

/// The database a caller is using, and its connections to it.
#[derive(Clone, Debug)]
pub struct Current {
    pub(super) pool: Pool,
    pub(super) pools: Pools,
    pub(super) cache: Arc<Cache>,
}

// === impl Current ===

impl Current {
    /// What the database is called in answers.
    #[must_use]
    pub fn label(&self) -> &str {
        self.pool.database().name()
    }

    /// The database.
    #[must_use]
    pub fn database(&self) -> &Arc<Database> {
        self.pool.database()
    }

    /// The caller's connections to it.
    #[must_use]
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Waits while the server starts and reads this database for the first time. Whether it can be
    /// reached at all is for the statement to find out.
    ///
    /// # Errors
    /// [`MetadataError::NotReady`], when there is no connection after three seconds.
    pub async fn ready(&self) -> Result<(), MetadataError> {
        self.cache.ready().await
    }

    /// Its tables, as they were at most `metadata_ttl` ago.
    ///
    /// They are read when they are not known, for all who ask at the time; those who join the
    /// first reading wait three seconds at most for its connection.
    ///
    /// # Errors
    /// When that fails, or there is no connection.
    pub async fn metadata(&self) -> Result<Arc<Metadata>, MetadataError> {
        let max_age = self.database().settings().metadata_ttl;
        self.cache.metadata(&self.pools, max_age).await
    }

    /// Its tables, as they were at most so long ago: for whoever is about to say that something
    /// is not there.
    ///
    /// # Errors
    /// As [`metadata`](Self::metadata).
    pub async fn metadata_within(&self, age: Duration) -> Result<Arc<Metadata>, MetadataError> {
        let max_age = self.database().settings().metadata_ttl.min(age);
        self.cache.metadata(&self.pools, max_age).await
    }
}
