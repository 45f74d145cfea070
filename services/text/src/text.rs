//! Text that is escaped for a JSON string.

use std::fmt;

use bytes::Bytes;

use crate::{Line, Plain, scan};

/// A position in a [`Text`], to truncate it there.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Mark {
    escaped: usize,
    text_len: usize,
}

/// A piece of a result's text, escaped for JSON as it is written.
///
/// Rows are written into it and it is sent unchanged, so their text is copied once. Any code that
/// writes to a [`fmt::Write`] can fill it.
///
/// ```
/// use std::fmt::Write as _;
/// use ziggurat_text::Text;
///
/// let mut text = Text::from("id\tname\n");
/// write!(text, "{}\t{}\n", 1, r"C:\Ada")?;
/// assert_eq!(text.as_escaped(), r"id\tname\n1\tC:\\Ada\n");
/// # Ok::<_, std::fmt::Error>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Text {
    /// UTF-8 text and ASCII escapes, so valid UTF-8.
    escaped: Vec<u8>,
    text_len: usize,
}

// === impl Text ===

impl Text {
    /// Makes an empty piece.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            escaped: Vec::new(),
            text_len: 0,
        }
    }

    /// Makes an empty piece with space for this many bytes, escapes included.
    #[must_use]
    pub fn with_capacity(bytes: usize) -> Self {
        Self {
            escaped: Vec::with_capacity(bytes),
            text_len: 0,
        }
    }

    /// Appends text.
    pub fn push_str(&mut self, text: &str) {
        self.text_len += text.len();
        let mut rest = text;
        // The escaped characters are ASCII, so every split is at a character boundary.
        while let Some(at) = scan::special(rest) {
            let (plain, escaped) = rest.split_at(at);
            let (special, behind) = escaped.split_at(1);
            self.push_json(plain);
            self.push_escape(special.as_bytes()[0]);
            rest = behind;
        }
        self.push_json(rest);
    }

    /// Appends another piece.
    pub fn append(&mut self, other: &Self) {
        self.text_len += other.text_len;
        self.reserve(other.escaped.len());
        self.escaped.extend_from_slice(&other.escaped);
    }

    /// Returns the number of escaped bytes, to decide when to send the piece.
    #[must_use]
    pub fn len(&self) -> usize {
        self.escaped.len()
    }

    /// Returns the number of bytes of the text, without the escapes.
    #[must_use]
    pub fn text_len(&self) -> usize {
        self.text_len
    }

    /// Returns the end of the text so far.
    pub fn mark(&self) -> Mark {
        Mark {
            escaped: self.escaped.len(),
            text_len: self.text_len,
        }
    }

    /// Removes the text after a mark of this piece.
    pub fn cut(&mut self, mark: Mark) {
        self.escaped.truncate(mark.escaped);
        self.text_len = self.text_len.min(mark.text_len);
    }

    /// Returns whether the piece is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.escaped.is_empty()
    }

    /// Returns the content of the JSON string, without the quotes.
    ///
    /// # Panics
    ///
    /// Never panics: the bytes are UTF-8 text and ASCII escapes.
    #[must_use]
    pub fn as_escaped(&self) -> &str {
        str::from_utf8(&self.escaped).expect("text and ASCII")
    }

    /// Returns the content of the JSON string as bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.escaped
    }

    /// Appends text that is escaped already.
    pub fn push_json(&mut self, json: &str) {
        self.reserve(json.len());
        self.escaped.extend_from_slice(json.as_bytes());
    }

    /// Reserves space. A long buffer is not doubled, because that costs more memory than it saves
    /// time.
    fn reserve(&mut self, more: usize) {
        const LONG: usize = 64 << 10;
        let len = self.escaped.len() + more;
        if len > LONG && len > self.escaped.capacity() {
            self.escaped.reserve_exact(more + len / 8);
        }
    }

    /// Returns the content of the JSON string, without a copy.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        Bytes::from(self.escaped)
    }

    /// Appends the escape of a byte in a JSON string (RFC 8259, section 7).
    fn push_escape(&mut self, byte: u8) {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        self.push_json(match byte {
            b'\t' => r"\t",
            b'\n' => r"\n",
            b'"' => r#"\""#,
            b'\\' => r"\\",
            b'\r' => r"\r",
            0x08 => r"\b",
            0x0c => r"\f",
            _ => {
                self.push_json(r"\u00");
                self.escaped.push(HEX[usize::from(byte >> 4)]);
                self.escaped.push(HEX[usize::from(byte & 15)]);
                return;
            }
        });
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        let mut piece = Self::with_capacity(text.len());
        piece.push_str(text);
        piece
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl Line for Text {
    fn push_str(&mut self, text: &str) {
        self.push_str(text);
    }

    fn push_plain(&mut self, plain: Plain<'_>) {
        let bytes = plain.as_bytes();
        self.text_len += bytes.len();
        self.reserve(bytes.len());
        self.escaped.extend_from_slice(bytes);
    }

    fn push_tab(&mut self) {
        self.text_len += 1;
        self.push_json(r"\t");
    }

    fn push_null(&mut self) {
        self.text_len += 2;
        self.push_json(r"\\N");
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push_str(text);
        Ok(())
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The text is left out: it contains rows.
        let length = self.len();
        f.debug_struct("Text")
            .field("length", &length)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_control_character_is_escaped_in_its_shortest_form() {
        let cases = [
            ("plain é \u{1F600}", "plain é \u{1F600}"),
            ("\"\\/", r#"\"\\/"#),
            ("\u{8}\t\n\u{c}\r", r"\b\t\n\f\r"),
            ("\0\u{1f}\u{7f}", "\\u0000\\u001f\u{7f}"),
            ("", ""),
        ];
        for (text, escaped) in cases {
            assert_eq!(Text::from(text).as_escaped(), escaped, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_reads_back_however_it_was_cut(pieces: Vec<String>) {
            let mut text = Text::new();
            for piece in &pieces {
                text.push_str(piece);
            }
            let json = format!("\"{}\"", text.as_escaped());
            let read: String = serde_json::from_str(&json).expect("a JSON string");
            prop_assert_eq!(read, pieces.concat());
            prop_assert!(!json.contains('\n'));
        }
    }
}
