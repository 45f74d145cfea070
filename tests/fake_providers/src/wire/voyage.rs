//! Voyage.

use serde_json::{Value, json};

use super::{body, texts, tokens};
use crate::{RecordedRequest, plan::Rendered, script::Script};

pub(super) fn answer(seen: &RecordedRequest, script: &Script) -> Option<Rendered> {
    let ask = body(seen);
    match (seen.method.as_str(), seen.path.as_str()) {
        ("POST", "v1/embeddings") => Some(Rendered::json(200, &embeddings(&ask, script))),
        ("POST", "v1/rerank") => Some(Rendered::json(200, &rerank(&ask, script))),
        _ => None,
    }
}

fn embeddings(ask: &Value, script: &Script) -> Value {
    let texts = texts(&ask["input"]);
    let items: Vec<_> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| {
            json!({"object": "embedding", "embedding": script.vector(text), "index": index})
        })
        .collect();
    let tokens: usize = texts.into_iter().map(tokens).sum();
    json!({
        "object": "list",
        "data": items,
        "model": ask["model"],
        "usage": {"total_tokens": tokens},
    })
}

/// Orders texts by the similarity of their vectors to that of the question.
fn rerank(ask: &Value, script: &Script) -> Value {
    let question = script.vector(ask["query"].as_str().unwrap_or_default());
    let documents = texts(&ask["documents"]);
    let closeness = |text: &str| -> f32 {
        let vector = script.vector(text);
        question.iter().zip(vector).map(|(a, b)| a * b).sum()
    };
    let mut ranked: Vec<_> = documents
        .iter()
        .map(|text| closeness(text))
        .enumerate()
        .collect();
    ranked.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    if let Some(top) = ask["top_k"].as_u64() {
        ranked.truncate(usize::try_from(top).unwrap_or(usize::MAX));
    }
    let items: Vec<_> = ranked
        .into_iter()
        .map(|(index, score)| json!({"relevance_score": score, "index": index}))
        .collect();
    let tokens: usize = documents.into_iter().map(tokens).sum();
    json!({
        "object": "list",
        "data": items,
        "model": ask["model"],
        "usage": {"total_tokens": tokens},
    })
}
