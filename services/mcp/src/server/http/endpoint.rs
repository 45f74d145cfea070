//! The one path of a server.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use pin_project_lite::pin_project;
use tower_service::Service;
use ziggurat_layers::reject::{ErrorString, Rejection, Render};

/// Passes on POST requests to one path and refuses all others.
///
/// There is nothing for a client to GET or DELETE: the server keeps no session, and sends messages
/// in the response to the call that they belong to.
#[derive(Clone, Debug)]
pub struct Endpoint<S> {
    path: Arc<str>,
    inner: S,
}

pin_project! {
    /// Response future of [`Endpoint`].
    pub struct ResponseFuture<F> {
        // `None` if the request is refused.
        #[pin]
        response: Option<F>,
        refusal: Option<Rejection>,
    }
}

// === impl Endpoint ===

impl<S> Endpoint<S> {
    pub(super) fn new(path: Arc<str>, inner: S) -> Self {
        Self { path, inner }
    }

    fn refusal<B>(&self, request: &Request<B>) -> Option<Rejection> {
        if request.uri().path() != &*self.path {
            let message = format!("Not found; this server answers {}", self.path);
            return Some(Rejection::new(StatusCode::NOT_FOUND, "not_found", message));
        }
        (request.method() != Method::POST).then(|| {
            let status = StatusCode::METHOD_NOT_ALLOWED;
            let message = "Only POST is allowed";
            Rejection::new(status, "method_not_allowed", message)
                .with_header(header::ALLOW, HeaderValue::from_static("POST"))
        })
    }
}

impl<S, B, T> Service<Request<B>> for Endpoint<S>
where
    S: Service<Request<B>, Response = Response<T>, Error = Infallible>,
    ErrorString: Render<T>,
{
    type Response = Response<T>;
    type Error = Infallible;
    type Future = ResponseFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let refusal = self.refusal(&request);
        ResponseFuture {
            response: refusal.is_none().then(|| self.inner.call(request)),
            refusal,
        }
    }
}

// === impl ResponseFuture ===

impl<F, T> Future for ResponseFuture<F>
where
    F: Future<Output = Result<Response<T>, Infallible>>,
    ErrorString: Render<T>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Some(response) = this.response.as_pin_mut() {
            return response.poll(cx);
        }
        let refusal = this.refusal.take().expect("not polled after it is ready");
        Poll::Ready(Ok(refusal.into_response(&ErrorString)))
    }
}
