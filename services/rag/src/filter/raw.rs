//! Filter conditions in SQL, which only an operator can write.

use ziggurat_sql::{Lexer, Token};

use crate::filter::InvalidFilter;

/// A condition in SQL that cannot change the query around it.
///
/// Its meaning is not checked. It is empty only if the operator wrote nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawFilter {
    sql: String,
}

// === impl RawFilter ===

impl RawFilter {
    /// Checks the SQL of an operator; an empty text is no filter.
    ///
    /// # Errors
    /// Fails if parentheses are unbalanced outside of strings and quoted names, or if the text
    /// contains a semicolon, a comment, a parameter, or a string or name without its closing quote.
    pub fn new(sql: String) -> Result<Self, InvalidFilter> {
        let mut lexer = Lexer::new(&sql);
        let mut depth = 0_usize;
        loop {
            let before = lexer.position();
            let token = lexer.next();
            let piece = sql[before..lexer.position()].trim_start();
            if piece.starts_with("--") || piece.starts_with("/*") {
                return Err(InvalidFilter::Unsafe("comments"));
            }
            match token {
                None => break,
                Some(Token::Symbol(b'(')) => depth += 1,
                Some(Token::Symbol(b')')) if depth == 0 => {
                    return Err(InvalidFilter::Unsafe("unbalanced parentheses"));
                }
                Some(Token::Symbol(b')')) => depth -= 1,
                Some(Token::Symbol(b';')) => return Err(InvalidFilter::Unsafe("';'")),
                Some(Token::Number) if piece.starts_with('$') => {
                    return Err(InvalidFilter::Unsafe("parameters"));
                }
                Some(Token::Unclosed) => {
                    return Err(InvalidFilter::Unsafe(
                        "a string or name without its closing quote",
                    ));
                }
                Some(_) => {}
            }
        }
        // PostgreSQL accepts no NUL anywhere in a statement.
        if sql.contains('\0') {
            return Err(InvalidFilter::Unsafe("NUL"));
        }
        if depth > 0 {
            return Err(InvalidFilter::Unsafe("unbalanced parentheses"));
        }
        Ok(Self { sql })
    }

    /// Returns the condition, if there is one.
    pub(crate) fn sql(&self) -> Option<&str> {
        let sql = self.sql.trim();
        (!sql.is_empty()).then_some(sql)
    }
}
