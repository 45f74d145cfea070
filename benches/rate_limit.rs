//! What limiting the rate of requests costs.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    net::IpAddr,
};

use divan::{AllocProfiler, Bencher};
use governor::middleware::NoOpMiddleware;
use http::{Request, Response};
use tower::{Layer as _, service_fn};
use tower_governor::{
    GovernorError, GovernorLayer, governor::GovernorConfigBuilder, key_extractor::KeyExtractor,
};
use ziggurat_benches::{Bare, Body, measure, request, run, send};
use ziggurat_layers::{
    client_ip::ClientIp,
    rate_limit::{Failures, RateLimitLayer, Steady},
};

#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

fn main() {
    run();
}

#[divan::bench]
fn baseline(bencher: Bencher<'_, '_>) {
    measure(bencher, Bare, request);
}

#[divan::bench]
fn pass_steady(bencher: Bencher<'_, '_>) {
    measure(
        bencher,
        steady("1000000000 per second").layer(Bare),
        request,
    );
}

#[divan::bench]
fn pass_failures(bencher: Bencher<'_, '_>) {
    let failures = Failures::new("10 per 15 minutes".parse().expect("a quota"));
    measure(bencher, RateLimitLayer::new(failures).layer(Bare), request);
}

#[divan::bench]
fn refuse_steady(bencher: Bencher<'_, '_>) {
    let layer = steady("1 per day");
    // The one request of the day.
    send(&mut layer.layer(Bare), request());
    measure(bencher, layer.layer(Bare), request);
}

fn steady(quota: &str) -> RateLimitLayer<Steady> {
    RateLimitLayer::new(Steady::new(quota.parse().expect("a quota")))
}

/// The bare service with the one body type the published layer can refuse with.
#[divan::bench]
fn baseline_axum_body(bencher: Bencher<'_, '_>) {
    measure(bencher, service_fn(bare_axum), request);
}

/// The nearest published layer.
#[divan::bench]
fn peer_tower_governor(bencher: Bencher<'_, '_>) {
    let layer = peer(1_000_000_000);
    measure(bencher, layer.layer(service_fn(bare_axum)), request);
}

#[divan::bench]
fn peer_tower_governor_refuse(bencher: Bencher<'_, '_>) {
    let layer = peer(1);
    let service = layer.layer(service_fn(bare_axum));
    send(&mut service.clone(), request());
    measure(bencher, service, request);
}

fn peer(
    burst: u32,
) -> GovernorLayer<Caller, NoOpMiddleware<governor::clock::QuantaInstant>, axum::body::Body> {
    let config = GovernorConfigBuilder::default()
        .key_extractor(Caller)
        .per_second(3600)
        .burst_size(burst)
        .finish();
    GovernorLayer::new(config.expect("more than nothing per second"))
}

fn bare_axum(request: Request<Body>) -> Ready<Result<Response<axum::body::Body>, Infallible>> {
    let response = send(&mut { Bare }, request);
    ready(Ok(response.map(axum::body::Body::new)))
}

/// Reads the address where ours reads it.
#[derive(Clone, Debug)]
struct Caller;

impl KeyExtractor for Caller {
    type Key = IpAddr;

    fn extract<T>(&self, request: &Request<T>) -> Result<IpAddr, GovernorError> {
        let caller = request.extensions().get().map(ClientIp::client);
        caller.ok_or(GovernorError::UnableToExtractKey)
    }
}
