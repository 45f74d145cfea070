//! The order of the entries that match a question.

use ziggurat_search::bm25::Bm25;

use super::{
    index::{FLAG_BITS, IN_NAME, Index},
    words,
};

/// Limit on the words of a question that are looked up.
const MAX_WORDS: usize = 16;

/// Letters of a word that may be in the middle of a name, so that `id` does not find `width`.
const LEAST_MIDDLE: usize = 3;

/// Letters of a word that may be misspelt.
const LEAST_MISSPELT: usize = 5;

/// Letters that a name and a word must have in common at their beginning: `cust` for `customer`.
const LEAST_COMMON: usize = 3;

/// A way in which a word of the question can match, from the weakest to the best.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Match {
    #[default]
    None,
    /// The name is misspelt in the question.
    Misspelt,
    /// The name is an abbreviation of the word, or the word of the name.
    Abbreviated,
    /// A text of the entry has the word: a comment, a note, a label, the name of a column.
    Text,
    /// In the middle of the name.
    Middle,
    /// At the beginning of a part of the name.
    Beginning,
    /// A part of the name.
    Part,
}

/// Scores of all entries. An entry has a place in each list.
struct Scores<'a> {
    index: &'a Index,
    totals: Vec<u32>,
    /// The weight of the words that are parts of the name, and their number.
    parts: Vec<(u32, u8)>,
    /// The best match of the current word, and the number of matches.
    current: Vec<(Match, u8)>,
    /// The entries that match the current word.
    touched: Vec<u32>,
    /// The entries that match any word.
    found: Vec<u32>,
}

/// The entries that match a question.
#[derive(Debug, Default)]
pub(super) struct Ranking {
    /// Score and number, the best first; columns only if they were asked for.
    pub(super) found: Vec<(u32, u32)>,
    /// The score of each entry, columns included.
    scores: Vec<u32>,
}

/// Ranks the entries that match a question; columns only if they are asked for.
///
/// One word orders them by the best way it matches: the whole name, a part of it, the beginning of a
/// part, the middle of a part, and last the texts. Equal ones are ordered by BM25 over names,
/// comments, labels and notes of the entry, and for a table of its columns, then by schema and name.
///
/// The words of a longer question are scored one by one in this way, and the scores are added. The
/// steps between the ways are smaller than the weakest of them, so an entry that matches two words
/// comes before one that matches a single word well. A word that many entries have counts less, at
/// least half; the middle of names counts only if no name has the word as a part or at the beginning
/// of one. A word that no name has in any way also matches abbreviations; one that matches nothing at
/// all matches names that differ in one letter.
pub(super) fn rank(index: &Index, question: &str, with_columns: bool) -> Ranking {
    let mut scores = Scores::new(index);
    let words = words::of_question(question, MAX_WORDS);
    for word in &words {
        scores.add(word, words.len() == 1);
    }
    scores.finish(with_columns)
}

// === impl Ranking ===

impl Ranking {
    /// Returns the score of an entry: 0 if it does not match.
    pub(super) fn score(&self, number: usize) -> u32 {
        self.scores.get(number).copied().unwrap_or_default()
    }
}

// === impl Match ===

impl Match {
    /// The score of a match, in thousandths. BM25 adds up to [`TEXT_SHARE`].
    fn score(self) -> f32 {
        match self {
            Self::None => 0.0,
            Self::Misspelt => 200.0,
            Self::Abbreviated => 320.0,
            Self::Text => 550.0,
            Self::Middle => 660.0,
            Self::Beginning => 770.0,
            Self::Part => 880.0,
        }
    }
}

/// The largest part of BM25 in a score.
const TEXT_SHARE: f32 = 100.0;

/// The score that a whole name has above one of its parts.
const WHOLE: u32 = 120;

// === impl Scores ===

impl<'a> Scores<'a> {
    fn new(index: &'a Index) -> Self {
        let entries = index.len();
        Self {
            index,
            totals: vec![0; entries],
            parts: vec![(0, 0); entries],
            current: vec![(Match::None, 0); entries],
            touched: Vec::new(),
            found: Vec::new(),
        }
    }

    /// Adds the scores of a word, which may be the only one.
    fn add(&mut self, word: &str, is_only: bool) {
        let (index, letters) = (self.index, word.chars().count());
        let mut in_name = false;
        for at in index.beginning(word) {
            let is_word = index.words().get(at).is_some_and(|known| **known == *word);
            let kind = if is_word {
                Match::Part
            } else {
                Match::Beginning
            };
            in_name |= self.post(at, kind);
        }
        if (is_only || !in_name) && letters >= LEAST_MIDDLE {
            let is_inside = |known: &str| known.contains(word) && !known.starts_with(word);
            in_name |= self.post_all(Match::Middle, is_inside);
        }
        if !in_name {
            in_name = self.post_all(Match::Abbreviated, |known| is_abbreviation(known, word));
        }
        if !in_name && self.touched.is_empty() && letters >= LEAST_MISSPELT {
            self.post_all(Match::Misspelt, |known| is_one_edit(known, word));
        }
        self.settle();
    }

