//! Runs a function on every request and another one on its response.

use std::task::{Context, Poll};

use futures_util::{TryFutureExt as _, future::MapOk};
use http::Request;
use tower_layer::Layer;
use tower_service::Service;

/// Calls a function with every request, and what it returns with the response.
///
/// If the client leaves before the response, what it returned is dropped.
///
/// ```
/// use http::{Request, Response, Uri};
/// use tower::{ServiceBuilder, ServiceExt as _, service_fn};
/// use ziggurat_http::AroundLayer;
///
/// # tokio_test::block_on(async {
/// let service = ServiceBuilder::new()
///     .layer(AroundLayer::new(|request: &mut Request<()>| {
///         let uri = request.uri().clone();
///         move |response: Response<()>| response.map(|()| uri)
///     }))
///     .service(service_fn(|_: Request<()>| async {
///         Ok::<_, std::convert::Infallible>(Response::new(()))
///     }));
///
/// let response = service.oneshot(Request::get("/a").body(())?).await?;
/// assert_eq!(response.into_body(), Uri::from_static("/a"));
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct AroundLayer<F> {
    function: F,
}

/// Service made by [`AroundLayer`].
#[derive(Clone, Copy, Debug)]
pub struct Around<S, F> {
    inner: S,
    function: F,
}

// === impl AroundLayer ===

impl<F> AroundLayer<F> {
    /// Calls `function` with every request.
    pub fn new(function: F) -> Self {
        Self { function }
    }
}

impl<S, F: Clone> Layer<S> for AroundLayer<F> {
    type Service = Around<S, F>;

    fn layer(&self, inner: S) -> Self::Service {
        let function = self.function.clone();
        Around { inner, function }
    }
}

// === impl Around ===

impl<S, F, G, B, T> Service<Request<B>> for Around<S, F>
where
    S: Service<Request<B>>,
    F: FnMut(&mut Request<B>) -> G,
    G: FnOnce(S::Response) -> T,
{
    type Response = T;
    type Error = S::Error;
    type Future = MapOk<S::Future, G>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let after = (self.function)(&mut request);
        self.inner.call(request).map_ok(after)
    }
}
