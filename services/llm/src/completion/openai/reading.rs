//! Parses responses of `/chat/completions`.

use std::{collections::VecDeque, mem};

use serde::Deserialize;

use crate::{
    Block, Chunk, Reply, Stop, Usage,
    completion::{
        Fault, StreamReader,
        partial::{PartialTool, text},
    },
    conversation::{arguments, new_id},
};

/// Maximum number of tool calls in one reply.
pub(super) const MAX_TOOLS: usize = 256;

/// Data that marks the end of a stream.
const DONE: &[u8] = b"[DONE]";

/// Parses a stream, event by event.
#[derive(Debug, Default)]
pub(super) struct Reader {
    usage: Usage,
    stop: Option<Stop>,
    tools: Vec<(Option<u64>, PartialTool)>,
}

#[derive(Deserialize)]
struct Completion {
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<Counts>,
    error: Option<ErrorBody>,
}

#[derive(Deserialize)]
struct Choice {
    message: Option<MessageBody>,
    delta: Option<MessageBody>,
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
struct MessageBody {
    content: Option<Content>,
    /// Text in place of a reply.
    refusal: Option<String>,
    tool_calls: Option<Vec<Call>>,
}

/// Some servers send the content in parts.
#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
    text: Option<String>,
}

#[derive(Deserialize)]
struct Call {
    index: Option<u64>,
    id: Option<String>,
    function: Option<Function>,
}

#[derive(Deserialize)]
struct Function {
    name: Option<String>,
    arguments: Option<String>,
}

#[derive(Deserialize)]
#[expect(
    clippy::struct_field_names,
    reason = "they are called what the provider calls them"
)]
struct Counts {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    total_tokens: Option<u64>,
}

/// An error. Compatible servers use several formats.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum ErrorBody {
    Full {
        message: Option<String>,
        #[serde(rename = "type")]
        kind: Option<String>,
        code: Option<Code>,
    },
    Text(String),
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Code {
    Number(u16),
    Word(String),
}

pub(super) fn reply(body: &[u8]) -> Result<Reply, Fault> {
    let completion: Completion = serde_json::from_slice(body)?;
    if let Some(error) = completion.error {
        return Err(error.into());
    }
    let choice = completion.choices.into_iter().next();
    let choice = choice.ok_or(Fault::NoChoices)?;
    let message = choice.message.unwrap_or_default();
    let refused = message.refusal.filter(|text| !text.is_empty());
    let is_refused = refused.is_some();
    let text = message.content.map(Content::into_text);
    let text = text.filter(|text| !text.is_empty()).or(refused);
    let mut blocks: Vec<_> = text.map(Block::text).into_iter().collect();
    let calls = message.tool_calls.unwrap_or_default();
    let has_calls = !calls.is_empty();
    blocks.extend(calls.into_iter().filter_map(Call::block));
    Ok(Reply {
        blocks,
        stop: if has_calls {
            Stop::ToolUse
        } else if is_refused {
            Stop::Filtered
        } else {
            choice.finish_reason.as_deref().map_or(Stop::EndTurn, stop)
        },
        usage: completion.usage.map(Counts::usage).unwrap_or_default(),
    })
}

// === impl Reader ===

impl StreamReader for Reader {
    fn read(&mut self, event: &[u8], chunks: &mut VecDeque<Chunk>) -> Result<(), Fault> {
        if event.trim_ascii() == DONE {
            self.end(chunks);
            return Ok(());
        }
        let completion: Completion = serde_json::from_slice(event)?;
        if let Some(error) = completion.error {
            return Err(error.into());
        }
        if let Some(counts) = completion.usage {
            self.usage = counts.usage();
        }
        let Some(choice) = completion.choices.into_iter().next() else {
            return Ok(());
        };
        if let Some(message) = choice.delta {
            let texts = [message.content.map(Content::into_text), message.refusal];
            chunks.extend(texts.into_iter().filter_map(text));
            for call in message.tool_calls.unwrap_or_default() {
                chunks.extend(self.call(call)?);
            }
        }
        if let Some(reason) = choice.finish_reason {
            self.stop = Some(stop(&reason));
        }
        Ok(())
    }

