//! Join conditions of a statement as PostgreSQL prints it: every column has its table.

use std::collections::{BTreeMap, BTreeSet};

use ziggurat_sql::{Lexer, Token};

use super::{ColumnName, TableName};

/// Returns the pairs of columns of different tables that the text compares.
pub(super) fn of(text: &str, tables: &[TableName]) -> BTreeSet<(ColumnName, ColumnName)> {
    let pieces = pieces(text);
    let mut known = BTreeMap::new();
    for window in pieces.windows(5) {
        if let [
            Token::Word("FROM" | "JOIN"),
            schema,
            Token::Symbol(b'.'),
            name,
            alias,
        ] = window
        {
            let (Some(schema), Some(name)) = (name_of(schema), name_of(name)) else {
                continue;
            };
            let is_table = |table: &&TableName| table.schema == schema && table.name == name;
            if let Some(table) = tables.iter().find(is_table) {
                known.insert(alias_of(alias).unwrap_or(name), table);
            }
        }
    }
    let column = |alias, name| {
        let (alias, name) = (name_of(alias)?, name_of(name)?);
        Some(ColumnName {
            table: (*known.get(alias)?).clone(),
            name: name.to_owned(),
        })
    };
    let mut joins = BTreeSet::new();
    for window in pieces.windows(7) {
        if let [
            a,
            Token::Symbol(b'.'),
            b,
            Token::Symbol(b'='),
            c,
            Token::Symbol(b'.'),
            d,
        ] = window
            && let (Some(one), Some(other)) = (column(a, b), column(c, d))
        {
            joins.insert((one, other));
        }
    }
    joins
}

/// Returns the tokens without parentheses and casts.
fn pieces(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Lexer::new(text).filter(|token| !matches!(token, Token::Symbol(b'(' | b')')));
    let mut pieces = Vec::new();
    while let Some(token) = tokens.next() {
        if token == Token::Symbol(b':') {
            // The second colon, then the type.
            tokens.next();
            tokens.next();
        } else {
            pieces.push(token);
        }
    }
    pieces
}

fn name_of<'a>(token: &Token<'a>) -> Option<&'a str> {
    match token {
        Token::Word(name) | Token::Quoted(name) => Some(name),
        _ => None,
    }
}

/// Returns an alias; PostgreSQL prints keywords in upper case.
fn alias_of<'a>(token: &Token<'a>) -> Option<&'a str> {
    name_of(token).filter(|name| !name.chars().all(|c| c.is_ascii_uppercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_are_found_by_aliases_and_through_casts() {
        let table = |name: &str| TableName {
            schema: "s".to_owned(),
            name: name.to_owned(),
        };
        let text = r#"SELECT a.x FROM ((s.a JOIN s."B b" k ON (((k."Y y")::text = (a.x)::text)))
            JOIN s.c ON ((c.z > k.z)))"#;
        let found = of(text, &[table("a"), table("B b"), table("c")]);
        let found: Vec<_> = found
            .iter()
            .map(|(one, other)| format!("{one}={other}"))
            .collect();
        assert_eq!(found, [r#"s."B b"."Y y"=s.a.x"#]);
    }
}
