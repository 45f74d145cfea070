//! Words within longer words, for languages that join words.
//!
//! A word of a question counts in part if a text has it in another word: *Schifffahrt* in
//! *Dampfschifffahrt*. Each five letters that follow each other are compared, so the joint may also
//! change letters at the ends.

use std::collections::{BTreeMap, HashMap};

use ziggurat_search::{
    bm25::{Bm25, Collection, Question, TermCounts},
    tokens,
};

/// Number of letters of a part.
pub(super) const LETTERS: usize = 5;

/// Weight of a word that a text has only within others. `benches/rag/collections` measures it.
const WEIGHT: f64 = 0.5;

/// Bits of a letter in a part, enough for the alphabets of Europe.
const LETTER_BITS: u32 = 12;

/// Bits of a part.
const PART_BITS: u64 = (1 << (LETTER_BITS * 5)) - 1;

/// Five letters as one number.
type Part = u64;

/// The parts of the words of a question.
#[derive(Debug, Default)]
pub(super) struct Compounds {
    words: Vec<Word>,
    parts: HashMap<Part, usize>,
    marks: Marks,
}

/// One bit of 4096 for each part: most parts of a text are not among them, and need no lookup.
#[derive(Debug)]
struct Marks([u64; 64]);

/// A word of a question.
#[derive(Debug)]
struct Word {
    /// Place of its lexeme in the question.
    place: usize,
    /// The numbers of its parts.
    parts: Vec<usize>,
}

/// Number of times that each part occurs in a text, by the number of the part.
#[derive(Debug, Default)]
pub(super) struct PartCounts(Box<[(usize, u32)]>);

// === impl Compounds ===

impl Compounds {
    /// Takes the words of a question, and their lexemes.
    pub(super) fn new(
        words: &[&str],
        lexemes: &HashMap<String, Vec<String>>,
        question: &Question,
    ) -> Self {
        let places = question.words();
        let mut compounds = Self::default();
        for word in words {
            let lexeme = lexemes.get(*word).and_then(|lexemes| lexemes.first());
            let place = lexeme.and_then(|lexeme| places.iter().position(|one| one == lexeme));
            let Some(place) = place else {
                continue;
            };
            let parts: Vec<_> = parts(word).map(|part| compounds.number(part)).collect();
            if !parts.is_empty() {
                compounds.words.push(Word { place, parts });
            }
        }
        compounds
    }

    /// Returns whether no words are looked for within others.
    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    fn number(&mut self, part: Part) -> usize {
        let next = self.parts.len();
        self.marks.add(part);
        *self.parts.entry(part).or_insert(next)
    }

    /// Counts the parts in the words of texts, each as often as the weight of its text says.
    pub(super) fn count(&self, texts: &[(&str, u32)]) -> PartCounts {
        let mut counts = BTreeMap::new();
        if self.words.is_empty() {
            return PartCounts::default();
        }
        for (text, weight) in texts {
            let words = tokens::terms(text).filter(|word| word.len() <= tokens::LONGEST_WORD);
            for word in words {
                let marked = parts(&word).filter(|part| self.marks.has(*part));
                for number in marked.filter_map(|part| self.parts.get(&part)) {
                    let count: &mut u32 = counts.entry(*number).or_default();
                    *count = count.saturating_add(*weight);
                }
            }
        }
        PartCounts(counts.into_iter().collect())
    }

    /// Returns what the parts add to the score of a text.
    pub(super) fn score(
        &self,
        found: &PartCounts,
        counts: &TermCounts,
        collection: &Collection,
    ) -> f64 {
        if found.0.is_empty() {
            return 0.0;
        }
        let of_part = |number: &usize| {
            let at = found.0.binary_search_by_key(number, |(number, _)| *number);
            let count = at.map_or(0, |at| found.0[at].1);
            Bm25::DOCUMENTS.saturation(count, counts.length(), collection.average_length)
        };
        let of_word = |word: &Word| {
            let sum: f64 = word.parts.iter().map(of_part).sum();
            let parts = u32::try_from(word.parts.len()).map_or(f64::INFINITY, f64::from);
            collection.weight(word.place) * sum / parts
        };
        WEIGHT * self.words.iter().map(of_word).sum::<f64>()
    }
}

// === impl PartCounts ===

impl PartCounts {
    /// Returns whether there are no parts.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

// === impl Marks ===

impl Default for Marks {
    fn default() -> Self {
        Self([0; 64])
    }
}

impl Marks {
    /// Returns the place of a part: a word of bits, and a bit in it.
    fn place(part: Part) -> (usize, u64) {
        let [low, high, ..] = (part.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32).to_le_bytes();
        (usize::from(high % 64), 1 << (low % 64))
    }

    fn add(&mut self, part: Part) {
        let (at, bit) = Self::place(part);
        self.0[at] |= bit;
    }

    fn has(&self, part: Part) -> bool {
        let (at, bit) = Self::place(part);
        self.0[at] & bit != 0
    }
}

/// Returns each five letters of a word that follow each other.
fn parts(word: &str) -> impl Iterator<Item = Part> {
    let letters = word.chars().scan(0, |part: &mut Part, letter| {
        *part = (*part << LETTER_BITS | u64::from(u32::from(letter) & 0xfff)) & PART_BITS;
        Some(*part)
    });
    letters.skip(LETTERS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_has_a_part_for_each_five_letters() {
        let all = |word| parts(word).collect::<Vec<_>>();
        assert_eq!(all("schiff"), [all("schif"), all("chiff")].concat());
        assert_eq!(all("größe").len(), 1);
        assert_ne!(all("größe"), all("große"));
        assert!(all("fahr").is_empty() && all("").is_empty());
    }

    #[test]
    fn a_word_within_another_adds_to_the_score_and_a_part_of_it_adds_less() {
        let words = ["schifffahrt", "und"];
        let lexemes = HashMap::from([("schifffahrt".to_owned(), vec!["schifffahrt".to_owned()])]);
        let question = Question::new(["schifffahrt"]);
        let compounds = Compounds::new(&words, &lexemes, &question);
        let collection = Collection {
            documents: 100.0,
            average_length: 2.0,
            frequencies: vec![3.0],
        };
        let score = |text: &str| {
            let found = compounds.count(&[(text, 1)]);
            let counts = question.count_terms(tokens::terms(text));
            compounds.score(&found, &counts, &collection)
        };
        let whole = score("Donau Dampfschifffahrt");
        let part = score("ein Schiffchen");
        assert!(whole > part && part > 0.0, "{whole} {part}");
        assert!(score("ein Boot").abs() < 1e-9);
        assert!(score("").abs() < 1e-9);
    }
}
