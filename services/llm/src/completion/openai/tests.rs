use std::collections::VecDeque;

use serde_json::{Value, json};

use super::{super::Fault, *};
use crate::{
    Block, Chunk, Message, Prompt, Reply, Role, Stop, ToolSpec, Usage, conversation::object,
};

mod responses;

fn asked(model: &str, format: Format, prompt: &Prompt, stream: bool) -> Value {
    let request = request(model, format, prompt, stream).expect("JSON");
    serde_json::from_slice(request.body()).expect("JSON")
}

/// Returns the reply of a stream of these events, and whether it is complete.
fn read(format: Format, events: &[&str]) -> Result<(Reply, bool), Fault> {
    let mut reader = reader(format);
    let mut chunks = VecDeque::new();
    for event in events {
        reader.read(event.as_bytes(), &mut chunks)?;
    }
    if !matches!(chunks.back(), Some(Chunk::End { .. })) {
        reader.finish(&mut chunks);
    }
    let is_complete = matches!(chunks.back(), Some(Chunk::End { .. }));
    Ok((Reply::of(chunks), is_complete))
}

/// Returns what a chunk tells of a call.
fn shown(chunk: &Chunk) -> String {
    match chunk {
        Chunk::Text(text) => format!("said {text}"),
        Chunk::ToolUseStarted { id, .. } => format!("began {id}"),
        Chunk::ToolUse(Block::ToolUse { id, .. }) => format!("called {id}"),
        Chunk::ToolUse(other) => format!("{other:?}"),
        Chunk::End { stop, .. } => format!("ended {stop:?}"),
    }
}

fn plain() -> Format {
    Format::of("gpt-4o")
}

fn tool_use(id: &str, input: &str) -> Block {
    Block::tool_use(id, "query_database", object(input).expect("an object"))
}

/// A question, two tool calls, and their results.
fn conversation() -> Prompt {
    let results = vec![
        Block::text("Go "),
        Block::tool_result("call_1", "5"),
        Block::ToolResult {
            tool_use_id: "call_2".to_owned(),
            content: vec!["a".to_owned(), "b".to_owned()],
            is_error: false,
            cache: None,
        },
        Block::text("on."),
    ];
    let uses = vec![
        Block::text("I "),
        Block::text("look."),
        tool_use("call_1", r#"{"query": "SELECT 1"}"#),
        tool_use("call_2", "{}"),
    ];
    let messages = vec![
        Message::user("How many?"),
        Message {
            role: Role::Assistant,
            blocks: uses,
        },
        Message {
            role: Role::User,
            blocks: results,
        },
    ];
    let tool = ToolSpec {
        name: "query_database".to_owned(),
        description: "Runs SQL.".to_owned(),
        schema: object(r#"{"type":"object"}"#).expect("an object"),
    };
    Prompt::new(messages)
        .with_system("Be brief.")
        .with_tools(vec![tool])
}

#[test]
fn a_simple_prompt_has_only_the_required_members() {
    let prompt = Prompt::new(vec![Message::user("Why?")]);
    let expected = json!({
        "model": "gpt-4o",
        "messages": [{"role": "user", "content": "Why?"}],
        "max_tokens": 4096,
    });
    assert_eq!(asked("gpt-4o", plain(), &prompt, false), expected);
    let streamed = asked("gpt-4o", plain(), &prompt, true);
    assert_eq!(streamed["stream"], true);
    assert_eq!(streamed["stream_options"], json!({"include_usage": true}));
}

#[test]
fn a_conversation_with_tools_is_encoded_for_openai() {
    let asked = asked("gpt-4o", plain(), &conversation(), false);
    let expected = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "How many?"},
        {"role": "assistant", "content": "I look.", "tool_calls": [
            {"id": "call_1", "type": "function", "function":
                {"name": "query_database", "arguments": "{\"query\": \"SELECT 1\"}"}},
            {"id": "call_2", "type": "function", "function":
                {"name": "query_database", "arguments": "{}"}},
        ]},
        {"role": "tool", "tool_call_id": "call_1", "content": "5"},
        {"role": "tool", "tool_call_id": "call_2", "content": "a\nb"},
        {"role": "user", "content": "Go on."},
    ]);
    assert_eq!(asked["messages"], expected);
    let tools = json!([{"type": "function", "function": {"name": "query_database",
        "description": "Runs SQL.", "parameters": {"type": "object"}}}]);
    assert_eq!(asked["tools"], tools);
}

#[test]
fn a_call_without_text_has_no_content_and_an_empty_result_is_an_object() {
    let messages = vec![
        Message {
            role: Role::Assistant,
            blocks: vec![tool_use("call_1", "{}")],
        },
        Message {
            role: Role::User,
            blocks: vec![Block::tool_result("call_1", "")],
        },
    ];
    let asked = asked("gpt-4o", plain(), &Prompt::new(messages), false);
    assert_eq!(asked["messages"][0]["content"], Value::Null);
    let expected = json!({"role": "tool", "tool_call_id": "call_1", "content": "{}"});
    assert_eq!(asked["messages"][1], expected);
    assert_eq!(asked["messages"].as_array().map(Vec::len), Some(2));
}

