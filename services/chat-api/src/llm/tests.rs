//! Tests with fake providers.

mod streams;

use std::convert::Infallible;

use axum::body::Body;
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;
use ziggurat_fake_providers::{Answer, Api, Fake, Gate, Turn};
use ziggurat_llm::{Access, Http, Provider, Retry, client};

use super::*;
use crate as rest;

const KEY: &str = "sk-wq8JkLmN2pRs7TuV";

fn completer(played: &Fake, api: Api, provider: Provider) -> Completer {
    let access = Access {
        base_url: Some(played.url(api)),
        key: Some(KEY.to_owned().into()),
        retry: Retry::never(),
        ..Access::default()
    };
    let http = Http::new(&client().expect("a client"), provider, &access);
    Completer::new(http.expect("usable"), "model-1").expect("a completer")
}

/// Returns a proxy with all providers.
fn all(fake: &Fake) -> Router {
    let proxy = Proxy::new("anthropic", "claude-sonnet-4-5")
        .with_provider(completer(fake, Api::Anthropic, Provider::Anthropic))
        .with_provider(completer(fake, Api::OpenAi, Provider::OpenAi))
        .with_provider(completer(fake, Api::Gemini, Provider::Gemini))
        .with_provider(completer(fake, Api::Ollama, Provider::Ollama));
    rest::router([routes(proxy)])
}

/// Returns a proxy without providers.
fn without_providers() -> Router {
    rest::router([routes(Proxy::new("anthropic", "claude-sonnet-4-5"))])
}

async fn said(service: &Router, method: &str, path: &str, body: &str) -> (u16, Value) {
    let request = Request::builder().method(method).uri(path);
    let request = request.body(Body::from(body.to_owned())).expect("valid");
    let answered: Result<_, Infallible> = service.clone().oneshot(request).await;
    let response = answered.expect("infallible");
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.expect("whole");
    let body = body.to_bytes();
    let json = serde_json::from_slice(&body);
    (status, json.unwrap_or_else(|_| panic!("{body:?} is JSON")))
}

async fn chat(service: &Router, body: Value) -> (u16, Value) {
    said(service, "POST", "/api/llm/chat", &body.to_string()).await
}

fn ask(provider: &str) -> Value {
    json!({"messages": [{"role": "user", "content": "How many ferns?"}], "provider": provider})
}

/// A question, a tool call, and its result.
fn with_tools() -> Value {
    json!({
        "messages": [
            {"role": "user", "content": "How many?", "cache_control": {}},
            {"role": "assistant", "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "toolu_1", "name": "query_database",
                 "input": {"query": "SELECT 0"}},
            ]},
            {"role": "user", "cache_control": {"type": "ephemeral"}, "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": true,
                 "content": [{"type": "text", "text": "no"}]},
            ]},
        ],
        "tools": [{"name": "query_database", "description": "Runs SQL.",
            "inputSchema": {"type": "object", "properties": {}, "required": []}}],
        "debug": true,
    })
}

#[tokio::test]
async fn the_configured_providers_are_listed() {
    let fake = Fake::start();
    let (status, body) = said(&all(&fake), "GET", "/api/llm/providers", "").await;
    assert_eq!(status, 200);
    let expected = json!({"providers": [
        {"name": "anthropic", "display": "Anthropic Claude", "isDefault": true},
        {"name": "openai", "display": "OpenAI", "isDefault": false},
        {"name": "gemini", "display": "Google Gemini", "isDefault": false},
        {"name": "ollama", "display": "Ollama", "isDefault": false},
    ], "defaultModel": "claude-sonnet-4-5"});
    assert_eq!(body, expected);
    let (_, body) = said(&without_providers(), "GET", "/api/llm/providers", "").await;
    assert_eq!(body["providers"], json!([]));
}

#[tokio::test]
async fn models_are_listed_by_provider() {
    let fake = Fake::start();
    let service = all(&fake);
    let path = "/api/llm/models?provider=openai";
    let (status, body) = said(&service, "GET", path, "").await;
    assert_eq!(status, 200);
    let expected = json!([{"name": "gpt-4o-mini"}, {"name": "gpt-5"}, {"name": "o3-mini"}]);
    assert_eq!(body["models"], expected);

    fake.next(Turn::refusal_with(401, "bad key {key}"));
    let (status, body) = said(&service, "GET", path, "").await;
    assert_eq!(status, 500);
    let told = body["error"].as_str().unwrap_or_default();
    assert!(
        told.starts_with("Failed to list models: API error (401): bad key "),
        "{told}"
    );
    assert!(!told.contains("wq8J"), "{told}");
}

