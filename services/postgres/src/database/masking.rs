//! Masked columns of a database.
//!
//! [`Masking`] holds the rules of a database and, after a load, the columns that they mask.
//! [`CallerMasks`] holds the rules that are for one caller; a database that has some masks the
//! results of its statements, and refuses texts that could show a value in another way.

mod columns;
mod load;
mod rights;
mod taint;
#[cfg(test)]
mod tests;
mod views;

use std::{
    collections::{HashMap, HashSet},
    error::Error,
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{sync, time::Instant};
use tracing::warn;
use ziggurat_masking::Mask;
use ziggurat_runtime::lock;

pub(crate) use self::{
    columns::{CallerColumns, ResultMasks},
    taint::Taint,
};
use self::{
    load::Coverage,
    rights::{Readable, Reader},
};
use crate::{
    database::Database,
    driver::{Client, DriverError},
};

/// Limit on the roles of callers that are known to read no masked column.
const MAX_ROLES: usize = 1000;

/// Rules for the masked columns of a database, shared by its callers.
pub struct Masking {
    enforcement: Enforcement,
    rules: Vec<MaskRule>,
    /// Functions that texts beside masked columns may call, with their schemas.
    functions: Vec<String>,
    /// Roles that callers get, if they have roles of their own.
    roles: Option<CallerRoles>,
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

/// Roles of callers that the configuration names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallerRoles {
    /// Their names.
    pub names: Vec<String>,
    /// True for each rule that holds for all callers.
    pub holds_for_all: Vec<bool>,
}

/// Sentences about the masks of a database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MaskFindings {
    /// About roles that may read masked columns.
    pub problems: Vec<String>,
    /// About columns that do not exist, and others.
    pub warnings: Vec<String>,
}