#[test]
fn reasoning_models_get_their_request_format() {
    let prompt = Prompt::new(vec![Message::user("Why?")])
        .with_max_tokens(Some(7))
        .with_temperature(Some(0.5));
    for (model, limit, temperature) in [
        ("gpt-4o", "max_tokens", json!(0.5)),
        ("gpt-5-mini", "max_completion_tokens", Value::Null),
        ("o3-mini", "max_completion_tokens", Value::Null),
    ] {
        let asked = asked(model, Format::of(model), &prompt, false);
        assert_eq!(asked[limit], 7, "{model}");
        assert_eq!(asked["temperature"], temperature, "{model}");
        let limits = asked.as_object().expect("an object").keys();
        assert_eq!(limits.filter(|key| key.contains("tokens")).count(), 1);
    }
}

#[test]
fn both_text_and_calls_of_an_answer_are_kept() {
    let body = json!({
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": "I look.", "tool_calls": [
                {"id": "call_1", "type": "function", "function":
                    {"name": "query_database", "arguments": "{\"a\":1.50}"}},
                {"id": "call_2", "type": "function", "function":
                    {"name": "query_database", "arguments": "{\"a\":"}},
            ]}}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 16},
    });
    let reply = reply(plain(), body.to_string().as_bytes()).expect("an answer");
    let expected = [
        Block::text("I look."),
        tool_use("call_1", r#"{"a":1.50}"#),
        tool_use("call_2", "{}"),
    ];
    assert_eq!(reply.blocks, expected);
    assert_eq!(reply.stop, Stop::ToolUse);
    let expected = Usage {
        prompt_tokens: 10,
        completion_tokens: 5,
        total_tokens: 16,
        ..Usage::default()
    };
    assert_eq!(reply.usage, expected);
}

#[test]
fn answers_of_every_kind_are_read() {
    for (message, reason, text, stop) in [
        (json!({"content": "a"}), "stop", "a", Stop::EndTurn),
        (json!({"content": null}), "stop", "", Stop::EndTurn),
        (json!({"content": "a"}), "length", "a", Stop::MaxTokens),
        (json!({"content": ""}), "content_filter", "", Stop::Filtered),
        (
            json!({"content": null, "refusal": "no"}),
            "stop",
            "no",
            Stop::Filtered,
        ),
        (
            json!({"content": [{"type": "text", "text": "a"}, {"text": "b"}], "tool_calls": null}),
            "eos",
            "ab",
            Stop::Other("eos".to_owned()),
        ),
    ] {
        let body = json!({"choices": [{"message": message, "finish_reason": reason}]});
        let reply = reply(plain(), body.to_string().as_bytes()).expect("an answer");
        assert_eq!(reply.text(), text, "{message}");
        assert_eq!(reply.stop, stop, "{message}");
        assert_eq!(reply.usage, Usage::default());
    }
}

#[test]
fn an_answer_without_choices_is_a_fault() {
    let fault = reply(plain(), br#"{"choices":[]}"#).expect_err("no answer");
    assert_eq!(fault.to_string(), "no choices in response");
    let fault = reply(plain(), br#"{"error":"broken"}"#).expect_err("no answer");
    assert_eq!(fault.to_string(), "broken");
    for body in ["", "[]", r#"{"choices":[{"#, "<html>"] {
        let fault = reply(plain(), body.as_bytes()).expect_err("no answer");
        assert!(matches!(fault, Fault::Malformed(_)), "{body} {fault:?}");
    }
}

#[test]
fn a_call_without_an_id_gets_one() {
    let body = json!({"choices": [{"message": {"tool_calls": [
        {"function": {"name": "a"}}, {"id": "", "function": {"name": "b", "arguments": null}},
    ]}}]});
    let reply = reply(plain(), body.to_string().as_bytes()).expect("an answer");
    let [
        Block::ToolUse { id: one, .. },
        Block::ToolUse { id: other, .. },
    ] = &*reply.blocks
    else {
        panic!("{reply:?}");
    };
    assert!(one.len() > 5 && other.len() > 5 && one != other);
}

#[test]
fn a_stream_is_read_to_its_end() {
    let (reply, is_complete) = read(
        plain(),
        &[
            r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"lo"}}],"usage":null}"#,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}"#,
            "[DONE]",
        ],
    )
    .expect("an answer");
    assert!(is_complete);
    assert_eq!(reply.text(), "Hello");
    assert_eq!(reply.stop, Stop::EndTurn);
    assert_eq!(reply.usage.total_tokens, 3);
}