#[tokio::test]
async fn a_provider_that_is_not_configured_is_refused_by_name() {
    let long = "x".repeat(1000);
    for (provider, expected) in [
        ("anthropic", "Anthropic API key not configured"),
        ("openai", "OpenAI API key not configured"),
        ("gemini", "Gemini API key not configured"),
        ("ollama", "Ollama URL not configured"),
        ("cohere", "Unsupported provider: cohere"),
        ("local", "Unsupported provider: local"),
        (&long, &format!("Unsupported provider: {}", &long[..64])),
    ] {
        let expected = (400, json!({ "error": expected }));
        let path = format!("/api/llm/models?provider={provider}");
        assert_eq!(said(&without_providers(), "GET", &path, "").await, expected);
        assert_eq!(chat(&without_providers(), ask(provider)).await, expected);
    }
    let expected = json!({"error": "Provider parameter is required"});
    for path in [
        "/api/llm/models",
        "/api/llm/models?provider=",
        "/api/llm/models?other=1",
    ] {
        assert_eq!(
            said(&without_providers(), "GET", path, "").await,
            (400, expected.clone())
        );
    }
}

#[tokio::test]
async fn a_chat_with_tools_goes_to_the_provider_and_back() {
    let fake = Fake::start();
    let service = all(&fake);
    let answer = Answer::text("I look.")
        .with_tool("toolu_2", "query_database", json!({"query": "SELECT 1"}))
        .with_cache(3, 30);
    fake.next(Turn::saying(answer));
    let (status, body) = chat(&service, with_tools()).await;
    assert_eq!(status, 200);
    let expected = json!({
        "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_2", "name": "query_database",
             "input": {"query": "SELECT 1"}},
        ],
        "stop_reason": "tool_use",
        "token_usage": {"provider": "anthropic", "prompt_tokens": 10, "completion_tokens": 5,
            "total_tokens": 15, "cache_creation_tokens": 3, "cache_read_tokens": 30,
            "cache_savings_percentage": 75.0},
    });
    assert_eq!(body, expected);

    let asked = fake.request();
    assert_eq!(asked.key(), Some(KEY));
    assert_eq!(asked.header("anthropic-version"), Some("2023-06-01"));
    let asked = asked.json();
    assert_eq!(asked["model"], "claude-sonnet-4-5");
    assert_eq!(asked["max_tokens"], 4096);
    assert_eq!(asked.get("temperature"), None);
    assert_eq!(asked["system"][0]["text"], SYSTEM);
    let expected = json!([
        {"role": "user", "content": [{"type": "text", "text": "How many?"}]},
        {"role": "assistant", "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_1", "name": "query_database",
             "input": {"query": "SELECT 0"}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": true,
             "content": "no", "cache_control": {"type": "ephemeral"}},
        ]},
    ]);
    assert_eq!(asked["messages"], expected);
    let expected = json!([{"name": "query_database", "description": "Runs SQL.",
        "input_schema": {"type": "object", "properties": {}, "required": []},
        "cache_control": {"type": "ephemeral"}}]);
    assert_eq!(asked["tools"], expected);
}

#[tokio::test]
async fn reasons_and_counts_are_those_of_each_provider() {
    let fake = Fake::start();
    let service = all(&fake);
    for (provider, reason) in [
        ("anthropic", "max_tokens"),
        ("openai", "end_turn"),
        ("gemini", "end_turn"),
        ("ollama", "end_turn"),
    ] {
        fake.next(Turn::saying(Answer::text("Five.").cut()));
        let mut request = ask(provider);
        request["model"] = "model-2".into();
        let (status, body) = chat(&service, request.clone()).await;
        assert_eq!(status, 200, "{provider}: {body}");
        assert_eq!(body["stop_reason"], reason, "{provider}");
        assert_eq!(body["content"], json!([{"type": "text", "text": "Five."}]));
        assert_eq!(body.get("token_usage"), None);

        request["debug"] = true.into();
        let (_, body) = chat(&service, request).await;
        let usage = &body["token_usage"];
        assert_eq!(usage["provider"], provider);
        let total = usage.get("total_tokens").and_then(Value::as_u64);
        assert_eq!(total, (provider != "ollama").then_some(15), "{provider}");
    }
    let asked = fake.requests();
    assert_eq!(asked[0].json()["model"], "model-2");
}

#[tokio::test]
async fn the_configured_options_are_sent() {
    let fake = Fake::start();
    let proxy = Proxy::new("openai", "gpt-4o")
        .with_provider(completer(&fake, Api::OpenAi, Provider::OpenAi))
        .with_max_tokens(Some(7))
        .with_temperature(Some(0.5));
    let service = rest::router([routes(proxy)]);
    let request =
        json!({"messages": [{"role": "user", "content": "?"}], "provider": "", "model": ""});
    assert_eq!(chat(&service, request).await.0, 200);
    let asked = fake.request().json();
    assert_eq!(asked["model"], "gpt-4o");
    assert_eq!(asked["max_tokens"], 7);
    assert_eq!(asked["temperature"], 0.5);
    assert_eq!(asked["messages"][0]["role"], "system");
}

