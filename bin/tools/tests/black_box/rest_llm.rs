//! Tests of `/api/llm` with fake providers.

use std::{io::Write as _, net::TcpStream};

use rustix::process::Signal;
use serde_json::{Value, json};
use ziggurat_fake_providers::{Answer as FakeAnswer, Api, Fake, Gate, Turn};

use crate::support::{Client, Home, Program};

const KEY: &str = "sk-ant-wq8JkLmN2pRs7TuV";

/// Unreachable, because these tests connect to no database.
const DATABASE: &str = "databases: [{name: main, host: 127.0.0.1, port: 1, user: nobody}]\n";

/// Starts a server without accounts that uses these providers.
fn started(fake: &Fake, more: &str) -> (Home, Program, Client) {
    let home = Home::new();
    configure(&home, fake, more);
    let (program, client) = home.serve(&["-no-auth"]);
    (home, program, client)
}

fn configure(home: &Home, fake: &Fake, more: &str) {
    home.configure(&format!(
        "{DATABASE}llm:\n  enabled: true\n  anthropic_api_key: {KEY}\n  \
         anthropic_base_url: {}\n  openai_api_key: {KEY}\n  openai_base_url: {}\n  \
         ollama_url: {}\n{more}",
        fake.root(Api::Anthropic),
        fake.url(Api::OpenAi),
        fake.url(Api::Ollama),
    ));
}

fn question(provider: &str) -> String {
    let messages = json!([{"role": "user", "content": "How many ferns?"}]);
    json!({"messages": messages, "provider": provider}).to_string()
}

#[test]
fn without_being_enabled_the_proxy_is_not_found() {
    let home = Home::new();
    home.configure(DATABASE);
    let (_program, client) = home.serve(&["-no-auth"]);
    for path in ["/api/llm/providers", "/api/llm/models?provider=ollama"] {
        let answer = client.get(path);
        assert_eq!(answer.status, 404, "{path}");
        assert_eq!(answer.json(), json!({"error": "Not found"}));
    }
    assert_eq!(
        client.post("/api/llm/chat", &question("ollama")).status,
        404
    );
}

#[test]
fn a_client_finds_a_provider_a_model_and_an_answer() {
    let fake = Fake::start();
    let (_home, _program, client) = started(&fake, "");
    let providers = client.get("/api/llm/providers").json();
    let names = providers["providers"].as_array().expect("a list").iter();
    let names: Vec<_> = names
        .filter_map(|provider| provider["name"].as_str())
        .collect();
    assert_eq!(names, ["anthropic", "openai", "ollama"]);
    assert_eq!(providers["defaultModel"], "claude-sonnet-4-5");

    for (provider, model) in [
        ("anthropic", "claude-sonnet-4-5"),
        ("openai", "gpt-4o-mini"),
        ("ollama", "llama3.2:latest"),
    ] {
        let models = client.get(&format!("/api/llm/models?provider={provider}"));
        assert_eq!(models.json()["models"][0]["name"], model);
        let answer = client.post("/api/llm/chat", &question(provider));
        assert_eq!(answer.status, 200, "{answer:?}");
        let answer = answer.json();
        assert_eq!(answer["content"][0]["text"], "Ferns like shade.");
        assert_eq!(answer["stop_reason"], "end_turn");
    }
    let asked = fake.requests();
    let asked = asked.iter().filter(|seen| seen.method == "POST");
    let asked: Vec<_> = asked.collect();
    assert_eq!(asked[0].path, "v1/messages");
    assert_eq!(asked[0].key(), Some(KEY));
    assert_eq!(asked[1].path, "v1/chat/completions");
    for asked in asked {
        assert_eq!(
            asked.json().get("temperature"),
            None,
            "nobody asked for one"
        );
    }
}

