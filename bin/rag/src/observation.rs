//! Observation of questions for operators: the audit trail, metrics and traces.

use std::time::Duration;

use tokio::task::JoinSet;
use ziggurat_audit::{Trail, Verdict};
use ziggurat_calls::Calls;
use ziggurat_http::{MetricsPage, TraceExport};
use ziggurat_llm::Provider;
use ziggurat_rag_service::{
    METHODS,
    mcp::{self, METHODS as CALLS},
};
use ziggurat_telemetry::{Known, Metrics, Program, Set};

use crate::configuration::Configuration;

/// Name of the server in its spans.
const NAME: &str = "ziggurat-rag";

pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The paths under which the server is reached.
pub(crate) const ENDPOINTS: &[&str] = &[
    mcp::PATH,
    "/v1/pipelines",
    "/v1/chat",
    "/v1/models",
    "/v1/stats",
    "/v1/health",
    "/v1/live",
    "/v1/openapi.json",
    "/ready",
];

/// Time for the last records and spans.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The audit trail, the metrics and the traces of a server; each may be off.
#[derive(Debug)]
pub(crate) struct Observed {
    pub(crate) calls: Calls,
    trail: Option<Trail>,
    /// Serves the page of metrics until it is dropped.
    _page: JoinSet<()>,
    export: TraceExport,
}

// === impl Observed ===

impl Observed {
    /// Opens the audit trail, and starts the metrics, their page, and the export of traces.
    ///
    /// # Errors
    /// Fails if the file of the trail or the address of the page cannot be used, or the settings of
    /// the traces.
    pub(crate) fn start(configuration: &Configuration) -> anyhow::Result<Self> {
        let trail = Trail::open(configuration.audit.as_ref())?;
        let metrics = metrics(configuration, trail.as_ref());
        let telemetry = &configuration.telemetry;
        let (tracer, export) = TraceExport::start(telemetry, NAME, VERSION, &metrics)?;
        let page = MetricsPage::listen(telemetry, &metrics)?;
        Ok(Self {
            calls: Calls {
                audit: trail.as_ref().map(Trail::audit).cloned(),
                metrics,
                tracer,
                sql_comment: configuration.sql_comment,
                activity: None,
                receipts: None,
            },
            trail,
            _page: page.map(MetricsPage::serve).into_iter().collect(),
            export,
        })
    }

    /// Writes the records and spans that are left.
    pub(crate) async fn shut_down(self) {
        self.export.close(CLOSE_TIMEOUT).await;
        if let Some(trail) = self.trail {
            trail.close(CLOSE_TIMEOUT).await;
        }
    }
}

/// Starts the metrics, if there is an address to read them at.
fn metrics(configuration: &Configuration, trail: Option<&Trail>) -> Metrics {
    if configuration.telemetry.metrics_address.is_none() {
        return Metrics::off();
    }
    let known = names(configuration)
        .with(Set::Methods, METHODS)
        .with(Set::Methods, CALLS)
        .with(Set::Providers, Provider::ALL.map(Provider::name))
        .with(Set::Endpoints, ENDPOINTS.iter().copied());
    let metrics = Metrics::new(Program::Rag, VERSION, &known);
    if let Some(trail) = trail {
        let audit = trail.audit().clone();
        metrics.read_audit(move || audit.counts());
    }
    metrics
}

/// Returns the names of pipelines and databases.
fn names(configuration: &Configuration) -> Known {
    let pipelines = configuration.pipelines.iter();
    let databases = pipelines.clone().map(|pipeline| pipeline.database.name());
    Known::default()
        .with(Set::Databases, databases)
        .with(Set::Pipelines, pipelines.map(|pipeline| &pipeline.name))
}

/// Records and counts a reload of the configuration, which is `None` if it failed.
pub(crate) fn note_reload(calls: &Calls, loaded: Option<&Configuration>) {
    let (verdict, result) = match loaded {
        Some(configuration) => {
            calls.metrics.learn(&names(configuration));
            (Verdict::Ok, "ok")
        }
        None => (Verdict::Error, "failed"),
    };
    calls.metrics.reload(result);
    if let Some(audit) = &calls.audit {
        audit.reload(verdict);
    }
}
