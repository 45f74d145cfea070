//! A use of a tool that comes in pieces.

use super::Fault;
use crate::{
    Block, Chunk,
    conversation::{no_input, object},
    sse::MAX_BYTES,
};

/// A use of a tool whose arguments come in pieces.
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

    /// Takes in more of the arguments.
    pub(super) fn extend(&mut self, piece: &str) -> Result<(), Fault> {
        if piece.len() > MAX_BYTES - self.input.len() {
            return Err(Fault::TooLong);
        }
        self.input.push_str(piece);
        Ok(())
    }

    /// All of it; arguments that are no object are none.
    pub(super) fn chunk(self) -> Chunk {
        let input = object(&self.input).unwrap_or_else(no_input);
        Chunk::ToolUse(Block::tool_use(self.id, self.name, input))
    }
}
