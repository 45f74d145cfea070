//! Detection of SELECT statements.

use ziggurat_sql::{Lexer, Token};

/// Returns whether a text is a SELECT, after any comments and parentheses, or a WITH that leads to
/// one.
///
/// `SELECT … INTO` creates a table and does not count; neither does a WITH that contains a write. A
/// SELECT with a locking clause counts: PostgreSQL shows its plan, and refuses to run it in a
/// read-only transaction. The check only improves the error message: the read-only transaction
/// prevents changes.
pub(super) fn is_select(text: &str) -> bool {
    let mut depth = 0_usize;
    let mut previous = "";
    let mut start: Option<Start> = None;
    let mut main = None;
    for token in Lexer::new(text) {
        let word = match token {
            Token::Symbol(b'(') => {
                depth += 1;
                continue;
            }
            Token::Symbol(b')') => {
                depth = depth.saturating_sub(1);
                continue;
            }
            Token::Word(word) => word,
            _ if start.is_none() => return false,
            _ => continue,
        };
        let start = *start.get_or_insert(Start {
            is_with: is(word, &["WITH"]),
            depth,
            is_known: is(word, &["SELECT", "WITH"]),
        });
        let creates = is(word, &["INTO"]) && !is(previous, &["AS"]);
        let writes = start.is_with && is(word, WRITES) && !is(previous, &["FOR", "KEY"]);
        if !start.is_known || creates || writes {
            return false;
        }
        if start.is_with && depth == start.depth && is(word, MAIN) {
            main.get_or_insert(word);
        }
        previous = word;
    }
    start.is_some() && main.is_none_or(|word| is(word, &["SELECT"]))
}

/// The first word of a text.
#[derive(Clone, Copy)]
struct Start {
    is_with: bool,
    is_known: bool,
    depth: usize,
}

/// Statements that write inside a WITH. After FOR they name a lock.
const WRITES: &[&str] = &["INSERT", "UPDATE", "DELETE", "MERGE"];

/// Statements that may follow a WITH that writes nothing.
const MAIN: &[&str] = &["SELECT", "TABLE", "VALUES"];

fn is(word: &str, any_of: &[&str]) -> bool {
    any_of.iter().any(|known| word.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_select_is_known_by_its_first_word_and_a_with_by_what_it_does() {
        let cases = [
            ("SELECT 1", true),
            ("select 1", true),
            ("-- why\n/* and /* how */ */ SELECT 1", true),
            ("((SELECT 1) UNION SELECT 2)", true),
            ("SELECT 'INSERT INTO t'", true),
            ("SELECT 1 AS into", true),
            ("SELECT updated, \"delete\" FROM t", true),
            ("SELECT * FROM t FOR UPDATE", true),
            ("WITH a AS (SELECT 1) SELECT * FROM a", true),
            ("(WITH a AS (SELECT 1) SELECT * FROM a)", true),
            ("WITH a AS (VALUES (1)) (SELECT * FROM a)", true),
            ("WITH a AS (SELECT 1 FOR NO KEY UPDATE) SELECT 1", true),
            ("WITH a AS (SELECT 'DELETE') SELECT * FROM a", true),
            ("WITH a AS (DELETE FROM t RETURNING *) SELECT 1", false),
            (
                "WITH a AS (WITH b AS (SELECT 1) UPDATE t SET a = 1) SELECT 1",
                false,
            ),
            ("WITH a AS (SELECT 1) INSERT INTO t SELECT 1", false),
            ("WITH a AS (SELECT 1) DELETE FROM t", false),
            ("WITH a AS (SELECT 1) TABLE a", false),
            ("WITH a AS (SELECT 1) SELECT 1 INTO t", false),
            ("SELECT 1 INTO t", false),
            ("SELECT 1 /* */ into TEMP t", false),
            ("INSERT INTO t VALUES (1)", false),
            ("EXPLAIN SELECT 1", false),
            ("TABLE t", false),
            ("VALUES (1)", false),
            ("SELECTED", false),
            ("\"SELECT\" 1", false),
            ("'SELECT'", false),
            ("; SELECT 1", false),
            ("/* SELECT", false),
            ("()", false),
            ("", false),
        ];
        for (text, expected) in cases {
            assert_eq!(is_select(text), expected, "{text}");
        }
    }
}
