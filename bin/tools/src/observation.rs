//! Observation of the calls, audit trail, metrics and traces, and the limits of callers.

use std::time::Duration;

use ziggurat_audit::{Audit, Trail};
use ziggurat_databases::Databases;
use ziggurat_http::{SqlCommentKind, TraceExport};
use ziggurat_limits::Limits;
use ziggurat_sql_tools::SqlTools;
use ziggurat_telemetry::{Metrics, traces::Tracer};

use crate::{
    access::ToolAccess,
    calls::CallObserver,
    catalogue::{NAME, VERSION},
    configuration::Configuration,
    metrics,
};

/// The audit trail, the metrics, the traces and the limits of a server; each may be off.
#[derive(Debug)]
pub(crate) struct Observation {
    trail: Option<Trail>,
    pub(crate) metrics: Metrics,
    pub(crate) limits: Limits,
    pub(crate) tracer: Tracer,
    export: TraceExport,
    sql_comment: SqlCommentKind,
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
        let (tracer, export) = TraceExport::start(telemetry, NAME, VERSION, &metrics)?;
        Ok(Self {
            trail,
            metrics,
            limits: Limits::new(configuration.callers.clone()),
            tracer,
            export,
            sql_comment: configuration.sql_comment,
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

    /// Returns whether anything is observed.
    fn is_on(&self) -> bool {
        self.trail.is_some()
            || self.metrics.is_on()
            || self.tracer.is_on()
            || self.sql_comment != SqlCommentKind::Off
    }

    /// Returns whether requests need an id: for records, traces or comments.
    pub(crate) fn has_request_ids(&self) -> bool {
        let has_comments = self.sql_comment != SqlCommentKind::Off;
        self.trail.is_some() || self.tracer.is_on() || has_comments
    }

    /// Returns the observer of calls, which also applies the limits of callers, which a reload may add.
    pub(crate) fn observer(&self, databases: &Databases) -> CallObserver {
        CallObserver {
            is_on: self.is_on(),
            limits: self.limits.clone(),
            audit: self.audit().cloned(),
            metrics: self.metrics.clone(),
            tracer: self.tracer.clone(),
            sql_comment: self.sql_comment,
            databases: databases.clone(),
            access: ToolAccess::default(),
            sql_tools: SqlTools::default(),
        }
    }
}
