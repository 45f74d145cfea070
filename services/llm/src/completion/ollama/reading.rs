//! Parses responses of Ollama.

use std::collections::VecDeque;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    Chunk, Reply, Stop, Usage,
    completion::{Fault, StreamReader, ollama::think::ThoughtFilter, partial::whole_call},
    conversation::{arguments, new_id},
};

/// Parses a stream, line by line.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    thoughts: ThoughtFilter,
    has_tools: bool,
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    message: Option<MessageBody<'a>>,
    #[serde(default)]
    done: bool,
    done_reason: Option<String>,
    prompt_eval_count: Option<u64>,
    eval_count: Option<u64>,
    error: Option<String>,
}

#[derive(Deserialize)]
struct MessageBody<'a> {
    content: Option<String>,
    #[serde(borrow)]
    tool_calls: Option<Vec<Call<'a>>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    function: Function<'a>,
}

#[derive(Deserialize)]
struct Function<'a> {
    name: String,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

/// Parses a complete reply.
pub(crate) fn reply(body: &[u8]) -> Result<Reply, Fault> {
    let mut reader = Reader::default();
    let mut chunks = VecDeque::new();
    reader.read(body, &mut chunks)?;
    if !matches!(chunks.back(), Some(Chunk::End { .. })) {
        return Err(Fault::Incomplete);
    }
    Ok(Reply::of(chunks))
}

// === impl Reader ===

impl StreamReader for Reader {
    fn read(&mut self, line: &[u8], chunks: &mut VecDeque<Chunk>) -> Result<(), Fault> {
        let line: Line<'_> = serde_json::from_slice(line)?;
        if let Some(error) = line.error {
            return Err(Fault::reported(None, error));
        }
        if let Some(message) = line.message {
            let text = message
                .content
                .and_then(|text| self.thoughts.drop_from(text));
            chunks.extend(text.map(Chunk::Text));
            for call in message.tool_calls.into_iter().flatten() {
                self.has_tools = true;
                chunks.extend(call.chunks());
            }
        }
        if !line.done {
            return Ok(());
        }
        chunks.extend(self.thoughts.finish().map(Chunk::Text));
        chunks.push_back(Chunk::End {
            stop: if self.has_tools {
                Stop::ToolUse
            } else {
                line.done_reason.as_deref().map_or(Stop::EndTurn, stop)
            },
            usage: Usage::reported(line.prompt_eval_count, line.eval_count, None),
        });
        Ok(())
    }
}

// === impl Call ===

impl Call<'_> {
    fn chunks(self) -> [Chunk; 2] {
        let Function { name, arguments } = self.function;
        let arguments = self::arguments(arguments.map(RawValue::get));
        // Ids of Ollama, if present, are only unique within one reply.
        whole_call(new_id(), name, arguments)
    }
}

fn stop(reason: &str) -> Stop {
    match reason {
        "stop" => Stop::EndTurn,
        "length" => Stop::MaxTokens,
        _ => Stop::Other(reason.to_owned()),
    }
}
