//! Lists of the protocol.

use serde_json::{Value, json};

use crate::{calls::request::Request, party::Side};

/// Limit on the pages of a list.
const MAX_PAGES: usize = 100;

/// Returns the entries of a list of the protocol, as A gets them.
pub(crate) async fn listed(
    method: &str,
    member: &str,
    server: &impl AsyncFn(Side, &Request) -> String,
) -> Vec<Value> {
    let (mut entries, mut params) = (Vec::new(), json!({}));
    for _ in 0..MAX_PAGES {
        let request = Request::mcp(method, params);
        let answer = server(Side::A, &request).await;
        let answer: Value = serde_json::from_str(&answer).unwrap_or_default();
        let page = answer["result"][member].as_array().into_iter().flatten();
        entries.extend(page.cloned());
        match &answer["result"]["nextCursor"] {
            Value::String(cursor) => params = json!({"cursor": cursor}),
            _ => break,
        }
    }
    entries
}
