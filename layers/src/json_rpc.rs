//! Turns HTTP requests, or lines, into JSON-RPC calls.
//!
//! [`JsonRpcLayer`] makes a `Service<Request<B>>` of a `Service<Call>`. It collects the body,
//! checks the message, passes each [`Call`] to the service and wraps its [`Reply`]. The service
//! sees methods and params; the layer handles ids, batches, notifications and malformed messages.
//! [`lines`] does the same for standard input and output.
//!
//! It does not interpret methods, requires no `Content-Type` or `Accept` header, compresses
//! nothing, and sends no requests of its own.
//!
//! ```
//! use std::convert::Infallible;
//! use bytes::Bytes;
//! use http::Request;
//! use http_body_util::{BodyExt as _, Full};
//! use tower::{ServiceBuilder, ServiceExt as _, service_fn};
//! use ziggurat_layers::json_rpc::{Call, Error, Json, JsonRpcLayer, Reply};
//!
//! fn add(call: &Call) -> Result<Json, Error> {
//!     let (a, b): (i64, i64) = call.params()?;
//!     Json::new(&(a + b)).map_err(|_| Error::internal_error())
//! }
//!
//! # tokio_test::block_on(async {
//! let service = ServiceBuilder::new()
//!     .layer(JsonRpcLayer::new())
//!     .service(service_fn(|call: Call| async move {
//!         let reply: Reply = match call.method() {
//!             "add" => add(&call).into(),
//!             _ => Error::method_not_found().into(),
//!         };
//!         Ok::<_, Infallible>(reply)
//!     }));
//!
//! let message = r#"{"jsonrpc":"2.0","id":"a1","method":"add","params":[2,3]}"#;
//! let request = Request::post("/").body(Full::<Bytes>::from(message))?;
//! let response = service.oneshot(request).await?;
//! let body = response.into_body().collect().await?.to_bytes();
//! assert_eq!(body, r#"{"jsonrpc":"2.0","id":"a1","result":5}"#);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # Answers
//!
//! | The request | Answer |
//! | --- | --- |
//! | is not a `POST` | 405 with `Allow: POST`, by the [`Render`] |
//! | has a body larger than [`with_max_bytes`](JsonRpcLayer::with_max_bytes) | 413, by the [`Render`] |
//! | has a body that breaks off | 400, by the [`Render`] |
//! | has a body that comes in too slowly | 408, by the [`Render`] ([`unreadable_body`](Rejection::unreadable_body)) |
//! | is not JSON, is too deep, or has a key twice in an object | -32700 |
//! | has no `"jsonrpc":"2.0"`, no `method`, or an `id` of the wrong type | -32600 |
//! | is a batch where none is accepted, an empty or an oversized one | -32600 |
//! | has `params` of the wrong type | -32602 |
//! | is a notification, or a batch of nothing else | 202 without a body, once the service is done |
//!
//! Different readers understand an object with a duplicate key differently, so it is refused. The
//! `data` of these errors names the problem and its position, and quotes nothing of the message.
//! Errors are sent with status 200 unless the [`Dialect`] or the [`Reply`] sets another.
//!
//! # Memory
//!
//! The body is held as one buffer: the frame itself if there is only one, and otherwise a buffer
//! for all frames. Calls share it. An ordinary call also costs the buffer of its answer, and
//! nothing for the checks. Checking a message with more than 32 keys in the objects that are open
//! costs up to 56 bytes for each of them; checking a batch, about a hundred bytes per call.
//! [`Batches`] limits the size of the answers to a batch.
//!
//! # Deployment
//!
//! - Put a body limit further out to refuse large bodies for all routes; the limit here is only for
//!   messages.
//! - The answers to a batch are sent as one response. Of the HTTP parts of its replies only the
//!   extensions are kept, and only one of each type.
//! - An error of a streamed result ends the response in the middle. The layer does not know its
//!   cause, so the service must log it. In a batch the call is answered with -32603 instead.

mod answer;
mod batch;
mod body;
mod call;
pub(crate) mod dialect;
pub(crate) mod envelope;
mod error;
mod id;
mod incoming;
pub mod lines;
mod reply;
pub(crate) mod scan;
#[cfg(test)]
mod tests;
pub(crate) mod text;

use std::{
    error::Error as StdError,
    fmt, mem,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header, request::Parts};
use http_body::Body;
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use crate::{
    collect::{Collect, Unreadable},
    reject::{ErrorString, Rejection, Render},
};

pub use self::{
    answer::{Answer, Answering},
    batch::{Batch, Batches},
    body::RpcBody,
    call::Call,
    dialect::Dialect,
    envelope::Envelope,
    error::Error,
    id::Id,
    incoming::{Incoming, Refusal},
    reply::{Json, NoStream, NotJson, Reply},
};

