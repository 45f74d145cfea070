//! The part of a statement that PostgreSQL plans, for an estimate of its cost.

use super::{Lexer, Token, statement_shape::is};

/// The part of a statement that PostgreSQL plans and runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planned {
    /// EXPLAIN takes the text from this position on.
    From(usize),
    /// Nothing is planned, or nothing of the plan runs.
    Nothing,
    /// Statements run that EXPLAIN does not show.
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
        if is(first, RUNS_OTHERS) {
            Self::Unknown
        } else if is(first, EXPLAINABLE) {
            Self::From(0)
        } else if is(first, &["EXPLAIN"]) {
            explained(text, lexer)
        } else if is(first, &["CREATE"]) && creates_from_a_query(lexer) {
            Self::From(0)
        } else {
            Self::Nothing
        }
    }
}

/// Commands that EXPLAIN takes.
const EXPLAINABLE: &[&str] = &[
    "SELECT", "WITH", "TABLE", "VALUES", "INSERT", "UPDATE", "DELETE", "MERGE", "EXECUTE",
    "DECLARE",
];

/// Commands that run statements of the caller without being planned themselves.
const RUNS_OTHERS: &[&str] = &["DO", "CALL", "COPY"];

/// Finds the statement of an EXPLAIN that runs it.
fn explained(text: &str, mut lexer: Lexer<'_>) -> Planned {
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
            None => return Planned::Nothing,
        }
    };
    let statement = text[start..].trim_start();
    match Planned::of(statement) {
        Planned::From(_) if runs => Planned::From(text.len() - statement.len()),
        planned if runs => planned,
        _ => Planned::Nothing,
    }
}

/// Returns whether a CREATE makes a table or a materialized view of a query.
fn creates_from_a_query(lexer: Lexer<'_>) -> bool {
    let mut depth = 0_usize;
    let mut is_table = false;
    for token in lexer {
        match token {
            Token::Symbol(b'(') => depth += 1,
            Token::Symbol(b')') => depth = depth.saturating_sub(1),
            Token::Word(word) if depth == 0 => {
                if is_table && is(word, &["AS"]) {
                    return true;
                }
                if is(word, &["VIEW", "FUNCTION", "PROCEDURE", "RULE"]) && !is_table {
                    return false;
                }
                is_table |= is(word, &["TABLE", "MATERIALIZED"]);
            }
            _ => {}
        }
    }
    false
}
