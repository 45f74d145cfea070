//! Writes JSON compactly, and strings without quotes.

use std::fmt::Write as _;

use crate::tsv::TextOutput;

/// Escapes characters that are not allowed in a JSON string.
pub(super) struct JsonString<'a>(pub(super) &'a mut String);

/// Removes white space between JSON tokens.
pub(super) struct Compact<'a, P> {
    out: &'a mut P,
    is_in_string: bool,
    is_escaped: bool,
}

/// Writes a document: a string without its quotes, anything else without white space.
pub(super) fn put_document(out: &mut impl TextOutput, text: &str) {
    let document = text.trim_matches([' ', '\t', '\n', '\r']);
    let inside = document
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    match inside {
        Some(string) => put_unescaped(out, string),
        None => Compact::new(out).put(document),
    }
}

/// Writes the decoded content of a JSON string.
fn put_unescaped(out: &mut impl TextOutput, string: &str) {
    let mut rest = string;
    while let Some(at) = rest.find('\\') {
        out.put(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(escape) = rest.chars().next() else {
            return out.put("\\");
        };
        rest = &rest[escape.len_utf8()..];
        match escape {
            'b' => out.put("\u{8}"),
            'f' => out.put("\u{c}"),
            'n' => out.put("\n"),
            'r' => out.put("\r"),
            't' => out.put("\t"),
            'u' => {
                let (character, after) = code_point(rest);
                out.put(character.encode_utf8(&mut [0; 4]));
                rest = after;
            }
            other => out.put(other.encode_utf8(&mut [0; 4])),
        }
    }
    out.put(rest);
}

/// Reads the digits behind `\u`, and the second half of a surrogate pair.
fn code_point(text: &str) -> (char, &str) {
    let unit = |text: &str| {
        let digits = text.get(..4)?;
        u32::from_str_radix(digits, 16).ok()
    };
    let Some(first) = unit(text) else {
        return (char::REPLACEMENT_CHARACTER, text);
    };
    let after = &text[4..];
    if let Some(character) = char::from_u32(first) {
        return (character, after);
    }
    let second = after.strip_prefix("\\u").and_then(unit);
    match second {
        Some(second @ 0xdc00..=0xdfff) if first < 0xdc00 => {
            let point = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            let character = char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER);
            (character, &after[6..])
        }
        _ => (char::REPLACEMENT_CHARACTER, after),
    }
}

// === impl JsonString ===

impl TextOutput for JsonString<'_> {
    fn put(&mut self, text: &str) {
        let mut rest = text;
        while let Some(at) = rest
            .bytes()
            .position(|b| b < 0x20 || b == b'"' || b == b'\\')
        {
            self.0.push_str(&rest[..at]);
            match rest.as_bytes()[at] {
                b'"' => self.0.push_str("\\\""),
                b'\\' => self.0.push_str("\\\\"),
                b'\n' => self.0.push_str("\\n"),
                b'\r' => self.0.push_str("\\r"),
                b'\t' => self.0.push_str("\\t"),
                control => {
                    write!(self.0, "\\u{control:04x}").expect("a string takes everything");
                }
            }
            rest = &rest[at + 1..];
        }
        self.0.push_str(rest);
    }
}

// === impl Compact ===

impl<'a, P: TextOutput> Compact<'a, P> {
    pub(super) fn new(out: &'a mut P) -> Self {
        Self {
            out,
            is_in_string: false,
            is_escaped: false,
        }
    }
}

impl<P: TextOutput> TextOutput for Compact<'_, P> {
    /// Puts the next piece of a document.
    fn put(&mut self, text: &str) {
        let mut start = 0;
        for (at, byte) in text.bytes().enumerate() {
            if self.is_escaped {
                self.is_escaped = false;
            } else if byte == b'"' {
                self.is_in_string = !self.is_in_string;
            } else if self.is_in_string {
                self.is_escaped = byte == b'\\';
            } else if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                self.out.put(&text[start..at]);
                start = at + 1;
            }
        }
        self.out.put(&text[start..]);
    }
}
