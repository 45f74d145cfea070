//! Everything that is kept of accounts, and the rules by which it changes.
//!
//! What belongs to one tenant is not there for the others. Secrets are kept as digests.

mod clients;
mod engine;
mod invites;
mod members;
mod revocations;
mod tenants;
mod users;

use std::{path::Path, time::Duration};

use sqlx::{
    ConnectOptions as _, SqlSafeStr as _,
    migrate::{Migration, MigrationType, Migrator},
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};
use ziggurat_accounts::WallClock;
use ziggurat_layers::bearer::TokenHash;
use ziggurat_state::{StateDatabase, StoreError, prepare};

use self::engine::Engine;
use super::Moment;

pub use self::{
    clients::{ClientChange, ClientDraft, CreatedClient, Credential},
    invites::{CreatedInvite, InviteDraft},
    members::Owner,
    revocations::Revocation,
    tenants::TenantDraft,
    users::UserChange,
};

/// The first tables.
const ACCOUNTS: &str = include_str!("store/0001_accounts.sql");

/// Roles of clients.
const ROLES: &str = include_str!("store/0002_roles.sql");

/// The name of the file.
const FILE: &str = "platform.db";

/// How many read at a time.
const READERS: u32 = 4;

/// How long another process may keep the file to itself.
const PATIENCE: Duration = Duration::from_secs(5);

/// How much there may be of what callers can add to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Clients of a tenant, those included that are gone and whose tokens have not ended.
    pub clients: u32,
    /// Pending invites of a tenant.
    pub invites: u32,
}

/// Everything that is kept of accounts. Clones keep the same.
#[derive(Clone, Debug)]
pub struct Store {
    engine: Engine,
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
    /// Keeps it in a file in this folder, which nobody but its owner may look into. Both are made
    /// if they are not there.
    ///
    /// Several processes may use it at a time.
    ///
    /// # Errors
    /// When the folder or the file cannot be used, or is something else.
    pub async fn open(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(FILE);
        // Held until the tables are there: another process may be starting as well.
        let _turn = prepare(folder, &path)?;
        let options = SqliteConnectOptions::new()
            .filename(&path)
            .busy_timeout(PATIENCE)
            .log_slow_statements(tracing::log::LevelFilter::Off, Duration::ZERO);
        let writing = options
            .clone()
            .journal_mode(SqliteJournalMode::Wal)
            // Each commit is on disk before it is acknowledged.
            .synchronous(SqliteSynchronous::Full);
        let mut connection = writing.connect().await?;
        migrations([ACCOUNTS, ROLES])
            .run_direct(None, &mut connection, false)
            .await?;
        sqlx::Connection::close(connection).await?;
        let pool = |size| {
            SqlitePoolOptions::new()
                .max_connections(size)
                .acquire_timeout(PATIENCE)
                .test_before_acquire(false)
        };
        let engine = Engine::File {
            readers: pool(READERS).connect_lazy_with(options.read_only(true)),
            writer: pool(1).connect_lazy_with(writing),
        };
        Ok(Self::with(engine))
    }

    /// Keeps it in a database that replicas share. Connects when it is first asked for something.
    #[must_use]
    pub fn shared(state: StateDatabase) -> Self {
        Self::with(Engine::Shared(state.with_migrations(shared_migrations)))
    }

    fn with(engine: Engine) -> Self {
        Self {
            engine,
            clock: WallClock::default(),
            limits: Limits::default(),
        }
    }

    /// Takes the time from another clock.
    #[must_use]
    pub fn with_clock(self, clock: WallClock) -> Self {
        Self { clock, ..self }
    }

    /// Has room for so much.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Makes sure that it can be used.
    ///
    /// # Errors
    /// When the database cannot be reached, or its tables cannot be made.
    pub async fn check(&self) -> Result<(), StoreError> {
        self.engine.read().await?.commit().await
    }

    /// Lets go of it in good order.
    pub async fn close(&self) {
        self.engine.close().await;
    }

    fn now(&self) -> Moment {
        self.clock.now().into()
    }
}

fn migrations([accounts, roles]: [&'static str; 2]) -> Migrator {
    let migration = |version, name: &'static str, sql: &'static str| {
        let kind = MigrationType::Simple;
        Migration::new(version, name.into(), kind, sql.into_sql_str(), false)
    };
    Migrator::with_migrations(vec![
        migration(1, "accounts", accounts),
        migration(2, "roles", roles),
    ])
}

fn shared_migrations() -> Migrator {
    let mut migrator = migrations([
        concat!(
            "SET LOCAL search_path TO ziggurat, pg_catalog;\n",
            include_str!("store/0001_accounts.sql")
        ),
        concat!(
            "SET LOCAL search_path TO ziggurat, pg_catalog;\n",
            include_str!("store/0002_roles.sql")
        ),
    ]);
    // Servers of another kind may keep what they share in the same schema.
    migrator.dangerous_set_table_name("ziggurat.platform_migrations");
    migrator
}

/// What is kept of a secret.
fn digest(secret: &str) -> String {
    TokenHash::of(secret).to_string()
}
