//! Parts of a document that the scanner has accepted.

use std::{borrow::Cow, fmt, str::Chars};

use bytes::Bytes;
use bytestring::ByteString;

/// The position of a value in its document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// A piece of UTF-8 text that shares the buffer of its document.
#[derive(Clone)]
pub(crate) struct Text(ByteString);

/// The characters of a JSON string, unescaped.
///
/// Made from the text between the quotes of a string that the scanner has accepted.
#[derive(Clone, Debug)]
pub(crate) struct Unescaped<'a>(Chars<'a>);

// === impl Span ===

#[cfg(feature = "mcp")]
impl Span {
    /// The position of a value in a text that is nothing else.
    pub(crate) fn of(text: &str) -> Self {
        Self {
            start: 0,
            end: text.len(),
        }
    }
}

// === impl Text ===

impl Text {
    /// The JSON value at `span`, as written.
    pub(crate) fn of_value(document: &Bytes, span: Span) -> Self {
        let text = ByteString::try_from(document.slice(span.start..span.end));
        Self(text.expect("cut from UTF-8 at ASCII characters"))
    }

    /// The text of the JSON string at `span`; copied only if it has escapes.
    pub(crate) fn of_string(document: &Bytes, span: Span) -> Self {
        let within = Span {
            start: span.start + 1,
            end: span.end - 1,
        };
        let raw = Self::of_value(document, within);
        match unescape(raw.as_str()) {
            Cow::Borrowed(_) => raw,
            Cow::Owned(text) => text.into(),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

// === impl Unescaped ===

impl<'a> Unescaped<'a> {
    pub(crate) fn new(raw: &'a str) -> Self {
        Self(raw.chars())
    }

    fn escape(&mut self) -> Option<char> {
        Some(match self.0.next()? {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return self.code_point(),
            itself => itself,
        })
    }

    fn code_point(&mut self) -> Option<char> {
        let high = self.hex()?;
        if !(0xD800..0xDC00).contains(&high) {
            return char::from_u32(high);
        }
        // RFC 8259, section 7: the other half of the pair follows as an escape of its own.
        self.0.nth(1)?;
        let low = self.hex()?;
        char::from_u32(0x1_0000 + ((high - 0xD800) << 10) + low.checked_sub(0xDC00)?)
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.0.as_str().get(..4)?;
        self.0.nth(3);
        u32::from_str_radix(digits, 16).ok()
    }
}

impl Iterator for Unescaped<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        match self.0.next()? {
            '\\' => self.escape(),
            plain => Some(plain),
        }
    }
}

/// Unescapes the text between the quotes of a JSON string.
pub(crate) fn unescape(raw: &str) -> Cow<'_, str> {
    if raw.contains('\\') {
        Cow::Owned(Unescaped::new(raw).collect())
    } else {
        Cow::Borrowed(raw)
    }
}

/// Returns the text of the JSON string at `span`, copied only if it has escapes; `None` if the value
/// is not a string.
#[cfg(feature = "mcp")]
pub(crate) fn string_at(text: &str, span: Span) -> Option<Cow<'_, str>> {
    let raw = text.get(span.start..span.end)?;
    Some(unescape(raw.strip_prefix('"')?.strip_suffix('"')?))
}
