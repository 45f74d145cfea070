//! Observation of HTTP requests, for the audit trail, the metrics and the traces.

mod access;
mod statements;

use std::{net::IpAddr, time::Instant};

use axum::{
    BoxError,
    body::{Body, Bytes},
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, StatusCode, header::RETRY_AFTER};
use ziggurat_audit::{Audit, CallEnd, CallStart, Caller, Record, Verdict, request_method};
use ziggurat_calls::activity::Activity;
use ziggurat_http::{Refusal, count_request, request_id, send_request_id};
use ziggurat_layers::{
    client_ip::ClientIp,
    sanitize::{RequestId, TraceId},
};
use ziggurat_mcp::NotAdmitted;
use ziggurat_telemetry::{
    EndedCall, Metrics,
    traces::{Incoming, ServerSpan, Trace, Tracer, Transport},
};
use ziggurat_tokens::{Identity, LocalCaller};

use crate::{
    callers::{kind, named},
    current::CurrentCatalogue,
    interface::{ENDPOINTS, RETRY_SECONDS},
    metrics,
};

pub(crate) use self::{
    access::{RequestAccess, is_export},
    statements::observe_statement,
};

/// Name of the span of a request that is not described: its path is made up by a client.
const OTHER_ROUTE: &str = "_OTHER";

/// Reads that pages repeat for their frame. They are not calls, so they have no record.
const FRAME: &[&str] = &["GET /api/databases", "GET /api/console/session"];

/// Observes requests to `/api` for the audit trail, the metrics and the traces.
#[derive(Clone)]
pub(crate) struct RequestObserver {
    pub(crate) catalogue: CurrentCatalogue,
    /// The caller without an identity.
    pub(crate) local: LocalCaller,
    pub(crate) audit: Option<Audit>,
    /// The list of running statements, if there is one.
    pub(crate) activity: Option<Activity>,
    pub(crate) metrics: Metrics,
    pub(crate) tracer: Tracer,
    /// True if requests get an id, with comments or without.
    pub(crate) has_ids: bool,
}

/// Marks the response to a request that has a record as a call, such as that of a failed sign-in.
#[derive(Clone, Copy)]
struct Recorded;

/// A request whose observation has begun.
struct BegunRequest {
    began: Instant,
    /// Method and path.
    method: String,
    /// The described request that it is, for metrics.
    route: &'static str,
    span: ServerSpan,
    record: Option<Record>,
    caller_kind: &'static str,
}

// === impl RequestObserver ===

impl RequestObserver {
    /// Returns whether there is anything to do.
    pub(crate) fn is_on(&self) -> bool {
        self.metrics.is_on() || self.has_ids
    }

    /// Records a request to what its caller does not see, if there is an audit trail.
    pub(crate) fn record_hidden<B>(&self, request: &http::Request<B>) {
        if let Some(record) = self.record(request, &Trace::off()) {
            record.hidden();
            record.end(CallEnd {
                code: StatusCode::NOT_FOUND.as_str(),
                ..Verdict::Unknown.into()
            });
        }
    }

    /// Begins the record of a request, if there is an audit trail.
    fn record<B>(&self, request: &http::Request<B>, trace: &Trace) -> Option<Record> {
        let audit = self.audit.as_ref()?;
        let trace_id = trace.id().map(|id| id.to_string());
        let identity = request.extensions().get::<Identity>();
        let local = self.local.get();
        let id = request.extensions().get::<RequestId>();
        Some(audit.begin(&CallStart {
            request_id: id.map_or("", RequestId::as_str),
            trace_id: trace_id.as_deref().unwrap_or_default(),
            transport: "http",
            endpoint: "/api",
            caller: Caller {
                ip: client_ip(request),
                ..named(identity, &local)
            },
            method: &target(request),
            ..CallStart::default()
        }))
    }

    /// Begins the observation of a request.
    fn begin(&self, request: &mut Request) -> BegunRequest {
        let began = Instant::now();
        let method = target(request);
        let described = metrics::described(&method);
        let span = self.begin_span(request, described.unwrap_or(OTHER_ROUTE));
        let is_call = !FRAME.contains(&&*method);
        let record = is_call.then(|| self.record(request, span.trace()));
        BegunRequest {
            began,
            method,
            route: described.unwrap_or("other"),
            span,
            record: record.flatten(),
            caller_kind: kind(request.extensions().get(), &self.local.get()),
        }
    }

