//! Cuts texts into passages.
//!
//! The length of a passage in words follows from its tokens by the estimate that a word is 4/3
//! tokens. Neighbours overlap, so that a sentence at the boundary is not lost.
//!
//! ```
//! use ziggurat_search::chunks::Chunker;
//!
//! let chunker = Chunker::new(3);
//! let chunks: Vec<_> = chunker.chunks("one two three four five six").collect();
//! assert_eq!(chunks, ["one two three four", "four five six"]);
//! ```

use std::borrow::Cow;

/// Number of words that two neighbours share: 25 tokens.
const OVERLAP_WORDS: usize = 33;

const OVERLAP_TOKENS: usize = 25;

/// Cuts texts into passages of a fixed length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunker {
    most: usize,
    overlap: usize,
}

// === impl Chunker ===

impl Chunker {
    /// Makes passages of this many tokens, but of at least one word.
    #[must_use]
    pub fn new(tokens: usize) -> Self {
        let most = (tokens.saturating_mul(4) / 3).max(1);
        let overlap = if OVERLAP_WORDS < most {
            OVERLAP_WORDS
        } else {
            most / 4
        };
        Self { most, overlap }
    }

    /// Number of tokens that two neighbours share.
    #[must_use]
    pub fn overlap_tokens(self) -> usize {
        if self.overlap == OVERLAP_WORDS {
            OVERLAP_TOKENS
        } else {
            self.overlap * 3 / 4
        }
    }

    /// Returns the passages of a text in order; none if it is blank. A text that fits into one
    /// passage is unchanged; a longer one gets single spaces between its words.
    pub fn chunks(self, text: &str) -> impl Iterator<Item = Cow<'_, str>> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let step = self.most - self.overlap;
        // The last window is the one that reaches the end.
        let windows = match words.len() {
            0 => 0,
            length => 1 + length.saturating_sub(self.most).div_ceil(step),
        };
        (0..windows).map(move |window| {
            if windows == 1 {
                return Cow::Borrowed(text);
            }
            let start = window * step;
            let end = words.len().min(start + self.most);
            Cow::Owned(words[start..end].join(" "))
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn numbers(count: usize) -> String {
        let numbers: Vec<_> = (0..count).map(|n| n.to_string()).collect();
        numbers.join(" ")
    }

    #[test]
    fn the_usual_passage_has_133_words_and_shares_33() {
        let chunker = Chunker::new(100);
        assert_eq!((chunker.most, chunker.overlap_tokens()), (133, 25));
        let text = numbers(234);
        let chunks: Vec<_> = chunker.chunks(&text).collect();
        let ends: Vec<_> = chunks
            .iter()
            .map(|chunk| {
                let mut words = chunk.split(' ');
                (words.next(), words.next_back())
            })
            .collect();
        let expected = [("0", "132"), ("100", "232"), ("200", "233")];
        assert_eq!(
            ends,
            expected.map(|(first, last)| (Some(first), Some(last)))
        );
        assert_eq!(Chunker::new(100).chunks(&numbers(233)).count(), 2);
    }

    #[test]
    fn short_passages_share_a_quarter() {
        for (tokens, words, step) in [(1, 1, 1), (3, 4, 3), (6, 8, 6), (25, 33, 25), (26, 34, 1)] {
            let chunker = Chunker::new(tokens);
            assert_eq!(chunker.most, words, "{tokens}");
            let text = numbers(200);
            let second = chunker.chunks(&text).nth(1).expect("a second one");
            let first_word = second.split(' ').next();
            assert_eq!(first_word, Some(&*step.to_string()), "{tokens}");
        }
        assert_eq!(Chunker::new(0), Chunker::new(1));
    }

    #[test]
    fn a_text_that_fits_is_unchanged() {
        let text = "  one\n\n two\tthree ";
        let chunks: Vec<_> = Chunker::new(100).chunks(text).collect();
        assert_eq!(chunks, [text]);
        let chunks: Vec<_> = Chunker::new(1).chunks(text).collect();
        assert_eq!(chunks, ["one", "two", "three"]);
    }

    #[test]
    fn a_blank_text_has_no_passages() {
        for text in ["", " \n\u{2003}"] {
            assert_eq!(Chunker::new(100).chunks(text).count(), 0);
        }
    }

    proptest! {
        #[test]
        fn passages_hold_all_words_in_order_and_no_more_than_they_may(
            text: String,
            tokens in 0_usize..40,
        ) {
            let chunker = Chunker::new(tokens);
            let chunks: Vec<_> = chunker.chunks(&text).collect();
            let step = chunker.most - chunker.overlap;
            let mut words: Vec<&str> = Vec::new();
            for (at, chunk) in chunks.iter().enumerate() {
                let of_chunk: Vec<_> = chunk.split_whitespace().collect();
                prop_assert!(!of_chunk.is_empty() && of_chunk.len() <= chunker.most);
                let known = words.len() - at * step;
                prop_assert_eq!(&words[at * step..], &of_chunk[..known]);
                prop_assert!(of_chunk.len() > known);
                words.extend(&of_chunk[known..]);
            }
            let expected: Vec<_> = text.split_whitespace().collect();
            prop_assert_eq!(words, expected);
        }
    }
}
