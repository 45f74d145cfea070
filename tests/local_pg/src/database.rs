//! Databases for tests, copied from templates.

use std::{
    fmt,
    time::{SystemTime, UNIX_EPOCH},
};

use sha2::{Digest as _, Sha256};
use sqlx::{ConnectOptions as _, Connection as _, PgConnection, Postgres, QueryBuilder};

use crate::{LocalPg, address::Address, error::Error, hex};

/// Prefix of the names of test databases.
const DATABASE: &str = "ziggurat_db_";

/// Prefix of the names of templates.
const TEMPLATE: &str = "ziggurat_t_";

/// Maximum number of templates that a server keeps between runs.
const MAX_TEMPLATES: i64 = 16;

/// Age at which a test database on a given server counts as left behind.
const MAX_AGE_SECONDS: u64 = 24 * 60 * 60;

/// A filled database that test databases are copied from.
///
/// Made by [`LocalPg::template`]. Holding it keeps the server alive.
#[derive(Clone)]
#[must_use]
pub struct Template {
    pg: LocalPg,
    name: String,
}

/// A database for a single test. It is dropped with this value, even if it has connections.
///
/// Holding it keeps the server alive.
#[must_use = "the database is dropped with it"]
pub struct TestDatabase {
    pg: LocalPg,
    name: String,
}

// === impl Template ===

impl Template {
    /// Finds the template, or builds it under a lock that other processes wait for.
    pub(crate) async fn build<F>(
        pg: &LocalPg,
        name: &str,
        content: &[u8],
        fill: F,
    ) -> Result<Self, Error>
    where
        F: AsyncFnOnce(&mut PgConnection) -> sqlx::Result<()>,
    {
        let (name, lock) = template_name(name, content);
        let failed = Error::sql("building a template");
        build(pg.address(), &name, lock, fill)
            .await
            .map_err(failed)?;
        Ok(Self::named(pg, name))
    }

    /// A template that is known to be complete.
    pub(crate) fn named(pg: &LocalPg, name: impl Into<String>) -> Self {
        Self {
            pg: pg.clone(),
            name: name.into(),
        }
    }

    /// Makes a copy of the template.
    pub async fn database(&self) -> Result<TestDatabase, Error> {
        let failed = || Error::sql("copying a template");
        let name = database_name(now()).map_err(|error| failed()(sqlx::Error::Io(error)))?;
        let strategy = self.pg.copy_strategy();
        let create = format!(
            r#"CREATE DATABASE "{name}" TEMPLATE "{}"{strategy}"#,
            self.name
        );
        let copy = async {
            let mut connection = connect(self.pg.address(), None).await?;
            execute(&mut connection, create).await?;
            connection.close().await
        };
        // Made before the copy is awaited, so that it is dropped even if this future is.
        let database = TestDatabase {
            pg: self.pg.clone(),
            name,
        };
        copy.await.map_err(failed())?;
        Ok(database)
    }

    /// The name of the template database, which accepts no connections.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Template").field(&self.name).finish()
    }
}

// === impl TestDatabase ===

impl TestDatabase {
    /// The URL of the database. It holds a password and does not belong in a log.
    #[must_use]
    pub fn url(&self) -> String {
        self.pg.url(&self.name)
    }

    /// The name of the database.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Connects to the database.
    pub async fn connect(&self) -> Result<PgConnection, Error> {
        connect(self.pg.address(), Some(&self.name))
            .await
            .map_err(Error::sql("connecting to a test database"))
    }
}

impl fmt::Debug for TestDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TestDatabase").field(&self.name).finish()
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        self.pg
            .drop_queue()
            .drop_later(std::mem::take(&mut self.name));
    }
}

/// Connects to a database, or to the maintenance database.
pub(crate) async fn connect(
    address: &Address,
    database: Option<&str>,
) -> sqlx::Result<PgConnection> {
    address.options(database)?.connect().await
}

