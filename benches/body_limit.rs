//! Cost of limiting a request body.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use divan::{AllocProfiler, Bencher};
use http::{Request, header};
use http_body::{Body as HttpBody, Frame};
use tower::Layer as _;
use tower_http::limit::RequestBodyLimitLayer;
use ziggurat_benches::{Bare, measure, request, run};
use ziggurat_layers::body_limit::BodyLimitLayer;

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
    measure(bencher, BodyLimitLayer::new(1 << 20).layer(Bare), request);
}

/// The shared flag is the one allocation.
#[divan::bench]
fn pass_unknown_length(bencher: Bencher<'_, '_>) {
    measure(bencher, BodyLimitLayer::new(1 << 20).layer(Bare), chunked);
}

#[divan::bench]
fn refuse(bencher: Bencher<'_, '_>) {
    measure(bencher, BodyLimitLayer::new(8).layer(Bare), request);
}

/// The most similar published layer.
#[divan::bench]
fn peer_request_body_limit(bencher: Bencher<'_, '_>) {
    let layer = RequestBodyLimitLayer::new(1 << 20);
    measure(bencher, layer.layer(Bare), request);
}

#[divan::bench]
fn peer_request_body_limit_unknown_length(bencher: Bencher<'_, '_>) {
    let layer = RequestBodyLimitLayer::new(1 << 20);
    measure(bencher, layer.layer(Bare), chunked);
}

#[divan::bench]
fn peer_request_body_limit_refuse(bencher: Bencher<'_, '_>) {
    let layer = RequestBodyLimitLayer::new(8);
    measure(bencher, layer.layer(Bare), request);
}

fn chunked() -> Request<Chunked> {
    let mut request = request().map(|_| Chunked);
    request.headers_mut().remove(header::CONTENT_LENGTH);
    request
}

/// An empty body with an unknown size.
struct Chunked;

impl HttpBody for Chunked {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(None)
    }
}
