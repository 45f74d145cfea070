//! Selects the rows to fetch from an index.
//!
//! The score of a row depends mostly on its rarest words, so rows with rare words are fetched
//! first. Each query is for a few words, with about as many rows as can be ranked quickly. Words
//! with too many rows are combined: rows that contain several of them score best.

use std::collections::HashMap;

use ziggurat_search::tokens;
use ziggurat_vector_search::retrieval_queries::LexemeQuery;

use crate::retrieval::keywords::MAX_WORDS;

/// Limit on the rows that are ranked.
pub(super) const MAX_CANDIDATES: u32 = 2000;

/// Number of rows after which a round ends.
const MIN_CANDIDATES: u32 = 500;

/// Limit on the queries to an index.
const ROUNDS: usize = 5;

/// Limit on the common words that are combined.
const MAX_COMBINED: usize = 6;

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
    /// True if the rows are expected to be few enough for all to be returned.
    pub(super) is_selective: bool,
}

/// Returns the number of candidates that suffices for this many results, if the rest would be rows
/// that an index returns in no order.
pub(super) fn sufficient_candidates(rows: u32) -> u32 {
    rows.saturating_mul(5)
        .div_ceil(2)
        .clamp(MIN_CANDIDATES / 2, MAX_CANDIDATES)
}

/// Returns lexemes with their numbers of rows, the rarest first.
pub(super) fn entries(frequencies: HashMap<String, f64>) -> Vec<Entry> {
    let mut entries: Vec<_> = frequencies
        .into_iter()
        .map(|(lexeme, frequency)| Entry { lexeme, frequency })
        .collect();
    entries.sort_by(|one, two| {
        let by_frequency = one.frequency.total_cmp(&two.frequency);
        by_frequency.then_with(|| one.lexeme.cmp(&two.lexeme))
    });
    entries.truncate(MAX_WORDS);
    entries
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
            is_selective: true,
        });
        rare = later;
    }
    // Common words need a place among the queries.
    rounds.truncate(ROUNDS - 2);
    rounds.extend(combined(&common[..common.len().min(MAX_COMBINED)], rows));
    rounds.truncate(ROUNDS);
    rounds
}

/// Returns queries for rows that have at least some number of the words: first a number for which
/// few enough rows are expected, and then one less.
fn combined(common: &[Entry], rows: f64) -> Vec<IndexQuery> {
    let most = f64::from(MAX_CANDIDATES);
    let shares: Vec<_> = common
        .iter()
        .map(|entry| (entry.frequency / rows.max(1.0)).clamp(0.0, 1.0))
        .collect();
    let expected: Vec<_> = at_least(&shares).iter().map(|share| share * rows).collect();
    let fits = |number: &usize| expected[*number] <= most;
    let first = (1..=common.len()).find(fits).unwrap_or(common.len());
    // More rows have several of the words than chance would have it, so those with one more of
    // them come first.
    let numbers = [first + 1, first, first.saturating_sub(1)];
    let numbers = numbers
        .into_iter()
        .filter(|number| (1..=common.len()).contains(number));
    let queries = numbers.map(|number| IndexQuery {
        wanted: LexemeQuery(combinations(common, number)),
        is_complete: false,
        is_selective: fits(&number),
    });
    queries.collect()
}

/// Returns the probabilities of at least none, at least one, at least two… of independent events.
fn at_least(probabilities: &[f64]) -> Vec<f64> {
    let mut exactly = vec![0.0; probabilities.len() + 1];
    exactly[0] = 1.0;
    for (count, probability) in (1..).zip(probabilities) {
        for number in (1..=count).rev() {
            exactly[number] =
                exactly[number] * (1.0 - probability) + exactly[number - 1] * probability;
        }
        exactly[0] *= 1.0 - probability;
    }
    for number in (0..probabilities.len()).rev() {
        exactly[number] += exactly[number + 1];
    }
    exactly
}

/// Returns all combinations of this many lexemes.
fn combinations(entries: &[Entry], number: usize) -> Vec<Vec<String>> {
    let sets = (0_u32..1 << entries.len())
        .filter(|set| usize::try_from(set.count_ones()).is_ok_and(|size| size == number));
    let list = |set: u32| {
        let places = entries.iter().enumerate();
        let chosen = places.filter(|(place, _)| set >> place & 1 == 1);
        chosen.map(|(_, entry)| entry.lexeme.clone()).collect()
    };
    sets.map(list).collect()
}

