//! Tests of streamed answers.

use super::*;

/// Asks for a stream, and returns its response.
async fn opened(service: &Router, provider: &str) -> http::Response<Body> {
    let request = Request::post("/api/llm/chat/stream");
    let request = request.body(Body::from(ask(provider).to_string()));
    let answered: Result<_, Infallible> = service.clone().oneshot(request.expect("valid")).await;
    answered.expect("infallible")
}

/// Returns the events of a text of whole events.
fn events(text: &str) -> Vec<Value> {
    let events = text.split_terminator("\n\n");
    let events = events.map(|event| event.strip_prefix("data: ").expect("an event"));
    events
        .map(|event| serde_json::from_str(event).expect("JSON"))
        .collect()
}

/// Checks that the last of these events is `done` or `error`, and no other; returns which.
fn only_end(events: &[Value]) -> &str {
    let kinds: Vec<_> = events
        .iter()
        .map(|event| event["type"].as_str().expect("a type"))
        .collect();
    let is_end = |kind: &str| ["done", "error"].contains(&kind);
    let (end, before) = kinds.split_last().expect("an event");
    assert!(is_end(end), "{events:?}");
    assert!(!before.iter().any(|kind| is_end(kind)), "{events:?}");
    end
}

#[tokio::test]
async fn a_provider_that_stops_at_any_byte_makes_one_end_and_no_half_call() {
    let fake = Fake::start();
    let service = all(&fake);
    let input = json!({"query": "SELECT 1"});
    for provider in ["anthropic", "openai", "gemini", "ollama"] {
        let (mut bytes, mut ends) = (0, Vec::new());
        // Until nothing is missing.
        while ends.last() != Some(&"done".to_owned()) {
            let answer = Answer::text("I look.").with_tool("1", "query_database", input.clone());
            fake.next(Turn::saying(answer).ended_after(bytes));
            let response = opened(&service, provider).await;
            assert_eq!(response.status(), 200, "{provider} {bytes}");
            let body = response.into_body().collect().await.expect("whole");
            let events = events(str::from_utf8(&body.to_bytes()).expect("text"));
            ends.push(only_end(&events).to_owned());
            let called = |kind| events.iter().filter(move |event| event["type"] == kind);
            for call in called("tool_use") {
                assert_eq!(call["input"], input, "{provider} {bytes}");
                assert_eq!(
                    called("tool_use_started").next().map(|it| &it["id"]),
                    Some(&call["id"])
                );
            }
            let is_done = ends.last().is_some_and(|end| end == "done");
            assert!(!is_done || called("tool_use").count() == 1, "{events:?}");
            bytes += 1;
        }
        assert!(bytes > 200, "{provider} {bytes}");
    }
}

#[tokio::test]
async fn texts_and_the_beginning_of_a_call_come_while_the_provider_goes_on() {
    let openai = |delta: Value| {
        let choices = json!([{"index": 0, "delta": delta}]);
        format!("data: {}\n\n", json!({ "choices": choices }))
    };
    let call = |id: &str, name: &str, arguments: &str| {
        let function = json!({"name": name, "arguments": arguments});
        openai(json!({"tool_calls": [{"index": 0, "id": id, "function": function}]}))
    };
    let block = |block: Value| {
        let event = json!({"type": "content_block_start", "index": 0, "content_block": block});
        format!("data: {event}\n\n")
    };
    let started = json!({"type": "tool_use", "id": "1", "name": "query_database", "input": {}});
    for (provider, first, rest) in [
        (
            "anthropic",
            block(json!({"type": "text", "text": "I look."})) + &block(started),
            "data: {\"type\":\"message_stop\"}\n\n".to_owned(),
        ),
        (
            "openai",
            openai(json!({"content": "I look."})) + &call("1", "query_database", ""),
            call("1", "", "{}") + "data: [DONE]\n\n",
        ),
    ] {
        let (fake, gate) = (Fake::start(), Gate::new());
        let turn = Turn::raw(200, first.clone() + &rest).held_after(first.len(), &gate);
        fake.next(turn.with_header("content-type", "text/event-stream"));
        let mut body = opened(&all(&fake), provider).await.into_body();
        let mut seen = String::new();
        let mut is_open = false;
        while let Some(frame) = body.frame().await {
            let bytes = frame.expect("a frame").into_data().expect("data");
            seen += str::from_utf8(&bytes).expect("text");
            if !is_open && seen.contains("tool_use_started") {
                let expected = [
                    json!({"type": "text", "text": "I look."}),
                    json!({"type": "tool_use_started", "id": "1", "name": "query_database"}),
                ];
                assert_eq!(events(&seen), expected, "{provider}");
                is_open = true;
                gate.open();
            }
        }
        let events = events(&seen);
        assert_eq!(only_end(&events), "done", "{provider}");
        let call = json!({"type": "tool_use", "id": "1", "name": "query_database", "input": {}});
        assert_eq!(events[2], call, "{provider}");
        assert_eq!(events.len(), 4, "{provider}");
    }
}
