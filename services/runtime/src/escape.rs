//! Escapes text from servers and files, so that one record is one line.

use std::fmt::Write as _;

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// Escapes a cell: invisible characters, and those that could move the cursor.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' => escaped.push_str("\\\\"),
            '\n' => escaped.push_str("\\n"),
            '\t' => escaped.push_str("\\t"),
            '\r' => escaped.push_str("\\r"),
            _ => push(&mut escaped, character),
        }
    }
    escaped
}

/// Escapes a message of several lines; newlines, tabs and backslashes stay.
#[must_use]
pub fn escape_lines(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' | '\n' | '\t' => escaped.push(character),
            _ => push(&mut escaped, character),
        }
    }
    escaped
}

/// Escapes characters that move the cursor of a terminal or reverse its text: control characters,
/// bidirectional controls, and invalid UTF-8. Newlines and tabs stay.
///
/// It writes the escapes of JSON, so that JSON stays valid.
#[must_use]
pub fn visible(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        let mut characters = chunk.valid().chars().peekable();
        while let Some(character) = characters.next() {
            let is_line_end = character == '\r' && characters.peek() == Some(&'\n');
            let stays = is_line_end || matches!(character, '\n' | '\t');
            if !stays && (character.is_control() || is_bidi_control(character)) {
                let _ = write!(shown, "\\u{:04x}", u32::from(character));
            } else {
                shown.push(character);
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

fn is_bidi_control(character: char) -> bool {
    matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

fn push(escaped: &mut String, character: char) {
    if is_printable(character) {
        escaped.push(character);
        return;
    }
    let mut buffer = [0; 4];
    for byte in character.encode_utf8(&mut buffer).bytes() {
        escaped.push_str("\\x");
        for digit in [byte >> 4, byte & 15] {
            escaped.push(char::from_digit(digit.into(), 16).unwrap_or('0'));
        }
    }
}

/// Returns whether it is a letter, mark, number, punctuation, symbol or the plain space.
#[must_use]
pub fn is_printable(character: char) -> bool {
    if character.is_ascii() {
        return matches!(character, ' '..='~');
    }
    matches!(
        character.general_category_group(),
        GeneralCategoryGroup::Letter
            | GeneralCategoryGroup::Mark
            | GeneralCategoryGroup::Number
            | GeneralCategoryGroup::Punctuation
            | GeneralCategoryGroup::Symbol
    )
}

/// Returns whether a spreadsheet may take a text for a formula. White space and invisible characters
/// before the sign do not hide it, and neither does its full-width or small form.
#[must_use]
pub fn is_formula(text: &str) -> bool {
    let skipped = |character: char| character.is_whitespace() || !is_printable(character);
    let signs = [
        '=', '+', '-', '@', '＝', '＋', '－', '＠', '﹦', '﹢', '﹣', '﹫',
    ];
    text.starts_with(['\t', '\r', '\n'])
        || text.trim_start_matches(skipped).starts_with(signs)
            && text.trim().parse::<f64>().is_err()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn invisible_characters_are_escaped() {
        for (text, escaped) in [
            ("plain", "plain"),
            ("a b", "a b"),
            ("Zoë 東京 ½ €", "Zoë 東京 ½ €"),
            ("two\nlines", "two\\nlines"),
            ("tab\there\r", "tab\\there\\r"),
            ("back\\slash", "back\\\\slash"),
            ("\u{1b}[31mred", "\\x1b[31mred"),
            ("\u{7f}", "\\x7f"),
            ("right\u{202e}left", "right\\xe2\\x80\\xaeleft"),
            ("zero\u{200b}width", "zero\\xe2\\x80\\x8bwidth"),
            ("no\u{a0}break", "no\\xc2\\xa0break"),
            ("line\u{2028}end", "line\\xe2\\x80\\xa8end"),
            ("\u{85}", "\\xc2\\x85"),
            ("\u{feff}mark", "\\xef\\xbb\\xbfmark"),
            ("\u{e000}", "\\xee\\x80\\x80"),
            ("\u{378}", "\\xcd\\xb8"),
        ] {
            assert_eq!(escape(text), escaped, "{text:?}");
        }
    }

    #[test]
    fn a_message_keeps_its_lines_and_loses_its_controls() {
        assert_eq!(
            escape_lines("one\n\ttwo \\ \u{1b}[2J\r"),
            "one\n\ttwo \\ \\x1b[2J\\x0d"
        );
    }

    #[test]
    fn a_terminal_is_shown_the_controls_of_raw_text() {
        for (bytes, shown) in [
            (&b"one\n\ttwo\r\nthree"[..], "one\n\ttwo\r\nthree"),
            (b"\x1b[2J\x07\x7f\r", "\\u001b[2J\\u0007\\u007f\\u000d"),
            ("\u{9b}2J \u{85}".as_bytes(), "\\u009b2J \\u0085"),
            (
                "a\u{202e}b\u{2069}\u{61c}".as_bytes(),
                "a\\u202eb\\u2069\\u061c",
            ),
            ("Zoë 東京 👍\u{200d}".as_bytes(), "Zoë 東京 👍\u{200d}"),
            (b"a\x9b\xff", "a\\x9b\\xff"),
        ] {
            assert_eq!(visible(bytes), shown, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_reach_a_terminal_as_controls(bytes in any::<Vec<u8>>()) {
            let shown = visible(&bytes);
            let shown = shown.replace("\r\n", "\n");
            prop_assert!(
                shown.chars().all(|it| matches!(it, '\n' | '\t')
                    || !it.is_control() && !is_bidi_control(it)),
                "{:?}",
                shown
            );
        }

        #[test]
        fn no_text_leaves_its_line(text in any::<String>()) {
            let escaped = escape(&text);
            prop_assert!(escaped.chars().all(is_printable), "{:?}", escaped);
        }
    }
}
