//! One pass over a JSON document.
//!
//! The scanner checks the whole grammar of RFC 8259, limits the nesting, refuses duplicate keys and
//! records the positions of the members of the envelope. It builds no tree and copies nothing: an
//! ordinary document is scanned without an allocation.

#[cfg(test)]
mod corpus;
mod keys;
#[cfg(test)]
mod tests;

use std::{fmt, str};

use crate::json_rpc::{
    scan::keys::{Keys, ObjectKey},
    text::Span,
};

/// The keys that make a message a call.
#[cfg(feature = "mcp")]
const ENVELOPE: [&str; 4] = ["jsonrpc", "id", "method", "params"];

/// Maximum number of keys of the objects that are open at once: to find duplicates, each takes more
/// memory than a short one takes in the text.
const MAX_KEYS: usize = 1 << 18;

/// The limits of a document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Maximum number of arrays and objects that are open at once. The type bounds the recursion.
    pub(crate) max_depth: u8,
    /// Maximum number of elements of a top-level array that are kept; the others are only counted.
    pub(crate) max_messages: usize,
}

/// A document that is valid JSON.
#[derive(Debug)]
pub(crate) enum Document {
    Single(Message),
    Array { kept: Vec<Message>, count: usize },
}

/// A value at the place of a message: the members of the envelope, if it is an object.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Message {
    pub(crate) is_object: bool,
    pub(crate) jsonrpc: Option<Span>,
    pub(crate) id: Option<Span>,
    pub(crate) method: Option<Span>,
    pub(crate) params: Option<Span>,
    /// Has a `result` or an `error`.
    pub(crate) has_outcome: bool,
    /// Has a key that a reader which ignores case takes for one of the others.
    #[cfg(feature = "mcp")]
    pub(crate) has_lookalike: bool,
}

/// The reason why a document was refused, and its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    kind: FaultKind,
    line: usize,
    column: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultKind {
    Expected(&'static str),
    ControlCharacter,
    InvalidEscape,
    LoneSurrogate,
    NotUtf8,
    DuplicateKey,
    TooDeep(u8),
    TooManyKeys,
}

type Scanned<T = ()> = Result<T, FaultKind>;

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    max_depth: u8,
    keys: Keys<'a>,
}

/// Scans a document from its first byte to its last.
pub(crate) fn scan(document: &[u8], limits: Limits) -> Result<Document, Fault> {
    let text = str::from_utf8(document)
        .map_err(|error| Fault::at(document, error.valid_up_to(), FaultKind::NotUtf8))?;
    let mut scanner = Scanner {
        text,
        at: 0,
        max_depth: limits.max_depth,
        keys: Keys::new(),
    };
    scanner
        .document(limits.max_messages)
        .map_err(|kind| Fault::at(document, scanner.at, kind))
}

/// Finds members of an object that was scanned before.
///
/// Returns `None` if the value is not an object, or if one of its keys differs from a name only in
/// case: some readers ignore the case of keys, so they would find another member.
#[cfg(feature = "mcp")]
pub(crate) fn members<const N: usize>(
    text: &str,
    object: Span,
    names: [&str; N],
) -> Option<[Option<Span>; N]> {
    let mut found = [None; N];
    let mut has_lookalike = false;
    let mut scanner = Scanner::at(text, object, b'{')?;
    let outcome = scanner.object(u8::MAX, |key, value| {
        match names.iter().position(|name| key.is(name)) {
            Some(index) => found[index] = Some(value),
            None => has_lookalike |= names.iter().any(|name| key.resembles(name)),
        }
    });
    (outcome.is_ok() && !has_lookalike).then_some(found)
}

/// Finds the elements of an array that was scanned before; `None` if the value is not an array.
#[cfg(feature = "mcp")]
pub(crate) fn elements(text: &str, array: Span) -> Option<Vec<Span>> {
    let mut found = Vec::new();
    let mut scanner = Scanner::at(text, array, b'[')?;
    let outcome = scanner.array(u8::MAX, |scanner, depth| {
        let start = scanner.at;
        scanner.value(depth)?;
        let end = scanner.at;
        found.push(Span { start, end });
        Ok(())
    });
    outcome.is_ok().then_some(found)
}

// === impl Message ===

impl Message {
    pub(crate) fn is_response(&self) -> bool {
        self.has_outcome && self.method.is_none()
    }

