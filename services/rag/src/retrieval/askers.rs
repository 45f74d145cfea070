//! The connections of askers with roles of their own.

use std::sync::Arc;

use tracing::error;
use ziggurat_callers::KnownCallers;
use ziggurat_postgres::{
    database::{CallerMasks, Database},
    pool::{LeaseError, Pool, Pools},
};
use ziggurat_tokens::Identity;

use crate::{
    filter::CheckedFilter,
    retrieval::{AskerMasks, ForbiddenColumn, Retriever},
};

/// The askers of a pipeline, which its database knows: each has a role there, or settings.
#[derive(Clone, Debug)]
pub struct Askers {
    pools: Pools,
    /// Name of their pools.
    name: String,
    callers: Arc<KnownCallers>,
}

/// The connections of an asker, and the masks that hold for it.
#[derive(Clone, Debug)]
pub(super) struct Asker {
    pub(super) pool: Pool,
    pub(super) masks: Option<Arc<CallerMasks>>,
}

// === impl Asker ===

impl Asker {
    /// Returns the server itself, which sees all columns.
    pub(super) fn of_server(pool: &Pool) -> Self {
        let pool = pool.clone();
        Self { pool, masks: None }
    }
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

    fn pool(
        &self,
        database: &Arc<Database>,
        identity: Option<&Identity>,
    ) -> Result<Pool, LeaseError> {
        let database = self.callers.database(database, identity);
        let pool = self.pools.pool(&self.name, &database);
        pool.check_open()?;
        Ok(pool)
    }

    /// Connects as an asker would, and returns the reason if askers are refused.
    async fn refusal(&self, database: &Database) -> Option<String> {
        let sample = self.callers.sample(database);
        match self.pools.connect_once(&sample).await {
            Err(LeaseError::NotOpen { why, .. }) => Some(why),
            _ => None,
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

    /// Masks columns for askers.
    #[must_use]
    pub fn with_masks(self, masks: AskerMasks) -> Self {
        Self {
            masks: Some(Arc::new(masks)),
            ..self
        }
    }

    /// Returns it for an asker; `None` if all askers reach the database in the same way and see the
    /// same.
    ///
    /// # Errors
    /// Fails if the asker has no role, or lacks a setting.
    pub(crate) fn asked_by(&self, identity: Option<&Identity>) -> Result<Option<Self>, LeaseError> {
        if self.askers.is_none() && self.masks.is_none() {
            return Ok(None);
        }
        let masked = self.clone().masked_for(identity);
        let own_pool = match &self.askers {
            Some(askers) => Some(askers.pool(self.inner.pool.database(), identity)?),
            None => None,
        };
        let differs = masked.has_masks() || own_pool.is_some();
        Ok(differs.then_some(Self { own_pool, ..masked }))
    }

    /// Masks the columns that are masked for an asker.
    pub(crate) fn masked_for(self, identity: Option<&Identity>) -> Self {
        let held = self.masks.as_ref().and_then(|masks| masks.of(identity));
        Self { held, ..self }
    }

    /// Tries a connection of an asker before the first one asks, and logs why the database refuses it.
    pub(super) async fn check_askers(&self) {
        let Some(askers) = &self.askers else { return };
        if let Some(why) = askers.refusal(self.database()).await {
            let database = self.database().name();
            error!(database, why, "a database is not open to its askers");
        }
    }

    /// Checks that PostgreSQL accepts the role of its asker.
    ///
    /// # Errors
    /// Fails if it does not. Other failures come with the search.
    pub(crate) async fn check_open(&self) -> Result<(), LeaseError> {
        let Some(pool) = &self.own_pool else {
            return Ok(());
        };
        match pool.lease().await {
            Err(error @ LeaseError::NotOpen { .. }) => Err(error),
            _ => Ok(()),
        }
    }

    /// Returns the database as its asker reaches it.
    pub(crate) fn asked_database(&self) -> &Arc<Database> {
        match &self.own_pool {
            Some(pool) => pool.database(),
            None => self.database(),
        }
    }

    /// Returns the connections for the statements of its call, and the masks of their results.
    pub(super) fn asker(&self) -> Asker {
        let pool = self.own_pool.as_ref().unwrap_or(&self.inner.pool);
        Asker {
            pool: pool.clone().with_call(self.call.clone()),
            masks: self.held.clone(),
        }
    }

    /// Checks that at least one table allows an asker for whom columns are masked to filter by these
    /// columns. Masked ones do not exist for it, and tables that it does not search do not count.
    ///
    /// # Errors
    /// As `check_filter`.
    pub(crate) async fn check_filter_of_asker(
        &self,
        filter: &CheckedFilter,
    ) -> Result<(), ForbiddenColumn> {
        let asker = self.asker();
        if asker.masks.is_none() {
            return Ok(());
        }
        let mut forbidden: Option<ForbiddenColumn> = None;
        for table in &self.inner.tables {
            match table.check_filter_of_asker(filter, &asker).await {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(now) => {
                    forbidden = Some(match forbidden {
                        Some(before) => before.or(now),
                        None => now,
                    });
                }
            }
        }
        forbidden.map_or(Ok(()), Err)
    }

    /// Returns whether columns are masked for the asker.
    pub(crate) fn has_masks(&self) -> bool {
        self.held.is_some()
    }
}
