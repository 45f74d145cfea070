//! String interner: equal texts are stored once.

use std::collections::HashMap;

/// Texts, stored in one buffer.
pub(super) struct Interner {
    text: String,
    /// End of each text, which is the start of the next one.
    ends: Vec<u32>,
}

/// Index of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct TextId(u32);

/// Texts that are still being collected.
#[derive(Default)]
pub(super) struct InternerBuilder {
    words: Interner,
    known: HashMap<Box<str>, TextId>,
}

// === impl TextId ===

impl TextId {
    /// The empty text.
    pub(super) const EMPTY: Self = Self(0);
}

// === impl Interner ===

impl Interner {
    pub(super) fn text(&self, word: TextId) -> &str {
        let index = word.0 as usize;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start as usize..self.ends[index] as usize]
    }
}

impl Default for Interner {
    fn default() -> Self {
        Self {
            text: String::new(),
            ends: vec![0],
        }
    }
}

// === impl InternerBuilder ===

impl InternerBuilder {
    /// Stores a text, unless it is already stored.
    ///
    /// Returns `None` if the texts would exceed `limit` bytes.
    pub(super) fn keep(&mut self, text: &str, limit: usize) -> Option<TextId> {
        if text.is_empty() {
            return Some(TextId::EMPTY);
        }
        if let Some(&word) = self.known.get(text) {
            return Some(word);
        }
        let Interner { text: all, ends } = &mut self.words;
        let end = all.len() + text.len();
        if end > limit {
            return None;
        }
        let word = TextId(u32::try_from(ends.len()).ok()?);
        ends.push(u32::try_from(end).ok()?);
        all.push_str(text);
        self.known.insert(text.into(), word);
        Some(word)
    }

    /// Returns the texts, without the map for finding equal ones.
    pub(super) fn finish(mut self) -> Interner {
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
        let mut builder = InternerBuilder::default();
        let words: Vec<_> = ["id", "", "größe", "id", "x"]
            .map(|text| builder.keep(text, 100).expect("there is room"))
            .into();
        let kept = builder.finish();
        let texts: Vec<_> = words.iter().map(|&word| kept.text(word)).collect();
        assert_eq!(texts, ["id", "", "größe", "id", "x"]);
        assert_eq!(words[0], words[3]);
        assert_eq!(kept.text, "idgrößex");
    }

    #[test]
    fn what_is_beyond_the_limit_is_not_kept() {
        let mut builder = InternerBuilder::default();
        assert!(builder.keep("four", 8).is_some());
        assert!(builder.keep("fives", 8).is_none());
        assert!(builder.keep("also", 8).is_some());
        assert!(builder.keep("four", 8).is_some(), "it is there");
    }
}
