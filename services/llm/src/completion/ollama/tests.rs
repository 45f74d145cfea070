use std::collections::VecDeque;

use serde_json::{Value, json};

use super::{
    super::{Fault, StreamReader as _},
    *,
};
use crate::{Block, Chunk, Message, Prompt, Reply, Role, Stop, ToolSpec, conversation::object};

fn asked(prompt: &Prompt, stream: bool) -> Value {
    let request = request("llama", prompt, stream).expect("JSON");
    serde_json::from_slice(request.body()).expect("JSON")
}

/// Returns the reply of a stream of these lines, and whether it is complete.
fn read(lines: &[&str]) -> Result<(Reply, bool), Fault> {
    let mut reader = Reader::default();
    let mut chunks = VecDeque::new();
    for line in lines {
        reader.read(line.as_bytes(), &mut chunks)?;
    }
    let is_complete = matches!(chunks.back(), Some(Chunk::End { .. }));
    Ok((Reply::of(chunks), is_complete))
}

#[test]
fn a_simple_prompt_has_only_the_required_members() {
    let prompt = Prompt::new(vec![Message::user("Why?")]);
    let expected = json!({
        "model": "llama",
        "messages": [{"role": "user", "content": "Why?"}],
        "stream": false,
    });
    assert_eq!(asked(&prompt, false), expected);
    assert_eq!(asked(&prompt, true)["stream"], true);
    let prompt = prompt.with_max_tokens(Some(9)).with_temperature(Some(0.5));
    let expected = json!({"num_predict": 9, "temperature": 0.5});
    assert_eq!(asked(&prompt, false)["options"], expected);
}

#[test]
fn a_conversation_with_tools_is_encoded_for_ollama() {
    let input = object(r#"{"query":"SELECT 1"}"#).expect("an object");
    let messages = vec![
        Message::user("How many?"),
        Message {
            role: Role::Assistant,
            blocks: vec![Block::tool_use("call_1", "query_database", input)],
        },
        Message {
            role: Role::User,
            blocks: vec![
                Block::text("Go on."),
                Block::tool_result("call_1", "5"),
                Block::tool_result("call_2", ""),
            ],
        },
    ];
    let tool = ToolSpec {
        name: "query_database".to_owned(),
        description: "Runs SQL.".to_owned(),
        schema: object(r#"{"type":"object"}"#).expect("an object"),
    };
    let prompt = Prompt::new(messages)
        .with_system("Be brief.")
        .with_tools(vec![tool]);
    let asked = asked(&prompt, false);
    let expected = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "How many?"},
        {"role": "assistant", "content": "", "tool_calls": [{"function":
            {"name": "query_database", "arguments": {"query": "SELECT 1"}}}]},
        {"role": "tool", "tool_name": "query_database", "content": "5"},
        {"role": "tool", "content": "{}"},
        {"role": "user", "content": "Go on."},
    ]);
    assert_eq!(asked["messages"], expected);
    let tools = json!([{"type": "function", "function": {"name": "query_database",
        "description": "Runs SQL.", "parameters": {"type": "object"}}}]);
    assert_eq!(asked["tools"], tools);
}

#[test]
fn an_answer_is_read_and_thoughts_are_left_out() {
    let body = json!({
        "message": {"role": "assistant", "content": "<think>hm</think>\n\nFive.",
            "thinking": "hm"},
        "done": true, "done_reason": "stop", "prompt_eval_count": 10, "eval_count": 5,
    });
    let reply = reply(body.to_string().as_bytes()).expect("an answer");
    assert_eq!(reply.blocks, [Block::text("Five.")]);
    assert_eq!(reply.stop, Stop::EndTurn);
    assert_eq!(reply.usage.total_tokens, 15);
    assert_eq!(reply.usage.prompt_tokens, 10);
}

#[test]
fn every_call_has_an_id_of_its_own() {
    let call = json!({"function": {"name": "count_rows", "arguments": {"a": 1}}});
    let body = json!({
        "message": {"role": "assistant", "content": "", "tool_calls": [call, call]},
        "done": true, "done_reason": "stop",
    });
    let reply = reply(body.to_string().as_bytes()).expect("an answer");
    let [
        Block::ToolUse { id: one, input, .. },
        Block::ToolUse { id: other, .. },
    ] = &*reply.blocks
    else {
        panic!("{reply:?}");
    };
    assert_ne!(one, other);
    assert_eq!(input.get(), r#"{"a":1}"#);
    assert_eq!(reply.stop, Stop::ToolUse);
}

#[test]
fn an_invalid_answer_is_a_fault() {
    for body in [
        "",
        "{}",
        "[]",
        r#"{"message":{"content":"a"},"done":false}"#,
    ] {
        assert!(reply(body.as_bytes()).is_err(), "{body}");
    }
}

#[test]
fn a_stream_is_read_to_its_end_without_thoughts() {
    let lines = [
        r#"{"message":{"role":"assistant","content":"<thi"},"done":false}"#,
        r#"{"message":{"role":"assistant","content":"nk>hm"},"done":false}"#,
        r#"{"message":{"role":"assistant","content":"</think>\n"},"done":false}"#,
        r#"{"message":{"role":"assistant","content":"Fi"},"done":false}"#,
        r#"{"message":{"role":"assistant","content":"ve."},"done":false}"#,
    ];
    let (_, is_complete) = read(&lines).expect("no fault");
    assert!(!is_complete);
    let done = r#"{"message":{"role":"assistant","content":""},"done":true,
        "done_reason":"length","prompt_eval_count":1,"eval_count":2}"#;
    let lines: Vec<_> = lines.into_iter().chain([done]).collect();
    let (reply, is_complete) = read(&lines).expect("an answer");
    assert!(is_complete);
    assert_eq!(reply.text(), "Five.");
    assert_eq!(reply.stop, Stop::MaxTokens);
    assert_eq!(reply.usage.total_tokens, 3);
}

#[test]
fn text_that_was_held_back_is_sent_at_the_end() {
    let lines = [
        r#"{"message":{"content":"<thi"},"done":false}"#,
        r#"{"done":true}"#,
    ];
    let (reply, is_complete) = read(&lines).expect("an answer");
    assert!(is_complete);
    assert_eq!(reply.text(), "<thi");
}

#[test]
fn an_error_in_a_stream_is_a_fault() {
    let fault = read(&[r#"{"error":"out of memory"}"#]).expect_err("an error");
    assert_eq!(fault.to_string(), "out of memory");
}
