//! Leads `POST` requests for one path around the router.

use std::{
    convert::Infallible,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::future::Either;
use http::{Method, Request};
use tower::{ServiceExt as _, util::Oneshot};
use tower_layer::Layer;
use tower_service::Service;

/// Leads `POST` requests for one path to a service, and all other requests to the service below.
///
/// axum keeps each layer of a route in a box and clones it for each request, which costs about
/// 3,000 instructions. A call of a tool costs 35,000 of them, so calls go around the router.
///
/// ```
/// use std::{convert::Infallible, future::ready};
///
/// use http::{Request, Response};
/// use tower::{ServiceBuilder, ServiceExt as _, service_fn};
/// use ziggurat_http::PostLayer;
///
/// # tokio_test::block_on(async {
/// let answer = |text| {
///     service_fn(move |_: Request<()>| ready(Ok::<_, Infallible>(Response::new(text))))
/// };
/// let service = ServiceBuilder::new()
///     .layer(PostLayer::new("/call", answer("called")))
///     .service(answer("routed"));
///
/// let request = Request::post("/call").body(())?;
/// assert_eq!(*service.clone().oneshot(request).await?.body(), "called");
/// let request = Request::get("/call").body(())?;
/// assert_eq!(*service.oneshot(request).await?.body(), "routed");
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
#[must_use]
pub struct PostLayer<S> {
    path: &'static str,
    service: Arc<S>,
}

/// Service made by [`PostLayer`].
#[derive(Debug)]
pub struct Post<S, I> {
    layer: PostLayer<S>,
    inner: I,
}

// === impl PostLayer ===

impl<S> PostLayer<S> {
    /// Leads `POST` requests for `path` to `service`, which is cloned for each of them.
    pub fn new(path: &'static str, service: S) -> Self {
        let service = Arc::new(service);
        Self { path, service }
    }
}

impl<S> Clone for PostLayer<S> {
    fn clone(&self) -> Self {
        Self {
            path: self.path,
            service: Arc::clone(&self.service),
        }
    }
}

impl<S, I> Layer<I> for PostLayer<S> {
    type Service = Post<S, I>;

    fn layer(&self, inner: I) -> Post<S, I> {
        let layer = self.clone();
        Post { layer, inner }
    }
}

// === impl Post ===

impl<S, I: Clone> Clone for Post<S, I> {
    fn clone(&self) -> Self {
        let layer = self.layer.clone();
        let inner = self.inner.clone();
        Self { layer, inner }
    }
}

impl<S, I, B> Service<Request<B>> for Post<S, I>
where
    S: Service<Request<B>, Error = Infallible> + Clone,
    I: Service<Request<B>, Response = S::Response, Error = Infallible>,
{
    type Response = S::Response;
    type Error = Infallible;
    type Future = Either<Oneshot<S, Request<B>>, I::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        if request.method() == Method::POST && request.uri().path() == self.layer.path {
            Either::Left(S::clone(&self.layer.service).oneshot(request))
        } else {
            Either::Right(self.inner.call(request))
        }
    }
}
