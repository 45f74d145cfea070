//! Splits texts into words, for comparing texts.
//!
//! There are two rules, for two specifications: [`words`] for passages that are ranked against each
//! other, [`terms`] for documents that are looked up. Both split at every character that is neither
//! a letter nor a digit, and convert to lower case.
//!
//! ```
//! use ziggurat_search::tokens::{terms, words};
//!
//! assert!(words("The 3 best pans").eq(["the", "3", "best", "pans"]));
//! assert!(terms("The 3 best pans").eq(["best", "pans"]));
//! ```
//!
//! There is no stemming. Chinese and Japanese have no spaces between words, so each two neighbouring
//! letters are a token.

use std::{borrow::Cow, iter, vec};

/// Words that nearly every text contains.
const STOP_WORDS: [&str; 70] = [
    "a", "all", "an", "and", "are", "as", "at", "be", "both", "but", "by", "can", "each", "every",
    "few", "for", "from", "had", "has", "have", "he", "her", "him", "how", "i", "in", "is", "it",
    "its", "just", "me", "more", "most", "my", "no", "not", "now", "of", "on", "only", "or",
    "other", "our", "same", "should", "so", "some", "such", "than", "that", "the", "their", "they",
    "this", "to", "too", "very", "was", "we", "were", "what", "when", "where", "which", "who",
    "why", "will", "with", "you", "your",
];

/// Maximum length of a word in an index of PostgreSQL, in bytes. A longer one is data, such as a
/// key or an encoded picture, and would make a search as expensive as a book does.
pub const LONGEST_WORD: usize = 2046;

/// In bytes. Most words are longer and need no lookup.
const LONGEST_STOP_WORD: usize = 6;

/// The stop words as numbers, each in its own slot. Every word of every text is looked up.
static STOP_NUMBERS: [u64; SLOTS] = {
    let mut numbers = [0; SLOTS];
    let mut place = 0;
    while place < STOP_WORDS.len() {
        let number = number(STOP_WORDS[place]);
        let slot = slot(number, FACTOR);
        assert!(numbers[slot] == 0, "two stop words have one slot");
        numbers[slot] = number;
        place += 1;
    }
    numbers
};

/// Number of bytes that one number has the bits of.
const BLOCK: usize = 64;

const SLOTS: usize = 1024;

/// With this factor no two stop words have the same slot.
const FACTOR: u64 = 0x7dab_e929_c4a3_34bf;

/// Finds runs of letters and digits by a bit for each byte: to look at each byte in turn takes three
/// times as long, since a processor cannot foresee where words end.
struct Runs<'a> {
    text: &'a str,
    letters: Letters,
    block: usize,
    /// The bits of the block that are not read yet.
    left: u64,
    /// The parts of a run with letters of a language without spaces between words.
    parts: vec::IntoIter<&'a str>,
}

/// Tells which bytes of a text are part of a letter or a digit.
struct Letters {
    /// A bit for each byte, and at least one more.
    bits: Vec<u64>,
    /// Says that there are letters of a language without spaces between words.
    has_unspaced: bool,
}

/// Words of documents, as they are written.
struct Terms<'a>(Runs<'a>);

/// Returns the words of a passage, without single letters.
pub fn words(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    runs(text).filter(|run| !is_letter(run))
}

/// Returns the words of a document, without stop words and single bytes.
pub fn terms(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    written_terms(text).map(lower)
}

/// Returns the words of a document as [`terms`] does, but as they are written. To read them is
/// cheaper where few of them are of interest.
pub fn written_terms(text: &str) -> impl Iterator<Item = &str> {
    Terms(Runs::of(text))
}

/// Splits into runs of letters and digits, in lower case.
fn runs(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    Runs::of(text).map(lower)
}

/// Returns a word in lower case.
#[must_use]
pub fn lower(word: &str) -> Cow<'_, str> {
    let is_small = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    // Words are short: to stop at the first other byte would take longer.
    if word.bytes().fold(true, |all, byte| all & is_small(byte)) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(word.to_lowercase())
    }
}

/// Returns the runs of letters and digits that have letters of a language without spaces between
/// words.
pub fn unspaced_runs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|run| is_unspaced_text(run))
}

