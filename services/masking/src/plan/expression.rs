//! Expressions as PostgreSQL prints them.

use std::borrow::Cow;

use ziggurat_sql::{Lexer, Token};

/// An expression of a plan.
pub(super) struct Expression<'a> {
    tokens: Vec<Token<'a>>,
}

/// Name in an expression.
pub(super) enum Named<'a> {
    /// Name of a function that is called.
    Call(Cow<'a, str>),
    /// Name of a column, and what stands before its dot.
    Column(Option<Cow<'a, str>>, Cow<'a, str>),
    /// All columns of this alias.
    WholeRow(Cow<'a, str>),
}

// === impl Expression ===

impl<'a> Expression<'a> {
    /// Splits a text; `None` if it has no end.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let tokens: Vec<_> = Lexer::new(text).collect();
        let is_odd = |token: &Token<'_>| matches!(token, Token::Unclosed | Token::Escaped(_));
        (!tokens.iter().any(is_odd)).then_some(Self { tokens })
    }

    /// Returns the column that it consists of, with its qualifier.
    pub(super) fn column(&self) -> Option<(Option<&str>, &str)> {
        // A name with a quote in it is left to the other check.
        let plain = |token: &Token<'a>| match *token {
            Token::Word(name) => Some(name),
            Token::Quoted(name) if !name.contains('"') => Some(name),
            _ => None,
        };
        match &*self.tokens {
            [name] => Some((None, plain(name)?)),
            [qualifier, Token::Symbol(b'.'), name] => Some((Some(plain(qualifier)?), plain(name)?)),
            _ => None,
        }
    }

    /// Returns whether it runs another plan for its value.
    pub(super) fn has_subplan(&self) -> bool {
        self.tokens.contains(&Token::Word("SubPlan"))
    }

    /// Returns all names in it.
    pub(super) fn named(&self) -> impl Iterator<Item = Named<'a>> {
        let tokens = &self.tokens;
        (0..tokens.len()).filter_map(move |at| {
            let before = |back: usize| at.checked_sub(back).and_then(|at| tokens.get(at));
            let is_after_dot = before(1) == Some(&Token::Symbol(b'.'));
            let qualifier = if is_after_dot {
                before(2).and_then(name)
            } else {
                None
            };
            if tokens[at] == Token::Symbol(b'*') {
                return qualifier.map(Named::WholeRow);
            }
            let name = name(&tokens[at])?;
            match tokens.get(at + 1) {
                // The catalogue's own functions are known.
                Some(Token::Symbol(b'(')) if qualifier.as_deref() == Some("pg_catalog") => None,
                Some(Token::Symbol(b'(')) => Some(Named::Call(name)),
                _ => Some(Named::Column(qualifier, name)),
            }
        })
    }
}

/// Returns the name that a token is.
fn name<'a>(token: &Token<'a>) -> Option<Cow<'a, str>> {
    match *token {
        Token::Quoted(name) if name.contains('"') => Some(Cow::Owned(name.replace("\"\"", "\""))),
        Token::Word(name) | Token::Quoted(name) => Some(Cow::Borrowed(name)),
        _ => None,
    }
}
