//! Anthropic.

use serde_json::{Value, json};

use super::body;
use crate::{Answer, RecordedRequest, plan::Rendered};

pub(super) fn answer(seen: &RecordedRequest, answer: &Answer) -> Option<Rendered> {
    let ask = body(seen);
    match (seen.method.as_str(), seen.path.as_str()) {
        ("GET", "v1/models") => Some(Rendered::json(200, &models())),
        ("POST", "v1/messages") if ask["stream"] == true => {
            Some(Rendered::events(stream(&ask, answer)))
        }
        ("POST", "v1/messages") => Some(Rendered::json(200, &message(&ask, answer))),
        _ => None,
    }
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    json!({
        "type": "error",
        "error": {"type": kind, "message": message},
        "request_id": "req_fake",
    })
}

fn models() -> Value {
    let models = ["claude-sonnet-4-5", "claude-haiku-4-5"].map(|id| {
        json!({
            "type": "model",
            "id": id,
            "display_name": id,
            "created_at": "2025-09-29T00:00:00Z",
        })
    });
    json!({
        "data": models,
        "has_more": false,
        "first_id": "claude-sonnet-4-5",
        "last_id": "claude-haiku-4-5",
    })
}

fn message(ask: &Value, answer: &Answer) -> Value {
    let text = answer.whole();
    let text = (!text.is_empty()).then(|| json!({"type": "text", "text": text}));
    let tools = answer.tools.iter().map(
        |tool| json!({"type": "tool_use", "id": tool.id, "name": tool.name, "input": tool.input}),
    );
    json!({
        "id": "msg_fake",
        "type": "message",
        "role": "assistant",
        "model": ask["model"],
        "content": text.into_iter().chain(tools).collect::<Vec<_>>(),
        "stop_reason": reason(answer),
        "stop_sequence": null,
        "usage": usage(answer, answer.counted().completion),
    })
}

fn usage(answer: &Answer, output: u64) -> Value {
    let counted = answer.counted();
    json!({
        "input_tokens": counted.prompt,
        "cache_creation_input_tokens": counted.cache_creation,
        "cache_read_input_tokens": counted.cache_read,
        "output_tokens": output,
    })
}

fn reason(answer: &Answer) -> &'static str {
    match answer {
        Answer { is_cut: true, .. } => "max_tokens",
        Answer { tools, .. } if !tools.is_empty() => "tool_use",
        _ => "end_turn",
    }
}

fn stream(ask: &Value, answer: &Answer) -> String {
    let mut begun = message(ask, &Answer::silent());
    begun["stop_reason"] = Value::Null;
    begun["usage"] = usage(answer, 1);
    let mut text = event(&json!({"type": "message_start", "message": begun}));
    let mut index = 0;
    let mut block = |block: Value, deltas: Vec<Value>| {
        let mut text =
            event(&json!({"type": "content_block_start", "index": index, "content_block": block}));
        for delta in deltas {
            text += &event(&json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        text += &event(&json!({"type": "content_block_stop", "index": index}));
        index += 1;
        text
    };
    if !answer.pieces.is_empty() {
        let deltas = answer.pieces.iter();
        let deltas = deltas.map(|piece| json!({"type": "text_delta", "text": piece}));
        text += &block(json!({"type": "text", "text": ""}), deltas.collect());
    }
    text += &event(&json!({"type": "ping"}));
    for tool in &answer.tools {
        let input = tool.input.to_string();
        let middle = input.floor_char_boundary(input.len() / 2);
        let deltas = ["", &input[..middle], &input[middle..]]
            .map(|part| json!({"type": "input_json_delta", "partial_json": part}));
        let begun = json!({"type": "tool_use", "id": tool.id, "name": tool.name, "input": {}});
        text += &block(begun, deltas.into());
    }
    text += &event(&json!({
        "type": "message_delta",
        "delta": {"stop_reason": reason(answer), "stop_sequence": null},
        "usage": {"output_tokens": answer.counted().completion},
    }));
    text + &event(&json!({"type": "message_stop"}))
}

/// A named event; its name is its type.
fn event(data: &Value) -> String {
    let name = data["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n")
}
