//! Documents: a title, metadata, and texts under headings.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A document, split into sections.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// Its title, if it has one itself.
    pub title: Option<String>,
    /// Keys and values of its front matter.
    #[serde(default)]
    pub metadata: Map<String, Value>,
    /// Its sections, in their order.
    pub sections: Vec<Section>,
}

/// Text under one heading.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    /// The heading, after those above it; `None` at the beginning of a document.
    pub heading: Option<String>,
    /// Its parts, in their order.
    pub blocks: Vec<Block>,
}

/// Part of a section.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Its text, which is not empty.
    pub text: String,
    /// True for a table or code, which mean nothing in pieces.
    pub is_whole: bool,
}

// === impl Section ===

impl Section {
    /// Returns its whole text.
    #[must_use]
    pub fn text(&self) -> String {
        let texts: Vec<_> = self.blocks.iter().map(|block| &*block.text).collect();
        texts.join("\n\n")
    }
}
