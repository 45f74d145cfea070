//! Parses responses of Gemini.

use std::collections::VecDeque;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    Chunk, Reply, Stop, Usage,
    completion::{
        Fault, StreamReader,
        gemini::SEPARATOR,
        partial::{text, whole_call},
    },
    conversation::{arguments, new_id},
};

/// Parses a stream, item by item.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    usage: Usage,
    stop: Option<Stop>,
    has_tools: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Item<'a> {
    #[serde(borrow)]
    candidates: Option<Vec<Candidate<'a>>>,
    usage_metadata: Option<Counts>,
    prompt_feedback: Option<Feedback>,
    error: Option<ErrorBody>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(borrow)]
    content: Option<Content<'a>>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    parts: Option<Vec<Part<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    text: Option<String>,
    #[serde(default)]
    thought: bool,
    thought_signature: Option<String>,
    #[serde(borrow)]
    function_call: Option<Call<'a>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    name: String,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::struct_field_names,
    reason = "they are called what the provider calls them"
)]
struct Counts {
    prompt_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
    total_token_count: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
}

#[derive(Deserialize)]
struct ErrorBody {
    code: Option<u16>,
    #[serde(default)]
    message: String,
}

/// Parses a complete reply.
pub(crate) fn reply(body: &[u8]) -> Result<Reply, Fault> {
    let mut reader = Reader::default();
    let mut chunks = VecDeque::new();
    if !reader.take(body, &mut chunks)? {
        return Err(Fault::NoChoices);
    }
    // A complete response may lack the reason.
    reader.stop.get_or_insert(Stop::EndTurn);
    reader.finish(&mut chunks);
    Ok(Reply::of(chunks))
}

// === impl Reader ===

impl StreamReader for Reader {
    fn read(&mut self, event: &[u8], chunks: &mut VecDeque<Chunk>) -> Result<(), Fault> {
        self.take(event, chunks).map(drop)
    }

    fn finish(&mut self, chunks: &mut VecDeque<Chunk>) {
        if let Some(stop) = self.stop.take() {
            let usage = self.usage;
            let stop = if self.has_tools { Stop::ToolUse } else { stop };
            chunks.push_back(Chunk::End { stop, usage });
        }
    }
}

impl Reader {
    /// Parses an item; returns whether there was a candidate.
    fn take(&mut self, item: &[u8], chunks: &mut VecDeque<Chunk>) -> Result<bool, Fault> {
        let item: Item<'_> = serde_json::from_slice(item)?;
        if let Some(error) = item.error {
            return Err(Fault::reported(error.code, error.message));
        }
        if let Some(counts) = item.usage_metadata {
            self.usage = counts.usage();
        }
        let candidate = item.candidates.into_iter().flatten().next();
        let Some(candidate) = candidate else {
            let feedback = item.prompt_feedback;
            return match feedback.and_then(|feedback| feedback.block_reason) {
                Some(reason) => {
                    let message = format!("the prompt was blocked: {reason}");
                    Err(Fault::reported(None, message))
                }
                None => Ok(false),
            };
        };
        let parts = candidate.content.and_then(|content| content.parts);
        for part in parts.into_iter().flatten() {
            self.has_tools |= part.add_to(chunks);
        }
        if let Some(reason) = candidate.finish_reason {
            self.stop = Some(stop(&reason));
        }
        Ok(true)
    }
}

// === impl Part ===

impl Part<'_> {
    /// Adds its text or its call, and returns whether it was a call. Thoughts are dropped.
    fn add_to(self, chunks: &mut VecDeque<Chunk>) -> bool {
        if self.thought {
            return false;
        }
        let Some(call) = self.function_call else {
            chunks.extend(text(self.text));
            return false;
        };
        let mut id = new_id();
        // Gemini rejects the next request without the signature, and clients return only the id.
        if let Some(signature) = self.thought_signature {
            id.push(SEPARATOR);
            id.push_str(&signature);
        }
        let args = arguments(call.args.map(RawValue::get));
        chunks.extend(whole_call(id, call.name, args));
        true
    }
}

// === impl Counts ===

impl Counts {
    fn usage(self) -> Usage {
        let answered = self.candidates_token_count.unwrap_or(0);
        let thought = self.thoughts_token_count.unwrap_or(0);
        Usage::reported(
            self.prompt_token_count,
            Some(answered.saturating_add(thought)),
            self.total_token_count,
        )
    }
}

fn stop(reason: &str) -> Stop {
    match reason {
        "STOP" => Stop::EndTurn,
        "MAX_TOKENS" => Stop::MaxTokens,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" => Stop::Filtered,
        _ => Stop::Other(reason.to_owned()),
    }
}
