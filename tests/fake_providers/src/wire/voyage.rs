//! Voyage.

use serde_json::{Value, json};

use super::{body, rerankers, texts, tokens};
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

fn rerank(ask: &Value, script: &Script) -> Value {
    let documents = texts(&ask["documents"]);
    let items: Vec<_> = rerankers::ranked(ask, &documents, &ask["top_k"], script)
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
