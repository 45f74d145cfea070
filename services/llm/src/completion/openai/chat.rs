//! Builds requests to `/chat/completions`.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use super::Manner;
use crate::{Block, MAX_TOKENS, Message, Prompt, Role, ToolSpec};

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    messages: Vec<Said<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
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
        content: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: Cow<'a, str>,
    },
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: CallFunction<'a>,
}

#[derive(Serialize)]
struct CallFunction<'a> {
    name: &'a str,
    /// JSON as text.
    arguments: &'a str,
}

/// A tool in the format of `OpenAI` and Ollama.
#[derive(Serialize)]
pub(crate) struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a RawValue,
}

pub(super) fn request(
    model: &str,
    manner: Manner,
    prompt: &Prompt,
    stream: bool,
) -> serde_json::Result<Vec<u8>> {
    let mut messages = Vec::with_capacity(prompt.messages.len() + 1);
    if !prompt.system.is_empty() {
        let content = &prompt.system;
        messages.push(Said::System { content });
    }
    for message in &prompt.messages {
        match message.role {
            Role::User => asked(message, &mut messages),
            Role::Assistant => messages.push(answered(message)),
        }
    }
    let max_tokens = Some(prompt.max_tokens.unwrap_or(MAX_TOKENS));
    let is_completion = manner.has_completion_tokens();
    serde_json::to_vec(&Request {
        model,
        messages,
        max_tokens: max_tokens.filter(|_| !is_completion),
        max_completion_tokens: max_tokens.filter(|_| is_completion),
        temperature: prompt.temperature.filter(|_| manner.has_temperature()),
        tools: tools(&prompt.tools),
        stream,
        stream_options: (stream && manner.has_stream_options()).then_some(StreamOptions {
            include_usage: true,
        }),
    })
}

pub(crate) fn tools(tools: &[ToolSpec]) -> Vec<Tool<'_>> {
    tools
        .iter()
        .map(|tool| Tool {
            kind: "function",
            function: Function {
                name: &tool.name,
                description: &tool.description,
                parameters: &tool.schema,
            },
        })
        .collect()
}

/// Joins a tool result into one text.
pub(crate) fn result(content: &[String]) -> Cow<'_, str> {
    let text = match content {
        [text] => Cow::Borrowed(text.as_str()),
        texts => Cow::Owned(texts.join("\n")),
    };
    if text.is_empty() {
        return Cow::Borrowed("{}");
    }
    text
}

/// Encodes a user message. Tool results are separate messages, and come before its text, because
/// they must follow the call.
fn asked<'a>(message: &'a Message, messages: &mut Vec<Said<'a>>) {
    let before = messages.len();
    messages.extend(message.blocks.iter().filter_map(|block| match block {
        Block::ToolResult {
            tool_use_id,
            content,
            ..
        } => Some(Said::Tool {
            tool_call_id: tool_use_id,
            content: result(content),
        }),
        Block::Text { .. } | Block::ToolUse { .. } => None,
    }));
    let content = message.text();
    if messages.len() == before || !content.is_empty() {
        messages.push(Said::User { content });
    }
}

fn answered(message: &Message) -> Said<'_> {
    let calls = message.blocks.iter().filter_map(|block| match block {
        Block::ToolUse {
            id, name, input, ..
        } => Some(Call {
            id,
            kind: "function",
            function: CallFunction {
                name,
                arguments: input.get(),
            },
        }),
        Block::Text { .. } | Block::ToolResult { .. } => None,
    });
    let tool_calls: Vec<_> = calls.collect();
    let content = Some(message.text());
    Said::Assistant {
        content: content.filter(|text| tool_calls.is_empty() || !text.is_empty()),
        tool_calls,
    }
}
