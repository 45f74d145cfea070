//! A PostgreSQL for these tests, and two ways to send it a statement.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tempfile::TempDir;
use tokio::{task::JoinSet, time};
use tower::{Layer as _, ServiceExt as _};
use ziggurat_databases::{Configured, Databases};
use ziggurat_layers::json_rpc::JsonRpcLayer;
use ziggurat_local_pg::LocalPg;
use ziggurat_mcp::{Mcp, Prompts, Resources, ServerInfo, Tools, dialect};
use ziggurat_postgres::{
    database::{Database, Settings},
    error::QueryError,
    pool::Pools,
    statement::Statement,
    tsv::Format,
};
use ziggurat_postgres_tools::QueryDatabase;

use crate::snapshot::{self, Snapshot};

/// Time limit of a statement, and of the machine for the whole call.
const TIMEOUT: Duration = Duration::from_secs(1);
const TEST_TIMEOUT: Duration = Duration::from_secs(30);

const PASSWORD: &str = "p";

const SCHEMA: &str = "
    CREATE TABLE account (id int PRIMARY KEY, owner text, balance numeric);
    INSERT INTO account SELECT i, 'owner ' || i, i * 10 FROM generate_series(1, 100) i;
    CREATE SEQUENCE counter;
    CREATE MATERIALIZED VIEW total AS SELECT sum(balance) FROM account;
    SELECT lo_from_bytea(4711, 'a large object');
    -- A role that may create tables: the case for the read-only transaction.
    GRANT ALL ON SCHEMA public TO reader;
    GRANT ALL ON ALL TABLES IN SCHEMA public TO reader;
    GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO reader;
    VACUUM ANALYZE";

/// A server with a database, and the pools for both routes.
pub(crate) struct TestServer {
    pg: LocalPg,
    connection: PgConnection,
    /// Another session, which no statement may end.
    _other_session: PgConnection,
    database: String,
    pools: Pools,
    _reaper: JoinSet<()>,
    folder: TempDir,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Statement,
    Tool,
}

/// The outcome of a statement.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The policy refused it.
    Rejected(String),
    /// PostgreSQL refused or cancelled it.
    Failed(String),
    Answered,
}

impl TestServer {
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        open(folder.path(), 0o755);
        let canary = folder.path().join("canary");
        fs::create_dir(&canary).expect("a folder");
        fs::write(canary.join("bird"), "sings").expect("a file");
        open(&canary, 0o777);

        let home = folder.path().join("pg");
        fs::create_dir(&home).expect("a folder");
        open(&home, 0o755);
        let pg = LocalPg::private(&home).await.expect("a PostgreSQL");
        let mut postgres = connect(&pg, "postgres").await;
        for sql in [
            "ALTER SYSTEM SET autovacuum = off",
            "SELECT pg_reload_conf()",
            "SELECT pg_stat_reset_shared('bgwriter')",
            "CREATE ROLE reader LOGIN PASSWORD 'p'",
            "CREATE ROLE bystander LOGIN SUPERUSER PASSWORD 'p'",
            "CREATE DATABASE victim",
        ] {
            run(&mut postgres, sql).await;
        }
        let mut connection = connect(&pg, "victim").await;
        for sql in SCHEMA.split(";\n") {
            run(&mut connection, sql).await;
        }
        let url = pg.url("victim");
        let (_, address) = url.split_once('@').expect("a password");
        let url = format!("postgres://bystander:{PASSWORD}@{address}");
        let bystander = PgConnection::connect(&url).await.expect("lets it in");

