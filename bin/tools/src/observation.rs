//! Observation of the calls, audit trail, metrics and traces, and the limits of callers.

use std::time::Duration;

use ziggurat_audit::{Audit, Trail};
use ziggurat_calls::{activity::Activity, limits::Limits};
use ziggurat_databases::Databases;
use ziggurat_http::{SqlCommentKind, TraceExport};
use ziggurat_sql_tools::SqlTools;
use ziggurat_telemetry::{Metrics, traces::Tracer};
use ziggurat_tokens::{Local, LocalCaller};

use crate::{
    access::ToolAccess,
    calls::CallObserver,
    configuration::Configuration,
    interface::{NAME, VERSION},
    metrics,
};

/// The audit trail, the metrics, the traces and the limits of a server; each may be off.
#[derive(Debug)]
pub(crate) struct Observation {
    trail: Option<Trail>,
    pub(crate) metrics: Metrics,
    pub(crate) limits: Limits,
    /// The statements that run, which HTTP can list.
    pub(crate) activity: Option<Activity>,
    pub(crate) tracer: Tracer,
    export: TraceExport,
    /// The caller without an identity.
    pub(crate) local: LocalCaller,
}

// === impl Observation ===

impl Observation {
    /// Opens the audit trail, and starts the metrics and the traces.
    ///
    /// # Errors
    /// Fails if the file of the trail cannot be used, or another server writes it, and if traces
    /// cannot be exported with these settings.
    pub(crate) fn start(configuration: &Configuration) -> anyhow::Result<Self> {
        let trail = Trail::open(configuration.audit.as_ref())?;
        let metrics = metrics::start(configuration, trail.as_ref());
        let telemetry = &configuration.telemetry;
        let has_http = configuration.http.is_some();
        let (tracer, export) = TraceExport::start(telemetry, NAME, VERSION, &metrics)?;
        Ok(Self {
            trail,
            metrics,
            limits: Limits::new(configuration.callers.clone()),
            activity: has_http.then(|| Activity::new(!configuration.logs.hides_statements)),
            tracer,
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

    /// Returns the audit trail, if there is one.
    pub(crate) fn audit(&self) -> Option<&Audit> {
        self.trail.as_ref().map(Trail::audit)
    }

    /// Returns whether requests need an id, for records or traces. A catalogue with comments needs
    /// them too.
    pub(crate) fn has_request_ids(&self) -> bool {
        self.trail.is_some() || self.tracer.is_on()
    }

    /// Returns the observer of calls, which also applies the limits of callers, which a reload may add.
    pub(crate) fn observer(&self, databases: &Databases) -> CallObserver {
        CallObserver {
            is_on: self.metrics.is_on() || self.has_request_ids(),
            local: self.local.clone(),
            limits: self.limits.clone(),
            activity: self.activity.clone(),
            audit: self.audit().cloned(),
            metrics: self.metrics.clone(),
            tracer: self.tracer.clone(),
            sql_comment: SqlCommentKind::Off,
            databases: databases.clone(),
            access: ToolAccess::default(),
            sql_tools: SqlTools::default(),
        }
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
