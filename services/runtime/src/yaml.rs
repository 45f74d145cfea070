//! Reads YAML of strangers into a tree: depth is looked for before parsing, and a budget limits the
//! tree.
//!
//! The parser takes time in the square of the brackets that are open, and counts its limit of depth
//! only afterwards.

mod lines;
mod map;
mod tree;

use std::collections::HashSet;

use serde::de::Error as _;
use serde_yaml::{Deserializer, Error};

pub use self::{
    lines::{Step, line},
    map::{Map, Unexpected},
    tree::{NameOf, Node, Rules, Scalar},
};

/// Maximum number of brackets that are open at once; the limit of the library.
const MAX_DEPTH: usize = 128;

/// Steps that the search for brackets takes at most, for each byte of a text.
const MAX_STEPS: usize = 2 * MAX_DEPTH;

/// Returns the reader of a text. What it repeats for aliases is up to the caller.
///
/// # Errors
/// Fails if brackets are nested too deep.
pub fn reader(text: &str) -> Result<Deserializer<'_>, Error> {
    if is_deep(text.as_bytes()) {
        let problem = format!("more than {MAX_DEPTH} brackets are open, or a tag is among them");
        return Err(Error::custom(problem));
    }
    Ok(Deserializer::from_str(text))
}

/// Returns whether a text may repeat a part of itself: it has an alias for an anchor.
#[must_use]
pub fn has_alias(text: &str) -> bool {
    let names = |mark: char| {
        let marked = text.split(mark).skip(1);
        marked.map(|rest| &rest[..run(rest.as_bytes(), is_name)])
    };
    let anchors: HashSet<_> = names('&').filter(|name| !name.is_empty()).collect();
    names('*').any(|name| anchors.contains(name))
}

/// Returns whether more brackets may be open than the limit. A bracket within a text outside of
/// brackets opens nothing, but looks the same here: it is counted too.
fn is_deep(text: &[u8]) -> bool {
    let mut steps = text.len().saturating_mul(MAX_STEPS);
    let mut opened = text.iter().enumerate();
    opened.any(|(at, byte)| matches!(byte, b'[' | b'{') && is_deep_from(&text[at..], &mut steps))
}

/// Returns whether too many brackets are open somewhere behind a first one, before it is closed.
fn is_deep_from(text: &[u8], steps: &mut usize) -> bool {
    let (mut depth, mut at) = (0, 0);
    // A quote, a comment or a mark begins only where a value may begin.
    let (mut begins, mut follows_blank) = (true, false);
    while let Some(&byte) = text.get(at) {
        let (here, after) = (&text[at..], &text[at + 1..]);
        let blank = blank(here);
        let mut length = blank.max(1);
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth -= 1,
            b'"' | b'\'' if begins => length = quoted(here, byte),
            b'#' if begins || follows_blank => length = comment(here),
            b'&' | b'*' if begins => length += run(after, is_name),
            // A tag in angle brackets may hold any bracket; a byte order mark is read in two ways.
            b'!' if begins && after.starts_with(b"<") => return true,
            0xef if here.starts_with(b"\xef\xbb\xbf") => return true,
            b'!' if begins => length += run(after, |byte| !is_end(&[byte])),
            _ => {}
        }
        begins = match byte {
            b'[' | b'{' | b']' | b'}' | b',' => true,
            b'"' | b'\'' | b'&' | b'*' | b'!' | b'?' => begins,
            b'#' => begins || length > 1,
            b':' => begins || is_end(after),
            b'-' => begins && is_end(after),
            _ => begins && blank > 0,
        };
        follows_blank = blank > 0;
        *steps = steps.saturating_sub(length);
        if depth > MAX_DEPTH || *steps == 0 {
            return true;
        }
        if depth == 0 {
            return false;
        }
        at += length;
    }
    false
}

/// Returns the length of a text in quotes.
fn quoted(text: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while let Some(&byte) = text.get(at) {
        at += 1;
        match byte {
            b'\\' if quote == b'"' => at += 1,
            _ if byte == quote && quote == b'\'' && text.get(at) == Some(&quote) => at += 1,
            _ if byte == quote => break,
            _ => {}
        }
    }
    at
}