    fn post_all(&mut self, kind: Match, fits: impl Fn(&str) -> bool) -> bool {
        let index = self.index;
        let mut in_name = false;
        for (at, word) in index.words().iter().enumerate() {
            if fits(word) {
                in_name |= self.post(at, kind);
            }
        }
        in_name
    }

    /// Notes the entries that have a word of the index. Returns whether it is in a name of one.
    fn post(&mut self, word: usize, kind: Match) -> bool {
        let index = self.index;
        let mut in_name = false;
        for &posting in index.postings(word) {
            let number = posting >> FLAG_BITS;
            let (kind, count) = if posting & IN_NAME != 0 {
                in_name = true;
                (kind, 2)
            } else if kind == Match::Part {
                (Match::Text, 1)
            } else {
                // Inside of words, texts have everything.
                continue;
            };
            self.touch(number, kind, count);
            if let Some(table) = index.owner(number as usize) {
                let table = u32::try_from(table).unwrap_or_default();
                self.touch(table, kind.min(Match::Text), count);
            }
        }
        in_name
    }

    fn touch(&mut self, number: u32, kind: Match, count: u8) {
        let Some((best, counted)) = self.current.get_mut(number as usize) else {
            return;
        };
        if *best == Match::None {
            self.touched.push(number);
        }
        *best = kind.max(*best);
        *counted = counted.saturating_add(count);
    }

    /// Adds the scores of the current word to the totals.
    fn settle(&mut self) {
        let all = self.index.top_level();
        let matching = self
            .touched
            .iter()
            .filter(|&&number| (number as usize) < all);
        let weight = weight(matching.count(), all);
        for number in self.touched.drain(..) {
            let at = number as usize;
            let entry = (
                self.totals.get_mut(at),
                self.parts.get_mut(at),
                self.current.get_mut(at),
            );
            let (Some(total), Some((whole, parts)), Some(current)) = entry else {
                continue;
            };
            let (kind, count) = std::mem::take(current);
            let score = kind.score() + TEXT_SHARE * saturation(count, self.index.length(at));
            if *total == 0 {
                self.found.push(number);
            }
            *total += rounded(weight * score);
            if kind == Match::Part {
                *whole += rounded(weight * 1000.0);
                *parts += 1;
            }
        }
    }

    fn finish(mut self, with_columns: bool) -> Ranking {
        let mut found = Vec::new();
        for number in self.found {
            let at = number as usize;
            let Some(score) = self.totals.get_mut(at) else {
                continue;
            };
            let (weight, parts) = self.parts.get(at).copied().unwrap_or_default();
            if parts > 0 && parts == self.index.name_words(at) {
                *score += weight * WHOLE / 1000;
            }
            if with_columns || at < self.index.top_level() {
                found.push((*score, number));
            }
        }
        found.sort_unstable_by_key(|&(score, number)| (u32::MAX - score, number));
        let scores = self.totals;
        Ranking { found, scores }
    }
}

/// Returns the weight of a word: 1 if one entry has it, 0.5 if all have.
#[expect(clippy::cast_precision_loss, reason = "a weight may be rounded")]
fn weight(matching: usize, all: usize) -> f32 {
    let (matching, all) = (matching.max(1) as f32, all.max(2) as f32);
    0.5 + 0.5 * ((all / matching).ln() / all.ln()).clamp(0.0, 1.0)
}

/// Returns the share that BM25 gives for a number of matches in an entry of this length.
fn saturation(count: u8, length: f32) -> f32 {
    #[expect(clippy::cast_possible_truncation, reason = "two small constants")]
    let (k1, b) = (Bm25::DOCUMENTS.k1 as f32, Bm25::DOCUMENTS.b as f32);
    let count = f32::from(count);
    count / (count + k1 * (1.0 - b + b * length))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "scores are small and positive"
)]
fn rounded(score: f32) -> u32 {
    score.round() as u32
}

/// Returns whether one of two words stands for the other: `cust` and `ordered` for `customer` and
/// `order`, `qty` for `quantity`.
fn is_abbreviation(known: &str, word: &str) -> bool {
    let short = known.len().min(word.len());
    if short < LEAST_COMMON || known.as_bytes()[0] != word.as_bytes()[0] {
        return false;
    }
    let common = known
        .bytes()
        .zip(word.bytes())
        .take_while(|(one, two)| one == two)
        .count();
    let is_half = common > LEAST_COMMON && common * 2 >= known.len().max(word.len());
    if common == short || is_half {
        return true;
    }
    // Abbreviations without vowels: each of their letters is in the word, in this order.
    let mut rest = word.chars();
    let has_no_vowel = !known.contains(['a', 'e', 'i', 'o', 'u']);
    has_no_vowel
        && known
            .chars()
            .all(|letter| rest.any(|other| other == letter))
}

/// Returns whether two words differ in one letter, or in the order of two neighbours.
fn is_one_edit(one: &str, two: &str) -> bool {
    let start = one
        .bytes()
        .zip(two.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    let (one, two) = (&one.as_bytes()[start..], &two.as_bytes()[start..]);
    let end = one
        .iter()
        .rev()
        .zip(two.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    match (&one[..one.len() - end], &two[..two.len() - end]) {
        ([a, b], [c, d]) => a == d && b == c,
        (one, two) => one.len() <= 1 && two.len() <= 1,
    }
}
