//! Compares claims with the passages that they cite, by the words that both have.
//!
//! There is no model that reads the claim. A mark is doubtful if another passage that was shown has
//! clearly more of the claim than the cited one. Words that only one passage has say more than words
//! that several have, and words that no passage has say nothing: the claim may be a paraphrase, or in
//! another language.

#[cfg(test)]
mod tests;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use ziggurat_search::{sentences::sentences, tokens::terms};

/// Words differ in their endings, so their first letters are compared.
const STEM_LETTERS: usize = 5;

/// Weight of a number of two digits or more. Paraphrases keep numbers.
const NUMBER_WEIGHT: f64 = 2.0;

/// Minimum number of words of a claim that another passage has and the cited one does not.
const LEAST_WORDS: u32 = 2;

/// Minimum weight of these words, as a share of the claim.
const LEAST_SHARE: f64 = 0.2;

/// Minimum weight of the words that the cited passage has and the other one does not, as a share of the
/// weight of the words above. `claims.yaml` in the tests shows what the limits find.
const SUPPORT: f64 = 0.4;

/// The same share for one of several marks of a claim.
const PARTIAL_SUPPORT: f64 = 0.1;

/// Power of the ratio of the lengths of two passages.
const LENGTH_POWER: f64 = 0.25;

/// Frequent words of German and French, sorted. [`terms`] leaves out the English ones.
const FREQUENT_WORDS: [&str; 77] = [
    "auch", "auf", "aus", "aux", "avec", "bei", "cette", "dans", "darf", "das", "dem", "den",
    "der", "des", "die", "durch", "dürfen", "ein", "eine", "einem", "einen", "einer", "eines",
    "elle", "est", "für", "ihr", "ihre", "ils", "ist", "kann", "können", "les", "leur", "mais",
    "man", "mit", "muss", "müssen", "nach", "nicht", "noch", "nous", "nur", "oder", "ont", "par",
    "pas", "plus", "pour", "que", "qui", "sans", "ses", "sich", "sie", "sind", "son", "sont",
    "sur", "tous", "tout", "und", "une", "unter", "von", "vor", "vous", "wenn", "werden", "wie",
    "wird", "wurde", "zum", "zur", "être", "über",
];

/// The words of the passages that were shown.
#[derive(Debug)]
pub(super) struct PassageWords {
    /// The words of each passage, sorted.
    passages: Vec<Vec<Word>>,
}

/// A mark behind a claim.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    /// The index of its passage.
    pub(super) passage: usize,
    /// Set if the claim has other marks, too: then the passage may support a part of it.
    pub(super) is_shared: bool,
}

/// The beginning of a word, or a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Word {
    hash: u64,
    is_number: bool,
}

/// The words of a claim that only one of two passages has: another one, or the cited one.
#[derive(Clone, Copy, Debug, Default)]
struct Comparison {
    other_words: u32,
    other: f64,
    cited: f64,
}

// === impl PassageWords ===

impl PassageWords {
    /// Reads the words of passages, given the texts of each.
    pub(super) fn new<'a, T: IntoIterator<Item = &'a str>>(
        passages: impl Iterator<Item = T>,
    ) -> Self {
        let passages = passages.map(|texts| sorted(texts.into_iter().flat_map(words)));
        Self {
            passages: passages.collect(),
        }
    }

    /// Returns whether the passage of a mark supports the text before the mark. If nothing can be
    /// compared, it does.
    pub(super) fn support(&self, before: &str, mark: Mark) -> bool {
        let line = before.rsplit('\n').next().unwrap_or_default();
        if !line.contains(char::is_alphanumeric) {
            // The mark begins its line: the claim may be behind it.
            return true;
        }
        let paragraph = before.rsplit("\n\n").next().unwrap_or_default().trim();
        let last = sentences(paragraph).filter(|sentence| sentence.contains(char::is_alphanumeric));
        let sentence = last.last().unwrap_or_default();
        self.support_claim(sentence, mark)
            || sentence.len() < paragraph.len() && self.support_claim(paragraph, mark)
    }

