//! The tower of the demo, on one screen.

use std::convert::Infallible;

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use tower::{Service, ServiceBuilder, service_fn};
use ziggurat_layers::{
    bearer::{BearerLayer, Hashed, TokenHash},
    body_limit::{BodyLimitLayer, LimitedBody},
    client_ip::{ClientIpLayer, HopHeader, TrustedProxies},
    json_rpc::{JsonRpcLayer, RpcBody},
    rate_limit::{Failures, RateLimitLayer},
    reject::{ErrorString, Rejection},
    sanitize::SanitizeLayer,
};
use ziggurat_services::{
    mcp::{Mcp, ResultBody, dialect},
    serve::RequestBody,
};

pub(crate) type Body = RpcBody<ResultBody>;

/// The largest message a client may send.
const MAX_BODY_BYTES: u64 = 10 << 20;

/// Puts the layers around the methods of MCP.
pub(crate) fn build(
    token: TokenHash,
    mcp: Mcp,
) -> impl Service<
    Request<RequestBody>,
    Response = Response<Body>,
    Error = Infallible,
    Future: Send + 'static,
> + Clone
+ Send
+ 'static {
    let failures = Failures::new("10 per 15 minutes".parse().expect("a quota"));
    let tokens = Hashed::from_iter([(token, token)]);
    ServiceBuilder::new()
        // Outermost: whatever goes wrong below leaves as one fixed sentence.
        .layer(SanitizeLayer::new())
        // Before anything reads: nobody is worth more than this.
        .layer(BodyLimitLayer::new(MAX_BODY_BYTES))
        // Who is calling decides who is limited. No proxy stands before a demo.
        .layer(ClientIpLayer::new(
            TrustedProxies::default(),
            HopHeader::Forwarded,
        ))
        // Outside of the token check, whose failures it counts.
        .layer(RateLimitLayer::new(failures))
        .layer(BearerLayer::new(tokens).with_exempt(["/health", "/.well-known/*"]))
        .service(routes(mcp))
}

fn routes(
    mcp: Mcp,
) -> impl Service<
    Request<LimitedBody<RequestBody>>,
    Response = Response<Body>,
    Error = Infallible,
    Future: Send + 'static,
> + Clone
+ Send
+ 'static {
    let calls = ServiceBuilder::new()
        .layer(JsonRpcLayer::new().with_dialect(dialect()))
        .service(mcp);
    service_fn(move |request: Request<LimitedBody<RequestBody>>| {
        let mut calls = calls.clone();
        async move {
            match request.uri().path() {
                "/mcp/v1" => calls.call(request).await,
                "/health" => Ok(health()),
                _ => Ok(nothing_here()),
            }
        }
    })
}

fn health() -> Response<Body> {
    let body = concat!(
        r#"{"status":"ok","server":"ziggurat-demo","version":""#,
        env!("CARGO_PKG_VERSION"),
        r#""}"#
    );
    let mut response = Response::new(Bytes::from_static(body.as_bytes()).into());
    let json = header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

fn nothing_here() -> Response<Body> {
    Rejection::new(StatusCode::NOT_FOUND, "not_found", "Not found").into_response(&ErrorString)
}
