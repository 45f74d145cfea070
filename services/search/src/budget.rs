//! Token budgets: estimates the tokens of texts, and takes the texts that fit.
//!
//! No tokenizer of a model is used: passages are estimated by their words ([`of_words`]), whole
//! documents by their bytes.
//!
//! ```
//! use ziggurat_search::budget;
//!
//! assert_eq!(budget::of_words("four words of text"), 3);
//! assert_eq!(budget::fill(["twenty bytes of text", "more of it"], 5), ["twenty bytes of text"]);
//! ```

use std::borrow::Cow;

/// With this many tokens left or fewer, a document that does not fit is left out and not cut.
const WORTH_CUTTING: usize = 100;

/// Estimates the tokens of a passage: three quarters of its words, at least one.
#[must_use]
pub fn of_words(text: &str) -> usize {
    let words = text.split_whitespace().count();
    // Rounds down without a product, which could overflow.
    (words - words.div_ceil(4)).max(1)
}

/// Estimates the tokens of a document: a quarter of its bytes.
#[must_use]
pub fn of_bytes(text: &str) -> usize {
    text.len() / 4
}

/// Counts the leading costs that fit into the budget; the first that does not fit ends the count.
pub fn fitting(costs: impl IntoIterator<Item = usize>, budget: usize) -> usize {
    let mut left = budget;
    costs
        .into_iter()
        .take_while(|&cost| match left.checked_sub(cost) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        })
        .count()
}

/// Returns the leading documents that fit. The first that does not fit is cut at the end of a
/// sentence and marked with `...`, if enough of the budget is left; all later documents are left
/// out, even short ones.
pub fn fill<'a>(documents: impl IntoIterator<Item = &'a str>, budget: usize) -> Vec<Cow<'a, str>> {
    let mut left = budget;
    let mut taken = Vec::new();
    for document in documents {
        let cost = of_bytes(document);
        if cost <= left {
            left -= cost;
            taken.push(Cow::Borrowed(document));
            continue;
        }
        if left > WORTH_CUTTING {
            taken.push(Cow::Owned(format!("{}...", beginning(document, left * 4))));
        }
        break;
    }
    taken
}

/// Returns at most this many bytes of a text, up to the last end of a sentence within them.
fn beginning(text: &str, bytes: usize) -> &str {
    let piece = &text[..text.floor_char_boundary(bytes)];
    piece.rfind(". ").map_or(piece, |stop| &piece[..=stop])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn three_quarters_of_the_words_are_tokens_and_one_at_least() {
        for (words, tokens) in [(0, 1), (1, 1), (2, 1), (3, 2), (4, 3), (5, 3), (133, 99)] {
            assert_eq!(of_words(&"word ".repeat(words)), tokens, "{words}");
        }
    }

    #[test]
    fn the_first_that_does_not_fit_ends_it() {
        for (budget, expected) in [(0, 0), (3, 1), (5, 2), (6, 2), (12, 3), (99, 4)] {
            assert_eq!(fitting([3, 2, 7, 1], budget), expected, "{budget}");
        }
    }

    #[test]
    fn the_cut_is_that_of_the_specification() {
        let first = "x".repeat(396);
        let second = "A sentence of twenty. ".repeat(100);
        let taken = fill([&*first, &second[..2000], "short"], 200);
        assert_eq!(taken.len(), 2);
        assert_eq!(taken[0], first);
        // 101 tokens are left, which are 404 bytes; the last sentence in them ends at byte 395.
        assert_eq!(taken[1], format!("{}...", &second[..395]));

        let first = "x".repeat(400);
        assert_eq!(fill([&*first, &second[..2000]], 200), [&*first]);
    }

    #[test]
    fn a_piece_without_the_end_of_a_sentence_is_kept_whole() {
        let document = format!("{}.{}", "é".repeat(300), "ü".repeat(300));
        // Byte 808 is in the middle of a character.
        let taken = fill([&*document], 202);
        assert_eq!(
            taken,
            [format!("{}.{}...", "é".repeat(300), "ü".repeat(103))]
        );
    }

    proptest! {
        #[test]
        fn the_result_is_within_the_budget_except_for_the_dots(
            documents in prop::collection::vec("[a-z. é]{0,900}", 0..4),
            budget in 0_usize..600,
        ) {
            let taken = fill(documents.iter().map(String::as_str), budget);
            let bytes: usize = taken.iter().map(|text| text.len()).sum();
            prop_assert!(bytes <= budget * 4 + 3 * documents.len() + 3);
            for (taken, document) in taken.iter().zip(&documents) {
                let kept = taken.strip_suffix("...").unwrap_or(taken);
                prop_assert!(document.starts_with(kept) || *document == *taken);
            }
        }
    }
}
