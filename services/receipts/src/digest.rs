//! Digests of texts, values and JSON.

use std::fmt::{self, Write as _};

use aws_lc_rs::digest::{Context, SHA256};
use serde_json::Value;

/// A SHA-256.
pub type Digest = [u8; 32];

/// A SHA-256 that grows.
#[derive(Clone)]
pub struct Sha(Context);

/// The digest of a text, which arrives in pieces that are escaped for JSON.
#[derive(Clone, Debug, Default)]
pub struct EscapedText(Sha);

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
        let mut rest = escaped;
        while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
            let (plain, behind) = rest.split_at(at);
            self.0.update(plain);
            rest = self.escape(behind);
        }
        self.0.update(rest);
    }

    /// Adds the character of the escape at the beginning, and returns the bytes behind it.
    fn escape<'a>(&mut self, escaped: &'a [u8]) -> &'a [u8] {
        let (character, length): (&[u8], _) = match escaped.get(1) {
            Some(b'n') => (b"\n", 2),
            Some(b't') => (b"\t", 2),
            Some(b'r') => (b"\r", 2),
            Some(b'b') => (&[8], 2),
            Some(b'f') => (&[12], 2),
            Some(b'u') => return self.code(escaped),
            Some(_) => (&escaped[1..2], 2),
            None => (b"", 1),
        };
        self.0.update(character);
        &escaped[length..]
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
                self.0.update(text.as_bytes());
                return rest;
            }
        }
        self.0.update(escaped);
        &[]
    }

    /// Returns the digest of the text.
    #[must_use]
    pub fn finish(self) -> Digest {
        self.0.finish()
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
    let digits = String::with_capacity(2 * bytes.len());
    bytes.iter().fold(digits, |mut digits, byte| {
        write!(digits, "{byte:02x}").expect("a string takes everything");
        digits
    })
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
}
