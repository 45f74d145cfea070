//! Audit trail, metrics and traces of the server.

use std::{sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use http::{Request, Response, StatusCode};
use tokio::{task::JoinSet, time};
use tracing::debug;
use ziggurat_account_service::{AccountCounts, EXCHANGE, Store};
use ziggurat_audit::Trail;
use ziggurat_http::{MetricsPage, TelemetrySettings, TraceExport, count_request};
use ziggurat_sign_in_state::SignInEvents;
use ziggurat_telemetry::{AccountCount, Known, Metrics, Program, Set, traces::Tracer};

use crate::configuration::Configuration;

/// Name of the server in its spans.
const NAME: &str = "ziggurat-platform";

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Paths under which the server is reached.
const ENDPOINTS: &[&str] = &["/account/v1", "/oauth", "/.well-known", "/health", "/ready"];

/// Name of the database that replicas share.
const STATE: &str = "state";

/// Time between counts of the accounts. A count reads all of them, and its age does not matter.
const COUNT_INTERVAL: Duration = Duration::from_secs(15);

/// Time for the last records, and for the last export of spans.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The audit trail, the metrics and the traces; each may be off.
pub(crate) struct Observation {
    pub(crate) metrics: Metrics,
    pub(crate) tracer: Tracer,
    trail: Option<Trail>,
    export: TraceExport,
}

// === impl Observation ===

impl Observation {
    /// Opens the audit trail, and starts the metrics and the export of traces.
    ///
    /// # Errors
    /// Fails if the file of the trail cannot be used, or another server writes it, and if the settings
    /// of the export cannot be used.
    pub(crate) fn start(configuration: &Configuration) -> anyhow::Result<Self> {
        let trail = Trail::open(configuration.audit.as_ref())?;
        let settings = &configuration.telemetry;
        let known = Known::default()
            .with(Set::Endpoints, ENDPOINTS.iter().copied())
            .with(Set::Databases, [STATE]);
        let metrics = if settings.metrics_address.is_some() {
            Metrics::new(Program::Platform, VERSION, &known)
        } else {
            Metrics::off()
        };
        if let Some(trail) = &trail {
            let audit = trail.audit().clone();
            metrics.read_audit(move || audit.counts());
        }
        let (tracer, export) = TraceExport::start(settings, NAME, VERSION, &metrics)?;
        Ok(Self {
            metrics,
            tracer,
            trail,
            export,
        })
    }

    /// Serves the page of metrics, and counts the accounts for it, if there is one.
    ///
    /// # Errors
    /// Fails if the server cannot listen on the address.
    pub(crate) fn serve(
        &self,
        settings: &TelemetrySettings,
        store: &Store,
        tasks: &mut JoinSet<()>,
    ) -> anyhow::Result<()> {
        let Some(page) = MetricsPage::listen(settings, &self.metrics)? else {
            return Ok(());
        };
        tasks.spawn(page.serve());
        let counts = Arc::<ArcSwap<Vec<AccountCount>>>::default();
        tasks.spawn(count_accounts(store.clone(), Arc::clone(&counts)));
        self.metrics
            .read_accounts(move || counts.load().as_ref().clone());
        Ok(())
    }

    /// Returns the taker of the events of a sign-in.
    pub(crate) fn sign_in_events(&self) -> SignInEvents {
        let audit = self.trail.as_ref().map(Trail::audit);
        SignInEvents::new(audit.cloned(), self.metrics.clone())
    }

    /// Writes the records and exports the spans that wait, each within a time.
    pub(crate) async fn close(self) {
        if let Some(trail) = self.trail {
            trail.close(CLOSE_TIMEOUT).await;
        }
        self.export.close(CLOSE_TIMEOUT).await;
    }
}

/// Counts the accounts again and again. A page shows the last count, because it must not wait for
/// the store.
async fn count_accounts(store: Store, counts: Arc<ArcSwap<Vec<AccountCount>>>) {
    let mut ticks = time::interval(COUNT_INTERVAL);
    ticks.set_missed_tick_behavior(time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        match store.counts().await {
            Ok(found) => counts.store(Arc::new(by_kind(&found))),
            // The store logs that it is unreachable, and the last count stays.
            Err(error) => debug!(%error, "the accounts cannot be counted"),
        }
    }
}

fn by_kind(counts: &AccountCounts) -> Vec<AccountCount> {
    let counts = [
        ("tenant", counts.tenants),
        ("user", counts.users),
        ("client", counts.clients),
        ("invite", counts.invites),
    ];
    let counts = counts.map(|(kind, count)| AccountCount { kind, count });
    counts.into()
}

/// Counts a request by its response.
pub(crate) fn count<B, C>(
    metrics: &Metrics,
    request: &Request<B>,
) -> impl FnOnce(Response<C>) -> Response<C> + use<B, C> {
    let metrics = metrics.clone();
    // A wrong secret is no refused token.
    let is_exchange = request.uri().path() == EXCHANGE;
    let count = count_request(metrics.clone(), ENDPOINTS, request);
    move |response| {
        if is_exchange && response.status() == StatusCode::UNAUTHORIZED {
            metrics.http_request("/account/v1", StatusCode::UNAUTHORIZED);
        } else {
            count(&response);
        }
        response
    }
}

/// Counts the result of an exchange, if the request is one.
pub(crate) fn count_exchange<B, C>(
    metrics: &Metrics,
    request: &Request<B>,
) -> impl FnOnce(Response<C>) -> Response<C> + use<B, C> {
    let is_exchange = request.uri().path() == EXCHANGE;
    let metrics = is_exchange.then(|| metrics.clone());
    move |response| {
        if let Some(metrics) = metrics {
            let status = response.status();
            let result = match status {
                StatusCode::TOO_MANY_REQUESTS => "limited",
                status if status.is_success() => "ok",
                status if status.is_server_error() => "failed",
                _ => "refused",
            };
            metrics.token_issued("client_credentials", result);
            // The limit on all requests is further out.
            if result == "limited" {
                metrics.limit_reached("logins");
            }
        }
        response
    }
}
