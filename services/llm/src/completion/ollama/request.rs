//! Builds requests to Ollama.

use std::{borrow::Cow, collections::HashMap};

use serde::Serialize;
use serde_json::value::RawValue;

use super::super::openai::{Tool, result, tools};
use crate::{Block, Message, Prompt, Role};

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    messages: Vec<Said<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    /// Always sent, because the default is `true`.
    stream: bool,
    #[serde(skip_serializing_if = "Options::is_empty")]
    options: Options,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Said<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Cow<'a, str>,
    },
    Assistant {
        content: Cow<'a, str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_name: Option<&'a str>,
        content: Cow<'a, str>,
    },
}

#[derive(Serialize)]
struct Call<'a> {
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: &'a RawValue,
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
pub(crate) fn request(model: &str, prompt: &Prompt, stream: bool) -> serde_json::Result<Vec<u8>> {
    let mut messages = Vec::with_capacity(prompt.messages.len() + 1);
    if !prompt.system.is_empty() {
        let content = &prompt.system;
        messages.push(Said::System { content });
    }
    let mut names = HashMap::new();
    for message in &prompt.messages {
        match message.role {
            Role::User => asked(message, &names, &mut messages),
            Role::Assistant => messages.push(answered(message, &mut names)),
        }
    }
    serde_json::to_vec(&Request {
        model,
        messages,
        tools: tools(&prompt.tools),
        stream,
        options: Options {
            temperature: prompt.temperature,
            num_predict: prompt.max_tokens,
        },
    })
}

fn asked<'a>(message: &'a Message, names: &HashMap<&str, &'a str>, messages: &mut Vec<Said<'a>>) {
    let before = messages.len();
    messages.extend(message.blocks.iter().filter_map(|block| match block {
        Block::ToolResult {
            tool_use_id,
            content,
            ..
        } => Some(Said::Tool {
            tool_name: names.get(tool_use_id.as_str()).copied(),
            content: result(content),
        }),
        Block::Text { .. } | Block::ToolUse { .. } => None,
    }));
    let content = message.text();
    if messages.len() == before || !content.is_empty() {
        messages.push(Said::User { content });
    }
}

fn answered<'a>(message: &'a Message, names: &mut HashMap<&'a str, &'a str>) -> Said<'a> {
    let calls = message.blocks.iter().filter_map(|block| match block {
        Block::ToolUse {
            id, name, input, ..
        } => {
            names.insert(id.as_str(), name.as_str());
            let arguments = input;
            Some(Call {
                function: Function { name, arguments },
            })
        }
        Block::Text { .. } | Block::ToolResult { .. } => None,
    });
    Said::Assistant {
        tool_calls: calls.collect(),
        content: message.text(),
    }
}

// === impl Options ===

impl Options {
    fn is_empty(&self) -> bool {
        self.temperature.is_none() && self.num_predict.is_none()
    }
}
