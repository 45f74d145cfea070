//! Cost of checking a bearer token.

use divan::{AllocProfiler, Bencher};
use tower::Layer as _;
use ziggurat_benches::{Bare, TOKEN, measure, peer_layers, request, run};
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

/// The identity has a size, so its box in the request extensions is one allocation.
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
    let no_tokens = Hashed::<()>::default();
    measure(bencher, BearerLayer::new(no_tokens).layer(Bare), request);
}

/// The most similar published layer, with the same check.
#[divan::bench]
fn peer_async_require_authorization(bencher: Bencher<'_, '_>) {
    measure(bencher, peer_layers::bearer(tokens()).layer(Bare), request);
}

#[divan::bench]
fn peer_async_require_authorization_refuse(bencher: Bencher<'_, '_>) {
    let no_tokens = Hashed::default();
    measure(bencher, peer_layers::bearer(no_tokens).layer(Bare), request);
}

fn tokens() -> Hashed<()> {
    Hashed::from_iter([(TokenHash::of(TOKEN), ())])
}
