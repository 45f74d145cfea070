//! The connections of askers with roles of their own.

use std::sync::Arc;

use ziggurat_callers::KnownCallers;
use ziggurat_postgres::{
    database::Database,
    pool::{LeaseError, Pool, Pools},
};
use ziggurat_tokens::Identity;

use crate::retrieval::Retriever;

/// The askers of a pipeline, which its database knows: each has a role there, or settings.
#[derive(Clone, Debug)]
pub struct Askers {
    pools: Pools,
    /// Name of their pools.
    name: String,
    callers: Arc<KnownCallers>,
}

// === impl Askers ===

impl Askers {
    /// Takes rules for the roles of askers. Their pools have a name that only other askers of the
    /// same database have.
    #[must_use]
    pub fn new(pools: Pools, name: &str, callers: KnownCallers) -> Self {
        Self {
            pools,
            name: name.to_owned(),
            callers: Arc::new(callers),
        }
    }
}

// === impl Retriever ===

impl Retriever {
    /// Runs each statement of a question with the role and the settings of its asker.
    #[must_use]
    pub fn with_askers(self, askers: Askers) -> Self {
        Self {
            askers: Some(askers),
            ..self
        }
    }

    /// Returns whether statements of a question run with a role or settings of its asker.
    pub(super) fn has_askers(&self) -> bool {
        self.askers.is_some()
    }

    /// Returns it for an asker; `None` if all askers reach the database in the same way.
    ///
    /// # Errors
    /// Fails if the asker has no role, or lacks a setting.
    pub(crate) fn asked_by(&self, identity: Option<&Identity>) -> Result<Option<Self>, LeaseError> {
        let Some(askers) = &self.askers else {
            return Ok(None);
        };
        let database = askers.callers.database(self.database(), identity);
        let pool = askers.pools.pool(&askers.name, &database);
        pool.check_open()?;
        Ok(Some(Self {
            asker: Some(pool),
            ..self.clone()
        }))
    }

    /// Checks that PostgreSQL accepts the role of its asker.
    ///
    /// # Errors
    /// Fails if it does not. Other failures come with the search.
    pub(crate) async fn check_open(&self) -> Result<(), LeaseError> {
        let Some(pool) = &self.asker else {
            return Ok(());
        };
        match pool.lease().await {
            Err(error @ LeaseError::NotOpen { .. }) => Err(error),
            _ => Ok(()),
        }
    }

    /// Returns the database as its asker reaches it.
    pub(crate) fn asked_database(&self) -> &Arc<Database> {
        match &self.asker {
            Some(pool) => pool.database(),
            None => self.database(),
        }
    }

    /// Returns the connections for the statements of its call.
    pub(super) fn pool(&self) -> Pool {
        let pool = self.asker.as_ref().unwrap_or(&self.inner.pool);
        pool.clone().with_call(self.call.clone())
    }
}
