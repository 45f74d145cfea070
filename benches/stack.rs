//! Cost of the whole stack per request.

use std::{
    convert::Infallible,
    future::{Ready, ready},
};

use divan::{AllocProfiler, Bencher};
use http::{HeaderValue, header};
use tower::{Service as _, ServiceBuilder, service_fn};
use tower_http::{
    catch_panic::CatchPanicLayer, limit::RequestBodyLimitLayer, set_header::SetResponseHeaderLayer,
};
use ziggurat_benches::{Bare, TOKEN, measure, request, run};
use ziggurat_layers::{
    bearer::{BearerLayer, Hashed, TokenHash},
    body_limit::BodyLimitLayer,
    client_ip::{HopHeader, SetClientIpLayer},
    json_rpc::{Call, Json, JsonRpcLayer, NoStream, Reply},
    link::{LinkLayer, LinkValue},
    rate_limit::{FailureWindow, RateLimitLayer},
    sanitize::SanitizeLayer,
};

#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

/// The stack of a server around a service.
macro_rules! stack {
    ($service:expr) => {{
        let tokens = Hashed::from_iter([(TokenHash::of(TOKEN), 7_u64)]);
        let failures = FailureWindow::new("10 per 15 minutes".parse().expect("a quota"));
        let trusted = "10.0.0.0/8".parse().expect("networks");
        ServiceBuilder::new()
            .layer(SanitizeLayer::new())
            .layer(LinkLayer::new([
                LinkValue::service_desc("/openapi.json").expect("a reference")
            ]))
            .layer(BodyLimitLayer::new(1 << 20))
            .layer(SetClientIpLayer::new(trusted, HopHeader::XForwardedFor))
            .layer(RateLimitLayer::new(failures))
            .layer(BearerLayer::new(tokens).with_exempt(["/health"]))
            .service($service)
    }};
}

fn main() {
    run();
}

#[divan::bench]
fn baseline(bencher: Bencher<'_, '_>) {
    measure(bencher, Bare, request);
}

/// The six layers before every handler, and the client address.
#[divan::bench]
fn pass_six_layers(bencher: Bencher<'_, '_>) {
    measure(bencher, stack!(Bare), request);
}

/// The same, cloned for the request as an HTTP server does.
#[divan::bench]
fn pass_six_layers_cloned(bencher: Bencher<'_, '_>) {
    let stack = stack!(Bare);
    let cloned = service_fn(move |request| stack.clone().call(request));
    measure(bencher, cloned, request);
}

/// The same in front of the framing of a JSON-RPC call.
#[divan::bench]
fn pass_with_json_rpc(bencher: Bencher<'_, '_>) {
    let calls = ServiceBuilder::new()
        .layer(JsonRpcLayer::new())
        .service(service_fn(ping));
    measure(bencher, stack!(calls), request);
}

/// The published counterparts: panics, a header, a limit.
#[divan::bench]
fn peer_tower_http(bencher: Bencher<'_, '_>) {
    let link = HeaderValue::from_static(r#"</openapi.json>; rel="service-desc""#);
    let stack = ServiceBuilder::new()
        .layer(CatchPanicLayer::new())
        .layer(SetResponseHeaderLayer::appending(header::LINK, link))
        .layer(RequestBodyLimitLayer::new(1 << 20))
        .service(Bare);
    measure(bencher, stack, request);
}

fn ping(_: Call) -> Ready<Result<Reply<NoStream>, Infallible>> {
    ready(Ok(Json::new("pong").expect("a string").into()))
}
