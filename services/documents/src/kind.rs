//! Formats of documents.

use std::path::Path;

/// Format of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Markdown, with or without front matter.
    Markdown,
    /// HTML.
    Html,
    /// Plain text.
    Text,
    /// reStructuredText, read as text with headings.
    ReStructuredText,
    /// AsciiDoc, read as text with headings.
    AsciiDoc,
    /// PDF.
    Pdf,
    /// A text of Word.
    Docx,
    /// A document on each line.
    JsonLines,
}

// === impl Kind ===

impl Kind {
    /// Determines the format from the file name; `None` for other files.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match &*extension {
            "md" | "markdown" => Self::Markdown,
            "html" | "htm" | "xhtml" => Self::Html,
            "txt" | "text" => Self::Text,
            "rst" | "rest" => Self::ReStructuredText,
            "adoc" | "asciidoc" | "asc" => Self::AsciiDoc,
            "pdf" => Self::Pdf,
            "docx" => Self::Docx,
            "jsonl" | "ndjson" => Self::JsonLines,
            _ => return None,
        })
    }

    /// Returns its name in files and messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::Html => "html",
            Self::Text => "text",
            Self::ReStructuredText => "rst",
            Self::AsciiDoc => "asciidoc",
            Self::Pdf => "pdf",
            Self::Docx => "docx",
            Self::JsonLines => "jsonl",
        }
    }

    /// Returns whether its files are texts, each of one document.
    #[must_use]
    pub fn is_text(self) -> bool {
        !matches!(self, Self::Pdf | Self::Docx | Self::JsonLines)
    }
}
