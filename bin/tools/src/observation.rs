//! Observation of the calls: audit trail, metrics and traces.

use std::time::Duration;

use tokio::{sync::oneshot, task::JoinSet, time};
use ziggurat_audit::{Audit, Trail};
use ziggurat_databases::Databases;
use ziggurat_http::SqlCommentKind;
use ziggurat_mcp::Mcp;
use ziggurat_telemetry::{
    Metrics,
    traces::{Exporter, Tracer},
};

use crate::{
    calls::CallObserver,
    catalogue::{NAME, VERSION},
    configuration::Configuration,
    metrics,
};

/// The audit trail, the metrics and the traces of a server; each may be off.
#[derive(Debug)]
pub(crate) struct Observation {
    trail: Option<Trail>,
    pub(crate) metrics: Metrics,
    tracer: Tracer,
    export: Option<Export>,
    sql_comment: SqlCommentKind,
}

/// The task that exports traces, and its end.
#[derive(Debug)]
struct Export {
    stop: oneshot::Sender<()>,
    task: JoinSet<()>,
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
        let (mut tracer, mut export) = (Tracer::off(), None);
        if let Some(otlp) = &telemetry.otlp {
            let (started, exporter) = otlp.start(NAME, VERSION)?;
            let dropped = started.clone();
            metrics.read_dropped_spans(move || dropped.dropped_spans());
            (tracer, export) = (started, Some(Export::start(exporter)));
        }
        Ok(Self {
            trail,
            metrics,
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
        if let Some(mut export) = self.export {
            // Its receiver is gone if the task has ended.
            export.stop.send(()).ok();
            let sent = time::timeout(limit, export.task.join_next());
            sent.await.ok();
        }
    }

    /// Returns the audit trail, if there is one.
    pub(crate) fn audit(&self) -> Option<&Audit> {
        self.trail.as_ref().map(Trail::audit)
    }

    /// Returns whether anything is observed.
    pub(crate) fn is_on(&self) -> bool {
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

    /// Observes the calls of a service, if anything is observed.
    pub(crate) fn observe(&self, mcp: Mcp, databases: &Databases) -> Mcp {
        if !self.is_on() {
            return mcp;
        }
        metrics::learn_tools(&self.metrics, &mcp);
        mcp.with_observer(CallObserver {
            audit: self.audit().cloned(),
            metrics: self.metrics.clone(),
            tracer: self.tracer.clone(),
            sql_comment: self.sql_comment,
            databases: databases.clone(),
        })
    }
}

// === impl Export ===

impl Export {
    fn start(exporter: Exporter) -> Self {
        let (stop, stopped) = oneshot::channel();
        let run = exporter.run(async {
            // The sender is gone only if the server is.
            stopped.await.ok();
        });
        let task = JoinSet::from_iter([run]);
        Self { stop, task }
    }
}
