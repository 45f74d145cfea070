//! Writes lines of JSON, member by member.

pub(crate) mod backward;
pub(crate) mod chain;
pub(crate) mod entry;

use std::{io::Write as _, net::IpAddr};

use jiff::Timestamp;
use ziggurat_text::scan;

use crate::line::chain::{Hex, Key};

/// Text between the members of a line and its link.
pub(crate) const CHAIN: &str = ",\"chain\":";

/// The second of the last line as text, because the next line is often of the same second.
#[derive(Debug, Default)]
pub(crate) struct Second {
    number: i64,
    /// The time up to the point before its fraction.
    text: String,
}

// === impl Second ===

impl Second {
    /// Appends a time with microseconds.
    fn write(&mut self, out: &mut Vec<u8>, at: Timestamp) {
        if self.text.is_empty() || self.number != at.as_second() {
            self.number = at.as_second();
            self.text = format!("{at:.0}").replace('Z', ".");
        }
        out.extend_from_slice(self.text.as_bytes());
        digits::<6>(out, at.subsec_microsecond().unsigned_abs());
        out.push(b'Z');
    }
}

/// Appends the members with which each line begins.
pub(crate) fn head(out: &mut Vec<u8>, second: &mut Second, seq: u64, at: Timestamp, kind: &str) {
    out.extend_from_slice(b"{\"v\":1");
    number(out, br#","seq":"#, seq);
    out.extend_from_slice(b",\"at\":\"");
    second.write(out, at);
    out.extend_from_slice(b"\",\"kind\":\"");
    out.extend_from_slice(kind.as_bytes());
    out.push(b'"');
}

/// Appends the link of the line that begins at `start`, and ends the line.
pub(crate) fn end(out: &mut Vec<u8>, start: usize, key: Option<&Key>, before: Option<&Hex>) -> Hex {
    let link = Hex::link(key, before, out.get(start..).unwrap_or_default());
    out.extend_from_slice(CHAIN.as_bytes());
    out.push(b'"');
    out.extend_from_slice(link.as_bytes());
    out.extend_from_slice(b"\"}\n");
    link
}

/// Appends a member with a text; an empty text is left out.
///
/// The key is written as in a line, such as `,"tool":"`. Its length is known to the compiler, because
/// each record has many members, and a copy of known length is faster.
#[inline]
pub(crate) fn member<const N: usize>(out: &mut Vec<u8>, key: &[u8; N], value: &str) {
    if !value.is_empty() {
        out.extend_from_slice(key);
        text(out, value);
        out.push(b'"');
    }
}

/// Appends a member with a text that needs no escape; an empty text is left out.
#[inline]
pub(crate) fn plain<const N: usize>(out: &mut Vec<u8>, key: &[u8; N], value: &str) {
    if !value.is_empty() {
        out.extend_from_slice(key);
        out.extend_from_slice(value.as_bytes());
        out.push(b'"');
    }
}

/// Appends a member with a number.
#[inline]
pub(crate) fn number<const N: usize>(out: &mut Vec<u8>, key: &[u8; N], value: u64) {
    out.extend_from_slice(key);
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends a member with an object, unless the object is empty.
pub(crate) fn object<const N: usize>(
    out: &mut Vec<u8>,
    key: &[u8; N],
    members: impl FnOnce(&mut Vec<u8>),
) {
    let start = out.len();
    out.extend_from_slice(key);
    let first = out.len();
    members(out);
    if out.len() == first {
        out.truncate(start);
    } else {
        // The first member of an object has no comma before it.
        if let Some(comma) = out.get_mut(first) {
            *comma = b'{';
        }
        out.push(b'}');
    }
}

/// Appends the last digits of a number, with zeros before it.
pub(crate) fn digits<const N: usize>(out: &mut Vec<u8>, mut number: u32) {
    let mut digits = [b'0'; N];
    for digit in digits.iter_mut().rev() {
        *digit += u8::try_from(number % 10).unwrap_or_default();
        number /= 10;
    }
    out.extend_from_slice(&digits);
}

/// Appends a member with an address.
pub(crate) fn address<const N: usize>(out: &mut Vec<u8>, key: &[u8; N], ip: IpAddr) {
    out.extend_from_slice(key);
    match ip {
        IpAddr::V4(ip) => {
            let [first, rest @ ..] = ip.octets();
            octet(out, first);
            for byte in rest {
                out.push(b'.');
                octet(out, byte);
            }
        }
        IpAddr::V6(ip) => put(out, format_args!("{ip}")),
    }
    out.push(b'"');
}

fn octet(out: &mut Vec<u8>, octet: u8) {
    if octet >= 100 {
        out.push(b'0' + octet / 100);
    }
    if octet >= 10 {
        out.push(b'0' + octet / 10 % 10);
    }
    out.push(b'0' + octet % 10);
}

/// Appends anything that can be displayed.
pub(crate) fn put(out: &mut Vec<u8>, arguments: std::fmt::Arguments<'_>) {
    out.write_fmt(arguments).expect("a vector takes all");
}

/// Appends the content of a JSON string, in which control characters are escaped, also those that
/// JSON permits.
pub(crate) fn text(out: &mut Vec<u8>, text: &str) {
    if scan::is_plain(text.as_bytes()) {
        out.extend_from_slice(text.as_bytes());
    } else {
        for character in text.chars() {
            escaped(out, character);
        }
    }
}

/// Escapes and cuts the content of a JSON string that was appended as it is, from `start` on.
pub(crate) fn finish_text(out: &mut Vec<u8>, start: usize, max_characters: usize) {
    let content = out.get(start..).unwrap_or_default();
    if content.len() > max_characters || !scan::is_plain(content) {
        let content = out.split_off(start);
        text(out, cut(&String::from_utf8_lossy(&content), max_characters));
    }
}

/// Appends JSON; control characters that its strings contain are escaped.
pub(crate) fn json(out: &mut Vec<u8>, json: &str) {
    for character in json.chars() {
        if matches!(character, '\n' | '\r' | '\t') {
            // White space between tokens: in strings these are escaped.
        } else if character.is_control() {
            escaped(out, character);
        } else {
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
}

/// Returns the first characters of a text.
pub(crate) fn cut(text: &str, max_characters: usize) -> &str {
    if text.len() <= max_characters {
        return text;
    }
    let end = text.char_indices().nth(max_characters);
    end.and_then(|(at, _)| text.get(..at)).unwrap_or(text)
}

fn escaped(out: &mut Vec<u8>, character: char) {
    match character {
        '"' => out.extend_from_slice(b"\\\""),
        '\\' => out.extend_from_slice(b"\\\\"),
        '\n' => out.extend_from_slice(b"\\n"),
        '\r' => out.extend_from_slice(b"\\r"),
        '\t' => out.extend_from_slice(b"\\t"),
        _ if character.is_control() => {
            put(out, format_args!("\\u{:04x}", u32::from(character)));
        }
        _ => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_text_becomes_a_string_of_the_same_text_without_control_characters(text: String) {
            let mut out = vec![b'"'];
            super::text(&mut out, &text);
            out.push(b'"');
            let read: String = serde_json::from_slice(&out).expect("a JSON string");
            prop_assert_eq!(&read, &text);
            let line = String::from_utf8(out).expect("text");
            prop_assert!(!line.contains(char::is_control));
        }
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("ééé", 2), "éé");
        assert_eq!(cut("ééé", 3), "ééé");
        assert_eq!(cut("🙂🙂", 1), "🙂");
    }
}
