//! The command `-doctor`: every check that can be made, and what to do about each finding.

use std::{path::Path, process::ExitCode, sync::Arc};

use anyhow::{Context as _, anyhow};
use tokio::task::JoinSet;
use ziggurat_doctor::{
    Finding, Options, Report, configuration, database, files, health,
    listening::{self, Callers, Listener},
    tokens,
};
use ziggurat_llm::Deadline;
use ziggurat_postgres::{database::Database, pool::Pools};
use ziggurat_runtime::{Address, causes, config::Source};
use ziggurat_telemetry::Metrics;
use ziggurat_tokens::issuer::{Issuer, TrustedIssuer};

use crate::{
    app::PipelineBuilder,
    clients::Clients,
    commands,
    configuration::{ConfigSources, Configuration, LoadError, Loaded, Pipeline, Server},
    find,
    secrets::Secrets,
};

/// Path at which the server says that it runs.
const PROBE: &str = "/v1/live";

/// Runs all checks and prints what they found.
pub(crate) fn run(config: Option<&Path>, options: &Options) -> ExitCode {
    let mut report = Report::default();
    let sources = ConfigSources::of_process();
    match find(config, &sources).map(|path| Configuration::load(&path, &sources)) {
        Err(error) => report.extend([configuration::unreadable(&format!("{error:#}"))]),
        Ok(Err(LoadError::Invalid(problems))) => {
            report.extend(
                problems
                    .iter()
                    .map(|problem| configuration::invalid(problem)),
            );
        }
        Ok(Err(error)) => report.extend([configuration::unreadable(&causes(&error))]),
        Ok(Ok(loaded)) => report.extend(examine(&loaded, sources, options)),
    }
    report.print(options)
}

/// Asks the server that runs with this configuration, and says why it is not well.
pub(crate) fn ask_health(config: Option<&Path>, is_ready: bool) -> anyhow::Result<()> {
    let sources = ConfigSources::of_process();
    let loaded = Configuration::load(&find(config, &sources)?, &sources)?;
    let server = &loaded.value.server;
    let path = if is_ready { "/ready" } else { PROBE };
    let address = address(server)?;
    commands::in_runtime(async {
        health::ask(&address, server.tls.is_some(), path).await?;
        Ok(())
    })
}

fn address(server: &Server) -> anyhow::Result<Address> {
    let (host, port) = (&server.listen_address, server.port);
    let text = if host.contains(':') && !host.starts_with('[') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    };
    text.parse()
        .with_context(|| format!("server.listen_address: {text}"))
}

fn examine(loaded: &Loaded, sources: ConfigSources, options: &Options) -> Vec<Finding> {
    let configured = &loaded.value;
    let mut findings = configuration::of(loaded);
    let auth = configured.server.auth.as_ref();
    let token_file = auth.and_then(|auth| auth.token_file.clone());
    let key = configured.server.tls.as_ref().map(|tls| tls.key.clone());
    let mut secrets: Vec<_> = token_file.iter().cloned().chain(key).collect();
    for (at, pipeline) in configured.pipelines.iter().enumerate() {
        secrets.extend(pipeline.key_files.all().map(Path::to_owned));
        let password = format!("pipelines[{at}].database.password");
        if loaded.sources.of(&password) == Source::File {
            secrets.push(loaded.path.clone());
        }
    }
    secrets.sort_unstable();
    secrets.dedup();
    findings.extend(files::modes(&secrets));
    let connected = commands::in_runtime(async { Ok(connect(configured, sources, options).await) });
    match connected {
        Ok(more) => findings.extend(more),
        Err(error) => findings.push(configuration::unreadable(&format!("{error:#}"))),
    }
    findings
}

/// Makes the checks that use the network.
async fn connect(
    configured: &Configuration,
    sources: ConfigSources,
    options: &Options,
) -> Vec<Finding> {
    let mut findings = serving(&configured.server, options).await;
    let (pools, reaper) = Pools::new();
    let mut tasks = JoinSet::new();
    tasks.spawn(reaper.run());
    let needs = database::Needs {
        vectors: true,
        statistics: false,
    };
    // Pipelines often share a database.
    let mut seen: Vec<&Arc<Database>> = Vec::new();
    for pipeline in &configured.pipelines {
        if seen.iter().any(|other| other.is_same(&pipeline.database)) {
            continue;
        }
        seen.push(&pipeline.database);
        let found = database::check(&pools, &pipeline.database, needs, options.timeout).await;
        findings.extend(found.into_iter().map(|it| it.of(&pipeline.name)));
    }
    let builder = PipelineBuilder::new(pools.clone(), sources, Secrets::default(), Metrics::off());
    for pipeline in &configured.pipelines {
        let clients = builder.clients(pipeline, configured, None);
        findings.push(models(pipeline, clients, options).await);
    }
    pools.close_all();
    drop((builder, pools));
    tasks.shutdown().await;
    findings
}

/// Checks the address, and the tokens of callers.
async fn serving(server: &Server, options: &Options) -> Vec<Finding> {
    let address = match address(server) {
        Ok(address) => address,
        Err(error) => return vec![configuration::unreadable(&format!("{error:#}"))],
    };
    let trusted = server.auth.as_ref().and_then(|auth| auth.issuer.as_ref());
    let listener = Listener {
        server: "ziggurat-rag",
        probe: PROBE,
        sign: "\"status\":\"ok\"",
        address: &address,
        tls: server.tls.as_ref(),
        public_url: trusted.map(|trusted| trusted.public_url().to_owned()),
        callers: match (&server.auth, server.allow_public) {
            (Some(_), _) => Callers::Known,
            (None, true) => Callers::AllByOrder,
            (None, false) => Callers::All,
        },
    };
    let mut findings = listening::check(&listener).await;
    if let Some(path) = server
        .auth
        .as_ref()
        .and_then(|auth| auth.token_file.as_ref())
    {
        findings.extend(tokens::file("ziggurat-rag", path, false));
    }
    if let Some(trusted) = trusted {
        let failure = try_issuer(trusted).await.err();
        let failure = failure.map(|error| format!("{error:#}"));
        findings.push(tokens::issuer(trusted, failure, options.timeout).await);
    }
    findings
}

async fn try_issuer(trusted: &TrustedIssuer) -> anyhow::Result<()> {
    let issuer = Issuer::new(trusted.settings()?, |_| {})?;
    Ok(issuer.check().await?)
}

/// Checks the providers of a pipeline.
async fn models(
    pipeline: &Pipeline,
    clients: anyhow::Result<Clients>,
    options: &Options,
) -> Finding {
    let name = &pipeline.name;
    let tried = async {
        let (clients, deadline) = (clients?, Deadline::after(options.timeout));
        let embedded = clients.embedder().ping(deadline).await;
        embedded.map_err(|error| anyhow!("embedding_llm: {}", causes(&error)))?;
        let completed = clients.completer().ping(deadline).await;
        completed.map_err(|error| anyhow!("rag_llm: {}", causes(&error)))
    };
    match tried.await {
        Ok(()) => Finding::ok("providers", format!("pipeline '{name}': its models answer")),
        Err(error) => Finding::fail(
            "providers",
            format!("pipeline '{name}': {error:#}"),
            "correct the provider, its address, the model or the key",
        ),
    }
}
