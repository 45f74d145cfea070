//! Answers the requests that are still in flight when the grace period of a shutdown ends.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use http::{Request, Response, StatusCode};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;
use ziggurat_layers::reject::{ErrorString, Rejection, Render};
use ziggurat_runtime::cut_off::{CutOff, CutOffFuture};

/// Answers 503 for requests that are still in flight at the [`CutOff`], when the grace period of a
/// shutdown ends.
///
/// A service that answers them itself, in the format of its protocol, takes precedence. A response
/// that has begun is not changed.
#[derive(Clone, Debug)]
#[must_use]
pub struct ShutdownLayer<R = ErrorString> {
    cut_off: CutOff,
    render: R,
}

/// Service made by [`ShutdownLayer`].
#[derive(Clone, Debug)]
pub struct Shutdown<S, R = ErrorString> {
    inner: S,
    cut_off: CutOff,
    render: R,
}

pin_project! {
    /// Response future of [`Shutdown`].
    pub struct ResponseFuture<F, R> {
        #[pin]
        response: Option<F>,
        cut_off: CutOffFuture,
        render: R,
    }
}

// === impl ShutdownLayer ===

impl ShutdownLayer {
    /// Answers the requests in flight at this moment.
    pub fn new(cut_off: CutOff) -> Self {
        let render = ErrorString;
        Self { cut_off, render }
    }
}

impl<R> ShutdownLayer<R> {
    /// Replaces the body of the answer.
    pub fn with_render<T>(self, render: T) -> ShutdownLayer<T> {
        let cut_off = self.cut_off;
        ShutdownLayer { cut_off, render }
    }
}

impl<S, R: Clone> Layer<S> for ShutdownLayer<R> {
    type Service = Shutdown<S, R>;

    fn layer(&self, inner: S) -> Self::Service {
        Shutdown {
            inner,
            cut_off: self.cut_off.clone(),
            render: self.render.clone(),
        }
    }
}

// === impl Shutdown ===

impl<S, R, B, ResBody> Service<Request<B>> for Shutdown<S, R>
where
    S: Service<Request<B>, Response = Response<ResBody>>,
    R: Render<ResBody> + Clone,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future, R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        ResponseFuture {
            response: Some(self.inner.call(request)),
            cut_off: self.cut_off.pending(),
            render: self.render.clone(),
        }
    }
}

// === impl ResponseFuture ===

impl<F, R, B, E> Future for ResponseFuture<F, R>
where
    F: Future<Output = Result<Response<B>, E>>,
    R: Render<B>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if let Some(response) = this.response.as_mut().as_pin_mut()
            && let Poll::Ready(response) = response.poll(cx)
        {
            return Poll::Ready(response);
        }
        if this.cut_off.poll(cx).is_pending() {
            return Poll::Pending;
        }
        // Drops what the request holds before the response is returned.
        this.response.set(None);
        let status = StatusCode::SERVICE_UNAVAILABLE;
        let rejection = Rejection::new(status, "shutting_down", "The server is shutting down");
        Poll::Ready(Ok(rejection.into_response(this.render)))
    }
}

impl<F, R> fmt::Debug for ResponseFuture<F, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