/// Treatment of texts that name tables with masked columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Enforcement {
    /// Columns of results are masked by their origin; conditions are free.
    Origin,
    /// The plan must show that masked columns are only selected.
    Plan,
    /// PostgreSQL refuses them, since no role of a caller may read a masked column.
    Privileges,
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
    /// Roles of callers that may read no column of the latest load under these rules.
    checked: HashMap<String, Vec<bool>>,
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
            roles: None,
            state: Mutex::default(),
            loading: sync::Mutex::default(),
        }
    }

    /// Sets the roles that callers get in place of the database's own user.
    #[must_use]
    pub fn with_roles(self, roles: CallerRoles) -> Self {
        let roles = Some(roles);
        Self { roles, ..self }
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
            && self.roles == other.roles
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

    /// Looks the columns up, and checks that no role of a caller may read one where PostgreSQL has to
    /// refuse that.
    async fn load(&self, client: &mut Client, user: &str) -> Result<Arc<Coverage>, LookUpError> {
        let (edition, since) = (lock(&self.state).edition, Instant::now());
        let coverage = Arc::new(self.coverage(client).await?);
        self.warn(coverage.warnings());
        if self.enforcement == Enforcement::Privileges {
            let mut readers = self.readers(user, self.roles.as_ref());
            readers.extend(self.seen());
            self.check_rights(client, &coverage, &readers).await?;
        }
        let mut state = lock(&self.state);
        if state.edition == edition {
            state.latest = Some((Arc::clone(&coverage), since));
        }
        Ok(coverage)
    }

    async fn coverage(&self, client: &mut Client) -> Result<Coverage, DriverError> {
        let mut coverage = Coverage::load(client, &self.rules, &self.functions).await?;
        // Masks by origin do not look at conditions.
        if self.enforcement != Enforcement::Origin {
            coverage.warn_of_policies(client).await?;
        }
        Ok(coverage)
    }

    fn warn(&self, warnings: &[String]) {
        let mut state = lock(&self.state);
        for warning in warnings {
            if state.warned.insert(warning.clone()) {
                warn!("masking: {warning}");
            }
        }
    }

    /// Looks for mistakes in the rules, and for roles that may read masked columns: those of the
    /// database that a caller may get, if callers have roles of their own.
    pub(crate) async fn findings(
        &self,
        client: &mut Client,
        user: &str,
        may_give: impl Fn(&str) -> bool,
    ) -> Result<MaskFindings, DriverError> {
        let coverage = self.coverage(client).await?;
        let mut findings = MaskFindings {
            warnings: coverage.warnings().to_vec(),
            ..MaskFindings::default()
        };
        if self.enforcement == Enforcement::Privileges {
            let mut roles = self.roles.clone();
            if let Some(roles) = &mut roles {
                roles.names = rights::roles(client).await?;
                roles.names.retain(|name| may_give(name));
            }
            let readers = self.readers(user, roles.as_ref());
            findings.problems = rights::findings(client, &coverage, &self.rules, &readers).await?;
        }
        Ok(findings)
    }

    /// Returns the roles that must not read masked columns: the database's own user, which runs the
    /// texts of callers without roles of their own, and these.
    fn readers(&self, user: &str, roles: Option<&CallerRoles>) -> Vec<Reader> {
        let own = Reader {
            role: user.to_owned(),
            runs_texts: roles.is_none(),
            holds: vec![true; self.rules.len()],
        };
        let mut readers = vec![own];
        if let Some(roles) = roles {
            let of_callers = |name: &String| Reader::of_callers(name, &roles.holds_for_all);
            readers.extend(roles.names.iter().map(of_callers));
        }
        readers
    }

    /// Returns the roles of callers so far.
    fn seen(&self) -> Vec<Reader> {
        let state = lock(&self.state);
        let seen = state.checked.iter();
        seen.map(|(name, holds)| Reader::of_callers(name, holds))
            .collect()
    }

    /// Fails if a role may read a masked column, and forgets the columns: nothing is sent until a load
    /// shows that none may.
    async fn check_rights(
        &self,
        client: &mut Client,
        coverage: &Coverage,
        readers: &[Reader],
    ) -> Result<(), LookUpError> {
        let found = rights::findings(client, coverage, &self.rules, readers).await?;
        if found.is_empty() {
            return Ok(());
        }
        lock(&self.state).latest = None;
        Err(Readable(found).into())
    }

    /// Returns whether the role of a caller may read no column of the latest load.
    fn has_checked(&self, role: Option<&str>, holds: &[bool]) -> bool {
        if self.enforcement != Enforcement::Privileges {
            return true;
        }
        // The database's own user is checked at each load.
        let Some(role) = role else {
            return true;
        };
        let state = lock(&self.state);
        let checked = state.checked.get(role);
        checked.is_some_and(|checked| {
            let mut both = checked.iter().zip(holds);
            both.all(|(is_checked, holds)| *is_checked || !holds)
        })
    }

    /// Adds the role of a caller to the roles that each load checks.
    fn add_role(&self, role: &str, holds: &[bool]) {
        let checked = &mut lock(&self.state).checked;
        if checked.len() >= MAX_ROLES && !checked.contains_key(role) {
            // The others are checked again at their next use.
            checked.clear();
        }
        let known = checked.entry(role.to_owned()).or_default();
        known.resize(holds.len(), false);
        for (known, holds) in known.iter_mut().zip(holds) {
            *known |= holds;
        }
    }

    /// Checks the role of a caller against the columns of the latest load.
    async fn check_role(
        &self,
        client: &mut Client,
        coverage: &Coverage,
        role: &str,
        holds: &[bool],
    ) -> Result<(), LookUpError> {
        let reader = Reader::of_callers(role, holds);
        let checked = self.check_rights(client, coverage, &[reader]).await;
        self.add_role(role, holds);
        checked
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

    /// Returns for each rule if it is for the caller.
    #[must_use]
    pub fn holds(&self) -> &[bool] {
        &self.holds
    }

    /// Returns whether texts are judged by their plans.
    pub(crate) fn reads_plans(&self) -> bool {
        self.masking.enforcement == Enforcement::Plan
    }

    /// Returns whether PostgreSQL refuses texts that read masked columns.
    pub(crate) fn trusts_privileges(&self) -> bool {
        self.masking.enforcement == Enforcement::Privileges
    }

    /// Returns the database that the columns are looked up in.
    pub(crate) fn base(&self) -> &Arc<Database> {
        &self.base
    }

    /// Returns the masked columns, if they are recent enough, and the role of the caller was checked.
    pub(crate) fn known(&self, role: Option<&str>) -> Option<Arc<CallerColumns>> {
        let max_age = self.base.settings().metadata_ttl;
        let coverage = self.masking.fresh(max_age)?;
        let is_checked = self.masking.has_checked(role, &self.holds);
        is_checked.then(|| self.columns_of(&coverage))
    }

    /// Looks the masked columns up on a connection that `connect` opens, unless another call has
    /// done so since `than`.
    pub(crate) async fn newer(
        &self,
        than: Instant,
        role: Option<&str>,
        connect: impl Future<Output = Result<Client, impl Into<LookUpError>>>,
    ) -> Result<Arc<CallerColumns>, LookUpError> {
        let _turn = self.masking.loading.lock().await;
        let is_checked = self.masking.has_checked(role, &self.holds);
        if let Some(coverage) = self.masking.fresh(than.elapsed())
            && is_checked
        {
            return Ok(self.columns_of(&coverage));
        }
        let mut client = connect.await.map_err(Into::into)?;
        client.set_patience(self.base.query_timeout());
        let settings = self.base.settings();
        if let Some(role) = role.filter(|_| !is_checked) {
            if let Some(coverage) = self.masking.fresh(settings.metadata_ttl) {
                let checking = self
                    .masking
                    .check_role(&mut client, &coverage, role, &self.holds);
                checking.await?;
                return Ok(self.columns_of(&coverage));
            }
            self.masking.add_role(role, &self.holds);
        }
        let coverage = self.masking.load(&mut client, &settings.user).await?;
        Ok(self.columns_of(&coverage))
    }

    /// Returns the columns of a relation that a role may read, on a connection that `connect` opens.
    pub(crate) async fn readable(
        &self,
        relation: u32,
        role: Option<&str>,
        connect: impl Future<Output = Result<Client, impl Into<LookUpError>>>,
    ) -> Result<Vec<String>, LookUpError> {
        let mut client = connect.await.map_err(Into::into)?;
        client.set_patience(self.base.query_timeout());
        let role = role.unwrap_or(&self.base.settings().user);
        Ok(rights::readable(&mut client, relation, role).await?)
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
