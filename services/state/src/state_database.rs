//! The database with the state that replicas share.

mod settings;

use std::{sync::Arc, time::Duration};

use sqlx::{
    SqlSafeStr as _,
    migrate::{Migration, MigrationType, Migrator},
};
use thiserror::Error;
use tokio::{sync::OnceCell, time};
use ziggurat_postgres::{
    database::{Database, InvalidDatabase, InvalidParameter, Password, Settings},
    driver::{Client, DriverError, FromText, Query, Row, query},
    pool::{Lease, Pool, Pools},
    url::InvalidUrl,
};
use ziggurat_telemetry::traces::Tracer;

pub use self::settings::StateSettings;
use crate::StoreError;

/// Maximum time to connect, and maximum wait for a connection of the front pool.
const CONNECT: Duration = Duration::from_secs(2);

/// Maximum time of a statement in PostgreSQL.
const STATEMENT: Duration = Duration::from_secs(5);

/// Maximum wait for an answer: longer, so that PostgreSQL itself reports the timeout.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(6);

/// Maximum wait of a writer for a connection: statements are short, so one becomes free.
const LEASE_TIMEOUT: Duration = Duration::from_secs(15);

/// Connections per pool; most statements take less than a millisecond.
const CONNECTIONS: u32 = 8;

/// Advisory lock held while tables are created: "ziggurat" as a number.
const MIGRATION_LOCK: i64 = 0x7a69_6767_7572_6174;

/// The database with the state that replicas share. Clones share its connections.
///
/// All tables are in the schema `ziggurat`, so that the database may also serve other purposes. On
/// first use, one replica after the other creates or migrates the tables.
#[derive(Clone, Debug)]
pub struct StateDatabase {
    pool: Pool,
    /// Serves look-ups that requests wait for, so that they do not queue behind writers.
    front: Pool,
    is_ready: Arc<OnceCell<()>>,
    /// Migrations that create the tables.
    migrations: fn() -> Migrator,
    tracer: Tracer,
}

