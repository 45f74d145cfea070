//! Parts of replies that several providers send alike.

use std::borrow::Cow;

use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;

use crate::{Block, Chunk, completion::Fault, conversation::arguments, http::MAX_ANSWER};

/// Type of an event. The members of ignored types may have other meanings.
#[derive(Deserialize)]
pub(super) struct EventType<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Cow<'a, str>,
}

/// A tool call with arguments that arrive in pieces.
#[derive(Debug, Default)]
pub(super) struct PartialTool {
    pub(super) id: String,
    pub(super) name: String,
    input: String,
    is_started: bool,
}

// === impl PartialTool ===

impl PartialTool {
    pub(super) fn new(id: String, name: String) -> Self {
        Self {
            id,
            name,
            ..Self::default()
        }
    }

    /// Returns the beginning of the call, once, as soon as its id and its name are known.
    pub(super) fn start(&mut self) -> Option<Chunk> {
        if self.is_started || self.id.is_empty() || self.name.is_empty() {
            return None;
        }
        self.is_started = true;
        let (id, name) = (self.id.clone(), self.name.clone());
        Some(Chunk::ToolUseStarted { id, name })
    }

    /// Appends a piece of the arguments.
    pub(super) fn extend(&mut self, piece: &str) -> Result<(), Fault> {
        if piece.len() > MAX_ANSWER - self.input.len() {
            return Err(Fault::TooLong);
        }
        self.input.push_str(piece);
        Ok(())
    }

    /// Returns the complete call; arguments that are not an object become `{}`. If they break off,
    /// because the reply reached its maximum length, there is no call.
    pub(super) fn chunk(self) -> Option<Chunk> {
        let read = serde_json::from_str::<IgnoredAny>(&self.input);
        let breaks_off = read.is_err_and(|error| error.is_eof());
        if breaks_off && !self.input.trim().is_empty() {
            return None;
        }
        let input = arguments(Some(&self.input));
        Some(Chunk::ToolUse(Block::tool_use(self.id, self.name, input)))
    }
}

/// Returns the chunks of a call that arrives whole.
pub(super) fn whole_call(id: String, name: String, input: Box<RawValue>) -> [Chunk; 2] {
    let started = Chunk::ToolUseStarted {
        id: id.clone(),
        name: name.clone(),
    };
    [started, Chunk::ToolUse(Block::tool_use(id, name, input))]
}

/// Returns a text as a chunk, unless it is empty.
pub(super) fn text(text: Option<String>) -> Option<Chunk> {
    text.filter(|text| !text.is_empty()).map(Chunk::Text)
}
