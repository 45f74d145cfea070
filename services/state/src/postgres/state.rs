//! The database in which replicas keep what they share.

use std::{sync::Arc, time::Duration};

use sqlx::{
    SqlSafeStr as _,
    migrate::{Migration, MigrationType, Migrator},
};
use thiserror::Error;
use tokio::{sync::OnceCell, time};
use ziggurat_postgres::{
    database::{Database, InvalidDatabase, Password, Settings},
    driver::{Client, DriverError, query},
    pool::{Lease, Pool, Pools},
    url::InvalidUrl,
};

pub(super) use crate::StoreError;

/// How long PostgreSQL may take to let somebody in, and how long those in front wait for one of
/// their connections.
const CONNECT: Duration = Duration::from_secs(2);

/// How long a statement may run.
const STATEMENT: Duration = Duration::from_secs(5);

/// How long it is waited for one: longer, so that PostgreSQL is the one to say why.
const ANSWER: Duration = Duration::from_secs(6);

/// How long a writer waits for its turn: others are being served, so it will come.
const TURNS: Duration = Duration::from_secs(15);

/// Connections of either kind, where most statements are over within a millisecond.
const CONNECTIONS: u32 = 8;

/// Taken by whoever makes the tables. "ziggurat", as a number.
const TURN: i64 = 0x7a69_6767_7572_6174;

/// The database in which replicas keep what they share. Clones share its connections.
///
/// Everything is in the schema `ziggurat`, so that it may be a database that is used for other
/// things as well. The tables are made, or brought up to date, when it is first reached, by one
/// replica after the other.
#[derive(Clone, Debug)]
pub struct StateDatabase {
    pool: Pool,
    /// For what requests wait for before they are let in: it does not queue behind writers.
    front: Pool,
    is_ready: Arc<OnceCell<()>>,
    /// What makes the tables.
    migrations: fn() -> Migrator,
}

