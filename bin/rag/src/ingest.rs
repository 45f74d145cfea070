//! The command `ingest`: loads documents into the table of a pipeline.

mod progress;

use std::{
    env,
    io::{self, BufReader, IsTerminal as _},
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use ziggurat_ingest::{Ingest, IngestError, Input, Outcome, PackedReader};
use ziggurat_llm::Embedder;
use ziggurat_postgres::pool::{Pool, Pools};
use ziggurat_runtime::{console::print_error, signals};
use ziggurat_telemetry::Metrics;

use self::progress::Progress;
use crate::{
    clients::{BuildContext, HttpClients, document_embedder},
    commands::{self, ended},
    configuration::{self, ConfigSources, Configuration, Pipeline},
    print,
    secrets::Secrets,
};

/// The command that reads a document in a child process; it is not for users.
pub(crate) const READ_DOCUMENT: &str = "read-document";

/// Interval between two looks at the clock for the progress.
const TICK: Duration = Duration::from_secs(1);

/// The options of the command `ingest`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct IngestOptions {
    pub(crate) pipeline: Option<String>,
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) dry_run: bool,
    pub(crate) keep_missing: bool,
    pub(crate) remove: bool,
    pub(crate) source: Option<String>,
    pub(crate) concurrency: Option<usize>,
}

/// Runs the command, and returns its exit code: 0 if all documents were read.
pub(crate) fn run(config: Option<&Path>, options: &IngestOptions) -> ExitCode {
    let outcome = load(config, options);
    let error = outcome.as_ref().err();
    if let Some(IngestError::NoTable { statements, .. }) = error.and_then(|it| it.downcast_ref()) {
        print(&(statements.join(";\n") + ";\n"));
    }
    match outcome {
        Ok(outcome) if outcome.skipped > 0 => {
            print_error(&format!(
                "{} could not be read; the others are in the table\n",
                outcome.skipped
            ));
            ExitCode::FAILURE
        }
        outcome => ended(outcome.map(drop)),
    }
}

fn load(config: Option<&Path>, options: &IngestOptions) -> anyhow::Result<Outcome> {
    let sources = ConfigSources::of_process();
    let configuration = commands::load(config, &sources)?;
    commands::with_pools(async |pools| {
        load_into(pools, &configuration, &sources, options, |text| {
            print(text);
        })
        .await
    })
}

/// Loads documents with the settings of a configuration, and says the result.
pub(crate) async fn load_into(
    pools: &Pools,
    configuration: &Configuration,
    sources: &ConfigSources,
    options: &IngestOptions,
    say: impl FnOnce(&str),
) -> anyhow::Result<Outcome> {
    let pipeline = pipeline(configuration, options.pipeline.as_deref())?;
    let ingest = pipeline.ingest.as_ref().with_context(|| {
        format!(
            "pipeline {} has no section ingest: it needs the role that writes, as \
             pipelines[].ingest.database",
            pipeline.name
        )
    })?;
    let table = &ingest.settings.table.table;
    if pipeline.sync.as_ref().is_some_and(|sync| sync.has(table)) {
        bail!("table {table} has sync: true: its vectors are made of its texts, not of documents");
    }
    let input = input(options)?;
    let context = BuildContext {
        http_clients: &HttpClients::default(),
        sources,
        secrets: &Secrets::default(),
        metrics: &Metrics::off(),
        idle: configuration.server.stream_idle_timeout,
    };
    let embedder = document_embedder(pipeline, context)?;
    if embedder.is_local() {
        print_error(
            "provider local makes vectors of words, not of meanings: use it for trials only\n",
        );
    }
    let pool = pools.pool("ingest", &ingest.database);
    until_stopped(ingest, (&embedder, &pool), input, options, say).await
}

/// Returns the pipeline with a name, or the only one.
pub(crate) fn pipeline<'c>(
    configuration: &'c Configuration,
    name: Option<&str>,
) -> anyhow::Result<&'c Pipeline> {
    let pipelines = &*configuration.pipelines;
    let names = || {
        let names: Vec<_> = pipelines.iter().map(|pipeline| &*pipeline.name).collect();
        names.join(", ")
    };
    match (name, pipelines) {
        (Some(name), _) => {
            let found = pipelines.iter().find(|pipeline| pipeline.name == name);
            found.with_context(|| format!("there is no pipeline {name}, only {}", names()))
        }
        (None, [only]) => Ok(only),
        (None, _) => bail!("name a pipeline with -pipeline: one of {}", names()),
    }
}

fn input(options: &IngestOptions) -> anyhow::Result<Input> {
    if options.source.as_deref() == Some("") {
        bail!("-source needs a name");
    }
    if options.source.is_some() && options.paths.len() > 1 {
        bail!("-source is for one folder or file: load the others by themselves");
    }
    let is_standard_input = |path: &Path| path == Path::new("-");
    let input = match &*options.paths {
        [] => bail!("name a folder or a file, or - for JSON lines on standard input"),
        [path] if is_standard_input(path) => Input::lines(BufReader::new(io::stdin())),
        paths if paths.iter().any(|path| is_standard_input(path)) => {
            bail!("standard input cannot be read together with other paths")
        }
        paths => Input::paths(paths)?,
    };
    Ok(match &options.source {
        Some(source) => input.with_source(source),
        None => input,
    })
}

/// Loads until it is done or a signal interrupts it.
async fn until_stopped(
    ingest: &configuration::Ingest,
    (embedder, pool): (&Embedder, &Pool),
    input: Input,
    options: &IngestOptions,
    say: impl FnOnce(&str),
) -> anyhow::Result<Outcome> {
    let mut settings = ingest.settings.clone();
    settings.dry_run = options.dry_run;
    settings.keep_missing = options.keep_missing;
    settings.remove = options.remove;
    settings.packed = Some(PackedReader {
        program: env::current_exe().context("the path of this program is not known")?,
        arguments: vec![READ_DOCUMENT.into()],
        limits: ingest.reader,
    });
    // The pool has a connection for each group.
    let connections = ingest.database.settings().max_connections;
    let connections = usize::try_from(connections).unwrap_or(usize::MAX);
    settings.concurrency = options
        .concurrency
        .unwrap_or(settings.concurrency)
        .min(connections);
    let stop = signals::stop()?;
    let progress = Progress::new(io::stderr().is_terminal(), Instant::now());
    let progress = std::cell::RefCell::new(progress);
    let ingest = Ingest::new(embedder, pool, settings);
    let running = ingest.run(input, |event| {
        let text = progress.borrow_mut().event(&event, Instant::now());
        print_error(&text);
    });
    let ticking = async {
        loop {
            tokio::time::sleep(TICK).await;
            let text = progress.borrow_mut().tick(Instant::now());
            print_error(&text);
        }
    };
    let outcome = tokio::select! {
        outcome = running => Some(outcome),
        () = stop => None,
        () = ticking => None,
    };
    let progress = progress.into_inner();
    print_error(progress.end());
    let outcome = outcome.context(
        "interrupted: documents written so far are kept; run the same command again to continue",
    )??;
    say(&progress.summary(&outcome, options.dry_run, Instant::now()));
    Ok(outcome)
}
