//! Serves the paths of a service of its own, past the layers behind.

use std::{
    convert::Infallible,
    task::{Context, Poll},
};

use axum::{body::Body, response::Response};
use futures_util::future::Either;
use http::Request;
use tower::{ServiceExt as _, util::BoxCloneSyncService};
use tower_layer::Layer;
use tower_service::Service;
use ziggurat_serve::RequestBody;

/// A service with paths of its own, such as a sign-in. Its requests need no token, and are not from
/// pages of this server.
#[derive(Clone, Debug)]
pub struct Detour {
    serves: fn(&str) -> bool,
    // Boxed: it is not on the path of a call.
    service: BoxCloneSyncService<Request<RequestBody>, Response, Infallible>,
}

/// Sends requests for the paths of a [`Detour`] to it, if there is one.
#[derive(Clone, Debug)]
pub(crate) struct DetourLayer(pub(crate) Option<Detour>);

/// Service made by [`DetourLayer`].
#[derive(Clone, Debug)]
pub(crate) struct WithDetour<S> {
    detour: Option<Detour>,
    inner: S,
}

// === impl Detour ===

impl Detour {
    /// Serves the paths for which `serves` returns true.
    pub fn new<S, F, B>(serves: fn(&str) -> bool, service: S) -> Self
    where
        S: Service<
                Request<RequestBody>,
                Response = http::Response<B>,
                Error = Infallible,
                Future = F,
            > + Clone
            + Send
            + Sync
            + 'static,
        F: Future<Output = Result<http::Response<B>, Infallible>> + Send + 'static,
        B: http_body::Body<Data = bytes::Bytes, Error: Into<axum::BoxError>> + Send + 'static,
    {
        let service = service.map_response(|response| response.map(Body::new));
        Self {
            serves,
            service: BoxCloneSyncService::new(service),
        }
    }
}

// === impl DetourLayer ===

impl<S> Layer<S> for DetourLayer {
    type Service = WithDetour<S>;

    fn layer(&self, inner: S) -> Self::Service {
        WithDetour {
            detour: self.0.clone(),
            inner,
        }
    }
}

// === impl WithDetour ===

impl<S> Service<Request<RequestBody>> for WithDetour<S>
where
    S: Service<Request<RequestBody>, Response = Response, Error = Infallible>,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Either<DetourFuture, S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        match &self.detour {
            Some(detour) if (detour.serves)(request.uri().path()) => {
                Either::Left(detour.service.clone().oneshot(request))
            }
            _ => Either::Right(self.inner.call(request)),
        }
    }
}

/// Future of a request that takes the detour.
type DetourFuture = tower::util::Oneshot<
    BoxCloneSyncService<Request<RequestBody>, Response, Infallible>,
    Request<RequestBody>,
>;
