use std::collections::VecDeque;

use serde_json::{Value, json};

use super::{
    super::{Fault, StreamReader as _},
    *,
};
use crate::{
    Block, Chunk, Message, Prompt, Reply, Role, Stop, ToolSpec, Usage, conversation::object,
};

fn asked(prompt: &Prompt) -> Value {
    let request = request("gemini", prompt, false).expect("JSON");
    serde_json::from_slice(request.body()).expect("JSON")
}

/// Returns the reply of a stream of these items, and whether it is complete.
fn read(items: &[Value]) -> Result<(Reply, bool), Fault> {
    let mut reader = Reader::default();
    let mut chunks = VecDeque::new();
    for item in items {
        reader.read(item.to_string().as_bytes(), &mut chunks)?;
    }
    reader.finish(&mut chunks);
    let is_complete = matches!(chunks.back(), Some(Chunk::End { .. }));
    Ok((Reply::of(chunks), is_complete))
}

#[test]
fn a_model_is_named_with_or_without_its_collection() {
    let plain = method("gemini-2.5-flash", false);
    assert_eq!(plain, "gemini-2.5-flash:generateContent");
    let streamed = method("models/gemini-2.5-flash", true);
    assert_eq!(streamed, "gemini-2.5-flash:streamGenerateContent");
}

#[test]
fn a_simple_prompt_has_only_the_required_members() {
    let expected = json!({
        "contents": [{"role": "user", "parts": [{"text": "Why?"}]}],
        "generationConfig": {"maxOutputTokens": 4096},
    });
    assert_eq!(asked(&Prompt::new(vec![Message::user("Why?")])), expected);
}

#[test]
fn a_conversation_with_tools_is_encoded_for_gemini() {
    let input = object(r#"{"query":"SELECT 1"}"#).expect("an object");
    let failed = Block::ToolResult {
        tool_use_id: "call_2".to_owned(),
        content: vec!["no".to_owned(), "way".to_owned()],
        is_error: true,
        cache: None,
    };
    let messages = vec![
        Message::user("How many?"),
        Message {
            role: Role::Assistant,
            blocks: vec![
                Block::text(""),
                Block::tool_use("call_1~c2ln", "query_database", input.clone()),
                Block::tool_use("call_2", "count_rows", input),
            ],
        },
        Message {
            role: Role::User,
            blocks: vec![
                Block::tool_result("call_1~c2ln", "5"),
                failed,
                Block::tool_result("call_3", "?"),
            ],
        },
    ];
    let tool = ToolSpec {
        name: "query_database".to_owned(),
        description: "Runs SQL.".to_owned(),
        schema: object(r#"{"type":"object","additionalProperties":false}"#).expect("an object"),
    };
    let prompt = Prompt::new(messages)
        .with_system("Be brief.")
        .with_tools(vec![tool])
        .with_max_tokens(Some(9))
        .with_temperature(Some(0.5));
    let args = json!({"query": "SELECT 1"});
    let expected = json!({
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "How many?"}]},
            {"role": "model", "parts": [
                {"functionCall": {"name": "query_database", "args": args},
                 "thoughtSignature": "c2ln"},
                {"functionCall": {"name": "count_rows", "args": args}},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "query_database", "response": {"output": "5"}}},
                {"functionResponse": {"name": "count_rows", "response": {"error": "no\nway"}}},
                {"functionResponse": {"name": "unknown", "response": {"output": "?"}}},
            ]},
        ],
        "tools": [{"functionDeclarations": [{"name": "query_database", "description": "Runs SQL.",
            "parametersJsonSchema": {"type": "object", "additionalProperties": false}}]}],
        "generationConfig": {"maxOutputTokens": 9, "temperature": 0.5},
    });
    assert_eq!(asked(&prompt), expected);
}

#[test]
fn an_answer_is_read_and_thoughts_are_left_out() {
    let body = json!({
        "candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [
            {"text": "hm", "thought": true},
            {"text": "Hel"},
            {"text": "lo"},
            {"functionCall": {"name": "count_rows", "args": {"a": 1}}, "thoughtSignature": "c2ln"},
        ]}}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5,
            "thoughtsTokenCount": 3, "totalTokenCount": 18},
    });
    let reply = reply(body.to_string().as_bytes()).expect("an answer");
    let [
        text,
        Block::ToolUse {
            id, name, input, ..
        },
    ] = &*reply.blocks
    else {
        panic!("{reply:?}");
    };
    assert_eq!(*text, Block::text("Hello"));
    assert!(id.ends_with("~c2ln"), "{id}");
    assert_eq!((name.as_str(), input.get()), ("count_rows", r#"{"a":1}"#));
    assert_eq!(reply.stop, Stop::ToolUse);
    let expected = Usage {
        prompt_tokens: 10,
        completion_tokens: 8,
        total_tokens: 18,
        ..Usage::default()
    };
    assert_eq!(reply.usage, expected);
}

#[test]
fn answers_stop_for_many_reasons() {
    for (reason, stop) in [
        ("STOP", Stop::EndTurn),
        ("MAX_TOKENS", Stop::MaxTokens),
        ("SAFETY", Stop::Filtered),
        ("OTHER", Stop::Other("OTHER".to_owned())),
    ] {
        // A blocked candidate has no content.
        let body = json!({"candidates": [{"finishReason": reason}]});
        let reply = reply(body.to_string().as_bytes()).expect("an answer");
        assert_eq!(reply.stop, stop);
        assert_eq!(reply.text(), "");
    }
}

#[test]
fn a_blocked_prompt_is_an_error() {
    let body = json!({"promptFeedback": {"blockReason": "SAFETY"}});
    let fault = reply(body.to_string().as_bytes()).expect_err("an error");
    assert!(fault.to_string().contains("SAFETY"), "{fault}");
    assert!(read(&[body]).is_err());
    let fault = reply(b"{}").expect_err("an error");
    assert!(matches!(fault, Fault::NoChoices), "{fault:?}");
    assert!(reply(b"[").is_err());
}

#[test]
fn a_stream_is_complete_after_its_stop_reason() {
    let text = |text: &str| json!({"candidates": [{"content": {"parts": [{"text": text}]}}]});
    let last = json!({"candidates": [{"content": {"parts": [{"text": ""}]},
        "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 1,
        "candidatesTokenCount": 2, "totalTokenCount": 3}});
    let early = json!({"usageMetadata": {"promptTokenCount": 1, "totalTokenCount": 1}});
    let (reply, is_complete) = read(&[text("Hel"), early.clone(), text("lo"), last]).expect("read");
    assert!(is_complete);
    assert_eq!(reply.text(), "Hello");
    assert_eq!(reply.usage.total_tokens, 3, "the last count is the one");

    let (_, is_complete) = read(&[text("Hel"), early]).expect("read");
    assert!(!is_complete);
}

#[test]
fn an_error_in_a_stream_has_the_status_of_an_error_response() {
    let error = json!({"error": {"code": 429, "message": "slow down", "status": "X"}});
    let fault = read(&[error]).expect_err("an error");
    let Fault::Reported { status, message } = fault else {
        panic!("{fault:?}");
    };
    assert_eq!(status.map(|status| status.as_u16()), Some(429));
    assert_eq!(message, "slow down");
}
