//! Citations: the passages that an answer refers to, checked.
//!
//! The model is told to mark claims with the numbers of documents. [`markers`] checks the marks, and
//! for each valid one a [`Citation`] names its passage, with the sentence of it that shares the
//! most words with the claim. [`support`] finds claims that another passage fits clearly better.

mod code;
mod markers;
mod support;

use std::{borrow::Cow, collections::HashSet, mem, ops::Range};

use serde::Serialize;
use utoipa::ToSchema;
use ziggurat_search::{sentences::sentences, tokens::terms};

use self::{
    markers::{Checked, Marker, MarkerChecker},
    support::{Mark, PassageWords},
};
use crate::retrieval::Passage;

/// Limit on a quoted sentence, in characters.
const MAX_QUOTE_CHARS: usize = 500;

/// Limit on the text before a marker that is searched for its claim, in bytes.
const MAX_CLAIM: usize = 2000;

/// A part of an answer that refers to a passage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Citation {
    /// The number in the marker: `2` for `[2]`. It is the position of the passage among the
    /// sources, from 1.
    #[schema(minimum = 1)]
    pub(super) marker: usize,
    /// The id of the row; absent if the table has no id column.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) id: Option<String>,
    /// The title of the row; absent if the table has no title column.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) title: Option<String>,
    /// The address of the row; absent if the table has no column for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) url: Option<String>,
    /// The position of the marker in the answer, in characters (Unicode code points).
    pub(super) start: usize,
    /// The position after the marker.
    pub(super) end: usize,
    /// The sentence of the passage that shares the most words with the claim, of at most 500
    /// characters.
    #[schema(max_length = 500)]
    pub(super) quote: String,
    /// False if another passage has clearly more words of the claim than this one, so that the mark
    /// is probably wrong; else absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) supported: Option<bool>,
}

/// A passage that was shown to the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ShownPassage {
    id: Option<String>,
    title: Option<String>,
    url: Option<String>,
    /// The text that was shown.
    text: String,
}

/// An answer with citations that are checked while it arrives.
#[derive(Debug)]
pub(super) struct CitedAnswer {
    checker: MarkerChecker,
    passages: Vec<ShownPassage>,
    /// The words of the passages, from the first marker on.
    words: Option<PassageWords>,
    /// The last part of the answer.
    recent: String,
    /// The last marker, until the text behind it is known.
    pending: Option<Marker>,
    group: MarkerGroup,
}

/// Markers with nothing between them. They share a claim.
#[derive(Debug, Default)]
struct MarkerGroup {
    /// The text of the claim, in the last part of the answer.
    claim: Range<usize>,
    /// The place behind the last marker.
    end: usize,
}

/// A part of a checked answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum AnswerPart {
    /// Text; never empty.
    Text(String),
    /// A citation; its marker ends the text before.
    Citation(Citation),
}

/// Cuts a text to this number of characters.
pub(super) fn bounded(text: impl Into<String>, max_chars: usize) -> String {
    let mut text = text.into();
    if text.char_indices().nth(max_chars).is_some() {
        let end = text.char_indices().nth(max_chars.saturating_sub(1));
        text.truncate(end.map_or(0, |(end, _)| end));
        text.push('…');
    }
    text
}

// === impl ShownPassage ===

impl ShownPassage {
    /// Takes a passage of which this text is in the prompt.
    pub(super) fn new(passage: &Passage, text: &str) -> Self {
        Self {
            id: passage.id.clone(),
            title: passage.title.clone(),
            url: passage.url.clone(),
            text: text.to_owned(),
        }
    }

    /// Returns the texts that the model may have its claims from.
    fn texts(&self) -> impl Iterator<Item = &str> {
        let labels = [self.id.as_deref(), self.title.as_deref()];
        labels.into_iter().flatten().chain([&*self.text])
    }

    /// Returns the sentence that shares the most words with a claim.
    fn quote(&self, claim: &str) -> &str {
        let wanted: HashSet<_> = terms(claim).collect();
        let mut best = ("", 0);
        for sentence in sentences(&self.text) {
            let shared: HashSet<Cow<'_, str>> = terms(sentence)
                .filter(|word| wanted.contains(word))
                .collect();
            let is_better = best.0.is_empty() || shared.len() > best.1;
            // Of equal ones the first, or the one with the fewest other words.
            let is_shorter = shared.len() == best.1 && best.1 > 0 && sentence.len() < best.0.len();
            if is_better || is_shorter {
                best = (sentence, shared.len());
            }
        }
        best.0
    }
}

