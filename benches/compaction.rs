//! Cost of compacting a chat, from the bytes of the request to the bytes of the answer. Comparing
//! the sizes shows whether the cost grows faster than the chat.

use axum::{Router, body::Body};
use divan::{AllocProfiler, Bencher, counter::ItemsCount};
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tower::ServiceExt as _;
use ziggurat_chat_api as rest;

#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

/// Messages of a chat: the second is a long chat, the last the most that fit into a body.
const MESSAGES: [usize; 4] = [200, 2_000, 8_000, 32_000];

/// The message at an index.
type Message = fn(usize) -> Value;

/// Chats of people, with tools, and of nearly empty messages.
const CHATS: [(&str, Message); 3] = [("talk", talk), ("tools", tools), ("empty", empty)];

#[divan::bench(args = cases())]
fn compacting(bencher: Bencher<'_, '_>, case: &Case) {
    let runtime = Runtime::new().expect("a runtime");
    let service = rest::router([rest::compact::routes()]);
    bencher
        .counter(ItemsCount::new(case.messages))
        .with_inputs(|| Body::from(case.body.clone()))
        .bench_values(|body| runtime.block_on(answer(&service, body)));
}

async fn answer(service: &Router, body: Body) -> usize {
    let request = Request::post("/api/chat/compact").body(body);
    let request = request.expect("valid parts");
    let response = service.clone().oneshot(request).await.expect("infallible");
    assert!(response.status().is_success());
    let body = response.into_body().collect().await.expect("whole");
    body.to_bytes().len()
}

fn talk(at: usize) -> Value {
    let said = "Orders are counted by day, and the sum of a week is what its days add up to. ";
    let text = format!("{at}: {}", said.repeat(4));
    let role = if at.is_multiple_of(2) {
        "user"
    } else {
        "assistant"
    };
    json!({"role": role, "content": text})
}

fn tools(at: usize) -> Value {
    if at.is_multiple_of(2) {
        let block = json!({"type": "tool_use", "id": format!("t{at}"), "name": "query_database",
            "input": {"query": "SELECT * FROM orders WHERE id > 7"}});
        return json!({"role": "assistant", "content": [block]});
    }
    let rows = "1\t2026-11-21\tAcme Seedling Kit\t19.95\n".repeat(10);
    let block = json!({"type": "tool_result", "tool_use_id": format!("t{}", at - 1),
        "content": rows});
    json!({"role": "user", "content": [block]})
}

fn empty(_: usize) -> Value {
    json!({})
}

#[derive(Debug)]
struct Case {
    name: String,
    messages: usize,
    body: String,
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

fn cases() -> Vec<Case> {
    let each = |messages: usize| {
        CHATS.map(|(name, message)| {
            let list: Vec<_> = (0..messages).map(message).collect();
            let body = json!({"messages": list, "max_tokens": 1000});
            Case {
                name: format!("{name} {messages}"),
                messages,
                body: body.to_string(),
            }
        })
    };
    MESSAGES.into_iter().flat_map(each).collect()
}
