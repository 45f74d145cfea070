//! The result of a tool that succeeds.

use std::fmt;

use futures_util::{Stream, TryStreamExt as _};
use serde_json::Value;

use crate::{Block, Reported, Structure, Text, body::Pieces};

/// The result of a tool that succeeds: text, complete or streamed, and for programs a structure.
#[must_use]
pub struct ToolResult {
    pub(crate) content: Content,
    pub(crate) structure: Option<Structure>,
}

/// A part of a streamed result.
#[derive(Debug)]
#[non_exhaustive]
pub enum Piece {
    /// More of the text.
    Text(Text),
    /// The structure; it comes last, after all text.
    Structure(Structure),
}

pub(crate) enum Content {
    Whole(Text),
    Streamed(Pieces),
    /// Texts in a result that says that it is not an error.
    Texts(Vec<String>),
    Blocks(Vec<Block>),
    /// Questions to the client: all members of the result.
    Questions(Value),
}

// === impl ToolResult ===

impl ToolResult {
    /// Makes a result from a complete text.
    pub fn text(text: impl Into<Text>) -> Self {
        Self::of(Content::Whole(text.into()))
    }

    /// Makes a result from several texts, each an item of its own, with `isError: false`. Clients of
    /// all revisions can read it.
    pub fn texts(texts: impl IntoIterator<Item = String>) -> Self {
        Self::of(Content::Texts(texts.into_iter().collect()))
    }

    /// Makes a result from blocks of several kinds. Clients that negotiate no revision get an error
    /// that they need a newer one.
    pub fn blocks(blocks: impl IntoIterator<Item = Block>) -> Self {
        Self::of(Content::Blocks(blocks.into_iter().collect()))
    }

    /// Makes a result from a stream of text, one frame per piece; a piece should have some
    /// kilobytes.
    ///
    /// A stream that fails before its first text makes a result that is an error with the text of
    /// the [`Reported`], like [`Error::Reported`](crate::Error::Reported). One that fails
    /// later has that appended to its text, after a blank line, and the result is an error as well:
    /// `isError` is its last member. In both cases the stream ends there, and the client reads
    /// valid JSON.
    ///
    /// A result with a [`Structure`] is a stream of [pieces](Piece).
    pub fn stream<P>(pieces: impl Stream<Item = Result<P, Reported>> + Send + 'static) -> Self
    where
        P: Into<Piece> + 'static,
    {
        Self::of(Content::Streamed(Box::pin(pieces.map_ok(Into::into))))
    }

    /// Adds the structure for programs, if there is one. A stream contains its own.
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
