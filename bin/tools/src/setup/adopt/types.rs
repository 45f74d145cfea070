//! Types of parameters, which PostgreSQL says: it takes statements apart and does not run them.

use std::{collections::HashMap, sync::Arc, time::Duration};

use anyhow::Context as _;
use tokio::{runtime, task::JoinSet, time};
use ziggurat_adopt::{Adoption, Answer, Database as Source};
use ziggurat_postgres::{
    database::{Database, Host, Settings},
    error::QueryError,
    pool::{Pool, Pools},
    single_round_trip::parameter_types,
};
use ziggurat_runtime::{Environment, console::print_warnings};

/// Time for connections to PostgreSQL to close cleanly.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Time limit of a statement, which is not run.
const QUERY_TIMEOUT: Duration = Duration::from_secs(10);

/// Pools by the names of their databases; without one, the database cannot be reached.
struct Sources<'a> {
    pools: Pools,
    environment: &'a Environment,
    known: HashMap<String, Option<Pool>>,
}

/// Asks for the types of all parameters.
pub(super) fn ask(adoption: Adoption, environment: &Environment) -> anyhow::Result<Adoption> {
    let questions = adoption.questions();
    if questions.is_empty() {
        return Ok(adoption);
    }
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    let answers = runtime.context("cannot start")?.block_on(async {
        let (pools, reaper) = Pools::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(reaper.run());
        let mut sources = Sources {
            pools: pools.clone(),
            environment,
            known: HashMap::new(),
        };
        let mut answers = Vec::new();
        for question in &questions {
            answers.push(sources.ask(question.database, &question.statement).await);
        }
        drop(sources);
        pools.close_all();
        drop(pools);
        time::timeout(CLOSE_TIMEOUT, tasks.join_next()).await.ok();
        answers
    });
    drop(questions);
    Ok(adoption.with_answers(answers))
}

// === impl Sources ===

impl Sources<'_> {
    async fn ask(&mut self, source: &Source, statement: &str) -> Answer {
        let Some(pool) = self.pool(source) else {
            return Answer::Unknown;
        };
        match parameter_types(&pool, statement).await {
            Ok(types) => Answer::Types(types),
            Err(QueryError::Failed { report, .. }) if !report.sqlstate.starts_with("57") => {
                Answer::Refused(report.to_string())
            }
            Err(error) => {
                let cause = match error {
                    QueryError::Lease(error) => error.cause(),
                    error => error.to_string(),
                };
                self.give_up(source.name(), &cause);
                Answer::Unknown
            }
        }
    }

    fn pool(&mut self, source: &Source) -> Option<Pool> {
        if let Some(known) = self.known.get(source.name()) {
            return known.clone();
        }
        let pool = source
            .is_direct()
            .then(|| settings(source, self.environment));
        let pool = pool.map(|settings| {
            let database = Database::try_from(settings?)?;
            Ok::<_, anyhow::Error>(self.pools.pool("adopt", &Arc::new(database)))
        });
        match pool.transpose() {
            Ok(pool) => {
                self.known.insert(source.name().to_owned(), pool.clone());
                pool
            }
            Err(error) => {
                self.give_up(source.name(), &format!("{error:#}"));
                None
            }
        }
    }

    /// Asks a database no more.
    fn give_up(&mut self, name: &str, cause: &str) {
        print_warnings(&[format!("database '{name}' is not asked for types: {cause}")]);
        self.known.insert(name.to_owned(), None);
    }
}

/// Returns the settings of a connection that only asks.
fn settings(source: &Source, environment: &Environment) -> anyhow::Result<Settings> {
    let default = Settings::default();
    let owned = |key: &str| source.text(key).map(str::to_owned);
    let port = source.text("port").map(str::parse).transpose();
    let port = port.context("port")?.unwrap_or(default.port);
    let ssl_mode = source.text("sslmode").map(str::parse).transpose();
    let host = owned("host").unwrap_or(default.host);
    let hosts = match source.text("hostaddr").map(str::parse).transpose() {
        Ok(None) => Vec::new(),
        address => {
            let mut host = Host::new(&host, port);
            host.address = address.context("hostaddr")?;
            vec![host]
        }
    };
    let password = source.password().find(|name| environment.get(name));
    Ok(Settings {
        name: source.name().to_owned(),
        host,
        hosts,
        port,
        options: owned("options"),
        database: owned("database").unwrap_or(default.database),
        user: owned("user").context("user is not known")?,
        password: password.to_owned().into(),
        ssl_mode: ssl_mode.ok().flatten().unwrap_or(default.ssl_mode),
        ssl_root_cert: owned("sslrootcert").map(Into::into),
        ssl_cert: owned("sslcert").map(Into::into),
        ssl_key: owned("sslkey").map(Into::into),
        query_timeout: QUERY_TIMEOUT,
        shows_causes: true,
        ..default
    })
}
