//! String interner: equal texts are stored once.

use std::collections::HashMap;

/// Texts, stored in one buffer.
pub(super) struct Words {
    text: String,
    /// End of each text, which is the start of the next one.
    ends: Vec<u32>,
}

/// Index of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word(u32);

/// Texts that are still being collected.
#[derive(Default)]
pub(super) struct Gathering {
    words: Words,
    known: HashMap<Box<str>, Word>,
}

// === impl Word ===

impl Word {
    /// The empty text.
    pub(super) const EMPTY: Self = Self(0);
}

// === impl Words ===

impl Words {
    pub(super) fn text(&self, word: Word) -> &str {
        let index = word.0 as usize;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start as usize..self.ends[index] as usize]
    }
}

impl Default for Words {
    fn default() -> Self {
        Self {
            text: String::new(),
            ends: vec![0],
        }
    }
}

// === impl Gathering ===

impl Gathering {
    /// Stores a text, unless it is already stored.
    ///
    /// Returns `None` if the texts would exceed `limit` bytes.
    pub(super) fn keep(&mut self, text: &str, limit: usize) -> Option<Word> {
        if text.is_empty() {
            return Some(Word::EMPTY);
        }
        if let Some(&word) = self.known.get(text) {
            return Some(word);
        }
        let Words { text: all, ends } = &mut self.words;
        let end = all.len() + text.len();
        if end > limit {
            return None;
        }
        let word = Word(u32::try_from(ends.len()).ok()?);
        ends.push(u32::try_from(end).ok()?);
        all.push_str(text);
        self.known.insert(text.into(), word);
        Some(word)
    }

    /// Returns the texts, without the map for finding equal ones.
    pub(super) fn finish(mut self) -> Words {
        self.words.text.shrink_to_fit();
        self.words.ends.shrink_to_fit();
        self.words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_kept_once_and_read_back() {
        let mut gathering = Gathering::default();
        let words: Vec<_> = ["id", "", "größe", "id", "x"]
            .map(|text| gathering.keep(text, 100).expect("there is room"))
            .into();
        let kept = gathering.finish();
        let texts: Vec<_> = words.iter().map(|&word| kept.text(word)).collect();
        assert_eq!(texts, ["id", "", "größe", "id", "x"]);
        assert_eq!(words[0], words[3]);
        assert_eq!(kept.text, "idgrößex");
    }

    #[test]
    fn what_is_beyond_the_limit_is_not_kept() {
        let mut gathering = Gathering::default();
        assert!(gathering.keep("four", 8).is_some());
        assert!(gathering.keep("fives", 8).is_none());
        assert!(gathering.keep("also", 8).is_some());
        assert!(gathering.keep("four", 8).is_some(), "it is there");
    }
}
