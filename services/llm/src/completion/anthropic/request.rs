//! Builds requests to Anthropic.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::{Block, Cache, Error, MAX_TOKENS, Prompt, Request, ToolSpec, conversation::in_turns};

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<[Part<'a>; 1]>,
    messages: Vec<Turn<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stream: bool,
}

#[derive(Serialize)]
struct Turn<'a> {
    role: &'static str,
    content: Vec<Part<'a>>,
}

#[derive(Serialize)]
struct Part<'a> {
    #[serde(flatten)]
    kind: Kind<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Kind<'a> {
    Text {
        text: &'a str,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: &'a RawValue,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: Content<'a>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    One(&'a str),
    Several(Vec<Kind<'a>>),
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
struct CacheControl {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<&'static str>,
}

/// Encodes a prompt for Anthropic.
pub(crate) fn request(model: &str, prompt: &Prompt, stream: bool) -> Result<Request, Error> {
    let turns = in_turns(&prompt.messages);
    let system = Some(prompt.system.as_str()).filter(|system| !system.is_empty());
    let body = Body {
        model,
        max_tokens: prompt.max_tokens.unwrap_or(MAX_TOKENS),
        system: system.map(|text| {
            [Part {
                kind: Kind::Text { text },
                cache_control: None,
            }]
        }),
        messages: turns
            .iter()
            .map(|turn| Turn {
                role: turn.role.as_str(),
                content: turn.blocks.iter().map(part).collect(),
            })
            .collect(),
        tools: tools(&prompt.tools),
        temperature: prompt.temperature,
        stream,
    };
    Request::post(&["messages"], &body)
}

fn part(block: &Block) -> Part<'_> {
    Part {
        kind: match block {
            Block::Text { text, .. } => Kind::Text { text },
            Block::ToolUse {
                id, name, input, ..
            } => Kind::ToolUse { id, name, input },
            Block::ToolResult {
                tool_use_id,
                content,
                is_error,
                ..
            } => Kind::ToolResult {
                tool_use_id,
                content: result(content),
                is_error: *is_error,
            },
        },
        cache_control: block.cache().map(cache_control),
    }
}

/// Encodes a tool result. An empty text block is rejected, but an empty string is not.
fn result(content: &[String]) -> Content<'_> {
    let mut texts = content.iter().filter(|text| !text.is_empty());
    match (texts.next(), texts.clone().next()) {
        (None, _) => Content::One(""),
        (Some(text), None) => Content::One(text),
        (Some(first), Some(_)) => Content::Several(
            std::iter::once(first)
                .chain(texts)
                .map(|text| Kind::Text { text })
                .collect(),
        ),
    }
}

/// Encodes the tools, cached as a whole, because they are the same for all requests.
fn tools(tools: &[ToolSpec]) -> Vec<Tool<'_>> {
    let mut tools: Vec<_> = tools
        .iter()
        .map(|tool| Tool {
            name: &tool.name,
            description: &tool.description,
            input_schema: &tool.schema,
            cache_control: None,
        })
        .collect();
    if let Some(last) = tools.last_mut() {
        last.cache_control = Some(cache_control(Cache::Usual));
    }
    tools
}

fn cache_control(cache: Cache) -> CacheControl {
    CacheControl {
        kind: "ephemeral",
        ttl: match cache {
            Cache::Usual => None,
            Cache::Hour => Some("1h"),
        },
    }
}
