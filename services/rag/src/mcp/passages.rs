//! Passages in a result: between the lines of a fence, and within the limit on its tokens.

use rand::rngs::SysError;
use serde::Serialize;
use ziggurat_mcp::{Property, Schema};
use ziggurat_search::sentences;
use ziggurat_text::hidden;

use crate::{
    citations::bounded,
    pipeline::prompt::{Nonce, in_header, quoted},
    retrieval::{Passage, Retriever},
};

/// Limit on a title or an address, in characters.
const MAX_LABEL: usize = 300;

/// Part of a passage that is worth to be shown, in bytes.
const WORTH_CUTTING: usize = 400;

/// Bytes that are left for the lines around the passages.
const FRAME: usize = 400;

/// A passage in a result.
#[derive(Debug, Serialize)]
pub(super) struct ShownPassage {
    number: usize,
    #[serde(flatten)]
    source: SourceLabel,
    score: f64,
    /// The text between the lines of a fence.
    text: String,
}

/// The origin of a passage.
#[derive(Debug, Serialize)]
pub(super) struct SourceLabel {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

/// The passages of a result, and its text.
#[derive(Debug)]
pub(super) struct ShownPassages {
    pub(super) text: String,
    pub(super) passages: Vec<ShownPassage>,
    /// Number of passages that did not fit.
    pub(super) left: usize,
}

// === impl SourceLabel ===

impl SourceLabel {
    pub(super) fn of(passage: &Passage, retriever: &Retriever) -> Self {
        Self::new(
            retriever.name_of(passage),
            passage.title.as_deref(),
            passage.url.as_deref(),
        )
    }

    pub(super) fn new(id: Option<String>, title: Option<&str>, url: Option<&str>) -> Self {
        let shown = |text: &str| bounded(hidden::escaped(&in_header(text)), MAX_LABEL);
        Self {
            id,
            title: title.map(shown),
            url: url.map(shown),
        }
    }

    /// Returns it as the end of a header, or of a line in a list.
    pub(super) fn line(&self) -> String {
        let parts = [
            self.title.clone(),
            self.url.clone(),
            self.id
                .as_deref()
                .map(|id| format!("id {}", hidden::escaped(&in_header(id)))),
        ];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        parts.join(", ")
    }

    /// Returns the members of a source in the schema of a result.
    pub(super) fn schema() -> Schema {
        Schema::new()
            .with_required("number", Property::integer("Its mark."))
            .with_optional("id", Property::string("For read_document."))
            .with_optional("title", Property::string("Or none."))
            .with_optional("url", Property::string("Or none."))
    }
}

// === impl ShownPassages ===

impl ShownPassages {
    /// Shows passages, best first, as far as they fit. The first is cut if not even that one fits.
    pub(super) fn new(
        passages: &[Passage],
        retriever: &Retriever,
        max_tokens: usize,
    ) -> Result<Self, SysError> {
        let nonce = Nonce::new()?;
        let mut left = max_tokens.saturating_mul(4).saturating_sub(FRAME);
        let (mut text, mut shown) = (nonce.begin() + "\n", Vec::new());
        for (number, passage) in (1..).zip(passages) {
            let source = SourceLabel::of(passage, retriever);
            let score = if passage.score.is_finite() {
                passage.score
            } else {
                0.0
            };
            let mut label = source.line();
            if !label.is_empty() {
                label.push_str(", ");
            }
            let label = format!(" ({label}score {score:.3})");
            let content = shown_text(&passage.content);
            // Its header is as long as the line before all passages, at most.
            let frame = label.len() + nonce.begin().len() + 24;
            let room = left.saturating_sub(frame);
            let is_cut = content.len() > room;
            if is_cut && room < WORTH_CUTTING {
                break;
            }
            let content = if is_cut {
                format!("{}...", sentences::leading(&content, room))
            } else {
                content
            };
            let before = text.len();
            nonce.write_document(&mut text, number, &label, &content);
            left = left.saturating_sub(text.len() - before);
            shown.push(ShownPassage {
                number,
                source,
                score,
                text: nonce.fenced(&content),
            });
            if is_cut {
                break;
            }
        }
        text.push_str(&nonce.end());
        Ok(Self {
            text,
            left: passages.len() - shown.len(),
            passages: shown,
        })
    }
}

/// Returns a text as it is shown between the lines of a fence.
pub(super) fn shown_text(text: &str) -> String {
    quoted(&hidden::escaped(text)).into_owned()
}
