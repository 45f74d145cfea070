//! Requests to `/responses`, and its replies.

use std::{borrow::Cow, collections::VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{
    Block, Chunk, Error, MAX_TOKENS, Message, Prompt, Reply, Request, Role, Stop, Usage,
    completion::{
        Fault, StreamReader,
        openai::{
            Format, chat,
            reading::{ErrorBody, MAX_TOOLS},
        },
        partial::{EventType, PartialTool, text},
    },
    conversation::{arguments, new_id},
};

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    input: Vec<Item<'a>>,
    max_output_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    /// Always `false`, so that the provider stores nothing.
    store: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stream: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    Message {
        role: &'static str,
        content: [Content<'a>; 1],
    },
    FunctionCall {
        call_id: &'a str,
        name: &'a str,
        arguments: &'a str,
    },
    FunctionCallOutput {
        call_id: &'a str,
        output: Cow<'a, str>,
    },
}

#[derive(Serialize)]
struct Content<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a RawValue,
    /// Always `false`, because strict mode has requirements that tool schemas need not meet.
    strict: bool,
}

/// Parses a stream, event by event.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    has_tools: bool,
    /// Ids of the calls that have begun and are not complete.
    begun: Vec<String>,
}

#[derive(Deserialize)]
struct Event {
    delta: Option<String>,
    item: Option<Output>,
    response: Option<Response>,
    error: Option<ErrorBody>,
    // Members of an `error` event.
    message: Option<String>,
}

#[derive(Default, Deserialize)]
struct Response {
    #[serde(default)]
    output: Vec<Output>,
    usage: Option<Counts>,
    error: Option<ErrorBody>,
    incomplete_details: Option<Incomplete>,
}

#[derive(Deserialize)]
struct Incomplete {
    reason: Option<String>,
}

#[derive(Deserialize)]
struct Output {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    content: Vec<OutputContent>,
    call_id: Option<String>,
    name: Option<String>,
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct OutputContent {
    text: Option<String>,
    refusal: Option<String>,
}

#[derive(Deserialize)]
#[expect(
    clippy::struct_field_names,
    reason = "they are called what the provider calls them"
)]
struct Counts {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    total_tokens: Option<u64>,
}

pub(super) fn request(
    model: &str,
    format: Format,
    prompt: &Prompt,
    stream: bool,
) -> Result<Request, Error> {
    let body = Body {
        model,
        instructions: &prompt.system,
        input: prompt.messages.iter().flat_map(items).collect(),
        max_output_tokens: prompt.max_tokens.unwrap_or(MAX_TOKENS),
        temperature: prompt.temperature.filter(|_| format.has_temperature()),
        tools: prompt
            .tools
            .iter()
            .map(|tool| Tool {
                kind: "function",
                name: &tool.name,
                description: &tool.description,
                parameters: &tool.schema,
                strict: false,
            })
            .collect(),
        store: false,
        stream,
    };
    Request::post(&["responses"], &body)
}

fn items(message: &Message) -> impl Iterator<Item = Item<'_>> {
    message.blocks.iter().map(|block| match block {
        Block::Text { text, .. } => Item::Message {
            role: message.role.as_str(),
            content: [Content {
                kind: match message.role {
                    Role::User => "input_text",
                    Role::Assistant => "output_text",
                },
                text,
            }],
        },
        Block::ToolUse {
            id, name, input, ..
        } => Item::FunctionCall {
            call_id: id,
            name,
            arguments: input.get(),
        },
        Block::ToolResult {
            tool_use_id,
            content,
            ..
        } => Item::FunctionCallOutput {
            call_id: tool_use_id,
            output: chat::result(content),
        },
    })
}

pub(super) fn reply(body: &[u8]) -> Result<Reply, Fault> {
    let response: Response = serde_json::from_slice(body)?;
    if let Some(error) = response.error {
        return Err(error.into());
    }
    let stop = response.stop();
    let usage = response.usage.map(Counts::usage).unwrap_or_default();
    let mut blocks = Vec::new();
    for output in response.output {
        output.blocks(&mut blocks);
    }
    if blocks.is_empty() && stop == Stop::EndTurn {
        return Err(Fault::NoChoices);
    }
    let has_tools = blocks.iter().any(|b| matches!(b, Block::ToolUse { .. }));
    let stop = if has_tools { Stop::ToolUse } else { stop };
    Ok(Reply {
        blocks,
        stop,
        usage,
    })
}

