use super::*;

fn format() -> Format {
    let status = http::StatusCode::BAD_REQUEST;
    let adapted = plain().adapted(status, "only supported in v1/responses");
    adapted.expect("a format")
}

#[test]
fn a_conversation_with_tools_is_encoded_as_items() {
    let asked = asked("o1-pro", format(), &conversation(), true);
    let expected = json!({
        "model": "o1-pro",
        "instructions": "Be brief.",
        "input": [
            {"type": "message", "role": "user",
             "content": [{"type": "input_text", "text": "How many?"}]},
            {"type": "message", "role": "assistant",
             "content": [{"type": "output_text", "text": "I "}]},
            {"type": "message", "role": "assistant",
             "content": [{"type": "output_text", "text": "look."}]},
            {"type": "function_call", "call_id": "call_1", "name": "query_database",
             "arguments": "{\"query\": \"SELECT 1\"}"},
            {"type": "function_call", "call_id": "call_2", "name": "query_database",
             "arguments": "{}"},
            {"type": "message", "role": "user",
             "content": [{"type": "input_text", "text": "Go "}]},
            {"type": "function_call_output", "call_id": "call_1", "output": "5"},
            {"type": "function_call_output", "call_id": "call_2", "output": "a\nb"},
            {"type": "message", "role": "user",
             "content": [{"type": "input_text", "text": "on."}]},
        ],
        "max_output_tokens": 4096,
        "tools": [{"type": "function", "name": "query_database", "description": "Runs SQL.",
                   "parameters": {"type": "object"}, "strict": false}],
        "store": false,
        "stream": true,
    });
    assert_eq!(asked, expected);
    let path = |format| {
        let request = request("o1-pro", format, &conversation(), false);
        request.expect("JSON").path()
    };
    assert_eq!(path(format()), "responses");
    assert_eq!(path(plain()), "chat/completions");
}

#[test]
fn an_answer_is_read() {
    let body = json!({
        "status": "completed", "error": null, "incomplete_details": null,
        "output": [
            {"type": "reasoning", "summary": []},
            {"type": "message", "content": [{"type": "output_text", "text": "Hello"}]},
            {"type": "function_call", "call_id": "c", "name": "query_database",
             "arguments": "{\"a\":1}"},
        ],
        "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
    });
    let answer = reply(format(), body.to_string().as_bytes()).expect("an answer");
    assert_eq!(
        answer.blocks,
        [Block::text("Hello"), tool_use("c", r#"{"a":1}"#)]
    );
    assert_eq!(answer.stop, Stop::ToolUse);
    assert_eq!(answer.usage.total_tokens, 3);

    let cut = json!({"output": [], "incomplete_details": {"reason": "max_output_tokens"}});
    let answer = reply(format(), cut.to_string().as_bytes()).expect("an answer");
    assert_eq!(answer.stop, Stop::MaxTokens);
    let failed = json!({"output": [], "error": {"code": "server_error", "message": "no"}});
    assert!(reply(format(), failed.to_string().as_bytes()).is_err());
    assert!(reply(format(), br#"{"output":[]}"#).is_err());
}

#[test]
fn a_stream_is_read_to_its_end() {
    let item = r#"{"type":"response.output_item.done","item":{"type":"function_call",
        "call_id":"c","name":"query_database","arguments":"{}"}}"#;
    let done = r#"{"type":"response.completed","response":{"output":[],
        "usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3}}}"#;
    let events = [
        r#"{"type":"response.created","response":{"output":[]}}"#,
        r#"{"type":"response.output_item.added","item":{"type":"message","content":[]}}"#,
        r#"{"type":"response.output_item.added","item":{"type":"reasoning","content":null}}"#,
        r#"{"type":"response.output_item.added","item":{"type":"function_call","call_id":"c",
            "name":"query_database","arguments":""}}"#,
        r#"{"type":"response.output_text.delta","delta":"Hel"}"#,
        r#"{"type":"response.output_text.delta","delta":"lo"}"#,
        r#"{"type":"response.something_else","delta":{"a":1},"item":7}"#,
        item,
    ];
    let (_, is_complete) = read(format(), &events).expect("no fault");
    assert!(!is_complete);
    let events: Vec<_> = events.into_iter().chain([done]).collect();
    let (reply, is_complete) = read(format(), &events).expect("an answer");
    assert!(is_complete);
    assert_eq!(reply.blocks, [Block::text("Hello"), tool_use("c", "{}")]);
    assert_eq!(reply.stop, Stop::ToolUse);
    assert_eq!(reply.usage.total_tokens, 3);
}

#[test]
fn the_beginning_of_a_call_comes_once_and_a_call_that_breaks_off_does_not() {
    let item = |event: &str, id: &str, arguments: &str| {
        let call = json!({"type": "function_call", "call_id": id, "name": "query_database",
            "arguments": arguments});
        json!({"type": format!("response.output_item.{event}"), "item": call}).to_string()
    };
    let mut reader = reader(format());
    let mut chunks = VecDeque::new();
    for event in [
        item("added", "a", ""),
        item("added", "b", ""),
        item("done", "a", "{\"x\":1}"),
        item("done", "b", "{\"x\":"),
        item("done", "c", "{}"),
    ] {
        reader
            .read(event.as_bytes(), &mut chunks)
            .expect("no fault");
    }
    let seen: Vec<_> = chunks.iter().map(shown).collect();
    assert_eq!(
        seen,
        ["began a", "began b", "called a", "began c", "called c"]
    );
}

#[test]
fn an_error_in_a_stream_is_a_fault() {
    for event in [
        r#"{"type":"error","code":"server_error","message":"no"}"#,
        r#"{"type":"error","error":{"message":"no"}}"#,
        r#"{"type":"response.failed","response":{"error":{"message":"no"}}}"#,
    ] {
        let fault = read(format(), &[event]).expect_err("an error");
        assert_eq!(fault.to_string(), "no", "{event}");
    }
}