    fn support_claim(&self, claim: &str, mark: Mark) -> bool {
        let Some(cited) = self.passages.get(mark.passage) else {
            return true;
        };
        let count = self.passages.iter().map(|_| 1.0).sum::<f64>();
        let mut comparisons = vec![Comparison::default(); self.passages.len()];
        let mut whole = 0.0;
        for word in sorted(words(claim)) {
            let passages = self.passages.iter();
            let holders: Vec<_> = passages.map(|it| it.binary_search(&word).is_ok()).collect();
            let known = holders.iter().filter(|has| **has).map(|_| 1.0).sum::<f64>();
            let weight = (count / known.max(1.0)).ln() * word.weight();
            whole += weight;
            let is_in_cited = cited.binary_search(&word).is_ok();
            for (comparison, is_in_other) in comparisons.iter_mut().zip(holders) {
                comparison.add(weight, is_in_other, is_in_cited);
            }
        }
        let share = if mark.is_shared {
            PARTIAL_SUPPORT
        } else {
            SUPPORT
        };
        let mut others = comparisons.iter().zip(&self.passages);
        !others.any(|(comparison, passage)| {
            let other = comparison.other * length_factor(cited.len(), passage.len());
            comparison.other_words >= LEAST_WORDS
                && other >= LEAST_SHARE * whole
                && comparison.cited < share * other
        })
    }
}

// === impl Word ===

impl Word {
    /// Takes a term; `None` if it says nothing.
    fn of(term: &str) -> Option<Self> {
        let digits = term.bytes().take_while(u8::is_ascii_digit).count();
        let is_number = digits > 1;
        let text = if is_number {
            &term[..digits]
        } else {
            let end = term.char_indices().nth(STEM_LETTERS);
            // Endings and particles of Japanese are in hiragana.
            end.map_or(term, |(end, _)| &term[..end])
                .trim_matches(|letter| matches!(letter, '\u{3041}'..='\u{309f}'))
        };
        let is_short = text.len() < 3 && !is_number;
        if is_short || FREQUENT_WORDS.binary_search(&term).is_ok() {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        Some(Self {
            hash: hasher.finish(),
            is_number,
        })
    }

    fn weight(self) -> f64 {
        if self.is_number { NUMBER_WEIGHT } else { 1.0 }
    }
}

// === impl Comparison ===

impl Comparison {
    fn add(&mut self, weight: f64, is_in_other: bool, is_in_cited: bool) {
        if is_in_other && !is_in_cited {
            self.other_words += 1;
            self.other += weight;
        } else if is_in_cited && !is_in_other {
            self.cited += weight;
        }
    }
}

/// Returns a factor for the words of another passage, given the lengths of both: a longer one has more of
/// any claim by chance.
fn length_factor(cited: usize, other: usize) -> f64 {
    let [cited, other] = [cited, other].map(|words| u32::try_from(words).unwrap_or(u32::MAX));
    let ratio = f64::from(cited) / f64::from(other.max(1));
    ratio.min(1.0).powf(LENGTH_POWER)
}

/// Returns the words of a text.
fn words(text: &str) -> Vec<Word> {
    let text = with_plain_numbers(text);
    terms(&text).filter_map(|term| Word::of(&term)).collect()
}

fn sorted(words: impl IntoIterator<Item = Word>) -> Vec<Word> {
    let mut words: Vec<_> = words.into_iter().collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// Removes the separators from numbers, so that `1,200` and `1.200` are `1200`.
fn with_plain_numbers(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars().map(ascii_digit).peekable();
    while let Some(letter) = letters.next() {
        let is_separator = matches!(
            letter,
            ',' | '，' | '.' | '\'' | '’' | '\u{a0}' | '\u{202f}'
        ) && plain.ends_with(|before: char| before.is_ascii_digit())
            && letters.peek().is_some_and(char::is_ascii_digit);
        if !is_separator {
            plain.push(letter);
        }
    }
    plain
}

/// Converts a digit of full width, as in Japanese texts.
fn ascii_digit(letter: char) -> char {
    match letter {
        '０'..='９' => char::from_digit(u32::from(letter) - u32::from('０'), 10),
        _ => None,
    }
    .unwrap_or(letter)
}