/// Why the database of replicas cannot be used. The words are for the operator.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InvalidState {
    /// The URL is no good.
    #[error(transparent)]
    Url(#[from] InvalidUrl),
    /// What it describes is no good.
    #[error(transparent)]
    Database(#[from] InvalidDatabase),
}

// === impl StateDatabase ===

impl StateDatabase {
    /// Describes the database of a URL that an operator has written.
    ///
    /// Without a password in it, the password file is asked for one. `adjust` adds what a URL
    /// does not say, such as certificates.
    ///
    /// # Errors
    /// When the URL cannot be used, or a file; the words hold nothing of the URL.
    pub fn describe(
        url: &str,
        adjust: impl FnOnce(&mut Settings),
    ) -> Result<Database, InvalidState> {
        let base = Settings {
            query_timeout: STATEMENT,
            connect_timeout: CONNECT,
            lease_timeout: TURNS,
            max_connections: CONNECTIONS,
            max_total_connections: 2 * CONNECTIONS,
            application_name: "ziggurat-state".to_owned(),
            ..Settings::default()
        };
        let mut settings = Database::from_url(url, &base)?.settings().clone();
        settings.allow_writes = true;
        if let Password::Given(password) = &settings.password
            && secrecy::ExposeSecret::expose_secret(password).is_empty()
        {
            settings.password = Password::PasswordFile;
        }
        "state".clone_into(&mut settings.name);
        adjust(&mut settings);
        Ok(Database::try_from(settings)?)
    }

    /// Takes its connections from these pools, which should be used for nothing else. Connects
    /// when it is first used.
    #[must_use]
    pub fn new(pools: &Pools, database: Database) -> Self {
        let database = Arc::new(database);
        Self {
            pool: pools.pool("state", &database),
            front: pools.pool("state, in front", &database),
            is_ready: Arc::default(),
            migrations,
        }
    }

    /// Keeps other tables in it than those of replicas.
    #[must_use]
    pub fn with_migrations(self, migrations: fn() -> Migrator) -> Self {
        Self {
            migrations,
            is_ready: Arc::default(),
            ..self
        }
    }

    /// A connection to a database that has our tables.
    pub async fn lease(&self) -> Result<Lease, StoreError> {
        self.prepared(self.pool.lease().await?).await
    }

    /// The same, without a wait for those who write.
    pub(crate) async fn front_lease(&self) -> Result<Lease, StoreError> {
        let lease = time::timeout(CONNECT, self.front.lease()).await;
        self.prepared(lease.map_err(|_| StoreError::TimedOut)??)
            .await
    }

    async fn prepared(&self, mut lease: Lease) -> Result<Lease, StoreError> {
        self.is_ready
            .get_or_try_init(async || {
                let made =
                    time::timeout(ANSWER, make_tables(lease.begin(), &(self.migrations)())).await;
                made.map_err(|_| StoreError::TimedOut)??;
                lease.settle();
                Ok::<_, StoreError>(())
            })
            .await?;
        Ok(lease)
    }

    /// Connects, and makes the tables if they are not there.
    ///
    /// # Errors
    /// When the database cannot be reached, or the tables cannot be made.
    pub async fn open(&self) -> Result<(), StoreError> {
        self.lease().await.map(drop)
    }

    /// Asks the database for an answer, on the way that look-ups of sessions take.
    ///
    /// # Errors
    /// When it gives none in time.
    pub async fn check(&self) -> Result<(), StoreError> {
        let mut lease = self.front_lease().await?;
        within(lease.begin().ask("")).await?;
        lease.settle();
        Ok(())
    }
}

/// Waits for an answer, but not for ever.
pub async fn within<T>(
    answer: impl Future<Output = Result<T, DriverError>>,
) -> Result<T, StoreError> {
    match time::timeout(ANSWER, answer).await {
        Ok(answer) => answer.map_err(StoreError::from),
        Err(_) => Err(StoreError::TimedOut),
    }
}

/// Makes the tables, or brings them up to date, while other replicas wait for it.
async fn make_tables(client: &mut Client, migrations: &Migrator) -> Result<(), StoreError> {
    client
        .ask(&format!("SELECT pg_catalog.pg_advisory_lock({TURN})"))
        .await?;
    migrate(client, migrations).await?;
    // Without it the turn ends with the connection.
    client
        .ask(&format!("SELECT pg_catalog.pg_advisory_unlock({TURN})"))
        .await?;
    Ok(())
}

async fn migrate(client: &mut Client, migrations: &Migrator) -> Result<(), StoreError> {
    let schema = client
        .ask("SELECT FROM pg_catalog.pg_namespace WHERE nspname = 'ziggurat'")
        .await?;
    // Asked for first: a role that may not make schemas may use one that is there.
    if schema.is_empty() {
        client.ask("CREATE SCHEMA ziggurat").await?;
    }
    let table = &*migrations.table_name;
    if !is_there(client, table).await? {
        // As sqlx makes it, which made it first.
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

async fn is_there(client: &mut Client, table: &str) -> Result<bool, StoreError> {
    let found = query("SELECT pg_catalog.to_regclass($1) IS NOT NULL").bind(table);
    let row = found.fetch_optional(client).await?;
    Ok(row.map_or(Ok(false), |row| row.get(0))?)
}

/// Runs one, and writes down that it has run, in one transaction.
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

fn migrations() -> Migrator {
    let migrations = [
        ("conversations", include_str!("0001_conversations.sql")),
        ("shared", include_str!("0002_shared.sql")),
        ("spent", include_str!("0003_spent.sql")),
    ];
    let migrations = (1..).zip(migrations).map(|(version, (name, sql))| {
        let kind = MigrationType::Simple;
        Migration::new(version, name.into(), kind, sql.into_sql_str(), false)
    });
    let mut migrator = Migrator::with_migrations(migrations.collect());
    migrator.dangerous_set_table_name("ziggurat.migrations");
    migrator
}
