//! Masked columns of a database.
//!
//! [`Masking`] holds the rules of a database and, after a load, the columns that they mask.
//! [`CallerMasks`] holds the rules that are for one caller; a database that has some masks the
//! results of its statements, and refuses texts that could show a value in another way.

mod columns;
mod load;
mod taint;
#[cfg(test)]
mod tests;
mod views;

use std::{
    collections::HashSet,
    error::Error,
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{sync, time::Instant};
use tracing::warn;
use ziggurat_masking::Mask;
use ziggurat_runtime::lock;

use self::load::Coverage;
pub(crate) use self::{
    columns::{CallerColumns, ResultMasks},
    taint::Taint,
};
use crate::{
    database::Database,
    driver::{Client, DriverError},
};

/// Rules for the masked columns of a database, shared by its callers.
pub struct Masking {
    enforcement: Enforcement,
    rules: Vec<MaskRule>,
    /// Functions that texts beside masked columns may call, with their schemas.
    functions: Vec<String>,
    state: Mutex<State>,
    /// Held during a load.
    loading: sync::Mutex<()>,
}

/// A masked column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaskRule {
    /// Schema of its table.
    pub schema: String,
    /// Name of its table.
    pub table: String,
    /// Its name.
    pub column: String,
    /// Its mask.
    pub mask: Mask,
}

/// Treatment of texts that name tables with masked columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Enforcement {
    /// Columns of results are masked by their origin; conditions are free.
    Origin,
    /// The plan must show that masked columns are only selected.
    Plan,
}

/// The masks that hold for a caller.
pub struct CallerMasks {
    masking: Arc<Masking>,
    /// The database of the rules, without the role of the caller.
    base: Arc<Database>,
    /// True for each rule that is for the caller.
    holds: Vec<bool>,
    columns: Mutex<Option<Arc<CallerColumns>>>,
}

/// A failure to look columns up.
pub(crate) type LookUpError = Box<dyn Error + Send + Sync>;

#[derive(Default)]
struct State {
    latest: Option<(Arc<Coverage>, Instant)>,
    /// Counts changes: a load that began before one is not kept after it.
    edition: u64,
    /// Warnings that were logged.
    warned: HashSet<String>,
}

// === impl Masking ===

impl Masking {
    /// Takes the rules. `functions` are the names, with their schemas, of functions that texts
    /// beside masked columns may call.
    #[must_use]
    pub fn new(enforcement: Enforcement, rules: Vec<MaskRule>, functions: Vec<String>) -> Self {
        Self {
            enforcement,
            rules,
            functions,
            state: Mutex::default(),
            loading: sync::Mutex::default(),
        }
    }

    /// Returns the rules.
    #[must_use]
    pub fn rules(&self) -> &[MaskRule] {
        &self.rules
    }

    /// Returns whether the other one has the same rules.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.enforcement == other.enforcement
            && self.rules == other.rules
            && self.functions == other.functions
    }

    /// Drops the columns, since definitions of tables may have changed.
    pub fn forget(&self) {
        let mut state = lock(&self.state);
        state.edition += 1;
        state.latest = None;
    }

    fn fresh(&self, max_age: Duration) -> Option<Arc<Coverage>> {
        let state = lock(&self.state);
        let (coverage, since) = state.latest.as_ref()?;
        (since.elapsed() < max_age).then(|| Arc::clone(coverage))
    }

    /// Looks the columns up.
    async fn load(&self, client: &mut Client) -> Result<Arc<Coverage>, DriverError> {
        let (edition, since) = (lock(&self.state).edition, Instant::now());
        let coverage = Arc::new(Coverage::load(client, &self.rules, &self.functions).await?);
        let mut state = lock(&self.state);
        if state.edition == edition {
            state.latest = Some((Arc::clone(&coverage), since));
        }
        for warning in coverage.warnings() {
            if state.warned.insert(warning.clone()) {
                warn!("masking: {warning}");
            }
        }
        Ok(coverage)
    }
}

impl fmt::Debug for Masking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Masking")
            .field("enforcement", &self.enforcement)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

// === impl CallerMasks ===

impl CallerMasks {
    /// Makes the masks of a caller from the rules that are for it, by place.
    #[must_use]
    pub fn new(masking: &Arc<Masking>, base: &Arc<Database>, holds: Vec<bool>) -> Self {
        Self {
            masking: Arc::clone(masking),
            base: Arc::clone(base),
            holds,
            columns: Mutex::default(),
        }
    }

    /// Returns whether texts are judged by their plans.
    pub(crate) fn reads_plans(&self) -> bool {
        self.masking.enforcement == Enforcement::Plan
    }

    /// Returns the database that the columns are looked up in.
    pub(crate) fn base(&self) -> &Arc<Database> {
        &self.base
    }

    /// Returns the masked columns, if they are recent enough.
    pub(crate) fn known(&self) -> Option<Arc<CallerColumns>> {
        let max_age = self.base.settings().metadata_ttl;
        let coverage = self.masking.fresh(max_age)?;
        Some(self.columns_of(&coverage))
    }

    /// Looks the masked columns up on a connection that `connect` opens, unless another call has
    /// done so since `than`.
    pub(crate) async fn newer(
        &self,
        than: Instant,
        connect: impl Future<Output = Result<Client, impl Into<LookUpError>>>,
    ) -> Result<Arc<CallerColumns>, LookUpError> {
        let _turn = self.masking.loading.lock().await;
        if let Some(coverage) = self.masking.fresh(than.elapsed()) {
            return Ok(self.columns_of(&coverage));
        }
        let mut client = connect.await.map_err(Into::into)?;
        client.set_patience(self.base.query_timeout());
        let coverage = self.masking.load(&mut client).await?;
        Ok(self.columns_of(&coverage))
    }

    /// Returns the masked columns of the caller.
    fn columns_of(&self, coverage: &Arc<Coverage>) -> Arc<CallerColumns> {
        let mut kept = lock(&self.columns);
        if let Some(columns) = kept.as_ref().filter(|it| it.is_of(coverage)) {
            return Arc::clone(columns);
        }
        let columns = Arc::new(CallerColumns::new(
            coverage,
            &self.masking.rules,
            &self.holds,
        ));
        *kept = Some(Arc::clone(&columns));
        columns
    }
}

impl fmt::Debug for CallerMasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallerMasks")
            .field("masking", &self.masking)
            .field("holds", &self.holds)
            .finish_non_exhaustive()
    }
}
