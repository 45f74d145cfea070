//! Expressions in a form that is short and easy to read.

use std::borrow::Cow;

use ziggurat_sql::{Lexer, Token};

use crate::table_details::query::LONGEST;

/// Casts that PostgreSQL adds to constants which are texts anyway.
const CASTS: [&str; 3] = ["::text", "::character varying", "::bpchar"];

/// Writes an expression of PostgreSQL on one line, without the casts of constants, and with keywords
/// in lower case: a name with capital letters is quoted.
pub(super) fn compact(expression: &str) -> String {
    let expression = cut(expression);
    let expression = expression.trim();
    let mut out = String::with_capacity(expression.len());
    let mut lexer = Lexer::new(expression);
    let mut start = 0;
    while let Some(token) = lexer.next() {
        let piece = &expression[start..lexer.position()];
        let word = piece.trim_start();
        if word.len() < piece.len() {
            out.push(' ');
        }
        match token {
            Token::Word(_) => out.push_str(&word.to_ascii_lowercase()),
            _ => out.push_str(word),
        }
        start = lexer.position();
        if token == Token::Literal
            && let Some(end) = cast(&expression[start..])
        {
            start += end;
            lexer.go_to(start);
        }
    }
    out
}

/// Returns the length of the cast at the beginning of a text.
fn cast(text: &str) -> Option<usize> {
    let cast = CASTS.iter().find(|cast| text.starts_with(**cast))?;
    let is_whole = |next: char| !next.is_alphanumeric() && !"_$.[(".contains(next);
    let next = text[cast.len()..].chars().next();
    next.is_none_or(is_whole).then_some(cast.len())
}

/// Cuts a text, and marks that.
pub(super) fn cut(text: &str) -> Cow<'_, str> {
    text.char_indices()
        .nth(LONGEST)
        .map_or(text.into(), |(end, _)| format!("{}…", &text[..end]).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_written_on_one_line_without_casts_of_constants() {
        let cases = [
            ("", ""),
            ("status <> ''::text", "status <> ''"),
            ("a = 'it''s::text'::character varying", "a = 'it''s::text'"),
            ("a = ANY ('{x}'::text[])", "a = any ('{x}'::text[])"),
            ("b = 'x'::bpchar(3)", "b = 'x'::bpchar(3)"),
            ("c = 'x'::text_2", "c = 'x'::text_2"),
            ("d::text = 'X'::text AND true", "d::text = 'X' and true"),
            ("\"Mixed  Case\" IS NULL", "\"Mixed  Case\" is null"),
            (
                "EXISTS ( SELECT 1\n   FROM t\n  WHERE f(t))",
                "exists ( select 1 from t where f(t))",
            ),
            ("x = 'unclosed", "x = 'unclosed"),
        ];
        for (expression, expected) in cases {
            assert_eq!(compact(expression), expected, "{expression}");
        }
    }

    #[test]
    fn a_long_expression_is_cut_and_marked() {
        let long = "é".repeat(LONGEST);
        assert_eq!(compact(&long), long);
        assert_eq!(compact(&format!("{long} AND true")), format!("{long}…"));
    }
}
