//! Cost of the framing of a JSON-RPC call.
//!
//! The published JSON-RPC servers have their own dispatch and do not work as a layer, so the peer
//! is code written by hand: parse the body into a `serde_json` value, read the method, serialise
//! the answer.

use std::{
    convert::Infallible,
    future::{Ready, ready},
};

use bytes::Bytes;
use divan::{AllocProfiler, Bencher};
use http::{Request, Response};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::{Layer as _, service_fn};
use ziggurat_benches::{Bare, Body, measure, ready_now, request, run};
use ziggurat_layers::json_rpc::{
    Batches, Call, Dialect, Error, Json, JsonRpcLayer, NoStream, Reply,
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
fn pass(bencher: Bencher<'_, '_>) {
    measure(
        bencher,
        JsonRpcLayer::new().layer(service_fn(ping)),
        request,
    );
}

/// A call with a kilobyte of parameters that are not parsed.
#[divan::bench]
fn pass_large_params(bencher: Bencher<'_, '_>) {
    measure(bencher, JsonRpcLayer::new().layer(service_fn(ping)), large);
}

#[divan::bench]
fn pass_batch_of_ten(bencher: Bencher<'_, '_>) {
    let dialect = Dialect::new().with_batches(Batches::new(10));
    let layer = JsonRpcLayer::new().with_dialect(dialect);
    measure(bencher, layer.layer(service_fn(ping)), batch);
}

#[divan::bench]
fn refuse(bencher: Bencher<'_, '_>) {
    measure(bencher, JsonRpcLayer::new().layer(service_fn(ping)), broken);
}

#[divan::bench]
fn peer_serde_json_value(bencher: Bencher<'_, '_>) {
    measure(bencher, service_fn(by_hand), request);
}

#[divan::bench]
fn peer_serde_json_value_large_params(bencher: Bencher<'_, '_>) {
    measure(bencher, service_fn(by_hand), large);
}

fn ping(call: Call) -> Ready<Result<Reply<NoStream>, Infallible>> {
    let is_known = call.method() == "ping";
    drop(call);
    ready(Ok(if is_known {
        Json::new(&Empty {}).expect("an object").into()
    } else {
        Error::method_not_found().into()
    }))
}

#[derive(serde::Serialize)]
struct Empty {}

fn by_hand(request: Request<Body>) -> Ready<Result<Response<Body>, Infallible>> {
    let body = ready_now(request.into_body().collect())
        .expect("whole")
        .to_bytes();
    let answer = match serde_json::from_slice::<Value>(&body) {
        Ok(call) if call["method"] == "ping" => {
            json!({"jsonrpc": "2.0", "id": call["id"], "result": {}})
        }
        _ => json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32601, "message": "no"}}),
    };
    let bytes = serde_json::to_vec(&answer).expect("a value");
    ready(Ok(Response::new(Body::from(Bytes::from(bytes)))))
}

fn with_body(body: impl Into<Bytes>) -> Request<Body> {
    let body = body.into();
    request().map(|_| Body::from(body))
}

fn large() -> Request<Body> {
    let query = "select * from orders where note = 'x' and price > 10;\\n".repeat(18);
    with_body(format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"name":"query","arguments":{{"query":"{query}"}}}}}}"#
    ))
}

fn batch() -> Request<Body> {
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    with_body(format!("[{}]", [call; 10].join(",")))
}

fn broken() -> Request<Body> {
    with_body(r#"{"jsonrpc":"2.0","id":1,"method":"ping""#)
}
