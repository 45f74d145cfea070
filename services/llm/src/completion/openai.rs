//! `OpenAI` and compatible servers: `POST /chat/completions`, and `POST /responses` for models that
//! support nothing else.

mod chat;
mod manner;
mod reading;
mod responses;

#[cfg(test)]
mod tests;

use super::Fault;
use crate::{Prompt, Reply};

pub(super) use self::{
    chat::{Tool, result, tools},
    manner::Manner,
    reading::Reader,
};

/// Returns the path for this request format, below the base URL.
pub(super) fn path(manner: Manner) -> &'static [&'static str] {
    if manner.has_responses() {
        &["responses"]
    } else {
        &["chat", "completions"]
    }
}

/// Encodes a prompt for `OpenAI`.
pub(super) fn request(
    model: &str,
    manner: Manner,
    prompt: &Prompt,
    stream: bool,
) -> serde_json::Result<Vec<u8>> {
    if manner.has_responses() {
        responses::request(model, manner, prompt, stream)
    } else {
        chat::request(model, manner, prompt, stream)
    }
}

/// Parses a complete reply.
pub(super) fn reply(manner: Manner, body: &[u8]) -> Result<Reply, Fault> {
    if manner.has_responses() {
        responses::reply(body)
    } else {
        reading::reply(body)
    }
}
