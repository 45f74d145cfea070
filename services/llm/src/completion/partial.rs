//! Tool calls that arrive in pieces.

use super::Fault;
use crate::{
    Block, Chunk,
    conversation::{no_input, object},
    sse::MAX_BYTES,
};

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
        let input = object(&self.input).unwrap_or_else(no_input);
        Chunk::ToolUse(Block::tool_use(self.id, self.name, input))
    }
}
