//! The order of the entries that match a question.

use std::collections::BTreeMap;

use ziggurat_search::bm25::Bm25;

use crate::search_schema::{
    index::{Index, Posting},
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

/// Limit on the words of the index that columns are looked up with, for each word of the question.
const MAX_MATCHING: usize = 20;

/// A way in which a word of the question can match, from the weakest to the best.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum MatchKind {
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

/// Scores of all entries while words are added.
struct Scores<'a> {
    index: &'a Index,
    /// By the number of the entry.
    entries: Vec<Score>,
    /// The entries that match the current word.
    touched: Vec<u32>,
    /// The entries that match any word.
    found: Vec<u32>,
    /// The words of the index that match.
    words: Vec<MatchingWord>,
}

/// Word of the index that matches one of the question.
#[derive(Clone, Copy, Debug)]
struct MatchingWord {
    word: usize,
    kind: MatchKind,
    weight: f32,
}

/// Score of an entry.
#[derive(Clone, Copy, Debug, Default)]
struct Score {
    total: u32,
    /// The score that is added if the words are the whole name, and the number of those that are in it.
    whole: u32,
    parts: u8,
    /// The best match of the current word, and the number of matches.
    current: MatchKind,
    count: u32,
}

/// The entries that match a question.
#[derive(Debug, Default)]
pub(super) struct Ranking {
    /// Score and number, the best first; columns only if they were asked for.
    pub(super) found: Vec<(u32, u32)>,
    /// Of each entry; of columns only if they were asked for.
    scores: Vec<Score>,
    words: Vec<MatchingWord>,
}

/// Ranks the entries that match a question; columns only if they are asked for.
///
/// One word orders them by the best way it matches: the whole name, a part of it, the beginning of a
/// part, the middle of a part, and last the texts. Equal ones are ordered by BM25 over names,
/// comments, labels and notes of the entry, and for a table of its columns, then by schema and name.
///
/// The words of a longer question are scored one by one in this way, and the scores are added. The
/// steps between the ways are smaller than the weakest of them, so an entry that matches two words
/// comes before one that matches a single word well, except if the whole name is in the question. A
/// word that many entries have counts less, at least half; the middle of names counts only if no
/// name has the word as a part or at the beginning of one. A word that no name has in any way also
/// matches abbreviations; one that matches nothing at all matches names that differ in one letter.
pub(super) fn rank(index: &Index, question: &str, with_columns: bool) -> Ranking {
    let mut scores = Scores::new(index, with_columns);
    let words = words::of_question(question, MAX_WORDS);
    for word in &words {
        scores.add(word, words.len() == 1);
    }
    scores.finish()
}

// === impl Ranking ===

impl Ranking {
    /// Returns the score of an entry: 0 if it does not match.
    pub(super) fn score(&self, number: usize) -> u32 {
        self.scores.get(number).map_or(0, |score| score.total)
    }

    /// Returns the positions of the columns of a table that match best, in their order.
    pub(super) fn columns(&self, index: &Index, table: usize, most: usize) -> Vec<usize> {
        let mut scores = BTreeMap::<usize, u32>::new();
        for found in &self.words {
            for (column, posting) in index.columns_with(found.word, table) {
                if let Some(kind) = found.kind.of(posting) {
                    *scores.entry(column).or_default() += rounded(found.weight * kind.score());
                }
            }
        }
        let mut columns: Vec<_> = scores.into_iter().collect();
        columns.sort_by_key(|&(_, score)| u32::MAX - score);
        columns.truncate(most);
        let mut columns: Vec<_> = columns.into_iter().map(|(column, _)| column).collect();
        columns.sort_unstable();
        columns
    }
}

// === impl MatchKind ===

impl MatchKind {
    /// Returns the match of an entry with a word that matches like this; `None` if the entry does
    /// not match, because parts of words count in names only.
    fn of(self, posting: Posting) -> Option<Self> {
        if posting.is_in_name() {
            Some(self)
        } else if self == Self::Part || posting.is_in_column() {
            Some(self.min(Self::Text))
        } else {
            None
        }
    }

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

/// Extra score of a whole name over a part of a name. It is almost the score of another word, so
/// that the tables that a question names come first.
const WHOLE: f32 = 800.0;

// === impl Scores ===

impl<'a> Scores<'a> {
    fn new(index: &'a Index, with_columns: bool) -> Self {
        let entries = if with_columns {
            index.len()
        } else {
            index.top_level()
        };
        Self {
            index,
            entries: vec![Score::default(); entries],
            touched: Vec::new(),
            found: Vec::new(),
            words: Vec::new(),
        }
    }

