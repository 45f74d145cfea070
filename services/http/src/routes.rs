//! Routes a path to a service.
//!
//! There are few routes, so they are tried one after another; their futures are stored by value,
//! without a box. The table is shared: a server that clones its stack for every request, as hyper's
//! does, clones only the service that is called.

#[cfg(test)]
mod tests;

use std::{
    convert::Infallible,
    fmt,
    marker::PhantomData,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use pin_project_lite::pin_project;
use tower::{ServiceExt as _, util::Oneshot};
use tower_service::Service;
use ziggurat_layers::reject::{ErrorString, Rejection, Render};

/// Routes requests to services by their path, and rejects those with another path (404) or another
/// method (405).
///
/// All services have the same response type and cannot fail: their errors are responses already.
/// The routes are always ready; only the service for a request is polled for readiness, so a busy
/// service delays no request of the others.
#[derive(Debug)]
#[must_use]
pub struct Routes<T, R = ErrorString> {
    table: Arc<T>,
    render: R,
}

/// A service with its path, and the routes that were added before it.
#[derive(Debug)]
pub struct Route<S, T> {
    place: Place,
    service: S,
    rest: Arc<T>,
}

/// The end of a table: no route matches.
pub struct Nowhere<B>(PhantomData<fn() -> B>);

/// A list of routes: [`Nowhere`], or a [`Route`] in front of others.
pub trait Table<ReqBody> {
    /// The body of the responses.
    type Body;
    /// Response future of the matching service.
    type Future: Future<Output = Result<Response<Self::Body>, Infallible>>;

    /// Calls the service for the request, or returns why there is none.
    ///
    /// # Errors
    ///
    /// Fails if no route has the path, or none with this method.
    fn route(&self, request: Request<ReqBody>) -> Result<Self::Future, NoRoute>;
}

/// No route for the path of a request, or none with its method.
#[derive(Clone, Debug)]
pub struct NoRoute {
    /// The allowed methods, if the path exists.
    allow: Option<HeaderValue>,
}

pin_project! {
    /// Response future of [`Routes`].
    pub struct ResponseFuture<F, R> {
        #[pin]
        state: State<F>,
        render: R,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F> {
        Refused { no_route: NoRoute },
        Serving { #[pin] response: F },
    }
}

pin_project! {
    /// Response future of the service that a [`Table`] has found.
    pub struct Found<F, G> {
        #[pin]
        place: Where<F, G>,
    }
}

pin_project! {
    #[project = WhereProj]
    enum Where<F, G> {
        Here { #[pin] response: F },
        There { #[pin] response: G },
    }
}

#[derive(Debug)]
enum Place {
    At {
        path: &'static str,
        methods: Vec<Method>,
        allow: HeaderValue,
    },
    Under {
        root: &'static str,
    },
}

// === impl Routes ===

impl<B> Routes<Nowhere<B>> {
    /// Creates a table without routes.
    pub fn new() -> Self {
        Self {
            table: Arc::new(Nowhere(PhantomData)),
            render: ErrorString,
        }
    }
}

impl<B> Default for Routes<Nowhere<B>> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, R> Routes<T, R> {
    /// Routes requests with exactly this path and one of these methods to `service`.
    ///
    /// Of two routes for one path, the later one is used.
    pub fn at<S>(
        self,
        path: &'static str,
        methods: impl IntoIterator<Item = Method>,
        service: S,
    ) -> Routes<Route<S, T>, R> {
        self.with(Place::at(path, methods.into_iter().collect()), service)
    }

    /// Routes requests whose path begins with `root`, `/api/` for example, to `service`, which gets
    /// the whole path and all methods.
    ///
    /// A route that is added later takes precedence over it.
    pub fn under<S>(self, root: &'static str, service: S) -> Routes<Route<S, T>, R> {
        self.with(Place::Under { root }, service)
    }

    /// Replaces the body of the rejections.
    pub fn with_render<U>(self, render: U) -> Routes<T, U> {
        Routes {
            table: self.table,
            render,
        }
    }

    fn with<S>(self, place: Place, service: S) -> Routes<Route<S, T>, R> {
        Routes {
            table: Arc::new(Route {
                place,
                service,
                rest: self.table,
            }),
            render: self.render,
        }
    }
}

// Not derived, because the services do not have to be `Clone`.
impl<T, R: Clone> Clone for Routes<T, R> {
    fn clone(&self) -> Self {
        Self {
            table: Arc::clone(&self.table),
            render: self.render.clone(),
        }
    }
}

impl<T, R, ReqBody> Service<Request<ReqBody>> for Routes<T, R>
where
    T: Table<ReqBody>,
    R: Render<T::Body> + Clone,
{
    type Response = Response<T::Body>;
    type Error = Infallible;
    type Future = ResponseFuture<T::Future, R>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<ReqBody>) -> Self::Future {
        let state = match self.table.route(request) {
            Ok(response) => State::Serving { response },
            Err(no_route) => State::Refused { no_route },
        };
        ResponseFuture {
            state,
            render: self.render.clone(),
        }
    }
}

// === impl ResponseFuture ===

impl<F, R, B> Future for ResponseFuture<F, R>
where
    F: Future<Output = Result<Response<B>, Infallible>>,
    R: Render<B>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        match this.state.project() {
            StateProj::Serving { response } => response.poll(cx),
            StateProj::Refused { no_route } => {
                Poll::Ready(Ok(no_route.rejection().into_response(this.render)))
            }
        }
    }
}

impl<F, R> fmt::Debug for ResponseFuture<F, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}

// === impl Route ===

impl<S, T, ReqBody> Table<ReqBody> for Route<S, T>
where
    T: Table<ReqBody>,
    S: Service<Request<ReqBody>, Response = Response<T::Body>, Error = Infallible> + Clone,
{
    type Body = T::Body;
    type Future = Found<Oneshot<S, Request<ReqBody>>, T::Future>;

    fn route(&self, request: Request<ReqBody>) -> Result<Self::Future, NoRoute> {
        if self.place.has(request.uri().path()) {
            self.place.admit(request.method())?;
            let response = self.service.clone().oneshot(request);
            let place = Where::Here { response };
            Ok(Found { place })
        } else {
            let response = self.rest.route(request)?;
            let place = Where::There { response };
            Ok(Found { place })
        }
    }
}

// === impl Nowhere ===

impl<B> fmt::Debug for Nowhere<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Nowhere")
    }
}

