//! Builds requests to `/chat/completions`.

use std::{borrow::Cow, collections::HashMap};

use serde::Serialize;
use serde_json::value::RawValue;

use crate::{
    Block, Error, MAX_TOKENS, Prompt, Request, Role, ToolSpec, completion::openai::Format,
};

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<ChatMessage<'a>>,
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

/// A message in the format of `OpenAI` or Ollama.
#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(crate) enum ChatMessage<'a> {
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
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_call_id: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_name: Option<&'a str>,
        content: Cow<'a, str>,
    },
}

#[derive(Serialize)]
pub(crate) struct Call<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    function: CallFunction<'a>,
}

#[derive(Serialize)]
struct CallFunction<'a> {
    name: &'a str,
    arguments: Arguments<'a>,
}

/// Arguments of a call: for `OpenAI`, JSON in a text.
#[derive(Serialize)]
#[serde(untagged)]
enum Arguments<'a> {
    Text(&'a str),
    Json(&'a RawValue),
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
    format: Format,
    prompt: &Prompt,
    stream: bool,
) -> Result<Request, Error> {
    let max_tokens = Some(prompt.max_tokens.unwrap_or(MAX_TOKENS));
    let is_completion = format.has_completion_tokens();
    let body = Body {
        model,
        messages: messages(prompt, false),
        max_tokens: max_tokens.filter(|_| !is_completion),
        max_completion_tokens: max_tokens.filter(|_| is_completion),
        temperature: prompt.temperature.filter(|_| format.has_temperature()),
        tools: tools(&prompt.tools),
        stream,
        stream_options: (stream && format.has_stream_options()).then_some(StreamOptions {
            include_usage: true,
        }),
    };
    Request::post(&["chat", "completions"], &body)
}

/// Encodes the messages of a prompt. Tool results are separate messages, and come before the text
/// of their message, because they must follow the call.
///
/// Ollama assigns a result by the name of the tool, and has no ids of calls.
pub(crate) fn messages(prompt: &Prompt, is_ollama: bool) -> Vec<ChatMessage<'_>> {
    let mut messages = Vec::with_capacity(prompt.messages.len() + 1);
    if !prompt.system.is_empty() {
        let content = &prompt.system;
        messages.push(ChatMessage::System { content });
    }
    let mut names = HashMap::new();
    for message in &prompt.messages {
        let before = messages.len();
        let mut tool_calls = Vec::new();
        for block in &message.blocks {
            match (block, message.role) {
                (
                    Block::ToolUse {
                        id, name, input, ..
                    },
                    Role::Assistant,
                ) => {
                    if is_ollama {
                        names.insert(id.as_str(), name.as_str());
                    }
                    tool_calls.push(Call::new(id, name, input, is_ollama));
                }
                (
                    Block::ToolResult {
                        tool_use_id,
                        content,
                        ..
                    },
                    Role::User,
                ) => messages.push(ChatMessage::Tool {
                    tool_call_id: (!is_ollama).then_some(tool_use_id),
                    tool_name: names.get(tool_use_id.as_str()).copied(),
                    content: result(content),
                }),
                _ => {}
            }
        }
        let content = message.text();
        let is_sent = !content.is_empty();
        match message.role {
            Role::Assistant => messages.push(ChatMessage::Assistant {
                content: (is_sent || is_ollama || tool_calls.is_empty()).then_some(content),
                tool_calls,
            }),
            Role::User if is_sent || messages.len() == before => {
                messages.push(ChatMessage::User { content });
            }
            Role::User => {}
        }
    }
    messages
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
pub(super) fn result(content: &[String]) -> Cow<'_, str> {
    let text = match content {
        [text] => Cow::Borrowed(text.as_str()),
        texts => Cow::Owned(texts.join("\n")),
    };
    if text.is_empty() {
        return Cow::Borrowed("{}");
    }
    text
}

// === impl Call ===

impl<'a> Call<'a> {
    fn new(id: &'a str, name: &'a str, input: &'a RawValue, is_ollama: bool) -> Self {
        Self {
            id: (!is_ollama).then_some(id),
            kind: (!is_ollama).then_some("function"),
            function: CallFunction {
                name,
                arguments: if is_ollama {
                    Arguments::Json(input)
                } else {
                    Arguments::Text(input.get())
                },
            },
        }
    }
}
