//! Ollama.

use serde_json::{Value, json};

use super::{body, texts, tokens};
use crate::{Answer, RecordedRequest, plan::Rendered, script::Script};

const WHEN: &str = "2026-01-01T00:00:00.000000000Z";

pub(super) fn answer(seen: &RecordedRequest, answer: &Answer, script: &Script) -> Option<Rendered> {
    let ask = body(seen);
    match (seen.method.as_str(), seen.path.as_str()) {
        ("GET", "api/tags") => Some(Rendered::json(200, &tags())),
        ("POST", "api/embed") => Some(Rendered::json(200, &embed(&ask, script))),
        // Streaming is the default.
        ("POST", "api/chat") if ask["stream"] == false => Some(Rendered::json(
            200,
            &last(&ask, answer, &answer.whole(), true),
        )),
        ("POST", "api/chat") => Some(Rendered::lines(stream(&ask, answer))),
        _ => None,
    }
}

fn tags() -> Value {
    let models = ["llama3.2:latest", "nomic-embed-text:latest"].map(|name| {
        json!({
            "name": name,
            "model": name,
            "modified_at": WHEN,
            "size": 274_302_450,
            "digest": "0a109f422b47e3a30ba2b10eca18548e944e8a23073ee3f3e947efcf3c45e59f",
            "details": {"format": "gguf", "family": "fake"},
        })
    });
    json!({ "models": models })
}

fn embed(ask: &Value, script: &Script) -> Value {
    let texts = texts(&ask["input"]);
    let vectors: Vec<_> = texts.iter().map(|text| script.vector(text)).collect();
    let tokens: usize = texts.into_iter().map(tokens).sum();
    json!({
        "model": ask["model"],
        "embeddings": vectors,
        "total_duration": 14_143_917,
        "load_duration": 1_019_500,
        "prompt_eval_count": tokens,
    })
}

fn line(ask: &Value, text: &str) -> Value {
    json!({
        "model": ask["model"],
        "created_at": WHEN,
        "message": {"role": "assistant", "content": text},
        "done": false,
    })
}

/// The whole answer, or the last line of a stream of it.
fn last(ask: &Value, answer: &Answer, text: &str, has_tools: bool) -> Value {
    let mut line = line(ask, text);
    line["done"] = true.into();
    line["done_reason"] = if answer.is_cut { "length" } else { "stop" }.into();
    line["total_duration"] = 4_883_583_458_u64.into();
    if has_tools && !answer.tools.is_empty() {
        line["message"]["tool_calls"] = calls(answer);
    }
    if answer.usage.is_some() {
        let counted = answer.counted();
        line["prompt_eval_count"] = counted.prompt.into();
        line["eval_count"] = counted.completion.into();
    }
    line
}

fn calls(answer: &Answer) -> Value {
    answer
        .tools
        .iter()
        .map(|tool| json!({"function": {"name": tool.name, "arguments": tool.input}}))
        .collect()
}

fn stream(ask: &Value, answer: &Answer) -> String {
    let pieces = answer.pieces.iter().map(|piece| line(ask, piece));
    let calls = (!answer.tools.is_empty()).then(|| {
        let mut line = line(ask, "");
        line["message"]["tool_calls"] = calls(answer);
        line
    });
    let last = last(ask, answer, "", false);
    let lines: Vec<_> = pieces
        .chain(calls)
        .chain([last])
        .map(|line| line.to_string() + "\n")
        .collect();
    lines.concat()
}