    /// Adds the scores of a word, which may be the only one.
    fn add(&mut self, word: &str, is_only: bool) {
        let (index, letters) = (self.index, word.chars().count());
        let first_word = self.words.len();
        let mut in_name = false;
        for at in index.beginning(word) {
            let is_word = index.words().get(at).is_some_and(|known| **known == *word);
            let kind = if is_word {
                MatchKind::Part
            } else {
                MatchKind::Beginning
            };
            in_name |= self.post(at, kind);
        }
        if (is_only || !in_name) && letters >= LEAST_MIDDLE {
            let is_inside = |known: &str| known.contains(word) && !known.starts_with(word);
            in_name |= self.post_all(MatchKind::Middle, is_inside);
        }
        if !in_name {
            in_name = self.post_all(MatchKind::Abbreviated, |known| is_abbreviation(known, word));
        }
        if !in_name && self.touched.is_empty() && letters >= LEAST_MISSPELT {
            self.post_all(MatchKind::Misspelt, |known| is_one_edit(known, word));
        }
        self.settle(first_word);
    }

    fn post_all(&mut self, kind: MatchKind, fits: impl Fn(&str) -> bool) -> bool {
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
    fn post(&mut self, word: usize, kind: MatchKind) -> bool {
        let (entries, columns) = self.index.postings(word);
        let with_columns = self.entries.len() > self.index.top_level();
        let columns = if with_columns { columns } else { &[] };
        let mut in_name = false;
        for &posting in entries.iter().chain(columns) {
            in_name |= posting.is_in_name() || posting.is_in_column();
            let kind = kind.of(posting);
            let entry = self.entries.get_mut(posting.number());
            if let (Some(kind), Some(entry)) = (kind, entry) {
                if entry.current == MatchKind::None {
                    self.touched
                        .push(u32::try_from(posting.number()).unwrap_or(u32::MAX));
                }
                entry.current = kind.max(entry.current);
                entry.count += posting.count();
            }
        }
        let weight = 0.0;
        self.words.push(MatchingWord { word, kind, weight });
        in_name
    }

    /// Adds the scores of the current word to the totals.
    fn settle(&mut self, first_word: usize) {
        let all = self.index.top_level();
        let matching = self
            .touched
            .iter()
            .filter(|&&number| (number as usize) < all);
        let weight = weight(matching.count(), all);
        for word in self.words.iter_mut().skip(first_word) {
            word.weight = weight;
        }
        // The others are rare words, and each has to be looked up for each table that is shown.
        self.words.truncate(first_word + MAX_MATCHING);
        for number in self.touched.drain(..) {
            let at = number as usize;
            let Some(entry) = self.entries.get_mut(at) else {
                continue;
            };
            let text = saturation(entry.count, self.index.length(at));
            if entry.total == 0 {
                self.found.push(number);
            }
            entry.total += rounded(weight * (entry.current.score() + TEXT_SHARE * text));
            if entry.current == MatchKind::Part {
                entry.whole += rounded(weight * WHOLE);
                entry.parts += 1;
            }
            (entry.current, entry.count) = (MatchKind::None, 0);
        }
    }

    fn finish(mut self) -> Ranking {
        let mut found = Vec::new();
        for number in self.found {
            let at = number as usize;
            let Some(entry) = self.entries.get_mut(at) else {
                continue;
            };
            if entry.parts > 0 && entry.parts == self.index.name_words(at) {
                entry.total += entry.whole;
            }
            found.push((entry.total, number));
        }
        found.sort_unstable_by_key(|&(score, number)| (u32::MAX - score, number));
        Ranking {
            found,
            scores: self.entries,
            words: self.words,
        }
    }
}

/// Returns the weight of a word: 1 if one entry has it, 0.5 if all have.
#[expect(clippy::cast_precision_loss, reason = "a weight may be rounded")]
fn weight(matching: usize, all: usize) -> f32 {
    let (matching, all) = (matching.max(1) as f32, all.max(2) as f32);
    0.5 + 0.5 * ((all / matching).ln() / all.ln()).clamp(0.0, 1.0)
}

/// Returns the share that BM25 gives for a number of matches in an entry of this length.
fn saturation(count: u32, length: f32) -> f32 {
    #[expect(clippy::cast_possible_truncation, reason = "two small constants")]
    let (k1, b) = (Bm25::DOCUMENTS.k1 as f32, Bm25::DOCUMENTS.b as f32);
    #[expect(clippy::cast_precision_loss, reason = "counts are small")]
    let count = count as f32;
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
