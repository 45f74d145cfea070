//! Digests of texts, values and JSON.

use std::fmt;

use aws_lc_rs::digest::{Context, SHA256};
use serde_json::Value;

/// A SHA-256.
pub type Digest = [u8; 32];

/// A SHA-256 that grows.
#[derive(Clone)]
pub struct Sha(Context);

/// The digest of a text, which arrives in pieces that are escaped for JSON.
#[derive(Clone, Debug, Default)]
pub struct EscapedText {
    sha: Sha,
    /// Memory for a piece without its escapes, of which there are many: tabs and line breaks.
    piece: Vec<u8>,
}

// === impl Sha ===

impl Sha {
    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the digest of all bytes.
    #[must_use]
    pub fn finish(self) -> Digest {
        let mut digest = [0; 32];
        digest.copy_from_slice(self.0.finish().as_ref());
        digest
    }
}

impl Default for Sha {
    fn default() -> Self {
        Self(Context::new(&SHA256))
    }
}

impl fmt::Debug for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sha").finish_non_exhaustive()
    }
}

// === impl EscapedText ===

impl EscapedText {
    /// Adds a piece. No escape may be split between two pieces.
    pub fn push(&mut self, escaped: &[u8]) {
        self.piece.clear();
        self.piece.reserve(escaped.len());
        let mut rest = escaped;
        while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
            let (plain, behind) = rest.split_at(at);
            self.piece.extend_from_slice(plain);
            rest = self.escape(behind);
        }
        self.piece.extend_from_slice(rest);
        self.sha.update(&self.piece);
    }

    /// Adds the character of the escape at the beginning, and returns the bytes behind it.
    fn escape<'a>(&mut self, escaped: &'a [u8]) -> &'a [u8] {
        let character = match escaped.get(1) {
            Some(b'n') => b'\n',
            Some(b't') => b'\t',
            Some(b'r') => b'\r',
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'u') => return self.code(escaped),
            Some(other) => *other,
            None => return &[],
        };
        self.piece.push(character);
        &escaped[2..]
    }

    /// Adds the character of a `\u` escape, which may be a pair of two.
    fn code<'a>(&mut self, escaped: &'a [u8]) -> &'a [u8] {
        const LENGTH: usize = 6;
        for length in [LENGTH, 2 * LENGTH] {
            let Some((code, rest)) = escaped.split_at_checked(length) else {
                break;
            };
            let quoted = [b"\"", code, b"\""].concat();
            if let Ok(text) = serde_json::from_slice::<String>(&quoted) {
                self.piece.extend_from_slice(text.as_bytes());
                return rest;
            }
        }
        self.piece.extend_from_slice(escaped);
        &[]
    }

    /// Returns the digest of the text.
    #[must_use]
    pub fn finish(self) -> Digest {
        self.sha.finish()
    }
}

/// Returns the SHA-256 of bytes.
#[must_use]
pub fn sha256(bytes: &[u8]) -> Digest {
    let mut sha = Sha::default();
    sha.update(bytes);
    sha.finish()
}

/// Returns bytes as hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let halves = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    halves
        .map(|half| char::from(DIGITS[usize::from(half)]))
        .collect()
}

/// Returns the digest of JSON in its canonical form (RFC 8785).
///
/// # Panics
/// Never panics: the keys are texts, and no number is infinite.
#[must_use]
pub fn canonical(json: &Value) -> Digest {
    let canonical = serde_json_canonicalizer::to_vec(json);
    sha256(&canonical.expect("the keys are texts, and no number is infinite"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    proptest! {
        #[test]
        fn a_text_has_the_digest_of_its_escaped_pieces(one in ".*", two in "[\\x00-\\x2f\\\\]*") {
            let mut pieces = EscapedText::default();
            for piece in [&one, &two] {
                let quoted = serde_json::to_string(piece).expect("JSON");
                pieces.push(&quoted.as_bytes()[1..quoted.len() - 1]);
            }
            prop_assert_eq!(pieces.finish(), sha256((one + &two).as_bytes()));
        }
    }

    #[test]
    fn escapes_of_other_writers_are_read_too() {
        let mut text = EscapedText::default();
        text.push(br"\u00e4\ud83d\ude00\/\b\f\r");
        assert_eq!(text.finish(), sha256("ä😀/\u{8}\u{c}\r".as_bytes()));
    }

    #[test]
    fn the_order_of_members_does_not_count_and_the_order_of_rows_does() {
        let one: Value = serde_json::from_str(r#"{"b": 1.0, "a": [2]}"#).expect("JSON");
        assert_eq!(canonical(&one), canonical(&json!({"a": [2], "b": 1})));
        assert_ne!(canonical(&one), canonical(&json!({"a": [2], "b": 2})));
    }

    /// Doubles that a reader gets wrong by the last bit if it is quick rather than exact.
    const DOUBLES: &str = "[958.7146571130233,494.06962254148357,4.1068970446644926e-7]";

    /// Examples of RFC 8785, and what else JSON leaves open.
    #[test]
    fn the_canonical_form_is_the_one_of_rfc_8785() {
        for (json, expected) in [
            (
                "{\"\\u20ac\":1,\"\\r\":2,\"\\ufb33\":3,\"1\":4,\"\\ud83d\\ude00\":5,\"\\u0080\":6,\"ö\":7}",
                "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\u{fb33}\":3}",
            ),
            (
                "[333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001]",
                "[333333333.3333333,1e+30,4.5,0.002,1e-27]",
            ),
            (
                "[-0, -0.0, 1e21, 1e20]",
                "[0,0,1e+21,100000000000000000000]",
            ),
            (DOUBLES, DOUBLES),
            ("[9007199254740991, -1.5]", "[9007199254740991,-1.5]"),
            (
                r#""\u20ac$\u000F\nA'\u0042\u0022\u005c\\\"\/""#,
                r#""€$\u000f\nA'B\"\\\\\"/""#,
            ),
        ] {
            let value: Value = serde_json::from_str(json).expect(json);
            assert_eq!(canonical(&value), sha256(expected.as_bytes()), "{json}");
        }
    }
}
