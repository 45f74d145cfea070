//! Selects the rows to fetch from an index.
//!
//! The score of a row depends mostly on its rarest words, so the rows of these are fetched first:
//! those of a few words at a time, with about as many rows as can be ranked quickly. Words with too
//! many rows are combined: rows that contain several of them score best.

use std::collections::{BTreeSet, HashMap, HashSet};

use ziggurat_search::tokens;
use ziggurat_vector_search::retrieval_queries::LexemeQuery;

use super::MAX_WORDS;

/// Limit on the rows that are ranked.
pub(super) const MAX_CANDIDATES: u32 = 2000;

/// Number of rows after which a round ends.
const MIN_CANDIDATES: u32 = 500;

/// Limit on the queries to an index.
const ROUNDS: usize = 4;

/// Limit on the cached words.
const MAX_KNOWN: usize = 4096;

/// Cache of the lexemes of words, and of the number of rows that contain them.
#[derive(Debug, Default)]
pub(super) struct LexemeCache {
    lexemes: HashMap<String, Vec<String>>,
    frequencies: HashMap<String, f64>,
}

/// A lexeme and the expected number of rows that contain it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    lexeme: String,
    frequency: f64,
}

/// One query to an index.
#[derive(Debug, PartialEq)]
pub(super) struct IndexQuery {
    pub(super) wanted: LexemeQuery,
    /// True if all rows that contain any of the lexemes are requested.
    pub(super) is_complete: bool,
}

/// Returns the number of candidates that suffices for this many results.
pub(super) fn sufficient_candidates(rows: u32) -> u32 {
    rows.saturating_mul(10)
        .clamp(MIN_CANDIDATES / 2, MAX_CANDIDATES)
}

/// Returns the queries to send one after another until there are enough candidates.
pub(super) fn rounds(entries: &[Entry], rows: f64) -> Vec<IndexQuery> {
    let most = f64::from(MAX_CANDIDATES);
    let rare = entries.partition_point(|entry| entry.frequency <= most);
    let (mut rare, common) = entries.split_at(rare);
    let mut rounds = Vec::new();
    while !rare.is_empty() {
        let mut sum = 0.0;
        let fits = rare.iter().take_while(|entry| {
            let is_enough = sum >= f64::from(MIN_CANDIDATES);
            // Half of it is better than far too many.
            let is_too_much =
                sum >= f64::from(MIN_CANDIDATES / 2) && entry.frequency > f64::from(MIN_CANDIDATES);
            let fits = !is_enough && !is_too_much && sum + entry.frequency <= most;
            sum += entry.frequency;
            fits
        });
        let (now, later) = rare.split_at(fits.count());
        let wanted = now.iter().map(|entry| vec![entry.lexeme.clone()]);
        rounds.push(IndexQuery {
            wanted: LexemeQuery(wanted.collect()),
            is_complete: true,
        });
        rare = later;
    }
    // The estimate assumes independent words; in practice more rows contain all of them.
    let mut expected = rows;
    let together = common.iter().take_while(|entry| {
        let is_too_many = expected > most;
        expected *= entry.frequency / rows.max(1.0);
        is_too_many
    });
    for together in (1..=together.count()).rev() {
        let all = common[..together].iter().map(|entry| entry.lexeme.clone());
        rounds.push(IndexQuery {
            wanted: LexemeQuery(vec![all.collect()]),
            is_complete: false,
        });
    }
    rounds.truncate(ROUNDS);
    rounds
}

// === impl LexemeCache ===

impl LexemeCache {
    /// Returns the words that are not cached: those of the question, and texts that PostgreSQL may
    /// parse as one word where this code sees several, such as an address.
    pub(super) fn unknown(&self, words: &[&str], text: &str) -> Vec<String> {
        let all = words.iter().take(MAX_WORDS).copied();
        let all = all.chain(compounds(text));
        let mut seen = HashSet::new();
        all.filter(|word| !self.lexemes.contains_key(*word) && seen.insert(*word))
            .map(str::to_owned)
            .collect()
    }

    pub(super) fn uncounted(&self, lexemes: &[Vec<String>]) -> Vec<String> {
        let all: BTreeSet<_> = lexemes.iter().flatten().collect();
        all.into_iter()
            .filter(|lexeme| !self.frequencies.contains_key(*lexeme))
            .cloned()
            .collect()
    }

    pub(super) fn add(
        &mut self,
        lexemes: impl IntoIterator<Item = (String, Vec<String>)>,
        frequencies: impl IntoIterator<Item = (String, f64)>,
    ) {
        if self.lexemes.len() > MAX_KNOWN || self.frequencies.len() > MAX_KNOWN {
            // Words that other requests still need are loaded again.
            self.lexemes.clear();
            self.frequencies.clear();
        }
        self.lexemes.extend(lexemes);
        self.frequencies.extend(frequencies);
    }

