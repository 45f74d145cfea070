//! Splits documents into a title, and texts under headings.

mod html;
mod markdown;
mod outline;

use std::path::Path;

use self::outline::Outline;

/// Format of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Markdown,
    Html,
    Text,
}

/// A document, split into sections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Document {
    pub(super) title: Option<String>,
    pub(super) sections: Vec<Section>,
}

/// Text under one heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Section {
    /// The heading, after those above it; `None` at the beginning of a document.
    pub(super) heading: Option<String>,
    pub(super) text: String,
}

// === impl Kind ===

impl Kind {
    /// Determines the format from the file name; `None` for other files.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match &*extension {
            "md" | "markdown" => Self::Markdown,
            "html" | "htm" | "xhtml" => Self::Html,
            "txt" | "text" => Self::Text,
            _ => return None,
        })
    }

    /// Returns its name in the file.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::Html => "html",
            Self::Text => "text",
        }
    }
}

// === impl Document ===

impl Document {
    /// Splits a text into its sections.
    pub(super) fn read(kind: Kind, text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match kind {
            Kind::Markdown => markdown::read(text),
            Kind::Html => html::read(text),
            Kind::Text => {
                let mut outline = Outline::default();
                outline.text().push_str(text);
                outline.finish()
            }
        }
    }
}
