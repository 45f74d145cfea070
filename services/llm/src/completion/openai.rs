//! `OpenAI` and compatible servers: `POST /chat/completions`, and `POST /responses` for models that
//! support nothing else.

mod chat;
mod format;
mod reading;
mod responses;

#[cfg(test)]
mod tests;

use crate::{
    Error, Prompt, Reply, Request,
    completion::{Fault, StreamReader},
};

pub(super) use self::{
    chat::{ChatMessage, Tool, messages, tools},
    format::Format,
};

/// Encodes a prompt for `OpenAI`.
pub(super) fn request(
    model: &str,
    format: Format,
    prompt: &Prompt,
    stream: bool,
) -> Result<Request, Error> {
    if format.has_responses() {
        responses::request(model, format, prompt, stream)
    } else {
        chat::request(model, format, prompt, stream)
    }
}

/// Parses a complete reply.
pub(super) fn reply(format: Format, body: &[u8]) -> Result<Reply, Fault> {
    if format.has_responses() {
        responses::reply(body)
    } else {
        reading::reply(body)
    }
}

/// Creates a parser of a streamed reply.
pub(super) fn reader(format: Format) -> Box<dyn StreamReader> {
    if format.has_responses() {
        Box::new(responses::Reader::default())
    } else {
        Box::new(reading::Reader::default())
    }
}
