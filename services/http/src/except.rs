//! Applies a layer to all paths but a few.

use std::task::{Context, Poll, ready};

use futures_util::future::Either;
use http::Request;
use tower_layer::Layer;
use tower_service::Service;

/// Applies a layer to all requests, except to those for some paths, such as probes.
///
/// ```
/// use bytes::Bytes;
/// use http::{Request, Response, StatusCode};
/// use tower::{ServiceBuilder, ServiceExt as _, service_fn};
/// use ziggurat_http::ExceptLayer;
/// use ziggurat_layers::host::{HostLayer, Hosts};
///
/// # tokio_test::block_on(async {
/// let hosts = Hosts::of("0.0.0.0".parse()?, ["accounts.example"])?;
/// let service = ServiceBuilder::new()
///     .layer(ExceptLayer::new(&["/ready"], HostLayer::new(hosts)))
///     .service(service_fn(|_: Request<()>| async {
///         Ok::<_, std::convert::Infallible>(Response::new(Bytes::new()))
///     }));
///
/// for (path, status) in [("/", StatusCode::FORBIDDEN), ("/ready", StatusCode::OK)] {
///     let request = Request::get(path).header("host", "other.example").body(())?;
///     assert_eq!(service.clone().oneshot(request).await?.status(), status);
/// }
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct ExceptLayer<L> {
    paths: &'static [&'static str],
    layer: L,
}

/// Service made by [`ExceptLayer`].
#[derive(Clone, Debug)]
pub struct Except<T, S> {
    paths: &'static [&'static str],
    layered: T,
    inner: S,
}

// === impl ExceptLayer ===

impl<L> ExceptLayer<L> {
    /// Applies `layer` to requests for other paths than these.
    pub fn new(paths: &'static [&'static str], layer: L) -> Self {
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
