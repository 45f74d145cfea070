//! Reads the `Link` headers of a response.
//!
//! The service may have written anything there, so reading never fails: text outside the grammar is
//! skipped up to the next comma, as RFC 8288, appendix B, suggests.

use std::iter;

/// A link found in a header, its parts as written there.
#[derive(Clone, Copy, Debug)]
pub(super) struct ParsedLink<'a> {
    target: &'a [u8],
    rel: Option<ParamValue<'a>>,
    anchor: Option<ParamValue<'a>>,
}

/// The value of a parameter, without the quotes of a quoted one, but with its escapes.
#[derive(Clone, Copy, Debug)]
struct ParamValue<'a> {
    raw: &'a [u8],
    quoted: bool,
}

/// The part of the line that is not read yet.
struct LinkParser<'a> {
    rest: &'a [u8],
}

/// Finds the links in one header line.
pub(super) fn links(line: &[u8]) -> impl Iterator<Item = ParsedLink<'_>> {
    let mut parser = LinkParser { rest: line };
    iter::from_fn(move || parser.link())
}

// === impl ParsedLink ===

impl<'a> ParsedLink<'a> {
    /// Returns whether this link covers `ours`: same target, same anchor, no relation missing.
    pub(super) fn covers(&self, ours: &ParsedLink<'_>) -> bool {
        let same_anchor = match (self.anchor, ours.anchor) {
            (None, None) => true,
            (Some(written), Some(anchor)) => written.bytes().eq(anchor.bytes()),
            _ => false,
        };
        self.target == ours.target
            && same_anchor
            && ours
                .relations()
                .all(|rel| self.rel.is_some_and(|written| written.has_word(rel)))
    }

    /// The relations in our own format: without escapes, one space between them.
    fn relations(&self) -> impl Iterator<Item = &'a [u8]> {
        let relations = self.rel.map_or(&[][..], |rel| rel.raw);
        relations.split(|&byte| byte == b' ')
    }
}

// === impl ParamValue ===

impl<'a> ParamValue<'a> {
    /// The value with its escapes undone.
    fn bytes(self) -> impl Iterator<Item = u8> + use<'a> {
        let mut raw = self.raw.iter().copied();
        iter::from_fn(move || match raw.next() {
            Some(b'\\') if self.quoted => raw.next(),
            other => other,
        })
    }

    /// Returns whether `word` is one of the words of the value; relations are case-insensitive.
    fn has_word(self, word: &[u8]) -> bool {
        // Length of the match between `word` and the current word, until they differ.
        let mut matched = Some(0);
        for byte in self.bytes().chain([b' ']) {
            if byte.is_ascii_whitespace() {
                if matched == Some(word.len()) {
                    return true;
                }
                matched = Some(0);
            } else {
                matched = matched
                    .filter(|&at| word.get(at).is_some_and(|w| w.eq_ignore_ascii_case(&byte)))
                    .map(|at| at + 1);
            }
        }
        false
    }
}

// === impl LinkParser ===

impl<'a> LinkParser<'a> {
    fn link(&mut self) -> Option<ParsedLink<'a>> {
        loop {
            self.skip(|byte| byte == b',' || byte.is_ascii_whitespace());
            if self.rest.is_empty() {
                return None;
            }
            if self.eat(b'<') {
                break;
            }
            self.skip_member();
        }
        let target = self.take(|byte| byte != b'>');
        if !self.eat(b'>') {
            return None;
        }
        let mut link = ParsedLink {
            target,
            rel: None,
            anchor: None,
        };
        while let Some((name, value)) = self.param() {
            // RFC 8288, section 3.3: of several relation parameters the first counts.
            if name.eq_ignore_ascii_case(b"rel") {
                link.rel = link.rel.or(value);
            } else if name.eq_ignore_ascii_case(b"anchor") {
                link.anchor = link.anchor.or(value);
            }
        }
        self.skip_member();
        Some(link)
    }

    /// Reads the next `; name=value`, or `; name`.
    fn param(&mut self) -> Option<(&'a [u8], Option<ParamValue<'a>>)> {
        self.skip_blanks();
        if !self.eat(b';') {
            return None;
        }
        self.skip_blanks();
        let name =
            self.take(|byte| !matches!(byte, b'=' | b';' | b',') && !byte.is_ascii_whitespace());
        self.skip_blanks();
        let value = self.eat(b'=').then(|| self.value());
        Some((name, value))
    }

    fn value(&mut self) -> ParamValue<'a> {
        self.skip_blanks();
        if self.rest.first() == Some(&b'"') {
            return ParamValue {
                raw: self.quoted_string(),
                quoted: true,
            };
        }
        let raw = self.take(|byte| !matches!(byte, b';' | b','));
        ParamValue {
            raw: raw.trim_ascii_end(),
            quoted: false,
        }
    }

    /// Reads the inside of a quoted string; one that is never closed ends with the line.
    fn quoted_string(&mut self) -> &'a [u8] {
        self.eat(b'"');
        let mut escaped = false;
        let inside = self.take(|byte| {
            let goes_on = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            goes_on
        });
        self.eat(b'"');
        inside
    }

    /// Skips to the comma that ends the member, but not to one inside a quoted string.
    fn skip_member(&mut self) {
        loop {
            self.skip(|byte| !matches!(byte, b',' | b'"'));
            if self.rest.first() != Some(&b'"') {
                return;
            }
            self.quoted_string();
        }
    }

    fn skip_blanks(&mut self) {
        self.skip(|byte| byte.is_ascii_whitespace());
    }

    fn skip(&mut self, belongs: impl FnMut(u8) -> bool) {
        self.take(belongs);
    }

    fn take(&mut self, mut belongs: impl FnMut(u8) -> bool) -> &'a [u8] {
        let end = self.rest.iter().position(|&byte| !belongs(byte));
        let (taken, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        taken
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.rest.first() == Some(&byte);
        self.rest = &self.rest[usize::from(found)..];
        found
    }
}
