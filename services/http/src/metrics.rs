//! The page of metrics on a listener of its own, and the metrics of requests.

use std::{
    error::Error,
    future::pending,
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use http::{Request, Response, StatusCode};
use tokio::net::TcpListener;
use tower::{ServiceBuilder, util::option_layer};
use tracing::{error, info};
use ziggurat_layers::{
    host::{HostLayer, Hosts},
    reject::{Rejection, Render},
};
use ziggurat_runtime::{Address, listen};
use ziggurat_serve::{Limits, Server};
use ziggurat_telemetry::{Metrics, MetricsService};

use crate::{TelemetryError, TelemetrySettings};

/// Limit on the connections of programs that read the page.
const MAX_CONNECTIONS: usize = 16;

/// The page of metrics of a program, ready to be served.
#[derive(Debug)]
pub struct MetricsPage {
    listener: TcpListener,
    address: SocketAddr,
    metrics: Metrics,
}

/// Renders refusals as another renderer does, and counts them by their reason.
#[derive(Clone, Debug)]
pub(crate) struct CountedRefusal<R> {
    metrics: Metrics,
    reason: &'static str,
    render: R,
}

// === impl MetricsPage ===

impl MetricsPage {
    /// Listens on the address of the page, if there is one, and logs it.
    ///
    /// # Errors
    /// Fails if the address cannot be used.
    ///
    /// # Panics
    /// Panics outside a Tokio runtime.
    pub fn listen(
        settings: &TelemetrySettings,
        metrics: &Metrics,
    ) -> Result<Option<Self>, TelemetryError> {
        let Some(address) = &settings.metrics_address else {
            return Ok(None);
        };
        let page = Self::bind(address, metrics.clone());
        let page = page.map_err(|error| TelemetryError::Page(address.clone(), error))?;
        info!("metrics on http://{}/metrics", page.address);
        Ok(Some(page))
    }

    fn bind(address: &Address, metrics: Metrics) -> io::Result<Self> {
        let listener = listen::on_first(address.candidates()?)?;
        Ok(Self {
            address: listener.local_addr()?,
            listener,
            metrics,
        })
    }

    /// Serves the page until it is dropped, or the listener fails. On the loopback address it
    /// answers only requests for this machine.
    pub async fn serve(self) {
        let is_local = self.address.ip().to_canonical().is_loopback();
        let hosts = is_local.then(|| HostLayer::new(Hosts::loopback()));
        let service = ServiceBuilder::new()
            .layer(option_layer(hosts))
            .service(MetricsService::new(self.metrics));
        let mut limits = Limits::default();
        limits.max_connections = MAX_CONNECTIONS;
        let served = Server::new(limits).serve(self.listener, service, pending());
        if let Err(error) = served.await {
            let error = &error as &dyn Error;
            error!(error, "the metrics can no longer be read");
        }
    }
}

// === impl CountedRefusal ===

impl<R> CountedRefusal<R> {
    /// Counts refusals for a `limit`, `origin` or `host`.
    pub(crate) fn new(metrics: Metrics, reason: &'static str, render: R) -> Self {
        Self {
            metrics,
            reason,
            render,
        }
    }
}

impl<B, R: Render<B>> Render<B> for CountedRefusal<R> {
    fn render(&self, rejection: &Rejection) -> Response<B> {
        self.metrics.refused(self.reason);
        if self.reason == "limit" {
            self.metrics.limit_reached("requests");
        }
        self.render.render(rejection)
    }
}

/// Returns the count of open connections that a server keeps for its metrics.
#[must_use]
pub fn connection_count(metrics: &Metrics) -> Arc<AtomicUsize> {
    let count = Arc::new(AtomicUsize::new(0));
    let read = Arc::clone(&count);
    metrics.read_http_connections(move || {
        let open = read.load(Ordering::Relaxed);
        open.try_into().unwrap_or(u64::MAX)
    });
    count
}

/// Counts the response to a request by the first of the `endpoints` that its path is or begins with.
/// A response for a missing token or a large body is counted as a refusal as well.
pub fn count_request<B, C>(
    metrics: Metrics,
    endpoints: &'static [&'static str],
    request: &Request<B>,
) -> impl FnOnce(&Response<C>) + use<B, C> {
    let path = request.uri().path();
    let is_below = |endpoint: &str| {
        let rest = path.strip_prefix(endpoint);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let endpoint = endpoints.iter().find(|endpoint| is_below(endpoint));
    move |response| {
        let status = response.status();
        metrics.http_request(endpoint.unwrap_or(&"other"), status);
        match status {
            StatusCode::UNAUTHORIZED => metrics.refused("token"),
            StatusCode::PAYLOAD_TOO_LARGE => metrics.refused("size"),
            _ => {}
        }
    }
}
