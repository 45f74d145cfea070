//! Parts of long texts: those that have words of the question.
//!
//! A row may hold a whole book. Only a part of it fits into a prompt, and that should be the part
//! that was found.

use std::{borrow::Cow, ops::Range};

use ziggurat_search::{
    bm25::{Bm25, Question},
    tokens,
};

/// Texts up to this length stay whole, in characters.
const LONG: usize = 16_384;

/// Limit on the length of the parts of a longer text together, in bytes.
const EXCERPT: usize = 8192;

/// Minimum length of a part, in bytes; it ends with the next sentence or line.
const PART: usize = 512;

/// Maximum length of a part, in bytes, for a text without sentences.
const MAX_PART: usize = 2048;

/// Mark between two parts that are not neighbours.
const GAP: &str = "\n…\n";

/// Returns the text, or the best parts of a long one, in their order.
pub(super) fn excerpt<'a>(text: &'a str, question: &str) -> Cow<'a, str> {
    if text.len() <= LONG || text.chars().nth(LONG).is_none() {
        return Cow::Borrowed(text);
    }
    let parts = parts(text);
    let question = Question::new(tokens::terms(question));
    let counts: Vec<_> = parts
        .iter()
        .map(|part| question.count_terms(tokens::terms(&text[part.clone()])))
        .collect();
    let scores = Bm25::PASSAGES.scores(&counts);
    let mut order: Vec<_> = (0..parts.len()).collect();
    // The sort is stable: without words in common, the beginning of the text is taken.
    order.sort_by(|&one, &two| scores[two].total_cmp(&scores[one]));
    let mut left = EXCERPT;
    let mut chosen: Vec<usize> = order
        .into_iter()
        .take_while(|&at| match left.checked_sub(parts[at].len()) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        })
        .collect();
    chosen.sort_unstable();
    let mut excerpt = String::with_capacity(EXCERPT + GAP.len() * chosen.len());
    let mut end = 0;
    for at in chosen {
        let part = parts[at].clone();
        if part.start != end {
            excerpt.push_str(GAP);
        }
        end = part.end;
        excerpt.push_str(&text[part]);
    }
    if end != text.len() {
        excerpt.push_str(GAP);
    }
    Cow::Owned(excerpt.trim().to_owned())
}

/// Splits a text after sentences and lines.
fn parts(text: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let least = text.floor_char_boundary(start + PART);
        let most = text.floor_char_boundary(start + MAX_PART);
        let window = &text[least..most];
        let ends = [". ", "! ", "? ", "\n", "。"];
        let stops = ends.iter().filter_map(|end| {
            let stop = window.find(end)?;
            Some(least + stop + end.len())
        });
        let end = stops.min().unwrap_or(most);
        parts.push(start..end);
        start = end;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_usual_length_stays_whole() {
        let text = "Ferns like shade. ".repeat(900);
        assert_eq!(excerpt(&text, "moss"), text);
    }

    #[test]
    fn the_parts_that_have_the_words_of_the_question_are_taken_in_order() {
        let filler = "Nothing of interest stands in this sentence. ".repeat(1000);
        let text = format!("The beginning. {filler}Moss covers stones. {filler}Stones lie. ");
        let found = excerpt(&text, "What do stones have to do with moss?");
        assert!(found.len() <= EXCERPT + 4 * GAP.len(), "{}", found.len());
        let moss = found.find("Moss covers stones.").expect("the best part");
        let stones = found.find("Stones lie.").expect("the next part");
        assert!(moss < stones);
        assert!(found.contains(GAP) && !found.contains("interest stands in this sentence.."));
        let found = excerpt(&text, "zebra");
        assert!(found.starts_with("The beginning."), "{found}");
        assert!(found.ends_with('…'), "{found}");
    }

    #[test]
    fn any_text_is_split_without_loss() {
        let long = "é".repeat(9000) + &"雪。".repeat(3000) + &"x\n".repeat(3000);
        let joined: String = parts(&long).into_iter().map(|part| &long[part]).collect();
        assert_eq!(joined, long);
        assert!(parts(&long).iter().all(|part| part.len() <= MAX_PART));
        assert!(excerpt(&long, "x").len() <= EXCERPT + long.len() / PART * GAP.len());
    }
}
