use std::collections::VecDeque;

use serde_json::{Value, json};

use super::{
    super::{Fault, StreamReader as _},
    *,
};
use crate::{
    Block, Cache, Chunk, Message, Prompt, Reply, Role, Stop, ToolSpec, Usage, conversation::object,
};

fn asked(prompt: &Prompt, stream: bool) -> Value {
    let request = request("claude", prompt, stream).expect("JSON");
    serde_json::from_slice(request.body()).expect("JSON")
}

/// Returns all chunks of a stream of these events.
fn read(events: &[Value]) -> Result<Vec<Chunk>, Fault> {
    let mut reader = Reader::default();
    let mut chunks = VecDeque::new();
    for event in events {
        reader.read(event.to_string().as_bytes(), &mut chunks)?;
    }
    Ok(chunks.into())
}

fn tool_use(id: &str, input: &str) -> Block {
    Block::tool_use(id, "query_database", object(input).expect("an object"))
}

fn tool() -> ToolSpec {
    ToolSpec {
        name: "query_database".to_owned(),
        description: "Runs SQL.".to_owned(),
        schema: object(r#"{"type":"object","properties":{}}"#).expect("an object"),
    }
}

#[test]
fn a_simple_prompt_has_only_the_required_members() {
    let expected = json!({
        "model": "claude",
        "max_tokens": 4096,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Why?"}]}],
    });
    assert_eq!(
        asked(&Prompt::new(vec![Message::user("Why?")]), false),
        expected
    );
}

#[test]
fn a_conversation_with_tools_is_encoded_completely() {
    let mut result = Block::ToolResult {
        tool_use_id: "toolu_1".to_owned(),
        content: vec!["one".to_owned(), String::new(), "two".to_owned()],
        is_error: true,
        cache: None,
    };
    result.set_cache(Cache::Hour);
    let messages = vec![
        Message::user("How many?"),
        Message {
            role: Role::Assistant,
            blocks: vec![
                Block::text("I look."),
                tool_use("toolu_1", r#"{"z":1,"a":2}"#),
            ],
        },
        Message {
            role: Role::User,
            blocks: vec![result, Block::tool_result("toolu_2", "")],
        },
    ];
    let prompt = Prompt::new(messages)
        .with_system("Be brief.")
        .with_tools(vec![tool(), tool()])
        .with_max_tokens(Some(100))
        .with_temperature(Some(0.5));
    let schema = json!({"type": "object", "properties": {}});
    let expected = json!({
        "model": "claude",
        "max_tokens": 100,
        "temperature": 0.5,
        "stream": true,
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "How many?"}]},
            {"role": "assistant", "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "toolu_1", "name": "query_database",
                 "input": {"z": 1, "a": 2}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": true,
                 "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
                 "cache_control": {"type": "ephemeral", "ttl": "1h"}},
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": ""},
            ]},
        ],
        "tools": [
            {"name": "query_database", "description": "Runs SQL.", "input_schema": schema},
            {"name": "query_database", "description": "Runs SQL.", "input_schema": schema,
             "cache_control": {"type": "ephemeral"}},
        ],
    });
    assert_eq!(asked(&prompt, true), expected);
}

