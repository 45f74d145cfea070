//! Stored accounts, and the rules for their changes.
//!
//! Each tenant sees its own records only. Secrets are stored as digests.

mod clients;
mod columns;
mod counts;
mod failures;
mod invites;
mod members;
mod passwords;
mod revocations;
mod tenants;
mod users;

use std::path::Path;

use sqlx::migrate::Migrator;
use ziggurat_layers::bearer::TokenHash;
use ziggurat_state::{StateDatabase, StoreError, Tables, migrator};
use ziggurat_tokens::WallClock;

use crate::UnixTime;

pub(crate) use self::{
    clients::ClientChange,
    failures::Attempt,
    invites::{Accepted, Account},
    passwords::Login,
    users::UserChange,
};
pub use self::{
    clients::{ClientDraft, CreatedClient, Credential},
    counts::AccountCounts,
    invites::{CreatedInvite, InviteDraft},
    members::Owner,
    revocations::Revocation,
    tenants::TenantDraft,
};

/// The first tables.
const ACCOUNTS: &str = include_str!("store/0001_accounts.sql");

/// Roles of clients.
const ROLES: &str = include_str!("store/0002_roles.sql");

/// People who sign in.
const PEOPLE: &str = include_str!("store/0003_people.sql");

/// Wrong passwords of people.
const FAILURES: &str = include_str!("store/0004_failures.sql");

/// Name of the file.
const FILE: &str = "platform.db";

/// Limits on records that callers can create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Clients of a tenant, including deleted clients with tokens that have not expired.
    pub clients: u32,
    /// Pending invitations of a tenant.
    pub invites: u32,
}

/// Stores all accounts. Clones share one store.
#[derive(Clone, Debug)]
pub struct Store {
    tables: Tables,
    clock: WallClock,
    limits: Limits,
}

// === impl Limits ===

/// A thousand of each.
impl Default for Limits {
    fn default() -> Self {
        Self {
            clients: 1000,
            invites: 1000,
        }
    }
}

// === impl Store ===

impl Store {
    /// Opens the file in this folder; creates both if missing. Only their owner can access them.
    ///
    /// Several processes may use it at the same time.
    ///
    /// # Errors
    /// Fails if the folder or file cannot be used, or the file belongs to another program.
    pub async fn open(folder: &Path) -> Result<Self, StoreError> {
        let migrations = migrations([ACCOUNTS, ROLES, PEOPLE, FAILURES]);
        let tables = Tables::open(folder, FILE, &migrations).await?;
        Ok(Self::with(tables))
    }

    /// Stores accounts in a database that replicas share. Connects on first use.
    #[must_use]
    pub fn replicated(state: StateDatabase) -> Self {
        Self::with(Tables::Replicated(
            state.with_migrations(replicated_migrations),
        ))
    }

    fn with(tables: Tables) -> Self {
        Self {
            tables,
            clock: WallClock::default(),
            limits: Limits::default(),
        }
    }

    /// Uses another clock.
    #[must_use]
    pub fn with_clock(self, clock: WallClock) -> Self {
        Self { clock, ..self }
    }

    /// Uses other limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Checks that the store can be used.
    ///
    /// # Errors
    /// Fails if the database is unreachable, or its tables cannot be created.
    pub async fn check(&self) -> Result<(), StoreError> {
        self.tables.read().await?.commit().await
    }

    /// Closes the store.
    pub async fn close(&self) {
        self.tables.close().await;
    }

    pub(crate) fn now(&self) -> UnixTime {
        self.clock.now().into()
    }
}

fn migrations([accounts, roles, people, failures]: [&'static str; 4]) -> Migrator {
    migrator(&[
        ("accounts", accounts),
        ("roles", roles),
        ("people", people),
        ("failures", failures),
    ])
}

fn replicated_migrations() -> Migrator {
    let mut migrator = migrations([
        concat!(
            "SET LOCAL search_path TO ziggurat, pg_catalog;\n",
            include_str!("store/0001_accounts.sql")
        ),
        concat!(
            "SET LOCAL search_path TO ziggurat, pg_catalog;\n",
            include_str!("store/0002_roles.sql")
        ),
        concat!(
            "SET LOCAL search_path TO ziggurat, pg_catalog;\n",
            include_str!("store/0003_people.sql")
        ),
        concat!(
            "SET LOCAL search_path TO ziggurat, pg_catalog;\n",
            include_str!("store/0004_failures.sql")
        ),
    ]);
    // Other servers may store their shared state in the same schema.
    migrator.dangerous_set_table_name("ziggurat.platform_migrations");
    migrator
}

/// Returns the stored form of a secret.
fn digest(secret: &str) -> String {
    TokenHash::of(secret).to_string()
}
