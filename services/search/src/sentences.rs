//! Splits texts into sentences.
//!
//! ```
//! use ziggurat_search::sentences::sentences;
//!
//! let text = "Ferns like shade, e.g. under trees. Do they?\nYes: 2.5 hours of sun suffice.";
//! let expected = ["Ferns like shade, e.g. under trees.", "Do they?", "Yes: 2.5 hours of sun suffice."];
//! assert!(sentences(text).eq(expected));
//! ```

/// Number of characters from which on a line may have been broken because it was full.
const FULL_LINE: usize = 40;

/// Returns the sentences of a text in order, without the white space around them. A line break also
/// ends a sentence, so that headings and entries of lists are sentences of their own, unless a
/// paragraph goes on after a full line.
pub fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    // Length of the line before the rest.
    let mut line = 0;
    let all = std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (sentence, after) = rest.split_at(end(rest, line));
        rest = after;
        line = match sentence.rsplit_once('\n') {
            Some((_, last)) => last.chars().count(),
            None => line + sentence.chars().count(),
        };
        Some(sentence.trim())
    });
    all.filter(|sentence| !sentence.is_empty())
}

/// Returns the end of the first sentence, before which its line has `line` characters.
fn end(text: &str, mut line: usize) -> usize {
    let mut letters = text.char_indices().peekable();
    // The last two characters.
    let mut before = [' ', ' '];
    while let Some((at, letter)) = letters.next() {
        let end = at + letter.len_utf8();
        line += 1;
        let is_end = match letter {
            '\n' if line > FULL_LINE && goes_on(&text[end..]) => {
                line = 0;
                false
            }
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

/// Returns whether a line goes on with the paragraph of the line before.
fn goes_on(line: &str) -> bool {
    let number = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let is_numbered = number.len() < line.len() && number.starts_with(['.', ')']);
    let is_entry = ["- ", "* ", "+ ", "• "]
        .iter()
        .any(|mark| line.starts_with(mark));
    // An empty line, a heading, a table, a quote or code.
    let begins_block = line.starts_with(['\n', '\r', ' ', '\t', '#', '|', '>', '=', '~']);
    !(line.is_empty() || is_numbered || is_entry || begins_block || line.starts_with("```"))
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
            (
                "- A first entry that is as long as a full line\n- a second one\n\nend",
                &[
                    "- A first entry that is as long as a full line",
                    "- a second one",
                    "end",
                ],
            ),
            (
                "A paragraph of lines that are broken when they\nare full, which ends. It goes\non here",
                &[
                    "A paragraph of lines that are broken when they\nare full, which ends.",
                    "It goes",
                    "on here",
                ],
            ),
            (
                "One sentence of a line that is full. Another\none that goes on",
                &[
                    "One sentence of a line that is full.",
                    "Another\none that goes on",
                ],
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

    proptest! {
        #[test]
        fn nothing_but_white_space_is_lost(text in "[a-cA. !?\"\n。ä]{0,60}") {
            let dense = |text: &str| -> String { text.split_whitespace().collect() };
            let joined: String = sentences(&text).collect();
            prop_assert_eq!(dense(&joined), dense(&text));
        }
    }
}
