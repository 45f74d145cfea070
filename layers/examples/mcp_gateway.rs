//! A gateway in front of any MCP server. The guide `docs/src/gateway.md` builds it step by step.
//!
//! ```console
//! $ npx -y @modelcontextprotocol/server-everything streamableHttp
//! $ cargo run -p ziggurat-layers --features full --example mcp_gateway
//! ```

use std::{collections::HashMap, env, error::Error, fs, net::SocketAddr, sync::Arc};

use axum::{
    Extension, Router,
    body::{Body, Bytes},
    extract::{ConnectInfo, Request, State},
    response::IntoResponse,
    routing::any,
};
use http::{Extensions, HeaderMap, Method, StatusCode};
use reqwest::{Client, Url, redirect::Policy};
use tokio::{net::TcpListener, signal::ctrl_c, time::Duration};
use tower::ServiceBuilder;
use ziggurat_layers::{
    ServiceBuilderExt as _,
    audit::{AuditIdentityLayer, AuditLayer, TracingSink},
    bearer::{Hashed, TokenHash},
    client_ip::{ClientIp, HopHeader},
    host::Hosts,
    mcp::Access,
    origin::Origins,
    rate_limit::{AtOnce, Concurrency, FailureWindow, RateLimitLayer, Steady},
    sanitize::{ErrorDetail, RequestId, SanitizeLayer},
};

#[derive(serde::Deserialize)]
struct Caller {
    token_sha256: String,
    tools: Vec<String>,
    prompts: Vec<String>,
    resources: Vec<String>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().json().flatten_event(true).init();
    let setting = |name, default: &str| env::var(name).unwrap_or_else(|_| default.to_owned());
    let upstream: Url = setting("UPSTREAM", "http://127.0.0.1:3001/mcp").parse()?;
    let listener = TcpListener::bind(setting("LISTEN", "127.0.0.1:8080")).await?;
    let address = listener.local_addr()?;
    let hosts = Hosts::of(address.ip(), setting("HOSTS", "").split_terminator(','))?;
    let origins = Origins::listed(setting("ORIGINS", "").split_terminator(','))?;
    let proxies = setting("TRUSTED_PROXIES", "").parse()?;
    let rate = Steady::new(setting("RATE", "600 per minute").parse()?);
    let at_once = Concurrency::new(AtOnce(setting("CONCURRENCY", "16").parse()?));
    let callers = fs::read(setting("CALLERS", "callers.json"))?;
    let (mut tokens, mut access) = (Vec::new(), HashMap::new());
    for (name, caller) in serde_json::from_slice::<HashMap<String, Caller>>(&callers)? {
        let name: Arc<str> = name.into();
        tokens.push((caller.token_sha256.parse::<TokenHash>()?, name.clone()));
        let tools = Access::nothing().with_tools(caller.tools);
        let tools_and_prompts = tools.with_prompts(caller.prompts);
        access.insert(name, tools_and_prompts.with_resources(caller.resources));
    }
    let access = Arc::new(access);
    // Streams may last for hours: the only time limit is for connecting.
    let client = Client::builder().connect_timeout(Duration::from_secs(5));
    let client = client.redirect(Policy::none()).build()?;

    let layers = ServiceBuilder::new()
        .map_request(add_peer_and_id)
        .client_ip(proxies, HopHeader::XForwardedFor)
        .with(AuditLayer::new(TracingSink).with_required())
        .with(SanitizeLayer::new().with_message("The MCP server failed"))
        .host(hosts)
        .origin(origins)
        .client_limit(FailureWindow::new("10 per 15 minutes".parse()?))
        .bearer(Hashed::from_iter(tokens))
        .with(AuditIdentityLayer::<Arc<str>>::new())
        .with(RateLimitLayer::new(rate).with_extension::<Arc<str>>())
        .with(RateLimitLayer::new(at_once).with_extension::<Arc<str>>())
        .body_limit(1 << 20)
        .mcp_policy(move |request: &Extensions| access.get(request.get::<Arc<str>>()?).cloned());
    let app = Router::new().route(upstream.path(), any(forward));
    let app = app.with_state((client, upstream)).layer(layers);
    let app = app.into_make_service_with_connect_info::<SocketAddr>();
    tracing::info!("listening on http://{address}");
    tokio::select! {
        served = axum::serve(listener, app) => Ok(served?),
        stopped = ctrl_c() => Ok(stopped?),
    }
}

fn add_peer_and_id(mut request: Request) -> Request {
    if let Some(&ConnectInfo(peer)) = request.extensions().get() {
        request.extensions_mut().insert(ClientIp::from_peer(peer));
    }
    request.extensions_mut().insert(RequestId::generate());
    request
}

async fn forward(
    State((client, upstream)): State<(Client, Url)>,
    (method, headers, message): (Method, HeaderMap, Bytes),
) -> Result<impl IntoResponse, (StatusCode, Extension<ErrorDetail>)> {
    let request = client.request(method, upstream).headers(of_mcp(&headers));
    let failed = |error| (StatusCode::BAD_GATEWAY, Extension(ErrorDetail::new(error)));
    let response = request.body(message).send().await.map_err(failed)?;
    let (status, headers) = (response.status(), of_mcp(response.headers()));
    Ok((status, headers, Body::new(reqwest::Body::from(response))))
}

/// Copies the headers of MCP: no token, no cookie and nothing about a connection is passed on.
fn of_mcp(headers: &HeaderMap) -> HeaderMap {
    let others = ["accept", "content-type", "last-event-id"];
    let is_passed = |name: &str| name.starts_with("mcp-") || others.contains(&name);
    let mut passed = headers.clone();
    for name in headers.keys().filter(|name| !is_passed(name.as_str())) {
        passed.remove(name);
    }
    passed
}
