//! Ranks documents by the words they share with a question (BM25).
//!
//! Only the words of the question are counted: a document costs one pass over its text, and one
//! number per word of the question.
//!
//! ```
//! use ziggurat_search::{bm25::{Bm25, Collection, Question}, tokens};
//!
//! let question = Question::new(tokens::terms("dead tuples"));
//! let found = question.count_terms(tokens::terms("Vacuum removes dead tuples."));
//!
//! // Candidates of an index are scored with the statistics of the whole table.
//! let table = Collection {
//!     documents: 10_000.0,
//!     average_length: 120.0,
//!     frequencies: vec![300.0, 40.0],
//! };
//! let scores = Bm25::DOCUMENTS.scores_within(&table, &[found]);
//! assert!(scores[0] > 0.0);
//! ```

use std::collections::HashMap;

/// Parameters of the formula.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bm25 {
    /// Saturation: the lower, the less a repeated word counts.
    pub k1: f64,
    /// Strength of the length normalization: the higher, the lower the score of long documents.
    pub b: f64,
}

/// The distinct words of a question: repeating a word changes nothing.
#[derive(Clone, Debug, Default)]
pub struct Question {
    places: HashMap<Box<str>, usize>,
}

/// Number of times that each word of a question occurs in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermCounts {
    /// The words that occur, by their index in the question: sparse, so a long question costs
    /// nothing for a short document.
    counts: Box<[(usize, u32)]>,
    length: u32,
}

/// Statistics of a collection of documents, for the words of a question.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Collection {
    /// Number of documents.
    pub documents: f64,
    /// Average number of tokens of a document.
    pub average_length: f64,
    /// Number of documents that contain each word, in the order of [`Question::words`].
    pub frequencies: Vec<f64>,
}

// === impl Bm25 ===

impl Bm25 {
    /// Parameters for passages that are ranked against each other.
    pub const PASSAGES: Self = Self { k1: 1.5, b: 0.75 };

    /// Parameters for documents that are looked up.
    pub const DOCUMENTS: Self = Self { k1: 1.2, b: 0.75 };

    /// Scores documents against each other; one that shares no word with the question gets zero.
    #[must_use]
    pub fn scores(&self, documents: &[TermCounts]) -> Vec<f64> {
        self.scores_within(&Collection::of(documents), documents)
    }

    /// Scores some documents of a collection, with the statistics of the whole collection.
    #[must_use]
    pub fn scores_within(&self, collection: &Collection, documents: &[TermCounts]) -> Vec<f64> {
        let weights: Vec<f64> = collection
            .frequencies
            .iter()
            .map(|&frequency| collection.weight_of(frequency))
            .collect();
        documents
            .iter()
            .map(|document| self.score(&weights, collection.average_length, document))
            .collect()
    }

    fn score(&self, weights: &[f64], average_length: f64, document: &TermCounts) -> f64 {
        let parts = document.counts.iter().map(|&(place, count)| {
            let weight = weights.get(place).copied().unwrap_or_default();
            weight * self.saturation(count, document.length, average_length)
        });
        // The sum of no parts is -0.0, which would be printed with its sign.
        parts.fold(0.0, |sum, part| sum + part)
    }

    /// Returns how much a word counts that occurs so often in a document of this length.
    #[must_use]
    pub fn saturation(&self, count: u32, length: u32, average_length: f64) -> f64 {
        let length = if average_length > 0.0 {
            f64::from(length) / average_length
        } else {
            1.0
        };
        let hold = self.k1 * (1.0 - self.b + self.b * length);
        let count = f64::from(count);
        count * (self.k1 + 1.0) / (count + hold)
    }
}

// === impl Question ===

impl Question {
    /// Creates a question from its tokens.
    pub fn new<T: AsRef<str>>(tokens: impl IntoIterator<Item = T>) -> Self {
        let mut places = HashMap::new();
        for token in tokens {
            let next = places.len();
            places.entry(token.as_ref().into()).or_insert(next);
        }
        Self { places }
    }

