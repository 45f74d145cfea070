//! Percent-encoding, which is decoded strictly.
//!
//! ```
//! use ziggurat_text::percent;
//!
//! assert_eq!(percent::decode("sword%40fish").as_deref(), Some("sword@fish"));
//! assert_eq!(percent::decode("sword%fish"), None);
//! assert_eq!(percent::encode("sword@fish").collect::<String>(), "sword%40fish");
//! ```

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The characters that are escaped: all but the unreserved ones (RFC 3986, section 2.3).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Decodes a text (RFC 3986, section 2.1). Returns `None` if a `%` is not followed by two
/// hexadecimal digits, or if the result is not UTF-8.
#[must_use]
pub fn decode(text: &str) -> Option<Cow<'_, str>> {
    let is_escape = |rest: &str| {
        let digits = rest.as_bytes().first_chunk::<2>();
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    let is_valid = text.split('%').skip(1).all(is_escape);
    let decoded = is_valid.then(|| percent_decode_str(text).decode_utf8());
    decoded?.ok()
}

/// Encodes a text so that it is one segment of a path, piece by piece.
pub fn encode(text: &str) -> impl Iterator<Item = &str> {
    utf8_percent_encode(text, RESERVED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_escapes_of_utf_8_are_decoded() {
        for (text, expected) in [
            ("", Some("")),
            ("a b", Some("a b")),
            ("%61%2F%c3%BC", Some("a/ü")),
            ("a%252Fb", Some("a%2Fb")),
            ("%", None),
            ("a%4", None),
            ("%zz", None),
            ("%+1", None),
            ("%%41", None),
            ("%4\u{fc}", None),
            ("%ff", None),
        ] {
            assert_eq!(decode(text).as_deref(), expected, "{text}");
        }
    }
}
