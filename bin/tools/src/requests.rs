//! The door of HTTP requests, for their records, metrics, traces and limits.

mod access;
pub(crate) mod exports;
mod limits;
pub(crate) mod open_paths;
mod statements;

use std::sync::Arc;

use axum::{
    BoxError,
    body::{Body, Bytes},
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use http::{Extensions, StatusCode};
use ziggurat_audit::{Verdict, request_method};
use ziggurat_calls::{
    Call, Caller, RecordRule, Target,
    activity::Begin,
    http::{HasRecord, add_trace_id, audit_unavailable},
    limits::Allowance,
};
use ziggurat_http::Refusal;
use ziggurat_mcp::NotAdmitted;
use ziggurat_tokens::LocalCaller;

use crate::{catalogue::current::CurrentCatalogue, interface::ENDPOINTS, observation::metrics};

pub(crate) use self::{access::is_export, statements::observe_statement};

/// Name of a request that is not described: its path is made up by a client. Metrics count it as
/// `other`.
const OTHER_ROUTE: &str = "_OTHER";

/// Reads that pages repeat for their frame. They are not calls, so they have no record.
const FRAME: &[&str] = &["GET /api/databases", "GET /api/console/session"];

/// Begins the calls of requests to `/api`, and applies the limits and the toolsets of their callers.
#[derive(Clone)]
pub(crate) struct Door {
    pub(crate) catalogue: CurrentCatalogue,
    /// The caller without an identity.
    pub(crate) local: LocalCaller,
}

// === impl Door ===

impl Door {
    /// Returns whether there is anything to do.
    pub(crate) fn is_on(&self) -> bool {
        self.catalogue.get().calls.is_on()
    }

    /// Reads the caller of a request.
    fn caller<T>(&self, extensions: &Extensions, read: impl FnOnce(&Caller<'_>) -> T) -> T {
        read(&Caller::of(extensions).with_local(&self.local.get()))
    }

    /// Records a request to what its caller does not see, if there is an audit trail.
    pub(crate) fn record_hidden<B>(&self, request: &http::Request<B>) {
        let catalogue = self.catalogue.of(request.extensions());
        if catalogue.calls.audit.is_none() {
            return;
        }
        let target = Target {
            method: &target(request),
            recorded: RecordRule::Always,
            ..REQUEST
        };
        let calls = &catalogue.calls;
        let call = self.caller(request.extensions(), |caller| {
            calls.begin(caller, &target, calls.facts(request), None)
        });
        call.hide();
        call.end_by_status(Verdict::Unknown, StatusCode::NOT_FOUND);
    }

    /// Begins the call of a request, and gives its handler the trace.
    fn begin(
        &self,
        request: &mut Request,
        allowance: Option<Arc<Allowance>>,
        followed: Option<Begin<'_>>,
    ) -> Call {
        let catalogue = self.catalogue.of(request.extensions());
        let calls = &catalogue.calls;
        if !calls.observes(allowance.is_some(), followed.is_some()) {
            return Call::off();
        }
        let method = target(request);
        let target = Target {
            route: metrics::described(&method).unwrap_or(OTHER_ROUTE),
            method: &method,
            recorded: if FRAME.contains(&&*method) {
                RecordRule::Never
            } else {
                RecordRule::Always
            },
            is_measured: true,
            followed,
            ..REQUEST
        };
        let call = self.caller(request.extensions(), |caller| {
            calls.begin(caller, &target, calls.facts(request), allowance)
        });
        if calls.tracer.is_on() {
            request.extensions_mut().insert(call.trace());
        }
        call
    }

    /// Gives a request an id, which its response and its record have, and counts it. The refusal of
    /// its token is recorded, because an unauthenticated request is not a call.
    pub(crate) fn identify<B, C>(
        &self,
        request: &mut http::Request<B>,
    ) -> impl FnOnce(http::Response<C>) -> http::Response<C> + use<B, C> {
        self.catalogue.get().calls.identify(ENDPOINTS, request)
    }
}

/// The parts that the targets of all requests share.
const REQUEST: Target<'_> = Target {
    endpoint: "/api",
    ..Target::none()
};

/// Begins a call for a request, and refuses it if it cannot be recorded although it has to be.
pub(crate) async fn observe_request(
    State(door): State<Door>,
    mut request: Request,
    next: Next,
) -> Response {
    let call = door.begin(&mut request, None, None);
    if call.open().await.is_err() {
        let response = unavailable();
        call.end_by_status(Verdict::Failed, response.status());
        return response;
    }
    let mut response = next.run(request).await;
    let status = response.status();
    add_trace_id(&mut response, &call);
    if call.record().is_some() {
        response.extensions_mut().insert(HasRecord);
    }
    call.end_by_status(Verdict::of(status), status);
    response
}

/// Records a request for the statements of all callers. Programs ask for their own ones every few
/// seconds, and these requests are not recorded.
pub(crate) async fn observe_list(door: State<Door>, request: Request, next: Next) -> Response {
    if ziggurat_calls::activity::is_for_all(request.uri()) {
        observe_request(door, request, next).await
    } else {
        next.run(request).await
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
    <Refusal>::from(audit_unavailable()).into_response()
}

/// Returns the method and the path of a request.
fn target<B>(request: &http::Request<B>) -> String {
    request_method(request.method().as_str(), request.uri().path())
}
