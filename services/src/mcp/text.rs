//! Text on its way into a JSON string.

use std::fmt;

use bytes::Bytes;

/// What stands for each byte inside a JSON string (RFC 8259, section 7): 0 for the byte
/// itself, `u` for a numeric escape, else the letter behind the backslash.
const ESCAPES: [u8; 256] = {
    let mut escapes = [0; 256];
    let mut control = 0;
    while control < 0x20 {
        escapes[control] = b'u';
        control += 1;
    }
    escapes[0x08] = b'b';
    escapes[b'\t' as usize] = b't';
    escapes[b'\n' as usize] = b'n';
    escapes[0x0c] = b'f';
    escapes[b'\r' as usize] = b'r';
    escapes[b'"' as usize] = b'"';
    escapes[b'\\' as usize] = b'\\';
    escapes
};

/// A piece of a result's text, escaped for JSON as it is written.
///
/// Rows are written into it and it goes out as it is: between a row and the wire its text is
/// copied once. Anything that takes a [`fmt::Write`] can fill it.
///
/// ```
/// use std::fmt::Write as _;
/// use ziggurat_services::mcp::Text;
///
/// let mut text = Text::from("id\tname\n");
/// write!(text, "{}\t{}\n", 1, r"C:\Ada")?;
/// assert_eq!(text.as_escaped(), r"id\tname\n1\tC:\\Ada\n");
/// # Ok::<_, std::fmt::Error>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Text {
    escaped: String,
}

// === impl Text ===

impl Text {
    /// Makes an empty piece.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            escaped: String::new(),
        }
    }

    /// Makes an empty piece with room for so many bytes, escapes included.
    #[must_use]
    pub fn with_capacity(bytes: usize) -> Self {
        Self {
            escaped: String::with_capacity(bytes),
        }
    }

    /// Appends text.
    pub fn push_str(&mut self, text: &str) {
        let mut rest = text;
        // What is escaped is ASCII, so every cut is at a character.
        while let Some(at) = rest
            .bytes()
            .position(|byte| ESCAPES[usize::from(byte)] != 0)
        {
            let (plain, escaped) = rest.split_at(at);
            let (special, behind) = escaped.split_at(1);
            self.escaped.push_str(plain);
            self.push_escape(special.as_bytes()[0]);
            rest = behind;
        }
        self.escaped.push_str(rest);
    }

    /// How many bytes the piece takes on the wire: when to send it and begin another.
    #[must_use]
    pub fn len(&self) -> usize {
        self.escaped.len()
    }

    /// Whether nothing has been written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.escaped.is_empty()
    }

    /// What stands between the quotes of the JSON string.
    #[must_use]
    pub fn as_escaped(&self) -> &str {
        &self.escaped
    }

    pub(super) fn push_json(&mut self, json: &str) {
        self.escaped.push_str(json);
    }

    pub(super) fn into_bytes(self) -> Bytes {
        Bytes::from(self.escaped)
    }

    fn push_escape(&mut self, byte: u8) {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        self.escaped.push('\\');
        match ESCAPES[usize::from(byte)] {
            b'u' => {
                self.escaped.push_str("u00");
                self.escaped.push(HEX[usize::from(byte >> 4)].into());
                self.escaped.push(HEX[usize::from(byte & 15)].into());
            }
            letter => self.escaped.push(letter.into()),
        }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        let mut piece = Self::with_capacity(text.len());
        piece.push_str(text);
        piece
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
        // The text is left out: it holds rows.
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
    fn every_control_character_is_escaped_as_the_shortest_form_has_it() {
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
