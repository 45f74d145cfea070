//! Applies a layer to all paths but a few.

use std::task::{Context, Poll, ready};

use futures_util::future::Either;
use http::Request;
use tower_layer::Layer;
use tower_service::Service;

/// Applies a layer to all requests, except to those for some paths, such as probes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExceptLayer<L> {
    paths: &'static [&'static str],
    layer: L,
}

/// Service made by [`ExceptLayer`].
#[derive(Clone, Debug)]
pub(crate) struct Except<T, S> {
    paths: &'static [&'static str],
    layered: T,
    inner: S,
}

// === impl ExceptLayer ===

impl<L> ExceptLayer<L> {
    /// Applies `layer` to requests for other paths than these.
    pub(crate) fn new(paths: &'static [&'static str], layer: L) -> Self {
        Self { paths, layer }
    }
}

impl<S: Clone, L: Layer<S>> Layer<S> for ExceptLayer<L> {
    type Service = Except<L::Service, S>;

    fn layer(&self, inner: S) -> Self::Service {
        Except {
            paths: self.paths,
            layered: self.layer.layer(inner.clone()),
            inner,
        }
    }
}

// === impl Except ===

impl<T, S, B> Service<Request<B>> for Except<T, S>
where
    T: Service<Request<B>>,
    S: Service<Request<B>, Response = T::Response, Error = T::Error>,
{
    type Response = T::Response;
    type Error = T::Error;
    type Future = Either<T::Future, S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        ready!(self.layered.poll_ready(cx))?;
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        if self.paths.contains(&request.uri().path()) {
            Either::Right(self.inner.call(request))
        } else {
            Either::Left(self.layered.call(request))
        }
    }
}
