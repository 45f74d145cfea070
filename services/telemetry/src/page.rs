//! The page `/metrics`.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use tower_service::Service;

use crate::{accept::Format, metrics::Metrics, scrape};

/// Path of the page.
const PATH: &str = "/metrics";

/// Service that answers `GET` and `HEAD` of `/metrics`; it has no other path.
///
/// Which hosts may ask is decided by the layers in front of it.
#[derive(Clone, Debug)]
pub struct MetricsService {
    metrics: Metrics,
}

// === impl Metrics ===

impl Metrics {
    /// Returns the page in the format that the `Accept` headers of a request ask for: Prometheus
    /// text, or OpenMetrics if they prefer it. There is no page while metrics are off.
    #[must_use]
    pub fn page(&self, headers: &HeaderMap) -> Response<Bytes> {
        let format = Format::choose(headers);
        let page = self.state().map(|state| scrape::page(state, format));
        let Some(page) = page else {
            return empty(StatusCode::NOT_FOUND);
        };
        let Ok(page) = page else {
            return empty(StatusCode::INTERNAL_SERVER_ERROR);
        };
        let mut response = Response::new(Bytes::from(page));
        let content_type = HeaderValue::from_static(format.content_type());
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, content_type);
        headers.insert(header::VARY, HeaderValue::from_static("accept"));
        response
    }
}

// === impl MetricsService ===

impl MetricsService {
    /// Creates the service that answers with the page of `metrics`.
    #[must_use]
    pub const fn new(metrics: Metrics) -> Self {
        Self { metrics }
    }

    fn answer<B>(&self, request: &Request<B>) -> Response<Bytes> {
        if request.uri().path() != PATH {
            return empty(StatusCode::NOT_FOUND);
        }
        if *request.method() != Method::GET && *request.method() != Method::HEAD {
            let mut response = empty(StatusCode::METHOD_NOT_ALLOWED);
            let allowed = HeaderValue::from_static("GET, HEAD");
            response.headers_mut().insert(header::ALLOW, allowed);
            return response;
        }
        let mut response = self.metrics.page(request.headers());
        let length = HeaderValue::from(response.body().len());
        response
            .headers_mut()
            .insert(header::CONTENT_LENGTH, length);
        if *request.method() == Method::HEAD {
            response.body_mut().clear();
        }
        response
    }
}

impl<B> Service<Request<B>> for MetricsService {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        ready(Ok(self.answer(&request).map(Full::new)))
    }
}

fn empty(status: StatusCode) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = status;
    response
}
