//! Chooses the reader of a document.

use crate::{Document, html, kind::Kind, markdown, marked_lines, outline::Outline};

// === impl Document ===

impl Document {
    /// Splits a text into its sections. Formats that are no text have none.
    #[must_use]
    pub fn read(kind: Kind, text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match kind {
            Kind::Markdown => markdown::read(text),
            Kind::Html => html::read(text),
            Kind::ReStructuredText => marked_lines::read_rst(text),
            Kind::AsciiDoc => marked_lines::read_asciidoc(text),
            Kind::Text => {
                let mut outline = Outline::default();
                outline.text().push_str(text);
                outline.finish()
            }
            Kind::Pdf | Kind::Docx | Kind::JsonLines => Self::default(),
        }
    }
}