    /// Returns whether it has no words; then no document matches.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns the words, in the order of their first occurrence.
    #[must_use]
    pub fn words(&self) -> Vec<&str> {
        let mut words: Vec<_> = self.places.iter().collect();
        words.sort_unstable_by_key(|(_, place)| **place);
        words.into_iter().map(|(word, _)| &**word).collect()
    }

    /// Counts the words of the question in the tokens of a document.
    pub fn count_terms<T: AsRef<str>>(&self, tokens: impl IntoIterator<Item = T>) -> TermCounts {
        let mut length = 0_u32;
        let tokens = tokens
            .into_iter()
            .inspect(|_| length = length.saturating_add(1))
            .map(|token| (token, 1));
        let counts = self.sums(tokens);
        TermCounts { counts, length }
    }

    /// Takes the words of a document that are counted already, and the number of all its tokens.
    pub fn count<T: AsRef<str>>(
        &self,
        words: impl IntoIterator<Item = (T, u32)>,
        length: u32,
    ) -> TermCounts {
        let counts = self.sums(words);
        TermCounts { counts, length }
    }

    fn sums<T: AsRef<str>>(
        &self,
        words: impl IntoIterator<Item = (T, u32)>,
    ) -> Box<[(usize, u32)]> {
        let mut places: Vec<(usize, u32)> = words
            .into_iter()
            .filter_map(|(word, count)| Some((*self.places.get(word.as_ref())?, count)))
            .collect();
        places.sort_unstable();
        let runs = places.chunk_by(|one, two| one.0 == two.0);
        let sum = |run: &[(usize, u32)]| {
            let counts = run.iter().map(|(_, count)| *count);
            (run[0].0, counts.fold(0, u32::saturating_add))
        };
        runs.map(sum).collect()
    }
}

// === impl TermCounts ===

impl TermCounts {
    /// Number of tokens of the document.
    #[must_use]
    pub fn length(&self) -> u32 {
        self.length
    }
}

// === impl Collection ===

impl Collection {
    /// Computes the statistics of a collection that consists of exactly these documents.
    #[must_use]
    pub fn of(documents: &[TermCounts]) -> Self {
        let last = documents
            .iter()
            .filter_map(|document| document.counts.last());
        let words = last.map(|(place, _)| place + 1).max().unwrap_or_default();
        let mut frequencies = vec![0.0; words];
        let (mut number, mut tokens) = (0.0, 0.0);
        for document in documents {
            number += 1.0;
            tokens += f64::from(document.length);
            for &(place, _) in &document.counts {
                frequencies[place] += 1.0;
            }
        }
        Self {
            documents: number,
            average_length: if number > 0.0 { tokens / number } else { 0.0 },
            frequencies,
        }
    }

    /// Returns the weight of a word, by its index in the question.
    #[must_use]
    pub fn weight(&self, place: usize) -> f64 {
        let frequency = self.frequencies.get(place).copied();
        self.weight_of(frequency.unwrap_or_default())
    }

