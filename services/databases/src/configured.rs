//! A database of the configuration, and the callers that may use it.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tracing::warn;
use ziggurat_callers::{Callers, KnownCallers, Masks};
use ziggurat_postgres::{
    database::Database,
    pool::{LeaseError, Pools},
};
use ziggurat_tokens::{Holder, Identity};

use crate::{cache::Cache, masked::KnownMasks};

/// A database, and the users that may use it.
#[derive(Clone, Debug)]
#[must_use]
pub struct Configured {
    pub(super) database: Arc<Database>,
    /// The same database for callers who may only read; shared with `database` where no caller may write.
    read_only: Arc<Database>,
    pub(super) users: Arc<[String]>,
    clients: Arc<[ClientEntry]>,
    /// Rules for the role and the settings of each caller, if it knows its callers.
    callers: Option<Arc<KnownCallers>>,
    /// Set once the version of PostgreSQL was looked at, if it knows its callers.
    pub(crate) is_version_asked: Arc<AtomicBool>,
    /// Rules for masked columns, if there are some.
    masks: Option<Arc<KnownMasks>>,
    pub(super) cache: Arc<Cache>,
}

/// Entry of the list of clients of an issuer that may use a database: `client:…`, `tenant:…`,
/// `sub:…`, or the name of a client without a prefix.
#[derive(Debug)]
struct ClientEntry {
    text: String,
    /// Is true once a missing prefix has been logged.
    is_reported: AtomicBool,
}

/// Names in the token of a client.
#[derive(Clone, Copy)]
struct ClientNames<'a> {
    subject: &'a str,
    client: Option<&'a str>,
    tenant: Option<&'a str>,
}

// === impl Configured ===

impl Configured {
    /// Creates a database for all users.
    pub fn new(database: impl Into<Arc<Database>>) -> Self {
        let database: Arc<Database> = database.into();
        let read_only = if database.allows_writes() {
            Arc::new(database.read_only())
        } else {
            Arc::clone(&database)
        };
        Self {
            cache: Cache::new(Arc::clone(&database)),
            read_only,
            users: Arc::default(),
            clients: Arc::default(),
            callers: None,
            is_version_asked: Arc::default(),
            masks: None,
            database,
        }
    }

    /// Restricts it to these users; an empty list is no restriction.
    pub fn with_users<U: Into<String>>(mut self, users: impl IntoIterator<Item = U>) -> Self {
        self.users = users.into_iter().map(Into::into).collect();
        self
    }

    /// Restricts it to these clients of an issuer: `client:…` or a name without a prefix for the
    /// client that a token was issued to, `tenant:…` for all clients of a tenant, `sub:…` for a
    /// subject. An empty list allows every client, unless the database is restricted to users.
    pub fn with_clients<C: Into<String>>(mut self, clients: impl IntoIterator<Item = C>) -> Self {
        let entry = |text: C| ClientEntry {
            text: text.into(),
            is_reported: AtomicBool::new(false),
        };
        self.clients = clients.into_iter().map(entry).collect();
        self
    }

    /// Gives each caller a role and settings of its own.
    pub fn with_callers(self, callers: Callers) -> Self {
        let callers = Some(Arc::new(KnownCallers::new(callers)));
        Self { callers, ..self }
    }

    /// Returns whether each caller has a role or settings of its own.
    pub(crate) fn knows_callers(&self) -> bool {
        self.callers.is_some()
    }

    /// Connects as a caller would, and returns the reason if callers are refused.
    pub(crate) async fn refusal(&self, pools: &Pools) -> Option<String> {
        let sample = self.callers.as_ref()?.sample(&self.database);
        match pools.connect_once(&sample).await {
            Err(LeaseError::NotOpen { why, .. }) => Some(why),
            _ => None,
        }
    }

    /// Masks columns for callers.
    pub fn with_masks(self, masks: Masks) -> Self {
        let rules = masks.masking.rules().iter();
        let hidden = rules.map(|rule| rule.column.clone()).collect();
        let known = KnownMasks::new(masks, &self.database);
        Self {
            cache: Cache::hiding(Arc::clone(&self.database), hidden),
            masks: Some(Arc::new(known)),
            ..self
        }
    }

