//! The words of texts that may have a lexeme of a question.
//!
//! PostgreSQL knows which forms of a word have the same lexeme: *tuple* and *tuples* have *tupl*.
//! To ask it for every word of every text would take too long. A word and its lexeme begin alike,
//! so only words that begin like a wanted lexeme are looked up, and each only once.

use std::collections::{HashMap, HashSet};

use ziggurat_search::{
    bm25::{Question, TermCounts},
    tokens,
};

/// Number of letters that are compared.
const COMPARED: usize = 4;

/// Number of the remainders of two letters.
const PAIRS: usize = 1024;

/// Limit on the cached words.
const MAX_KNOWN: usize = 16_384;

/// The beginnings of the lexemes of a question.
#[derive(Debug)]
pub(super) struct Beginnings {
    all: Vec<Beginning>,
    /// A bit for each remainder of two first letters: most words of a text have others, and need
    /// no further look.
    pairs: [u64; PAIRS / 64],
}

/// The first letters of a lexeme.
#[derive(Debug, PartialEq)]
struct Beginning {
    letters: [char; COMPARED],
    /// Number of the letters that are compared.
    length: usize,
}

/// The words of a text that begin like a lexeme of a question.
#[derive(Debug, Default)]
pub(super) struct AlikeWords {
    words: Box<[(Box<str>, u32)]>,
    /// Number of all words of the text.
    length: u32,
}

/// Cache of what PostgreSQL knows about words.
#[derive(Debug)]
pub(super) struct WordCache<T> {
    known: HashMap<String, T>,
}

// === impl Beginnings ===

impl Beginnings {
    pub(super) fn new(lexemes: &[&str]) -> Self {
        let mut all: Vec<Beginning> = Vec::new();
        let mut pairs = [0; PAIRS / 64];
        for lexeme in lexemes {
            // The last letter may change: *happi* is the lexeme of *happy*, and *use* of *using*.
            let length = lexeme.chars().take(COMPARED + 1).count();
            let letters = letters(lexeme);
            let pair = pair(letters[0], letters[1]);
            pairs[pair / 64] |= 1 << (pair % 64);
            let beginning = Beginning {
                letters,
                length: length.saturating_sub(1).clamp(2, COMPARED),
            };
            if !all.contains(&beginning) {
                all.push(beginning);
            }
        }
        Self { all, pairs }
    }

    fn fit(&self, word: &str) -> bool {
        let pair = match *word.as_bytes() {
            [first, second, ..] if first.is_ascii() && second.is_ascii() => {
                pair(small(first.into()), small(second.into()))
            }
            _ => {
                let letters = letters(word);
                pair(letters[0], letters[1])
            }
        };
        if self.pairs[pair / 64] >> (pair % 64) & 1 == 0 {
            return false;
        }
        let letters = letters(word);
        let mut all = self.all.iter();
        all.any(|it| it.letters[..it.length] == letters[..it.length])
    }

    /// Counts the words of texts that begin like one of the lexemes, each as often as the weight of its
    /// text says.
    pub(super) fn count(&self, texts: &[(&str, u32)]) -> AlikeWords {
        let mut length = 0_u32;
        let mut words: Vec<(Box<str>, u32)> = Vec::new();
        for &(text, weight) in texts {
            let terms = tokens::written_terms(text);
            let terms = terms.inspect(|_| length = length.saturating_add(weight));
            let alike = terms.filter(|word| word.len() <= tokens::LONGEST_WORD && self.fit(word));
            words.extend(alike.map(|word| (Box::from(tokens::lower(word)), weight)));
        }
        words.sort_unstable();
        words.dedup_by(|(word, weight), (kept, sum)| {
            let is_same = word == kept;
            if is_same {
                *sum = sum.saturating_add(*weight);
            }
            is_same
        });
        AlikeWords {
            words: words.into(),
            length,
        }
    }
}

/// Returns the first letters of a word, which may be fewer.
fn letters(word: &str) -> [char; COMPARED] {
    let mut letters = ['\0'; COMPARED];
    for (place, letter) in letters.iter_mut().zip(word.chars()) {
        *place = without_accent(small(letter));
    }
    letters
}

/// Returns a letter without its accent, which a lexeme may lack.
fn without_accent(letter: char) -> char {
    match letter {
        'à'..='å' => 'a',
        'è'..='ë' => 'e',
        'ì'..='ï' => 'i',
        'ò'..='ö' => 'o',
        'ù'..='ü' => 'u',
        'ç' => 'c',
        'ñ' => 'n',
        'ß' => 's',
        'ё' => 'е',
        letter => letter,
    }
}

