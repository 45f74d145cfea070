//! The revision of a call, and the checks of a request.
//!
//! [`ProtocolLayer`] wraps a service of calls, inside the JSON-RPC layer. It reads the revision and
//! the headers of a request, refuses requests that contradict themselves, and puts a [`Context`]
//! into the extensions of the others; the service answers in the revision of the context. No state
//! is kept between calls over HTTP.
//!
//! ```
//! use bytes::Bytes;
//! use http::Request;
//! use http_body_util::{BodyExt as _, Full};
//! use tower::{ServiceBuilder, ServiceExt as _};
//! use ziggurat_layers::json_rpc::JsonRpcLayer;
//! use ziggurat_mcp::{Mcp, Prompts, Resources, ServerInfo, Tools, protocol::{self, ProtocolLayer}};
//!
//! # tokio_test::block_on(async {
//! let about = ServerInfo::new("example", "1.0.0");
//! let mcp = Mcp::new(&about, Tools::new(), Resources::new(), Prompts::new())?;
//! let server = ServiceBuilder::new()
//!     .layer(JsonRpcLayer::new().with_dialect_of(protocol::dialect_of))
//!     .layer(ProtocolLayer::http())
//!     .service(mcp);
//!
//! let call = r#"{"jsonrpc":"2.0","id":1,"method":"initialize",
//!     "params":{"protocolVersion":"2025-06-18","capabilities":{}}}"#;
//! let response = server.oneshot(Request::post("/").body(Full::<Bytes>::from(call))?).await?;
//! let body = response.into_body().collect().await?.to_bytes();
//! assert!(body.starts_with(br#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18""#));
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # Modern and legacy requests
//!
//! A request is *modern* if the header `MCP-Protocol-Version` names none of the four revisions that
//! start with `initialize`, or if its params name a revision; otherwise it is *legacy*, of the
//! revision of the header, or of 2025-03-26 without one. A modern request is checked in this order,
//! and the first failure is the answer:
//!
//! | Check | Error |
//! | --- | --- |
//! | `params._meta` names a revision and the capabilities of the client | -32602 |
//! | the headers match the message ([HTTP](ProtocolLayer::http) only) | -32020 |
//! | the revision is 2026-07-28 | -32022 |
//! | the members of `_meta` have their types | -32602 |
//!
//! Over [stdio](ProtocolLayer::stdio) there are no headers. There a legacy call is answered exactly
//! as in revision 2024-11-05, unless the server [negotiates](ProtocolLayer::with_negotiation).

mod context;
mod envelope;
pub(super) mod error;
mod revision;
#[cfg(test)]
mod tests;

use std::{
    convert::Infallible,
    fmt,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context as Wake, Poll, ready},
};

use http::{HeaderMap, StatusCode, request::Parts};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;
use ziggurat_layers::{
    json_rpc::{Batches, Call, Dialect, Error, Reply},
    mcp::routing,
};

use crate::notify::{Notifier, Progress};

use self::envelope::Envelope;
pub(crate) use self::revision::Revisions;
pub use self::{
    context::{Capabilities, Context},
    revision::Revision,
};

/// Limit on messages in a batch.
const MAX_BATCH: usize = 32;

/// Determines the revision of calls, and refuses requests that contradict themselves.
#[derive(Clone, Debug)]
#[must_use]
pub struct ProtocolLayer {
    is_http: bool,
    /// The index of the revision that the client chose; over stdio there is only one client.
    chosen: Option<Arc<AtomicUsize>>,
    revisions: Revisions,
}

/// Service made by [`ProtocolLayer`].
#[derive(Clone, Debug)]
pub struct Protocol<S> {
    inner: S,
    layer: ProtocolLayer,
}

pin_project! {
    /// Response future of [`Protocol`].
    pub struct ResponseFuture<F> {
        #[pin]
        state: ReplyState<F>,
        status: Option<Status>,
    }
}

