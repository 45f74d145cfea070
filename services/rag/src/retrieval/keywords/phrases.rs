//! Phrases in quotes: a row that contains one ranks before all rows that do not.

use ziggurat_search::tokens;

/// Quotation marks, which begin and end a phrase.
const MARKS: [char; 5] = ['"', '“', '”', '„', '«'];

/// Limit on the phrases of a question.
const MAX_PHRASES: usize = 8;

/// The words of each phrase in quotes.
#[derive(Debug, Default)]
pub(super) struct Phrases {
    phrases: Vec<Vec<String>>,
}

// === impl Phrases ===

impl Phrases {
    /// Finds the phrases of at least two words.
    pub(super) fn find(question: &str) -> Self {
        let is_end = |c: char| MARKS.contains(&c) || c == '»';
        let mut parts = question.split(is_end);
        // Every second part is between two marks, except the last, which nothing ends.
        let mut phrases = Vec::new();
        parts.next();
        while let (Some(inside), Some(_)) = (parts.next(), parts.next()) {
            let words: Vec<_> = tokens::words(inside).map(String::from).collect();
            if words.len() > 1 && phrases.len() < MAX_PHRASES {
                phrases.push(words);
            }
        }
        Self { phrases }
    }

    /// Returns the words of each phrase.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[String]> {
        self.phrases.iter().map(Vec::as_slice)
    }

    /// Returns how many of them a text contains.
    pub(super) fn count(&self, text: &str) -> u32 {
        if self.phrases.is_empty() {
            return 0;
        }
        let words: Vec<_> = tokens::words(text).collect();
        let is_in = |phrase: &&Vec<String>| {
            let mut windows = words.windows(phrase.len());
            windows.any(|window| window.iter().zip(*phrase).all(|(one, two)| one == two))
        };
        let found = self.phrases.iter().filter(is_in).count();
        u32::try_from(found).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_of_two_words_or_more_are_found_between_quotation_marks() {
        for (question, expected) in [
            (
                "What is \"dead tuples\" and “Vacuum Full”?",
                vec!["dead tuples", "vacuum full"],
            ),
            ("a \"single\" and an \"open end", vec![]),
            (
                "„tote Tupel“ und «x-ray film»",
                vec!["tote tupel", "ray film"],
            ),
            ("none", vec![]),
            ("\"\" \"a b\"", vec![]),
        ] {
            let phrases = Phrases::find(question);
            let found: Vec<_> = phrases.iter().map(|words| words.join(" ")).collect();
            assert_eq!(found, expected, "{question}");
        }
    }

    #[test]
    fn a_phrase_is_contained_if_its_words_follow_each_other() {
        let phrases = Phrases::find("\"dead tuples\" \"vacuum full\"");
        assert_eq!(phrases.count("VACUUM (FULL) removes dead, tuples."), 2);
        assert_eq!(phrases.count("tuples that are dead"), 0);
        assert_eq!(Phrases::default().count("dead tuples"), 0);
    }
}
