//! Database for one test, with the settings of an operator.

#![expect(
    clippy::missing_panics_doc,
    reason = "a test ends when its database fails"
)]

use std::{sync::Arc, time::Duration};

use futures_util::TryStreamExt as _;
use sqlx::{AssertSqlSafe, PgConnection};
use tokio::{net::TcpListener, task::JoinSet};
use ziggurat_local_pg::{LocalPg, TestDatabase};

use super::{
    database::{Database, Settings},
    error::QueryError,
    pool::{Pool, Pools},
    rows::Summary,
    statement::{Statement, Window},
    tsv::Format,
};

/// Database, its pools, and the task that closes their idle connections.
#[derive(Debug)]
pub struct Fixture {
    /// The pools that [`pool`](Self::pool) takes from.
    pub pools: Pools,
    /// The description of the database.
    pub settings: Settings,
    /// A connection that is not from a pool, to prepare data and to observe.
    pub outside: PgConnection,
    database: TestDatabase,
    _reaper: JoinSet<()>,
}

/// Server that accepts connections and never answers.
#[derive(Debug)]
pub struct Silence {
    listener: TcpListener,
}

impl Silence {
    /// Binds a free port.
    pub async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        Self { listener }
    }

    /// Replaces the address in the settings with the address of this server.
    pub fn stand_in(&self, settings: &mut Settings) {
        let address = self.listener.local_addr().expect("it is bound");
        settings.host = address.ip().to_string();
        settings.port = address.port();
    }
}

impl Fixture {
    /// Creates an empty database.
    pub async fn new() -> Self {
        let pg = LocalPg::start().await.expect("a PostgreSQL to test with");
        let database = pg.database().await.expect("a database");
        let (pools, reaper) = Pools::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(reaper.run());
        Self {
            pools,
            settings: Settings {
                name: "main".into(),
                host: pg.host().into(),
                port: pg.port(),
                database: database.name().into(),
                user: pg.user().into(),
                password: password(&database.url()).into(),
                query_timeout: Duration::from_secs(20),
                ..Settings::default()
            },
            outside: database.connect().await.expect("a connection"),
            database,
            _reaper: tasks,
        }
    }

    /// Makes a database with some settings changed.
    pub fn describe(&self, change: impl FnOnce(&mut Settings)) -> Arc<Database> {
        let mut settings = self.settings.clone();
        change(&mut settings);
        Arc::new(Database::try_from(settings).expect("a valid description"))
    }

    /// Makes a pool with some settings changed.
    pub fn pool(&self, change: impl FnOnce(&mut Settings)) -> Pool {
        self.pools.pool("caller", &self.describe(change))
    }

    #[must_use]
    /// Makes a pool that refuses writes.
    pub fn readable(&self) -> Pool {
        self.pool(|_| {})
    }

    #[must_use]
    /// Makes a pool that allows writes.
    pub fn writable(&self) -> Pool {
        self.pool(|settings| settings.allow_writes = true)
    }

    /// Connects without a pool.
    pub async fn connect(&self) -> PgConnection {
        self.database.connect().await.expect("a connection")
    }

    /// Runs statements without a pool and without checks.
    pub async fn given(&mut self, sql: &str) {
        sqlx::raw_sql(AssertSqlSafe(sql))
            .execute(&mut self.outside)
            .await
            .expect(sql);
    }

    /// Runs a query for one number without a pool and without checks.
    pub async fn count(&mut self, sql: &str) -> i64 {
        sqlx::query_scalar(AssertSqlSafe(sql))
            .fetch_one(&mut self.outside)
            .await
            .expect(sql)
    }
}

/// Runs a statement, and returns its lines and its summary.
pub async fn ask(pool: &Pool, sql: &str) -> Result<(String, Summary), QueryError> {
    let statement = Statement::new(pool.database(), sql)?;
    answer(pool, statement).await
}

/// Runs a statement, and returns the lines and the summary of one window of its rows.
pub async fn ask_for(
    pool: &Pool,
    sql: &str,
    window: Window,
) -> Result<(String, Summary), QueryError> {
    let statement = Statement::new(pool.database(), sql)?.with_window(window);
    answer(pool, statement).await
}

async fn answer(pool: &Pool, statement: Statement) -> Result<(String, Summary), QueryError> {
    let lease = pool.lease().await?;
    let mut rows = statement.run(lease).await?;
    let mut out = String::new();
    rows.write_header(&mut out, Format::default());
    while let Some(row) = rows.try_next().await? {
        out.push('\n');
        row.write_tsv(&mut out, Format::default())?;
    }
    let summary = rows.summary().expect("it has come to its end").clone();
    Ok((out, summary))
}

/// Reads the password of a URL in which nothing is percent-encoded.
fn password(url: &str) -> String {
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest);
    let user = authority.split('@').next().unwrap_or_default();
    user.split_once(':')
        .map_or("", |(_, password)| password)
        .to_owned()
}