impl<B, ReqBody> Table<ReqBody> for Nowhere<B> {
    type Body = B;
    type Future = std::future::Pending<Result<Response<B>, Infallible>>;

    fn route(&self, _: Request<ReqBody>) -> Result<Self::Future, NoRoute> {
        Err(NoRoute { allow: None })
    }
}

// === impl NoRoute ===

impl NoRoute {
    fn rejection(&self) -> Rejection {
        let Some(allow) = &self.allow else {
            return Rejection::new(StatusCode::NOT_FOUND, "not_found", "Not found");
        };
        Rejection::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method_not_allowed",
            "Method not allowed",
        )
        .with_header(header::ALLOW, allow.clone())
    }
}

// === impl Found ===

impl<F, G> Future for Found<F, G>
where
    F: Future,
    G: Future<Output = F::Output>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().place.project() {
            WhereProj::Here { response } => response.poll(cx),
            WhereProj::There { response } => response.poll(cx),
        }
    }
}

impl<F, G> fmt::Debug for Found<F, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Found").finish_non_exhaustive()
    }
}

// === impl Place ===

impl Place {
    fn at(path: &'static str, methods: Vec<Method>) -> Self {
        let names: Vec<_> = methods.iter().map(Method::as_str).collect();
        let allow = HeaderValue::try_from(names.join(", ")).expect("methods are tokens");
        Self::At {
            path,
            methods,
            allow,
        }
    }

    fn has(&self, wanted: &str) -> bool {
        match self {
            Self::At { path, .. } => *path == wanted,
            Self::Under { root } => wanted.starts_with(root),
        }
    }

    fn admit(&self, method: &Method) -> Result<(), NoRoute> {
        match self {
            Self::At { methods, allow, .. } if !methods.contains(method) => {
                let allow = Some(allow.clone());
                Err(NoRoute { allow })
            }
            Self::At { .. } | Self::Under { .. } => Ok(()),
        }
    }
}
