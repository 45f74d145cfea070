//! A database of the configuration, and who may use it.

use std::sync::Arc;

use super::cache::Cache;
use crate::{
    accounts::{Holder, Identity},
    pg::database::Database,
};

/// A database, and the users it is there for.
#[derive(Clone, Debug)]
#[must_use]
pub struct Configured {
    pub(super) database: Arc<Database>,
    users: Arc<[String]>,
    clients: Arc<[String]>,
    pub(super) cache: Arc<Cache>,
}

// === impl Configured ===

impl Configured {
    /// A database that is there for every user.
    pub fn new(database: impl Into<Arc<Database>>) -> Self {
        let database = database.into();
        Self {
            cache: Cache::new(Arc::clone(&database)),
            users: Arc::default(),
            clients: Arc::default(),
            database,
        }
    }

    /// Restricts it to these users; nobody in the list is no restriction.
    pub fn with_users<U: Into<String>>(mut self, users: impl IntoIterator<Item = U>) -> Self {
        self.users = users.into_iter().map(Into::into).collect();
        self
    }

    /// Restricts it to these clients of an issuer, by any of their names. Without them it is there
    /// for every client, unless it is restricted to users.
    pub fn with_clients<C: Into<String>>(mut self, clients: impl IntoIterator<Item = C>) -> Self {
        self.clients = clients.into_iter().map(Into::into).collect();
        self
    }

    /// The database.
    #[must_use]
    pub fn database(&self) -> &Arc<Database> {
        &self.database
    }

    pub(super) fn is_restricted(&self) -> bool {
        !self.users.is_empty() || !self.clients.is_empty()
    }

    /// Whether a caller may use it. `is_first` says whether it is the first of the list, which
    /// is what an API token without a database is bound to.
    #[must_use]
    pub fn is_open_to(&self, identity: Option<&Identity>, is_first: bool) -> bool {
        match identity.map(Identity::holder) {
            None => true,
            Some(Holder::Program { database: None }) => is_first,
            Some(Holder::Program {
                database: Some(bound),
            }) => **bound == *self.database.name(),
            Some(Holder::User { name, databases }) => {
                let name_is = |listed: &String| **listed == **name;
                (databases.is_empty() || databases.iter().any(|d| d == self.database.name()))
                    && (self.users.is_empty() || self.users.iter().any(name_is))
            }
            Some(Holder::Client {
                names, databases, ..
            }) => {
                (databases.is_empty() || databases.iter().any(|d| d == self.database.name()))
                    && match &*self.clients {
                        [] => self.users.is_empty(),
                        clients => clients.iter().any(|client| names.contains(client)),
                    }
            }
        }
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.users == other.users
            && self.clients == other.clients
            && self.database.is_same(&other.database)
    }
}