// === impl CitedAnswer ===

impl CitedAnswer {
    /// Checks an answer that may refer to these passages, by their numbers from 1.
    pub(super) fn new(passages: Vec<ShownPassage>) -> Self {
        Self {
            checker: MarkerChecker::new(passages.len()),
            passages,
            words: None,
            recent: String::new(),
            pending: None,
            group: MarkerGroup::default(),
        }
    }

    /// Checks more of the answer, and returns the parts that are final.
    pub(super) fn push(&mut self, text: &str) -> Vec<AnswerPart> {
        let checked = self.checker.push(text);
        self.parts(checked)
    }

    /// Returns the rest, at the end of the answer.
    pub(super) fn finish(&mut self) -> Vec<AnswerPart> {
        let checked = self.checker.finish();
        let mut parts = self.parts(checked);
        parts.extend(self.settle(""));
        parts
    }

    /// Returns the number of markers that were removed because they name no passage.
    pub(super) fn dropped(&self) -> u64 {
        self.checker.dropped()
    }

    /// Checks a whole answer, and returns its text and its citations.
    pub(super) fn check(&mut self, answer: &str) -> (String, Vec<Citation>) {
        let mut parts = self.push(answer);
        parts.extend(self.finish());
        let (mut text, mut citations) = (String::with_capacity(answer.len()), Vec::new());
        for part in parts {
            match part {
                AnswerPart::Text(more) => text.push_str(&more),
                AnswerPart::Citation(citation) => citations.push(citation),
            }
        }
        (text, citations)
    }

    fn parts(&mut self, checked: Vec<Checked>) -> Vec<AnswerPart> {
        let mut parts = Vec::with_capacity(checked.len());
        for checked in checked {
            match checked {
                Checked::Text(text) => {
                    parts.extend(self.settle(&text));
                    self.remember(&text);
                    parts.push(AnswerPart::Text(text));
                }
                Checked::Marker(marker) => self.pending = Some(marker),
            }
        }
        parts
    }

    /// Returns the citation of the last marker, given the text behind it.
    fn settle(&mut self, after: &str) -> Option<AnswerPart> {
        let marker = self.pending.take()?;
        let index = marker.number.checked_sub(1)?;
        let is_followed = after.strip_prefix(' ').unwrap_or(after).starts_with('[');
        let is_supported = self.is_supported(index, &marker, is_followed);
        let passage = self.passages.get(index)?;
        let quote = passage.quote(claim(&self.recent));
        Some(AnswerPart::Citation(Citation {
            marker: marker.number,
            id: passage.id.clone(),
            title: passage.title.clone(),
            url: passage.url.clone(),
            start: marker.start,
            end: marker.end,
            quote: bounded(quote, MAX_QUOTE_CHARS),
            supported: (!is_supported).then_some(false),
        }))
    }

    /// Returns whether a passage supports the claim of the marker that ends the text.
    fn is_supported(&mut self, passage: usize, marker: &Marker, is_followed: bool) -> bool {
        // A marker has ASCII characters only.
        let start = self.recent.len().saturating_sub(marker.end - marker.start);
        let has_others = self.group.add(start..self.recent.len(), &self.recent);
        let words = self.words.get_or_insert_with(|| {
            let passages = self.passages.iter();
            PassageWords::new(passages.map(ShownPassage::texts))
        });
        let mark = Mark {
            passage,
            is_shared: has_others || is_followed,
        };
        let claim = self.recent.get(self.group.claim.clone());
        words.support(claim.unwrap_or_default(), mark)
    }

    fn remember(&mut self, text: &str) {
        self.recent.push_str(text);
        if self.recent.len() > 2 * MAX_CLAIM {
            let start = self
                .recent
                .ceil_char_boundary(self.recent.len() - MAX_CLAIM);
            self.recent.drain(..start);
            self.group.move_back(start);
        }
    }
}

// === impl MarkerGroup ===

