//! Refuses requests of web pages from origins that are not allowed (Fetch standard).
//!
//! A browser sends the requests of a page with its origin. A server without cookies is safe from
//! pages of other origins only if it looks at that header: the rules of CORS decide which responses
//! a page may read, not which requests arrive.
//!
//! ```
//! use bytes::Bytes;
//! use http::{Request, Response, StatusCode};
//! use http_body_util::Full;
//! use tower::{ServiceBuilder, ServiceExt as _, service_fn};
//! use ziggurat_layers::origin::{OriginLayer, Origins};
//!
//! # tokio_test::block_on(async {
//! let origins = Origins::listed(["https://app.example"])?;
//! let service = ServiceBuilder::new()
//!     .layer(OriginLayer::new(origins))
//!     .service(service_fn(|_: Request<Full<Bytes>>| async {
//!         Ok::<_, std::convert::Infallible>(Response::new(Full::<Bytes>::from("hello")))
//!     }));
//!
//! // Programs that are not browsers send no origin.
//! let request = Request::get("/").body(Full::default())?;
//! assert_eq!(service.clone().oneshot(request).await?.status(), StatusCode::OK);
//!
//! let request = Request::get("/").header("origin", "https://evil.example").body(Full::default())?;
//! assert_eq!(service.oneshot(request).await?.status(), StatusCode::FORBIDDEN);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # Which requests are refused
//!
//! | The request | Admitted |
//! | --- | --- |
//! | has no `Origin` | yes |
//! | has one, and it is allowed | yes |
//! | has another, an opaque one (`null`), or several | no |
//!
//! A refusal has the status 403, the [`code`](crate::reject::Rejection::code)
//! `origin_not_allowed`, and `Vary: Origin`.
//!
//! # Deployment
//!
//! The layer answers no preflights and adds no CORS headers. For pages that read responses, put the
//! `CorsLayer` of `tower-http` with the same origins inside of this layer. Put
//! [`HostLayer`](crate::host::HostLayer) outside of both: a page of a name that was made to resolve
//! to this server has the server's own origin.

mod origins;
#[cfg(test)]
mod tests;

use std::task::{Context, Poll};

use http::{HeaderValue, Request, Response, StatusCode, header};
use tower_layer::Layer;
use tower_service::Service;

pub use self::origins::{InvalidOrigin, Origins};
pub use crate::guard::ResponseFuture;
use crate::reject::{ErrorString, Rejection, Render};

/// Refuses requests of web pages from origins that are not allowed.
///
/// ```
/// use ziggurat_layers::{
///     host::{HostLayer, Hosts},
///     origin::{OriginLayer, Origins},
/// };
///
/// let hosts = Hosts::listed(["tools.example"])?;
/// let origins = Origins::listed(["https://app.example"])?.with_own(&hosts);
/// // The host outside: without it, a page can have the origin of the server.
/// let layers = (HostLayer::new(hosts), OriginLayer::new(origins));
/// # let _ = layers;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct OriginLayer<R = ErrorString> {
    origins: Origins,
    render: R,
}

/// Service made by [`OriginLayer`].
///
/// ```
/// use tower::Layer as _;
/// use ziggurat_layers::origin::{Origin, OriginLayer};
///
/// let service: Origin<_> = OriginLayer::default().layer("the service behind the check");
/// # let _ = service;
/// ```
#[derive(Clone, Debug)]
pub struct Origin<S, R = ErrorString> {
    inner: S,
    layer: OriginLayer<R>,
}

// === impl OriginLayer ===

impl OriginLayer {
    /// Admits only pages of these origins.
    ///
    /// ```
    /// use ziggurat_layers::origin::{OriginLayer, Origins};
    ///
    /// let layer = OriginLayer::new(Origins::listed(["https://app.example"])?);
    /// # let _ = layer;
    /// # Ok::<_, ziggurat_layers::origin::InvalidOrigin>(())
    /// ```
    pub fn new(origins: Origins) -> Self {
        let render = ErrorString;
        Self { origins, render }
    }
}

impl Default for OriginLayer {
    fn default() -> Self {
        Self::new(Origins::default())
    }
}

impl<R> OriginLayer<R> {
    /// Replaces the body of the refusals.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use http::Response;
    /// use ziggurat_layers::{origin::OriginLayer, reject::Rejection};
    ///
    /// let page = |rejection: &Rejection| {
    ///     Response::new(Bytes::from(format!("<h1>{}</h1>", rejection.message())))
    /// };
    /// let layer = OriginLayer::default().with_render(page);
    /// # let _ = layer;
    /// ```
    pub fn with_render<T>(self, render: T) -> OriginLayer<T> {
        let origins = self.origins;
        OriginLayer { origins, render }
    }

    fn admits<B>(&self, request: &Request<B>) -> bool {
        let mut origins = request.headers().get_all(header::ORIGIN).iter();
        match (origins.next(), origins.next()) {
            (None, _) => true,
            (Some(origin), None) => self.origins.admit(origin, request),
            (Some(_), Some(_)) => false,
        }
    }
}

impl<S, R: Clone> Layer<S> for OriginLayer<R> {
    type Service = Origin<S, R>;

    fn layer(&self, inner: S) -> Origin<S, R> {
        let layer = self.clone();
        Origin { inner, layer }
    }
}

// === impl Origin ===

impl<S, R, ReqBody, ResBody> Service<Request<ReqBody>> for Origin<S, R>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
    R: Render<ResBody> + Clone,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future, R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<ReqBody>) -> Self::Future {
        if self.layer.admits(&request) {
            return ResponseFuture::serving(self.inner.call(request));
        }
        let rejection = Rejection::new(
            StatusCode::FORBIDDEN,
            "origin_not_allowed",
            "Requests from this origin are not allowed",
        );
        // A cache must not answer pages of other origins with it.
        let rejection = rejection.with_header(header::VARY, HeaderValue::from_static("Origin"));
        ResponseFuture::refused(rejection, self.layer.render.clone())
    }
}
