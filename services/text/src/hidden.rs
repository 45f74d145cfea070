//! Characters that a reader does not see, or that change the order of those it sees.
//!
//! A text from a database can use them to say one thing to a person and another to a model.
//! [`escaped`] writes each as `\u{202e}`, with its number.
//!
//! ```
//! use ziggurat_text::hidden;
//!
//! assert_eq!(hidden::escaped("Ada\u{200b}Lovelace"), r"Ada\u{200b}Lovelace");
//! assert_eq!(hidden::escaped("naïve 🙂"), "naïve 🙂");
//! ```

use std::{borrow::Cow, fmt::Write as _};

use crate::scan;

/// A piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Text without hidden characters.
    Visible(&'a str),
    /// One hidden character.
    Hidden(char),
}

/// Iterator over the pieces of a text, made by [`pieces`].
#[derive(Clone, Debug)]
pub struct Pieces<'a> {
    rest: &'a str,
    before: Option<char>,
}

/// Splits a text at its hidden characters: control characters except tabs and line breaks,
/// characters without width, fillers, marks of direction, and variation selectors after another.
///
/// A joiner or non-joiner between two characters outside of ASCII is visible: it changes how Persian
/// and Indic words and emoji look.
#[must_use]
pub fn pieces(text: &str) -> Pieces<'_> {
    Pieces {
        rest: text,
        before: None,
    }
}

/// Returns the text with hidden characters written as `\u{202e}`.
#[must_use]
pub fn escaped(text: &str) -> Cow<'_, str> {
    match pieces(text).next() {
        Some(Piece::Visible(first)) if first.len() == text.len() => Cow::Borrowed(text),
        None => Cow::Borrowed(text),
        Some(_) => Cow::Owned(written(pieces(text))),
    }
}

fn written(pieces: Pieces<'_>) -> String {
    let mut out = String::new();
    for piece in pieces {
        match piece {
            Piece::Visible(text) => out.push_str(text),
            Piece::Hidden(hidden) => {
                write!(out, "{}", hidden.escape_unicode()).expect("a string takes all");
            }
        }
    }
    out
}

// === impl Pieces ===

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let first = self.rest.chars().next()?;
        // Most texts; without decoding characters.
        let rest = self.rest.as_bytes();
        let is_visible = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r');
        if scan::is_plain(rest) || rest.iter().all(is_visible) {
            return Some(self.take(self.rest.len()));
        }
        let mut before = self.before;
        let mut chars = self.rest.char_indices().peekable();
        while let Some((at, found)) = chars.next() {
            let after = chars.peek().map(|(_, after)| *after);
            if is_hidden(before, found, after) {
                if at > 0 {
                    self.before = before;
                    return Some(self.take(at));
                }
                self.before = Some(first);
                self.rest = &self.rest[first.len_utf8()..];
                return Some(Piece::Hidden(first));
            }
            before = Some(found);
        }
        Some(self.take(self.rest.len()))
    }
}

impl<'a> Pieces<'a> {
    fn take(&mut self, end: usize) -> Piece<'a> {
        let (visible, rest) = self.rest.split_at(end);
        self.rest = rest;
        Piece::Visible(visible)
    }
}

fn is_hidden(before: Option<char>, found: char, after: Option<char>) -> bool {
    let is_foreign = |it: Option<char>| it.is_some_and(|it| !it.is_ascii());
    match found {
        '\t' | '\n' | '\r' | ' '..='~' => false,
        '\u{200c}' | '\u{200d}' => !(is_foreign(before) && is_foreign(after)),
        '\u{fe00}'..='\u{fe0f}' => before.is_some_and(is_variation_selector),
        '\0'..='\u{1f}'
        | '\u{7f}'..='\u{9f}'
        | '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        _ => false,
    }
}

fn is_variation_selector(it: char) -> bool {
    matches!(it, '\u{fe00}'..='\u{fe0f}' | '\u{180b}'..='\u{180d}' | '\u{e0100}'..='\u{e01ef}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hidden_characters_are_written_as_their_numbers_and_all_others_stay() {
        let cases = [
            ("", ""),
            ("plain\ttext\r\n", "plain\ttext\r\n"),
            ("\u{202e}evil\u{202c}", r"\u{202e}evil\u{202c}"),
            (
                "a\u{200b}b\u{7f}\u{0}\u{85}\u{ad}",
                r"a\u{200b}b\u{7f}\u{0}\u{85}\u{ad}",
            ),
            ("zero\u{200d}width", r"zero\u{200d}width"),
            ("\u{200d}", r"\u{200d}"),
            // A Persian word with a non-joiner, and an emoji with a joiner.
            ("می\u{200c}خواهم", "می\u{200c}خواهم"),
            (
                "👩\u{200d}🚀 ❤\u{fe0f}\u{200d}🔥",
                "👩\u{200d}🚀 ❤\u{fe0f}\u{200d}🔥",
            ),
            (
                "x\u{fe0f}\u{fe0e}\u{fe01}y\u{fe0f}",
                "x\u{fe0f}\\u{fe0e}\\u{fe01}y\u{fe0f}",
            ),
            ("tag\u{e0041}\u{e0100}", r"tag\u{e0041}\u{e0100}"),
            ("é ü ß 漢字 🙂", "é ü ß 漢字 🙂"),
            (
                "\u{180b}\u{3164}\u{ffa0}\u{fffa}\u{feff}",
                r"\u{180b}\u{3164}\u{ffa0}\u{fffa}\u{feff}",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(escaped(text), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn pieces_are_the_whole_text_and_an_escaped_text_hides_nothing(text: String) {
            let mut whole = String::new();
            for piece in pieces(&text) {
                match piece {
                    Piece::Visible(text) => whole.push_str(text),
                    Piece::Hidden(hidden) => whole.push(hidden),
                }
            }
            prop_assert_eq!(&whole, &text);
            let shown = escaped(&text).into_owned();
            prop_assert_eq!(escaped(&shown), shown.as_str());
        }
    }
}
