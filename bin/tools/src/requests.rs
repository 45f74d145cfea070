//! Observation of HTTP requests, for the audit trail and the metrics.

use std::{net::IpAddr, time::Instant};

use axum::{
    BoxError,
    body::{Body, Bytes},
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use http::{HeaderName, HeaderValue, Method, StatusCode, Uri, header::RETRY_AFTER};
use ziggurat_accounts::Identity;
use ziggurat_audit::{Audit, Call as AuditCall, CallStart, Caller, Verdict};
use ziggurat_http::{Refusal, count_request};
use ziggurat_layers::{client_ip::ClientIp, sanitize::RequestId};
use ziggurat_mcp::NotAdmitted;
use ziggurat_telemetry::{Call as EndedCall, Metrics};

use crate::{
    calls::{RETRY_SECONDS, digits, kind, named},
    metrics,
};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Longest recorded path, in bytes.
const LONGEST: usize = 200;

/// The paths under which the server is reached, the longest of each first.
pub(crate) const FACES: &[&str] = &["/mcp/v1", "/mcp", "/api", "/health", "/ready"];

/// Observes requests to `/api` for the audit trail and the metrics.
#[derive(Clone, Debug)]
pub(crate) struct RequestObserver {
    pub(crate) audit: Option<Audit>,
    pub(crate) metrics: Metrics,
    /// True if requests get an id.
    pub(crate) has_ids: bool,
}

// === impl RequestObserver ===

impl RequestObserver {
    /// Returns whether there is anything to do.
    pub(crate) fn is_on(&self) -> bool {
        self.metrics.is_on() || self.has_ids
    }

    /// Records a request to what its caller does not see, if there is an audit trail.
    pub(crate) fn record_hidden<B>(&self, request: &http::Request<B>) {
        if let Some(record) = self.record(request) {
            record.hidden();
            record.code(StatusCode::NOT_FOUND.as_str());
            record.end(Verdict::Unknown);
        }
    }

    /// Begins the record of a request, if there is an audit trail.
    fn record<B>(&self, request: &http::Request<B>) -> Option<AuditCall> {
        let audit = self.audit.as_ref()?;
        let identity = request.extensions().get::<Identity>();
        let digits = digits(identity);
        let id = request.extensions().get::<RequestId>();
        Some(audit.begin(&CallStart {
            request_id: id.map_or("", RequestId::as_str),
            transport: "http",
            face: "/api",
            caller: Caller {
                ip: client_ip(request),
                ..named(identity, &digits)
            },
            method: &target(request.method(), request.uri()),
            ..CallStart::default()
        }))
    }

    /// Gives a request an id, which its response and its record have, and counts it. The refusal of its token is recorded, because an unauthenticated request is no call.
    pub(crate) fn identify<B, C>(
        &self,
        request: &mut http::Request<B>,
    ) -> impl FnOnce(http::Response<C>) -> http::Response<C> + use<B, C> {
        let count = self
            .metrics
            .is_on()
            .then(|| count_request(self.metrics.clone(), FACES, request));
        let id = self.has_ids.then(|| {
            let given = request.extensions().get().cloned();
            let id: RequestId = given.unwrap_or_else(RequestId::generate);
            request.extensions_mut().insert(id.clone());
            id
        });
        // The target is written only if it is needed.
        let recorded = self.audit.clone().map(|audit| {
            let target = (request.method().clone(), request.uri().clone());
            (audit, target, client_ip(request))
        });
        move |mut response| {
            if let Some(count) = count {
                count(&response);
            }
            if let Some((audit, (method, uri), ip)) = recorded
                && response.status() == StatusCode::UNAUTHORIZED
            {
                let method = target(&method, &uri);
                audit.denied(&CallStart {
                    request_id: id.as_ref().map_or("", RequestId::as_str),
                    transport: "http",
                    method: &method,
                    caller: Caller {
                        ip,
                        ..Caller::default()
                    },
                    ..CallStart::default()
                });
            }
            let value = id.and_then(|id| HeaderValue::from_str(id.as_str()).ok());
            if let Some(value) = value {
                response.headers_mut().entry(REQUEST_ID).or_insert(value);
            }
            response
        }
    }
}

/// Records and measures a request, and refuses it if it cannot be recorded although it has to be.
pub(crate) async fn observe_request(
    State(observer): State<RequestObserver>,
    request: Request,
    next: Next,
) -> Response {
    let began = Instant::now();
    let record = observer.record(&request);
    if let Some(record) = &record
        && record.open().await.is_err()
    {
        return unavailable();
    }
    let method = target(request.method(), request.uri());
    let caller_kind = kind(request.extensions().get());
    let response = next.run(request).await;
    let status = response.status();
    let verdict = verdict(status);
    observer.metrics.call_ended(&EndedCall {
        method: metrics::described(&method).unwrap_or("other"),
        verdict: verdict.as_str(),
        caller_kind,
        duration: began.elapsed(),
        ..EndedCall::default()
    });
    if let Some(record) = record {
        if !status.is_success() {
            record.code(status.as_str());
        }
        record.end(verdict);
    }
    response
}

/// Replaces the reply to a call that could not be recorded.
pub(crate) fn show_unavailable<B>(response: http::Response<B>) -> Response
where
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    if response.extensions().get::<NotAdmitted>().is_some() {
        return unavailable();
    }
    response.map(Body::new)
}

/// Returns the answer to a request that may not run without a record.
fn unavailable() -> Response {
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let refusal = <Refusal>::new(status, "audit_unavailable", "Audit is unavailable");
    let mut response = refusal.into_response();
    let seconds = HeaderValue::from(RETRY_SECONDS);
    response.headers_mut().insert(RETRY_AFTER, seconds);
    response
}

/// Returns the method and the path of a request.
fn target(method: &Method, uri: &Uri) -> String {
    let path = uri.path();
    let path = &path[..path.floor_char_boundary(LONGEST)];
    format!("{method} {path}")
}

fn client_ip<B>(request: &http::Request<B>) -> Option<IpAddr> {
    request.extensions().get().map(ClientIp::client)
}

fn verdict(status: StatusCode) -> Verdict {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Verdict::Denied,
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => Verdict::Unknown,
        StatusCode::TOO_MANY_REQUESTS => Verdict::Limited,
        status if status.is_server_error() => Verdict::Failed,
        status if status.is_client_error() => Verdict::Refused,
        _ => Verdict::Ok,
    }
}
