//! Reads just enough SQL to decide which texts are not sent to PostgreSQL.
//!
//! [`Lexer`] splits a text into words, symbols, literals and quoted names the way PostgreSQL does,
//! and knows no grammar. PostgreSQL remains the authority: a text that passes here is not thereby
//! safe. [`Policy::check`] reads a text once: it decides whether the text is refused before it is
//! sent, and returns its [`StatementShape`], which tells whether a text limits its own result and
//! which command it is.
//!
//! ```
//! use ziggurat_sql::Policy;
//!
//! let text = "/* top ten */ SELECT ';' AS c FROM t FETCH FIRST 10 ROWS ONLY";
//! let shape = Policy::read_only().check(text)?;
//! assert_eq!(shape.command(), "SELECT");
//! assert!(shape.bounds().limits && !shape.is_several());
//!
//! let refusal = Policy::read_only().check("SELECT 1; DROP TABLE t").expect_err("two statements");
//! assert!(refusal.to_string().starts_with("query rejected: "));
//! # Ok::<_, ziggurat_sql::Refusal>(())
//! ```

mod guard;
mod identity_guard;
mod normalize;
mod pairs;
mod planned;
mod policy;
mod settings;
mod spelling;
mod statement_shape;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

pub use self::{
    guard::Refusal,
    identity_guard::{explains, keep_identity, keep_transaction},
    normalize::{normalize, normalized},
    planned::{Planned, explained},
    policy::{Danger, Policy},
    statement_shape::{Bounds, StatementShape},
};

/// Splits SQL into [`Token`]s, without comments and white space.
///
/// Assumes `standard_conforming_strings = on`, the default since PostgreSQL 9.1.
#[derive(Clone, Debug)]
pub struct Lexer<'a> {
    text: &'a str,
    at: usize,
    /// End of the run of operator characters that was measured last.
    operators_end: usize,
    put_back_bytes: usize,
}

