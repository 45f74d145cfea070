//! What checking a bearer token costs.

use divan::{AllocProfiler, Bencher};
use tower::Layer as _;
use ziggurat_benches::{Bare, TOKEN, measure, neighbours, request, run};
use ziggurat_layers::bearer::{BearerLayer, Hashed, TokenHash};

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
fn pass(bencher: Bencher<'_, '_>) {
    measure(bencher, BearerLayer::new(tokens()).layer(Bare), request);
}

/// With an identity that has a size: its box in the request extensions is the allocation.
#[divan::bench]
fn pass_with_identity(bencher: Bencher<'_, '_>) {
    let tokens = Hashed::from_iter([(TokenHash::of(TOKEN), 7_u64)]);
    measure(bencher, BearerLayer::new(tokens).layer(Bare), request);
}

#[divan::bench]
fn pass_exempt(bencher: Bencher<'_, '_>) {
    let layer = BearerLayer::new(tokens()).with_exempt(["/health", "/mcp/*"]);
    measure(bencher, layer.layer(Bare), request);
}

#[divan::bench]
fn refuse(bencher: Bencher<'_, '_>) {
    let nobody = Hashed::<()>::default();
    measure(bencher, BearerLayer::new(nobody).layer(Bare), request);
}

/// The nearest published layer, doing the same check.
#[divan::bench]
fn peer_async_require_authorization(bencher: Bencher<'_, '_>) {
    measure(bencher, neighbours::bearer(tokens()).layer(Bare), request);
}

#[divan::bench]
fn peer_async_require_authorization_refuse(bencher: Bencher<'_, '_>) {
    let nobody = Hashed::default();
    measure(bencher, neighbours::bearer(nobody).layer(Bare), request);
}

fn tokens() -> Hashed<()> {
    Hashed::from_iter([(TokenHash::of(TOKEN), ())])
}