#[test]
fn a_tool_is_asked_for_and_its_result_goes_back() {
    let fake = Fake::start();
    let more = "  temperature: 0.5\n  max_tokens: 77\n";
    let (_home, _program, client) = started(&fake, more);
    let look =
        FakeAnswer::silent().with_tool("toolu_1", "count_rows", json!({"table_name": "fern"}));
    fake.next(Turn::saying(look));
    let tool =
        json!({"name": "count_rows", "description": "Counts.", "inputSchema": {"type": "object"}});
    let mut messages = vec![json!({"role": "user", "content": "How many ferns?"})];
    let body = json!({"messages": messages, "tools": [tool], "debug": true});
    let first = client.post("/api/llm/chat", &body.to_string()).json();
    assert_eq!(first["stop_reason"], "tool_use");
    assert_eq!(first["token_usage"]["total_tokens"], 15);

    messages.push(json!({"role": "assistant", "content": first["content"]}));
    let result = json!({"type": "tool_result", "tool_use_id": "toolu_1", "content": "Count: 4"});
    messages.push(json!({"role": "user", "content": [result]}));
    let body = json!({"messages": messages, "tools": [tool]});
    let second = client.post("/api/llm/chat", &body.to_string()).json();
    assert_eq!(second["stop_reason"], "end_turn");

    let asked = fake.requests()[1].json();
    assert_eq!(
        asked["messages"][1]["content"][0]["input"],
        json!({"table_name": "fern"})
    );
    assert_eq!(asked["messages"][2]["content"][0]["content"], "Count: 4");
    assert_eq!(asked["temperature"], 0.5);
    assert_eq!(asked["max_tokens"], 77);
}

#[test]
fn every_path_requires_a_token() {
    let fake = Fake::start();
    let home = Home::new();
    configure(&home, &fake, "");
    let token = home.token("main");
    let (_program, client) = home.serve(&[]);
    for path in ["/api/llm/providers", "/api/llm/models?provider=ollama"] {
        assert_eq!(client.get(path).status, 401, "{path}");
        assert_eq!(client.bearing(&token).get(path).status, 200, "{path}");
    }
    let chat = question("ollama");
    assert_eq!(client.post("/api/llm/chat", &chat).status, 401);
    let answer = client.bearing(&token).post("/api/llm/chat", &chat);
    assert_eq!(answer.status, 200, "{answer:?}");
}

#[test]
fn no_key_is_shown_to_a_client_or_logged() {
    let fake = Fake::start();
    let (_home, program, client) = started(&fake, "");
    for provider in ["anthropic", "openai"] {
        for message in ["bad key {key}", "bad key {stars}"] {
            fake.next(Turn::refusal_with(401, message));
            let answer = client.post("/api/llm/chat", &question(provider));
            assert_eq!(answer.status, 500);
            let error = answer.json()["error"].as_str().map(str::to_owned);
            let error = error.expect("a text");
            assert!(
                error.starts_with("LLM error: API error (401): bad key "),
                "{error}"
            );
            assert!(
                !error.contains("wq8J") && !error.contains("7TuV"),
                "{error}"
            );
        }
    }
    let log = program.log();
    assert!(!log.contains("wq8JkL"), "{log}");
}

