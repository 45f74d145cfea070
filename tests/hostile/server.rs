//! Two ways to send a statement to the database.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tokio::{task::JoinSet, time};
use tower::{Layer as _, ServiceExt as _};
use ziggurat_databases::{Configured, Databases};
use ziggurat_layers::json_rpc::JsonRpcLayer;
use ziggurat_mcp::{Mcp, Prompts, Resources, ServerInfo, Tools, dialect};
use ziggurat_postgres::{
    database::{Database, Settings},
    error::QueryError,
    pool::Pools,
    statement::Statement,
    tsv::Format,
};
use ziggurat_postgres_tools::QueryDatabase;

use crate::victim::Victim;

/// Time limit of a statement, and of the machine for the whole call.
const TIMEOUT: Duration = Duration::from_secs(1);
const TEST_TIMEOUT: Duration = Duration::from_secs(30);

const PASSWORD: &str = "p";

/// A server with a database, and the pools for both routes.
pub(crate) struct TestServer {
    pub(crate) victim: Victim,
    pools: Pools,
    _reaper: JoinSet<()>,
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

/// A role that may create tables: the case for the read-only transaction.
const ROLE: [&str; 4] = [
    "CREATE ROLE reader LOGIN PASSWORD 'p'",
    "GRANT ALL ON SCHEMA public TO reader",
    "GRANT ALL ON ALL TABLES IN SCHEMA public TO reader",
    "GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO reader",
];

impl TestServer {
    pub(crate) async fn start() -> Self {
        let mut victim = Victim::start().await;
        for sql in ROLE {
            victim.do_harm(sql).await;
        }
        let (pools, reaper) = Pools::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(reaper.run());
        Self {
            victim,
            pools,
            _reaper: tasks,
        }
    }

    pub(crate) fn superuser(&self) -> String {
        self.victim.pg.user().to_owned()
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
        let password = if role == self.victim.pg.user() {
            let url = self.victim.pg.url("postgres");
            let (_, rest) = url.split_once("://").expect("a URL");
            let (login, _) = rest.split_once('@').expect("a login");
            login.split_once(':').expect("a password").1.to_owned()
        } else {
            PASSWORD.to_owned()
        };
        let database = Database::try_from(Settings {
            name: format!("victim of {role}"),
            host: self.victim.pg.host().to_owned(),
            port: self.victim.pg.port(),
            database: Victim::DATABASE.to_owned(),
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