/// A piece of SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Token<'a> {
    /// Keyword or unquoted name, as written.
    Word(&'a str),
    /// Quoted name, without its quotes.
    Quoted(&'a str),
    /// Quoted name written as `U&"…"`, without its quotes; its escapes are not decoded.
    Escaped(&'a str),
    /// String or bit string, in quotes or dollar quotes.
    Literal,
    /// A number or a parameter.
    Number,
    /// Any other character.
    Symbol(u8),
    /// A comment, string or quoted name that has no end.
    Unclosed,
}

// === impl Token ===

impl<'a> Token<'a> {
    /// Returns the name that PostgreSQL reads here: unquoted, unescaped, and folded if it has no
    /// quotes. A keyword is returned as a name, too.
    ///
    /// ```
    /// use ziggurat_sql::Lexer;
    ///
    /// let text = r#"A."B""c" U&"d\0065" 'f' 7"#;
    /// let names: Vec<_> = Lexer::new(text).filter_map(|token| token.identifier()).collect();
    /// assert_eq!(names, ["a", "B\"c", "de"]);
    /// ```
    #[must_use]
    pub fn identifier(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Word(word) => {
                let name = spelling::folded(word);
                let is_upper = name.bytes().any(|byte| byte.is_ascii_uppercase());
                Some(if is_upper {
                    name.to_ascii_lowercase().into()
                } else {
                    name
                })
            }
            Self::Quoted(name) => Some(unquoted(Cow::Borrowed(name))),
            Self::Escaped(name) => Some(spelling::unescaped(&unquoted(name.into())).into()),
            _ => None,
        }
    }
}

/// Replaces doubled quotes.
fn unquoted(name: Cow<'_, str>) -> Cow<'_, str> {
    if name.contains("\"\"") {
        name.replace("\"\"", "\"").into()
    } else {
        name
    }
}

// === impl Lexer ===

impl<'a> Lexer<'a> {
    /// Starts at the beginning of a text.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            operators_end: 0,
            put_back_bytes: 0,
        }
    }

    /// Returns the number of bytes so far that PostgreSQL's lexer reads ahead and then puts back.
    ///
    /// At each operator or comment it reads the longest run of operator characters, keeps little of
    /// it, and reads the rest again for the next one. So `/**//**/…` and `+++…` cost it time
    /// quadratic in their length.
    pub(crate) fn put_back_bytes(&self) -> usize {
        self.put_back_bytes
    }

    /// Counts the run of operator characters that begins here, without the `kept` ones.
    fn read_operators(&mut self, kept: usize) {
        if self.operators_end <= self.at {
            let rest = &self.text.as_bytes()[self.at..];
            let length = rest.iter().position(|&byte| !is_operator(byte));
            self.operators_end = self.at + length.unwrap_or(rest.len());
        }
        let run = self.operators_end - self.at;
        self.put_back_bytes = self.put_back_bytes.saturating_add(run.saturating_sub(kept));
    }

    /// Returns the position of the lexer: the end of the last token.
    #[must_use]
    pub fn position(&self) -> usize {
        self.at
    }

    /// Continues at `position`, which must be a character boundary.
    pub fn go_to(&mut self, position: usize) {
        self.at = position;
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    /// Takes bytes while `fits` holds. It must treat all bytes of a multi-byte character alike, so
    /// that the end is a character boundary.
    fn take_bytes(&mut self, fits: impl Fn(u8) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let end = rest.bytes().position(|b| !fits(b)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Skips white space and comments. Returns whether the last comment is closed.
    fn skip_blanks(&mut self) -> bool {
        loop {
            self.take_bytes(is_space);
            match (self.peek(0), self.peek(1)) {
                (Some(b'-'), Some(b'-')) => {
                    self.take_bytes(|b| !is_newline(b));
                }
                (Some(b'/'), Some(b'*')) => {
                    if !self.skip_block_comment() {
                        return false;
                    }
                }
                _ => return true,
            }
        }
    }

    fn skip_block_comment(&mut self) -> bool {
        let mut depth = 0_usize;
        while let Some(byte) = self.peek(0) {
            match (byte, self.peek(1)) {
                (b'/', Some(b'*')) => {
                    self.read_operators(2);
                    depth += 1;
                    self.at += 2;
                }
                (b'*', Some(b'/')) => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return true;
                    }
                }
                _ => self.at += 1,
            }
        }
        false
    }

    /// Takes the text between two quotes; a doubled quote does not end it.
    fn quoted(&mut self, quote: u8, has_escapes: bool) -> Option<&'a str> {
        self.at += 1;
        let start = self.at;
        while let Some(byte) = self.peek(0) {
            if byte == b'\\' && has_escapes {
                self.at += 2;
            } else if byte != quote {
                self.at += 1;
            } else if self.peek(1) == Some(quote) {
                self.at += 2;
            } else {
                self.at += 1;
                return self.text.get(start..self.at - 1);
            }
        }
        self.at = self.text.len();
        None
    }

    fn string(&mut self, has_escapes: bool) -> Token<'a> {
        loop {
            if self.quoted(b'\'', has_escapes).is_none() {
                return Token::Unclosed;
            }
            // A string continues after a line break, and `E` applies to all of it.
            let mut rest = self.clone();
            let mut breaks = false;
            loop {
                breaks |= rest.take_bytes(is_space).bytes().any(is_newline);
                if (rest.peek(0), rest.peek(1)) != (Some(b'-'), Some(b'-')) {
                    break;
                }
                rest.take_bytes(|b| !is_newline(b));
            }
            if !breaks || rest.peek(0) != Some(b'\'') {
                return Token::Literal;
            }
            self.at = rest.at;
        }
    }

    fn identifier(&mut self, token: fn(&'a str) -> Token<'a>) -> Token<'a> {
        self.quoted(b'"', false).map_or(Token::Unclosed, token)
    }

    /// Takes a number without a word directly after it: PostgreSQL 14 reads `1INTO` as two tokens.
    fn number(&mut self) -> Token<'a> {
        let is_digit = |b: u8| b.is_ascii_digit() || b == b'_';
        let is_based = self.peek(0) == Some(b'0')
            && matches!(self.peek(1), Some(b'x' | b'X' | b'o' | b'O' | b'b' | b'B'))
            && self.peek(2).is_some_and(|b| b.is_ascii_hexdigit());
        if is_based {
            self.at += 2;
            self.take_bytes(|b| b.is_ascii_hexdigit() || b == b'_');
            return Token::Number;
        }
        self.take_bytes(|b| is_digit(b) || b == b'.');
        let sign = usize::from(matches!(self.peek(1), Some(b'+' | b'-')));
        if matches!(self.peek(0), Some(b'e' | b'E'))
            && self.peek(1 + sign).is_some_and(|b| b.is_ascii_digit())
        {
            self.at += 1 + sign;
            self.take_bytes(is_digit);
        }
        Token::Number
    }

    fn dollar(&mut self) -> Token<'a> {
        let rest = &self.text[self.at..];
        if self.peek(1).is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
            self.take_bytes(|b| b.is_ascii_digit());
            return Token::Number;
        }
        let tag = rest[1..]
            .bytes()
            .position(|b| !is_tag(b))
            .filter(|&end| rest.as_bytes()[end + 1] == b'$')
            .map(|end| &rest[..end + 2]);
        let Some(tag) = tag else {
            self.at += 1;
            return Token::Symbol(b'$');
        };
        if let Some(end) = rest[tag.len()..].find(tag) {
            self.at += tag.len() + end + tag.len();
            Token::Literal
        } else {
            self.at = self.text.len();
            Token::Unclosed
        }
    }

    fn word(&mut self) -> Token<'a> {
        let next = (self.peek(1), self.peek(2));
        match self.text.as_bytes()[self.at].to_ascii_uppercase() {
            b'E' if next.0 == Some(b'\'') => {
                self.at += 1;
                self.string(true)
            }
            b'B' | b'X' | b'N' if next.0 == Some(b'\'') => {
                self.at += 1;
                self.string(false)
            }
            b'U' if next == (Some(b'&'), Some(b'\'')) => {
                self.at += 2;
                self.string(false)
            }
            b'U' if next == (Some(b'&'), Some(b'"')) => {
                self.at += 2;
                self.identifier(Token::Escaped)
            }
            _ => Token::Word(self.take_bytes(|b| is_tag(b) || b == b'$')),
        }
    }
}

impl<'a> Iterator for Lexer<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        if !self.skip_blanks() {
            return Some(Token::Unclosed);
        }
        let token = match self.peek(0)? {
            b'\'' => self.string(false),
            b'"' => self.identifier(Token::Quoted),
            b'$' => self.dollar(),
            b'0'..=b'9' => self.number(),
            byte if is_tag(byte) => self.word(),
            byte => {
                if is_operator(byte) {
                    self.read_operators(1);
                }
                self.at += 1;
                Token::Symbol(byte)
            }
        };
        Some(token)
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

fn is_newline(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Returns whether a byte is an operator character, the set `op_chars` of PostgreSQL's `scan.l`.
fn is_operator(byte: u8) -> bool {
    matches!(
        byte,
        b'~' | b'!'
            | b'@'
            | b'#'
            | b'^'
            | b'&'
            | b'|'
            | b'`'
            | b'?'
            | b'+'
            | b'-'
            | b'*'
            | b'/'
            | b'%'
            | b'<'
            | b'>'
            | b'='
    )
}

/// Returns whether a byte belongs to a word or to the tag of a dollar quote.
fn is_tag(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}
