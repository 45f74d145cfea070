//! The address of the socket, from servers of axum.

use std::{
    net::SocketAddr,
    task::{Context, Poll},
};

use axum::extract::ConnectInfo;
use http::Request;
use tower_layer::Layer;
use tower_service::Service;

use crate::client_ip::ClientIp;

/// Puts a [`ClientIp`] into the extensions of each request that `axum::serve` accepts.
///
/// axum keeps the address of the socket in an extension of its own, `ConnectInfo<SocketAddr>`, and
/// only for a service made by `into_make_service_with_connect_info::<SocketAddr>()`. Without it a
/// request passes unchanged, and a rate limiter counts all clients as one.
///
/// Put the layer outside of [`SetClientIpLayer`](super::SetClientIpLayer).
///
/// ```no_run
/// use std::net::SocketAddr;
/// use axum::{Router, routing::get};
/// use tower::ServiceBuilder;
/// use ziggurat_layers::{
///     client_ip::FromConnectInfoLayer,
///     rate_limit::{RateLimitLayer, Steady},
/// };
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let steady = Steady::new("100 per minute".parse()?);
/// let layers = ServiceBuilder::new()
///     .layer(FromConnectInfoLayer::new())
///     .layer(RateLimitLayer::new(steady));
/// let app = Router::new().route("/", get(async || "hello")).layer(layers);
///
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
/// axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[must_use]
pub struct FromConnectInfoLayer {
    // Private, so that options can be added.
    _private: (),
}

/// Service made by [`FromConnectInfoLayer`].
///
/// ```
/// use tower::Layer as _;
/// use ziggurat_layers::client_ip::{FromConnectInfo, FromConnectInfoLayer};
///
/// let service: FromConnectInfo<_> = FromConnectInfoLayer::new().layer("the routes");
/// # let _ = service;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FromConnectInfo<S> {
    inner: S,
}

// === impl FromConnectInfoLayer ===

impl FromConnectInfoLayer {
    /// Reads the address that axum knows.
    ///
    /// ```
    /// use std::net::SocketAddr;
    /// use axum::extract::ConnectInfo;
    /// use http::Request;
    /// use tower::{Layer as _, ServiceExt as _, service_fn};
    /// use ziggurat_layers::client_ip::{ClientIp, FromConnectInfoLayer};
    ///
    /// # tokio_test::block_on(async {
    /// let service = FromConnectInfoLayer::new().layer(service_fn(|request: Request<()>| async move {
    ///     Ok::<_, std::convert::Infallible>(request.extensions().get().map(ClientIp::client))
    /// }));
    /// let peer: SocketAddr = "192.0.2.1:4711".parse()?;
    /// let request = Request::get("/").extension(ConnectInfo(peer)).body(())?;
    /// assert_eq!(service.oneshot(request).await?, Some(peer.ip()));
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn new() -> Self {
        Self::default()
    }
}

impl<S> Layer<S> for FromConnectInfoLayer {
    type Service = FromConnectInfo<S>;

    fn layer(&self, inner: S) -> Self::Service {
        FromConnectInfo { inner }
    }
}

// === impl FromConnectInfo ===

impl<S, B> Service<Request<B>> for FromConnectInfo<S>
where
    S: Service<Request<B>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        if let Some(&ConnectInfo(peer)) = request.extensions().get::<ConnectInfo<SocketAddr>>() {
            request.extensions_mut().insert(ClientIp::from_peer(peer));
        }
        self.inner.call(request)
    }
}
