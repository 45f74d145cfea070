//! The command `-doctor`: every check that can be made, and what to do about each finding.

use std::{process::ExitCode, sync::Arc};

use tokio::task::JoinSet;
use ziggurat_doctor::{
    Finding, Options, Report, configuration, database, files, health,
    listening::{self, Callers, Listener},
};
use ziggurat_postgres::pool::Pools;
use ziggurat_runtime::{Address, ConfigSources, causes, flags::Flags};
use ziggurat_state::StateSettings;

use crate::configuration::Configuration;

/// Runs all checks and prints what they found.
pub(crate) fn run(flags: &Flags, options: &Options) -> anyhow::Result<ExitCode> {
    let mut report = Report::default();
    match Configuration::load(flags, &ConfigSources::of_process()) {
        Err(error) => report.extend(configuration::of_failure(&error)),
        Ok(loaded) => {
            report.extend(configuration::of(&loaded));
            report.extend(in_runtime(examine(&loaded.value, options))?);
        }
    }
    Ok(report.print(options))
}

/// Asks the server that runs with this configuration at a path, and says why it is not well.
pub(crate) fn ask_health(flags: &Flags, path: &str) -> anyhow::Result<()> {
    let loaded = Configuration::load(flags, &ConfigSources::of_process())?;
    let server = &loaded.value.server;
    let address = server.address.parse()?;
    in_runtime(health::ask(&address, server.tls.is_some(), path))??;
    Ok(())
}

fn in_runtime<T>(task: impl Future<Output = T>) -> std::io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    Ok(runtime.block_on(task))
}

async fn examine(configured: &Configuration, options: &Options) -> Vec<Finding> {
    let server = &configured.server;
    let key = server.tls.as_ref().map(|tls| tls.key.clone());
    let keys = configured.data_folder.join("signing-keys.json");
    let mut findings = files::modes(key.into_iter().chain([keys]));
    match server.address.parse::<Address>() {
        Ok(address) => {
            let listener = Listener {
                server: "ziggurat-platform",
                probe: "/health",
                sign: "ziggurat-platform",
                address: &address,
                tls: server.tls.as_ref(),
                public_url: server.public_url.clone(),
                // Every request but the one for a token needs one.
                callers: Callers::Known,
            };
            findings.extend(listening::check(&listener).await);
        }
        Err(error) => findings.push(configuration::unreadable(&format!(
            "server.address: {error}"
        ))),
    }
    if let Some(settings) = &configured.state {
        findings.extend(state(settings, options).await);
    }
    findings
}

/// Checks the database that replicas share.
async fn state(settings: &StateSettings, options: &Options) -> Vec<Finding> {
    const ID: &str = "state";
    let database = match settings.database() {
        Ok(database) => Arc::new(database),
        Err(error) => {
            let fix = format!("correct {}", settings.key());
            return vec![Finding::fail(ID, causes(&error), fix)];
        }
    };
    let (pools, reaper) = Pools::new();
    let mut tasks = JoinSet::new();
    tasks.spawn(reaper.run());
    let findings = database::reach(ID, &pools, &database, options.timeout).await;
    pools.close_all();
    drop(pools);
    tasks.shutdown().await;
    findings
}