    fn note(&mut self, key: ObjectKey<'_>, value: Span) {
        let place = match () {
            () if key.is("jsonrpc") => &mut self.jsonrpc,
            () if key.is("id") => &mut self.id,
            () if key.is("method") => &mut self.method,
            () if key.is("params") => &mut self.params,
            () => {
                let is_outcome = key.is("result") || key.is("error");
                self.has_outcome |= is_outcome;
                #[cfg(feature = "mcp")]
                if !is_outcome {
                    self.has_lookalike |= ENVELOPE.iter().any(|name| key.resembles(name));
                }
                return;
            }
        };
        *place = Some(value);
    }
}

// === impl Fault ===

impl Fault {
    fn at(document: &[u8], offset: usize, kind: FaultKind) -> Self {
        let before = &document[..offset];
        let lines = before.split(|&byte| byte == b'\n');
        let last_line = lines.clone().next_back().unwrap_or_default();
        // Counts first bytes of characters only, so that the column is the one an editor shows.
        let is_first = |byte: &&u8| !matches!(byte, 0x80..0xC0);
        Self {
            kind,
            line: lines.count(),
            column: 1 + last_line.iter().filter(is_first).count(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, line, column } = self;
        write!(f, "{kind} at line {line} column {column}")
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expected(what) => write!(f, "expected {what}"),
            Self::ControlCharacter => f.write_str("control character in a string"),
            Self::InvalidEscape => f.write_str("invalid escape"),
            Self::LoneSurrogate => f.write_str("half of a surrogate pair"),
            Self::NotUtf8 => f.write_str("invalid UTF-8"),
            Self::DuplicateKey => f.write_str("duplicate key in the object that ends"),
            Self::TooDeep(max) => write!(f, "more than {max} levels deep"),
            Self::TooManyKeys => write!(f, "more than {MAX_KEYS} keys in open objects"),
        }
    }
}

// === impl Scanner ===

impl<'a> Scanner<'a> {
    /// Returns to a value of a document that was scanned before, if it opens with this bracket.
    #[cfg(feature = "mcp")]
    fn at(text: &'a str, value: Span, opening: u8) -> Option<Self> {
        let scanner = Self {
            text,
            at: value.start,
            max_depth: u8::MAX,
            keys: Keys::new(),
        };
        (scanner.peek() == Some(opening)).then_some(scanner)
    }

    fn document(&mut self, max_messages: usize) -> Scanned<Document> {
        self.skip_whitespace();
        let document = if self.peek() == Some(b'[') {
            let mut kept = Vec::new();
            let mut count = 0;
            self.array(self.max_depth, |scanner, depth| {
                let message = scanner.message(depth)?;
                count += 1;
                if kept.len() < max_messages {
                    kept.push(message);
                }
                Ok(())
            })?;
            Document::Array { kept, count }
        } else {
            Document::Single(self.message(self.max_depth)?)
        };
        self.skip_whitespace();
        match self.peek() {
            None => Ok(document),
            Some(_) => Err(FaultKind::Expected("the end")),
        }
    }

    fn message(&mut self, depth: u8) -> Scanned<Message> {
        let mut message = Message::default();
        if self.peek() == Some(b'{') {
            message.is_object = true;
            self.object(depth, |key, value| message.note(key, value))?;
        } else {
            self.value(depth)?;
        }
        Ok(message)
    }

    /// Skips any value; `depth` is how many more levels it may have.
    fn value(&mut self, depth: u8) -> Scanned {
        match self.peek() {
            Some(b'{') => self.object(depth, |_, _| {}),
            Some(b'[') => self.array(depth, Self::value),
            Some(b'"') => self.string().map(drop),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal("true"),
            Some(b'f') => self.literal("false"),
            Some(b'n') => self.literal("null"),
            _ => Err(FaultKind::Expected("a value")),
        }
    }

    fn array(&mut self, depth: u8, mut element: impl FnMut(&mut Self, u8) -> Scanned) -> Scanned {
        let depth = self.open(depth)?;
        if self.eat(b']') {
            return Ok(());
        }
        loop {
            element(self, depth)?;
            self.skip_whitespace();
            if self.eat(b']') {
                return Ok(());
            }
            self.expect(b',', "`,` or `]`")?;
        }
    }

