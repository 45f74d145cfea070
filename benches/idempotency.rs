//! Cost of idempotency keys.
//!
//! The published layers are bound to axum and to stores behind a runtime, so there is no peer.

use std::cell::Cell;

use divan::{AllocProfiler, Bencher};
use http::{Extensions, HeaderValue, Method, Request};
use tower::Layer as _;
use ziggurat_benches::{Bare, Body, measure, request, run, send};
use ziggurat_layers::idempotency::IdempotencyLayer;

#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

type Layer = IdempotencyLayer<fn(&Extensions) -> Option<()>>;

fn main() {
    run();
}

#[divan::bench]
fn baseline(bencher: Bencher<'_, '_>) {
    measure(bencher, Bare, request);
}

#[divan::bench]
fn pass_without_key(bencher: Bencher<'_, '_>) {
    measure(bencher, layer().layer(Bare), request);
}

/// The store is full, as it is on a server that has run for a while.
#[divan::bench]
fn pass_with_new_key(bencher: Bencher<'_, '_>) {
    let mut service = layer().with_max_keys(1000).layer(Bare);
    for _ in 0..10_000 {
        let _ = send(&mut service, with_new_key());
    }
    measure(bencher, service, with_new_key);
}

#[divan::bench]
fn repeat_response(bencher: Bencher<'_, '_>) {
    measure(bencher, layer().layer(Bare), || with_key("key"));
}

#[divan::bench]
fn refuse_invalid_key(bencher: Bencher<'_, '_>) {
    measure(bencher, layer().layer(Bare), || with_key("not, valid"));
}

fn layer() -> Layer {
    IdempotencyLayer::new(|_| Some(()))
}

fn with_new_key() -> Request<Body> {
    thread_local! {
        static KEYS: Cell<u64> = const { Cell::new(0) };
    }
    let key = KEYS.replace(KEYS.get() + 1);
    with_key(&key.to_string())
}

fn with_key(key: &str) -> Request<Body> {
    let mut request = request();
    let key = HeaderValue::from_str(key).expect("a header");
    request.headers_mut().insert("idempotency-key", key);
    *request.method_mut() = Method::POST;
    request
}
