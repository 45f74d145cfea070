//! A request id for every request, for the log and the client.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use http::{HeaderName, HeaderValue, Request, Response};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;
use ziggurat_layers::sanitize::RequestId;

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Gives every request a [`RequestId`] and sends it in the response.
#[derive(Clone, Copy, Debug, Default)]
#[must_use]
pub struct NumberLayer;

/// Service made by [`NumberLayer`].
#[derive(Clone, Copy, Debug)]
pub struct Number<S> {
    inner: S,
}

pin_project! {
    /// Response future of [`Number`].
    pub struct ResponseFuture<F> {
        #[pin]
        response: F,
        id: RequestId,
    }
}

// === impl NumberLayer ===

impl<S> Layer<S> for NumberLayer {
    type Service = Number<S>;

    fn layer(&self, inner: S) -> Number<S> {
        Number { inner }
    }
}

// === impl Number ===

impl<S, ReqBody, ResBody> Service<Request<ReqBody>> for Number<S>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<ReqBody>) -> Self::Future {
        let id = RequestId::generate();
        request.extensions_mut().insert(id.clone());
        ResponseFuture {
            response: self.inner.call(request),
            id,
        }
    }
}

// === impl ResponseFuture ===

impl<F, B, E> Future for ResponseFuture<F>
where
    F: Future<Output = Result<Response<B>, E>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let mut response = ready!(this.response.poll(cx))?;
        let id = HeaderValue::from_str(this.id.as_str()).expect("visible ASCII");
        response.headers_mut().insert(X_REQUEST_ID, id);
        Poll::Ready(Ok(response))
    }
}

impl<F> fmt::Debug for ResponseFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
