//! Turns a message into its answer.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::{Extensions, HeaderMap, Response, StatusCode};
use http_body::Body;
use pin_project_lite::pin_project;
use tower_service::Service;

use crate::json_rpc::{Call, Envelope, Reply, RpcBody, batch::RunningBatch};

/// The answer to a message; empty if the message needs none.
///
/// ```
/// use ziggurat_layers::json_rpc::{Answer, NoStream, RpcBody};
///
/// /// The lines that a server on standard output sends: none after a notification.
/// fn line(answer: Answer<NoStream>) -> Option<RpcBody<NoStream>> {
///     answer.into_body()
/// }
/// # let _ = line;
/// ```
#[must_use]
pub struct Answer<T> {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) extensions: Extensions,
    pub(super) body: Option<RpcBody<T>>,
}

pin_project! {
    /// Future of the [`Answer`] to a message.
    ///
    /// Fails only if the service does.
    ///
    /// ```
    /// use tower::Service;
    /// use ziggurat_layers::json_rpc::{Answering, Call, Incoming, NoStream, Reply};
    ///
    /// /// Prepares the answer of a service, for a task that waits for it.
    /// fn prepare<S>(incoming: Incoming, service: S) -> Answering<S, S::Future, NoStream>
    /// where
    ///     S: Service<Call, Response = Reply>,
    /// {
    ///     incoming.answer(service)
    /// }
    /// # let _ = prepare::<tower::util::BoxService<Call, Reply, ()>>;
    /// ```
    #[must_use = "futures do nothing unless polled"]
    pub struct Answering<S, F, T> {
        service: S,
        #[pin]
        state: State<F, T>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F, T> {
        Called { call: Option<Call> },
        Serving { envelope: Envelope, #[pin] reply: F },
        Batched { run: RunningBatch<F, T> },
        Answered { answer: Option<Answer<T>> },
    }
}

// === impl Answer ===

impl<T> Answer<T> {
    /// No answer, which is status 202 in HTTP.
    pub(super) fn none(extensions: Extensions) -> Self {
        Self {
            status: StatusCode::ACCEPTED,
            headers: HeaderMap::new(),
            extensions,
            body: None,
        }
    }

    /// Returns the bytes to send, if any: one JSON document without a line feed at the end.
    ///
    /// ```
    /// use http::Request;
    /// use http_body_util::BodyExt as _;
    /// use ziggurat_layers::json_rpc::{Dialect, Incoming, NoStream};
    ///
    /// # tokio_test::block_on(async {
    /// let Incoming::Refused(refusal) = Dialect::new().read(Request::new("[]".into())) else {
    ///     panic!("batches are refused");
    /// };
    /// let body = refusal.into_answer::<NoStream>().into_body().expect("an error has a body");
    /// let text = body.collect().await?.to_bytes();
    /// assert!(text.starts_with(br#"{"jsonrpc":"2.0","id":null,"error":"#));
    /// # Ok::<_, std::convert::Infallible>(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn into_body(self) -> Option<RpcBody<T>> {
        self.body
    }

    /// Converts the answer to an HTTP response.
    ///
    /// ```
    /// use http::{Request, StatusCode};
    /// use ziggurat_layers::json_rpc::{Dialect, Incoming, NoStream};
    ///
    /// let dialect = Dialect::new().with_error_status(|_| StatusCode::BAD_REQUEST);
    /// let Incoming::Refused(refusal) = dialect.read(Request::new("not JSON".into())) else {
    ///     panic!("not a call");
    /// };
    /// let response = refusal.into_answer::<NoStream>().into_response();
    /// assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    /// ```
    #[must_use]
    pub fn into_response(self) -> Response<RpcBody<T>> {
        let body = self.body.unwrap_or_else(|| RpcBody::from(Bytes::new()));
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        *response.extensions_mut() = self.extensions;
        response
    }
}

impl<T> fmt::Debug for Answer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer")
            .field("status", &self.status)
            .field("headers", &self.headers)
            .field("body", &self.body)
            .finish_non_exhaustive()
    }
}

// === impl Answering ===

impl<S, F, T> Answering<S, F, T> {
    pub(super) fn call(call: Call, service: S) -> Self {
        let call = Some(call);
        let state = State::Called { call };
        Self { service, state }
    }

    pub(super) fn batch(run: RunningBatch<F, T>, service: S) -> Self {
        let state = State::Batched { run };
        Self { service, state }
    }

    pub(super) fn ready(answer: Answer<T>, service: S) -> Self {
        let answer = Some(answer);
        let state = State::Answered { answer };
        Self { service, state }
    }
}

impl<S, T> Future for Answering<S, S::Future, T>
where
    S: Service<Call, Response = Reply<T>>,
    T: Body<Data = Bytes>,
{
    type Output = Result<Answer<T>, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            match this.state.as_mut().project() {
                StateProj::Called { call } => {
                    ready!(this.service.poll_ready(cx))?;
                    let call = call.take().expect("a call is passed on once");
                    let envelope = call.envelope();
                    let reply = this.service.call(call);
                    this.state.set(State::Serving { envelope, reply });
                }
                StateProj::Serving { envelope, reply } => {
                    let reply = ready!(reply.poll(cx))?;
                    return Poll::Ready(Ok(envelope.wrap(reply)));
                }
                StateProj::Batched { run } => return run.poll(this.service, cx),
                StateProj::Answered { answer } => {
                    return Poll::Ready(Ok(answer.take().expect("not polled after it is ready")));
                }
            }
        }
    }
}

impl<S, F, T> fmt::Debug for Answering<S, F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answering").finish_non_exhaustive()
    }
}
