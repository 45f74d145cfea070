//! The configured databases, access to them, and the one that each caller is using.
//!
//! The visible databases depend on the caller's token; without authentication all are visible. A selection belongs to a token, and lasts until the token ends
//! or the database is removed.
//!
//! ```
//! use std::sync::Arc;
//!
//! use ziggurat_postgres::{database::{Database, Settings}, pool::Pools};
//! use ziggurat_tokens::{Holder, Identity};
//! use ziggurat_databases::{Configured, Databases};
//! use ziggurat_layers::bearer::TokenHash;
//!
//! let named = |name: &str| {
//!     let settings = Settings { name: name.into(), user: "reader".into(), ..Settings::default() };
//!     Database::try_from(settings).map(Configured::new)
//! };
//! let (pools, _reaper) = Pools::new();
//! let databases = Databases::new(pools, [named("shop")?, named("docs")?]);
//!
//! let program = Identity::new(TokenHash::of("a token"), Holder::Program { id: "token-1".into(), database: None });
//! let seen: Vec<_> = databases.visible(Some(&program));
//! assert_eq!(seen.len(), 1, "an unbound token is bound to the first");
//! assert_eq!(databases.visible(None).len(), 2);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

mod cache;
mod configured;
mod current;
mod error;
#[cfg(any(test, feature = "test-support"))]
pub mod fixture;
mod inspection;
mod listing;
mod masked;
mod old_versions;
mod overview;
#[cfg(test)]
mod tests;
mod watch;

use std::{
    collections::HashMap,
    error::Error,
    ops::Deref,
    sync::{Arc, Mutex},
};

use arc_swap::{ArcSwap, Guard};
use futures_util::{FutureExt as _, future};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tracing::error;
use ziggurat_postgres::{
    call_context::CallContext,
    database::Database,
    error::QueryError,
    metadata::Metadata,
    pool::{Lease, LeaseError, Pools},
};
use ziggurat_runtime::lock;
use ziggurat_state::Shared as SharedState;
use ziggurat_tokens::{Holder, Identity, Selection::Replicated};

pub use self::{
    cache::MetadataError,
    configured::Configured,
    current::Current,
    error::{AdHocDenied, NoDatabase, SelectError},
    inspection::{Extension, Inspection, RoleRights},
    listing::{Entry, Listing},
    overview::{Overview, TestError, Tested, Usage},
};

/// Session key of all callers without authentication.
const ANONYMOUS: &str = "default";

/// Limit on concurrent connections to databases that are not configured.
const MAX_AD_HOC: usize = 16;

/// The databases of a server. Clones share them, and follow a list that replaces another.
#[derive(Clone, Debug)]
pub struct Databases {
    shared: Arc<Shared>,
    /// The list of a handle that follows no other.
    fixed: Option<Arc<Vec<Configured>>>,
}

/// A list of databases while it is read.
enum List<'a> {
    Current(Guard<Arc<Vec<Configured>>>),
    Fixed(&'a [Configured]),
}

#[derive(Debug)]
struct Shared {
    pools: Pools,
    /// In the order of the configuration; the first is the default.
    list: ArcSwap<Vec<Configured>>,
    /// Notified when the list is replaced.
    replaced: Notify,
    /// By session key. Has an entry for each session with a selection, removed with its token.
    selections: Mutex<HashMap<String, Selection>>,
    /// Limits connections to databases that are not configured.
    ad_hoc_connections: Arc<Semaphore>,
    /// Storage of the selections of replicated sessions.
    replicated: Option<SharedState>,
}

/// Database that a session has selected.
#[derive(Clone, Debug)]
enum Selection {
    /// A configured database, by name.
    Named(String),
    /// A database that is not configured.
    AdHoc(Configured),
}

/// Connection to a database that is not configured, closed on drop.
#[derive(Debug)]
pub struct AdHocConnection {
    lease: Lease,
    permit: OwnedSemaphorePermit,
}