    /// Some servers send no end marker after the stop reason.
    fn finish(&mut self, chunks: &mut VecDeque<Chunk>) {
        if self.stop.is_some() {
            self.end(chunks);
        }
    }
}

impl Reader {
    /// Adds a piece of a call. Returns the beginning of the call once it is known.
    fn call(&mut self, call: Call) -> Result<Option<Chunk>, Fault> {
        let id = call.id.unwrap_or_default();
        let continues = |(index, tool): &(Option<u64>, PartialTool)| {
            *index == call.index && (id.is_empty() || tool.id.is_empty() || tool.id == id)
        };
        // The last call with the index, because some servers give all calls the same one.
        let at = self.tools.iter().rposition(continues);
        let at = at.unwrap_or(self.tools.len());
        if at == MAX_TOOLS {
            return Err(Fault::TooLong);
        }
        if at == self.tools.len() {
            self.tools.push((call.index, PartialTool::default()));
        }
        let (_, place) = &mut self.tools[at];
        if place.id.is_empty() {
            place.id = id;
        }
        if let Some(function) = call.function {
            if place.name.is_empty() {
                place.name = function.name.unwrap_or_default();
            }
            place.extend(function.arguments.as_deref().unwrap_or_default())?;
        }
        Ok(place.start())
    }

    fn end(&mut self, chunks: &mut VecDeque<Chunk>) {
        let mut stop = self.stop.take().unwrap_or(Stop::EndTurn);
        for (_, mut tool) in mem::take(&mut self.tools) {
            if tool.id.is_empty() {
                tool.id = new_id();
            }
            if tool.name.is_empty() {
                // No tool can be called by it.
                continue;
            }
            chunks.extend(tool.start());
            if let Some(call) = tool.chunk() {
                stop = Stop::ToolUse;
                chunks.push_back(call);
            }
        }
        let usage = self.usage;
        chunks.push_back(Chunk::End { stop, usage });
    }
}

// === impl Content ===

impl Content {
    fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Parts(parts) => parts.into_iter().filter_map(|part| part.text).collect(),
        }
    }
}

// === impl Call ===

impl Call {
    fn block(self) -> Option<Block> {
        let function = self.function?;
        let id = self.id.filter(|id| !id.is_empty());
        let input = arguments(function.arguments.as_deref());
        Some(Block::tool_use(
            id.unwrap_or_else(new_id),
            function.name?,
            input,
        ))
    }
}

// === impl Counts ===

impl Counts {
    fn usage(self) -> Usage {
        Usage::reported(
            self.prompt_tokens,
            self.completion_tokens,
            self.total_tokens,
        )
    }
}

// === impl ErrorBody ===

impl From<ErrorBody> for Fault {
    fn from(error: ErrorBody) -> Self {
        match error {
            ErrorBody::Full {
                message,
                kind,
                code,
            } => {
                let status = match code {
                    Some(Code::Number(number)) => Some(number),
                    Some(Code::Word(word)) => status(&word),
                    None => None,
                };
                let status = status.or_else(|| kind.as_deref().and_then(self::status));
                Self::reported(status, message.unwrap_or_default())
            }
            ErrorBody::Text(message) => Self::reported(None, message),
        }
    }
}

fn stop(reason: &str) -> Stop {
    match reason {
        "stop" => Stop::EndTurn,
        "tool_calls" | "function_call" => Stop::ToolUse,
        "length" => Stop::MaxTokens,
        "content_filter" => Stop::Filtered,
        _ => Stop::Other(reason.to_owned()),
    }
}

/// Returns the status that an error of this type or code has outside of a stream.
fn status(word: &str) -> Option<u16> {
    match word {
        "invalid_request_error" => Some(400),
        "invalid_api_key" | "authentication_error" => Some(401),
        "permission_error" => Some(403),
        "rate_limit_exceeded" | "rate_limit_error" | "insufficient_quota" => Some(429),
        "server_error" => Some(500),
        _ => None,
    }
}