/// Returns the lower case of a letter.
fn small(letter: char) -> char {
    if letter.is_ascii() {
        letter.to_ascii_lowercase()
    } else {
        letter.to_lowercase().next().unwrap_or(letter)
    }
}

/// Returns the lowest bits of two letters.
fn pair(first: char, second: char) -> usize {
    let remainder = |letter: char| usize::from(u32::from(letter).to_le_bytes()[0] & 31);
    remainder(first) << 5 | remainder(second)
}

// === impl AlikeWords ===

impl AlikeWords {
    /// Returns whether there are no such words.
    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(|(word, _)| &**word)
    }

    /// Counts the lexemes of the question.
    pub(super) fn term_counts(
        &self,
        question: &Question,
        lexemes: &HashMap<String, Vec<String>>,
    ) -> TermCounts {
        let counts = self.words.iter().flat_map(|(word, count)| {
            let lexemes = lexemes.get(&**word).into_iter().flatten();
            lexemes.map(move |lexeme| (lexeme, *count))
        });
        question.count(counts, self.length)
    }
}

// === impl WordCache ===

impl<T> Default for WordCache<T> {
    fn default() -> Self {
        Self {
            known: HashMap::new(),
        }
    }
}

impl<T: Clone> WordCache<T> {
    /// Returns the words with a known value, and the unknown words, each once.
    pub(super) fn split(&self, words: &[&str]) -> (HashMap<String, T>, Vec<String>) {
        let (mut known, mut unknown) = (HashMap::new(), Vec::new());
        let mut seen = HashSet::new();
        for &word in words {
            if !seen.insert(word) {
                continue;
            }
            match self.known.get(word) {
                Some(value) => {
                    known.insert(word.to_owned(), value.clone());
                }
                None => unknown.push(word.to_owned()),
            }
        }
        (known, unknown)
    }

    pub(super) fn add(&mut self, words: impl IntoIterator<Item = (String, T)>) {
        if self.known.len() > MAX_KNOWN {
            // Words that are still in use are loaded again.
            self.known.clear();
        }
        self.known.extend(words);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_begin_like_a_lexeme_are_counted() {
        let beginnings = Beginnings::new(&["tupl", "use", "happi", "haus", "数据", "é"]);
        let text = "Tuples, a tuple, using used abuse HAPPY häuser 数据库 tulip e é x42";
        let found = beginnings.count(&[(text, 1)]);
        let words: Vec<_> = found.words().collect();
        let expected = [
            "happy", "häuser", "tuple", "tuples", "used", "using", "é", "数据",
        ];
        assert_eq!(words, expected);
        assert_eq!(found.length, 12);
    }

    #[test]
    fn forms_of_a_word_count_as_one_term() {
        let beginnings = Beginnings::new(&["tupl", "dead"]);
        let found = beginnings.count(&[("Tuples and a tuple; tupling deadly", 1)]);
        let lexemes = [("tuples", "tupl"), ("tuple", "tupl"), ("deadly", "dead")];
        let lexemes = lexemes.map(|(word, lexeme)| (word.to_owned(), vec![lexeme.to_owned()]));
        let question = Question::new(["dead", "tupl"]);
        let counts = found.term_counts(&question, &HashMap::from(lexemes));
        let expected = question.count([("tupl", 2), ("dead", 1)], 4);
        assert_eq!(counts, expected);
    }

    #[test]
    fn words_of_a_column_count_as_often_as_its_weight_says() {
        let beginnings = Beginnings::new(&["fern", "moss"]);
        let found = beginnings.count(&[("a fern and moss", 1), ("the fern", 3)]);
        let question = Question::new(["fern", "moss"]);
        let lexemes = ["fern", "moss"].map(|word| (word.to_owned(), vec![word.to_owned()]));
        let counts = found.term_counts(&question, &HashMap::from(lexemes));
        assert_eq!(counts, question.count([("fern", 4), ("moss", 1)], 5));
    }

    #[test]
    fn a_cache_is_bounded_and_returns_each_unknown_word_once() {
        let mut cache = WordCache::default();
        cache.add([("wool".to_owned(), 7)]);
        let (known, unknown) = cache.split(&["wool", "fern", "fern", "wool"]);
        assert_eq!(known, HashMap::from([("wool".to_owned(), 7)]));
        assert_eq!(unknown, ["fern"]);
        for number in 0..3 * MAX_KNOWN {
            cache.add([(number.to_string(), number)]);
            assert!(cache.known.len() <= MAX_KNOWN + 1);
        }
    }
}
