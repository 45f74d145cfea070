//! Tests of spans of requests to `/api` and to providers of models.

use std::fs;

use serde_json::{Value, json};
use ziggurat_black_box::Collector;
use ziggurat_fake_providers::{Api, Fake, Turn};

use super::{PARENT, TRACE, below, only, spans_at_the_end, traced, word};
use crate::{
    revisions::ask,
    support::{Client, Home, Program},
};

const KEY: &str = "sk-wq8JkLmN2pRs7TuV";

/// Unreachable, because these tests connect to no database.
const DATABASE: &str = "databases: [{name: main, host: 127.0.0.1, port: 1, user: nobody}]\n";

/// Starts a server that uses this provider; `more` is a part of the section `telemetry`.
fn started(fake: &Fake, collector: &Collector, more: &str) -> (Home, Program, Client) {
    let home = Home::new();
    let (base, url) = (fake.url(Api::OpenAi), &collector.url);
    home.configure(&format!(
        "{DATABASE}audit: {{file: audit.jsonl}}\nembedding: {{enabled: true, provider: openai, \
         openai_base_url: '{base}', openai_api_key: {KEY}}}\nllm: {{enabled: true, provider: \
         openai, model: m, openai_base_url: '{base}', openai_api_key: {KEY}}}\ntelemetry: {{otlp: \
         {{url: {url}, ratio: 0}}{more}}}\n"
    ));
    let token = home.token("main");
    let (program, client) = home.serve(&[]);
    let client = client.bearing(&token);
    (home, program, client)
}

fn embed(client: &Client) {
    let params = json!({"name": "generate_embedding", "arguments": {"text": "two ferns"}});
    ask(client, "tools/call", &traced(params));
}

/// Returns the traceparent of a span.
fn parent(span: &Value) -> String {
    format!("00-{TRACE}-{}-01", span["spanId"].as_str().expect("an id"))
}

#[test]
fn a_request_to_a_provider_has_a_span_which_the_provider_gets() {
    let (fake, collector) = (Fake::start(), Collector::start());
    let (_home, program, client) = started(&fake, &collector, ", propagate_to_providers: true");
    embed(&client);
    fake.next(Turn::refusal(400));
    embed(&client);
    let spans = spans_at_the_end(program, &collector);
    let seen = fake.requests();
    let [first, second] = &seen[..] else {
        panic!("{seen:?}");
    };
    let mut requests = spans
        .iter()
        .filter(|span| span["name"] == "provider openai");
    for (request, error) in [(first, None), (second, Some("400"))] {
        let span = requests.next().expect("a span");
        assert_eq!(word(span, "error.type"), error);
        assert_eq!(request.header("traceparent"), Some(&*parent(span)));
        assert_eq!(request.header("tracestate"), Some("a=1"));
        let mut calls = spans.iter();
        let call = calls.find(|call| call["spanId"] == span["parentSpanId"]);
        let call = call.expect("a call");
        assert_eq!(call["name"], "tools/call generate_embedding");
        assert_eq!(call["parentSpanId"], PARENT);
    }
    let exported = json!(spans).to_string();
    for secret in [KEY, "ferns", "127.0.0.1"] {
        assert!(!exported.contains(secret), "{exported}");
    }
}

#[test]
fn a_provider_gets_no_trace_unless_the_operator_says_so() {
    let (fake, collector) = (Fake::start(), Collector::start());
    let (_home, program, client) = started(&fake, &collector, "");
    embed(&client);
    let spans = spans_at_the_end(program, &collector);
    only(&spans, "provider openai");
    let request = fake.request();
    assert_eq!(request.header("traceparent"), None);
    assert_eq!(request.header("tracestate"), None);
}

#[test]
fn a_request_to_the_rest_api_has_a_span_and_its_provider_one_below() {
    let (fake, collector) = (Fake::start(), Collector::start());
    let (home, program, client) = started(&fake, &collector, ", propagate_to_providers: true");
    let header = format!("traceparent: 00-{TRACE}-{PARENT}-01\r\n");
    let messages = json!([{"role": "user", "content": "How many ferns?"}]);
    let body = json!({"messages": messages}).to_string();
    let headers = format!("{header}content-type: application/json\r\n");
    fake.next(Turn::text("Two."));
    let answer = client.send("POST", "/api/llm/chat", &headers, &body);
    assert_eq!(answer.status, 200, "{answer:?}");
    for path in ["/api/user/info", "/api/llm/models?provider=openai"] {
        assert_eq!(client.send("GET", path, &header, "").status, 200, "{path}");
    }
    client.send("GET", "/api/databases/invented", &header, "");

    let spans = spans_at_the_end(program, &collector);
    for (name, expected) in [
        ("POST /api/llm/chat", 1),
        ("GET /api/llm/models", 1),
        ("GET /api/user/info", 0),
        ("_OTHER", 0),
    ] {
        let span = only(&spans, name);
        assert_eq!(span["parentSpanId"], PARENT, "{name}");
        assert_eq!(span["traceId"], TRACE, "{name}");
        assert_eq!(word(span, "network.transport"), Some("tcp"), "{name}");
        let verdict = if name == "_OTHER" { "unknown" } else { "ok" };
        assert_eq!(word(span, "ziggurat.verdict"), Some(verdict), "{name}");
        let requests = below(&spans, span);
        assert_eq!(requests.len(), expected, "{name}");
        for request in requests {
            assert_eq!(request["name"], "provider openai", "{name}");
        }
    }
    let sent = fake.requests()[0].header("traceparent").map(str::to_owned);
    let chat = below(&spans, only(&spans, "POST /api/llm/chat"))[0];
    assert_eq!(sent, Some(parent(chat)));
    let exported = json!(spans).to_string();
    for secret in [KEY, "ferns", "invented"] {
        assert!(!exported.contains(secret), "{exported}");
    }
    let trail = fs::read_to_string(home.file("audit.jsonl")).expect("a trail");
    let trace_id = format!(r#""trace_id":"{TRACE}""#);
    assert_eq!(trail.matches(&trace_id).count(), 4, "{trail}");
}