impl MarkerGroup {
    /// Adds a marker at this place of a text, and returns whether it is not the first: nothing stands
    /// between it and the marker before.
    fn add(&mut self, marker: Range<usize>, text: &str) -> bool {
        let end = mem::replace(&mut self.end, marker.end);
        let between = text.get(end..marker.start);
        let is_empty = |between: &str| between.trim_matches([' ', ',']).is_empty();
        let has_others = end > 0 && between.is_some_and(is_empty);
        if !has_others {
            let longest = text.ceil_char_boundary(marker.start.saturating_sub(MAX_CLAIM));
            self.claim = end.max(longest)..marker.start;
        }
        has_others
    }

    /// Follows a text that lost this many bytes at its beginning.
    fn move_back(&mut self, bytes: usize) {
        let Self { claim, end, .. } = self;
        for place in [&mut claim.start, &mut claim.end, end] {
            *place = place.saturating_sub(bytes);
        }
    }
}

/// Returns the claim that a marker at the end of a text belongs to: the last sentence with words.
fn claim(text: &str) -> &str {
    let start = text.ceil_char_boundary(text.len().saturating_sub(MAX_CLAIM));
    let has_words = |sentence: &&str| sentence.chars().any(char::is_alphabetic);
    sentences(&text[start..])
        .filter(has_words)
        .last()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(id: &str, text: &str) -> ShownPassage {
        let passage = Passage {
            id: Some(id.to_owned()),
            title: Some(format!("About {id}")),
            ..Passage::default()
        };
        ShownPassage::new(&passage, text)
    }

    fn passages() -> Vec<ShownPassage> {
        vec![
            shown(
                "fern",
                "Ferns are old. They like shade and damp soil! Water them daily.",
            ),
            shown("moss", "# Moss\nMoss likes rain.\nMoss is soft."),
        ]
    }

    #[test]
    fn a_citation_has_its_passage_its_position_and_the_sentence_that_fits_best() {
        let mut answer = CitedAnswer::new(passages());
        let (text, citations) = answer.check("Ferns need damp soil [1] [7]. Rain is for moss. [2]");
        assert_eq!(text, "Ferns need damp soil [1]. Rain is for moss. [2]");
        assert_eq!(answer.dropped(), 1);
        let citation = |marker, id: &str, start, quote: &str| Citation {
            marker,
            id: Some(id.to_owned()),
            title: Some(format!("About {id}")),
            url: None,
            start,
            end: start + 3,
            quote: quote.to_owned(),
            supported: None,
        };
        let expected = [
            citation(1, "fern", 21, "They like shade and damp soil!"),
            citation(2, "moss", 44, "Moss likes rain."),
        ];
        assert_eq!(citations, expected);
    }

    #[test]
    fn without_a_shared_word_the_first_sentence_is_quoted() {
        let quote = |claim: &str| passages()[0].quote(claim).to_owned();
        assert_eq!(quote("Farne mögen Schatten"), "Ferns are old.");
        assert_eq!(quote(""), "Ferns are old.");
        assert_eq!(shown("none", " ").quote("Ferns"), "");
    }

    #[test]
    fn a_quote_of_lines_of_a_fixed_length_is_a_whole_sentence() {
        let text = "Ferns grow where the soil is damp and the\nair is still. They like shade.";
        assert_eq!(
            shown("fern", text).quote("Ferns like damp soil"),
            "Ferns grow where the soil is damp and the\nair is still."
        );
    }

    #[test]
    fn a_quote_has_an_upper_limit() {
        let mut answer = CitedAnswer::new(vec![shown("long", &"wool ".repeat(1000))]);
        let (_, citations) = answer.check("Wool [1]");
        assert_eq!(citations[0].quote.chars().count(), MAX_QUOTE_CHARS);
        assert!(citations[0].quote.ends_with('…'));
    }

    /// Returns the answer with a `!` behind each marker with a claim that is not supported.
    fn doubted(answer: &str) -> String {
        let mut cited = CitedAnswer::new(passages());
        let (text, citations) = cited.check(answer);
        let mut letter_by_letter = CitedAnswer::new(passages());
        let mut parts = Vec::new();
        for letter in answer.chars() {
            parts.extend(letter_by_letter.push(letter.encode_utf8(&mut [0; 4])));
        }
        parts.extend(letter_by_letter.finish());
        parts.retain(|part| matches!(part, AnswerPart::Citation(_)));
        let whole: Vec<_> = citations
            .iter()
            .cloned()
            .map(AnswerPart::Citation)
            .collect();
        assert_eq!(parts, whole, "{answer:?} letter by letter");
        let mut letters: Vec<_> = text.chars().collect();
        for citation in citations.iter().rev() {
            match citation.supported {
                Some(true) => panic!("present without need: {citation:?}"),
                Some(false) => letters.insert(citation.end, '!'),
                None => {}
            }
        }
        letters.into_iter().collect()
    }

    #[test]
    fn a_claim_with_the_mark_of_another_passage_is_not_supported() {
        for expected in [
            "Moss likes rain [1]!. They like shade and damp soil [1].",
            "Moss likes rain. [1]! Ferns like shade. [1]",
            "Ferns like shade and damp soil [1], moss likes rain [1]!.",
            "- Moss likes rain [1]!\n- Ferns like damp shade [2]!",
            "| Plant | Likes |\n|---|---|\n| Moss | rain [1]! |\n| Moss | rain [2] |",
            "> Ferns are old. [2]! (fern)\n\n> Moss is soft. [2] (moss)",
            "`ferns like shade` [2]! and `x[0]`",
            // One mark for a text of several sentences.
            "Ferns like damp soil and shade. They are soft, too. [1]",
            "Yes [2]. No [1]. [1] [2]",
            "[1] says that moss likes rain.\n- [1] Moss likes rain\n\n[1] Moss likes rain.",
        ] {
            assert_eq!(doubted(&expected.replace('!', "")), expected);
        }
    }

    #[test]
    fn the_claims_of_a_long_answer_are_found_too() {
        let expected = "Moss likes rain [1]!. Ferns like shade and damp soil [1][2]!. ".repeat(200);
        assert!(expected.len() > 4 * MAX_CLAIM, "{}", expected.len());
        assert_eq!(doubted(&expected.replace('!', "")), expected);
    }

    #[test]
    fn a_title_supports_a_claim_too() {
        let fern = ShownPassage {
            id: None,
            ..shown("fern", "They like shade.")
        };
        let moss = shown("moss", "A fern and moss share a stone.");
        let mut answer = CitedAnswer::new(vec![fern, moss]);
        let (_, citations) = answer.check("A fern on a stone [1]. Moss on a stone [1].");
        let supported = citations.iter().map(|citation| citation.supported);
        assert!(supported.eq([None, Some(false)]), "{citations:?}");
    }

    #[test]
    fn marks_that_stand_together_support_their_claim_together() {
        for expected in [
            "Ferns like damp soil, moss likes rain [1][2].",
            "Ferns like damp soil, moss likes rain [2] [1].",
            "Ferns like damp soil, moss rain [1][2]. Moss likes rain [1]! daily",
            "Shade, and soft moss rain [1]!.",
            "Shade, and soft moss rain [1][2].",
            "Soft moss rain, and shade [2], [1].",
            "Moss likes rain. [2][1]!",
            "Moss likes rain [1]! [2].",
            "Moss likes rain [1]!, [2].",
        ] {
            assert_eq!(doubted(&expected.replace('!', "")), expected);
        }
        assert_eq!(
            doubted("Ferns like soil, moss rain [1, 2]"),
            "Ferns like soil, moss rain [1][2]"
        );
    }

    #[test]
    fn the_claim_of_a_marker_is_the_last_sentence_with_words() {
        for (text, expected) in [
            ("One. Two things [1]", "Two things [1]"),
            ("One. Two things [1][2]", "Two things [1][2]"),
            ("One. Two things. [1]", "Two things."),
            ("[1]", ""),
            ("", ""),
        ] {
            assert_eq!(claim(text), expected, "{text:?}");
        }
        let long = format!("start {} end", "ä".repeat(4000));
        assert!(claim(&long).ends_with("ä end"));
        let mut answer = CitedAnswer::new(passages());
        (0..100).for_each(|_| drop(answer.push(&long)));
        assert!(
            answer.recent.len() <= 2 * MAX_CLAIM,
            "{}",
            answer.recent.len()
        );
    }
}
