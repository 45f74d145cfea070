//! Places in a statement.

use std::ops::Range;

use ziggurat_sql::{Lexer, Token};

/// A token with its place in the text.
#[derive(Clone, Debug)]
pub(crate) struct Piece<'a> {
    pub(crate) token: Token<'a>,
    /// The bytes of the token, with its quotes.
    pub(crate) place: Range<usize>,
}

// === impl Piece ===

impl<'a> Piece<'a> {
    /// Splits a statement without comments.
    pub(crate) fn all(sql: &'a str) -> Vec<Self> {
        let mut lexer = Lexer::new(sql);
        let mut pieces = Vec::new();
        loop {
            let before = lexer.position();
            let Some(token) = lexer.next() else {
                return pieces;
            };
            let end = lexer.position();
            let text = &sql[before..end];
            let start = before + text.len() - text.trim_start().len();
            let place = start..end;
            pieces.push(Self { token, place });
        }
    }

    /// Returns the name that the token may be, without quotes.
    pub(crate) fn name(&self) -> Option<&'a str> {
        match self.token {
            Token::Word(name) | Token::Quoted(name) => Some(name),
            _ => None,
        }
    }

    /// Returns whether it is this symbol.
    pub(crate) fn is(&self, symbol: u8) -> bool {
        self.token == Token::Symbol(symbol)
    }
}
