//! Reload of the configuration on SIGHUP.

use anyhow::Context as _;
use tokio::signal::unix::{SignalKind, signal};
use tracing::{error, info, warn};
use ziggurat_audit::{Audit, Verdict};
use ziggurat_databases::Databases;
use ziggurat_limits::Limits;
use ziggurat_telemetry::Metrics;

use crate::{
    access::ToolAccess,
    app,
    arguments::Overrides,
    configuration::{ConfigSources, Configuration, LoadError, Loaded, changes::Changes},
    metrics::databases as database_names,
};

/// Sources of the configuration, for reading it again.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) overrides: Overrides,
    pub(crate) sources: ConfigSources,
}

/// Parts of a running server that a reload changes.
pub(crate) struct Running {
    pub(crate) configuration: Configuration,
    pub(crate) databases: Databases,
    pub(crate) access: ToolAccess,
    pub(crate) limits: Limits,
    pub(crate) audit: Option<Audit>,
    pub(crate) metrics: Metrics,
}

/// Reloads the configuration at every SIGHUP, forever.
///
/// From this call on, SIGHUP no longer ends the process.
///
/// # Errors
/// Fails if the signal handler cannot be installed.
pub(crate) fn reload_on_hangup(
    mut running: Running,
    source: Source,
) -> anyhow::Result<impl Future<Output = ()>> {
    let mut hangups = signal(SignalKind::hangup()).context("cannot listen to SIGHUP")?;
    Ok(async move {
        while hangups.recv().await.is_some() {
            if let Some(audit) = &running.audit {
                audit.reopen();
            }
            // Reading files may block, and a slow disk must not delay other tasks of this thread.
            let loaded = tokio::task::block_in_place(|| running.load(&source));
            match loaded {
                Ok(loaded) => running.apply(loaded),
                Err(error) => {
                    let error = anyhow::Error::from(error);
                    error!("configuration not reloaded, the previous one stays in use: {error:#}");
                    running.record(Verdict::Error);
                }
            }
        }
    })
}

// === impl Running ===

impl Running {
    /// Loads the configuration, and checks what depends on this server.
    fn load(&self, source: &Source) -> Result<Loaded, LoadError> {
        let mut loaded = Configuration::load(&source.overrides, &source.sources)?;
        loaded
            .warnings
            .extend(self.access.names().check(&loaded.value)?);
        Ok(loaded)
    }

    /// Exchanges what has changed.
    fn apply(&mut self, loaded: Loaded) {
        crate::warn(&loaded);
        let changes = Changes::between(&self.configuration, &loaded.value);
        for section in &changes.need_restart {
            warn!("{section} has changed; restart the server to apply it");
        }
        let configured = loaded.value;
        if changes.databases {
            self.databases.replace(app::configured(&configured));
            self.metrics.learn(&database_names(&configured.databases));
            self.configuration.databases = configured.databases;
        }
        if changes.callers {
            self.limits.replace(configured.callers.clone());
            self.configuration.callers = configured.callers;
        }
        if changes.toolsets {
            self.access.replace(configured.toolsets.clone());
            self.configuration.toolsets = configured.toolsets;
        }
        info!("configuration reloaded from {}", loaded.path.display());
        self.record(Verdict::Ok);
    }

    fn record(&self, verdict: Verdict) {
        self.metrics.reload(if verdict == Verdict::Ok {
            "ok"
        } else {
            "failed"
        });
        if let Some(audit) = &self.audit {
            audit.reload(verdict);
        }
    }
}
