//! Cost of removing causes from responses.

use std::{
    convert::Infallible,
    future::{Ready, ready},
};

use divan::{AllocProfiler, Bencher, black_box};
use http::{Request, Response, StatusCode};
use tower::{Layer as _, service_fn};
use tower_http::catch_panic::CatchPanicLayer;
use ziggurat_benches::{Bare, Body, measure, request, run};
use ziggurat_layers::sanitize::{SanitizeLayer, scrub};

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
    measure(bencher, SanitizeLayer::new().layer(Bare), request);
}

/// A fault: its body is replaced. Logging is off here.
#[divan::bench]
fn refuse(bencher: Bencher<'_, '_>) {
    measure(
        bencher,
        SanitizeLayer::new().layer(service_fn(fault)),
        request,
    );
}

/// The most similar published layer: it catches panics, and boxes every response body for it.
#[divan::bench]
fn peer_catch_panic(bencher: Bencher<'_, '_>) {
    measure(bencher, CatchPanicLayer::new().layer(Bare), request);
}

#[divan::bench]
fn scrub_ordinary_text(bencher: Bencher<'_, '_>) {
    let text = "relation \"orders\" does not exist, tried 3 times in 20 ms ".repeat(18);
    bencher.bench(|| scrub(black_box(&text)).len());
}

fn fault(_: Request<Body>) -> Ready<Result<Response<Body>, Infallible>> {
    let mut response = Response::new(Body::from("password=hunter2"));
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    ready(Ok(response))
}