/// Reasons the database of the replicas cannot be used, for the operator.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InvalidState {
    /// The URL is invalid.
    #[error(transparent)]
    Url(#[from] InvalidUrl),
    /// The settings in the URL are invalid.
    #[error(transparent)]
    Database(#[from] InvalidDatabase),
    /// The parameters of the service are invalid.
    #[error(transparent)]
    Parameter(#[from] InvalidParameter),
}

// === impl StateDatabase ===

impl StateDatabase {
    /// Reads the settings of the database from a URL.
    ///
    /// Without a password in the URL, the password file is used. `adjust` sets what a URL cannot
    /// contain, such as certificates.
    ///
    /// # Errors
    /// Fails if the URL or a file cannot be used; the message contains nothing of the URL.
    pub fn describe(
        url: &str,
        adjust: impl FnOnce(&mut Settings) -> Result<(), InvalidDatabase>,
    ) -> Result<Database, InvalidState> {
        database_of(Settings::from_url(url, &defaults())?, adjust)
    }

    /// Takes connections from these pools, which should have no other use. Connects on first use.
    #[must_use]
    pub fn new(pools: &Pools, database: Database) -> Self {
        let database = Arc::new(database);
        Self {
            pool: pools.pool("state", &database),
            front: pools.pool("state, in front", &database),
            is_ready: Arc::default(),
            migrations,
            tracer: Tracer::off(),
        }
    }

    /// Makes a span of each statement. One statement may serve several requests, so each span has a
    /// trace of its own.
    #[must_use]
    pub fn with_tracer(self, tracer: Tracer) -> Self {
        Self { tracer, ..self }
    }

    /// Uses the tables of these migrations instead of the tables of replicas.
    #[must_use]
    pub fn with_migrations(self, migrations: fn() -> Migrator) -> Self {
        Self {
            migrations,
            is_ready: Arc::default(),
            ..self
        }
    }

    /// Leases a connection to the database, once its tables exist.
    pub async fn lease(&self) -> Result<Lease, StoreError> {
        self.prepared(self.pool.lease().await?).await
    }

    /// Leases a connection of the front pool, which does not wait for writers.
    async fn front_lease(&self) -> Result<Lease, StoreError> {
        let lease = time::timeout(CONNECT, self.front.lease()).await;
        self.prepared(lease.map_err(|_| StoreError::TimedOut)??)
            .await
    }

    /// Runs a statement that does not wait for writers, and returns its rows.
    pub(crate) async fn rows(&self, query: Query<'_>) -> Result<Vec<Row>, StoreError> {
        self.traced(query.sql, async {
            let mut lease = self.front_lease().await?;
            let rows = within(query.fetch_all(lease.begin())).await?;
            lease.settle();
            Ok(rows)
        })
        .await
    }

    /// Runs a statement that does not wait for writers, and returns the first value of its first
    /// row.
    pub(crate) async fn value<T: FromText>(
        &self,
        query: Query<'_>,
    ) -> Result<Option<T>, StoreError> {
        let rows = self.rows(query).await?;
        Ok(rows.first().map(|row| row.get(0)).transpose()?)
    }

    /// Runs a statement that does not wait for writers, and returns the number of rows it changed.
    pub(crate) async fn execute(&self, query: Query<'_>) -> Result<u64, StoreError> {
        self.traced(query.sql, async {
            let mut lease = self.front_lease().await?;
            let changed = within(query.execute(lease.begin())).await?;
            lease.settle();
            Ok(changed)
        })
        .await
    }

    /// Runs a statement of this server within a span.
    pub(crate) async fn traced<T>(
        &self,
        statement: &str,
        run: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let mut span = self
            .tracer
            .statement(self.pool.database().name(), statement);
        let outcome = run.await;
        match &outcome {
            Ok(_) => {}
            Err(StoreError::TimedOut) => span.set_error("timeout"),
            Err(StoreError::Lease(_)) => span.set_error("connection"),
            Err(StoreError::Postgres(error)) => match &**error {
                DriverError::Server(error) => span.set_status_code(&error.code),
                _ => span.set_error("connection"),
            },
            Err(_) => span.set_error("_OTHER"),
        }
        outcome
    }

    async fn prepared(&self, mut lease: Lease) -> Result<Lease, StoreError> {
        self.is_ready
            .get_or_try_init(async || {
                let made = time::timeout(
                    ANSWER_TIMEOUT,
                    make_tables(lease.begin(), &(self.migrations)()),
                )
                .await;
                made.map_err(|_| StoreError::TimedOut)??;
                lease.settle();
                Ok::<_, StoreError>(())
            })
            .await?;
        Ok(lease)
    }

    /// Connects, and creates the tables if missing.
    ///
    /// # Errors
    /// Fails if the database is unreachable, or the tables cannot be created.
    pub async fn open(&self) -> Result<(), StoreError> {
        self.lease().await.map(drop)
    }

    /// Checks that the database answers, through the pool that session look-ups use.
    ///
    /// # Errors
    /// Fails if it does not answer in time.
    pub async fn check(&self) -> Result<(), StoreError> {
        let mut lease = self.front_lease().await?;
        within(lease.begin().ask("")).await?;
        lease.settle();
        Ok(())
    }
}

fn defaults() -> Settings {
    Settings {
        query_timeout: STATEMENT,
        connect_timeout: CONNECT,
        lease_timeout: LEASE_TIMEOUT,
        max_connections: CONNECTIONS,
        max_total_connections: 2 * CONNECTIONS,
        application_name: "ziggurat-state".to_owned(),
        ..Settings::default()
    }
}

fn database_of(
    mut settings: Settings,
    adjust: impl FnOnce(&mut Settings) -> Result<(), InvalidDatabase>,
) -> Result<Database, InvalidState> {
    settings.allow_writes = true;
    if let Password::Given(password) = &settings.password
        && secrecy::ExposeSecret::expose_secret(password).is_empty()
    {
        settings.password = Password::PasswordFile;
    }
    "state".clone_into(&mut settings.name);
    adjust(&mut settings)?;
    Ok(Database::try_from(settings)?)
}

/// Waits for an answer, up to a fixed limit.
pub async fn within<T>(
    answer: impl Future<Output = Result<T, DriverError>>,
) -> Result<T, StoreError> {
    match time::timeout(ANSWER_TIMEOUT, answer).await {
        Ok(answer) => answer.map_err(StoreError::from),
        Err(_) => Err(StoreError::TimedOut),
    }
}

/// Creates or migrates the tables; other replicas wait meanwhile.
async fn make_tables(client: &mut Client, migrations: &Migrator) -> Result<(), StoreError> {
    client
        .ask(&format!(
            "SELECT pg_catalog.pg_advisory_lock({MIGRATION_LOCK})"
        ))
        .await?;
    migrate(client, migrations).await?;
    // If the migration fails, PostgreSQL releases the lock when the connection ends.
    client
        .ask(&format!(
            "SELECT pg_catalog.pg_advisory_unlock({MIGRATION_LOCK})"
        ))
        .await?;
    Ok(())
}

async fn migrate(client: &mut Client, migrations: &Migrator) -> Result<(), StoreError> {
    let schema = client
        .ask("SELECT FROM pg_catalog.pg_namespace WHERE nspname = 'ziggurat'")
        .await?;
    // Checked first: a role that may not create schemas may use an existing one.
    if schema.is_empty() {
        client.ask("CREATE SCHEMA ziggurat").await?;
    }
    let table = &*migrations.table_name;
    if !has_table(client, table).await? {
        // Same columns as in sqlx, which created this table in earlier versions.
        client
            .ask(&format!(
                "CREATE TABLE {table} (version BIGINT PRIMARY KEY, description TEXT NOT NULL, \
                 installed_on TIMESTAMPTZ NOT NULL DEFAULT now(), success BOOLEAN NOT NULL, \
                 checksum BYTEA NOT NULL, execution_time BIGINT NOT NULL)"
            ))
            .await?;
    }
    let rows = client
        .ask(&format!("SELECT version FROM {table} ORDER BY version"))
        .await?;
    let made: Vec<i64> = rows
        .iter()
        .map(|row| row.get(0))
        .collect::<Result<_, _>>()?;
    let newest = migrations.iter().map(|migration| migration.version).max();
    if let Some(newer) = made.iter().find(|version| Some(**version) > newest) {
        return Err(StoreError::Newer(*newer));
    }
    let missing = |migration: &&Migration| !made.contains(&migration.version);
    for migration in migrations.iter().filter(missing) {
        apply(client, table, migration).await?;
    }
    Ok(())
}

async fn has_table(client: &mut Client, table: &str) -> Result<bool, StoreError> {
    let found = query("SELECT pg_catalog.to_regclass($1) IS NOT NULL").bind(table);
    let row = found.fetch_optional(client).await?;
    Ok(row.map_or(Ok(false), |row| row.get(0))?)
}

/// Runs a migration and records it, in one transaction.
async fn apply(client: &mut Client, table: &str, migration: &Migration) -> Result<(), StoreError> {
    client.ask("BEGIN").await?;
    client.ask(migration.sql.as_str()).await?;
    let insert = format!(
        "INSERT INTO {table} (version, description, success, checksum, execution_time) \
         VALUES ($1, $2, true, $3, 0)"
    );
    query(&insert)
        .bind(migration.version)
        .bind(&*migration.description)
        .bind(&*migration.checksum)
        .execute(client)
        .await?;
    client.ask("COMMIT").await?;
    Ok(())
}

/// Makes the migrations with these names and statements, in this order.
#[must_use]
pub fn migrator(migrations: &[(&'static str, &'static str)]) -> Migrator {
    let migrations = (1..).zip(migrations).map(|(version, &(name, sql))| {
        let kind = MigrationType::Simple;
        Migration::new(version, name.into(), kind, sql.into_sql_str(), false)
    });
    Migrator::with_migrations(migrations.collect())
}

fn migrations() -> Migrator {
    let mut migrator = migrator(&[
        (
            "conversations",
            include_str!("state_database/0001_conversations.sql"),
        ),
        ("shared", include_str!("state_database/0002_shared.sql")),
        ("spent", include_str!("state_database/0003_spent.sql")),
        ("usage", include_str!("state_database/0004_usage.sql")),
        (
            "token sessions",
            include_str!("state_database/0005_token_sessions.sql"),
        ),
        ("library", include_str!("state_database/0006_library.sql")),
        ("accounts", include_str!("state_database/0007_accounts.sql")),
        ("calls", include_str!("state_database/0008_calls.sql")),
        (
            "browser sessions",
            include_str!("state_database/0009_browser_sessions.sql"),
        ),
    ]);
    migrator.dangerous_set_table_name("ziggurat.migrations");
    migrator
}