fn is_unspaced_text(run: &str) -> bool {
    !run.is_ascii() && run.contains(is_unspaced)
}

/// Returns whether a letter is Chinese or Japanese.
pub(crate) fn is_unspaced(letter: char) -> bool {
    matches!(
        letter,
        '\u{3005}'..='\u{3007}'
            | '\u{3041}'..='\u{30ff}'
            | '\u{31f0}'..='\u{31ff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{ff66}'..='\u{ff9f}'
            | '\u{20000}'..='\u{323af}'
    )
}

/// Returns each two neighbouring letters of Chinese and Japanese, and the other parts of a run
/// whole.
fn pairs(run: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = run;
    while let Some(first) = rest.chars().next() {
        let is_other = |c: char| is_unspaced(c) != is_unspaced(first);
        let (part, after) = rest.split_at(rest.find(is_other).unwrap_or(rest.len()));
        rest = after;
        let places: Vec<_> = part.char_indices().map(|(place, _)| place).collect();
        if !is_unspaced(first) || places.len() < 2 {
            tokens.push(part);
            continue;
        }
        let ends = places.iter().skip(2).copied();
        let ends = ends.chain(iter::once(part.len()));
        tokens.extend(
            places
                .iter()
                .zip(ends)
                .map(|(start, end)| &part[*start..end]),
        );
    }
    tokens
}

fn is_stop_word(run: &str) -> bool {
    if run.len() > LONGEST_STOP_WORD {
        return false;
    }
    let number = number(run);
    STOP_NUMBERS[slot(number, FACTOR)] == number
}

/// Returns the bytes of a short word in lower case as a number. Two reads that overlap take less time
/// than a loop.
const fn number(word: &str) -> u64 {
    // Small letters and digits of ASCII have this bit in each byte.
    const SMALL: u64 = 0x2020_2020_2020;
    let bytes = word.as_bytes();
    let four = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>());
    let two = (bytes.first_chunk::<2>(), bytes.last_chunk::<2>());
    let number = if let (Some(first), Some(last)) = four {
        let last = u32::from_le_bytes(*last) as u64;
        u32::from_le_bytes(*first) as u64 | last << (8 * (bytes.len() - 4))
    } else if let (Some(first), Some(last)) = two {
        let last = u16::from_le_bytes(*last) as u64;
        u16::from_le_bytes(*first) as u64 | last << (8 * (bytes.len() - 2))
    } else {
        bytes[0] as u64
    };
    number | SMALL
}

/// Returns the place of a number in a table: the highest ten bits of a product.
const fn slot(number: u64, factor: u64) -> usize {
    let [first, second, ..] = number.wrapping_mul(factor).to_be_bytes();
    (first as usize) << 2 | (second as usize) >> 6
}

fn is_letter(run: &str) -> bool {
    let mut characters = run.chars();
    let first = characters.next();
    first.is_some_and(|c| !c.is_numeric()) && characters.next().is_none()
}

/// Returns the bits of the letters and digits of ASCII.
fn ascii_letters(block: &[u8; BLOCK]) -> u64 {
    let letters = block.map(|byte| u8::from(byte.is_ascii_alphanumeric()));
    let (eights, _) = letters.as_chunks();
    // The product has the lowest bits of all eight bytes in its highest byte.
    let bits =
        |eight: &[u8; 8]| u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    let eights = eights.iter().rev();
    eights.fold(0, |letters, eight| letters << 8 | bits(eight))
}

// === impl Letters ===

impl Letters {
    fn of(text: &str) -> Self {
        let (blocks, rest) = text.as_bytes().as_chunks();
        let mut last = [0; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        let blocks = blocks.iter().chain([&last]);
        let mut letters = Self {
            bits: blocks.map(ascii_letters).collect(),
            has_unspaced: false,
        };
        if !text.is_ascii() {
            let wide = text.char_indices().filter(|(_, c)| !c.is_ascii());
            for (at, letter) in wide.filter(|(_, c)| c.is_alphanumeric()) {
                letters.add(at, letter);
            }
        }
        letters
    }

    fn add(&mut self, at: usize, letter: char) {
        for place in at..at + letter.len_utf8() {
            self.bits[place / BLOCK] |= 1 << (place % BLOCK);
        }
        self.has_unspaced |= is_unspaced(letter);
    }
}

// === impl Runs ===

impl<'a> Runs<'a> {
    fn of(text: &'a str) -> Self {
        let letters = Letters::of(text);
        Self {
            text,
            block: 0,
            left: letters.bits[0],
            letters,
            parts: Vec::new().into_iter(),
        }
    }

