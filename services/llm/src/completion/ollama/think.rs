//! Removes the thoughts of a model at the very beginning of a reply: `<think>…</think>`.

use std::mem;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Maximum white space at the beginning, in bytes.
const MAX_BLANK: usize = 4096;

/// Removes the thoughts from the beginning of a reply that arrives in pieces.
#[derive(Debug)]
pub(super) enum ThoughtFilter {
    /// Not known yet: the text so far.
    Unclear(String),
    /// Inside the thoughts: the last text, which may contain the start of the end tag.
    Open(String),
    /// After the thoughts, before the reply.
    Closed,
    /// There are no thoughts, or no more.
    Over,
}

// === impl ThoughtFilter ===

impl ThoughtFilter {
    /// Takes the next piece, and returns the part of the text so far that belongs to the reply.
    pub(super) fn drop_from(&mut self, piece: String) -> Option<String> {
        let rest = match self {
            Self::Over => piece,
            Self::Unclear(held) => {
                held.push_str(&piece);
                let text = held.trim_start();
                if let Some(thought) = text.strip_prefix(OPEN) {
                    let thought = thought.to_owned();
                    *self = Self::Open(String::new());
                    return self.drop_from(thought);
                }
                if OPEN.starts_with(text) && held.len() < MAX_BLANK {
                    return None;
                }
                let held = mem::take(held);
                *self = Self::Over;
                held
            }
            Self::Open(tail) => {
                tail.push_str(&piece);
                let Some(end) = tail.find(CLOSE) else {
                    // The tail may contain all but the last character of the end tag.
                    let keep = tail.len().saturating_sub(CLOSE.len() - 1);
                    tail.drain(..tail.ceil_char_boundary(keep));
                    return None;
                };
                let rest = tail.split_off(end + CLOSE.len());
                *self = Self::Closed;
                return self.drop_from(rest);
            }
            Self::Closed => {
                let text = piece.trim_start();
                if text.is_empty() {
                    return None;
                }
                let text = text.to_owned();
                *self = Self::Over;
                text
            }
        };
        Some(rest).filter(|rest| !rest.is_empty())
    }

    /// Returns the text that was held back and belongs to the reply.
    pub(super) fn finish(&mut self) -> Option<String> {
        match mem::replace(self, Self::Over) {
            Self::Unclear(held) => Some(held).filter(|held| !held.is_empty()),
            Self::Open(_) | Self::Closed | Self::Over => None,
        }
    }
}

impl Default for ThoughtFilter {
    fn default() -> Self {
        Self::Unclear(String::new())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn answer(pieces: &[&str]) -> String {
        let mut thoughts = ThoughtFilter::default();
        let mut answer = String::new();
        for piece in pieces {
            answer.extend(thoughts.drop_from((*piece).to_owned()));
        }
        answer.extend(thoughts.finish());
        answer
    }

    #[test]
    fn thoughts_are_dropped_from_the_beginning_and_nowhere_else() {
        for (whole, expected) in [
            ("", ""),
            ("Five.", "Five."),
            ("<think>two and three</think>Five.", "Five."),
            ("<think>\ntwo\n</think>\n\nFive.\n", "Five.\n"),
            ("\n <think></think>Five.", "Five."),
            ("<think>two and three", ""),
            ("<think>a</think>", ""),
            ("<thinking>Five.", "<thinking>Five."),
            ("<thin", "<thin"),
            (" \n", " \n"),
            (" Five.", " Five."),
            ("Five: <think>no</think>", "Five: <think>no</think>"),
            ("<think>a</think>b<think>c</think>d", "b<think>c</think>d"),
            ("<think>größer</thinkk></think>ö", "ö"),
        ] {
            assert_eq!(answer(&[whole]), expected, "{whole:?}");
            let characters: Vec<String> = whole.chars().map(String::from).collect();
            let pieces: Vec<_> = characters.iter().map(String::as_str).collect();
            assert_eq!(
                answer(&pieces),
                expected,
                "{whole:?}, a character at a time"
            );
        }
    }

    #[test]
    fn long_thoughts_are_not_kept() {
        let mut thoughts = ThoughtFilter::default();
        assert_eq!(thoughts.drop_from("<think>".to_owned()), None);
        for _ in 0..100 {
            assert_eq!(thoughts.drop_from("hm, ö. ".repeat(100)), None);
            let ThoughtFilter::Open(tail) = &thoughts else {
                panic!("still thinking");
            };
            assert!(tail.len() < CLOSE.len());
        }
    }

    proptest! {
        #[test]
        fn an_answer_is_the_same_for_any_split(
            pieces in prop::collection::vec("(<think>|</think>|<|/|[th>ö \n]){0,4}", 0..8),
        ) {
            let whole = pieces.concat();
            let expected = answer(&[whole.as_str()]);
            let pieces: Vec<_> = pieces.iter().map(String::as_str).collect();
            prop_assert_eq!(answer(&pieces), expected);
        }
    }
}
