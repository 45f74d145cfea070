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

use crate::sentences;

/// With a budget of this many tokens or fewer, a document that does not fit is left out and not cut.
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

/// Returns the leading documents that fit, whole: those behind one that does not fit are left out,
/// because they answer worse. If not even the first fits, it is cut at the end of a sentence and marked
/// with `...`, unless the budget is very small.
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
        if taken.is_empty() && left > WORTH_CUTTING {
            let part = sentences::leading(document, left.saturating_mul(4));
            taken.push(Cow::Owned(format!("{part}...")));
        }
        break;
    }
    taken
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
    fn documents_are_taken_whole_and_the_best_first() {
        let (long, short) = ("A sentence of twenty. ".repeat(50), "short");
        let first = "x".repeat(396);
        assert_eq!(fill([&*first, &*long, short], 200), [&*first]);
        assert_eq!(fill([&*first, short, &*long], 200), [&*first, short]);
        assert!(fill([short], 0).is_empty());
    }

    #[test]
    fn only_the_first_is_cut_if_nothing_fits() {
        let document = "A sentence of twenty. ".repeat(100);
        // 101 tokens are 404 bytes; the last sentence in them ends at byte 395.
        let expected = format!("{}...", &document[..395]);
        assert_eq!(fill([&*document, "short"], 101), [expected]);
        assert!(fill([&*document], 100).is_empty());
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