// === impl Databases ===

impl Databases {
    /// Creates the databases, in the order of the configuration.
    #[must_use]
    pub fn new(pools: Pools, list: impl IntoIterator<Item = Configured>) -> Self {
        Self::replicated(pools, list, None)
    }

    /// Creates the databases of a server; with `replicated`, its replicas share the selections of
    /// users.
    #[must_use]
    pub fn replicated(
        pools: Pools,
        list: impl IntoIterator<Item = Configured>,
        replicated: Option<SharedState>,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                pools,
                list: ArcSwap::from_pointee(list.into_iter().collect()),
                replaced: Notify::new(),
                selections: Mutex::default(),
                ad_hoc_connections: Arc::new(Semaphore::new(MAX_AD_HOC)),
                replicated,
            }),
            fixed: None,
        }
    }

    /// Returns a handle that keeps the present list when another one replaces it.
    #[must_use]
    pub fn fixed(&self) -> Self {
        let list = match &self.fixed {
            Some(list) => Arc::clone(list),
            None => self.shared.list.load_full(),
        };
        self.with_fixed(list)
    }

    /// Returns a handle with another list, which nothing else uses before it is
    /// [adopted](Self::adopt). Databases with unchanged settings keep their connections and tables.
    #[must_use]
    pub fn prepare(&self, list: impl IntoIterator<Item = Configured>) -> Self {
        let before = self.shared.list.load();
        let kept = |new: Configured| {
            let old = before.iter().find(|old| old.is_same(&new));
            old.cloned().unwrap_or(new)
        };
        self.with_fixed(Arc::new(list.into_iter().map(kept).collect()))
    }

    fn with_fixed(&self, list: Arc<Vec<Configured>>) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            fixed: Some(list),
        }
    }

    /// Takes over the list of a fixed handle. Connections to databases that it does not have
    /// close after their statements. Other fixed handles can still be used.
    pub fn adopt(&self, prepared: &Self) {
        let Some(list) = &prepared.fixed else {
            return;
        };
        let before = self.shared.list.swap(Arc::clone(list));
        for old in before.iter() {
            let stays = |new: &Configured| Arc::ptr_eq(&new.database, &old.database);
            if !list.iter().any(stays) {
                self.shared.pools.retire_database(old.database.name());
            }
        }
        self.shared.replaced.notify_one();
    }

    fn list(&self) -> List<'_> {
        match &self.fixed {
            Some(list) => List::Fixed(list),
            None => List::Current(self.shared.list.load()),
        }
    }

    /// Returns the databases that a caller may use, in the order of the configuration.
    #[must_use]
    pub fn visible(&self, identity: Option<&Identity>) -> Vec<Configured> {
        let list = self.list();
        let seen = permitted(&list, identity).map(|it| it.seen_by(identity));
        seen.collect()
    }

    /// Returns the tables of a database by its name, if the caller may use it, for a call.
    pub async fn metadata(
        &self,
        identity: Option<&Identity>,
        name: &str,
        call: &CallContext,
    ) -> Option<Result<Arc<Metadata>, MetadataError>> {
        let current = self.named(identity, name)?.with_call(call.clone());
        Some(current.metadata().await)
    }

    /// Lets PostgreSQL check a text that it does not run, in the database of this name, or in the
    /// only one. Returns `None` if there is no such database.
    pub async fn prove(&self, name: Option<&str>, text: &str) -> Option<Result<(), QueryError>> {
        let cache = {
            let list = self.list();
            let found = match name {
                Some(name) => list.iter().find(|it| it.database.name() == name),
                None => list.first().filter(|_| list.len() == 1),
            };
            Arc::clone(&found?.cache)
        };
        Some(cache.prove(&self.shared.pools, text).await)
    }

    /// Returns whether a caller may write to a database.
    #[must_use]
    pub fn may_write(&self, identity: Option<&Identity>) -> bool {
        let list = self.list();
        permitted(&list, identity).any(|open| open.database_for(identity).allows_writes())
    }

    /// Returns whether columns of a database are masked, for some callers at least.
    #[must_use]
    pub fn has_masks(&self) -> bool {
        self.list().iter().any(Configured::has_masks)
    }

    /// Returns the databases that a caller may use, for responses.
    #[must_use]
    pub fn listing(&self, identity: Option<&Identity>) -> Listing {
        Listing::of(self, identity)
    }

    /// Returns the database that a caller is using: the selected one if still allowed, otherwise
    /// the first.
    ///
    /// # Errors
    ///
    /// Fails if the caller may use no database.
    pub fn current(&self, identity: Option<&Identity>) -> Result<Current, NoDatabase> {
        self.selected(identity, |it| self.open(it, identity))
    }

    /// Returns the name of the database that a call works on: of the one that it names, or of the
    /// current one; `None` if the caller may not use it. Opens no pool.
    #[must_use]
    pub fn name_for(&self, identity: Option<&Identity>, named: Option<&str>) -> Option<String> {
        if let Some(name) = named {
            return self.permits(identity, name).then(|| name.to_owned());
        }
        let name = |it: &Configured| it.database.name().to_owned();
        self.selected(identity, name).ok()
    }

    /// Returns the role of a caller in the database that a call names, or in the current one; `None` if
    /// the database does not know its callers. Opens no pool.
    #[must_use]
    pub fn role(&self, identity: Option<&Identity>, named: Option<&str>) -> Option<String> {
        let role = |it: &Configured| Some(it.database_for(identity).acts()?.role()?.to_owned());
        match named {
            None => self.selected(identity, role).ok()?,
            Some(name) => {
                let list = self.list();
                permitted(&list, identity)
                    .find(|it| it.database.name() == name)
                    .and_then(role)
            }
        }
    }

    fn selected<T>(
        &self,
        identity: Option<&Identity>,
        then: impl FnOnce(&Configured) -> T,
    ) -> Result<T, NoDatabase> {
        let list = self.list();
        let selected = match identity.map(Identity::selection) {
            Some(Replicated(name)) => name.as_deref().map(|name| Selection::Named(name.into())),
            _ => lock(&self.shared.selections)
                .get(session_key(identity))
                .cloned(),
        };
        let of_name = |name: &String| {
            permitted(&list, identity).find(|configured| configured.database.name() == name)
        };
        let selected = match &selected {
            Some(Selection::Named(name)) => of_name(name),
            Some(Selection::AdHoc(ad_hoc)) => confined(&list, identity).is_none().then_some(ad_hoc),
            None => None,
        };
        let configured = selected
            .or_else(|| permitted(&list, identity).next())
            .ok_or_else(|| NoDatabase::of(identity))?;
        Ok(then(configured))
    }

    /// Returns a database by its name, if the caller may use it; its selection stays.
    #[must_use]
    pub fn named(&self, identity: Option<&Identity>, name: &str) -> Option<Current> {
        let list = self.list();
        let configured = permitted(&list, identity).find(|it| it.database.name() == name)?;
        Some(self.open(configured, identity))
    }

    /// Returns whether a caller may use the database of this name.
    #[must_use]
    pub fn permits(&self, identity: Option<&Identity>, name: &str) -> bool {
        let list = self.list();
        permitted(&list, identity).any(|it| it.database.name() == name)
    }

    /// Returns whether a caller may use more than one database.
    #[must_use]
    pub fn has_several(&self, identity: Option<&Identity>) -> bool {
        permitted(&self.list(), identity).count() > 1
    }

    fn open(&self, configured: &Configured, identity: Option<&Identity>) -> Current {
        let (pools, key) = (self.shared.pools.clone(), session_key(identity));
        let account = identity.map(|known| known.account().to_string());
        let account = account.as_deref().unwrap_or(key);
        let database = configured.database_for(identity);
        Current {
            pool: pools.pool_of(key, account, &database),
            pools,
            cache: Arc::clone(&configured.cache),
            withholds_writes: configured.database.allows_writes() && !database.allows_writes(),
        }
    }

    /// Selects a database for a caller, and closes its connections to the others. Opens no
    /// connection. A shared session uses the selection at all replicas as soon as this returns.
    ///
    /// # Errors
    ///
    /// Fails if the database does not exist, the caller may not use it, or the selection cannot be
    /// stored.
    pub async fn select(&self, identity: Option<&Identity>, name: &str) -> Result<(), SelectError> {
        self.check(identity, name)?;
        let key = session_key(identity);
        match identity {
            Some(identity) if matches!(identity.selection(), Replicated(_)) => {
                self.shared.record(identity, name).await?;
            }
            _ => {
                let selection = Selection::Named(name.to_owned());
                lock(&self.shared.selections).insert(key.to_owned(), selection);
            }
        }
        self.shared.pools.close_others(key, name);
        Ok(())
    }

    /// Checks that a caller could [select](Self::select) a database.
    ///
    /// # Errors
    ///
    /// Fails if the database does not exist, or the caller may not use it.
    pub fn check(&self, identity: Option<&Identity>, name: &str) -> Result<(), SelectError> {
        let list = self.list();
        if !list.iter().any(|known| known.database.name() == name) {
            return Err(SelectError::NotFound);
        }
        if !permitted(&list, identity).any(|open| open.database.name() == name) {
            return Err(match identity.map(Identity::holder) {
                Some(Holder::Program { .. }) => SelectError::Bound,
                _ => SelectError::Denied,
            });
        }
        Ok(())
    }

    /// Checks that a caller may connect to databases that are not configured.
    ///
    /// # Errors
    ///
    /// Fails for API tokens and OAuth clients, and if access is restricted by user.
    pub fn may_connect_ad_hoc(&self, identity: Option<&Identity>) -> Result<(), AdHocDenied> {
        confined(&self.list(), identity).map_or(Ok(()), Err)
    }

    /// Connects to a database that is not configured; waits if too many such connections are open.
    ///
    /// # Errors
    ///
    /// Fails if PostgreSQL refuses the connection.
    pub async fn connect_once(
        &self,
        database: &Arc<Database>,
    ) -> Result<AdHocConnection, LeaseError> {
        let permits = Arc::clone(&self.shared.ad_hoc_connections);
        let permit = permits.acquire_owned().await;
        let permit = permit.map_err(|_| LeaseError::Closed)?;
        let lease = self.shared.pools.connect_once(database).await?;
        Ok(AdHocConnection { lease, permit })
    }

    /// Selects a database that is not configured for a caller, and closes its connections to the
    /// others. Opens no connection.
    ///
    /// # Errors
    ///
    /// Fails under the same conditions as [`may_connect_ad_hoc`](Self::may_connect_ad_hoc), and if replicas share the
    /// session.
    pub fn select_ad_hoc(
        &self,
        identity: Option<&Identity>,
        database: Arc<Database>,
    ) -> Result<(), AdHocDenied> {
        self.may_connect_ad_hoc(identity)?;
        if matches!(identity.map(Identity::selection), Some(Replicated(_))) {
            return Err(AdHocDenied::Shared);
        }
        let key = session_key(identity);
        self.shared.pools.close_others(key, database.name());
        let selection = Selection::AdHoc(Configured::new(database));
        lock(&self.shared.selections).insert(key.to_owned(), selection);
        Ok(())
    }

    /// Connects to all databases concurrently and loads their tables, at the start of a server
    /// without authentication.
    ///
    /// An unreachable database is logged, and tried again when it is used. From the return of this
    /// function on, calls wait a short time for their own database (see [`Current::ready`]).
    pub fn warm(&self) -> impl Future<Output = ()> + use<> {
        let list = self.list();
        let each = list.iter().map(|configured| {
            let warming = configured.cache.warm(&self.shared.pools);
            let (configured, pools) = (configured.clone(), self.shared.pools.clone());
            async move {
                warming.await;
                if let Some(why) = configured.refusal(&pools).await {
                    let database = configured.database.name();
                    error!(database, why, "a database is not open to its callers");
                }
            }
        });
        future::join_all(each).map(drop)
    }

    /// Connects to the database of a name as a caller would, and returns the reason if it lets no
    /// caller in. A failed connection is not such a reason.
    pub async fn refusal(&self, name: &str) -> Option<String> {
        let list = self.list();
        let configured = list.iter().find(|it| it.database.name() == name)?;
        configured.refusal(&self.shared.pools).await
    }

    /// Drops the cached tables after a statement that may have changed them, so that the next call
    /// loads them again, under every name of the database.
    pub fn changed(&self, current: &Current) {
        let changed = current.database().settings();
        let is_it = |configured: &&Configured| {
            let other = configured.database.settings();
            other.all_hosts() == changed.all_hosts() && other.database == changed.database
        };
        // The list in use: later calls take it, even if this handle has a fixed list.
        let list = self.shared.list.load();
        for configured in list.iter().filter(is_it) {
            configured.cache.forget();
            configured.forget_masks();
        }
        // The database may have left the list since.
        current.cache.forget();
    }

    /// Removes a session with a token that is no longer valid. Its connections close.
    pub fn forget(&self, session: &str) {
        lock(&self.shared.selections).remove(session);
        self.shared.pools.close(session);
    }
}

