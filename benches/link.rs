//! Cost of adding a `Link` header.

use std::{
    convert::Infallible,
    future::{Ready, ready},
};

use divan::{AllocProfiler, Bencher};
use http::{Request, Response};
use tower::{Layer as _, service_fn};
use ziggurat_benches::{Bare, Body, measure, peer_layers, request, run};
use ziggurat_layers::link::{LinkLayer, LinkValue};

#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

const LINK: &str = r#"</openapi.json>; rel="service-desc""#;

fn main() {
    run();
}

#[divan::bench]
fn baseline(bencher: Bencher<'_, '_>) {
    measure(bencher, Bare, request);
}

#[divan::bench]
fn pass(bencher: Bencher<'_, '_>) {
    measure(bencher, layer().layer(Bare), request);
}

/// The response has the link already: it is read, and none is added.
#[divan::bench]
fn pass_already_there(bencher: Bencher<'_, '_>) {
    let inner = peer_layers::link(LINK).layer(Bare);
    measure(bencher, layer().layer(inner), request);
}

/// The response is not JSON, and passes unchanged.
#[divan::bench]
fn pass_not_selected(bencher: Bencher<'_, '_>) {
    let plain = |_: Request<Body>| -> Ready<Result<Response<Body>, Infallible>> {
        ready(Ok(Response::new(Body::default())))
    };
    measure(bencher, layer().layer(service_fn(plain)), request);
}

/// The most similar published layer: it appends without reading existing links.
#[divan::bench]
fn peer_set_response_header(bencher: Bencher<'_, '_>) {
    measure(bencher, peer_layers::link(LINK).layer(Bare), request);
}

fn layer() -> LinkLayer {
    LinkLayer::new([LinkValue::service_desc("/openapi.json").expect("a reference")])
}