// === impl Reader ===

impl StreamReader for Reader {
    fn read(&mut self, event: &[u8], chunks: &mut VecDeque<Chunk>) -> Result<(), Fault> {
        let EventType { kind } = serde_json::from_slice(event)?;
        let read = || serde_json::from_slice::<Event>(event);
        match &*kind {
            "response.output_text.delta" | "response.refusal.delta" => {
                chunks.extend(text(read()?.delta));
            }
            "response.output_item.added" => {
                // Only the beginning of a call is of use; the item comes again when it is done.
                let item = read().ok().and_then(|event| event.item);
                if let Some(call) = item.filter(Output::is_call) {
                    self.begin(call, chunks)?;
                }
            }
            "response.output_item.done" => {
                if let Some(call) = read()?.item.filter(Output::is_call) {
                    self.end(call, chunks)?;
                }
            }
            "response.completed" | "response.incomplete" => {
                let response = read()?.response.unwrap_or_default();
                let stop = if self.has_tools {
                    Stop::ToolUse
                } else {
                    response.stop()
                };
                let usage = response.usage.map(Counts::usage).unwrap_or_default();
                chunks.push_back(Chunk::End { stop, usage });
            }
            "response.failed" => {
                let error = read()?.response.and_then(|response| response.error);
                return Err(error.map_or_else(|| Fault::reported(None, "failed"), Fault::from));
            }
            "error" => {
                let event = read()?;
                let told = Fault::reported(None, event.message.unwrap_or_default());
                return Err(event.error.map_or(told, Fault::from));
            }
            _ => {}
        }
        Ok(())
    }
}

impl Reader {
    fn begin(&mut self, call: Output, chunks: &mut VecDeque<Chunk>) -> Result<(), Fault> {
        let (id, name) = (call.call_id, call.name);
        let mut begun = PartialTool::new(id.unwrap_or_default(), name.unwrap_or_default());
        if let Some(started) = begun.start() {
            if self.begun.len() == MAX_TOOLS {
                return Err(Fault::TooLong);
            }
            self.begun.push(begun.id);
            chunks.push_back(started);
        }
        Ok(())
    }

    /// Adds a call that is complete: the event has all of it.
    fn end(&mut self, call: Output, chunks: &mut VecDeque<Chunk>) -> Result<(), Fault> {
        let Some(name) = call.name else {
            return Ok(());
        };
        let id = call.call_id.unwrap_or_else(new_id);
        let mut tool = PartialTool::new(id, name);
        match self.begun.iter().position(|begun| *begun == tool.id) {
            Some(at) => drop(self.begun.swap_remove(at)),
            None => chunks.extend(tool.start()),
        }
        tool.extend(&call.arguments.unwrap_or_default())?;
        let call = tool.chunk();
        self.has_tools |= call.is_some();
        chunks.extend(call);
        Ok(())
    }
}

// === impl Response ===

impl Response {
    fn stop(&self) -> Stop {
        let details = self.incomplete_details.as_ref();
        match details.and_then(|details| details.reason.as_deref()) {
            None => Stop::EndTurn,
            Some("max_output_tokens") => Stop::MaxTokens,
            Some("content_filter") => Stop::Filtered,
            Some(other) => Stop::Other(other.to_owned()),
        }
    }
}

// === impl Output ===

impl Output {
    fn is_call(&self) -> bool {
        self.kind == "function_call"
    }

    fn blocks(self, blocks: &mut Vec<Block>) {
        match self.kind.as_str() {
            "message" => {
                let texts = self.content.into_iter();
                let texts = texts.filter_map(|content| content.text.or(content.refusal));
                blocks.extend(texts.map(Block::text));
            }
            "function_call" => blocks.extend(self.call()),
            _ => {}
        }
    }

    fn call(self) -> Option<Block> {
        let input = arguments(self.arguments.as_deref());
        let id = self.call_id.unwrap_or_else(new_id);
        Some(Block::tool_use(id, self.name?, input))
    }
}

// === impl Counts ===

impl Counts {
    fn usage(self) -> Usage {
        Usage::reported(self.input_tokens, self.output_tokens, self.total_tokens)
    }
}
