//! The answers of each provider, in its own format.

mod anthropic;
mod gemini;
mod ollama;
mod openai;
mod rerankers;
mod voyage;

use serde_json::{Value, json};

use crate::{Answer, Api, RecordedRequest, plan::Rendered, script::Script, turn::Reply};

/// Renders the answer to a request, before any scripted fault.
pub(crate) fn render(seen: &RecordedRequest, reply: &Reply, script: &Script) -> Rendered {
    let greeting = Answer::default();
    let answer = match reply {
        Reply::Genuine => &greeting,
        Reply::Completion(answer) => answer,
        Reply::Error(status, message) => {
            let message = quoted(message, seen.key().unwrap_or_default());
            return refusal(seen.api, *status, &message);
        }
        Reply::Raw(status, body) => {
            return Rendered {
                status: *status,
                kind: "application/json",
                body: body.clone(),
            };
        }
    };
    let answered = match seen.api {
        Api::Anthropic => anthropic::answer(seen, answer),
        Api::Gemini => gemini::answer(seen, answer, script),
        Api::Ollama => ollama::answer(seen, answer, script),
        Api::OpenAi => openai::answer(seen, answer, script),
        Api::Voyage => voyage::answer(seen, script),
        Api::Cohere | Api::Jina | Api::Tei => rerankers::answer(seen, script),
    };
    answered.unwrap_or_else(|| refusal(seen.api, 404, "there is no such thing here"))
}

/// Renders an error in the format of the provider.
fn refusal(api: Api, status: u16, message: &str) -> Rendered {
    let body = match api {
        Api::Anthropic => anthropic::error(status, message),
        Api::Gemini => gemini::error(status, message),
        Api::Ollama => json!({ "error": message }),
        Api::OpenAi => openai::error(status, message),
        Api::Voyage | Api::Jina => json!({ "detail": message }),
        Api::Cohere => json!({ "id": "r-1", "message": message }),
        Api::Tei => json!({ "error": message, "error_type": "Overloaded" }),
    };
    Rendered::json(status, &body)
}

/// Replaces the placeholders for the key, whole or with stars.
fn quoted(message: &str, key: &str) -> String {
    let ends = (
        key.get(..8),
        key.len().checked_sub(4).and_then(|at| key.get(at..)),
    );
    let stars = match ends {
        (Some(start), Some(end)) => format!("{start}********{end}"),
        _ => "****".to_owned(),
    };
    message.replace("{key}", key).replace("{stars}", &stars)
}

/// Parses the body of a request; `null` if it is not JSON.
fn body(seen: &RecordedRequest) -> Value {
    serde_json::from_slice(&seen.body).unwrap_or_default()
}

/// The texts of an `input`, which is one text or a list.
fn texts(input: &Value) -> Vec<&str> {
    match input {
        Value::String(text) => vec![text],
        Value::Array(texts) => texts.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Estimates the number of tokens of a text.
fn tokens(text: &str) -> usize {
    text.split_whitespace().count().max(1)
}

/// An unnamed event of a stream.
fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}
