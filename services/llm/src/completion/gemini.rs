//! Gemini: `POST /v1beta/models/{model}:generateContent`.

mod reading;
mod request;

#[cfg(test)]
mod tests;

pub(super) use self::{
    reading::{Reader, reply},
    request::request,
};

/// What stands between the two halves of an id: the id itself, and what Gemini wants to see again
/// with it.
const SEPARATOR: char = '~';

/// Where to ask: the last part of the path. A model may be named with the collection it is in.
pub(super) fn method(model: &str, stream: bool) -> String {
    let model = model.strip_prefix("models/").unwrap_or(model);
    let method = if stream {
        "streamGenerateContent"
    } else {
        "generateContent"
    };
    format!("{model}:{method}")
}
