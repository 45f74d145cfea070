//! Calls over HTTP.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use axum::body::{Body, Bytes};
use http::{HeaderValue, Request, Response, StatusCode, header::RETRY_AFTER};
use http_body::{Body as HttpBody, Frame, SizeHint};
use ziggurat_http::{count_request, request_id, send_request_id};
use ziggurat_layers::{
    client_ip::ClientIp,
    reject::Rejection,
    sanitize::{RequestId, TraceId},
};
use ziggurat_telemetry::{Verdict, traces::Incoming};

use crate::{Call, Calls, ErrorReason, RequestFacts, limits::Refused};

/// Seconds after which a client may try again when no record can be written.
pub const RETRY_SECONDS: u16 = 5;

/// Marks the response to a request that has a record as a call, such as a failed sign-in.
#[derive(Clone, Copy, Debug)]
pub struct HasRecord;

/// The body of a response that ends its call.
struct EndingBody {
    inner: Body,
    call: Call,
    /// Bytes that were sent so far.
    bytes: u64,
}

/// Returns the refusal of a call that may not run without a record.
#[must_use]
pub fn audit_unavailable() -> Rejection {
    let status = StatusCode::SERVICE_UNAVAILABLE;
    Rejection::new(status, "audit_unavailable", "Audit is unavailable")
        .with_header(RETRY_AFTER, HeaderValue::from(RETRY_SECONDS))
}

/// Returns the refusal of a call for a limit of its caller.
#[must_use]
pub fn limited(refused: Refused, code: &'static str) -> Rejection {
    let rejection = Rejection::new(StatusCode::TOO_MANY_REQUESTS, code, refused.to_string());
    match refused.retry_after_seconds() {
        Some(seconds) => rejection.with_header(RETRY_AFTER, HeaderValue::from(seconds)),
        None => rejection,
    }
}

/// Gives a response the id of its trace, for the log of a fault.
pub fn add_trace_id<B>(response: &mut Response<B>, call: &Call) {
    if let Some(id) = call.trace().id() {
        let trace_id = TraceId::new(id.to_string());
        response.extensions_mut().insert(trace_id);
    }
}

/// Ends a call with its response: at once if the response is a refusal, else when the last byte of
/// its body was sent.
#[must_use]
pub fn end_with_body(call: Call, response: Response<Body>) -> Response<Body> {
    let status = response.status();
    if status.is_success() {
        return response.map(|inner| {
            let bytes = 0;
            Body::new(EndingBody { inner, call, bytes })
        });
    }
    let verdict = match (call.noted(), call.reason()) {
        (Some(noted @ (Verdict::Asked | Verdict::Cancelled)), _) => noted,
        (_, Some(ErrorReason::Limited(_))) => Verdict::Limited,
        _ => Verdict::of(status),
    };
    call.end_by_status(verdict, status);
    response
}

// === impl Calls ===

impl Calls {
    /// Reads the facts about a request that are noted of its call.
    pub fn facts<'a, B>(&self, request: &'a Request<B>) -> RequestFacts<'a> {
        let mut facts = RequestFacts::default();
        if self.has_request_ids() {
            facts.id = request.extensions().get().map_or("", RequestId::as_str);
        }
        if self.tracer.is_on() {
            facts.incoming = Incoming::default().with_headers(request.headers());
        }
        facts
    }

    /// Counts a request, and gives it an id if calls need one, which its response and its record
    /// have. The refusal of its token is recorded, because an unauthenticated request is not a
    /// call.
    pub fn identify<B, C>(
        &self,
        endpoints: &'static [&'static str],
        request: &mut Request<B>,
    ) -> impl FnOnce(Response<C>) -> Response<C> + use<B, C> {
        let is_counted = self.metrics.is_on();
        let count = is_counted.then(|| count_request(self.metrics.clone(), endpoints, request));
        let id = self.has_request_ids().then(|| request_id(request));
        let watched = self.audit.as_ref().map(|audit| {
            let address = request.extensions().get().map(ClientIp::client);
            audit.watch(request, address)
        });
        move |mut response| {
            if let Some(count) = count {
                count(&response);
            }
            if let Some(watched) = watched
                && response.status() == StatusCode::UNAUTHORIZED
                && response.extensions().get::<HasRecord>().is_none()
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

// === impl Call ===

impl Call {
    /// Ends the call with the status of its response.
    pub fn end_by_status(&self, verdict: Verdict, status: StatusCode) {
        let code = if status.is_success() {
            ""
        } else {
            status.as_str()
        };
        self.end(verdict, code);
    }
}

// === impl EndingBody ===

impl HttpBody for EndingBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        let frame = ready!(Pin::new(&mut this.inner).poll_frame(cx));
        if let Some(Ok(frame)) = &frame {
            let length = frame.data_ref().map_or(0, Bytes::len);
            this.bytes += length as u64;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for EndingBody {
    fn drop(&mut self) {
        // The rows go first, with what they note of their end.
        self.inner = Body::empty();
        let verdict = self.call.noted().unwrap_or(Verdict::Cancelled);
        self.call.end_with(verdict, self.bytes, "");
    }
}
