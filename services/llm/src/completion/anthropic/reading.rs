//! Parses responses of Anthropic.

use std::{borrow::Cow, collections::VecDeque};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    Block, Chunk, Reply, Stop, Usage,
    completion::{
        Fault, StreamReader,
        partial::{EventType, PartialTool, text},
    },
    conversation::arguments,
};

/// Parses a stream, event by event.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    usage: Counts,
    stop: Option<Stop>,
    /// The tool call with arguments that are still arriving.
    tool: Option<PartialTool>,
}

#[derive(Deserialize)]
struct ReplyMessage<'a> {
    #[serde(borrow)]
    content: Vec<Content<'a>>,
    stop_reason: Option<String>,
    usage: Option<Counts>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    text: Option<String>,
    id: Option<String>,
    name: Option<String>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

/// Token counts so far; a later count of a kind replaces the earlier one.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[expect(
    clippy::struct_field_names,
    reason = "they are called what the provider calls them"
)]
struct Counts {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct Event<'a> {
    message: Option<Start>,
    #[serde(borrow)]
    content_block: Option<Content<'a>>,
    delta: Option<Delta>,
    usage: Option<Counts>,
    error: Option<ErrorBody>,
}

#[derive(Deserialize)]
struct Start {
    usage: Option<Counts>,
}

#[derive(Deserialize)]
struct Delta {
    #[serde(rename = "type")]
    kind: Option<String>,
    text: Option<String>,
    partial_json: Option<String>,
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
struct ErrorBody {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    message: String,
}

/// Parses a complete reply.
pub(crate) fn reply(body: &[u8]) -> Result<Reply, Fault> {
    let message: ReplyMessage<'_> = serde_json::from_slice(body)?;
    Ok(Reply {
        blocks: message.content.into_iter().filter_map(block).collect(),
        stop: message
            .stop_reason
            .as_deref()
            .map_or(Stop::EndTurn, Stop::from_word),
        usage: message.usage.unwrap_or_default().usage(),
    })
}

/// Converts a content block; thoughts and the like are dropped.
fn block(content: Content<'_>) -> Option<Block> {
    match &*content.kind {
        "text" => Some(Block::text(content.text.unwrap_or_default())),
        "tool_use" => Some(Block::tool_use(
            content.id?,
            content.name?,
            arguments(content.input.map(RawValue::get)),
        )),
        _ => None,
    }
}

// === impl Reader ===

impl StreamReader for Reader {
    fn read(&mut self, event: &[u8], chunks: &mut VecDeque<Chunk>) -> Result<(), Fault> {
        let EventType { kind } = serde_json::from_slice(event)?;
        let read = || serde_json::from_slice::<Event<'_>>(event);
        match &*kind {
            "message_start" => {
                if let Some(start) = read()?.message {
                    self.usage.update(start.usage.unwrap_or_default());
                }
            }
            "content_block_start" => {
                if let Some(content) = read()?.content_block {
                    self.begin(content, chunks);
                }
            }
            "content_block_delta" => {
                if let Some(delta) = read()?.delta {
                    self.go_on(delta, chunks)?;
                }
            }
            "content_block_stop" => self.end_tool(chunks),
            "message_delta" => {
                let event = read()?;
                self.usage.update(event.usage.unwrap_or_default());
                let reason = event.delta.and_then(|delta| delta.stop_reason);
                if let Some(reason) = reason {
                    self.stop = Some(Stop::from_word(&reason));
                }
            }
            "message_stop" => {
                self.end_tool(chunks);
                chunks.push_back(Chunk::End {
                    stop: self.stop.take().unwrap_or(Stop::EndTurn),
                    usage: self.usage.usage(),
                });
            }
            "error" => {
                return Err(read()?.error.map_or_else(
                    || Fault::reported(None, "error"),
                    |error| Fault::reported(status(&error.kind), error.message),
                ));
            }
            // `ping` and future types: clients must ignore them.
            _ => {}
        }
        Ok(())
    }
}

impl Reader {
    fn end_tool(&mut self, chunks: &mut VecDeque<Chunk>) {
        chunks.extend(self.tool.take().and_then(PartialTool::chunk));
    }

    fn begin(&mut self, content: Content<'_>, chunks: &mut VecDeque<Chunk>) {
        match &*content.kind {
            "text" => chunks.extend(text(content.text)),
            "tool_use" => {
                if let (Some(id), Some(name)) = (content.id, content.name) {
                    self.end_tool(chunks);
                    let tool = self.tool.insert(PartialTool::new(id, name));
                    chunks.extend(tool.start());
                }
            }
            _ => {}
        }
    }

    fn go_on(&mut self, delta: Delta, chunks: &mut VecDeque<Chunk>) -> Result<(), Fault> {
        match (delta.kind.as_deref(), &mut self.tool) {
            (Some("text_delta"), _) => chunks.extend(text(delta.text)),
            (Some("input_json_delta"), Some(tool)) => {
                tool.extend(delta.partial_json.as_deref().unwrap_or_default())?;
            }
            _ => {}
        }
        Ok(())
    }
}

// === impl Counts ===

impl Counts {
    fn update(&mut self, newer: Self) {
        self.input_tokens = newer.input_tokens.or(self.input_tokens);
        self.output_tokens = newer.output_tokens.or(self.output_tokens);
        self.cache_creation_input_tokens = newer
            .cache_creation_input_tokens
            .or(self.cache_creation_input_tokens);
        self.cache_read_input_tokens = newer
            .cache_read_input_tokens
            .or(self.cache_read_input_tokens);
    }

    fn usage(&self) -> Usage {
        Usage {
            cache_creation_input_tokens: self.cache_creation_input_tokens.unwrap_or(0),
            cache_read_input_tokens: self.cache_read_input_tokens.unwrap_or(0),
            ..Usage::reported(self.input_tokens, self.output_tokens, None)
        }
    }
}

/// Returns the status that an error has outside of a stream.
fn status(kind: &str) -> Option<u16> {
    match kind {
        "invalid_request_error" => Some(400),
        "authentication_error" => Some(401),
        "permission_error" => Some(403),
        "not_found_error" => Some(404),
        "request_too_large" => Some(413),
        "rate_limit_error" => Some(429),
        "api_error" => Some(500),
        "timeout_error" => Some(504),
        "overloaded_error" => Some(529),
        _ => None,
    }
}
