//! Weights of the vectors of a table, by the texts they belong to.
//!
//! A title has less weight than content: it is short, so many questions are close to it.

use ziggurat_postgres::metadata::Column;
use ziggurat_vector_search::Weighted;

use crate::similarity_search::columns::ColumnPair;

const TITLE: f64 = 0.3;
const UNKNOWN: f64 = 0.5;
const CONTENT: f64 = 0.7;

const TITLE_NAMES: [&str; 6] = ["title", "name", "heading", "header", "subject", "label"];

const CONTENT_NAMES: [&str; 8] = [
    "content",
    "text",
    "body",
    "description",
    "detail",
    "article",
    "document",
    "passage",
];

const TITLE_REMARKS: [&str; 3] = ["title", "heading", "name"];

/// Limit on the bytes of a sample that are used.
const LONGEST_SAMPLE: usize = 1000;

/// A sample shorter than this, in bytes, is titles.
const SHORT: usize = 100;

/// A sample longer than this, in bytes, is content.
const LONG: usize = 500;

/// The texts of a few rows, in the order of the text columns.
pub(super) type Sample = Vec<Vec<Option<String>>>;

/// A vector column with its weight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part<'a> {
    pub(super) vector: Column<'a>,
    /// The column shown for it: its text, or the vector itself if its text is unknown.
    pub(super) shown: Column<'a>,
    pub(super) role: Role,
    /// The weights of all parts add up to one.
    pub(super) weight: f64,
}

/// The role of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Title,
    Content,
    /// Unknown kind of text.
    Text,
    /// The vector's text is unknown.
    Vector,
}

/// Weighs pairs by their texts: by the sampled content, else by the comment on the column, else by
/// the name of the column.
pub(super) fn of_pairs<'a>(
    pairs: &[ColumnPair<'a>],
    texts: &[Column<'a>],
    sample: &Sample,
) -> Vec<Part<'a>> {
    let parts = pairs.iter().map(|pair| {
        let place = texts
            .iter()
            .position(|text| text.name() == pair.text.name());
        let length = place.map_or(0, |place| sample_length(sample, place));
        let role = by_content(length)
            .or_else(|| by_remark(pair.text.comment()))
            .or_else(|| by_name(pair.text.name()))
            .unwrap_or(Role::Text);
        Part {
            vector: pair.vector,
            shown: pair.text,
            role,
            weight: match role {
                Role::Title => TITLE,
                Role::Content => CONTENT,
                Role::Text | Role::Vector => UNKNOWN,
            },
        }
    });
    shared(parts.collect())
}

/// Weighs vectors with unknown texts equally.
pub(super) fn of_vectors<'a>(vectors: &[Column<'a>]) -> Vec<Part<'a>> {
    let parts = vectors.iter().map(|&vector| Part {
        vector,
        shown: vector,
        role: Role::Vector,
        weight: 1.0,
    });
    shared(parts.collect())
}

fn shared(mut parts: Vec<Part<'_>>) -> Vec<Part<'_>> {
    let sum: f64 = parts.iter().map(|part| part.weight).sum();
    for part in &mut parts {
        part.weight /= sum;
    }
    parts
}

fn by_name(name: &str) -> Option<Role> {
    let name = name.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if has(&TITLE_NAMES) {
        Some(Role::Title)
    } else if has(&CONTENT_NAMES) {
        Some(Role::Content)
    } else {
        None
    }
}

fn by_remark(comment: &str) -> Option<Role> {
    let comment = comment.to_lowercase();
    let is_title = TITLE_REMARKS.iter().any(|word| comment.contains(word));
    is_title.then_some(Role::Title)
}

/// Returns the role for a sampled length; without a sample, `None`.
fn by_content(length: usize) -> Option<Role> {
    match length {
        1..SHORT => Some(Role::Title),
        _ if length > LONG => Some(Role::Content),
        _ => None,
    }
}

fn sample_length(sample: &Sample, place: usize) -> usize {
    let texts = sample.iter().filter_map(|row| row.get(place)?.as_deref());
    texts.map(str::len).sum::<usize>().min(LONGEST_SAMPLE)
}

// === impl Part ===

impl<'a> Part<'a> {
    pub(super) fn weighted(&self) -> Weighted<'a> {
        Weighted::new(self.vector, self.weight)
    }
}

// === impl Role ===

impl Role {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Content => "content",
            Self::Text => "text",
            Self::Vector => "vector",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_name_determines_the_role_title_first() {
        for (name, expected) in [
            ("title", Some(Role::Title)),
            ("FullName", Some(Role::Title)),
            ("content", Some(Role::Content)),
            ("doc_body", Some(Role::Content)),
            ("content_title", Some(Role::Title)),
            ("note", None),
        ] {
            assert_eq!(by_name(name), expected, "{name}");
        }
    }

    #[test]
    fn a_comment_can_mark_a_title() {
        assert_eq!(by_remark("The heading of a page"), Some(Role::Title));
        assert_eq!(by_remark("What it says"), None);
        assert_eq!(by_remark(""), None);
    }

    #[test]
    fn short_texts_are_titles_and_long_ones_content() {
        let text = |length: usize| vec![None, Some("x".repeat(length))];
        for (lengths, expected) in [
            (vec![], None),
            (vec![0, 0], None),
            (vec![33, 33, 33], Some(Role::Title)),
            (vec![50, 50], None),
            (vec![500], None),
            (vec![300, 201], Some(Role::Content)),
            (vec![90_000], Some(Role::Content)),
        ] {
            let sample: Sample = lengths.iter().map(|&length| text(length)).collect();
            assert_eq!(
                by_content(sample_length(&sample, 1)),
                expected,
                "{lengths:?}"
            );
            assert_eq!(sample_length(&sample, 0), 0);
        }
    }
}
