//! Cost of finding the client address.
//!
//! No published layer does only this: `tower_governor` reads the leftmost address inside its rate
//! limiter; see `rate_limit.rs`.

use divan::{AllocProfiler, Bencher};
use http::Request;
use tower::Layer as _;
use ziggurat_benches::{Bare, Body, measure, request, run};
use ziggurat_layers::client_ip::{HopHeader, SetClientIpLayer};

#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

fn main() {
    run();
}

#[divan::bench]
fn baseline(bencher: Bencher<'_, '_>) {
    measure(bencher, Bare, request);
}

/// The peer is not a trusted proxy, so no header is read.
#[divan::bench]
fn pass_unlisted_peer(bencher: Bencher<'_, '_>) {
    let layer = layer("10.0.0.0/8", HopHeader::XForwardedFor);
    measure(bencher, layer.layer(Bare), proxied);
}

#[divan::bench]
fn pass_x_forwarded_for(bencher: Bencher<'_, '_>) {
    let layer = layer("10.0.0.0/8, 192.0.2.0/24", HopHeader::XForwardedFor);
    measure(bencher, layer.layer(Bare), proxied);
}

#[divan::bench]
fn pass_forwarded(bencher: Bencher<'_, '_>) {
    let layer = layer("10.0.0.0/8, 192.0.2.0/24", HopHeader::Forwarded);
    measure(bencher, layer.layer(Bare), proxied);
}

fn layer(trusted: &str, header: HopHeader) -> SetClientIpLayer {
    SetClientIpLayer::new(trusted.parse().expect("networks"), header)
}

/// A request that came through two proxies.
fn proxied() -> Request<Body> {
    let mut request = request();
    let headers = request.headers_mut();
    let list = "198.51.100.7, 203.0.113.9, 10.0.0.7";
    headers.insert("x-forwarded-for", list.parse().expect("ascii"));
    let list = r#"for=198.51.100.7, for="[2001:db8::9]:4711";proto=https, for=10.0.0.7"#;
    headers.insert("forwarded", list.parse().expect("ascii"));
    request
}
