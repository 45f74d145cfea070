//! What fits: estimates of how many tokens texts are, and what of them is taken.
//!
//! No tokenizer of a model is asked; the two rules of thumb here are those of the two
//! specifications. [`of_words`] is for passages, [`of_bytes`] for whole documents.
//!
//! ```
//! use ziggurat_search::budget;
//!
//! assert_eq!(budget::of_words("four words of text"), 3);
//! assert_eq!(budget::fill(["twenty bytes of text", "more of it"], 5), ["twenty bytes of text"]);
//! ```

use std::borrow::Cow;

/// With so many tokens left or fewer, a document that does not fit is left out and not cut.
const WORTH_CUTTING: usize = 100;

/// Tokens of a passage: three quarters of its words, and one at least.
#[must_use]
pub fn of_words(text: &str) -> usize {
    let words = text.split_whitespace().count();
    // Rounded down, without a product that could be too large.
    (words - words.div_ceil(4)).max(1)
}

/// Tokens of a document: a quarter of its bytes.
#[must_use]
pub fn of_bytes(text: &str) -> usize {
    text.len() / 4
}

/// How many of these costs fit from the first on; the first that does not ends it.
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

/// The documents that fit from the first on. Of the first that does not, what can be kept if
/// that is worth the while: up to the end of a sentence, with `...` behind it. What comes after
/// that one is left out, however short it is.
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

/// So many bytes of a text, or less: up to the last sentence that ends there.
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
        // 101 tokens are left: 404 bytes, of which the last sentence ends behind byte 395.
        assert_eq!(taken[1], format!("{}...", &second[..395]));

        let first = "x".repeat(400);
        assert_eq!(fill([&*first, &second[..2000]], 200), [&*first]);
    }

    #[test]
    fn a_piece_without_the_end_of_a_sentence_is_kept_whole() {
        let document = format!("{}.{}", "é".repeat(300), "ü".repeat(300));
        // Byte 808 is the middle of a letter.
        let taken = fill([&*document], 202);
        assert_eq!(
            taken,
            [format!("{}.{}...", "é".repeat(300), "ü".repeat(103))]
        );
    }

    proptest! {
        #[test]
        fn what_is_taken_is_within_the_budget_but_for_the_dots(
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
