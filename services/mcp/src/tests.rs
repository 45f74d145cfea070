mod access;
mod doubles;
mod methods;
mod observing;
mod results;
mod setup;
mod structures;

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tokio_test::block_on;
use ziggurat_layers::json_rpc::{Answer, Incoming};

use super::*;
use crate::{
    ReadResource,
    tests::doubles::{Fails, Pieces, Recites, Says, Static, Who},
};

/// Makes a server with a tool of every kind.
fn server() -> Mcp {
    let resources = Resources::new()
        .with(Static::text("custom://b", "Bread"))
        .with(Static::text("custom://a", "Apples"))
        .with(Static::unavailable("custom://later"))
        .with(Static::failing("custom://broken"));
    let tools = Tools::new()
        .with(Says)
        .with(Who)
        .with(Fails)
        .with(Pieces)
        .with(ReadResource::new(resources.clone()))
        .with_disabled(["off", "read_resource"]);
    let about = ServerInfo::new("ziggurat-tools", "1.2.3");
    let prompts = Prompts::new().with(Recites);
    Mcp::new(&about, tools, resources, prompts).expect("well-formed lists")
}

fn read(message: String) -> Incoming {
    dialect().read(Request::new(Bytes::from(message)))
}

fn answer(mcp: &Mcp, incoming: Incoming) -> Option<String> {
    let Ok(answer) = block_on(incoming.answer(mcp.clone()));
    let answer: Answer<ResultBody> = answer;
    answer.into_body().map(|body| {
        let whole = block_on(body.collect()).expect("a whole body").to_bytes();
        String::from_utf8(whole.into()).expect("UTF-8")
    })
}

/// Returns the answer to a request, without its envelope.
fn ask(mcp: &Mcp, method: &str, params: &str) -> String {
    let message = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
    let answer = answer(mcp, read(message)).expect("an answer");
    let outcome = answer.strip_prefix(r#"{"jsonrpc":"2.0","id":1,"#);
    let outcome = outcome.and_then(|outcome| outcome.strip_suffix('}'));
    outcome.expect("an envelope").to_owned()
}

fn ask_json(mcp: &Mcp, method: &str, params: &str) -> Value {
    let outcome = format!("{{{}}}", ask(mcp, method, params));
    serde_json::from_str(&outcome).expect("JSON")
}

/// Returns the text of a tool, and whether the result is an error.
fn said(result: &Value) -> (&str, bool) {
    let content = result["result"]["content"].as_array().expect("content");
    assert_eq!(content.len(), 1, "{result}");
    assert_eq!(content[0]["type"], "text", "{result}");
    let is_error = match &result["result"]["isError"] {
        Value::Null => false,
        is_error => is_error.as_bool().expect("a truth value"),
    };
    (content[0]["text"].as_str().expect("text"), is_error)
}
