//! Builds requests to Ollama.

use serde::Serialize;

use crate::{
    Error, Prompt, Request,
    completion::openai::{ChatMessage, Tool, messages, tools},
};

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<ChatMessage<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    /// Always sent, because the default is `true`.
    stream: bool,
    #[serde(skip_serializing_if = "Options::is_empty")]
    options: Options,
}

/// Options that the caller has set; the model has its own defaults.
#[derive(Serialize)]
struct Options {
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    num_predict: Option<u32>,
}

/// Encodes a prompt for Ollama.
pub(crate) fn request(model: &str, prompt: &Prompt, stream: bool) -> Result<Request, Error> {
    let body = Body {
        model,
        messages: messages(prompt, true),
        tools: tools(&prompt.tools),
        stream,
        options: Options {
            temperature: prompt.temperature,
            num_predict: prompt.max_tokens,
        },
    };
    Request::post(&["api", "chat"], &body)
}

// === impl Options ===

impl Options {
    fn is_empty(&self) -> bool {
        self.temperature.is_none() && self.num_predict.is_none()
    }
}
