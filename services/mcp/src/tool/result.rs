//! What a tool has to say when it succeeds.

use std::fmt;

use futures_util::{Stream, TryStreamExt as _};
use serde_json::Value;

use crate::{Block, Reported, Structure, Text, body::Pieces};

/// What a tool has to say when it succeeds: text, whole or as it comes, and for programs a
/// structure.
#[must_use]
pub struct ToolResult {
    pub(crate) content: Content,
    pub(crate) structure: Option<Structure>,
}

/// A part of a result that is sent as it comes.
#[derive(Debug)]
#[non_exhaustive]
pub enum Piece {
    /// More of the text.
    Text(Text),
    /// The structure; it comes last, behind all text.
    Structure(Structure),
}

pub(crate) enum Content {
    Whole(Text),
    Streamed(Pieces),
    Blocks(Vec<Block>),
    /// The members of the result, all of them.
    Asked(Value),
}

// === impl ToolResult ===

impl ToolResult {
    /// A text that is there.
    pub fn text(text: impl Into<Text>) -> Self {
        Self::of(Content::Whole(text.into()))
    }

    /// Parts of several kinds. Clients of revision 2024-11-05 to the letter are told to come
    /// back with a newer one.
    pub fn blocks(blocks: impl IntoIterator<Item = Block>) -> Self {
        Self::of(Content::Blocks(blocks.into_iter().collect()))
    }

    /// A text that is sent as it comes, one frame per piece; some kilobytes make a good one.
    ///
    /// A stream that fails before its first text makes a result that is an error and says what
    /// it [`Reported`], like [`ToolError::Reported`](crate::ToolError::Reported). One that
    /// fails later has that appended to its text, behind a blank line, and the result is an error
    /// all the same: `isError` is its last member. Either way the stream ends there, and the
    /// client reads valid JSON.
    ///
    /// A result that is to have a [`Structure`] is a stream of [pieces](Piece).
    pub fn stream<P>(pieces: impl Stream<Item = Result<P, Reported>> + Send + 'static) -> Self
    where
        P: Into<Piece> + 'static,
    {
        Self::of(Content::Streamed(Box::pin(pieces.map_ok(Into::into))))
    }

    /// Adds what a program reads, if it is wanted. A stream brings its own.
    pub fn with_structure(mut self, structure: Option<Structure>) -> Self {
        self.structure = structure;
        self
    }

    pub(crate) fn of(content: Content) -> Self {
        Self {
            content,
            structure: None,
        }
    }
}

impl fmt::Debug for ToolResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolResult").finish_non_exhaustive()
    }
}

// === impl Piece ===

impl From<Text> for Piece {
    fn from(text: Text) -> Self {
        Self::Text(text)
    }
}

impl From<Structure> for Piece {
    fn from(structure: Structure) -> Self {
        Self::Structure(structure)
    }
}
