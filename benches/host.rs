//! Cost of checking `Host` and `Origin`.
//!
//! No published layer checks `Host`. The one most similar to `origin` protects pages from forged
//! requests of other pages, and serves those that the browser calls same-origin.

use divan::{AllocProfiler, Bencher};
use tower::Layer as _;
use ziggurat_benches::{Bare, measure, of_page, peer_layers, request, run};
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

/// The most similar published layer.
#[divan::bench]
fn peer_csrf(bencher: Bencher<'_, '_>) {
    let layer = peer_layers::origin("http://localhost:3000");
    measure(bencher, layer.layer(Bare), of_page);
}

#[divan::bench]
fn peer_csrf_refuse(bencher: Bencher<'_, '_>) {
    let layer = peer_layers::origin("https://app.example");
    measure(bencher, layer.layer(Bare), of_page);
}
