//! Steps that the commands share.

use std::{path::Path, process::ExitCode, time::Duration};

use anyhow::Context as _;
use tokio::{task::JoinSet, time};
use ziggurat_ingest::IngestError;
use ziggurat_postgres::pool::Pools;
use ziggurat_runtime::console::{self, print_error};

use crate::{
    configuration::{ConfigSources, Configuration},
    eval::Strangers,
    find,
};

/// Time for blocking tasks, such as name look-ups, at the end; their results are not used.
const BLOCKING_TASKS_TIMEOUT: Duration = Duration::from_millis(500);

/// Time for connections to close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Exit code of a command that was probably given the wrong names.
const WRONG_NAMES: u8 = 2;

/// Prints the error of a command, and returns its exit code.
pub(crate) fn ended(outcome: anyhow::Result<()>) -> ExitCode {
    let Err(error) = outcome else {
        return ExitCode::SUCCESS;
    };
    print_error(&format!("{error:#}\n"));
    let is_gone = matches!(error.downcast_ref(), Some(IngestError::Gone { .. }));
    if is_gone || error.is::<Strangers>() {
        return ExitCode::from(WRONG_NAMES);
    }
    ExitCode::FAILURE
}

/// Loads the configuration, and prints its warnings.
pub(crate) fn load(
    config: Option<&Path>,
    sources: &ConfigSources,
) -> anyhow::Result<Configuration> {
    let path = find(config, sources)?;
    let loaded = Configuration::load(&path, sources).context("failed to load configuration")?;
    console::print_warnings(&loaded.warnings);
    Ok(loaded.value)
}

/// Runs asynchronous work to its end.
pub(crate) fn in_runtime<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(work);
    runtime.shutdown_timeout(BLOCKING_TASKS_TIMEOUT);
    outcome
}

/// Runs work with pools, and closes their connections.
pub(crate) fn with_pools<T>(
    work: impl AsyncFnOnce(&Pools) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    in_runtime(pooled(work))
}

/// Runs work with pools in this runtime, and closes their connections.
pub(crate) async fn pooled<T>(
    work: impl AsyncFnOnce(&Pools) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let (pools, reaper) = Pools::new();
    let mut tasks = JoinSet::from_iter([reaper.run()]);
    let outcome = work(&pools).await;
    pools.close_all();
    drop(pools);
    let closing = async { while tasks.join_next().await.is_some() {} };
    // Statements that were interrupted are cancelled.
    let _ = time::timeout(CLOSE_TIMEOUT, closing).await;
    outcome
}
