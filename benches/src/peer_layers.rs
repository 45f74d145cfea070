//! The most similar published layers, set up like ours.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    io,
    net::IpAddr,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::body::Body as AxumBody;
use governor::{clock::QuantaInstant, middleware::NoOpMiddleware};
use http::{HeaderValue, Request, Response, StatusCode, header};
use tower_governor::{
    GovernorError, GovernorLayer, governor::GovernorConfigBuilder, key_extractor::KeyExtractor,
};
use tower_http::{
    auth::{AsyncAuthorizeRequest, AsyncRequireAuthorizationLayer},
    csrf::CsrfLayer,
    set_header::SetResponseHeaderLayer,
};
use tower_service::Service;
use tracing_subscriber::{filter::LevelFilter, util::SubscriberInitExt as _};
use ziggurat_layers::{
    bearer::{Hashed, Verify as _},
    client_ip::ClientIp,
};

use crate::{Answer, Bare, Body, ready_now};

/// Admits requests with one of these tokens.
#[must_use]
pub fn bearer(tokens: Hashed<()>) -> AsyncRequireAuthorizationLayer<ByHash> {
    AsyncRequireAuthorizationLayer::new(ByHash(tokens))
}

/// Reads the header in the simplest way, then looks the digest up like ours.
#[derive(Clone, Debug)]
pub struct ByHash(Hashed<()>);

impl AsyncAuthorizeRequest<Body> for ByHash {
    type RequestBody = Body;
    type ResponseBody = Body;
    type Future = Ready<Result<Request<Body>, Response<Body>>>;

    fn authorize(&mut self, mut request: Request<Body>) -> Self::Future {
        let header = request.headers().get("authorization");
        let token = header
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.strip_prefix("Bearer "));
        let identity = token.map(|token| ready_now(self.0.verify(token)));
        ready(if let Some(Ok(identity)) = identity {
            request.extensions_mut().insert(identity);
            Ok(request)
        } else {
            let mut response = Response::new(Body::default());
            *response.status_mut() = StatusCode::UNAUTHORIZED;
            Err(response)
        })
    }
}

/// Appends the link without reading existing ones.
///
/// # Panics
/// Panics when the link is not a valid header value.
#[must_use]
pub fn link(link: &str) -> SetResponseHeaderLayer<HeaderValue> {
    let value = HeaderValue::from_str(link).expect("a header");
    SetResponseHeaderLayer::appending(header::LINK, value)
}

/// Admits pages of one origin.
///
/// # Panics
/// Panics when it is not an origin.
pub fn origin(origin: &str) -> CsrfLayer {
    let layer = CsrfLayer::new().add_trusted_origin(origin);
    layer.expect("an origin")
}

/// Formats log lines and drops them, until the value is dropped.
#[must_use]
pub fn log() -> impl Drop {
    tracing_subscriber::fmt()
        .with_max_level(LevelFilter::DEBUG)
        .with_writer(io::sink)
        .set_default()
}

/// Admits `burst` requests at once, and from then on one in every period.
///
/// # Panics
/// Panics when the burst is zero.
#[must_use]
pub fn rate_limit(
    burst: u32,
    period: Duration,
) -> GovernorLayer<Caller, NoOpMiddleware<QuantaInstant>, AxumBody> {
    let config = GovernorConfigBuilder::default()
        .key_extractor(Caller)
        .period(period)
        .burst_size(burst)
        .finish();
    GovernorLayer::new(config.expect("more than nothing in some time"))
}

/// Reads the address from the same extension as ours.
#[derive(Clone, Debug)]
pub struct Caller;

impl KeyExtractor for Caller {
    type Key = IpAddr;

    fn extract<T>(&self, request: &Request<T>) -> Result<IpAddr, GovernorError> {
        let caller = request.extensions().get().map(ClientIp::client);
        caller.ok_or(GovernorError::UnableToExtractKey)
    }
}

/// The bare service with the only body type that [`rate_limit`] can refuse with.
#[derive(Clone, Copy, Debug)]
pub struct BareAxum;

/// Response future of [`BareAxum`].
#[derive(Clone, Copy, Debug)]
pub struct AxumAnswer(Answer);

impl Service<Request<Body>> for BareAxum {
    type Response = Response<AxumBody>;
    type Error = Infallible;
    type Future = AxumAnswer;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    #[inline(never)]
    fn call(&mut self, request: Request<Body>) -> AxumAnswer {
        AxumAnswer(Bare.call(request))
    }
}

impl Future for AxumAnswer {
    type Output = Result<Response<AxumBody>, Infallible>;

    #[inline(never)]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = Pin::new(&mut self.0).poll(cx);
        answer.map_ok(|response| response.map(AxumBody::new))
    }
}