#[test]
fn a_client_that_disconnects_cancels_its_request() {
    let fake = Fake::start();
    let (_home, _program, client) = started(&fake, "");
    let gate = Gate::new();
    fake.next(Turn::answer().held(&gate));
    let body = question("anthropic");
    let mut stream = TcpStream::connect(client.address()).expect("listening");
    let (address, length) = (client.address(), body.len());
    write!(
        stream,
        "POST /api/llm/chat HTTP/1.1\r\nhost: {address}\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .expect("sent");
    fake.wait_for(1);
    drop(stream);
    fake.wait_for_leaving(1);
}

#[test]
fn without_a_provider_the_results_of_tools_are_quoted() {
    let home = Home::new();
    home.configure(&format!(
        "{DATABASE}llm: {{enabled: true, provider: local}}\n"
    ));
    let (_program, client) = home.serve(&["-no-auth"]);
    let listed = client.get("/api/llm/providers").json();
    let local = listed["providers"]
        .as_array()
        .and_then(|list| list.last())
        .cloned();
    assert_eq!(
        local.map(|local| local["isDefault"] == true && local["name"] == "local"),
        Some(true)
    );
    let result = json!({"type": "tool_result", "tool_use_id": "1", "content": "open orders: 42"});
    let messages = json!([
        {"role": "user", "content": "How many orders are open?"},
        {"role": "user", "content": [result]},
    ]);
    let answer = client.post(
        "/api/llm/chat",
        &json!({ "messages": messages }).to_string(),
    );
    let answer: Value = answer.json();
    let text = answer["content"][0]["text"].as_str().expect("a text");
    assert!(
        text.starts_with("[local] ") && text.contains("open orders: 42"),
        "{text}"
    );
}

#[test]
fn calls_of_providers_are_logged_as_configured_and_without_their_texts() {
    for (level, call, answer, size) in [
        ("none", false, false, false),
        ("info", true, false, false),
        ("debug", true, true, false),
        ("trace", true, true, true),
    ] {
        let fake = Fake::start();
        let mut home = Home::new();
        configure(&home, &fake, "");
        home.set("ZIGGURAT_LLM_LOG_LEVEL", level);
        let (mut program, client) = home.serve(&["-no-auth"]);
        let reply = client.post("/api/llm/chat", &question("anthropic"));
        assert_eq!(reply.status, 200, "{reply:?}");
        program.signal(Signal::TERM);
        assert!(program.ended().success());
        let log = program.whole_log();
        for (words, is_there) in [
            (
                "[LLM] call provider=anthropic path=messages duration_ms=",
                call,
            ),
            ("[LLM] a provider answers status=200", answer),
            ("[LLM] a request is sent bytes=", size),
            ("[LLM] a body was read bytes=", size),
            ("fern", false),
            (KEY, false),
        ] {
            assert_eq!(log.contains(words), is_there, "{level}, {words}: {log}");
        }
    }
}

/// Streams an answer, and returns its events.
fn streamed(client: &Client, provider: &str) -> Vec<Value> {
    let body = question(provider).replacen('{', r#"{"debug":true,"#, 1);
    let answer = client.post("/api/llm/chat/stream", &body);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let events = answer.body.split_terminator("\n\n");
    let events = events.filter_map(|event| event.strip_prefix("data: "));
    events
        .map(|event| serde_json::from_str(event).expect("JSON"))
        .collect()
}

#[test]
fn an_answer_is_streamed_with_one_end() {
    let fake = Fake::start();
    let (_home, _program, client) = started(&fake, "");
    for provider in ["anthropic", "openai", "ollama"] {
        let call = FakeAnswer::text("I look.").with_tool(
            "toolu_1",
            "query_database",
            json!({"query": "SELECT 1"}),
        );
        fake.next(Turn::saying(call).in_pieces(7));
        let events = streamed(&client, provider);
        let texts = events.iter().filter(|event| event["type"] == "text");
        let text: String = texts.filter_map(|event| event["text"].as_str()).collect();
        assert_eq!(text, "I look.", "{provider}");
        let called = events.iter().filter(|event| event["type"] != "text");
        let [begun, call, done] = called.collect::<Vec<_>>()[..] else {
            panic!("{provider}: {events:?}");
        };
        assert_eq!(begun["type"], "tool_use_started");
        assert_eq!(
            (&call["type"], &call["input"]),
            (&json!("tool_use"), &json!({"query": "SELECT 1"}))
        );
        assert_eq!(
            (&begun["id"], &begun["name"]),
            (&call["id"], &json!("query_database"))
        );
        assert_eq!(
            (&done["type"], &done["stop_reason"]),
            (&json!("done"), &json!("tool_use"))
        );
        assert_eq!(done["token_usage"]["provider"], provider);
        assert_eq!(events.last(), Some(done));
    }
}

#[test]
fn a_stream_that_breaks_off_ends_with_an_error_and_one_that_never_began_is_refused() {
    let fake = Fake::start();
    let (_home, _program, client) = started(&fake, "");
    fake.next(Turn::text("Ferns like shade.").cut_after(400));
    let events = streamed(&client, "anthropic");
    let error = events.last().expect("an end");
    assert_eq!(error["type"], "error", "{events:?}");
    assert!(
        error["error"]
            .as_str()
            .expect("a text")
            .starts_with("LLM error: ")
    );
    assert!(["provider", "unreachable"].contains(&error["code"].as_str().expect("a code")));
    let ends = events
        .iter()
        .filter(|event| ["done", "error"].contains(&event["type"].as_str().unwrap_or_default()));
    assert_eq!(ends.count(), 1);

    fake.next(Turn::refusal_with(401, "bad key"));
    let refused = client.post("/api/llm/chat/stream", &question("anthropic"));
    assert_eq!(refused.status, 500);
    assert_eq!(
        refused.json(),
        json!({"error": "LLM error: API error (401): bad key"})
    );
    let refused = client.post("/api/llm/chat/stream", &question("gemini"));
    assert_eq!(refused.status, 400);
}

#[test]
fn hanging_up_in_the_middle_of_a_stream_ends_the_request_to_the_provider() {
    let fake = Fake::start();
    let (_home, _program, client) = started(&fake, "");
    let gate = Gate::new();
    fake.next(Turn::text("Ferns like shade.").held_after(600, &gate));
    let body = question("anthropic");
    let stream = client.open("/api/llm/chat/stream", "", &body, "text/event-stream");
    fake.wait_for(1);
    drop(stream);
    fake.wait_for_leaving(1);
}
