//! Splits texts into sentences.
//!
//! ```
//! use ziggurat_search::sentences::sentences;
//!
//! let text = "Ferns like shade, e.g. under trees. Do they?\nYes: 2.5 hours of sun suffice.";
//! let expected = ["Ferns like shade, e.g. under trees.", "Do they?", "Yes: 2.5 hours of sun suffice."];
//! assert!(sentences(text).eq(expected));
//! ```

/// Returns the sentences of a text in order, without the white space around them. A line break also
/// ends a sentence, so that headings and entries of lists are sentences of their own.
pub fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    let all = std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (sentence, after) = rest.split_at(end(rest));
        rest = after;
        Some(sentence.trim())
    });
    all.filter(|sentence| !sentence.is_empty())
}

/// Returns the leading sentences of a text that have at most this many bytes together. If not even
/// the first has, it is cut after a word.
#[must_use]
pub fn leading(text: &str, bytes: usize) -> &str {
    let mut length = 0;
    while length < text.len() {
        let next = length + end(&text[length..]);
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

/// Returns the end of the first sentence.
fn end(text: &str) -> usize {
    let mut letters = text.char_indices().peekable();
    // The last two characters.
    let mut before = [' ', ' '];
    while let Some((at, letter)) = letters.next() {
        let end = at + letter.len_utf8();
        let is_end = match letter {
            // The line break of two characters ends with the other one.
            '\r' => !text[end..].starts_with('\n'),
            '\n' | '\u{2028}' | '\u{2029}' | '。' | '！' | '？' => true,
            '.' | '!' | '?' | '…' => {
                while letters.next_if(|(_, next)| is_closing(*next)).is_some() {}
                let is_last = letters.peek().is_none_or(|(_, next)| next.is_whitespace());
                is_last && !(letter == '.' && is_initial(before))
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_sentence_ends_with_its_punctuation_or_its_line() {
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
