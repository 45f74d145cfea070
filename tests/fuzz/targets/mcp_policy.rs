//! Any body of a request, and any list of a server: only allowed names pass, in either direction.
#![no_main]

use std::{
    cell::RefCell,
    future::ready,
    pin::pin,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use http::{Extensions, Request, Response};
use http_body_util::{BodyExt as _, Full};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use tower::{Layer as _, ServiceExt as _, service_fn};
use ziggurat_layers::mcp::{Access, CheckedBody, McpPolicyLayer};

const LIST: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

fn access() -> Access {
    Access::nothing().with_tools(["a", "b*"])
}

fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("nothing here waits"),
    }
}

/// Returns the bodies that reach the server and the client.
fn through(body: &[u8], content_type: &str, response: &[u8]) -> (Option<Bytes>, Option<Bytes>) {
    let received = RefCell::new(None);
    let server = service_fn(|request: Request<CheckedBody>| {
        *received.borrow_mut() = Some(Bytes::from(request.into_body()));
        let body = Full::new(Bytes::copy_from_slice(response));
        let response = Response::builder().header("content-type", content_type);
        ready(response.body(body))
    });
    let layer = McpPolicyLayer::new(|_: &Extensions| Some(access())).layer(server);
    let request = Request::post("/").body(Full::new(Bytes::copy_from_slice(body)));
    let response = now(layer.oneshot(request.expect("parts"))).expect("parts");
    let is_ok = response.status() == 200;
    let body = now(response.into_body().collect())
        .expect("whole")
        .to_bytes();
    (received.take(), is_ok.then_some(body))
}

fn check_call(body: &Bytes) {
    let json: Value = serde_json::from_slice(body).expect("the server got JSON");
    let messages = json
        .as_array()
        .map_or(std::slice::from_ref(&json), Vec::as_slice);
    for message in messages {
        if message["method"] == "tools/call" {
            let name = message["params"]["name"].as_str().expect("a checked name");
            assert!(access().allows_tool(name), "{name}");
        }
    }
}

fn check_list(json: &[u8]) {
    let json: Value = serde_json::from_slice(json).expect("the client got JSON");
    let messages = json
        .as_array()
        .map_or(std::slice::from_ref(&json), Vec::as_slice);
    for message in messages {
        for tool in message["result"]["tools"].as_array().into_iter().flatten() {
            assert!(access().allows_tool(tool["name"].as_str().expect("a checked name")));
        }
    }
}

/// Reads events as a client does.
fn check_events(stream: &[u8]) {
    let text = str::from_utf8(stream).expect("checked text");
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    for event in text.split("\n\n") {
        let data: Vec<_> = event
            .split('\n')
            .filter_map(|line| line.strip_prefix("data:"))
            .map(|data| data.strip_prefix(' ').unwrap_or(data))
            .collect();
        let data = data.join("\n");
        if !data.is_empty() {
            check_list(data.as_bytes());
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let (sent, _) = through(bytes, "application/json", b"{}");
    if let Some(sent) = sent {
        assert_eq!(sent, bytes);
        check_call(&sent);
    }
    if bytes.is_empty() {
        return;
    }
    if let (_, Some(list)) = through(LIST, "application/json", bytes) {
        check_list(&list);
    }
    if let (_, Some(events)) = through(LIST, "text/event-stream", bytes) {
        check_events(&events);
    }
});
