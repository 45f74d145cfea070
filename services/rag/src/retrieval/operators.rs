//! Operators in questions: `-word` leaves out texts with this word, and `word*` finds all words that
//! begin so.
//!
//! Questions also name options of programs, such as `-v`. So operators have to be permitted, and in
//! doubt a word is not an operator.

/// Minimum length of the beginning of a word, in characters.
const MIN_PREFIX: usize = 3;

/// Limit on the operators of each kind.
const MAX_OPERATORS: usize = 16;

/// Marks between which nothing is an operator.
const QUOTES: [char; 6] = ['"', '“', '”', '„', '«', '»'];

/// The operators of a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operators {
    /// The question without them.
    pub(crate) text: String,
    /// Words that texts must not have.
    pub(super) excluded: Vec<String>,
    /// Beginnings of words.
    pub(super) prefixes: Vec<String>,
}

// === impl Operators ===

impl Operators {
    /// Finds the operators of a question; `None` if it has none, or nothing else.
    pub(super) fn find(question: &str) -> Option<Self> {
        let mut found = Self::default();
        // In a sentence, a word after a dash is more likely to be an option.
        let is_sentence = question.trim_end().ends_with(['?', '？']);
        let mut is_quoted = false;
        let mut has_words = false;
        for part in question.split_inclusive(char::is_whitespace) {
            let word = part.trim_end();
            let quotes = word.chars().filter(|c| QUOTES.contains(c)).count();
            let is_plain = !is_quoted && quotes == 0;
            is_quoted ^= quotes % 2 == 1;
            if let Some(word) = excluded(word).filter(|_| is_plain && !is_sentence) {
                add(&mut found.excluded, word);
                continue;
            }
            match prefix(word).filter(|_| is_plain) {
                Some(word) => {
                    add(&mut found.prefixes, word);
                    found.text.push_str(word);
                    found.text.push(' ');
                }
                None => found.text.push_str(part),
            }
            has_words |= word.contains(char::is_alphanumeric);
        }
        let is_any = !(found.excluded.is_empty() && found.prefixes.is_empty());
        (is_any && has_words).then_some(found)
    }
}

/// Returns the word that is left out.
fn excluded(word: &str) -> Option<&str> {
    let word = word.strip_prefix('-')?;
    let is_word = word.starts_with(char::is_alphabetic) && word.chars().all(char::is_alphanumeric);
    // A single letter is an option.
    (is_word && word.chars().nth(1).is_some()).then_some(word)
}

/// Returns the beginning of words.
fn prefix(word: &str) -> Option<&str> {
    let word = word.strip_suffix('*')?;
    let is_long = word.chars().count() >= MIN_PREFIX;
    (is_long && word.chars().all(char::is_alphanumeric)).then_some(word)
}

fn add(words: &mut Vec<String>, word: &str) {
    let word = word.to_lowercase();
    if words.len() < MAX_OPERATORS && !words.contains(&word) {
        words.push(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_words_with_a_mark_and_nothing_else() {
        for (question, text, excluded, prefixes) in [
            ("vacuum -Full", "vacuum ", &["full"][..], &[][..]),
            ("-full vacuum -freeze", "vacuum ", &["full", "freeze"], &[]),
            ("repli* lag", "repli lag", &[], &["repli"]),
            ("Repli* -slot -slot", "Repli ", &["slot"], &["repli"]),
        ] {
            let found = Operators::find(question).expect(question);
            assert_eq!(found.text, text, "{question}");
            assert_eq!(found.excluded, excluded, "{question}");
            assert_eq!(found.prefixes, prefixes, "{question}");
        }
    }

    #[test]
    fn words_with_dashes_options_numbers_and_quotes_are_no_operators() {
        for question in [
            "a well-known fact",
            "frost below -5 degrees",
            "psql -c",
            "start with --config",
            "set -check-config",
            "What does -verbose do?",
            "\"vacuum -full\" now",
            "count(*) and ab* and **bold**",
            "a - b",
            "-only -excluded",
            "wash, -dry, iron",
            "",
        ] {
            assert_eq!(Operators::find(question), None, "{question}");
        }
    }
}
