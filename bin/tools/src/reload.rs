//! Reload of the configuration on SIGHUP.

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{error, info, warn};
use ziggurat_audit::{Audit, Verdict};
use ziggurat_databases::Databases;
use ziggurat_limits::Limits;
use ziggurat_telemetry::Metrics;

use crate::{
    app,
    arguments::Overrides,
    configuration::{ConfigSources, Configuration, changes::Changes},
    metrics::databases as database_names,
};

/// Sources of the configuration, for reading it again.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) overrides: Overrides,
    pub(crate) sources: ConfigSources,
}

/// Reloads the configuration at every SIGHUP, forever.
///
/// From this call on, SIGHUP no longer ends the process.
///
/// # Errors
/// Fails if the signal handler cannot be installed.
pub(crate) fn reload_on_hangup(
    running: Configuration,
    source: Source,
    databases: Databases,
    limits: Limits,
    audit: Option<Audit>,
    metrics: Metrics,
) -> anyhow::Result<impl Future<Output = ()>> {
    let hangups = signal(SignalKind::hangup()).context("cannot listen to SIGHUP")?;
    Ok(reload_at(
        hangups, running, source, databases, limits, audit, metrics,
    ))
}

async fn reload_at(
    mut hangups: Signal,
    mut running: Configuration,
    source: Source,
    databases: Databases,
    limits: Limits,
    audit: Option<Audit>,
    metrics: Metrics,
) {
    while hangups.recv().await.is_some() {
        if let Some(audit) = &audit {
            audit.reopen();
        }
        let record = |verdict| {
            metrics.reload(if verdict == Verdict::Ok {
                "ok"
            } else {
                "failed"
            });
            if let Some(audit) = &audit {
                audit.reload(verdict);
            }
        };
        // Reading files may block, and a slow disk must not delay other tasks of this thread.
        let loaded =
            tokio::task::block_in_place(|| Configuration::load(&source.overrides, &source.sources));
        let loaded = match loaded {
            Ok(loaded) => loaded,
            Err(error) => {
                let error = anyhow::Error::from(error);
                error!("configuration not reloaded, the previous one stays in use: {error:#}");
                record(Verdict::Error);
                continue;
            }
        };
        crate::warn(&loaded);
        let changes = Changes::between(&running, &loaded.value);
        for section in &changes.need_restart {
            warn!("{section} has changed; restart the server to apply it");
        }
        if changes.databases {
            databases.replace(app::configured(&loaded.value));
            metrics.learn(&database_names(&loaded.value.databases));
            running.databases = loaded.value.databases;
        }
        if changes.callers {
            limits.replace(loaded.value.callers.clone());
            running.callers = loaded.value.callers;
        }
        info!("configuration reloaded from {}", loaded.path.display());
        record(Verdict::Ok);
    }
}
