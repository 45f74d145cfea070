//! The way of a request from its body to the response.

use std::{
    fmt, mem,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header, request::Parts};
use http_body::Body;
use pin_project_lite::pin_project;
use tower_service::Service;

use crate::{
    collect::Collect,
    json_rpc::scan::Limits,
    mcp::{
        Access, BoxError, CheckedBody,
        calls::{self, Decision},
        response::{self, Listed, Received},
    },
    reject::{Rejection, Render},
};

pin_project! {
    /// Response future of [`McpPolicy`](crate::mcp::McpPolicy).
    ///
    /// Resolves to the response of the server, or of the layer. See the [module](crate::mcp) for an
    /// example.
    ///
    /// ```
    /// use tower::Service;
    /// use ziggurat_layers::mcp::{McpPolicy, ResponseFuture};
    ///
    /// fn call<S, A, R, Req, F>(policy: &mut McpPolicy<S, A, R>, request: Req) -> F
    /// where
    ///     McpPolicy<S, A, R>: Service<Req, Future = F>,
    /// {
    ///     policy.call(request)
    /// }
    /// # fn is_future<S, F, B, T, R>(_: ResponseFuture<S, F, B, T, R>) {}
    /// ```
    pub struct ResponseFuture<S, F, B, T, R> {
        #[pin]
        pub(super) state: State<S, F, B, T>,
        pub(super) limits: Limits,
        pub(super) max_list_bytes: usize,
        pub(super) render: R,
    }
}

pin_project! {
    #[project = StateProj]
    pub(super) enum State<S, F, B, T> {
        // Boxed: the rare case should not make the future larger.
        Refused { rejection: Box<Rejection> },
        Answered { status: StatusCode, body: Bytes },
        Collecting { #[pin] body: Collect<B>, pending: Option<Pending<S>> },
        Serving { #[pin] response: F, filter: Option<Access> },
        Filtering { #[pin] body: Collect<T>, listed: Option<Listed> },
    }
}

/// A request while its body is collected.
pub(super) struct Pending<S> {
    pub(super) head: Parts,
    pub(super) inner: S,
    pub(super) access: Access,
}

// === impl ResponseFuture ===

impl<S, B, T, R> Future for ResponseFuture<S, S::Future, B, T, R>
where
    S: Service<Request<CheckedBody>, Response = Response<T>>,
    B: Body<Error: Into<BoxError>>,
    T: Body<Error: Into<BoxError>> + From<Bytes>,
    R: Render<T>,
{
    type Output = Result<Response<T>, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let next = match this.state.as_mut().project() {
                StateProj::Refused { rejection } => {
                    let rejection = (**rejection).clone();
                    return Poll::Ready(Ok(rejection.into_response(this.render)));
                }
                StateProj::Answered { status, body } => {
                    return Poll::Ready(Ok(answer(*status, mem::take(body))));
                }
                StateProj::Collecting { body, pending } => match ready!(body.poll(cx)) {
                    Ok(document) => {
                        let pending = pending.take().expect("a body is collected once");
                        pending.decide(document, *this.limits)
                    }
                    Err(unreadable) => State::Refused {
                        rejection: Box::new(unreadable.rejection()),
                    },
                },
                StateProj::Serving { response, filter } => {
                    let response = ready!(response.poll(cx))?;
                    let Some(access) = filter.take() else {
                        return Poll::Ready(Ok(response));
                    };
                    match response::receive(response, access) {
                        Received::Complete(response) => return Poll::Ready(Ok(response)),
                        Received::List(listed, body) => State::Filtering {
                            body: Collect::new(body, *this.max_list_bytes),
                            listed: Some(listed),
                        },
                        Received::Unreadable => unreadable(),
                    }
                }
                StateProj::Filtering { body, listed } => {
                    let body = ready!(body.poll(cx));
                    let listed = listed.take().expect("a list is collected once");
                    let max_depth = this.limits.max_depth;
                    match body.ok().and_then(|body| listed.filter(body, max_depth)) {
                        Some(response) => return Poll::Ready(Ok(response)),
                        None => unreadable(),
                    }
                }
            };
            this.state.set(next);
        }
    }
}

fn unreadable<S, F, B, T>() -> State<S, F, B, T> {
    State::Refused {
        rejection: Box::new(response::unreadable()),
    }
}

fn answer<T: From<Bytes>>(status: StatusCode, body: Bytes) -> Response<T> {
    let has_body = !body.is_empty();
    let mut response = Response::new(T::from(body));
    *response.status_mut() = status;
    if has_body {
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
    }
    response
}

impl<S, F, B, T, R> fmt::Debug for ResponseFuture<S, F, B, T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}

// === impl Pending ===

impl<S> Pending<S>
where
    S: Service<Request<CheckedBody>>,
{
    fn decide<B, T>(mut self, document: Bytes, limits: Limits) -> State<S, S::Future, B, T> {
        let has_list = match calls::check(&self.head.headers, &document, &self.access, limits) {
            Decision::Pass { has_list } => has_list,
            Decision::Answer(status, body) => return State::Answered { status, body },
        };
        let filter = Some(self.access).filter(|access| has_list && access.hides_names());
        if filter.is_some() {
            let identity = HeaderValue::from_static("identity");
            self.head.headers.insert(header::ACCEPT_ENCODING, identity);
        }
        let request = Request::from_parts(self.head, CheckedBody::new(document));
        let response = self.inner.call(request);
        State::Serving { response, filter }
    }
}
