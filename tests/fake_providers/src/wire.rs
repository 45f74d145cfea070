//! The answers of each provider, in its own format.

mod anthropic;
mod gemini;
mod ollama;
mod openai;
mod voyage;

use serde_json::{Value, json};

use crate::{Answer, Face, Seen, plan::Rendered, script::Script, turn::Reply};

/// Renders the answer to a request, before any scripted fault.
pub(crate) fn render(seen: &Seen, reply: &Reply, script: &Script) -> Rendered {
    let greeting = Answer::default();
    let answer = match reply {
        Reply::Genuine => &greeting,
        Reply::Completion(answer) => answer,
        Reply::Error(status, message) => {
            let message = quoted(message, seen.key().unwrap_or_default());
            return refusal(seen.face, *status, &message);
        }
        Reply::Raw(status, body) => {
            return Rendered {
                status: *status,
                kind: "application/json",
                body: body.clone(),
            };
        }
    };
    let answered = match seen.face {
        Face::Anthropic => anthropic::answer(seen, answer),
        Face::Gemini => gemini::answer(seen, answer, script),
        Face::Ollama => ollama::answer(seen, answer, script),
        Face::OpenAi => openai::answer(seen, answer, script),
        Face::Voyage => voyage::answer(seen, script),
    };
    answered.unwrap_or_else(|| refusal(seen.face, 404, "there is no such thing here"))
}

/// Renders an error in the format of the provider.
fn refusal(face: Face, status: u16, message: &str) -> Rendered {
    let body = match face {
        Face::Anthropic => anthropic::error(status, message),
        Face::Gemini => gemini::error(status, message),
        Face::Ollama => json!({ "error": message }),
        Face::OpenAi => openai::error(status, message),
        Face::Voyage => json!({ "detail": message }),
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
fn body(seen: &Seen) -> Value {
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