impl Shared {
    /// Stores the selection of a session for all replicas.
    async fn record(&self, identity: &Identity, name: &str) -> Result<(), SelectError> {
        let store = self.replicated.as_ref().ok_or(SelectError::Unavailable)?;
        match store.select(identity.token(), name).await {
            Ok(true) => Ok(()),
            // The session has ended during the request.
            Ok(false) => Err(SelectError::Unavailable),
            Err(error) => {
                let error: &dyn Error = &error;
                error!(error, "cannot store a selection");
                Err(SelectError::Unavailable)
            }
        }
    }
}

/// Returns the databases of a list that a caller may use.
fn permitted<'a>(
    list: &'a [Configured],
    identity: Option<&Identity>,
) -> impl Iterator<Item = &'a Configured> {
    list.iter()
        .enumerate()
        .filter(move |(at, configured)| configured.is_open_to(identity, *at == 0))
        .map(|(_, configured)| configured)
}

/// Returns the reason why a caller may only use configured databases, if there is one.
fn confined(list: &[Configured], identity: Option<&Identity>) -> Option<AdHocDenied> {
    match identity.map(Identity::holder)? {
        Holder::Program { .. } => Some(AdHocDenied::Token),
        Holder::Client { .. } => Some(AdHocDenied::Client),
        Holder::User { databases, .. } => {
            let is_restricted = !databases.is_empty()
                || identity.is_some_and(Identity::is_narrowed)
                || list.iter().any(Configured::is_restricted);
            is_restricted.then_some(AdHocDenied::User)
        }
    }
}

/// Returns the session key of a caller, which identifies its pools and selection. All sessions of a
/// user share [`Identity::account`] instead.
fn session_key(identity: Option<&Identity>) -> &str {
    identity.map_or(ANONYMOUS, Identity::session_key)
}

// === impl List ===

impl Deref for List<'_> {
    type Target = [Configured];

    fn deref(&self) -> &[Configured] {
        match self {
            Self::Current(list) => list,
            Self::Fixed(list) => list,
        }
    }
}

// === impl AdHocConnection ===

impl AdHocConnection {
    /// Splits it into the connection and its permit, which must be dropped after the connection.
    pub fn into_parts(self) -> (Lease, OwnedSemaphorePermit) {
        (self.lease, self.permit)
    }
}
