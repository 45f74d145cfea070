//! Requests of the benches.

use serde_json::{Value, json};

/// An HTTP request with a JSON-RPC call and a token.
#[must_use]
pub fn post(address: &str, token: &str, call: &str) -> Vec<u8> {
    send("POST", "/mcp/v1", address, Some(token), call)
}

/// An HTTP request, with or without a token.
#[must_use]
pub fn send(method: &str, path: &str, address: &str, token: Option<&str>, body: &str) -> Vec<u8> {
    let length = body.len();
    let token = token.map_or_else(String::new, |token| {
        format!("authorization: Bearer {token}\r\n")
    });
    format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\n{token}\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// An HTTP request of a client that negotiates the revision by these headers.
#[must_use]
pub fn negotiated(address: &str, token: &str, headers: &str, call: &str) -> Vec<u8> {
    let length = call.len();
    format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         {headers}content-length: {length}\r\n\r\n{call}"
    )
    .into_bytes()
}

/// An HTTP request with a call of `query_database` in the newest revision, with these members of
/// `_meta` beside its own.
///
/// # Panics
/// Panics when the call is not JSON.
#[must_use]
pub fn modern(address: &str, token: &str, call: &str, mut meta: Value) -> Vec<u8> {
    let mut call: Value = serde_json::from_str(call).expect("JSON");
    meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "bench", "version": "1"});
    call["params"]["_meta"] = meta;
    let headers = "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\n\
                   mcp-name: query_database\r\n";
    negotiated(address, token, headers, &call.to_string())
}

/// A call of a tool.
#[must_use]
pub fn tool(name: &str, arguments: &Value) -> String {
    let params = json!({"name": name, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
}

/// A call of `query_database`.
#[must_use]
pub fn query(text: &str) -> String {
    tool("query_database", &json!({"query": text}))
}

/// A call of `similarity_search` in the only table with vectors.
#[must_use]
pub fn search(text: &str) -> String {
    tool("similarity_search", &json!({"query_text": text}))
}