type BoxError = Box<dyn StdError + Send + Sync>;

const DEFAULT_MAX_BYTES: usize = 10 << 20;

/// Turns HTTP requests into JSON-RPC calls.
///
/// ```
/// use ziggurat_layers::json_rpc::{Batches, Dialect, JsonRpcLayer};
///
/// let layer = JsonRpcLayer::new()
///     .with_dialect(Dialect::new().with_batches(Batches::new(20)))
///     .with_max_bytes(1 << 20);
/// # let _ = layer;
/// ```
#[derive(Clone, Copy)]
#[must_use]
pub struct JsonRpcLayer<R = ErrorString> {
    dialect: Dialect,
    dialect_of: Option<fn(&Parts) -> Dialect>,
    max_bytes: usize,
    render: R,
}

/// Service made by [`JsonRpcLayer`].
///
/// ```
/// use tower::Layer as _;
/// use ziggurat_layers::json_rpc::{JsonRpc, JsonRpcLayer};
///
/// let service: JsonRpc<_> = JsonRpcLayer::new().layer("the service of the calls");
/// # let _ = service;
/// ```
#[derive(Clone, Copy)]
pub struct JsonRpc<S, R = ErrorString> {
    inner: S,
    dialect: Dialect,
    dialect_of: Option<fn(&Parts) -> Dialect>,
    max_bytes: usize,
    render: R,
}

pin_project! {
    /// Response future of [`JsonRpc`].
    ///
    /// ```
    /// use bytes::Bytes;
    /// use http::Request;
    /// use http_body_util::Full;
    /// use tower::{Layer as _, Service as _, service_fn};
    /// use ziggurat_layers::json_rpc::{Call, Error, JsonRpcLayer, Reply, ResponseFuture};
    ///
    /// # tokio_test::block_on(async {
    /// let mut service = JsonRpcLayer::new().layer(service_fn(|_: Call| async {
    ///     Ok::<_, std::convert::Infallible>(<Reply>::from(Error::method_not_found()))
    /// }));
    /// let future: ResponseFuture<_, _, _, _, _> = service.call(Request::new(Full::<Bytes>::default()));
    /// assert_eq!(future.await?.status(), 405);
    /// # Ok::<_, std::convert::Infallible>(())
    /// # }).unwrap();
    /// ```
    pub struct ResponseFuture<S, F, B, T, R> {
        #[pin]
        state: State<S, F, B, T>,
        dialect: Dialect,
        render: R,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<S, F, B, T> {
        Refused { refused: Refused },
        Collecting { #[pin] body: Collect<B>, rest: Option<(Parts, S)> },
        Answering { #[pin] answering: Answering<S, F, T> },
    }
}

/// The reason why a request contains no message.
#[derive(Debug)]
enum Refused {
    Method,
    Body(Unreadable),
}

// === impl JsonRpcLayer ===

impl JsonRpcLayer {
    /// Accepts messages of up to 10 MiB in the default [`Dialect`].
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::JsonRpcLayer;
    ///
    /// let layer = JsonRpcLayer::new();
    /// # let _ = layer;
    /// ```
    pub fn new() -> Self {
        Self {
            dialect: Dialect::new(),
            dialect_of: None,
            max_bytes: DEFAULT_MAX_BYTES,
            render: ErrorString,
        }
    }
}

impl Default for JsonRpcLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<R> JsonRpcLayer<R> {
    /// Sets which messages are accepted.
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::{Dialect, JsonRpcLayer};
    ///
    /// let layer = JsonRpcLayer::new().with_dialect(Dialect::new().with_strict_ids());
    /// # let _ = layer;
    /// ```
    pub fn with_dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = dialect;
        self
    }

    /// Sets which messages are accepted per request: a server that supports several revisions of a
    /// protocol reads the revision from a header.
    ///
    /// Takes precedence over [`with_dialect`](Self::with_dialect).
    ///
    /// ```
    /// use http::request::Parts;
    /// use ziggurat_layers::json_rpc::{Batches, Dialect, JsonRpcLayer};
    ///
    /// /// Accepts batches in the one revision of MCP that has them.
    /// fn dialect_of(head: &Parts) -> Dialect {
    ///     match head.headers.get("mcp-protocol-version") {
    ///         Some(revision) if revision == "2025-03-26" => {
    ///             Dialect::new().with_batches(Batches::new(20))
    ///         }
    ///         _ => Dialect::new(),
    ///     }
    /// }
    /// let layer = JsonRpcLayer::new().with_dialect_of(dialect_of);
    /// # let _ = layer;
    /// ```
    pub fn with_dialect_of(mut self, dialect_of: fn(&Parts) -> Dialect) -> Self {
        self.dialect_of = Some(dialect_of);
        self
    }

    /// Sets how large the body of a request may be.
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::JsonRpcLayer;
    ///
    /// let layer = JsonRpcLayer::new().with_max_bytes(64 << 10);
    /// # let _ = layer;
    /// ```
    pub fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Replaces the body of the refusals that are not JSON-RPC.
    ///
    /// ```
    /// use ziggurat_layers::{json_rpc::JsonRpcLayer, reject::Problem};
    ///
    /// // A `GET` is answered with a problem document.
    /// let layer = JsonRpcLayer::new().with_render(Problem);
    /// # let _ = layer;
    /// ```
    pub fn with_render<T>(self, render: T) -> JsonRpcLayer<T> {
        JsonRpcLayer {
            dialect: self.dialect,
            dialect_of: self.dialect_of,
            max_bytes: self.max_bytes,
            render,
        }
    }
}

impl<R> fmt::Debug for JsonRpcLayer<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonRpcLayer")
            .field("dialect", &self.dialect)
            .field("max_bytes", &self.max_bytes)
            .finish_non_exhaustive()
    }
}