    /// Weight of a word that occurs in this many documents. Statistics may be older than the
    /// documents, so the frequency can exceed the number of documents; the weight is zero then.
    fn weight_of(&self, frequency: f64) -> f64 {
        let without = (self.documents - frequency).max(0.0);
        ((without + 0.5) / (frequency + 0.5)).ln_1p()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tokens;

    const DOCUMENTS: [&str; 4] = [
        "PostgreSQL vacuum removes dead tuples.",
        "The vacuum cleaner is in the hall.",
        "Replication streams WAL to standby servers.",
        "Autovacuum runs vacuum; vacuum frees dead tuples for reuse.",
    ];

    fn scores(question: &str, documents: &[&str]) -> Vec<f64> {
        let question = Question::new(tokens::terms(question));
        let counts: Vec<_> = documents
            .iter()
            .map(|text| question.count_terms(tokens::terms(text)))
            .collect();
        Bm25::DOCUMENTS.scores(&counts)
    }

    #[test]
    fn a_document_without_a_word_of_the_question_scores_nothing_and_not_less() {
        let scores = scores("hammock", &["Basil wants a warm wall."]);
        assert_eq!(format!("{:.3}", scores[0]), "0.000");
    }

    #[test]
    fn the_scores_are_those_of_the_specification() {
        let question = "How does vacuum remove dead tuples?";
        let asked = Question::new(tokens::terms(question));
        assert_eq!(
            asked.words(),
            ["does", "vacuum", "remove", "dead", "tuples"]
        );
        let lengths = DOCUMENTS.map(|text| asked.count_terms(tokens::terms(text)).length());
        assert_eq!(lengths, [5, 3, 5, 8]);

        let scores = scores(question, &DOCUMENTS);
        for (score, expected) in scores.iter().zip([1.777_598, 0.432_503, 0.0, 1.569_109]) {
            assert!((score - expected).abs() < 1e-6, "{scores:?}");
        }
    }

    #[test]
    fn a_word_that_is_asked_twice_counts_once() {
        let once = scores("dead vacuum", &DOCUMENTS);
        assert_eq!(scores("dead vacuum dead Vacuum", &DOCUMENTS), once);
    }

    #[test]
    fn a_tally_is_as_long_as_what_was_found_and_not_as_the_question() {
        let question = Question::new((0..10_000).map(|n| n.to_string()));
        let term_counts = question.count_terms(["7", "x", "9999", "7"]);
        assert_eq!(*term_counts.counts, [(7, 2), (9999, 1)]);
        assert_eq!(term_counts.length(), 4);
    }

    #[test]
    fn words_may_be_counted_by_the_caller() {
        let question = Question::new(["dead", "tuples"]);
        let tokens = question.count_terms(["tuples", "x", "dead", "tuples", "y"]);
        let counted = question.count([("tuples", 1), ("dead", 1), ("tuples", 1), ("z", 9)], 5);
        assert_eq!(counted, tokens);
    }

    #[test]
    fn a_question_or_a_document_without_words_scores_nothing() {
        assert_eq!(scores("the of and", &DOCUMENTS), [0.0; 4]);
        assert_eq!(scores("vacuum", &["", "…"]), [0.0; 2]);
        assert!(scores("vacuum", &[]).is_empty());
        let question = Question::new(tokens::terms("of"));
        assert!(question.is_empty());
    }

    #[test]
    fn statistics_that_are_too_old_make_no_score_negative() {
        let question = Question::new(["vacuum"]);
        let table = Collection {
            documents: 3.0,
            average_length: 0.0,
            frequencies: vec![900.0],
        };
        let term_counts = question.count_terms(["vacuum"]);
        assert!(!term_counts.counts.is_empty());
        let scores = Bm25::DOCUMENTS.scores_within(&table, &[term_counts]);
        assert!(scores[0] >= 0.0 && scores[0].is_finite(), "{scores:?}");
    }

    proptest! {
        #[test]
        fn scores_are_finite_and_positive_exactly_for_hits(
            question in "[a-d ]{0,12}",
            documents in prop::collection::vec("[a-f ]{0,30}", 0..8),
        ) {
            let question = Question::new(question.split_whitespace());
            let counts: Vec<_> = documents
                .iter()
                .map(|text| question.count_terms(text.split_whitespace()))
                .collect();
            let scores = Bm25::PASSAGES.scores(&counts);
            prop_assert_eq!(scores.len(), documents.len());
            for (score, term_counts) in scores.iter().zip(&counts) {
                prop_assert!(score.is_finite());
                prop_assert_eq!(*score > 0.0, !term_counts.counts.is_empty());
            }
        }
    }
}
