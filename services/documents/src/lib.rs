//! Reads documents, and splits them into passages that fit a model.
//!
//! [`Document::read`] turns the text of a file into a title, metadata and sections under headings,
//! and a [`Splitter`] turns those into passages. [`FoundDocuments`] lists the documents of folders,
//! and [`JsonLines`] reads documents that are lines of one file. There is no network, no database
//! and no model here.
//!
//! ```
//! use ziggurat_documents::{Document, Kind, Splitter};
//!
//! let text = "# Manual\n\n## Beds\n\nSoil is loam.\n";
//! let document = Document::read(Kind::Markdown, text);
//! assert_eq!(document.title.as_deref(), Some("Manual"));
//! let passages = Splitter::default().passages(&document);
//! assert_eq!(passages[0].heading, Some("Beds"));
//! assert_eq!(passages[0].text, "Soil is loam.");
//! ```
//!
//! Documents come from strangers: every reader takes time and memory in proportion to the text,
//! and none fails on it.

mod document;
mod file;
mod folders;
mod html;
mod json_lines;
mod kind;
mod markdown;
mod marked_lines;
mod outline;
#[cfg(feature = "packed")]
mod packed;
mod paragraph;
mod read;
mod splitter;

#[cfg(feature = "packed")]
pub use self::packed::{MAX_PACKED, UnpackError, Unpacked, unpack};
pub use self::{
    document::{Block, Document, Section},
    file::{Checksum, ReadError, read_file},
    folders::{FolderError, FoundDocuments, Root, Roots, Source},
    json_lines::{JsonLines, Line, Record},
    kind::Kind,
    splitter::{Passage, Splitter, in_context},
};
