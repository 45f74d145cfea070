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

use std::{borrow::Cow, iter};

/// Words that nearly every text contains, sorted.
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

/// The stop words as numbers, which are compared at once. Every word of every text is looked up.
const STOP_NUMBERS: [u64; STOP_WORDS.len()] = {
    let mut numbers = [0; STOP_WORDS.len()];
    let mut place = 0;
    while place < numbers.len() {
        numbers[place] = number(STOP_WORDS[place]);
        place += 1;
    }
    numbers
};

/// Returns the words of a passage, without single letters.
pub fn words(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    runs(text).filter(|run| !is_letter(run))
}

/// Returns the words of a document, without stop words and single bytes.
pub fn terms(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    runs(text).filter(|run| run.len() > 1 && !is_stop_word(run))
}

/// Splits into runs of letters and digits, in lower case.
fn runs(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|run| !run.is_empty())
        .flat_map(|run| {
            let has_spaces = !is_unspaced_text(run);
            let pairs = (!has_spaces).then(|| pairs(run));
            let plain = has_spaces.then_some(run);
            plain.into_iter().chain(pairs.into_iter().flatten())
        })
        .map(|run| {
            let is_small = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
            if run.bytes().all(is_small) {
                Cow::Borrowed(run)
            } else {
                Cow::Owned(run.to_lowercase())
            }
        })
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
    run.len() <= LONGEST_STOP_WORD && STOP_NUMBERS.binary_search(&number(run)).is_ok()
}

/// Returns the bytes of a short word as a number. Numbers have the same order as their words.
const fn number(word: &str) -> u64 {
    let mut number = 0;
    let mut place = 0;
    while place < LONGEST_STOP_WORD {
        let byte = if place < word.len() {
            word.as_bytes()[place]
        } else {
            0
        };
        number = number << 8 | byte as u64;
        place += 1;
    }
    number
}

fn is_letter(run: &str) -> bool {
    let mut characters = run.chars();
    let first = characters.next();
    first.is_some_and(|c| !c.is_numeric()) && characters.next().is_none()
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
    fn stop_words_are_in_order_so_that_they_are_found() {
        assert!(STOP_WORDS.is_sorted());
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
        fn capitals_make_no_difference(text in "[a-zA-Z0-9 .äöüÄÖÜ]*") {
            prop_assert!(words(&text).eq(words(&text.to_lowercase())));
        }
    }
}
