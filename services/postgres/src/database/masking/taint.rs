//! Texts that name tables with masked columns.

use std::borrow::Cow;

use ziggurat_masking::plan::Refusal;
use ziggurat_sql::{Lexer, Token};

use crate::database::masking::CallerColumns;

/// A text, by the names in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Taint {
    /// It names no table with masked columns.
    None,
    /// It names this one, or a function that may show it.
    Table(String),
    /// It names this view, of which a plan does not show the masked columns.
    Opaque(String),
    /// It calls this function, which may not stand beside masked columns. A plan does not show the
    /// functions in limits and windows, and those that PostgreSQL calls before it makes the plan.
    Call(String),
}

/// Names of relations and functions that show values of columns whatever they are called, or read
/// relations that are named in a value, or run a text. A star stands for any end of a name.
const READERS: [&str; 26] = [
    "pg_stats*",
    "pg_statistic*",
    "pg_toast*",
    "table_to_xml*",
    "schema_to_xml*",
    "database_to_xml*",
    "query_to_xml*",
    "cursor_to_xml*",
    "ts_stat",
    "ts_rewrite",
    "crosstab*",
    "connectby",
    "xpath_table",
    "pgr_*",
    "get_raw_page*",
    "heap_page_item*",
    "tuple_data_split",
    "bt_page_*",
    "bt_multi_page_*",
    "brin_page_*",
    "gist_page_*",
    "gin_leafpage_items",
    "hash_page_*",
    "pg_get_wal_*",
    "bt_index_*",
    "verify_heapam",
];

/// Names of relations and functions that show the statements of others, which may have values in them.
const STATEMENTS: [&str; 5] = [
    "pg_stat_activity",
    "pg_stat_get_activity",
    "pg_stat_get_backend_activity",
    "pg_stat_statements*",
    "pg_prepared_statement*",
];

/// Bytes of a name from which PostgreSQL may cut it.
const LONGEST: usize = 63;

/// Bytes of a name of a table that a longer name may mean.
const LONG: usize = 60;

impl CallerColumns {
    /// Reads a text, of a caller or of the operator.
    ///
    /// # Errors
    /// Fails if it names something that shows values of any table, or statements of others to a
    /// caller.
    pub(crate) fn taint(&self, text: &str, is_of_caller: bool) -> Result<Taint, Refusal> {
        let statements = if is_of_caller { &STATEMENTS[..] } else { &[] };
        let tokens: Vec<_> = Lexer::new(text).collect();
        let mut taint = Taint::None;
        let mut called = None;
        for (at, token) in tokens.iter().enumerate() {
            let Some(name) = token.identifier() else {
                // PostgreSQL may read on where this lexer cannot.
                if *token == Token::Unclosed && taint == Taint::None {
                    taint = Taint::Table(self.any_table());
                }
                continue;
            };
            let name = lower(name);
            let mut readers = READERS.iter().chain(statements);
            if readers.any(|reader| fits(&name, reader)) {
                return Err(Refusal::Function(name.into_owned()));
            }
            if called.is_none() && self.refuses_function(&name) && is_call(&tokens, at) {
                called = Some(name.clone().into_owned());
            }
            if matches!(taint, Taint::Opaque(_)) {
                continue;
            }
            if let Some((folded, table)) = self.table(&name) {
                let table = table.to_owned();
                taint = if self.opaque.contains(folded) {
                    Taint::Opaque(table)
                } else {
                    Taint::Table(table)
                };
            } else if taint == Taint::None && self.refuses_function(&name) {
                taint = Taint::Table(self.any_table());
            }
        }
        if let Some(name) = called {
            return Ok(Taint::Call(name));
        }
        if renames_columns(text, |name| self.table(name).is_some()) {
            // A plan has the new names.
            return Ok(Taint::Opaque(self.any_table()));
        }
        Ok(taint)
    }

    /// Returns the table that a name means, in small letters and as messages have it.
    fn table(&self, name: &str) -> Option<(&String, &String)> {
        let cut = || self.tables.iter().find(|(known, _)| is_cut(name, known));
        self.tables.get_key_value(name).or_else(cut)
    }