    fn next_run(&mut self) -> Option<&'a str> {
        let bits = &self.letters.bits;
        while self.left == 0 {
            self.block += 1;
            self.left = *bits.get(self.block)?;
        }
        let first = self.left.trailing_zeros();
        let start = self.block * BLOCK + first as usize;
        let mut others = !self.left & u64::MAX << first;
        while others == 0 {
            self.block += 1;
            self.left = *bits.get(self.block)?;
            others = !self.left;
        }
        let end = others.trailing_zeros();
        self.left &= u64::MAX << end;
        self.text.get(start..self.block * BLOCK + end as usize)
    }
}

impl<'a> Iterator for Runs<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<Self::Item> {
        if !self.letters.has_unspaced {
            return self.next_run();
        }
        loop {
            if let Some(part) = self.parts.next() {
                return Some(part);
            }
            let run = self.next_run()?;
            if !is_unspaced_text(run) {
                return Some(run);
            }
            self.parts = pairs(run).into_iter();
        }
    }
}

// === impl Terms ===

impl<'a> Iterator for Terms<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<Self::Item> {
        let is_term = |run: &&str| run.len() > 1 && !is_stop_word(run);
        self.0.find(is_term)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_terms_of_a_document_are_those_of_the_specification() {
        let text = "Crème brûlée, C3PO & x-ray: 42 a 7 数据库系统 don't";
        let expected = [
            "crème", "brûlée", "c3po", "ray", "42", "数据", "据库", "库系", "系统", "don",
        ];
        assert!(terms(text).eq(expected));
    }

    #[test]
    fn words_keep_what_terms_drop_but_for_single_letters() {
        let text = "Crème brûlée, C3PO & x-ray: 42 a 7 it don't é 数";
        let expected = ["crème", "brûlée", "c3po", "ray", "42", "7", "it", "don"];
        assert!(words(text).eq(expected));
    }

    #[test]
    fn chinese_and_japanese_are_cut_into_pairs_of_letters_and_korean_is_not() {
        let text = "ISO規格 東京タワー に 데이터베이스 x数";
        let expected = [
            "iso",
            "規格",
            "東京",
            "京タ",
            "タワ",
            "ワー",
            "に",
            "데이터베이스",
            "x",
            "数",
        ];
        let found: Vec<_> = runs(text).collect();
        assert_eq!(found, expected);
        let runs: Vec<_> = unspaced_runs(text).collect();
        assert_eq!(runs, ["ISO規格", "東京タワー", "に", "x数"]);
    }

    #[test]
    fn stop_words_are_found_in_any_case() {
        let longest = STOP_WORDS.iter().map(|word| word.len()).max();
        assert_eq!(longest, Some(LONGEST_STOP_WORD));
        let all = STOP_WORDS.join(" ").to_uppercase();
        assert_eq!(terms(&all).count(), 0);
    }

    proptest! {
        #[test]
        fn tokens_are_lower_case_letters_and_digits_and_not_empty(text: String) {
            for token in words(&text).chain(terms(&text)) {
                prop_assert!(!token.is_empty());
                prop_assert_eq!(token.to_lowercase(), &*token);
            }
        }

        #[test]
        fn runs_are_between_all_other_characters(text in "(\\PC|[a-zA-Z 0-9é.数]){0,200}") {
            let split = text.split(|c: char| !c.is_alphanumeric());
            let expected = split.filter(|run| !run.is_empty()).flat_map(|run| {
                let parts = if is_unspaced_text(run) { pairs(run) } else { vec![run] };
                parts.into_iter().map(str::to_lowercase)
            });
            prop_assert!(runs(&text).eq(expected));
        }

        #[test]
        fn capitals_make_no_difference(text in "[a-zA-Z0-9 .äöüÄÖÜ]*") {
            prop_assert!(words(&text).eq(words(&text.to_lowercase())));
        }
    }
}