    /// Returns the lexemes of a question, the rarest first.
    pub(super) fn entries(&self, words: &[&str], text: &str) -> Vec<Entry> {
        let all = words.iter().copied().chain(compounds(text));
        let lexemes = all.filter_map(|word| self.lexemes.get(word));
        let distinct: BTreeSet<_> = lexemes.flatten().collect();
        let mut entries: Vec<_> = distinct
            .into_iter()
            .map(|lexeme| Entry {
                lexeme: lexeme.clone(),
                frequency: self.frequency(lexeme),
            })
            .collect();
        entries.sort_by(|one, two| one.frequency.total_cmp(&two.frequency));
        entries.truncate(MAX_WORDS);
        entries
    }

    /// Returns the rarest lexeme of each word, if it has one, and its number of rows.
    pub(super) fn frequencies(&self, words: &[&str]) -> Vec<Option<(String, f64)>> {
        let rarest = |word: &&str| {
            let lexemes = self.lexemes.get(*word)?.iter();
            lexemes
                .map(|lexeme| (lexeme.clone(), self.frequency(lexeme)))
                .min_by(|(_, one), (_, two)| one.total_cmp(two))
        };
        words.iter().map(rarest).collect()
    }

    fn frequency(&self, lexeme: &str) -> f64 {
        self.frequencies.get(lexeme).copied().unwrap_or(1.0)
    }
}

/// Returns the parts of a text with punctuation inside: hosts, decimals, hyphenated words.
fn compounds(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace()
        .map(|part| part.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|part| part.len() <= tokens::LONGEST_WORD)
        .filter(|part| part.contains(|c: char| !c.is_alphanumeric()))
        .take(MAX_WORDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds_of(frequencies: &[f64], rows: f64) -> Vec<(Vec<Vec<String>>, bool)> {
        let entries = frequencies.iter().map(|&frequency| Entry {
            lexeme: frequency.to_string(),
            frequency,
        });
        let entries: Vec<_> = entries.collect();
        let rounds = rounds(&entries, rows);
        rounds
            .into_iter()
            .map(|round| (round.wanted.0, round.is_complete))
            .collect()
    }

    fn any(frequencies: &[&str]) -> (Vec<Vec<String>>, bool) {
        let lists = frequencies.iter().map(|one| vec![(*one).to_owned()]);
        (lists.collect(), true)
    }

    fn all(frequencies: &[&str]) -> (Vec<Vec<String>>, bool) {
        let list = frequencies.iter().map(|one| (*one).to_owned());
        (vec![list.collect()], false)
    }

    #[test]
    fn rare_words_come_first_and_common_ones_are_combined() {
        let cases = [
            (&[][..], vec![]),
            (&[5.0], vec![any(&["5"])]),
            (&[5.0, 90.0, 700.0], vec![any(&["5", "90", "700"])]),
            (
                &[5.0, 300.0, 700.0],
                vec![any(&["5", "300"]), any(&["700"])],
            ),
            (&[1900.0, 1950.0], vec![any(&["1900"]), any(&["1950"])]),
            (&[5.0, 50_000.0], vec![any(&["5"]), all(&["50000"])]),
            (
                &[20_000.0, 50_000.0, 900_000.0],
                vec![all(&["20000", "50000"]), all(&["20000"])],
            ),
            (
                &[300_000.0; 9],
                vec![
                    all(&["300000"; 6]),
                    all(&["300000"; 5]),
                    all(&["300000"; 4]),
                    all(&["300000"; 3]),
                ],
            ),
        ];
        for (frequencies, expected) in cases {
            let found = rounds_of(frequencies, 1e6);
            assert_eq!(found, expected, "{frequencies:?}");
        }
    }

    #[test]
    fn the_glossary_is_bounded_and_words_are_loaded_once() {
        let mut lexeme_cache = LexemeCache::default();
        let text = "wool at foo.com wool";
        let words = ["wool", "foo", "com"];
        assert_eq!(
            lexeme_cache.unknown(&words, text),
            ["wool", "foo", "com", "foo.com"]
        );
        let lexemes = [("wool".to_owned(), vec!["wool".to_owned()])];
        let counts = [("wool".to_owned(), 7.0)];
        lexeme_cache.add(lexemes.clone(), counts.clone());
        assert_eq!(lexeme_cache.unknown(&words[..1], "wool"), [""; 0]);
        assert_eq!(lexeme_cache.uncounted(&[vec!["wool".to_owned()]]), [""; 0]);
        let found = lexeme_cache.frequencies(&words[..2]);
        assert_eq!(found, [Some(("wool".to_owned(), 7.0)), None]);
        for number in 0..3 * MAX_KNOWN {
            lexeme_cache.add([(number.to_string(), Vec::new())], []);
            assert!(lexeme_cache.lexemes.len() <= MAX_KNOWN + 1);
        }
        let part = format!("a.{}", "b".repeat(tokens::LONGEST_WORD));
        assert_eq!(
            lexeme_cache.unknown(&[], &part),
            [""; 0],
            "too long for an index"
        );
        let long: Vec<_> = (0..1000).map(|number| number.to_string()).collect();
        let long: Vec<_> = long.iter().map(String::as_str).collect();
        assert_eq!(LexemeCache::default().unknown(&long, "").len(), MAX_WORDS);
    }
}
