//! The database of the demo, for as long as the demo runs, or longer.

use std::{path::Path, sync::Arc};

use anyhow::Context as _;
use http::Uri;
use sqlx::{Connection as _, PgConnection};
use ziggurat_local_pg::{LocalPg, TestDatabase};
use ziggurat_services::pg::database::{Database, Settings};

use crate::sample;

/// The name of a database that is kept.
const KEPT: &str = "shop";

/// A PostgreSQL with the sample data in it.
pub(crate) struct Shop {
    server: LocalPg,
    /// Where the data are, if they do not go with the demo.
    passing: Option<TestDatabase>,
}

// === impl Shop ===

impl Shop {
    /// Starts PostgreSQL and fills a database, or finds the one that was kept.
    pub(crate) async fn open(keep: Option<&Path>) -> anyhow::Result<Self> {
        let Some(folder) = keep else {
            let server = LocalPg::start().await?;
            let template = server
                .template("demo", sample::CONTENT, sample::fill)
                .await?;
            let passing = Some(template.database().await?);
            return Ok(Self { server, passing });
        };
        let server = LocalPg::private(folder).await?;
        find_or_fill(&server)
            .await
            .with_context(|| format!("filling the database in {}", folder.display()))?;
        Ok(Self {
            server,
            passing: None,
        })
    }

    /// What PostgreSQL says it is.
    pub(crate) fn version(&self) -> &str {
        self.server.version()
    }

    /// The database as the server in front of it sees it: to be read only.
    pub(crate) fn database(&self) -> anyhow::Result<Arc<Database>> {
        let database = self.passing.as_ref().map_or(KEPT, TestDatabase::name);
        // The folder of the socket, where there is one, needs no password.
        let socket = self.server.socket_dir().and_then(Path::to_str);
        let password = match socket {
            Some(_) => String::new(),
            None => password(&self.server.url(database)).unwrap_or_default(),
        };
        let settings = Settings {
            name: "shop".to_owned(),
            host: socket.unwrap_or(self.server.host()).to_owned(),
            port: self.server.port(),
            database: database.to_owned(),
            user: self.server.user().to_owned(),
            password: password.into(),
            ..Settings::default()
        };
        let database = Database::try_from(settings).context("describing the database")?;
        Ok(Arc::new(database))
    }

    /// Drops what is not to be kept, and lets PostgreSQL go.
    pub(crate) async fn close(self) {
        // Dropping waits for PostgreSQL, which must not hold up a worker of the runtime.
        let closed = tokio::task::spawn_blocking(move || drop(self));
        closed.await.unwrap_or_default();
    }
}

async fn find_or_fill(server: &LocalPg) -> sqlx::Result<()> {
    let mut connection = PgConnection::connect(&server.url("postgres")).await?;
    let found: bool =
        sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)")
            .bind(KEPT)
            .fetch_one(&mut connection)
            .await?;
    if !found {
        // Filled under another name, so that one that was interrupted is not taken for whole.
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

/// The password in a connection URL, decoded.
fn password(url: &str) -> Option<String> {
    let url: Uri = url.parse().ok()?;
    let (user, _) = url.authority()?.as_str().rsplit_once('@')?;
    let (_, password) = user.split_once(':')?;
    let mut bytes = Vec::new();
    let mut rest = password;
    while let Some((plain, encoded)) = rest.split_once('%') {
        bytes.extend(plain.bytes());
        let (digits, after) = encoded.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = after;
    }
    bytes.extend(rest.bytes());
    String::from_utf8(bytes).ok()
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
