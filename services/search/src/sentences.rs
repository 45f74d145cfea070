//! Splits texts into sentences.
//!
//! ```
//! use ziggurat_search::sentences::sentences;
//!
//! let text = "# Ferns\nFerns like shade, e.g. under trees. Do they grow where the soil\nis dry?";
//! let expected = [
//!     "# Ferns",
//!     "Ferns like shade, e.g. under trees.",
//!     "Do they grow where the soil\nis dry?",
//! ];
//! assert!(sentences(text).eq(expected));
//! ```

use std::{borrow::Cow, iter};

use crate::tokens::is_unspaced;

/// Length from which a line may be full, in characters. Shorter lines are names, entries or verses.
const FULL_LINE: usize = 25;

/// Returns the sentences of a text in order, without the white space around them.
///
/// A line that was full does not end a sentence: its break is where an editor or a page had no more
/// space. Any other line does, so that headings, entries of lists, rows and lines of code are
/// sentences of their own.
pub fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let pieces = pieces(text).map(str::trim);
    pieces.filter(|sentence| !sentence.is_empty())
}

/// Returns a sentence in one line.
#[must_use]
pub fn in_one_line(sentence: &str) -> Cow<'_, str> {
    if !sentence.contains(['\n', '\r']) {
        return Cow::Borrowed(sentence);
    }
    let mut joined = String::with_capacity(sentence.len());
    for line in sentence.lines().map(str::trim) {
        let is_spaced = |letter: Option<char>| letter.is_some_and(|letter| !is_wide(letter));
        if is_spaced(joined.chars().next_back()) || is_spaced(line.chars().next()) {
            joined.push(' ');
        }
        joined.push_str(line);
    }
    Cow::Owned(joined.trim().to_owned())
}

/// Returns the leading sentences of a text that have at most this many bytes together. If not even
/// the first has, it is cut after a word.
#[must_use]
pub fn leading(text: &str, bytes: usize) -> &str {
    let mut length = 0;
    for piece in pieces(text) {
        let next = length + piece.len();
        if text[..next].trim_end().len() > bytes {
            break;
        }
        length = next;
    }
    let whole = text[..length].trim_end();
    if !whole.is_empty() || length == text.len() {
        return whole;
    }
    let part = &text[..text.floor_char_boundary(bytes)];
    let words = part.rfind(char::is_whitespace);
    words.map_or(part, |end| part[..end].trim_end())
}

/// Returns the sentences with the white space around them: together they are the text.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    cut(text, paragraph_end).flat_map(|paragraph| {
        let lines = paragraph.split_inclusive('\n').map(columns);
        let width = lines.max().unwrap_or_default();
        cut(paragraph, move |rest| joined_end(rest, width)).flat_map(|lines| cut(lines, end))
    })
}

/// Cuts a text into pieces, given the end of the first piece of a rest.
fn cut(text: &str, end: impl Fn(&str) -> usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, after) = rest.split_at(end(rest));
        rest = after;
        Some(piece)
    })
}

/// Returns the end of the first lines up to an empty one.
fn paragraph_end(text: &str) -> usize {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        at += line.len();
        if line.trim().is_empty() {
            break;
        }
    }
    at
}

/// Returns the end of the first lines that are one text, in a paragraph whose longest line has this
/// many characters.
fn joined_end(paragraph: &str, width: usize) -> usize {
    let mut lines = paragraph.split_inclusive('\n').peekable();
    let mut at = 0;
    while let Some(line) = lines.next() {
        at += line.len();
        if !lines.peek().is_some_and(|next| goes_on(line, next, width)) {
            break;
        }
    }
    at
}

