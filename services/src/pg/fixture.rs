//! A database of one's own for a test, described the way an operator would.

use std::{sync::Arc, time::Duration};

use futures_util::TryStreamExt as _;
use sqlx::{AssertSqlSafe, PgConnection};
use tokio::{net::TcpListener, task::JoinSet};
use ziggurat_local_pg::{LocalPg, TestDatabase};

use super::{
    database::{Database, Settings},
    error::QueryError,
    lease::{Pool, Pools},
    rows::Summary,
    statement::{Statement, Window},
};

/// A database, its pools, and what cleans up after them.
pub(crate) struct Fixture {
    pub(crate) pools: Pools,
    pub(crate) settings: Settings,
    /// The first connection past the pools, for setting up and for looking on.
    pub(crate) outside: PgConnection,
    database: TestDatabase,
    _reaper: JoinSet<()>,
}

/// A server that lets everybody connect and says nothing.
pub(crate) struct Silence {
    listener: TcpListener,
}

impl Silence {
    pub(crate) async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        Self { listener }
    }

    /// Has a description lead here.
    pub(crate) fn stand_in(&self, settings: &mut Settings) {
        let address = self.listener.local_addr().expect("it is bound");
        settings.host = address.ip().to_string();
        settings.port = address.port();
    }
}

impl Fixture {
    pub(crate) async fn new() -> Self {
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

    pub(crate) fn describe(&self, change: impl FnOnce(&mut Settings)) -> Arc<Database> {
        let mut settings = self.settings.clone();
        change(&mut settings);
        Arc::new(Database::try_from(settings).expect("a valid description"))
    }

    /// A pool of somebody nobody else is.
    pub(crate) fn pool(&self, change: impl FnOnce(&mut Settings)) -> Pool {
        self.pools.pool("somebody", &self.describe(change))
    }

    pub(crate) fn readable(&self) -> Pool {
        self.pool(|_| {})
    }

    pub(crate) fn writable(&self) -> Pool {
        self.pool(|settings| settings.allow_writes = true)
    }

    pub(crate) async fn connect(&self) -> PgConnection {
        self.database.connect().await.expect("a connection")
    }

    /// Sets something up, past all checks.
    pub(crate) async fn given(&mut self, sql: &str) {
        sqlx::raw_sql(AssertSqlSafe(sql))
            .execute(&mut self.outside)
            .await
            .expect(sql);
    }

    /// Asks something, past all checks.
    pub(crate) async fn count(&mut self, sql: &str) -> i64 {
        sqlx::query_scalar(AssertSqlSafe(sql))
            .fetch_one(&mut self.outside)
            .await
            .expect(sql)
    }
}

/// What a statement answers: its lines, and what is said in the end.
pub(crate) async fn ask(pool: &Pool, sql: &str) -> Result<(String, Summary), QueryError> {
    let statement = Statement::new(pool.database(), sql)?;
    answer(pool, statement).await
}

pub(crate) async fn ask_for(
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
    rows.write_header(&mut out);
    while let Some(row) = rows.try_next().await? {
        out.push('\n');
        row.write_tsv(&mut out)?;
    }
    let summary = rows.summary().expect("it has come to its end").clone();
    Ok((out, summary))
}

/// The password in a URL, which holds nothing that needs decoding.
fn password(url: &str) -> String {
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest);
    let user = authority.split('@').next().unwrap_or_default();
    user.split_once(':')
        .map_or("", |(_, password)| password)
        .to_owned()
}
