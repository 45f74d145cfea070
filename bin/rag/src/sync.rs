//! The command `sync`: keeps the vectors of tables in step with their texts.

mod options;
mod report;

use std::{
    io::{self, IsTerminal as _},
    path::Path,
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use tokio::{sync::watch, task::JoinSet, time};
use tracing::warn;
use ziggurat_llm::Embedder;
use ziggurat_postgres::pool::Pools;
use ziggurat_runtime::{
    console::{self, print_error},
    signals,
};
use ziggurat_sync::{Backfill, SyncError, TableSync, Worker};
use ziggurat_telemetry::Metrics;

use self::{
    options::SyncAction,
    report::{BackfillReport, StatusReport},
};
use crate::{
    clients::{BuildContext, HttpClients, row_embedder},
    configuration::{ConfigSources, Configuration, Pipeline},
    find,
    ingest::pipeline,
    logs, print,
    secrets::Secrets,
};

pub(crate) use self::options::{FLAGS, HEAD, SyncOptions};

/// Time for statements that were interrupted.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Reasons of failed rows that `status` shows of each table.
const SHOWN_REASONS: u32 = 5;

/// Runs the command, and returns its exit code.
pub(crate) fn run(config: Option<&Path>, options: &SyncOptions) -> ExitCode {
    match load(config, options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_error(&format!("{error:#}\n"));
            ExitCode::FAILURE
        }
    }
}

fn load(config: Option<&Path>, options: &SyncOptions) -> anyhow::Result<()> {
    let (sources, secrets) = (ConfigSources::of_process(), Secrets::default());
    let path = find(config, &sources)?;
    let loaded = Configuration::load(&path, &sources).context("failed to load configuration")?;
    console::print_warnings(&loaded.warnings);
    let context = BuildContext {
        http_clients: &HttpClients::default(),
        sources: &sources,
        secrets: &secrets,
        metrics: &Metrics::off(),
        idle: loaded.value.server.stream_idle_timeout,
    };
    let works = matches!(options.action, SyncAction::Run | SyncAction::Backfill);
    let mut targets = Vec::new();
    for pipeline in pipelines(&loaded.value, options.pipeline.as_deref())? {
        let embedder = works.then(|| row_embedder(pipeline, context)).transpose()?;
        targets.push((pipeline, embedder));
    }
    if works {
        logs::start(&sources.environment, Some(&loaded.value.log), secrets);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(in_runtime(targets, options));
    runtime.shutdown_timeout(crate::BLOCKING_TASKS_TIMEOUT);
    outcome
}

/// Returns the pipelines with tables that have `sync: true`: the named one, or all.
fn pipelines<'c>(
    configuration: &'c Configuration,
    name: Option<&str>,
) -> anyhow::Result<Vec<&'c Pipeline>> {
    let found: Vec<_> = match name {
        Some(name) => vec![pipeline(configuration, Some(name))?],
        None => configuration.pipelines.iter().collect(),
    };
    let found: Vec<_> = found.into_iter().filter(|one| one.sync.is_some()).collect();
    match (&*found, name) {
        ([], Some(name)) => bail!("no table of pipeline {name} has sync: true"),
        ([], None) => bail!("no table has sync: true"),
        _ => Ok(found),
    }
}

/// A table that is kept in step.
struct Target<'c> {
    pipeline: &'c str,
    sync: TableSync,
    settings: ziggurat_sync::WorkerSettings,
    embedder: Option<Embedder>,
}

async fn in_runtime(
    pipelines: Vec<(&Pipeline, Option<Embedder>)>,
    options: &SyncOptions,
) -> anyhow::Result<()> {
    let (pools, reaper) = Pools::new();
    let mut tasks = JoinSet::from_iter([reaper.run()]);
    let mut targets = Vec::new();
    for (pipeline, embedder) in pipelines {
        let (Some(sync), Some(ingest)) = (&pipeline.sync, &pipeline.ingest) else {
            continue;
        };
        let pool = pools.pool(&pipeline.name, &ingest.database);
        for table in sync.written_by(&pool) {
            let mut settings = sync.settings;
            settings.concurrency = options.concurrency.unwrap_or(settings.concurrency);
            targets.push(Target {
                pipeline: &pipeline.name,
                sync: table,
                settings,
                embedder: embedder.clone(),
            });
        }
    }
    let outcome = act(targets, options).await;
    pools.close_all();
    drop(pools);
    let closing = async { while tasks.join_next().await.is_some() {} };
    let _ = time::timeout(CLOSE_TIMEOUT, closing).await;
    outcome
}

