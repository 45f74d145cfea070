//! `OpenAI`, and everything that talks like it: `POST /chat/completions`, and `POST /responses`
//! for models that take nothing else.

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

/// Where to ask in this manner, below the base.
pub(super) fn path(manner: Manner) -> &'static [&'static str] {
    if manner.has_responses() {
        &["responses"]
    } else {
        &["chat", "completions"]
    }
}

/// Puts a prompt in the words of `OpenAI`.
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

/// Reads a whole answer.
pub(super) fn reply(manner: Manner, body: &[u8]) -> Result<Reply, Fault> {
    if manner.has_responses() {
        responses::reply(body)
    } else {
        reading::reply(body)
    }
}
