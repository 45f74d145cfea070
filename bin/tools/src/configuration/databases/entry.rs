//! Databases as they are configured.

use std::sync::Arc;

use secrecy::ExposeSecret as _;
use ziggurat_callers::{Callers, Masks};
use ziggurat_databases::Configured;
use ziggurat_postgres::database::{ConnectKeys, Database, IdentityKey};
use ziggurat_tokens::LocalCaller;

/// Database, and the users who may use it.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Connection settings and permissions.
    pub(crate) database: Arc<Database>,
    /// Users who may use it; if empty, all may.
    pub(crate) users: Vec<String>,
    /// Clients of an issuer that may use it.
    pub(crate) clients: Vec<String>,
    /// Keys that say how to reach it.
    pub(crate) connect: ConnectKeys,
    /// The role of each caller, if the database knows its callers.
    pub(crate) callers: Option<Callers>,
    /// Columns that are masked, if there are some.
    pub(crate) masks: Option<Masks>,
}

// === impl Entry ===

impl Entry {
    /// Returns whether there is a password for one of its hosts.
    pub(crate) fn has_password(&self) -> bool {
        let mut passwords = self.database.passwords();
        passwords.any(|password| !password.expose_secret().is_empty())
    }

    /// Returns whether both have the same database, users and passwords.
    pub(in crate::configuration) fn is_same(&self, other: &Self) -> bool {
        self.users == other.users
            && self.clients == other.clients
            // A reload reads the files of roles again.
            && self.callers.is_none()
            && other.callers.is_none()
            && match (&self.masks, &other.masks) {
                (Some(one), Some(two)) => one.is_same(two),
                (one, two) => one.is_none() && two.is_none(),
            }
            && self.database.is_same(&other.database)
    }

    /// Converts to the type that the database service uses.
    pub(crate) fn configured(
        &self,
        local: &LocalCaller,
        shows_plans: bool,
        key: &IdentityKey,
    ) -> Configured {
        let configured = Configured::new(Arc::clone(&self.database))
            .with_users(self.users.iter().cloned())
            .with_clients(self.clients.iter().cloned());
        let configured = match self.masks.clone() {
            None => configured,
            Some(masks) => configured.with_masks(masks),
        };
        match &self.callers {
            None => configured,
            Some(callers) => configured.with_callers(Callers {
                local: local.clone(),
                shows_plans,
                key: key.clone(),
                ..callers.clone()
            }),
        }
    }
}