/// Drops a database and its connections.
pub(crate) async fn drop_database(connection: &mut PgConnection, name: &str) -> sqlx::Result<()> {
    execute(
        connection,
        format!(r#"DROP DATABASE IF EXISTS "{name}" WITH (FORCE)"#),
    )
    .await
}

/// Drops databases that other processes left on a server that has just been started.
pub(crate) async fn sweep_own(address: &Address) -> sqlx::Result<()> {
    let mut connection = connect(address, None).await?;
    for name in databases_of_tests(&mut connection).await? {
        drop_database(&mut connection, &name).await?;
    }
    let templates: Vec<String> = sqlx::query_scalar(
        "SELECT datname FROM pg_database WHERE starts_with(datname, $1) ORDER BY oid DESC OFFSET $2",
    )
    .bind(TEMPLATE)
    .bind(MAX_TEMPLATES)
    .fetch_all(&mut connection)
    .await?;
    for name in templates {
        execute(
            &mut connection,
            format!(r#"ALTER DATABASE "{name}" IS_TEMPLATE false"#),
        )
        .await?;
        drop_database(&mut connection, &name).await?;
    }
    connection.close().await
}

/// Drops old test databases on a given server.
///
/// Other processes may use the server, on this machine or another, so young databases and templates
/// stay.
pub(crate) async fn sweep_given(connection: &mut PgConnection) -> sqlx::Result<()> {
    let now = now();
    for name in databases_of_tests(connection).await? {
        if made_at(&name).is_some_and(|then| then + MAX_AGE_SECONDS < now) {
            drop_database(connection, &name).await?;
        }
    }
    Ok(())
}

/// The databases that have our prefix and belong to our role.
async fn databases_of_tests(connection: &mut PgConnection) -> sqlx::Result<Vec<String>> {
    let mut names: Vec<String> = sqlx::query_scalar(
        "SELECT datname FROM pg_database
         WHERE starts_with(datname, $1) AND pg_get_userbyid(datdba) = current_user",
    )
    .bind(DATABASE)
    .fetch_all(connection)
    .await?;
    names.retain(|name| made_at(name).is_some());
    Ok(names)
}

async fn build<F>(address: &Address, name: &str, lock: i64, fill: F) -> sqlx::Result<()>
where
    F: AsyncFnOnce(&mut PgConnection) -> sqlx::Result<()>,
{
    let mut connection = connect(address, None).await?;
    if !is_complete(&mut connection, name).await? {
        // The lock ends with the connection, even if the process is killed.
        sqlx::query("SELECT pg_advisory_lock($1)")
            .bind(lock)
            .execute(&mut connection)
            .await?;
        if !is_complete(&mut connection, name).await? {
            drop_database(&mut connection, name).await?;
            execute(&mut connection, format!(r#"CREATE DATABASE "{name}""#)).await?;
            let mut inside = connect(address, Some(name)).await?;
            execute(&mut inside, "CREATE EXTENSION IF NOT EXISTS vector").await?;
            fill(&mut inside).await?;
            inside.close().await?;
            // Marks the template as complete and refuses connections, since a database with
            // connections cannot be copied.
            let mark_complete =
                format!(r#"ALTER DATABASE "{name}" ALLOW_CONNECTIONS false IS_TEMPLATE true"#);
            execute(&mut connection, mark_complete).await?;
        }
    }
    connection.close().await
}

/// Returns whether the template is complete.
async fn is_complete(connection: &mut PgConnection, name: &str) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        "SELECT EXISTS (
             SELECT FROM pg_database WHERE datname = $1 AND datistemplate AND NOT datallowconn)",
    )
    .bind(name)
    .fetch_one(connection)
    .await
}

/// Runs a statement without parameters. Names in it are ours: letters, digits and `_`.
async fn execute(connection: &mut PgConnection, statement: impl Into<String>) -> sqlx::Result<()> {
    QueryBuilder::<Postgres>::new(statement)
        .build()
        .persistent(false)
        .execute(connection)
        .await
        .map(drop)
}

/// The name of the database for this content, and the lock for building it.
fn template_name(name: &str, content: &[u8]) -> (String, i64) {
    let digest = Sha256::new()
        .chain_update(u64::try_from(name.len()).unwrap_or(u64::MAX).to_be_bytes())
        .chain_update(name)
        .chain_update(content)
        .finalize();
    let mut key = [0; 8];
    key.copy_from_slice(&digest[..8]);
    let readable: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '_'
            }
        })
        .take(24)
        .collect();
    let key = i64::from_be_bytes(key);
    (format!("{TEMPLATE}{readable}_{key:016x}"), key)
}

/// Makes a unique name, across machines, that contains the time.
fn database_name(now: u64) -> std::io::Result<String> {
    Ok(format!("{DATABASE}{now:x}_{}", hex::random(8)?))
}

/// Returns the time in a name that was made here.
fn made_at(name: &str) -> Option<u64> {
    let (made, random) = name.strip_prefix(DATABASE)?.split_once('_')?;
    let is_hex = |text: &str| {
        text.bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    };
    if !is_hex(made) || !is_hex(random) || random.len() != 16 {
        return None;
    }
    u64::from_str_radix(made, 16).ok()
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_template_is_named_after_its_content() {
        let (name, _) = template_name("Orders, 2024", b"v1");
        assert!(name.starts_with("ziggurat_t_orders__2024_"), "{name}");
        assert_eq!(template_name("Orders, 2024", b"v1").0, name);
        assert_ne!(template_name("Orders, 2024", b"v2").0, name);
        assert_ne!(template_name("Orders. 2024", b"v1").0, name);
        assert_ne!(template_name("ab", b"c").0, template_name("a", b"bc").0);

        let (long, _) = template_name(&"ü".repeat(200), b"");
        assert!(
            long.len() <= 63,
            "PostgreSQL cuts names at 63 bytes: {long}"
        );
    }

    #[test]
    fn only_names_made_here_are_recognised() {
        let cases = [
            ("ziggurat_db_65a0_0123456789abcdef", Some(0x65a0)),
            ("ziggurat_db_0123456789abcdef", None),
            ("ziggurat_db_65a0_0123456789abcde", None),
            ("ziggurat_db_65a0_0123456789ABCDEF", None),
            ("ziggurat_db_+5a0_0123456789abcdef", None),
            ("ziggurat_db__0123456789abcdef", None),
            ("ziggurat_db_65a0_0123456789abcdef_", None),
            ("ziggurat_db_mine", None),
            ("my_ziggurat_db_65a0_0123456789abcdef", None),
            ("postgres", None),
        ];
        for (name, expected) in cases {
            assert_eq!(made_at(name), expected, "{name}");
        }
    }

    proptest! {
        #[test]
        fn every_name_contains_its_time(now: u64) {
            let name = database_name(now).expect("randomness");
            prop_assert_eq!(made_at(&name), Some(now));
            prop_assert!(name.len() <= 63);
        }
    }
}