async fn act(targets: Vec<Target<'_>>, options: &SyncOptions) -> anyhow::Result<()> {
    match options.action {
        SyncAction::Install | SyncAction::Uninstall => change(&targets, options).await,
        SyncAction::Run => work(targets).await,
        SyncAction::Backfill => backfill(targets, options.every).await,
        SyncAction::Status => status(&targets).await,
        SyncAction::Retry => {
            for Target { sync, .. } in &targets {
                let rows = sync.retry().await?;
                print(&format!(
                    "{}: {rows} rows to be tried again\n",
                    sync.table().table
                ));
            }
            Ok(())
        }
    }
}

/// Prints or runs the statements of `install` and `uninstall`.
async fn change(targets: &[Target<'_>], options: &SyncOptions) -> anyhow::Result<()> {
    let installs = options.action == SyncAction::Install;
    for Target { sync, .. } in targets {
        let table = &sync.table().table;
        match (installs, options.applies) {
            (true, true) => {
                sync.install().await?;
                print(&format!(
                    "table {table} is kept in step; `ziggurat-rag sync backfill` makes the vectors \
                     of the rows that it has\n"
                ));
            }
            (false, true) => {
                sync.uninstall().await?;
                print(&format!("table {table} is no longer kept in step\n"));
            }
            (installs, false) => {
                let statements = if installs {
                    sync.install_statements().await?
                } else {
                    sync.uninstall_statements().await?
                };
                print(&format!("BEGIN;\n{};\nCOMMIT;\n", statements.join(";\n")));
            }
        }
    }
    Ok(())
}

/// Works on all tables until a signal.
async fn work(targets: Vec<Target<'_>>) -> anyhow::Result<()> {
    let stop = signals::stop()?;
    let (sender, stopped) = watch::channel(false);
    let mut running = JoinSet::new();
    for target in targets {
        match target.sync.check().await {
            // The database may come back, as it may go away later.
            Err(error @ (SyncError::Lease(_) | SyncError::Database { .. })) => {
                let error = error.to_string();
                warn!(error, "the queue cannot be checked");
            }
            checked => checked?,
        }
        let worker = target.worker()?;
        let stopped = stopped.clone();
        running.spawn(async move { worker.run(stopped).await });
    }
    stop.await;
    sender.send_replace(true);
    while running.join_next().await.is_some() {}
    Ok(())
}

async fn backfill(targets: Vec<Target<'_>>, every: bool) -> anyhow::Result<()> {
    let stop = signals::stop()?;
    let is_terminal = io::stderr().is_terminal();
    let filling = async {
        for target in targets {
            let table = target.sync.table().table.clone();
            let worker = target.worker()?;
            let mut report = BackfillReport::new(&table, is_terminal, Instant::now());
            let backfill = Backfill::new(&worker, every);
            let progress =
                backfill.run(|progress| print_error(&report.tick(progress, Instant::now())));
            let progress = progress.await?;
            print_error(report.end());
            print(&report.summary(progress, Instant::now()));
        }
        Ok(())
    };
    tokio::select! {
        filled = filling => filled,
        () = stop => bail!("interrupted: vectors made so far are kept; run the same command again \
                            to continue"),
    }
}

async fn status(targets: &[Target<'_>]) -> anyhow::Result<()> {
    let mut report = StatusReport::default();
    for Target { pipeline, sync, .. } in targets {
        let table = &sync.table().table;
        let status = sync.status().await?;
        let failures = if status.failed > 0 {
            sync.failures(SHOWN_REASONS).await?
        } else {
            Vec::new()
        };
        report.add(pipeline, table, status, &failures);
    }
    print(&report.to_string());
    Ok(())
}

// === impl Target ===

impl Target<'_> {
    fn worker(self) -> anyhow::Result<Worker> {
        let embedder = self.embedder.context("no embedder")?;
        Ok(Worker::new(self.sync, embedder, self.settings))
    }
}
