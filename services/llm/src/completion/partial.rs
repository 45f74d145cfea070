//! Parts of replies that several providers send alike.

use std::borrow::Cow;

use serde::Deserialize;

use super::Fault;
use ziggurat_text::events::MAX_BYTES;

use crate::{Block, Chunk, conversation::arguments};

/// Type of an event. The members of ignored types may have other meanings.
#[derive(Deserialize)]
pub(super) struct EventType<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Cow<'a, str>,
}

/// A tool call whose arguments arrive in pieces.
#[derive(Debug, Default)]
pub(super) struct PartialTool {
    pub(super) id: String,
    pub(super) name: String,
    input: String,
}

// === impl PartialTool ===

impl PartialTool {
    pub(super) fn new(id: String, name: String) -> Self {
        let input = String::new();
        Self { id, name, input }
    }

    /// Appends a piece of the arguments.
    pub(super) fn extend(&mut self, piece: &str) -> Result<(), Fault> {
        if piece.len() > MAX_BYTES - self.input.len() {
            return Err(Fault::TooLong);
        }
        self.input.push_str(piece);
        Ok(())
    }

    /// Returns the complete call; arguments that are not an object become `{}`.
    pub(super) fn chunk(self) -> Chunk {
        let input = arguments(Some(&self.input));
        Chunk::ToolUse(Block::tool_use(self.id, self.name, input))
    }
}

/// Returns a text as a chunk, unless it is empty.
pub(super) fn text(text: Option<String>) -> Option<Chunk> {
    text.filter(|text| !text.is_empty()).map(Chunk::Text)
}
