//! Removes known secrets of one client, or of a whole program, from messages.
//!
//! ```
//! use ziggurat_runtime::redact::Redactor;
//!
//! let mut redactor = Redactor::default();
//! redactor.add(b"wq8JkLmN2pRs7TuV");
//! assert_eq!(redactor.redact("bad key: wq8JkLmN****"), "bad key: [redacted]****");
//! ```

use std::{collections::HashSet, fmt, mem};

use ziggurat_layers::sanitize::{REDACTED, scrub};

/// Length of the part of a secret that must not be shown, in bytes.
const RUN: usize = 6;

/// Length of the ends of a secret that are hidden around a mask, in bytes.
const SHORTEST_END: usize = 3;

/// Masks that providers put in place of a part of a key.
const MASKS: [&str; 4] = ["*", "...", "…", "•"];

/// Minimum length for hiding parts: parts of shorter secrets may be ordinary words.
const LONG: usize = 12;

/// Minimum length of a secret: hiding shorter texts would hide half of the message.
const SHORTEST: usize = 4;

/// Removes secrets from text, whole and in parts, and other text that looks like a secret.
///
/// Providers quote the key they refuse, some of them with its middle masked.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Secrets that are hidden only as a whole.
    short: Vec<Box<[u8]>>,
    runs: HashSet<[u8; RUN]>,
    /// Beginnings and ends of the long secrets.
    ends: Vec<[[u8; RUN]; 2]>,
}

// === impl Redactor ===

impl Redactor {
    /// Adds a secret to hide.
    pub fn add(&mut self, secret: &[u8]) {
        if secret.len() >= LONG {
            self.runs.extend(
                secret
                    .windows(RUN)
                    .filter_map(|run| <[u8; RUN]>::try_from(run).ok()),
            );
            let ends = secret.first_chunk().zip(secret.last_chunk());
            let ends = ends.map(|(start, end)| [*start, *end]);
            self.ends
                .extend(ends.filter(|ends| !self.ends.contains(ends)));
        } else if secret.len() >= SHORTEST && !self.short.iter().any(|known| **known == *secret) {
            self.short.push(secret.into());
        }
    }

    /// Returns the text without the secrets, and without text that looks like one.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        scrub(&self.hide(text)).into_owned()
    }

    /// Returns the text without the secrets, otherwise unchanged.
    #[must_use]
    pub fn hide(&self, text: &str) -> String {
        let hidden = self.hidden(text.as_bytes());
        let mut shown = String::with_capacity(text.len());
        let mut is_hiding = false;
        for (at, letter) in text.char_indices() {
            let is_hidden = hidden[at..at + letter.len_utf8()].contains(&true);
            if !is_hidden {
                shown.push(letter);
            } else if !is_hiding {
                shown.push_str(REDACTED);
            }
            is_hiding = is_hidden;
        }
        shown
    }

    /// Marks the bytes that belong to a secret.
    fn hidden(&self, text: &[u8]) -> Vec<bool> {
        let mut hidden = vec![false; text.len()];
        for (at, run) in text.windows(RUN).enumerate() {
            if self.runs.contains(run) {
                hidden[at..at + RUN].fill(true);
            }
        }
        self.hide_ends(text, &mut hidden);
        widen(text, &mut hidden);
        for secret in &self.short {
            for (at, window) in text.windows(secret.len()).enumerate() {
                if window == &**secret {
                    hidden[at..at + secret.len()].fill(true);
                }
            }
        }
        hidden
    }

    /// Marks the ends of a secret on both sides of a mask.
    fn hide_ends(&self, text: &[u8], hidden: &mut [bool]) {
        for mask in MASKS.map(str::as_bytes) {
            let places = text.windows(mask.len()).enumerate();
            for (at, _) in places.filter(|(_, window)| *window == mask) {
                let (before, after) = (&text[..at], &text[at + mask.len()..]);
                for [start, end] in &self.ends {
                    for length in SHORTEST_END..RUN {
                        if before.ends_with(&start[..length]) {
                            hidden[at - length..at].fill(true);
                        }
                        if after.starts_with(&end[RUN - length..]) {
                            let from = at + mask.len();
                            hidden[from..from + length].fill(true);
                        }
                    }
                }
            }
        }
    }
}

/// Extends each mark to the whole key around it. Keys of one provider begin alike, so a part may
/// match another key, and the rest of that key must not be shown.
fn widen(text: &[u8], mut hidden: &mut [bool]) {
    for run in text.chunk_by(|one, next| is_of_keys(*one) == is_of_keys(*next)) {
        let (marks, others) = mem::take(&mut hidden).split_at_mut(run.len());
        if run.first().copied().is_some_and(is_of_keys) && marks.contains(&true) {
            marks.fill(true);
        }
        hidden = others;
    }
}

/// Returns whether keys of providers consist of such bytes, except for those that are usual in
/// sentences, URLs and masks.
fn is_of_keys(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'+')
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn redactor(secrets: &[&str]) -> Redactor {
        let mut redactor = Redactor::default();
        for secret in secrets {
            redactor.add(secret.as_bytes());
        }
        redactor
    }

    #[test]
    fn a_secret_is_hidden_whole_and_in_parts_and_the_rest_stays() {
        let redactor = redactor(&["wq8JkLmN2pRs7TuV", "opensesame", "abc"]);
        for (text, expected) in [
            ("no key here", "no key here"),
            ("bad: wq8JkLmN2pRs7TuV!", "bad: [redacted]!"),
            ("bad: wq8JkL*****Rs7TuV", "bad: [redacted]*****[redacted]"),
            ("bad: wq8***7TuV.", "bad: [redacted]***[redacted]."),
            ("bad: wq8J...TuV", "bad: [redacted]...[redacted]"),
            ("bad: wq8J…TuV", "bad: [redacted]…[redacted]"),
            ("two of it: wq**uV", "two of it: wq**uV"),
            ("ein Schlüssel: öwq8JkLmö", "ein Schlüssel: ö[redacted]ö"),
            ("five of it: wq8Jk", "five of it: wq8Jk"),
            ("opensesame, said he", "[redacted], said he"),
            // Another key with the same beginning, end or part.
            ("bad: wq8JkLmNabcdef!", "bad: [redacted]!"),
            ("bad: sk-ant-wq8JkLabcdef.", "bad: [redacted]."),
            ("key=abc-Rs7TuV, no", "key=[redacted], no"),
            ("it opensesame123", "it [redacted]123"),
            // Too short for parts, and too short for a secret.
            ("opense", "opense"),
            ("abc", "abc"),
            // Not added, but it looks like a secret.
            ("try sk-ant-abcdef1234", "try [redacted]"),
        ] {
            assert_eq!(redactor.redact(text), expected);
        }
    }

    #[test]
    fn debug_output_of_a_redactor_has_no_secrets() {
        let shown = format!("{:?}", redactor(&["wq8JkLmN2pRs7TuV"]));
        assert!(!shown.contains("wq8"), "{shown}");
    }

    proptest! {
        #[test]
        fn no_part_of_a_long_secret_is_left_in_any_text(
            before in "\\PC{0,20}",
            secret in "[a-zA-Z0-9]{12,40}",
            from in 0_usize..6,
            after in "\\PC{0,20}",
        ) {
            let redacted = redactor(&[&secret]).redact(&format!("{before}{}{after}", &secret[from..]));
            for run in secret.as_bytes().windows(RUN) {
                let run = std::str::from_utf8(run).expect("ASCII");
                prop_assert!(!redacted.contains(run) || REDACTED.contains(run), "{}", redacted);
            }
        }
    }
}
