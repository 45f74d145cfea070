//! `OpenAI`.

use serde_json::{Value, json};

use super::{body, event, texts, tokens};
use crate::{Answer, RecordedRequest, plan::Rendered, script::Script};

const MODELS: [&str; 5] = [
    "gpt-4o-mini",
    "gpt-5",
    "o3-mini",
    "text-embedding-3-small",
    "whisper-1",
];

pub(super) fn answer(seen: &RecordedRequest, answer: &Answer, script: &Script) -> Option<Rendered> {
    let ask = body(seen);
    match (seen.method.as_str(), seen.path.as_str()) {
        ("GET", "v1/models") => Some(Rendered::json(200, &models())),
        ("POST", "v1/embeddings") => Some(Rendered::json(200, &embeddings(&ask, script))),
        ("POST", "v1/chat/completions") if ask["stream"] == true => {
            Some(Rendered::events(stream(&ask, answer)))
        }
        ("POST", "v1/chat/completions") => Some(Rendered::json(200, &completion(&ask, answer))),
        _ => None,
    }
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let (kind, code) = match status {
        401 => ("invalid_request_error", json!("invalid_api_key")),
        429 => ("requests", json!("rate_limit_exceeded")),
        500.. => ("server_error", Value::Null),
        _ => ("invalid_request_error", Value::Null),
    };
    json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
}

fn models() -> Value {
    let models = MODELS.map(
        |id| json!({"id": id, "object": "model", "created": 1_700_000_000, "owned_by": "system"}),
    );
    json!({"object": "list", "data": models})
}

fn embeddings(ask: &Value, script: &Script) -> Value {
    let texts = texts(&ask["input"]);
    let items: Vec<_> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| {
            json!({"object": "embedding", "index": index, "embedding": script.vector(text)})
        })
        .collect();
    let tokens: usize = texts.into_iter().map(tokens).sum();
    json!({
        "object": "list",
        "data": items,
        "model": ask["model"],
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    })
}

fn completion(ask: &Value, answer: &Answer) -> Value {
    let mut message = json!({"role": "assistant", "content": answer.whole(), "refusal": null});
    if !answer.tools.is_empty() {
        message["tool_calls"] = answer.tools.iter().map(call).collect();
        if answer.pieces.is_empty() {
            message["content"] = Value::Null;
        }
    }
    let mut whole = json!({
        "id": "chatcmpl-fake",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": ask["model"],
        "choices": [{
            "index": 0,
            "message": message,
            "logprobs": null,
            "finish_reason": finish(answer),
        }],
        "system_fingerprint": "fp_fake",
    });
    if answer.usage.is_some() {
        whole["usage"] = usage(answer);
    }
    whole
}

fn call(tool: &crate::ToolCall) -> Value {
    json!({
        "id": tool.id,
        "type": "function",
        "function": {"name": tool.name, "arguments": tool.input.to_string()},
    })
}

fn usage(answer: &Answer) -> Value {
    let counted = answer.counted();
    json!({
        "prompt_tokens": counted.prompt,
        "completion_tokens": counted.completion,
        "total_tokens": counted.total(),
        "prompt_tokens_details": {"cached_tokens": counted.cache_read, "audio_tokens": 0},
    })
}

fn finish(answer: &Answer) -> &'static str {
    match answer {
        Answer { is_cut: true, .. } => "length",
        Answer { tools, .. } if !tools.is_empty() => "tool_calls",
        _ => "stop",
    }
}

fn stream(ask: &Value, answer: &Answer) -> String {
    let chunk = |choices: Value, usage: Value| {
        event(&json!({
            "id": "chatcmpl-fake",
            "object": "chat.completion.chunk",
            "created": 1_700_000_000,
            "model": ask["model"],
            "system_fingerprint": "fp_fake",
            "choices": choices,
            "usage": usage,
        }))
    };
    let delta = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish});
        chunk(json!([choice]), Value::Null)
    };
    let first = json!({"role": "assistant", "content": "", "refusal": null});
    let mut text = delta(first, Value::Null);
    for piece in &answer.pieces {
        text += &delta(json!({ "content": piece }), Value::Null);
    }
    for (index, tool) in answer.tools.iter().enumerate() {
        let mut whole = call(tool);
        let arguments = tool.input.to_string();
        let middle = arguments.floor_char_boundary(arguments.len() / 2);
        whole["index"] = index.into();
        whole["function"]["arguments"] = "".into();
        text += &delta(json!({"tool_calls": [whole]}), Value::Null);
        for part in [&arguments[..middle], &arguments[middle..]] {
            let part = json!({"index": index, "function": {"arguments": part}});
            text += &delta(json!({"tool_calls": [part]}), Value::Null);
        }
    }
    text += &delta(json!({}), finish(answer).into());
    if ask["stream_options"]["include_usage"] == true && answer.usage.is_some() {
        text += &chunk(json!([]), usage(answer));
    }
    text + "data: [DONE]\n\n"
}
