//! Gemini: `POST /v1beta/models/{model}:generateContent`.

mod reading;
mod request;

#[cfg(test)]
mod tests;

pub(super) use self::{
    reading::{Reader, reply},
    request::request,
};

/// Separates the two parts of an id of a tool call: the id itself, and the signature that Gemini
/// requires with the result.
const SEPARATOR: char = '~';

/// Returns the last part of the path. The name of a model may include its collection.
pub(super) fn method(model: &str, stream: bool) -> String {
    let model = model.strip_prefix("models/").unwrap_or(model);
    let method = if stream {
        "streamGenerateContent"
    } else {
        "generateContent"
    };
    format!("{model}:{method}")
}