/// Returns whether a line goes on in the next one: it is full, or the next one begins in the middle of
/// a sentence.
fn goes_on(line: &str, next: &str, width: usize) -> bool {
    let length = columns(line);
    if length < FULL_LINE || is_alone(line) || is_alone(next) || begins_entry(next.trim_start()) {
        return false;
    }
    let next = next.trim_start();
    let first = next.chars().next();
    let word = if first.is_some_and(is_wide) {
        2
    } else {
        next.split_whitespace().next().map_or(0, columns)
    };
    first.is_some_and(char::is_lowercase) || length + 1 + word > width
}

/// Returns whether a line is a heading, a row, a rule, code, or a part of a quote or of markup.
fn is_alone(line: &str) -> bool {
    let text = line.trim();
    let is_rule = || {
        text.chars()
            .all(|c| matches!(c, '-' | '=' | '*' | '_' | '~' | '+' | ' '))
    };
    text.starts_with(['#', '|', '>', '<', '`', '~'])
        || text.contains('\t')
        || text.ends_with(['{', '}', ';', '|', '\\'])
        || line.starts_with("    ")
        || line.starts_with('\t')
        || is_rule()
}

/// Returns whether a line begins an entry of a list.
fn begins_entry(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = match digits {
        0 => text.strip_prefix(['-', '*', '+', '•', '–', '·']),
        1..=3 => text[digits..].strip_prefix(['.', ')']),
        _ => None,
    };
    rest.is_some_and(|rest| rest.starts_with(char::is_whitespace))
}

/// Returns whether a letter or mark is Chinese or Japanese, where no space stands between words.
fn is_wide(letter: char) -> bool {
    is_unspaced(letter) || matches!(letter, '\u{3001}'..='\u{3002}' | '\u{ff01}'..='\u{ff65}')
}

/// Returns the length of a line without the white space behind it, in columns: a letter of Chinese or
/// Japanese takes two.
fn columns(line: &str) -> usize {
    let letters = line.trim_end().chars();
    letters
        .map(|letter| if is_wide(letter) { 2 } else { 1 })
        .sum()
}

/// Returns the end of the first sentence in lines that are one text.
fn end(text: &str) -> usize {
    let mut letters = text.char_indices().peekable();
    // The last two characters.
    let mut before = [' ', ' '];
    while let Some((at, letter)) = letters.next() {
        let end = at + letter.len_utf8();
        let is_end = match letter {
            // The line break of two characters is no end.
            '\r' => !text[end..].starts_with('\n'),
            '\u{2028}' | '\u{2029}' | '。' | '！' | '？' => true,
            '.' | '!' | '?' | '…' => {
                while letters.next_if(|(_, next)| is_closing(*next)).is_some() {}
                let is_last = letters.peek().is_none_or(|(_, next)| next.is_whitespace());
                is_last && !(letter == '.' && (is_initial(before) || is_number(&text[..at])))
            }
            _ => false,
        };
        if is_end {
            return letters.peek().map_or(text.len(), |(at, _)| *at).max(end);
        }
        before = [before[1], letter];
    }
    text.len()
}

/// Returns whether a character may follow the end of a sentence and still belong to it.
fn is_closing(letter: char) -> bool {
    matches!(
        letter,
        '.' | '!' | '?' | '…' | '"' | '\'' | ')' | ']' | '”' | '’' | '»' | '*' | '_'
    )
}

/// Returns whether a text ends with a single letter, as in `e.g` or `J`.
fn is_initial([before, last]: [char; 2]) -> bool {
    last.is_alphabetic() && !before.is_alphanumeric()
}