    /// Returns whether columns are masked, for some callers at least.
    pub(crate) fn has_masks(&self) -> bool {
        self.masks.is_some()
    }

    /// Drops the columns that rules mask, since definitions of tables may have changed.
    pub(super) fn forget_masks(&self) {
        if let Some(known) = &self.masks {
            known.masks().masking.forget();
        }
    }

    /// Returns the database.
    #[must_use]
    pub fn database(&self) -> &Arc<Database> {
        &self.database
    }

    /// Returns it as a caller may use it.
    pub(super) fn seen_by(&self, identity: Option<&Identity>) -> Self {
        Self {
            database: self.database_for(identity),
            ..self.clone()
        }
    }

    /// Returns the database as a caller may use it.
    pub(super) fn database_for(&self, identity: Option<&Identity>) -> Arc<Database> {
        let database = match identity {
            Some(identity) if !identity.may_write() => &self.read_only,
            _ => &self.database,
        };
        let database = match &self.callers {
            Some(callers) => callers.database(database, identity),
            None => Arc::clone(database),
        };
        match &self.masks {
            Some(masks) => masks.database(database, identity),
            None => database,
        }
    }

    /// Returns the entries for clients of an issuer, as they are configured.
    pub(super) fn client_entries(&self) -> Vec<String> {
        self.clients
            .iter()
            .map(|entry| entry.text.clone())
            .collect()
    }

    pub(super) fn is_restricted(&self) -> bool {
        !self.users.is_empty() || !self.clients.is_empty()
    }

    /// Returns whether a caller may use it. `is_first` is true for the first database of the list,
    /// which API tokens without a database are bound to.
    #[must_use]
    pub(crate) fn is_open_to(&self, identity: Option<&Identity>, is_first: bool) -> bool {
        if identity.is_some_and(|identity| !identity.may_use(self.database.name())) {
            return false;
        }
        match identity.map(Identity::holder) {
            None => true,
            Some(Holder::Program { database: None, .. }) => is_first,
            Some(Holder::Program {
                database: Some(bound),
                ..
            }) => **bound == *self.database.name(),
            Some(Holder::User { name, databases }) => {
                let name_is = |listed: &String| **listed == **name;
                (databases.is_empty() || databases.iter().any(|d| d == self.database.name()))
                    && (self.users.is_empty() || self.users.iter().any(name_is))
            }
            Some(Holder::Client {
                subject,
                client,
                tenant,
                databases,
                ..
            }) => {
                let names = ClientNames {
                    subject,
                    client: client.as_deref(),
                    tenant: tenant.as_deref(),
                };
                (databases.is_empty() || databases.iter().any(|d| d == self.database.name()))
                    && match &*self.clients {
                        [] => self.users.is_empty(),
                        clients => clients
                            .iter()
                            .any(|entry| entry.admits(names, self.database.name())),
                    }
            }
        }
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.users == other.users
            && self
                .clients
                .iter()
                .map(|entry| &entry.text)
                .eq(other.clients.iter().map(|entry| &entry.text))
            // A reload reads the files of roles again.
            && self.callers.is_none()
            && other.callers.is_none()
            && match (&self.masks, &other.masks) {
                (Some(one), Some(two)) => one.masks().is_same(two.masks()),
                (one, two) => one.is_none() && two.is_none(),
            }
            && self.database.is_same(&other.database)
    }
}

// === impl ClientEntry ===

impl ClientEntry {
    fn admits(&self, names: ClientNames<'_>, database: &str) -> bool {
        let name = Some(&*self.text);
        match self.text.split_once(':') {
            Some(("client", name)) => return names.client == Some(name),
            Some(("tenant", name)) => return names.tenant == Some(name),
            Some(("sub", name)) => return names.subject == name,
            _ if names.client == name => return true,
            _ => {}
        }
        // Requires the prefix, because a client may have the name of a tenant.
        let kind = match name {
            name if names.tenant == name => "tenant",
            name if Some(names.subject) == name => "sub",
            _ => return false,
        };
        if !self.is_reported.swap(true, Ordering::Relaxed) {
            let text = &self.text;
            warn!(
                "database '{database}': available_to_clients has '{text}', which matches no \
                 client; write '{kind}:{text}'"
            );
        }
        false
    }
}
