//! The command `sync`: keeps the vectors of tables in step with their texts.

mod options;
mod report;

use std::{
    io::{self, IsTerminal as _},
    path::Path,
    process::ExitCode,
    time::Instant,
};

use anyhow::{Context as _, bail};
use tokio::{sync::watch, task::JoinSet};
use tracing::warn;
use ziggurat_llm::Embedder;
use ziggurat_postgres::pool::Pools;
use ziggurat_runtime::{console::print_error, signals};
use ziggurat_sync::{Backfill, SyncError, TableSync, Worker};
use ziggurat_telemetry::Metrics;

use self::{
    options::SyncAction,
    report::{BackfillReport, StatusReport},
};
use crate::{
    clients::{BuildContext, HttpClients, row_embedder},
    commands::{self, ended},
    configuration::{ConfigSources, Configuration, Pipeline},
    ingest::pipeline,
    logs, print,
    secrets::Secrets,
};

pub(crate) use self::options::{FLAGS, HEAD, SyncOptions, sync_command};

/// Reasons of failed rows that `status` shows of each table.
const SHOWN_REASONS: u32 = 5;

/// Runs the command, and returns its exit code.
pub(crate) fn run(config: Option<&Path>, options: &SyncOptions) -> ExitCode {
    ended(load(config, options))
}

fn load(config: Option<&Path>, options: &SyncOptions) -> anyhow::Result<()> {
    let (sources, secrets) = (ConfigSources::of_process(), Secrets::default());
    let configuration = commands::load(config, &sources)?;
    let context = BuildContext {
        http_clients: &HttpClients::default(),
        sources: &sources,
        secrets: &secrets,
        metrics: &Metrics::off(),
        idle: configuration.server.stream_idle_timeout,
    };
    let works = matches!(options.action, SyncAction::Run | SyncAction::Backfill);
    let mut targets = Vec::new();
    for pipeline in pipelines(&configuration, options.pipeline.as_deref())? {
        let embedder = works.then(|| row_embedder(pipeline, context)).transpose()?;
        targets.push((pipeline, embedder));
    }
    if works {
        logs::start(
            &sources.environment,
            Some(&configuration.log),
            secrets,
            false,
        );
    }
    commands::with_pools(async |pools| act(tables(pools, targets, options), options).await)
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

fn tables<'c>(
    pools: &Pools,
    pipelines: Vec<(&'c Pipeline, Option<Embedder>)>,
    options: &SyncOptions,
) -> Vec<Target<'c>> {
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
    targets
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
