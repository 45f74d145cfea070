//! The `Idempotency-Key` header.

use http::{HeaderMap, HeaderName};

/// Maximum length of a key in bytes.
pub(super) const MAX_LENGTH: usize = 255;

static HEADER: HeaderName = HeaderName::from_static("idempotency-key");

/// A key as the client chose it, without quotes and escapes.
pub(super) struct SentKey {
    bytes: [u8; MAX_LENGTH],
    length: usize,
}

/// The reason why there is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoKey {
    Missing,
    Invalid,
}

// === impl SentKey ===

impl SentKey {
    /// Reads the only `Idempotency-Key` of a request.
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, NoKey> {
        let value = headers.get(&HEADER).ok_or(NoKey::Missing)?;
        if headers.get_all(&HEADER).iter().nth(1).is_some() {
            return Err(NoKey::Invalid);
        }
        Self::parse(value.as_bytes()).ok_or(NoKey::Invalid)
    }

    /// Parses a String (RFC 9651, section 3.3.3), or the bare form that many clients send.
    pub(super) fn parse(value: &[u8]) -> Option<Self> {
        let value = value.trim_ascii();
        let mut key = Self {
            bytes: [0; MAX_LENGTH],
            length: 0,
        };
        match value.strip_prefix(b"\"") {
            Some(rest) => key.push_escaped(rest.strip_suffix(b"\"")?)?,
            None => key.push_bare(value)?,
        }
        (key.length > 0).then_some(key)
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn push_escaped(&mut self, text: &[u8]) -> Option<()> {
        let mut bytes = text.iter().copied();
        while let Some(byte) = bytes.next() {
            self.push(match byte {
                b'\\' => bytes.next().filter(|next| b"\"\\".contains(next))?,
                b' ' | b'!' | b'#'..=b'~' => byte,
                _ => return None,
            })?;
        }
        Some(())
    }

    fn push_bare(&mut self, text: &[u8]) -> Option<()> {
        for &byte in text {
            // A comma separates the keys of joined headers, and a semicolon begins parameters.
            if !byte.is_ascii_graphic() || b"\"\\,;".contains(&byte) {
                return None;
            }
            self.push(byte)?;
        }
        Some(())
    }

    fn push(&mut self, byte: u8) -> Option<()> {
        *self.bytes.get_mut(self.length)? = byte;
        self.length += 1;
        Some(())
    }
}
