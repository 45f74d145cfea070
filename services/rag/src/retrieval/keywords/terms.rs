//! The words of a question, in the forms that texts are compared by.

use std::collections::{BTreeSet, HashMap, HashSet};

use ziggurat_search::bm25::Question;

use crate::retrieval::keywords::{
    MAX_WORDS,
    compounds::{self, Compounds},
    phrases::Phrases,
    stems::Beginnings,
};

/// Limit on a prefilter, in bytes, because PostgreSQL folds its case again for every row.
const MAX_PATTERNS: usize = 4096;

/// The words of a question.
pub(super) struct Terms {
    /// The lexemes that rows are ranked by.
    pub(super) question: Question,
    pub(super) beginnings: Beginnings,
    /// Empty unless the language joins words.
    pub(super) compounds: Compounds,
    /// The words as they are written.
    pub(super) words: Vec<String>,
    /// The lexemes that an index is asked for, also the lexemes of texts with punctuation inside.
    pub(super) indexed: BTreeSet<String>,
    pub(super) phrases: Phrases,
    /// Beginnings of words; each is a lexeme with a star at the end.
    pub(super) prefixes: Vec<String>,
    /// The lexemes of each phrase.
    pub(super) phrase_lexemes: Vec<Vec<String>>,
}

// === impl Terms ===

impl Terms {
    /// Returns the lexemes that may stand within other words.
    pub(super) fn within_others(&self) -> Vec<String> {
        if self.compounds.is_empty() {
            return Vec::new();
        }
        let lexemes = self.question.words().into_iter();
        let long = lexemes.filter(|lexeme| {
            lexeme.chars().count() >= compounds::LETTERS
                && lexeme.chars().all(char::is_alphanumeric)
        });
        long.map(str::to_owned).collect()
    }

    /// Returns parts of words that a text with one of the terms contains: the words as they are
    /// written, and their lexemes.
    pub(super) fn patterns(&self) -> Vec<&str> {
        let written = self.words.iter().map(String::as_str);
        let lexemes = self.question.words().into_iter().map(|lexeme| {
            // English lexemes end with an i where words end with a y.
            let stem = lexeme.strip_suffix('i');
            stem.filter(|stem| stem.len() > 2).unwrap_or(lexeme)
        });
        let mut seen = HashSet::new();
        let is_plain = |word: &&str| word.chars().all(char::is_alphanumeric);
        written
            .chain(lexemes)
            .filter(is_plain)
            .filter(|word| seen.insert(*word))
            .collect()
    }
}

/// Returns the lexeme of all words that begin so.
pub(super) fn any_end(prefix: &str) -> String {
    format!("{prefix}*")
}

/// Adds the lexemes of beginnings to words that begin so.
pub(super) fn add_prefixes(lexemes: &mut HashMap<String, Vec<String>>, prefixes: &[String]) {
    for prefix in prefixes {
        let words = lexemes
            .iter_mut()
            .filter(|(word, _)| word.starts_with(prefix));
        for (_, lexemes) in words {
            lexemes.push(any_end(prefix));
        }
    }
}

/// Returns the longest words that fit, since long words are likely to be rare.
pub(super) fn longest(mut words: Vec<&str>) -> Vec<&str> {
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    let mut left = MAX_PATTERNS;
    words.retain(|word| {
        let fits = word.len() <= left;
        left -= if fits { word.len() } else { 0 };
        fits
    });
    words.truncate(MAX_WORDS);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefilter_has_the_longest_words_that_fit() {
        assert_eq!(
            longest(vec!["soil", "vacuum", "x1"]),
            ["vacuum", "soil", "x1"]
        );
        let long = "k".repeat(2000);
        let words = vec!["soil", &long, &long, &long, "vacuum"];
        assert_eq!(longest(words), [&long, &long, "vacuum", "soil"]);
        let many: Vec<_> = (0..20_000).map(|number| format!("w{number:06}")).collect();
        let many = longest(many.iter().map(String::as_str).collect());
        assert_eq!(many.len(), MAX_WORDS);
    }

    #[test]
    fn a_prefilter_has_words_and_their_stems() {
        let question = Question::new(["happi", "tupl", "foo-bar"]);
        let terms = Terms {
            beginnings: Beginnings::new(&question.words()),
            question,
            compounds: Compounds::default(),
            words: vec!["happiness".to_owned(), "tupl".to_owned()],
            indexed: BTreeSet::new(),
            prefixes: Vec::new(),
            phrases: Phrases::default(),
            phrase_lexemes: Vec::new(),
        };
        assert_eq!(terms.patterns(), ["happiness", "tupl", "happ"]);
    }
}
