//! Refuses requests by a function, and runs another one on the responses of the others.

use std::{
    future::{Ready, ready},
    task::{Context, Poll},
};

use futures_util::{
    TryFutureExt as _,
    future::{Either, MapOk},
};
use http::Request;
use tower_layer::Layer;
use tower_service::Service;

/// Calls a function with every request. It returns the refusal of the request, or a function that
/// is called with the response.
///
/// A refused request does not reach the service, and its body is not read.
///
/// ```
/// use http::{Request, Response, StatusCode};
/// use tower::{ServiceBuilder, ServiceExt as _, service_fn};
/// use ziggurat_http::AdmitLayer;
///
/// # tokio_test::block_on(async {
/// let mut refusal = Response::new("closed");
/// *refusal.status_mut() = StatusCode::FORBIDDEN;
/// let service = ServiceBuilder::new()
///     .layer(AdmitLayer::new(move |request: &mut Request<()>| {
///         let is_open = request.uri().path() == "/open";
///         is_open.then_some(|response| response).ok_or_else(|| Box::new(refusal.clone()))
///     }))
///     .service(service_fn(|_: Request<()>| async {
///         Ok::<_, std::convert::Infallible>(Response::new("welcome"))
///     }));
///
/// let response = service.clone().oneshot(Request::get("/open").body(())?).await?;
/// assert_eq!(*response.body(), "welcome");
/// let response = service.oneshot(Request::get("/").body(())?).await?;
/// assert_eq!(response.status(), StatusCode::FORBIDDEN);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct AdmitLayer<F> {
    function: F,
}

/// Service made by [`AdmitLayer`].
#[derive(Clone, Copy, Debug)]
pub struct Admit<S, F> {
    inner: S,
    function: F,
}

// === impl AdmitLayer ===

impl<F> AdmitLayer<F> {
    /// Calls `function` with every request.
    pub fn new(function: F) -> Self {
        Self { function }
    }
}

impl<S, F: Clone> Layer<S> for AdmitLayer<F> {
    type Service = Admit<S, F>;

    fn layer(&self, inner: S) -> Self::Service {
        let function = self.function.clone();
        Admit { inner, function }
    }
}

// === impl Admit ===

impl<S, F, G, B, T> Service<Request<B>> for Admit<S, F>
where
    S: Service<Request<B>>,
    // Boxed, because it determines the size of the result, and refusals are rare.
    F: FnMut(&mut Request<B>) -> Result<G, Box<T>>,
    G: FnOnce(S::Response) -> T,
{
    type Response = T;
    type Error = S::Error;
    type Future = Either<Ready<Result<T, S::Error>>, MapOk<S::Future, G>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        match (self.function)(&mut request) {
            Ok(after) => Either::Right(self.inner.call(request).map_ok(after)),
            Err(refusal) => Either::Left(ready(Ok(*refusal))),
        }
    }
}
