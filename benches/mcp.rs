//! Cost of the policy in front of an MCP server.
//!
//! No published layer has one: the gateways that do are programs of their own.

use std::{
    convert::Infallible,
    future::{Ready, ready},
};

use bytes::Bytes;
use divan::{AllocProfiler, Bencher};
use http::{Extensions, HeaderValue, Request, Response, header};
use tower::{Layer as _, service_fn};
use ziggurat_benches::{Bare, Body, json, measure, request, run};
use ziggurat_layers::mcp::{Access, CheckedBody, McpPolicyLayer};

#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"search","inputSchema":{"type":"object"}},{"name":"drop","inputSchema":{"type":"object"}}]}}"#;

fn main() {
    run();
}

fn layer() -> McpPolicyLayer<impl Fn(&Extensions) -> Option<Access> + Clone> {
    let access = Access::nothing().with_tools(["search", "report_*"]);
    McpPolicyLayer::new(move |_| Some(access.clone()))
}

fn with_body(body: &'static str) -> Request<Body> {
    request().map(|_| Body::new(Bytes::from_static(body.as_bytes())))
}

fn call() -> Request<Body> {
    with_body(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"text":"towers"}}}"#,
    )
}

fn hidden_call() -> Request<Body> {
    with_body(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"drop","arguments":{"text":"towers"}}}"#,
    )
}

fn modern_call() -> Request<Body> {
    let mut request = with_body(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"text":"towers"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    );
    for (name, value) in [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "search"),
    ] {
        let value = HeaderValue::from_static(value);
        request.headers_mut().insert(name, value);
    }
    request
}

fn list() -> Request<Body> {
    with_body(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)
}

fn listed(_: Request<CheckedBody>) -> Ready<Result<Response<Body>, Infallible>> {
    ready(Ok(json(LIST)))
}

fn listed_in_events(_: Request<CheckedBody>) -> Ready<Result<Response<Body>, Infallible>> {
    let mut response = json(LIST);
    *response.body_mut() = Body::from(format!("event: message\ndata: {LIST}\n\n"));
    let events = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, events);
    ready(Ok(response))
}

#[divan::bench]
fn baseline(bencher: Bencher<'_, '_>) {
    measure(bencher, Bare, call);
}

#[divan::bench]
fn pass(bencher: Bencher<'_, '_>) {
    measure(bencher, layer().layer(Bare), call);
}

#[divan::bench]
fn pass_modern(bencher: Bencher<'_, '_>) {
    measure(bencher, layer().layer(Bare), modern_call);
}

#[divan::bench]
fn pass_list(bencher: Bencher<'_, '_>) {
    measure(bencher, layer().layer(service_fn(listed)), list);
}

#[divan::bench]
fn pass_list_in_events(bencher: Bencher<'_, '_>) {
    measure(bencher, layer().layer(service_fn(listed_in_events)), list);
}

#[divan::bench]
fn refuse(bencher: Bencher<'_, '_>) {
    measure(bencher, layer().layer(Bare), hidden_call);
}
