//! Questions of `ziggurat-tools -prove`, which starts this process: each line of standard input is a
//! question with its caller, and gets a line with the answer.
//!
//! Only the pipelines that read one database are asked. They search for their callers
//! as the server does, and share what they find; answers quote it and need no model.

use std::{
    io::{self, BufRead as _},
    path::Path,
    process::ExitCode,
    sync::Arc,
};

use anyhow::{Context as _, bail};
use axum::{
    Router,
    body::{Body, to_bytes},
};
use http::{HeaderValue, Request, header::CONTENT_TYPE};
use serde::Deserialize;
use serde_json::{Value, json};
use tower::ServiceExt as _;
use ziggurat_layers::bearer::TokenHash;
use ziggurat_llm::ModelSource;
use ziggurat_postgres::{
    database::{Database, Host, Settings},
    pool::Pools,
};
use ziggurat_rag_service::{self as rag, Options, Pipelines};
use ziggurat_runtime::console;
use ziggurat_telemetry::Metrics;
use ziggurat_tokens::{Claims, Holder, Identity};

use crate::{
    app::{PipelineBuilder, Reusable},
    commands::{self, ended},
    configuration::{ConfigSources, Configuration, Model, Pipeline},
    secrets::Secrets,
};

/// First word of the command line.
pub(crate) const PROVE: &str = "prove-questions";

/// The first line: the database that is proved, and its copy, if rows were planted there.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Task {
    database: Address,
    copy: Option<Address>,
}

/// The place of a database.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Address {
    hosts: Vec<(String, u16)>,
    name: String,
}

/// Each further line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    /// None of the local caller.
    caller: Option<Asker>,
    pipeline: String,
    query: String,
}

/// The caller of a question.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asker {
    kind: String,
    name: String,
    scopes: Vec<String>,
    claims: Value,
}

/// Answers until standard input ends, and returns the exit code.
pub(crate) fn run(config: Option<&Path>) -> ExitCode {
    ended(answer_all(config))
}

fn answer_all(config: Option<&Path>) -> anyhow::Result<()> {
    let sources = ConfigSources::of_process();
    let mut configuration = commands::load(config, &sources)?;
    let mut lines = io::stdin().lock().lines();
    let first = lines.next().context("standard input is empty")??;
    let task: Task = serde_json::from_str(&first).context("the first line")?;
    task.narrow(&mut configuration)?;
    let known: Vec<_> = configuration.pipelines.iter().map(described).collect();
    commands::with_pools(async |pools| {
        let routes = routes(&configuration, sources, pools)?;
        write(&json!({"version": env!("CARGO_PKG_VERSION"), "pipelines": known}))?;
        // Nothing else runs here, so a read may block.
        for line in lines {
            let question: Question = serde_json::from_str(&line?).context("a question")?;
            let has_callers = configuration.server.auth.is_some();
            write(&answer(&routes, question, has_callers).await?.into())?;
        }
        Ok(())
    })
}

/// Serves the pipelines, without a socket.
fn routes(
    configuration: &Configuration,
    sources: ConfigSources,
    pools: &Pools,
) -> anyhow::Result<Router> {
    let builder = PipelineBuilder::new(pools.clone(), sources, Secrets::default(), Metrics::off());
    let mut set = builder.make(configuration, &Reusable::default())?;
    let mut pipelines = Pipelines::new(set.take_pipelines());
    if configuration.server.auth.is_some() {
        pipelines = pipelines.with_authentication();
    }
    Ok(rag::service(pipelines, Options::default()))
}

/// Returns the body of the answer.
async fn answer(routes: &Router, question: Question, has_callers: bool) -> anyhow::Result<String> {
    let body = json!({"query": question.query, "include_sources": true});
    let mut request = Request::post(format!("/v1/pipelines/{}", question.pipeline))
        .body(Body::from(body.to_string()))?;
    let json = HeaderValue::from_static("application/json");
    request.headers_mut().insert(CONTENT_TYPE, json);
    if let Some(asker) = question.caller.filter(|_| has_callers) {
        request.extensions_mut().insert(asker.identity()?);
    }
    let Ok(response) = routes.clone().oneshot(request).await;
    let body = to_bytes(response.into_body(), usize::MAX).await?;
    Ok(String::from_utf8_lossy(&body).into_owned())
}

/// Writes a line of JSON.
fn write(value: &Value) -> anyhow::Result<()> {
    console::print(&format!("{value}\n")).context("standard output is closed")
}

/// Returns the name of a pipeline, and its tables with the columns of their texts.
fn described(pipeline: &Pipeline) -> Value {
    let tables = pipeline.tables.iter().map(|it| (&it.name, &it.text));
    json!({"name": pipeline.name, "tables": tables.collect::<Vec<_>>()})
}

// === impl Task ===

impl Task {
    /// Keeps the pipelines that read the database, and leads them to the copy. Nothing but the
    /// search depends on rows of others, so the parts that ask a model for an answer are left out.
    fn narrow(&self, configuration: &mut Configuration) -> anyhow::Result<()> {
        let pipelines = &mut configuration.pipelines;
        pipelines.retain(|it| self.database.is_of(it.database.settings()));
        if pipelines.is_empty() {
            bail!("no pipeline reads the database {}", self.database);
        }
        for pipeline in pipelines {
            if let Some(copy) = &self.copy {
                let settings = copy.settings(pipeline.database.settings());
                pipeline.database = Arc::new(Database::try_from(settings)?);
            }
            pipeline.completion = Model {
                maker: ModelSource::Local,
                ..pipeline.completion.clone()
            };
            pipeline.rewriter = None;
            pipeline.rerank = None;
            pipeline.min_score = None;
            pipeline.sync = None;
            pipeline.allow_include_sources = true;
        }
        Ok(())
    }
}

// === impl Address ===

impl Address {
    /// Returns whether settings lead there.
    fn is_of(&self, settings: &Settings) -> bool {
        let hosts = settings.all_hosts();
        let mut hosts = hosts.iter().map(|it| (plain(&it.name), it.port));
        let is_own = |host| self.hosts.iter().any(|it| (plain(&it.0), it.1) == host);
        settings.database == self.name && hosts.any(is_own)
    }

    /// Returns settings that lead there, for the same role.
    fn settings(&self, base: &Settings) -> Settings {
        let hosts = self.hosts.iter();
        Settings {
            hosts: hosts.map(|(name, port)| Host::new(name, *port)).collect(),
            connect_command: None,
            database: self.name.clone(),
            ..base.clone()
        }
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)?;
        let mut hosts = self.hosts.iter();
        hosts.try_for_each(|(name, port)| write!(f, ", {name}:{port}"))
    }
}

/// Returns one name for all names of this machine.
fn plain(host: &str) -> &str {
    match host {
        "127.0.0.1" | "::1" => "localhost",
        other => other,
    }
}

// === impl Asker ===

impl Asker {
    fn identity(self) -> anyhow::Result<Identity> {
        let digest = TokenHash::of(&format!("{}:{}", self.kind, self.name));
        let name = Arc::from(self.name);
        let holder = match &*self.kind {
            "token" => Holder::Program {
                id: name,
                database: None,
            },
            "user" => Holder::User {
                name,
                databases: Arc::default(),
            },
            "client" => Holder::Client {
                subject: Arc::clone(&name),
                client: Some(name),
                tenant: None,
                scopes: self.scopes.into(),
                databases: Arc::default(),
            },
            other => bail!("unknown kind of caller: {other}"),
        };
        let claims = Claims::of_file(self.claims)?;
        Ok(Identity::new(digest, holder).with_claims(claims))
    }
}