impl<S, R: Clone> Layer<S> for JsonRpcLayer<R> {
    type Service = JsonRpc<S, R>;

    fn layer(&self, inner: S) -> Self::Service {
        JsonRpc {
            inner,
            dialect: self.dialect,
            dialect_of: self.dialect_of,
            max_bytes: self.max_bytes,
            render: self.render.clone(),
        }
    }
}

// === impl JsonRpc ===

impl<S: fmt::Debug, R> fmt::Debug for JsonRpc<S, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonRpc")
            .field("inner", &self.inner)
            .field("dialect", &self.dialect)
            .field("max_bytes", &self.max_bytes)
            .finish_non_exhaustive()
    }
}

impl<S, R, B, T> Service<Request<B>> for JsonRpc<S, R>
where
    S: Service<Call, Response = Reply<T>> + Clone,
    R: Render<RpcBody<T>> + Clone,
    B: Body<Error: Into<BoxError>>,
    T: Body<Data = Bytes>,
{
    type Response = Response<RpcBody<T>>;
    type Error = S::Error;
    type Future = ResponseFuture<S, S::Future, B, T, R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let mut dialect = self.dialect;
        let state = if request.method() == Method::POST {
            // The clone was never polled ready, so it stays here and the ready service is used.
            let clone = self.inner.clone();
            let inner = mem::replace(&mut self.inner, clone);
            let (head, body) = request.into_parts();
            if let Some(dialect_of) = self.dialect_of {
                dialect = dialect_of(&head);
            }
            State::Collecting {
                body: Collect::new(body, self.max_bytes),
                rest: Some((head, inner)),
            }
        } else {
            let refused = Refused::Method;
            State::Refused { refused }
        };
        ResponseFuture {
            state,
            dialect,
            render: self.render.clone(),
        }
    }
}

// === impl ResponseFuture ===

impl<S, B, T, R> Future for ResponseFuture<S, S::Future, B, T, R>
where
    S: Service<Call, Response = Reply<T>>,
    B: Body<Error: Into<BoxError>>,
    T: Body<Data = Bytes>,
    R: Render<RpcBody<T>>,
{
    type Output = Result<Response<RpcBody<T>>, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let next = match this.state.as_mut().project() {
                StateProj::Refused { refused } => {
                    let rejection = refused.rejection();
                    return Poll::Ready(Ok(rejection.into_response(this.render)));
                }
                StateProj::Collecting { body, rest } => match ready!(body.poll(cx)) {
                    Ok(document) => {
                        let (head, service) = rest.take().expect("a message is passed on once");
                        let message = Request::from_parts(head, document);
                        let answering = this.dialect.read(message).answer(service);
                        State::Answering { answering }
                    }
                    Err(unreadable) => State::Refused {
                        refused: Refused::Body(unreadable),
                    },
                },
                StateProj::Answering { answering } => {
                    let answer = ready!(answering.poll(cx))?;
                    return Poll::Ready(Ok(answer.into_response()));
                }
            };
            this.state.set(next);
        }
    }
}

impl<S, F, B, T, R> fmt::Debug for ResponseFuture<S, F, B, T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}

// === impl Refused ===

impl Refused {
    fn rejection(&self) -> Rejection {
        match self {
            Self::Method => Rejection::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "method_not_allowed",
                "Method not allowed",
            )
            .with_header(header::ALLOW, HeaderValue::from_static("POST")),
            Self::Body(unreadable) => unreadable.rejection(),
        }
    }
}
