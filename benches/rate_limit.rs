//! Cost of limiting the rate of requests.

use std::{num::NonZeroU32, time::Duration};

use divan::{AllocProfiler, Bencher};
use tower::{Layer as _, limit::ConcurrencyLimitLayer};
use ziggurat_benches::{
    Bare, measure,
    peer_layers::{self, BareAxum},
    request, run, send,
};
use ziggurat_layers::rate_limit::{AtOnce, Concurrency, FailureWindow, RateLimitLayer, Steady};

#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

const DAY: Duration = Duration::from_hours(24);

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
    let failures = FailureWindow::new("10 per 15 minutes".parse().expect("a quota"));
    measure(bencher, RateLimitLayer::new(failures).layer(Bare), request);
}

#[divan::bench]
fn pass_concurrency(bencher: Bencher<'_, '_>) {
    let policy = Concurrency::new(AtOnce(NonZeroU32::MIN));
    measure(bencher, RateLimitLayer::new(policy).layer(Bare), request);
}

/// The most similar published layer, which has one limit for all clients.
#[divan::bench]
fn peer_concurrency_limit(bencher: Bencher<'_, '_>) {
    let layer = ConcurrencyLimitLayer::new(1);
    measure(bencher, layer.layer(Bare), request);
}

#[divan::bench]
fn refuse_steady(bencher: Bencher<'_, '_>) {
    let layer = steady("1 per day");
    // Uses up the one request of the day.
    send(&mut layer.layer(Bare), request());
    measure(bencher, layer.layer(Bare), request);
}

fn steady(quota: &str) -> RateLimitLayer<Steady> {
    RateLimitLayer::new(Steady::new(quota.parse().expect("a quota")))
}

/// The bare service with the only body type that the published layer can refuse with.
#[divan::bench]
fn baseline_axum_body(bencher: Bencher<'_, '_>) {
    measure(bencher, BareAxum, request);
}

/// The most similar published layer.
#[divan::bench]
fn peer_tower_governor(bencher: Bencher<'_, '_>) {
    let layer = peer_layers::rate_limit(1_000_000_000, Duration::from_nanos(1));
    measure(bencher, layer.layer(BareAxum), request);
}

#[divan::bench]
fn peer_tower_governor_refuse(bencher: Bencher<'_, '_>) {
    let layer = peer_layers::rate_limit(1, DAY);
    let service = layer.layer(BareAxum);
    send(&mut service.clone(), request());
    measure(bencher, service, request);
}