    /// Begins the span of a request, below that of its caller, and gives its handler the trace.
    fn begin_span(&self, request: &mut Request, route: &str) -> ServerSpan {
        if !self.tracer.is_on() {
            return ServerSpan::default();
        }
        let has_identity = request.extensions().get::<Identity>().is_some();
        let incoming = Incoming::default().with_headers(request.headers());
        let mut span = self.tracer.begin(route, incoming, has_identity);
        span.set_transport(Transport::Tcp);
        // Replaced at the end, which a client that leaves does not wait for.
        span.set_verdict(Verdict::Cancelled.as_str());
        request.extensions_mut().insert(span.trace().clone());
        span
    }

    /// Gives a request an id, which its response and its record have, and counts it. The refusal of its token is recorded, because an unauthenticated request is no call.
    pub(crate) fn identify<B, C>(
        &self,
        request: &mut http::Request<B>,
    ) -> impl FnOnce(http::Response<C>) -> http::Response<C> + use<B, C> {
        let count = self
            .metrics
            .is_on()
            .then(|| count_request(self.metrics.clone(), ENDPOINTS, request));
        let has_ids = self.has_ids || self.catalogue.get().has_comments();
        let id = has_ids.then(|| request_id(request));
        let audit = self.audit.as_ref();
        let watched = audit.map(|audit| audit.watch(request, client_ip(request)));
        move |mut response| {
            if let Some(count) = count {
                count(&response);
            }
            if let Some(watched) = watched
                && response.status() == StatusCode::UNAUTHORIZED
                && response.extensions().get::<Recorded>().is_none()
            {
                watched.denied(id.as_ref().map_or("", RequestId::as_str));
            }
            if let Some(id) = id {
                send_request_id(&mut response, &id);
            }
            response
        }
    }
}

/// Records and measures a request, and refuses it if it cannot be recorded although it has to be.
pub(crate) async fn observe_request(
    State(observer): State<RequestObserver>,
    mut request: Request,
    next: Next,
) -> Response {
    let BegunRequest {
        began,
        route,
        span,
        record,
        caller_kind,
        ..
    } = observer.begin(&mut request);
    if let Some(record) = &record
        && record.open().await.is_err()
    {
        let response = unavailable();
        end_span(span, response.status(), Verdict::Failed);
        return response;
    }
    let mut response = next.run(request).await;
    let status = response.status();
    let verdict = verdict(status);
    add_trace_id(&mut response, &span);
    end_span(span, status, verdict);
    observer.metrics.call_ended(&EndedCall {
        method: route,
        verdict: verdict.as_str(),
        caller_kind,
        duration: began.elapsed(),
        ..EndedCall::default()
    });
    if let Some(record) = record {
        record.end(CallEnd {
            code: if status.is_success() {
                ""
            } else {
                status.as_str()
            },
            ..verdict.into()
        });
        response.extensions_mut().insert(Recorded);
    }
    response
}

/// Records a request for the statements of all callers. Programs ask for their own ones every few
/// seconds, and these requests are not recorded.
pub(crate) async fn observe_list(
    observer: State<RequestObserver>,
    request: Request,
    next: Next,
) -> Response {
    if ziggurat_calls::activity::is_for_all(request.uri()) {
        observe_request(observer, request, next).await
    } else {
        next.run(request).await
    }
}

/// Gives a response the id of its trace, for the log of a fault.
fn add_trace_id(response: &mut Response, span: &ServerSpan) {
    if let Some(id) = span.trace().id() {
        let trace_id = TraceId::new(id.to_string());
        response.extensions_mut().insert(trace_id);
    }
}

/// Adds the end of a request to its span, and ends it.
fn end_span(mut span: ServerSpan, status: StatusCode, verdict: Verdict) {
    span.set_verdict(verdict.as_str());
    if !status.is_success() {
        span.set_error(status.as_str());
    }
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
fn target<B>(request: &http::Request<B>) -> String {
    request_method(request.method().as_str(), request.uri().path())
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
