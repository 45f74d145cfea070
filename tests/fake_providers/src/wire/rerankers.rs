//! Cohere, Jina, and Text Embeddings Inference: reranking only.

use serde_json::{Value, json};

use super::{body, texts, tokens};
use crate::{Api, RecordedRequest, plan::Rendered, script::Script};

/// Maximum number of texts that Text Embeddings Inference takes by default.
const TEI_BATCH: usize = 32;

pub(super) fn answer(seen: &RecordedRequest, script: &Script) -> Option<Rendered> {
    let ask = body(seen);
    let answer = match (seen.api, seen.method.as_str(), seen.path.as_str()) {
        (Api::Cohere, "POST", "v2/rerank") => cohere(&ask, script),
        (Api::Jina, "POST", "v1/rerank") => jina(&ask, script),
        (Api::Tei, "POST", "rerank") => {
            let texts = texts(&ask["texts"]);
            if texts.len() > TEI_BATCH {
                let error = json!({
                    "error": format!("batch size {} > maximum allowed batch size 32", texts.len()),
                    "error_type": "Validation",
                });
                return Some(Rendered::json(422, &error));
            }
            let ranked = ranked(&ask, &texts, &Value::Null, script).into_iter();
            let items = ranked.map(|(index, score)| json!({"index": index, "score": score}));
            items.collect()
        }
        _ => return None,
    };
    Some(Rendered::json(200, &answer))
}

fn cohere(ask: &Value, script: &Script) -> Value {
    json!({
        "results": results(ask, script),
        "id": "r-1",
        "meta": {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}},
    })
}

fn jina(ask: &Value, script: &Script) -> Value {
    let tokens: usize = texts(&ask["documents"]).into_iter().map(tokens).sum();
    json!({
        "model": ask["model"],
        "object": "list",
        "usage": {"total_tokens": tokens},
        "results": results(ask, script),
    })
}

fn results(ask: &Value, script: &Script) -> Vec<Value> {
    let ranked = ranked(ask, &texts(&ask["documents"]), &ask["top_n"], script).into_iter();
    ranked
        .map(|(index, score)| json!({"index": index, "relevance_score": score}))
        .collect()
}

/// Orders texts by the similarity of their vectors to the vector of the question.
pub(super) fn ranked(
    ask: &Value,
    texts: &[&str],
    most: &Value,
    script: &Script,
) -> Vec<(usize, f32)> {
    let question = script.vector(ask["query"].as_str().unwrap_or_default());
    let closeness = |text: &&str| -> f32 {
        let vector = script.vector(text);
        question.iter().zip(vector).map(|(a, b)| a * b).sum()
    };
    let mut ranked: Vec<_> = texts.iter().map(closeness).enumerate().collect();
    ranked.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    if let Some(most) = most.as_u64() {
        ranked.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    }
    ranked
}
