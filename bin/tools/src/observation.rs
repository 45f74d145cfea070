//! Observation of the calls, audit trail, metrics and traces, and the limits of callers.

pub(crate) mod metrics;
pub(crate) mod receipts;

use std::time::Duration;

use tokio::task::JoinSet;
use ziggurat_audit::Trail;
use ziggurat_calls::{Calls, activity::Activity, limits::Limits};
use ziggurat_http::TraceExport;
use ziggurat_tokens::{Local, LocalCaller};

use crate::{
    configuration::Configuration,
    interface::{NAME, VERSION},
};

/// The audit trail, the metrics, the traces and the limits of a server; each may be off.
#[derive(Debug)]
pub(crate) struct Observation {
    trail: Option<Trail>,
    pub(crate) calls: Calls,
    pub(crate) limits: Limits,
    export: TraceExport,
    /// The caller without an identity.
    pub(crate) local: LocalCaller,
}

// === impl Observation ===

impl Observation {
    /// Opens the audit trail, and starts the metrics, the traces and the receipts.
    ///
    /// # Errors
    /// Fails if the file of the trail cannot be used, or another server writes it, and if traces
    /// cannot be exported with these settings, or a key of receipts cannot be read.
    pub(crate) fn start(
        configuration: &Configuration,
        tasks: &mut JoinSet<()>,
    ) -> anyhow::Result<Self> {
        let trail = Trail::open(configuration.audit.as_ref())?;
        let metrics = metrics::start(configuration, trail.as_ref());
        let telemetry = &configuration.telemetry;
        // HTTP can list the statements that run.
        let activity = configuration.http.as_ref().map(|_| {
            let activity = Activity::new(!configuration.logs.hides_statements);
            activity.hide_literals(configuration.has_masks());
            activity
        });
        let (tracer, export) = TraceExport::start(telemetry, NAME, VERSION, &metrics)?;
        Ok(Self {
            calls: Calls {
                audit: trail.as_ref().map(Trail::audit).cloned(),
                metrics,
                tracer,
                activity,
                receipts: receipts::start(configuration, tasks)?,
                ..Calls::default()
            },
            trail,
            limits: Limits::new(configuration.callers.clone()),
            export,
            local: local_caller(configuration),
        })
    }

    /// Writes the records and exports the spans that are left, each within a time.
    pub(crate) async fn close(self, limit: Duration) {
        if let Some(trail) = self.trail {
            trail.close(limit).await;
        }
        self.export.close(limit).await;
    }
}

/// Returns the facts about callers without an identity. Where callers authenticate, one without an
/// identity is about to log in and has no name.
fn local_caller(configuration: &Configuration) -> LocalCaller {
    let authenticates = configuration.http.is_some() && configuration.auth.is_enabled;
    if authenticates {
        LocalCaller::new(Local {
            is_anonymous: true,
            ..Local::default()
        })
    } else {
        configuration.identities.local.clone()
    }
}