pin_project! {
    #[project = ReplyStateProj]
    enum ReplyState<F> {
        Refused { error: Option<Error> },
        Serving { #[pin] reply: F },
    }
}

/// Returns the JSON-RPC dialect of an endpoint for all revisions, by the head of a request.
///
/// Only one revision has batches. A request refused before its revision is known gets status 400;
/// an unknown id is left out.
pub fn dialect_of(head: &Parts) -> Dialect {
    let dialect = Dialect::new()
        .with_strict_ids()
        .with_responses_ignored()
        .with_unknown_id_omitted();
    match header_revision(&head.headers) {
        HeaderRevision::Nothing | HeaderRevision::Legacy(Revision::V2025_03_26) => dialect
            .with_batches(Batches::new(MAX_BATCH))
            .with_error_status(legacy_framing),
        HeaderRevision::Legacy(_) => dialect.with_error_status(legacy_framing),
        HeaderRevision::Modern => dialect.with_error_status(routing::status),
    }
}

/// The revision that the header names.
enum HeaderRevision {
    Nothing,
    Legacy(Revision),
    Modern,
}

fn header_revision(headers: &HeaderMap) -> HeaderRevision {
    let mut values = headers.get_all(routing::PROTOCOL_VERSION).iter();
    let Some(first) = values.next() else {
        return HeaderRevision::Nothing;
    };
    match Revision::legacy(first.as_bytes().trim_ascii()) {
        // A request with two different values is left to the later checks, which refuse it.
        Some(revision) if values.all(|other| other == first) => HeaderRevision::Legacy(revision),
        _ => HeaderRevision::Modern,
    }
}

/// Returns the status of framing errors in legacy revisions: 400 only for a malformed request.
fn legacy_framing(error: &Error) -> StatusCode {
    if error.code() == Error::INVALID_PARAMS {
        StatusCode::OK
    } else {
        StatusCode::BAD_REQUEST
    }
}

fn legacy_status(_: &Error) -> StatusCode {
    StatusCode::OK
}

// === impl ProtocolLayer ===

impl ProtocolLayer {
    /// Makes a layer for calls over HTTP.
    pub fn http() -> Self {
        Self {
            is_http: true,
            chosen: None,
            revisions: Revisions::all(),
        }
    }

    /// Makes a layer for calls over stdio.
    pub fn stdio() -> Self {
        Self {
            is_http: false,
            chosen: None,
            revisions: Revisions::all(),
        }
    }

    /// Sets whether an `initialize` over stdio chooses the revision of the calls after it. All
    /// services made by clones of this layer share the choice.
    pub fn with_negotiation(mut self, is_on: bool) -> Self {
        let first = Revision::WITHOUT_HEADER as usize;
        self.chosen = is_on.then(|| Arc::new(AtomicUsize::new(first)));
        self
    }

    /// Sets the revisions that are answered.
    #[cfg(any(feature = "http", feature = "stdio"))]
    pub(crate) fn with_revisions(mut self, revisions: Revisions) -> Self {
        self.revisions = revisions;
        self
    }

    /// Returns the context of a call, or the error and the status of a refused call.
    fn admit(&self, call: &Call) -> Result<Context, (Error, Option<Status>)> {
        let header_revision = if self.is_http {
            header_revision(&call.head().headers)
        } else {
            HeaderRevision::Nothing
        };
        let mut is_modern = matches!(header_revision, HeaderRevision::Modern);
        let outcome = Envelope::read(call).and_then(|envelope| {
            is_modern |= envelope.is_modern();
            match header_revision {
                _ if is_modern => self.modern(call, envelope),
                HeaderRevision::Legacy(revision) => self.legacy(call, envelope, revision),
                _ if self.is_http => self.legacy(call, envelope, Revision::WITHOUT_HEADER),
                _ => self.on_stdio(call, envelope),
            }
        });
        outcome.map_err(|error| (error, self.status(is_modern)))
    }

    /// Returns the function that computes the HTTP status of errors.
    fn status(&self, is_modern: bool) -> Option<Status> {
        let status: Status = if is_modern {
            routing::status
        } else {
            legacy_status
        };
        self.is_http.then_some(status)
    }

    fn modern(&self, call: &Call, envelope: Envelope<'_>) -> Result<Context, Error> {
        if call.is_batched() {
            let problem = "batches are not accepted in this revision";
            return Err(Error::invalid_request().with_data(problem));
        }
        envelope.check_presence()?;
        if self.is_http {
            let method = call.method();
            let (version, subject) = (envelope.version(), envelope.subject(method));
            let headers = &call.head().headers;
            routing::check(headers, method, version.as_deref(), subject.as_deref())?;
        }
        envelope.check_version(self.revisions)?;
        Ok(Context {
            capabilities: envelope.check_types()?,
            ..self.context(call, envelope, Revision::V2026_07_28)
        })
    }

    fn legacy(
        &self,
        call: &Call,
        envelope: Envelope<'_>,
        revision: Revision,
    ) -> Result<Context, Error> {
        if call.method() != "initialize" {
            if !self.revisions.contains(revision) {
                return Err(error::unsupported(revision.as_str(), self.revisions));
            }
            return Ok(self.context(call, envelope, revision));
        }
        if call.is_batched() {
            let problem = "`initialize` must not be in a batch";
            return Err(Error::invalid_request().with_data(problem));
        }
        let revision = envelope.negotiated(self.revisions)?;
        Ok(self.context(call, envelope, revision))
    }

    fn on_stdio(&self, call: &Call, envelope: Envelope<'_>) -> Result<Context, Error> {
        if call.method() == "server/discover" {
            envelope.check_presence()?;
        }
        let Some(chosen) = &self.chosen else {
            return Ok(Context {
                params: envelope.positions(),
                ..Context::default()
            });
        };
        if call.method() == "initialize" {
            let revision = envelope.negotiated(self.revisions)?;
            chosen.store(revision as usize, Ordering::Relaxed);
        }
        let revision = Revision::ALL[chosen.load(Ordering::Relaxed)];
        self.legacy(call, envelope, revision)
    }

    fn context(&self, call: &Call, envelope: Envelope<'_>, revision: Revision) -> Context {
        let notifier = call.head().extensions.get::<Notifier>().cloned();
        let token = notifier.as_ref().and_then(|_| envelope.progress_token());
        Context {
            revision,
            is_negotiated: true,
            is_http: self.is_http,
            capabilities: Capabilities::default(),
            progress: notifier
                .clone()
                .zip(token)
                .map(|(notifier, token)| Arc::new(Progress::new(notifier, token))),
            notifier,
            wants_log: envelope.wants_log(),
            params: envelope.positions(),
        }
    }
}

/// Computes the HTTP status of an error.
type Status = fn(&Error) -> StatusCode;

impl<S> Layer<S> for ProtocolLayer {
    type Service = Protocol<S>;

    fn layer(&self, inner: S) -> Protocol<S> {
        Protocol {
            inner,
            layer: self.clone(),
        }
    }
}

// === impl Protocol ===

impl<S, T> Service<Call> for Protocol<S>
where
    S: Service<Call, Response = Reply<T>, Error = Infallible>,
{
    type Response = Reply<T>;
    type Error = Infallible;
    type Future = ResponseFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Wake<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut call: Call) -> Self::Future {
        if call.is_notification() {
            let reply = self.inner.call(call);
            let state = ReplyState::Serving { reply };
            let status = None;
            return ResponseFuture { state, status };
        }
        match self.layer.admit(&call) {
            Ok(context) => {
                let status = self.layer.status(context.revision.is_modern());
                call.head_mut().extensions.insert(context);
                let reply = self.inner.call(call);
                let state = ReplyState::Serving { reply };
                ResponseFuture { state, status }
            }
            Err((error, status)) => {
                let error = Some(error);
                let state = ReplyState::Refused { error };
                ResponseFuture { state, status }
            }
        }
    }
}

// === impl ResponseFuture ===

impl<F, T> Future for ResponseFuture<F>
where
    F: Future<Output = Result<Reply<T>, Infallible>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Wake<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let reply = match this.state.project() {
            ReplyStateProj::Refused { error } => {
                Reply::from(error.take().expect("not polled after it is ready"))
            }
            ReplyStateProj::Serving { reply } => {
                let Ok(reply) = ready!(reply.poll(cx));
                reply
            }
        };
        let status = match (reply.error(), *this.status) {
            // A scope is missing: the header of the response names it.
            _ if reply.status() == Some(StatusCode::FORBIDDEN) => return Poll::Ready(Ok(reply)),
            (Some(error), Some(status)) => status(error),
            _ => return Poll::Ready(Ok(reply)),
        };
        Poll::Ready(Ok(reply.with_status(status)))
    }
}

impl<F> fmt::Debug for ResponseFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