/// Returns the parts of a text that PostgreSQL may parse as one word where this code sees several:
/// hosts, decimals, hyphenated words, and runs of Chinese or Japanese.
pub(super) fn compounds(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace()
        .map(|part| part.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|part| part.contains(|c: char| !c.is_alphanumeric()))
        .chain(tokens::unspaced_runs(text))
        .filter(|part| part.len() <= tokens::LONGEST_WORD)
        .take(MAX_WORDS)
}

/// Returns patterns for a text of Chinese or Japanese: three letters each, which an index over
/// trigrams can find.
pub(super) fn trigrams(text: &str) -> Vec<String> {
    let runs = tokens::unspaced_runs(text).flat_map(|run| {
        let letters: Vec<char> = run.chars().collect();
        let windows = letters.windows(3.min(letters.len()).max(1));
        windows.map(String::from_iter).collect::<Vec<_>>()
    });
    runs.take(MAX_WORDS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Round = (Vec<Vec<String>>, bool);

    fn rounds_of(frequencies: &[f64], rows: f64) -> Vec<Round> {
        let entries = frequencies.iter().map(|&frequency| Entry {
            lexeme: frequency.to_string(),
            frequency,
        });
        let entries: Vec<_> = entries.collect();
        let rounds = rounds(&entries, rows);
        rounds
            .into_iter()
            .map(|round| (round.wanted.0, round.is_selective))
            .collect()
    }

    fn any(frequencies: &[&str]) -> Round {
        let lists = frequencies.iter().map(|one| vec![(*one).to_owned()]);
        (lists.collect(), true)
    }

    fn all(lists: &[&[&str]], is_selective: bool) -> Round {
        let list = |list: &&[&str]| list.iter().map(|one| (*one).to_owned()).collect();
        (lists.iter().map(list).collect(), is_selective)
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
            (
                &[5.0, 50_000.0],
                vec![any(&["5"]), all(&[&["50000"]], false)],
            ),
            // 20,000 and 50,000 of a million have 1,000 rows in common.
            (
                &[20_000.0, 50_000.0],
                vec![
                    all(&[&["20000", "50000"]], true),
                    all(&[&["20000"], &["50000"]], false),
                ],
            ),
            (
                &[10_000.0, 20_000.0, 30_000.0],
                vec![
                    all(&[&["10000", "20000", "30000"]], true),
                    all(
                        &[
                            &["10000", "20000"],
                            &["10000", "30000"],
                            &["20000", "30000"],
                        ],
                        true,
                    ),
                    all(&[&["10000"], &["20000"], &["30000"]], false),
                ],
            ),
        ];
        for (frequencies, expected) in cases {
            let found = rounds_of(frequencies, 1e6);
            assert_eq!(found, expected, "{frequencies:?}");
        }
    }

    #[test]
    fn of_many_common_words_as_many_are_asked_for_as_leave_few_enough_rows() {
        let entries: Vec<_> = (0..9)
            .map(|number| Entry {
                lexeme: number.to_string(),
                frequency: 100_000.0,
            })
            .collect();
        let rounds = rounds(&entries, 1e6);
        // Of six words with a tenth of the rows each, four or more are in 1,270 rows.
        let sizes: Vec<_> = rounds
            .iter()
            .map(|round| (round.wanted.0[0].len(), round.wanted.0.len()))
            .collect();
        assert_eq!(sizes, [(5, 6), (4, 15), (3, 20)]);
        let selective: Vec<_> = rounds.iter().map(|round| round.is_selective).collect();
        assert_eq!(selective, [true, true, false]);
    }

    #[test]
    fn the_probability_of_at_least_so_many_is_that_of_their_distribution() {
        let found = at_least(&[0.5, 0.5]);
        assert_eq!(found, [1.0, 0.75, 0.25]);
        assert_eq!(at_least(&[]), [1.0]);
    }

    #[test]
    fn compounds_are_parts_with_punctuation_inside() {
        let found: Vec<_> = compounds("see foo.com, (x-ray) wool.").collect();
        assert_eq!(found, ["foo.com", "x-ray"]);
        let part = format!("a.{}", "b".repeat(tokens::LONGEST_WORD));
        assert_eq!(compounds(&part).count(), 0, "too long for an index");
        let found: Vec<_> = compounds("数据库 x").collect();
        assert_eq!(found, ["数据库"]);
    }

    #[test]
    fn patterns_for_chinese_have_three_letters() {
        assert_eq!(
            trigrams("wool 数据库系统, 雪"),
            ["数据库", "据库系", "库系统", "雪"]
        );
    }
}