        let (pools, reaper) = Pools::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(reaper.run());
        Self {
            connection,
            _other_session: bystander,
            database: "victim".to_owned(),
            pools,
            _reaper: tasks,
            folder,
            pg,
        }
    }

    pub(crate) fn superuser(&self) -> String {
        self.pg.user().to_owned()
    }

    /// Replaces the placeholders in a statement.
    pub(crate) fn expanded(&self, text: &str) -> String {
        text.replace("{canary}", &self.canary().to_string_lossy())
            .replace("{comments}", &"/**/".repeat(40_000))
            .replace("{nested}", &("/*".repeat(40_000) + &"*/".repeat(40_000)))
            .replace("{signs}", &"+-".repeat(40_000))
    }

    fn canary(&self) -> PathBuf {
        self.folder.path().join("canary")
    }

    pub(crate) async fn snapshot(&mut self) -> Snapshot {
        let canary = self.canary();
        snapshot::take(&mut self.connection, &canary).await
    }

    pub(crate) async fn do_harm(&mut self, sql: &str) {
        let sql = self.expanded(sql);
        run(&mut self.connection, &sql).await;
    }

    pub(crate) async fn send(&self, database: &Arc<Database>, route: Route, text: &str) -> Outcome {
        let sent = async {
            match route {
                Route::Statement => self.state(database, text).await,
                Route::Tool => self.call(database, text).await,
            }
        };
        time::timeout(TEST_TIMEOUT, sent).await.expect(text)
    }

    /// The database as a role sees it, over one connection for each way.
    pub(crate) fn describe(&self, role: &str) -> Arc<Database> {
        let password = if role == self.pg.user() {
            let url = self.pg.url("postgres");
            let (_, rest) = url.split_once("://").expect("a URL");
            let (login, _) = rest.split_once('@').expect("a login");
            login.split_once(':').expect("a password").1.to_owned()
        } else {
            PASSWORD.to_owned()
        };
        let database = Database::try_from(Settings {
            name: format!("victim of {role}"),
            host: self.pg.host().to_owned(),
            port: self.pg.port(),
            database: self.database.clone(),
            user: role.to_owned(),
            password: password.into(),
            query_timeout: TIMEOUT,
            max_connections: 1,
            ..Settings::default()
        });
        Arc::new(database.expect("a valid description"))
    }

    async fn state(&self, database: &Arc<Database>, text: &str) -> Outcome {
        let pool = self.pools.pool("somebody", database);
        let answered = async {
            let statement = Statement::new(pool.database(), text)?;
            let mut rows = statement.run(pool.lease().await?).await?;
            let mut line = String::new();
            while let Some(row) = rows.try_next().await? {
                line.clear();
                row.write_tsv(&mut line, Format::default())?;
            }
            Ok(())
        };
        match answered.await {
            Ok(()) => Outcome::Answered,
            Err(QueryError::Refused(refusal)) => Outcome::Rejected(refusal.to_string()),
            Err(QueryError::Failed { report, .. }) => Outcome::Failed(report.to_string()),
            Err(error) => panic!("{text}: {error:?}"),
        }
    }

    async fn call(&self, database: &Arc<Database>, text: &str) -> Outcome {
        let configured = Configured::new(Arc::clone(database));
        let tool = QueryDatabase::new(Databases::new(self.pools.clone(), [configured]));
        let tools = Tools::new().with(tool);
        let about = ServerInfo::new("test", "0");
        let mcp = Mcp::new(&about, tools, Resources::new(), Prompts::new()).expect("one tool");
        let server = JsonRpcLayer::new().with_dialect(dialect()).layer(mcp);

        let params = json!({"name": "query_database", "arguments": {"query": text}});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let request = Request::post("/").body(Full::<Bytes>::from(call.to_string()));
        let response = server.oneshot(request.expect("constant parts")).await;
        let body = response.expect("infallible").into_body().collect().await;
        let answer: Value = serde_json::from_slice(&body.expect("whole").to_bytes()).expect("JSON");
        let said = answer["result"]["content"][0]["text"].as_str();
        let said = said
            .unwrap_or_else(|| panic!("{text}: {answer}"))
            .to_owned();
        if answer["result"]["isError"] != true {
            Outcome::Answered
        } else if said.starts_with("query rejected: ") {
            Outcome::Rejected(said)
        } else {
            assert!(said.contains("(SQLSTATE "), "{text}: {said}");
            Outcome::Failed(said)
        }
    }
}

fn open(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("our own");
}

async fn connect(pg: &LocalPg, database: &str) -> PgConnection {
    PgConnection::connect(&pg.url(database))
        .await
        .expect("lets us in")
}

async fn run(connection: &mut PgConnection, sql: &str) {
    sqlx::raw_sql(AssertSqlSafe(sql))
        .execute(connection)
        .await
        .expect(sql);
}
