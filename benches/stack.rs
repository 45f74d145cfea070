//! Cost of the whole stack per request.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    num::NonZeroU32,
    sync::Arc,
};

use divan::{AllocProfiler, Bencher};
use http::{Extensions, HeaderValue, header};
use tower::{Service as _, ServiceBuilder, service_fn};
use tower_http::{
    catch_panic::CatchPanicLayer, limit::RequestBodyLimitLayer, set_header::SetResponseHeaderLayer,
};
use ziggurat_benches::{
    Bare, TOKEN,
    issuer::{access_tokens, with_token},
    measure, ready_now, request, run,
};
use ziggurat_layers::{
    audit::{AuditIdentityLayer, AuditLayer, Record},
    bearer::{BearerLayer, Hashed, TokenHash},
    body_limit::BodyLimitLayer,
    client_ip::{HopHeader, SetClientIpLayer},
    host::HostLayer,
    idempotency::IdempotencyLayer,
    json_rpc::{Call, Json, JsonRpcLayer, NoStream, Reply},
    link::{LinkLayer, LinkValue},
    mcp::{Access, McpPolicyLayer},
    origin::OriginLayer,
    rate_limit::{AtOnce, Concurrency, FailureWindow, RateLimitLayer, Steady},
    sanitize::SanitizeLayer,
};

#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

/// The identity that a token proves.
type Name = Arc<str>;

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

/// All layers around a service, from the outside in.
macro_rules! all_layers {
    ($verify:expr, $service:expr) => {{
        let trusted = "10.0.0.0/8".parse().expect("networks");
        let quota = "1000000000 per second".parse().expect("a quota");
        let at_once = Concurrency::new(AtOnce(NonZeroU32::MIN));
        let access = Access::nothing().with_tools(["search"]);
        ServiceBuilder::new()
            .layer(SetClientIpLayer::new(trusted, HopHeader::XForwardedFor))
            .layer(AuditLayer::new(drop::<Record>))
            .layer(SanitizeLayer::new())
            .layer(LinkLayer::new([
                LinkValue::service_desc("/openapi.json").expect("a reference")
            ]))
            .layer(HostLayer::default())
            .layer(OriginLayer::default())
            .layer(RateLimitLayer::new(Steady::new(quota)))
            .layer(BearerLayer::new($verify).with_exempt(["/health"]))
            .layer(AuditIdentityLayer::<Name>::new())
            .layer(RateLimitLayer::new(Steady::new(quota)).with_extension::<Name>())
            .layer(RateLimitLayer::new(at_once).with_extension::<Name>())
            .layer(BodyLimitLayer::new(1 << 20))
            .layer(IdempotencyLayer::new(|extensions: &Extensions| {
                extensions.get::<Name>().cloned()
            }))
            .layer(McpPolicyLayer::new(move |_: &Extensions| {
                Some(access.clone())
            }))
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

/// All layers, with tokens that are looked up by their digest.
#[divan::bench]
fn pass_all_layers(bencher: Bencher<'_, '_>) {
    let tokens = Hashed::from_iter([(TokenHash::of(TOKEN), Name::from("ali"))]);
    measure(bencher, all_layers!(tokens, Bare), request);
}

/// All layers, with an access token that was verified before.
#[divan::bench]
fn pass_all_layers_with_access_token(bencher: Bencher<'_, '_>) {
    let tokens = access_tokens(10_000).with_identity(|token| Ok(Name::from(token.subject())));
    ready_now(tokens.poll());
    measure(bencher, all_layers!(tokens, Bare), with_token);
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
