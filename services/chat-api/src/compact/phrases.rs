//! Finds many phrases in a text in one pass.
//!
//! An Aho–Corasick automaton: the cost depends on the length of the text, not on the number of
//! phrases.

use std::collections::VecDeque;

/// Groups of phrases, found in texts regardless of case.
#[derive(Debug)]
pub(super) struct Phrases {
    /// Transitions, by state and then by class.
    next: Vec<u16>,
    /// Groups with a phrase that ends in a state.
    found: Vec<Groups>,
    /// Class of each byte. Class 0 holds all bytes that are in no phrase.
    classes: [u8; 256],
    width: usize,
}

/// Set of groups as bits, with the first group in the lowest bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Groups(u16);

// === impl Phrases ===

impl Phrases {
    /// Builds the automaton from phrases in lower-case ASCII.
    pub(super) fn new(groups: &[&[&str]]) -> Self {
        let (classes, width) = classes(groups);
        let mut this = Self {
            next: vec![0; width],
            found: vec![Groups::default()],
            classes,
            width,
        };
        for (group, phrases) in groups.iter().enumerate() {
            for phrase in *phrases {
                this.add(phrase, Groups::only(group));
            }
        }
        this.link();
        this
    }

    /// Returns the groups with a phrase in this text; stops at the first group of `enough`.
    pub(super) fn find(&self, text: &str, enough: Groups) -> Groups {
        self.run(text.bytes(), enough)
    }

    /// Same as `find`, but any white space in the text matches one space.
    pub(super) fn find_spaced(&self, text: &str) -> Groups {
        let mut after_space = false;
        let spaced = text.bytes().filter_map(move |byte| {
            let is_space = byte.is_ascii_whitespace();
            let is_more = is_space && after_space;
            after_space = is_space;
            match (is_more, is_space) {
                (true, _) => None,
                (false, true) => Some(b' '),
                (false, false) => Some(byte),
            }
        });
        self.run(spaced, Groups::default())
    }

    fn run(&self, bytes: impl Iterator<Item = u8>, enough: Groups) -> Groups {
        let (mut state, mut found) = (0, 0);
        for byte in bytes {
            let class = usize::from(self.classes[usize::from(byte)]);
            state = usize::from(self.next[state * self.width + class]);
            found |= self.found[state].0;
            if found & enough.0 != 0 {
                break;
            }
        }
        Groups(found)
    }

    fn add(&mut self, phrase: &str, group: Groups) {
        let mut state = 0;
        for byte in phrase.bytes() {
            let at = state * self.width + usize::from(self.classes[usize::from(byte)]);
            if self.next[at] == 0 {
                let new = u16::try_from(self.found.len()).expect("our phrases are few");
                self.next[at] = new;
                self.next.resize(self.next.len() + self.width, 0);
                self.found.push(Groups::default());
            }
            state = usize::from(self.next[at]);
        }
        self.found[state].0 |= group.0;
    }

    /// Adds fallbacks from each state to the longest other phrase prefix that ends there.
    fn link(&mut self) {
        let mut fallbacks = vec![0; self.found.len()];
        let mut queue = VecDeque::from([0]);
        while let Some(state) = queue.pop_front() {
            let fallback = fallbacks[state];
            for class in 0..self.width {
                let otherwise = self.next[usize::from(fallback) * self.width + class];
                let at = state * self.width + class;
                let child = usize::from(self.next[at]);
                if child == 0 {
                    self.next[at] = otherwise;
                    continue;
                }
                // The fallback of the root is the root itself.
                if state != 0 {
                    fallbacks[child] = otherwise;
                    self.found[child].0 |= self.found[usize::from(otherwise)].0;
                }
                queue.push_back(child);
            }
        }
    }
}

/// Numbers the bytes of the phrases; capitals share the class of their small letters.
fn classes(groups: &[&[&str]]) -> ([u8; 256], usize) {
    let mut classes = [0; 256];
    let mut width = 1;
    for byte in groups
        .iter()
        .copied()
        .flatten()
        .flat_map(|phrase| phrase.bytes())
    {
        if classes[usize::from(byte)] == 0 {
            classes[usize::from(byte)] = width;
            classes[usize::from(byte.to_ascii_uppercase())] = width;
            width += 1;
        }
    }
    (classes, width.into())
}

// === impl Groups ===

impl Groups {
    /// Returns the set of one group.
    pub(super) const fn only(group: usize) -> Self {
        Self(1 << group)
    }

    pub(super) fn has(self, group: Self) -> bool {
        self.0 & group.0 != 0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NONE: Groups = Groups(0);

    #[test]
    fn phrases_inside_other_phrases_are_found() {
        let phrases = Phrases::new(&[&["he", "hers"], &["she"], &["his", "sh x"]]);
        for (text, groups) in [
            ("", 0),
            ("h", 0),
            ("USHERS", 0b011),
            ("s h e", 0),
            ("shis", 0b100),
            ("sh x", 0b100),
            ("shhe", 0b001),
            ("\u{212a}he", 0b001),
        ] {
            assert_eq!(phrases.find(text, NONE), Groups(groups), "{text}");
        }
        let spaced = phrases.find_spaced("SH \n\t x");
        assert_eq!(spaced, Groups(0b100));
        assert_eq!(phrases.find("sh  x", NONE), NONE);
    }

    proptest! {
        #[test]
        fn the_automaton_finds_exactly_the_phrases_of_a_text(text in "[abAB ]{0,24}") {
            let groups: [&[&str]; 4] = [&["ab", "bba"], &["aab"], &["b a", "a b a"], &["bb"]];
            let phrases = Phrases::new(&groups);
            let lower = text.to_lowercase();
            let found = phrases.find(&text, NONE);
            for (at, group) in groups.iter().enumerate() {
                let is_there = group.iter().any(|phrase| lower.contains(phrase));
                prop_assert_eq!(found.has(Groups::only(at)), is_there);
            }
        }
    }
}
