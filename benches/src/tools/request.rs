//! What is sent.

/// A call as it goes over the wire, of somebody with a token.
#[must_use]
pub fn post(address: &str, token: &str, call: &str) -> Vec<u8> {
    let length = call.len();
    format!(
        "POST /mcp/v1 HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{call}"
    )
    .into_bytes()
}

/// A call of `query_database`. The text must not need an escape.
#[must_use]
pub fn query(text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"query_database","arguments":{{"query":"{text}"}}}}}}"#
    )
}

/// A call of `similarity_search` in the only table with vectors. The text must not need an escape.
#[must_use]
pub fn search(text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"similarity_search","arguments":{{"query_text":"{text}"}}}}}}"#
    )
}
