//! Texts that can return the places of the rows that they change.

use ziggurat_postgres::quoted;
use ziggurat_sql::{Lexer, Token};

/// Table that a text changes, if the text can return the places of the rows.
#[derive(Debug)]
pub(super) struct Target {
    /// The name of the table, quoted.
    pub(super) table: String,
    /// The place of a row, and the OID of its table.
    pub(super) list: String,
}

/// Returns the table that a text changes, if the text is one statement and returns nothing itself.
pub(super) fn target(text: &str) -> Option<Target> {
    let is_other = |token| token == Token::Symbol(b';') || is_word(&token, "returning");
    if Lexer::new(text).any(is_other) {
        return None;
    }
    let mut tokens = Lexer::new(text).peekable();
    let first = tokens.next()?;
    let is_insert = is_word(&first, "insert");
    if is_insert {
        tokens.next_if(|token| is_word(token, "into"))?;
    } else if is_word(&first, "delete") {
        tokens.next_if(|token| is_word(token, "from"))?;
    } else if !is_word(&first, "update") {
        return None;
    }
    tokens.next_if(|token| is_word(token, "only"));
    let mut alias = quoted(&tokens.next()?.identifier()?);
    let mut table = alias.clone();
    while tokens.next_if_eq(&Token::Symbol(b'.')).is_some() {
        alias = quoted(&tokens.next()?.identifier()?);
        table = format!("{table}.{alias}");
    }
    if is_insert {
        return Some(Target {
            list: places(""),
            table,
        });
    }
    tokens.next_if_eq(&Token::Symbol(b'*'));
    let is_named = tokens.next_if(|token| is_word(token, "as")).is_some();
    let follows = |token: &Token<'_>| {
        ["set", "using", "where"]
            .iter()
            .any(|it| is_word(token, it))
    };
    if let Some(token) = tokens.peek()
        && (is_named || !follows(token))
    {
        alias = quoted(&token.identifier()?);
    }
    Some(Target {
        list: places(&format!("{alias}.")),
        table,
    })
}

fn is_word(token: &Token<'_>, word: &str) -> bool {
    matches!(token, Token::Word(found) if found.eq_ignore_ascii_case(word))
}

/// Writes the place of a row and the OID of its table, as texts.
fn places(alias: &str) -> String {
    format!("{alias}ctid::pg_catalog.text, {alias}tableoid::pg_catalog.text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_row_is_named_as_the_text_names_its_table() {
        for (text, table, list) in [
            ("DELETE FROM a", r#""a""#, r#""a".ctid"#),
            (
                r#"delete from only a."B c" WHERE d"#,
                r#""a"."B c""#,
                r#""B c".ctid"#,
            ),
            ("DELETE FROM a AS b USING c", r#""a""#, r#""b".ctid"#),
            ("DELETE FROM a b", r#""a""#, r#""b".ctid"#),
            ("UPDATE a * SET b = 1", r#""a""#, r#""a".ctid"#),
            (r#"UPDATE a AS "set" SET b = 1"#, r#""a""#, r#""set".ctid"#),
            ("INSERT INTO a VALUES (1)", r#""a""#, "ctid"),
        ] {
            let target = target(text).expect(text);
            assert_eq!(
                (&*target.table, target.list.split("::").next()),
                (table, Some(list)),
                "{text}"
            );
        }
        for text in [
            "SELECT 1",
            "WITH a AS (SELECT 1) DELETE FROM b",
            "DELETE FROM a RETURNING b",
            "DELETE FROM a; DELETE FROM b",
            "UPDATE ONLY (a) SET b = 1",
        ] {
            assert!(target(text).is_none(), "{text}");
        }
    }
}