#[test]
fn arguments_and_schemas_are_passed_on_as_they_were_written() {
    let blocks = vec![tool_use("1", r#"{"z": 12345678901234567890.5, "a": 1}"#)];
    let role = Role::Assistant;
    let messages = vec![Message::user("?"), Message { role, blocks }];
    let request = request("claude", &Prompt::new(messages), false).expect("JSON");
    let body = str::from_utf8(request.body()).expect("text");
    assert!(
        body.contains(r#""input":{"z": 12345678901234567890.5, "a": 1}"#),
        "{body}"
    );
}

#[test]
fn an_answer_is_read_and_thoughts_are_left_out() {
    let body = json!({
        "type": "message",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_1", "name": "query_database", "input": {"a": 1}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 3,
                  "cache_read_input_tokens": 7, "service_tier": "standard"},
    });
    let reply = reply(body.to_string().as_bytes()).expect("an answer");
    let Reply {
        blocks,
        stop,
        usage,
    } = reply;
    assert_eq!(
        blocks,
        [Block::text("I look."), tool_use("toolu_1", r#"{"a":1}"#)]
    );
    assert_eq!(stop, Stop::ToolUse);
    let expected = Usage {
        prompt_tokens: 10,
        completion_tokens: 5,
        total_tokens: 15,
        cache_creation_input_tokens: 3,
        cache_read_input_tokens: 7,
    };
    assert_eq!(usage, expected);
}

#[test]
fn an_empty_answer_is_valid_and_another_value_is_not() {
    let empty = reply(br#"{"content":[],"stop_reason":"end_turn"}"#).expect("an answer");
    assert_eq!(empty.text(), "");
    for body in ["", "{}", "[]", r#"{"content":[{"#, "<html>"] {
        assert!(reply(body.as_bytes()).is_err(), "{body}");
    }
}

#[test]
fn a_stream_is_read_to_its_end() {
    let chunks = read(&[
        json!({"type": "message_start", "message": {"id": "m", "content": [], "usage":
            {"input_tokens": 25, "output_tokens": 1, "cache_read_input_tokens": 4}}}),
        json!({"type": "ping"}),
        json!({"type": "content_block_start", "index": 0,
            "content_block": {"type": "thinking", "thinking": ""}}),
        json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "thinking_delta", "thinking": "hm"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1,
            "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 1,
            "delta": {"type": "text_delta", "text": "Hel"}}),
        json!({"type": "content_block_delta", "index": 1,
            "delta": {"type": "text_delta", "text": ""}}),
        json!({"type": "content_block_delta", "index": 1,
            "delta": {"type": "text_delta", "text": "lo"}}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "content_block_start", "index": 2, "content_block":
            {"type": "tool_use", "id": "toolu_1", "name": "query_database", "input": {}}}),
        json!({"type": "content_block_delta", "index": 2,
            "delta": {"type": "input_json_delta", "partial_json": ""}}),
        json!({"type": "content_block_delta", "index": 2,
            "delta": {"type": "input_json_delta", "partial_json": "{\"a\":"}}),
        json!({"type": "content_block_delta", "index": 2,
            "delta": {"type": "input_json_delta", "partial_json": "1}"}}),
        json!({"type": "content_block_stop", "index": 2}),
        json!({"type": "something_new", "message": 7, "delta": [], "usage": "none"}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"},
            "usage": {"output_tokens": 15}}),
        json!({"type": "message_stop"}),
    ]);
    let reply = Reply::of(chunks.expect("an answer"));
    assert_eq!(
        reply.blocks,
        [Block::text("Hello"), tool_use("toolu_1", r#"{"a":1}"#)]
    );
    assert_eq!(reply.stop, Stop::ToolUse);
    let Usage {
        prompt_tokens,
        completion_tokens,
        total_tokens,
        cache_read_input_tokens,
        ..
    } = reply.usage;
    let counts = (
        prompt_tokens,
        completion_tokens,
        total_tokens,
        cache_read_input_tokens,
    );
    assert_eq!(counts, (25, 15, 40, 4));
}

#[test]
fn a_call_begins_before_its_arguments_and_one_that_breaks_off_is_left_out() {
    let begun = |index: u8, id: &str| {
        json!({"type": "content_block_start", "index": index, "content_block":
            {"type": "tool_use", "id": id, "name": "query_database", "input": {}}})
    };
    let piece = |index: u8, json: &str| {
        json!({"type": "content_block_delta", "index": index,
            "delta": {"type": "input_json_delta", "partial_json": json}})
    };
    let chunks = read(&[begun(0, "a"), piece(0, "{\"x\":")]).expect("no fault");
    let [Chunk::ToolUseStarted { id, name }] = &*chunks else {
        panic!("{chunks:?}");
    };
    assert_eq!((&**id, &**name), ("a", "query_database"));
    let chunks = read(&[
        begun(0, "a"),
        // The event between the two is missing.
        begun(1, "b"),
        piece(1, "{\"x\":"),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "message_delta", "delta": {"stop_reason": "max_tokens"}}),
        json!({"type": "message_stop"}),
    ]);
    let reply = Reply::of(chunks.expect("no fault"));
    assert_eq!(reply.blocks, [tool_use("a", "{}")]);
    assert_eq!(reply.stop, Stop::MaxTokens);
}

#[test]
fn an_error_in_a_stream_has_the_status_of_an_error_response() {
    for (kind, status) in [
        ("rate_limit_error", Some(429)),
        ("overloaded_error", Some(529)),
        ("authentication_error", Some(401)),
        ("new_error", None),
    ] {
        let event = json!({"type": "error", "error": {"type": kind, "message": "no"}});
        let fault = read(&[event]).expect_err("an error");
        let Fault::Reported {
            status: found,
            message,
        } = fault
        else {
            panic!("{fault:?}");
        };
        assert_eq!(found.map(|status| status.as_u16()), status, "{kind}");
        assert_eq!(message, "no");
    }
}

#[test]
fn an_invalid_stream_is_a_fault() {
    let mut reader = Reader::default();
    for event in [&b"{"[..], b"[DONE]", b"{}", b"\xff"] {
        let read = reader.read(event, &mut VecDeque::new());
        assert!(matches!(read, Err(Fault::Malformed(_))), "{event:?}");
    }
}