#[test]
fn a_stream_is_complete_after_its_end_marker_or_its_reason() {
    let text = r#"{"choices":[{"delta":{"content":"a"}}]}"#;
    let reason = r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#;
    for (events, expected) in [
        (&[text, reason][..], true),
        (&[text, "[DONE]"], true),
        (&[text, " [DONE] "], true),
        (&[text], false),
        (&[], false),
    ] {
        let (_, is_complete) = read(plain(), events).expect("no fault");
        assert_eq!(is_complete, expected, "{events:?}");
    }
}

#[test]
fn calls_in_a_stream_are_put_together_by_their_index() {
    let call = |index: Option<u8>, id: Option<&str>, name: Option<&str>, arguments: &str| {
        let function = json!({"name": name, "arguments": arguments});
        let call = json!({"index": index, "id": id, "function": function});
        json!({"choices": [{"delta": {"tool_calls": [call]}}]}).to_string()
    };
    let name = Some("query_database");
    let expected = [tool_use("a", r#"{"x":1}"#), tool_use("b", r#"{"y":2}"#)];
    for pieces in [
        // With correct indexes.
        vec![
            call(Some(0), Some("a"), name, ""),
            call(Some(0), None, None, "{\"x\""),
            call(Some(0), None, None, ":1}"),
            call(Some(1), Some("b"), name, "{\"y\""),
            call(Some(1), Some(""), None, ":2}"),
        ],
        // With the same index for all, and with none.
        vec![
            call(Some(0), Some("a"), name, "{\"x\":1}"),
            call(Some(0), Some("b"), name, "{\"y\":2}"),
        ],
        vec![
            call(None, Some("a"), name, "{\"x\":1}"),
            call(None, Some("b"), name, "{\"y\":"),
            call(None, Some("b"), None, "2}"),
        ],
    ] {
        let mut events: Vec<_> = pieces.iter().map(String::as_str).collect();
        events.push(r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#);
        events.push("[DONE]");
        let (reply, _) = read(plain(), &events).expect("an answer");
        assert_eq!(reply.blocks, expected);
        assert_eq!(reply.stop, Stop::ToolUse);
    }
}

#[test]
fn the_beginning_of_a_call_comes_once_its_id_and_name_are_known() {
    let piece = |index: u8, id: Option<&str>, name: Option<&str>, arguments: &str| {
        let function = json!({"name": name, "arguments": arguments});
        let call = json!({"index": index, "id": id, "function": function});
        json!({"choices": [{"delta": {"tool_calls": [call]}}]}).to_string()
    };
    let end = r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#;
    let mut reader = reader(plain());
    let mut seen = Vec::new();
    for event in [
        piece(0, Some("a"), None, ""),
        piece(0, None, Some("query_database"), "{\"x\""),
        piece(0, None, None, ":1}"),
        piece(1, Some("b"), Some("query_database"), "{\"x\":"),
        piece(2, Some("c"), None, "{}"),
        end.to_owned(),
        "[DONE]".to_owned(),
    ] {
        let mut chunks = VecDeque::new();
        reader
            .read(event.as_bytes(), &mut chunks)
            .expect("no fault");
        seen.push(chunks.iter().map(shown).collect::<Vec<_>>().join(", "));
    }
    // The second call breaks off, and the third has no name.
    let expected = [
        "",
        "began a",
        "",
        "began b",
        "",
        "",
        "called a, ended ToolUse",
    ];
    assert_eq!(seen, expected);
}

#[test]
fn too_many_calls_are_a_fault() {
    let events: Vec<_> = (0..300)
        .map(|index| {
            let calls = json!([{"index": index, "id": index.to_string()}]);
            json!({"choices": [{"delta": {"tool_calls": calls}}]}).to_string()
        })
        .collect();
    let events: Vec<_> = events.iter().map(String::as_str).collect();
    let fault = read(plain(), &events).expect_err("a fault");
    assert!(matches!(fault, Fault::TooLong), "{fault:?}");
}

#[test]
fn an_error_in_a_stream_has_the_status_of_an_error_response() {
    for (event, status, message) in [
        (
            r#"{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}"#,
            Some(429),
            "slow down",
        ),
        (
            r#"{"error":{"message":"no","type":"invalid_request_error","code":null}}"#,
            Some(400),
            "no",
        ),
        (
            r#"{"error":{"message":"busy","code":503}}"#,
            Some(503),
            "busy",
        ),
        (r#"{"error":{"message":"odd","code":200}}"#, None, "odd"),
        (r#"{"error":{"message":"odd","type":"odd"}}"#, None, "odd"),
        (r#"{"error":"odd"}"#, None, "odd"),
    ] {
        let fault = read(plain(), &[event]).expect_err("an error");
        let Fault::Reported {
            status: found,
            message: told,
        } = fault
        else {
            panic!("{event} {fault:?}");
        };
        assert_eq!(found.map(|status| status.as_u16()), status, "{event}");
        assert_eq!(told, message);
    }
}
