//! The database of the demo, temporary or kept.

use std::{borrow::Cow, path::Path};

use anyhow::Context as _;
use http::Uri;
use secrecy::SecretString;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use ziggurat_layers::bearer::TokenHash;
use ziggurat_local_pg::{LocalPg, TestDatabase};
use ziggurat_text::percent;

use crate::sample;

/// The name of a database that is kept.
const KEPT_NAME: &str = "shop";

/// A role that may only read the shop.
const READ_ROLE: &str = "shop_reader";

/// Creates the role, unless it exists.
const CREATE_READ_ROLE: &str = "
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'shop_reader') THEN
        CREATE ROLE shop_reader LOGIN;
        ALTER ROLE shop_reader SET default_transaction_read_only = on;
    END IF;
END $$";

const GRANT_READ: &str = "
GRANT USAGE ON SCHEMA public TO shop_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO shop_reader";

const LOCK: &str = "SELECT pg_advisory_lock(7249012)";

/// A PostgreSQL with the sample data in it.
pub(crate) struct Shop {
    server: LocalPg,
    /// The temporary database; `None` if the data are kept.
    temporary: Option<TestDatabase>,
}

/// The connection settings of the servers for the database.
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) database: String,
    pub(crate) user: String,
    pub(crate) password: SecretString,
    pub(crate) ssl_mode: &'static str,
}

// === impl Shop ===

impl Shop {
    /// Starts PostgreSQL and fills a database, or finds the kept one.
    pub(crate) async fn open(keep: Option<&Path>) -> anyhow::Result<Self> {
        let shop = match keep {
            None => Self::temporary().await?,
            Some(folder) => Self::kept(folder).await?,
        };
        if shop.server.socket_dir().is_some() {
            shop.allow_reading()
                .await
                .context("making a role that reads")?;
        }
        Ok(shop)
    }

    async fn temporary() -> anyhow::Result<Self> {
        let server = LocalPg::start().await?;
        let template = server
            .template("demo", sample::CONTENT, sample::fill)
            .await?;
        let temporary = Some(template.database().await?);
        Ok(Self { server, temporary })
    }

    async fn kept(folder: &Path) -> anyhow::Result<Self> {
        let server = LocalPg::private(folder).await?;
        find_or_fill(&server)
            .await
            .with_context(|| format!("filling the database in {}", folder.display()))?;
        Ok(Self {
            server,
            temporary: None,
        })
    }

    async fn allow_reading(&self) -> sqlx::Result<()> {
        // Hexadecimal digits, which need no quoting.
        let password = self.read_role_password();
        let identify = format!("ALTER ROLE {READ_ROLE} PASSWORD '{password}'");
        // Roles belong to the whole server, locks to one database.
        self.run_locked("postgres", &[CREATE_READ_ROLE, &identify])
            .await?;
        self.run_locked(self.name(), &[GRANT_READ]).await
    }

    /// Runs statements under a lock: demos may share a server, roles have no `IF NOT EXISTS`, and
    /// changing a role concurrently can fail.
    async fn run_locked(&self, database: &str, statements: &[&str]) -> sqlx::Result<()> {
        let mut connection = PgConnection::connect(&self.server.url(database)).await?;
        for statement in [&[LOCK], statements].concat() {
            let statement = AssertSqlSafe(statement);
            sqlx::raw_sql(statement).execute(&mut connection).await?;
        }
        // The lock ends with the connection.
        connection.close().await
    }

    /// Derives a password that is the same for all demos on one server, and reveals no other
    /// password.
    fn read_role_password(&self) -> String {
        let ours = password(&self.server.url(self.name())).unwrap_or_default();
        TokenHash::of(&format!("{READ_ROLE} {ours}")).to_string()
    }

    /// The version of PostgreSQL.
    pub(crate) fn version(&self) -> &str {
        self.server.version()
    }

    /// The connection settings for the servers.
    ///
    /// In a PostgreSQL started here, they use the role that only reads. A given PostgreSQL keeps
    /// its roles, so they use the given one.
    pub(crate) fn address(&self) -> Address {
        let database = self.name().to_owned();
        let is_ours = self.server.socket_dir().is_some();
        let (user, password, ssl_mode) = if is_ours {
            (READ_ROLE, self.read_role_password(), "disable")
        } else {
            let password = password(&self.server.url(&database)).unwrap_or_default();
            (self.server.user(), password, "prefer")
        };
        Address {
            host: self.server.host().to_owned(),
            port: self.server.port(),
            database,
            user: user.to_owned(),
            password: password.into(),
            ssl_mode,
        }
    }

    /// The connection settings for loading documents, which creates a table.
    pub(crate) fn writing_address(&self) -> Address {
        let password = password(&self.server.url(self.name())).unwrap_or_default();
        Address {
            user: self.server.user().to_owned(),
            password: password.into(),
            ..self.address()
        }
    }

    /// Drops a temporary database, and releases PostgreSQL.
    pub(crate) async fn close(self) {
        // Dropping waits for PostgreSQL, which must not block a worker of the runtime.
        let closed = tokio::task::spawn_blocking(move || drop(self));
        closed.await.unwrap_or_default();
    }

    fn name(&self) -> &str {
        self.temporary
            .as_ref()
            .map_or(KEPT_NAME, TestDatabase::name)
    }
}

async fn find_or_fill(server: &LocalPg) -> sqlx::Result<()> {
    let mut connection = PgConnection::connect(&server.url("postgres")).await?;
    // Two demos may use the same folder: one over HTTP, one started by a client.
    sqlx::raw_sql("SELECT pg_advisory_lock(7249011)")
        .execute(&mut connection)
        .await?;
    let found: bool =
        sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)")
            .bind(KEPT_NAME)
            .fetch_one(&mut connection)
            .await?;
    if !found {
        // Filled under another name, so that an interrupted one is not taken for complete.
        sqlx::raw_sql("DROP DATABASE IF EXISTS shop_being_filled")
            .execute(&mut connection)
            .await?;
        sqlx::raw_sql("CREATE DATABASE shop_being_filled")
            .execute(&mut connection)
            .await?;
        let mut filling = PgConnection::connect(&server.url("shop_being_filled")).await?;
        sample::fill(&mut filling).await?;
        filling.close().await?;
        sqlx::raw_sql("ALTER DATABASE shop_being_filled RENAME TO shop")
            .execute(&mut connection)
            .await?;
    }
    connection.close().await
}

/// The password of a connection URL, percent-decoded.
fn password(url: &str) -> Option<String> {
    let url: Uri = url.parse().ok()?;
    let (user, _) = url.authority()?.as_str().rsplit_once('@')?;
    let (_, password) = user.split_once(':')?;
    percent::decode(password).map(Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_taken_out_of_its_url_and_decoded() {
        for (url, expected) in [
            ("postgres://a:b@h:1/d", Some("b")),
            ("postgres://a:p%40ss%2Fw%3A@h/d", Some("p@ss/w:")),
            ("postgres://a@h/d", None),
            ("postgres://h/d", None),
            ("postgres://a:%zz@h/d", None),
        ] {
            assert_eq!(password(url).as_deref(), expected, "{url}");
        }
    }
}