/// Returns the length of a comment.
fn comment(text: &[u8]) -> usize {
    let is_break = |at: &usize| blank(&text[*at..]) > 0 && !matches!(text[*at], b' ' | b'\t');
    (0..text.len()).find(is_break).unwrap_or(text.len())
}

/// Returns the length of the white space that a text begins with: one character, or nothing.
fn blank(text: &[u8]) -> usize {
    match text {
        [b' ' | b'\t' | b'\n' | b'\r', ..] => 1,
        // The line breaks that Unicode adds.
        [0xc2, 0x85, ..] => 2,
        [0xe2, 0x80, 0xa8 | 0xa9, ..] => 3,
        _ => 0,
    }
}

/// Returns whether a mark ends before this text.
fn is_end(text: &[u8]) -> bool {
    matches!(text, [] | [b',' | b'[' | b']' | b'{' | b'}', ..]) || blank(text) > 0
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn run(text: &[u8], is_in: impl Fn(u8) -> bool) -> usize {
    text.iter().take_while(|byte| is_in(**byte)).count()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::prelude::*;
    use serde::{Deserialize as _, de::IgnoredAny};

    use super::*;

    #[test]
    fn brackets_that_are_open_are_counted_and_others_are_not() {
        let open = "[".repeat(MAX_DEPTH + 1);
        let hidden = |between: &str| format!("a: {}", format!("[{between}").repeat(200));
        for text in [
            open.clone(),
            format!("a: {{b: {open}"),
            hidden("\"]\", "),
            hidden("'it''s ]', "),
            hidden("# ]\n"),
            hidden("#\u{85}"),
            hidden("&a \"]\", "),
            hidden("!a ']', "),
            hidden("!<]> x, "),
            hidden("b:\u{2028}# ]\n"),
            hidden("?\"]\", "),
            hidden("\"\\\"]\", "),
            hidden("? ']' , "),
        ] {
            assert!(reader(&text).is_err(), "{}", &text[..40]);
        }
        for text in [
            "a: [1, [2, {b: ']'}]]\nc: it's [here] # [\n".repeat(100),
            "a:\n- [x, y]\n".repeat(1000),
            format!("a: {}1{}", "[".repeat(100), "]".repeat(100)),
            format!(
                "a: |\n{}",
                "  ARRAY['it''s', \"x\"] [^'\"]+ [link](it's)\n".repeat(1000)
            ),
        ] {
            assert!(reader(&text).is_ok(), "{}", &text[..40]);
        }
    }

    #[test]
    fn an_alias_is_found_and_text_with_the_marks_is_not_one() {
        for text in ["a: &x 1\nb: *x", "{a: &x-1 [], b: [*x-1]}", "- &a\n- *a"] {
            assert!(has_alias(text), "{text}");
        }
        for text in [
            "a: *bold* & more",
            "a: &x 1",
            "a: R&D *x*",
            "a: &x 1\nb: * x",
        ] {
            assert!(!has_alias(text), "{text}");
        }
    }

    #[test]
    fn a_text_of_brackets_is_refused_in_linear_time() {
        let began = Instant::now();
        for part in ["[", "[\n#]\n", "{a: [", "[\"", "['x ", "[]", "[ 'a] "] {
            let _ = reader(&part.repeat((1 << 20) / part.len()));
        }
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "{:?}",
            began.elapsed()
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn no_text_has_more_brackets_than_are_counted(inner in "[-\\[\\]{},:'\"#&*!?a \n]{0,24}") {
            // The library itself only reports brackets that are nested deeper than its limit.
            let text = format!("{}{inner}{}", "[".repeat(120), "]".repeat(120));
            let is_refused = IgnoredAny::deserialize(Deserializer::from_str(&text))
                .is_err_and(|error| error.to_string().contains("recursion limit"));
            prop_assert!(!is_refused || reader(&text).is_err(), "{}", text);
        }
    }
}
