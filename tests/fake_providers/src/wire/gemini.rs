//! Gemini.

use serde_json::{Value, json};

use super::{body, event};
use crate::{Answer, RecordedRequest, plan::Rendered, script::Script};

pub(super) fn answer(seen: &RecordedRequest, answer: &Answer, script: &Script) -> Option<Rendered> {
    let path = seen.path.strip_prefix("v1beta/models")?;
    if seen.method == "GET" && path.is_empty() {
        return Some(Rendered::json(200, &models()));
    }
    let (model, operation) = path.strip_prefix('/')?.rsplit_once(':')?;
    match operation {
        "embedContent" => {
            let ask = body(seen);
            let text = ask["content"]["parts"][0]["text"].as_str();
            let values = script.vector(text.unwrap_or_default());
            let whole = json!({"embedding": {"values": values}});
            Some(Rendered::json(200, &whole))
        }
        "batchEmbedContents" => {
            let ask = body(seen);
            let requests = ask["requests"].as_array().cloned().unwrap_or_default();
            let embeddings: Vec<_> = requests
                .iter()
                .map(|request| {
                    let text = request["content"]["parts"][0]["text"].as_str();
                    json!({"values": script.vector(text.unwrap_or_default())})
                })
                .collect();
            Some(Rendered::json(200, &json!({"embeddings": embeddings})))
        }
        "generateContent" => {
            let all: Vec<_> = answer.pieces.iter().map(String::as_str).collect();
            let whole = item(model, answer, &all.concat(), true);
            Some(Rendered::json(200, &whole))
        }
        "streamGenerateContent" if seen.query.as_deref() == Some("alt=sse") => {
            Some(Rendered::events(stream(model, answer)))
        }
        _ => None,
    }
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let name = match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        _ => "INTERNAL",
    };
    json!({"error": {"code": status, "message": message, "status": name}})
}

fn models() -> Value {
    json!({"models": [
        {
            "name": "models/gemini-2.5-flash",
            "version": "001",
            "displayName": "Gemini 2.5 Flash",
            "supportedGenerationMethods": ["generateContent", "countTokens"],
        },
        {
            "name": "models/gemini-embedding-001",
            "version": "001",
            "displayName": "Gemini Embedding 001",
            "supportedGenerationMethods": ["embedContent"],
        },
    ]})
}

/// One answer, or one item of a stream; counts are cumulative.
fn item(model: &str, answer: &Answer, text: &str, is_last: bool) -> Value {
    let mut parts = Vec::new();
    if !text.is_empty() {
        parts.push(json!({ "text": text }));
    }
    let mut candidate = json!({"index": 0});
    if is_last {
        parts.extend(
            answer
                .tools
                .iter()
                .map(|tool| json!({"functionCall": {"name": tool.name, "args": tool.input}})),
        );
        candidate["finishReason"] = if answer.is_cut { "MAX_TOKENS" } else { "STOP" }.into();
    }
    if parts.is_empty() {
        parts.push(json!({"text": ""}));
    }
    candidate["content"] = json!({"parts": parts, "role": "model"});
    let mut item = json!({
        "candidates": [candidate],
        "modelVersion": model,
        "responseId": "fake",
    });
    if answer.usage.is_some() {
        let counted = answer.counted();
        let written = if is_last { counted.completion } else { 1 };
        item["usageMetadata"] = json!({
            "promptTokenCount": counted.prompt,
            "candidatesTokenCount": written,
            "totalTokenCount": counted.prompt + written,
        });
    }
    item
}

fn stream(model: &str, answer: &Answer) -> String {
    let (last, others) = match answer.pieces.split_last() {
        Some((last, others)) => (last.as_str(), others),
        None => ("", &[][..]),
    };
    let others = others
        .iter()
        .map(|piece| event(&item(model, answer, piece, false)));
    others.collect::<String>() + &event(&item(model, answer, last, true))
}
