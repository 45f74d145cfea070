//! Keeps known secrets out of what is said: those of one client, or of a whole program.
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

/// What of a secret gives it away, in bytes.
const RUN: usize = 6;

/// What of its ends is hidden where the rest of it is left out, in bytes.
const SHORTEST_END: usize = 3;

/// What providers put in the place of what they leave out.
const MASKS: [&str; 4] = ["*", "...", "…", "•"];

/// A secret that is shorter is hidden as a whole only: its runs are words like any other.
const LONG: usize = 12;

/// What is shorter is no secret, and hiding it would hide half the message.
const SHORTEST: usize = 4;

/// Removes secrets from text, whole and in pieces, and whatever else looks like one.
///
/// Providers quote the key they refuse, some of them with stars in its middle.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Those that are too short for pieces.
    short: Vec<Box<[u8]>>,
    runs: HashSet<[u8; RUN]>,
    /// The beginning and the end of those that are long.
    ends: Vec<[[u8; RUN]; 2]>,
}

// === impl Redactor ===

impl Redactor {
    /// Hides one more secret.
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

    /// The text without them, and without what looks like a secret.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        scrub(&self.hide(text)).into_owned()
    }

    /// The text without them, and with all the rest.
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

    /// Which bytes belong to a secret.
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

    /// Hides what is left of a secret on either side of what stands for the rest of it.
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

/// Hides all of what stands without a break around a piece of a secret: another key that has the
/// piece too, as keys of one provider begin alike, must not leave its rest.
fn widen(text: &[u8], mut hidden: &mut [bool]) {
    for run in text.chunk_by(|one, next| is_of_keys(*one) == is_of_keys(*next)) {
        let (marks, others) = mem::take(&mut hidden).split_at_mut(run.len());
        if run.first().copied().is_some_and(is_of_keys) && marks.contains(&true) {
            marks.fill(true);
        }
        hidden = others;
    }
}

/// Says whether keys of providers are made of such bytes. Those that sentences, URLs and masks
/// are made of too are left out.
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
    fn a_secret_goes_whole_and_in_pieces_and_the_rest_stays() {
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
            // Another key that begins or ends like ours, or has a piece of it.
            ("bad: wq8JkLmNabcdef!", "bad: [redacted]!"),
            ("bad: sk-ant-wq8JkLabcdef.", "bad: [redacted]."),
            ("key=abc-Rs7TuV, no", "key=[redacted], no"),
            ("it opensesame123", "it [redacted]123"),
            // Too short for pieces, and too short for a secret.
            ("opense", "opense"),
            ("abc", "abc"),
            // Not ours, but it looks like one.
            ("try sk-ant-abcdef1234", "try [redacted]"),
        ] {
            assert_eq!(redactor.redact(text), expected);
        }
    }

    #[test]
    fn a_redactor_says_nothing_of_its_secrets() {
        let shown = format!("{:?}", redactor(&["wq8JkLmN2pRs7TuV"]));
        assert!(!shown.contains("wq8"), "{shown}");
    }

    proptest! {
        #[test]
        fn no_run_of_a_long_secret_is_left_in_any_text(
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
