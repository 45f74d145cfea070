//! The part of a statement that PostgreSQL plans, for an estimate of its cost.

use crate::{Lexer, Token, statement_shape::is};

/// The part of a statement that PostgreSQL plans and runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planned {
    /// EXPLAIN takes the text from this position on.
    From(usize),
    /// It takes little, whatever the tables hold: nothing is planned, or nothing of the plan runs.
    Nothing,
    /// EXPLAIN does not show what runs.
    Unknown,
}

// === impl Planned ===

impl Planned {
    /// Finds the part of a text that is one statement.
    ///
    /// ```
    /// use ziggurat_sql::Planned;
    ///
    /// assert_eq!(Planned::of("SELECT 1"), Planned::From(0));
    /// assert_eq!(Planned::of("EXPLAIN ANALYZE SELECT 1"), Planned::From(16));
    /// assert_eq!(Planned::of("EXPLAIN SELECT 1"), Planned::Nothing);
    /// assert_eq!(Planned::of("CREATE TABLE a AS SELECT 1"), Planned::From(0));
    /// assert_eq!(Planned::of("DO 'BEGIN END'"), Planned::Unknown);
    /// assert_eq!(Planned::of("CREATE INDEX ON a (b)"), Planned::Unknown);
    /// ```
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut lexer = Lexer::new(text);
        let first = match lexer.next() {
            Some(Token::Word(word)) => word,
            // A query in parentheses.
            Some(_) => return Self::From(0),
            None => return Self::Nothing,
        };
        if is(first, EXPLAINABLE) {
            Self::From(0)
        } else if is(first, &["EXPLAIN"]) {
            run_by_explain(text, lexer)
        } else if is(first, &["CREATE"]) {
            created(lexer)
        } else if is(first, CHEAP) {
            Self::Nothing
        } else {
            Self::Unknown
        }
    }
}

/// Commands that EXPLAIN takes.
const EXPLAINABLE: &[&str] = &[
    "SELECT", "WITH", "TABLE", "VALUES", "INSERT", "UPDATE", "DELETE", "MERGE", "EXECUTE",
    "DECLARE",
];

/// Commands that take little, whatever the tables hold.
const CHEAP: &[&str] = &["SHOW", "SET", "RESET", "DROP", "COMMENT", "GRANT", "REVOKE"];

/// Objects that are empty, or hold no rows, when they are created.
const EMPTY: &[&str] = &[
    "VIEW",
    "SCHEMA",
    "SEQUENCE",
    "TYPE",
    "DOMAIN",
    "FUNCTION",
    "PROCEDURE",
];

/// Returns the statement that an EXPLAIN is about, or `None` if the text is not an EXPLAIN.
///
/// ```
/// let text = "EXPLAIN (ANALYZE, COSTS off) SELECT 1";
/// assert_eq!(ziggurat_sql::explained(text), Some("SELECT 1"));
/// assert_eq!(ziggurat_sql::explained("SELECT 1"), None);
/// ```
#[must_use]
pub fn explained(text: &str) -> Option<&str> {
    let mut lexer = Lexer::new(text);
    match lexer.next() {
        Some(Token::Word(word)) if is(word, &["EXPLAIN"]) => Some(statement(text, lexer)?.0),
        _ => None,
    }
}

/// Finds the statement of an EXPLAIN, and whether it runs.
fn statement<'a>(text: &'a str, mut lexer: Lexer<'a>) -> Option<(&'a str, bool)> {
    let mut runs = false;
    let mut depth = 0_usize;
    // The list of options stands directly behind the word.
    let options = lexer.position();
    let start = loop {
        let end = lexer.position();
        match lexer.next() {
            Some(Token::Symbol(b'(')) if depth > 0 || end == options => depth += 1,
            Some(Token::Symbol(b')')) if depth > 0 => depth -= 1,
            Some(Token::Word(word)) if is(word, &["ANALYZE", "ANALYSE"]) => runs = true,
            Some(Token::Word(word)) if is(word, &["VERBOSE"]) => {}
            Some(_) if depth > 0 => {}
            Some(_) => break end,
            None => return None,
        }
    };
    Some((text[start..].trim_start(), runs))
}

/// Finds the statement of an EXPLAIN that runs it.
fn run_by_explain(text: &str, lexer: Lexer<'_>) -> Planned {
    let Some((statement, runs)) = statement(text, lexer) else {
        return Planned::Nothing;
    };
    match Planned::of(statement) {
        Planned::From(_) if runs => Planned::From(text.len() - statement.len()),
        planned if runs => planned,
        _ => Planned::Nothing,
    }
}

/// Finds what a CREATE plans: it may make a table or a materialized view of a query. An index, for
/// example, reads a whole table.
fn created(mut lexer: Lexer<'_>) -> Planned {
    let object = lexer.find_map(|token| match token {
        Token::Word(word) if !is(word, BEFORE_OBJECT) => Some(word),
        _ => None,
    });
    match object {
        Some(object) if is(object, &["TABLE", "MATERIALIZED"]) => {}
        Some(object) if is(object, EMPTY) => return Planned::Nothing,
        _ => return Planned::Unknown,
    }
    let mut depth = 0_usize;
    for token in lexer {
        match token {
            Token::Symbol(b'(') => depth += 1,
            Token::Symbol(b')') => depth = depth.saturating_sub(1),
            Token::Word(word) if depth == 0 && is(word, &["AS"]) => return Planned::From(0),
            _ => {}
        }
    }
    Planned::Nothing
}

/// Words between CREATE and the kind of the object.
const BEFORE_OBJECT: &[&str] = &[
    "OR",
    "REPLACE",
    "GLOBAL",
    "LOCAL",
    "TEMP",
    "TEMPORARY",
    "UNLOGGED",
    "RECURSIVE",
    "FOREIGN",
];
