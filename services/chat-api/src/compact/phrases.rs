//! Finds many phrases in a text in one pass.

use std::iter;

use aho_corasick::{Anchored, automaton::Automaton as _, dfa::DFA};

/// Groups of phrases, found in texts regardless of case.
#[derive(Debug)]
pub(super) struct Phrases {
    automaton: DFA,
    /// Group of each phrase.
    groups: Vec<Groups>,
}

/// Set of groups as bits, with the first group in the lowest bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Groups(u16);

// === impl Phrases ===

impl Phrases {
    /// Builds the automaton from phrases in lower-case ASCII.
    pub(super) fn new(groups: &[&[&str]]) -> Self {
        let phrases = groups.iter().copied().flatten();
        let automaton = DFA::builder().ascii_case_insensitive(true).build(phrases);
        let groups = groups.iter().enumerate();
        let groups =
            groups.flat_map(|(at, phrases)| iter::repeat_n(Groups::only(at), phrases.len()));
        Self {
            automaton: automaton.expect("our phrases are few"),
            groups: groups.collect(),
        }
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
        let start = self.automaton.start_state(Anchored::No);
        let mut state = start.expect("the automaton is not anchored");
        let mut found = 0;
        for byte in bytes {
            state = self.automaton.next_state(Anchored::No, state, byte);
            if self.automaton.is_match(state) {
                for at in 0..self.automaton.match_len(state) {
                    found |= self.groups[self.automaton.match_pattern(state, at).as_usize()].0;
                }
                if found & enough.0 != 0 {
                    break;
                }
            }
        }
        Groups(found)
    }
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
