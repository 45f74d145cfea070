//! Cost of checking `Host` and `Origin`.
//!
//! No published layer does either.

use divan::{AllocProfiler, Bencher};
use http::{HeaderValue, Request, header};
use tower::Layer as _;
use ziggurat_benches::{Bare, Body, measure, request, run};
use ziggurat_layers::{
    host::{HostLayer, Hosts},
    origin::{OriginLayer, Origins},
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
fn pass_host(bencher: Bencher<'_, '_>) {
    measure(bencher, HostLayer::default().layer(Bare), request);
}

#[divan::bench]
fn refuse_host(bencher: Bencher<'_, '_>) {
    let hosts = Hosts::listed(["mcp.example"]).expect("a name");
    measure(bencher, HostLayer::new(hosts).layer(Bare), request);
}

/// The client is a program, which sends no origin.
#[divan::bench]
fn pass_without_origin(bencher: Bencher<'_, '_>) {
    measure(bencher, OriginLayer::default().layer(Bare), request);
}

#[divan::bench]
fn pass_origin(bencher: Bencher<'_, '_>) {
    measure(bencher, OriginLayer::default().layer(Bare), of_page);
}

#[divan::bench]
fn refuse_origin(bencher: Bencher<'_, '_>) {
    let origins = Origins::listed(["https://app.example"]).expect("an origin");
    measure(bencher, OriginLayer::new(origins).layer(Bare), of_page);
}

fn of_page() -> Request<Body> {
    let mut request = request();
    let origin = HeaderValue::from_static("http://localhost:3000");
    request.headers_mut().insert(header::ORIGIN, origin);
    request
}