    fn object(&mut self, depth: u8, mut member: impl FnMut(ObjectKey<'a>, Span)) -> Scanned {
        let depth = self.open(depth)?;
        let opened = self.keys.len();
        if self.eat(b'}') {
            return Ok(());
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(FaultKind::Expected("a key"));
            }
            let key = self.string()?;
            self.skip_whitespace();
            self.expect(b':', "`:`")?;
            let start = self.at;
            self.value(depth)?;
            let end = self.at;
            member(key, Span { start, end });
            if self.keys.len() == MAX_KEYS {
                return Err(FaultKind::TooManyKeys);
            }
            self.keys.push(key);
            self.skip_whitespace();
            if self.eat(b'}') {
                break;
            }
            self.expect(b',', "`,` or `}`")?;
        }
        if self.keys.close(opened) {
            Ok(())
        } else {
            Err(FaultKind::DuplicateKey)
        }
    }

    fn string(&mut self) -> Scanned<ObjectKey<'a>> {
        self.at += 1;
        let start = self.at;
        let mut is_escaped = false;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    is_escaped = true;
                    self.escape()?;
                }
                Some(0..b' ') => return Err(FaultKind::ControlCharacter),
                Some(_) => self.at += 1,
                None => return Err(FaultKind::Expected("the end of the string")),
            }
        }
        let raw = &self.text[start..self.at];
        self.at += 1;
        Ok(ObjectKey { raw, is_escaped })
    }

    fn escape(&mut self) -> Scanned {
        match self.text.as_bytes().get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 2;
                Ok(())
            }
            Some(b'u') => match self.code_unit()? {
                0xD800..0xDC00 => match self.code_unit() {
                    Ok(0xDC00..0xE000) => Ok(()),
                    _ => Err(FaultKind::LoneSurrogate),
                },
                0xDC00..0xE000 => Err(FaultKind::LoneSurrogate),
                _ => Ok(()),
            },
            _ => Err(FaultKind::InvalidEscape),
        }
    }

    /// Skips `\uXXXX`.
    fn code_unit(&mut self) -> Scanned<u16> {
        let rest = &self.text.as_bytes()[self.at..];
        let [b'\\', b'u', digits @ ..] = rest else {
            return Err(FaultKind::InvalidEscape);
        };
        let digits = digits.first_chunk::<4>().ok_or(FaultKind::InvalidEscape)?;
        let mut unit = 0;
        for &digit in digits {
            // `u16::from_str_radix` would accept a sign.
            let digit = match digit {
                b'0'..=b'9' => digit - b'0',
                b'a'..=b'f' => digit - b'a' + 10,
                b'A'..=b'F' => digit - b'A' + 10,
                _ => return Err(FaultKind::InvalidEscape),
            };
            unit = unit << 4 | u16::from(digit);
        }
        self.at += 6;
        Ok(unit)
    }

    fn number(&mut self) -> Scanned {
        self.eat(b'-');
        // RFC 8259, section 6: no leading zeros. A digit after a zero is left, and the caller
        // refuses it.
        if !self.eat(b'0') {
            self.digits()?;
        }
        if self.eat(b'.') {
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            if !self.eat(b'+') {
                self.eat(b'-');
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Scanned {
        let rest = &self.text.as_bytes()[self.at..];
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        if count == 0 {
            return Err(FaultKind::Expected("a digit"));
        }
        Ok(())
    }

    fn literal(&mut self, word: &str) -> Scanned {
        if !self.text[self.at..].starts_with(word) {
            return Err(FaultKind::Expected("a value"));
        }
        self.at += word.len();
        Ok(())
    }

    /// Skips a bracket and the blanks behind it, one level further down.
    fn open(&mut self, depth: u8) -> Scanned<u8> {
        let depth = depth
            .checked_sub(1)
            .ok_or(FaultKind::TooDeep(self.max_depth))?;
        self.at += 1;
        self.skip_whitespace();
        Ok(depth)
    }

    /// Skips `expected` and the blanks behind it.
    fn expect(&mut self, expected: u8, name: &'static str) -> Scanned {
        if !self.eat(expected) {
            return Err(FaultKind::Expected(name));
        }
        self.skip_whitespace();
        Ok(())
    }

    fn eat(&mut self, expected: u8) -> bool {
        let is_there = self.peek() == Some(expected);
        self.at += usize::from(is_there);
        is_there
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_whitespace(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }
}