#[tokio::test]
async fn an_invalid_chat_is_refused_before_any_provider_is_called() {
    let fake = Fake::start();
    let service = all(&fake);
    let message = |content: Value| json!({"messages": [{"role": "user", "content": content}]});
    for request in [
        json!({}),
        json!({"messages": []}),
        json!({"messages": "x"}),
        json!({"messages": [{"role": "system", "content": "x"}]}),
        json!({"messages": [{"role": "user"}]}),
        message(json!(7)),
        message(json!(null)),
        message(json!([{"type": "image"}])),
        message(json!([{"type": "text"}])),
        message(json!([{"type": "tool_use", "id": "1", "name": "a", "input": {}}])),
        message(json!([{"type": "tool_result", "content": "x"}])),
        message(json!([{"type": "tool_result", "tool_use_id": "1", "content": [{"type": "x"}]}])),
        json!({"messages": [{"role": "assistant", "content":
            [{"type": "tool_use", "id": "1", "name": "a", "input": []}]}]}),
        json!({"messages": [{"role": "user", "content": "x"}], "tools": [{"name": 1}]}),
        json!({"messages": [{"role": "user", "content": "x"}],
            "tools": [{"name": "a", "inputSchema": "b"}]}),
    ] {
        let expected = (400, json!({"error": "Invalid request body"}));
        assert_eq!(chat(&service, request.clone()).await, expected, "{request}");
    }
    for body in ["", "{", "[]", "null"] {
        let (status, _) = said(&service, "POST", "/api/llm/chat", body).await;
        assert_eq!(status, 400, "{body}");
    }
    assert!(fake.requests().is_empty());
}

#[tokio::test]
async fn errors_of_providers_are_returned_without_keys() {
    let fake = Fake::start();
    let service = all(&fake);
    for (provider, turn, expected) in [
        (
            "anthropic",
            Turn::refusal_with(401, "no"),
            "LLM error: API error (401): no",
        ),
        (
            "anthropic",
            Turn::raw(502, "<html>bad</html>"),
            "LLM error: API error (502): <html>bad</html>",
        ),
        (
            "ollama",
            Turn::refusal_with(404, "no such model"),
            "LLM error: Ollama error (404): no such model",
        ),
        (
            "openai",
            Turn::raw(200, r#"{"choices":[]}"#),
            "LLM error: no choices in response",
        ),
    ] {
        fake.next(turn);
        let expected = (500, json!({ "error": expected }));
        assert_eq!(chat(&service, ask(provider)).await, expected);
    }
    for (turn, expected) in [
        (Turn::reset(), "LLM error: failed to send request: "),
        (Turn::malformed(), "LLM error: failed to decode response: "),
        (
            Turn::refusal_with(429, "{key}"),
            "LLM error: API error (429): ",
        ),
        (
            Turn::refusal_with(429, "{stars}"),
            "LLM error: API error (429): ",
        ),
    ] {
        fake.next(turn);
        let (status, body) = chat(&service, ask("openai")).await;
        let told = body["error"].as_str().unwrap_or_default();
        assert_eq!(status, 500);
        assert!(told.starts_with(expected), "{told}");
        assert!(!told.contains("wq8J"), "{told}");
    }
}

#[tokio::test]
async fn a_client_that_disconnects_cancels_its_request() {
    let fake = Fake::start();
    let service = all(&fake);
    let gate = Gate::new();
    fake.next(Turn::answer().held(&gate));
    {
        let chat = std::pin::pin!(chat(&service, ask("anthropic")));
        let asked = std::pin::pin!(fake.asked(1));
        // Drops the future, as the server does.
        assert!(matches!(
            futures_util::future::select(asked, chat).await,
            futures_util::future::Either::Left(_)
        ));
    }
    fake.left(1).await;
}

#[tokio::test]
async fn without_a_model_the_results_of_tools_are_quoted() {
    let proxy = Proxy::new("local", "extractive").with_provider(Completer::local());
    let service = rest::router([routes(proxy)]);
    let request = json!({"messages": [
        {"role": "user", "content": "How many orders are open?"},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "1", "name": "query_database", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "1", "content": "orders open\n42"}]},
    ], "debug": true});
    let (status, body) = chat(&service, request).await;
    assert_eq!(status, 200);
    let text = body["content"][0]["text"].as_str().unwrap_or_default();
    assert!(
        text.starts_with("[local] ") && text.contains("> orders open"),
        "{text}"
    );
    assert_eq!(body["token_usage"], json!({"provider": "local"}));
    let (_, body) = said(&service, "GET", "/api/llm/models?provider=local", "").await;
    assert_eq!(body["models"][0]["name"], "extractive");
}

#[tokio::test]
async fn other_methods_are_refused() {
    for (method, path) in [
        ("POST", "/api/llm/providers"),
        ("DELETE", "/api/llm/models"),
        ("GET", "/api/llm/chat"),
    ] {
        let (status, body) = said(&without_providers(), method, path, "").await;
        assert_eq!(status, 405);
        assert_eq!(body, json!({"error": "Method not allowed"}));
    }
}
