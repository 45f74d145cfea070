//! Texts that can return the places of the rows that they change.

use std::iter::Peekable;

use ziggurat_postgres::quoted;
use ziggurat_sql::{Lexer, Token};

/// First version in which MERGE can return rows.
const MERGE_RETURNS: i64 = 170_000;

/// First version that returns rows as they were, too.
const OLD_RETURNS: i64 = 180_000;

/// Table that a text changes, if the text can return the places of the rows.
#[derive(Debug)]
pub(super) struct Target {
    /// The name of the table, quoted.
    pub(super) table: String,
    /// The name under which the text knows the table, quoted; none in an INSERT.
    alias: Option<String>,
    /// The first version of PostgreSQL in which the text can return rows.
    pub(super) since: i64,
}

// === impl Target ===

impl Target {
    /// Writes the place of a row and the OID of its table, as texts; before and after the change if
    /// PostgreSQL knows both.
    pub(super) fn list(&self, version: i64) -> String {
        if version >= OLD_RETURNS {
            let [old, new] = ["ziggurat_old.", "ziggurat_new."].map(place);
            return format!("WITH (OLD AS ziggurat_old, NEW AS ziggurat_new) {old}, {new}");
        }
        let alias = self.alias.as_ref().map(|alias| format!("{alias}."));
        place(&alias.unwrap_or_default())
    }
}

/// Writes the place of a row and the OID of its table, as texts.
fn place(row: &str) -> String {
    format!("{row}ctid::pg_catalog.text, {row}tableoid::pg_catalog.text")
}

/// Returns the table that a text changes, if the text is one statement and returns nothing itself.
pub(super) fn target(text: &str) -> Option<Target> {
    if returns_or_goes_on(text) {
        return None;
    }
    let mut tokens = Lexer::new(text).peekable();
    if tokens.next_if(|token| is_word(token, "with")).is_some() {
        skip_queries(&mut tokens)?;
    }
    let first = tokens.next()?;
    let [is_insert, is_merge, is_delete] =
        ["insert", "merge", "delete"].map(|word| is_word(&first, word));
    if is_insert || is_merge {
        tokens.next_if(|token| is_word(token, "into"))?;
    } else if is_delete {
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
    tokens.next_if_eq(&Token::Symbol(b'*'));
    let is_named = tokens.next_if(|token| is_word(token, "as")).is_some();
    let follows = |token: &Token<'_>| {
        let mut words = ["set", "using", "where"].iter();
        words.any(|it| is_word(token, it))
    };
    if let Some(token) = tokens.peek()
        && !is_insert
        && (is_named || !follows(token))
    {
        alias = quoted(&token.identifier()?);
    }
    Some(Target {
        table,
        alias: (!is_insert).then_some(alias),
        since: if is_merge { MERGE_RETURNS } else { 1 },
    })
}

/// Returns whether a text has a RETURNING of its own, or another statement.
fn returns_or_goes_on(text: &str) -> bool {
    let mut depth = 0_usize;
    Lexer::new(text).any(|token| {
        depth = deeper(depth, &token);
        depth == 0 && (token == Token::Symbol(b';') || is_word(&token, "returning"))
    })
}

/// Skips the queries between WITH and the statement.
fn skip_queries(tokens: &mut Peekable<Lexer<'_>>) -> Option<()> {
    tokens.next_if(|token| is_word(token, "recursive"));
    loop {
        tokens.next()?.identifier()?;
        skip_parentheses(tokens);
        tokens.next_if(|token| is_word(token, "as"))?;
        tokens.next_if(|token| is_word(token, "not"));
        tokens.next_if(|token| is_word(token, "materialized"));
        skip_parentheses(tokens);
        if tokens.next_if_eq(&Token::Symbol(b',')).is_none() {
            return Some(());
        }
    }
}

/// Skips all up to the end of parentheses, if they begin here.
fn skip_parentheses(tokens: &mut Peekable<Lexer<'_>>) {
    if tokens.peek() != Some(&Token::Symbol(b'(')) {
        return;
    }
    let mut depth = 0;
    for token in tokens {
        depth = deeper(depth, &token);
        if depth == 0 {
            return;
        }
    }
}

/// Returns the number of open parentheses behind a token.
fn deeper(depth: usize, token: &Token<'_>) -> usize {
    match token {
        Token::Symbol(b'(') => depth + 1,
        Token::Symbol(b')') => depth.saturating_sub(1),
        _ => depth,
    }
}

fn is_word(token: &Token<'_>, word: &str) -> bool {
    matches!(token, Token::Word(found) if found.eq_ignore_ascii_case(word))
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
            ("INSERT INTO a AS b VALUES (1)", r#""a""#, "ctid"),
            (
                "MERGE INTO a.b c USING d ON true WHEN MATCHED THEN DELETE",
                r#""a"."b""#,
                r#""c".ctid"#,
            ),
            (
                "WITH RECURSIVE insert (x) AS NOT MATERIALIZED (DELETE FROM b RETURNING (c)), d \
                 AS (SELECT ';') UPDATE a SET b = 1",
                r#""a""#,
                r#""a".ctid"#,
            ),
        ] {
            let target = target(text).expect(text);
            let (old, both) = (target.list(170_000), target.list(180_000));
            assert_eq!(
                (&*target.table, old.split("::").next()),
                (table, Some(list)),
                "{text}"
            );
            assert!(both.starts_with("WITH (OLD AS"), "{both}");
        }
        for text in [
            "SELECT 1",
            "WITH a AS (SELECT 1) SELECT 2",
            "WITH a AS (DELETE FROM b RETURNING c) DELETE FROM d RETURNING e",
            "WITH a AS (SELECT 1) SEARCH DEPTH FIRST BY b SET c DELETE FROM d",
            "WITH a AS (SELECT 1",
            "DELETE FROM a RETURNING b",
            "DELETE FROM a; DELETE FROM b",
            "UPDATE ONLY (a) SET b = 1",
        ] {
            assert!(target(text).is_none(), "{text}");
        }
    }
}