/// Returns whether the beginning of a sentence is the number of an entry.
fn is_number(text: &str) -> bool {
    text.trim_start().bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_sentence_ends_with_its_punctuation_or_a_line_that_is_not_full() {
        for (text, expected) in [
            ("", &[][..]),
            (" \n\n ", &[]),
            ("One", &["One"]),
            ("One. Two! Three? Four", &["One.", "Two!", "Three?", "Four"]),
            (
                "He said \"one.\" Then (two.) three",
                &["He said \"one.\"", "Then (two.)", "three"],
            ),
            (
                "# Title\nText of 1.5 lines\r\nend",
                &["# Title", "Text of 1.5 lines", "end"],
            ),
            (
                "Mr. J. Fern, i.e. a plant.",
                &["Mr.", "J. Fern, i.e. a plant."],
            ),
            (
                "羊歯は日陰を好む。苔も？はい",
                &["羊歯は日陰を好む。", "苔も？", "はい"],
            ),
            ("What?! No... Yes…", &["What?!", "No...", "Yes…"]),
            (
                "shop.example.com is a name",
                &["shop.example.com is a name"],
            ),
        ] {
            assert!(sentences(text).eq(expected.iter().copied()), "{text:?}");
        }
    }

    #[test]
    fn a_full_line_does_not_end_a_sentence() {
        let wrapped = "Ferns grow where the soil is damp and the\nair is still, e.g. below old trees. \
            Moss needs\nless: a stone will do.";
        let expected = [
            "Ferns grow where the soil is damp and the\nair is still, e.g. below old trees.",
            "Moss needs\nless: a stone will do.",
        ];
        assert!(sentences(wrapped).eq(expected));
        for text in [
            // A German noun has a capital letter.
            "Farne wachsen dort, wo der Boden feucht ist und die\r\nLuft lange still steht.",
            "- Ferns grow where the soil is damp and the\n  air is still",
            "羊歯は日陰と湿った土を好むので、庭の北側に植える\nのがよい",
        ] {
            assert!(sentences(text).eq([text]), "{text:?}");
        }
    }

    #[test]
    fn a_line_that_has_space_for_more_ends_a_sentence() {
        for text in [
            "Where ferns grow\nFerns grow where the soil is damp and the air is still",
            "Ferns, which like the shade of trees\n- Ferns grow where the soil is damp",
            "1. Water the ferns in the evening, not at noon\n2. Cut the brown leaves",
            "## Where ferns grow and where they do not\nferns grow where it is damp",
            "| Fern | shade, and soil that is damp |\n| Moss | rain, and a stone that is old |",
            "fern\tshade\tsoil that is always damp\nmoss\train\ta stone that is very old",
            "    let fern = plant(\"fern\", Shade::Deep)\n    let moss = plant(\"moss\", Shade::Any)",
            "let fern = plant(\"fern\", Shade::Deep);\nlet moss = plant(\"moss\", Shade::Any);",
            "apples\npears\nplums",
            "Ferns grow where the soil is damp\n---------------------------------\nand the air is still",
        ] {
            let lines = text.lines().map(str::trim);
            assert!(sentences(text).eq(lines), "{text:?}");
        }
    }

    #[test]
    fn a_sentence_is_put_into_one_line() {
        for (sentence, expected) in [
            ("damp and the\r\n  air", "damp and the air"),
            ("雪が降る、\n雪が", "雪が降る、雪が"),
            ("one", "one"),
        ] {
            assert_eq!(in_one_line(sentence), expected);
        }
    }

    #[test]
    fn leading_sentences_are_whole_if_one_fits() {
        let text = "One two. Three!\nFour five six. Seven";
        for (bytes, expected) in [
            (99, text),
            (text.len(), text),
            (30, "One two. Three!\nFour five six."),
            (29, "One two. Three!"),
            (8, "One two."),
            (7, "One"),
            (2, "On"),
            (0, ""),
        ] {
            assert_eq!(leading(text, bytes), expected, "{bytes}");
        }
        assert_eq!(leading(&"é".repeat(9), 3), "é");
    }

    proptest! {
        #[test]
        fn nothing_but_white_space_is_lost(text in "[a-cA. !?\"\n。ä]{0,60}") {
            let dense = |text: &str| -> String { text.split_whitespace().collect() };
            let joined: String = sentences(&text).collect();
            prop_assert_eq!(dense(&joined), dense(&text));
        }
    }
}