    /// Returns whether texts beside masked columns may not call a function of this name.
    fn refuses_function(&self, name: &str) -> bool {
        let functions = self.functions();
        let is_long = name.len() > LONGEST;
        functions.contains(name) || is_long && functions.iter().any(|known| is_cut(name, known))
    }

    /// Returns a table for messages where none is named.
    fn any_table(&self) -> String {
        self.tables.values().min().cloned().unwrap_or_default()
    }
}

/// Returns whether a name calls a function: `name(…)`, or `(…).name` and `…[1].name` for a function of
/// one row.
fn is_call(tokens: &[Token<'_>], at: usize) -> bool {
    let is_before = |back: usize, symbols: &[u8]| {
        let token = at.checked_sub(back).and_then(|at| tokens.get(at));
        matches!(token, Some(Token::Symbol(symbol)) if symbols.contains(symbol))
    };
    let is_after_dot = is_before(1, b".");
    if is_after_dot && is_before(2, b")]") {
        return true;
    }
    let schema = at.checked_sub(2).and_then(|at| tokens[at].identifier());
    if is_after_dot && schema.is_some_and(|name| lower(name) == "pg_catalog") {
        return false;
    }
    tokens.get(at + 1) == Some(&Token::Symbol(b'('))
}

/// Returns whether a text gives the columns of a table other names, as `person AS p (a, b)`.
pub(super) fn renames_columns(text: &str, is_table: impl Fn(&str) -> bool) -> bool {
    let tokens: Vec<_> = Lexer::new(text).collect();
    let is_named = |token: &Token<'_>| token.identifier().is_some_and(|it| is_table(&lower(it)));
    let follows = |at: usize| {
        let is_only = is_in_only(&tokens[..at]);
        let between = |token: &&Token<'_>| match **token {
            Token::Symbol(b')') => is_only,
            Token::Symbol(symbol) => symbol == b'*',
            Token::Word(word) => word.eq_ignore_ascii_case("AS"),
            _ => false,
        };
        let mut rest = tokens[at + 1..].iter().skip_while(between);
        let is_alias = match rest.next() {
            Some(Token::Word(word)) => !RESERVED.iter().any(|it| word.eq_ignore_ascii_case(it)),
            Some(token) => token.identifier().is_some(),
            None => false,
        };
        is_alias && rest.next() == Some(&Token::Symbol(b'('))
    };
    (0..tokens.len()).any(|at| is_named(&tokens[at]) && follows(at))
}

/// Returns whether the name after these tokens stands in `ONLY (…)`, perhaps after its schema.
fn is_in_only(mut before: &[Token<'_>]) -> bool {
    while let [rest @ .., _, Token::Symbol(b'.')] = before {
        before = rest;
    }
    matches!(before, [.., Token::Word(word), Token::Symbol(b'(')] if word.eq_ignore_ascii_case("ONLY"))
}

/// Words that stand before a parenthesis and cannot be an alias.
const RESERVED: [&str; 24] = [
    "AND",
    "ANY",
    "ALL",
    "CASE",
    "ELSE",
    "EXCEPT",
    "FETCH",
    "FROM",
    "HAVING",
    "ILIKE",
    "IN",
    "INTERSECT",
    "LATERAL",
    "LIKE",
    "LIMIT",
    "NOT",
    "OFFSET",
    "ON",
    "OR",
    "SELECT",
    "THEN",
    "UNION",
    "USING",
    "WHERE",
];

fn lower(name: Cow<'_, str>) -> Cow<'_, str> {
    let is_lower = |byte: u8| byte.is_ascii() && !byte.is_ascii_uppercase();
    if name.bytes().all(is_lower) {
        name
    } else {
        name.to_lowercase().into()
    }
}

/// Returns whether PostgreSQL may cut a name to a known one.
fn is_cut(name: &str, known: &str) -> bool {
    name.len() > LONGEST && known.len() >= LONG && name.starts_with(known)
}

fn fits(name: &str, pattern: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    }
}
