//! Reasons that the text of a statement shows.

use ziggurat_sql::{Lexer, Token};

use crate::Reason;

/// Commands that end or divide their transaction.
const TRANSACTION: [&str; 9] = [
    "begin",
    "start",
    "commit",
    "end",
    "rollback",
    "abort",
    "savepoint",
    "release",
    "prepare transaction",
];

/// Commands that cannot run in a transaction, that a rollback does not undo, or that no row shows.
const OTHERS: [&str; 12] = [
    "vacuum",
    "cluster",
    "reindex",
    "checkpoint",
    "copy",
    "notify",
    "listen",
    "unlisten",
    "load",
    "alter system",
    "create database",
    "drop database",
];

/// Returns the reason why a text has no preview, if it shows one.
pub(crate) fn reason_of(text: &str) -> Option<Reason> {
    let mut words = Vec::new();
    let mut depth = 0_usize;
    for token in Lexer::new(text).map(Some).chain([None]) {
        match token {
            Some(Token::Symbol(b'(')) => depth += 1,
            Some(Token::Symbol(b')')) => depth = depth.saturating_sub(1),
            Some(Token::Symbol(b';')) | None if depth == 0 => {
                if let Some(reason) = of_statement(&words) {
                    return Some(reason);
                }
                words.clear();
            }
            Some(Token::Word(word)) if depth == 0 => words.push(word.to_ascii_lowercase()),
            // Not a keyword: it stands for any name.
            Some(_) => words.push(String::new()),
            None => {}
        }
    }
    None
}

fn of_statement(words: &[String]) -> Option<Reason> {
    let begins = |command: &str| {
        let wanted = command.split(' ');
        let found = words.iter().map(String::as_str);
        wanted.clone().eq(found.take(wanted.count()))
    };
    if TRANSACTION.into_iter().any(begins) {
        return Some(Reason::Transaction);
    }
    let command = OTHERS.into_iter().find(|command| begins(command));
    let is_concurrent = words.iter().any(|word| word == "concurrently");
    let defines = ["create", "drop", "alter", "refresh"];
    let first = words.first().map_or("", String::as_str);
    match command {
        Some(command) => Some(Reason::Command(command.to_ascii_uppercase())),
        None if is_concurrent && defines.contains(&first) => {
            let command = format!("{} … CONCURRENTLY", first.to_ascii_uppercase());
            Some(Reason::Command(command))
        }
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_ends_its_transaction_has_no_preview() {
        for text in [
            "COMMIT",
            "DELETE FROM t; commit",
            "/* x */ rollback to a",
            "DELETE FROM t; SAVEPOINT a",
            "prepare transaction 'x'",
        ] {
            assert_eq!(reason_of(text), Some(Reason::Transaction), "{text}");
        }
        for text in [
            "DELETE FROM t",
            "SELECT 1; UPDATE commit SET a = 1",
            "PREPARE a AS SELECT 1",
        ] {
            assert_eq!(reason_of(text), None, "{text}");
        }
    }

    #[test]
    fn a_command_outside_of_transactions_is_named() {
        for (text, command) in [
            ("VACUUM t", "VACUUM"),
            ("create database d", "CREATE DATABASE"),
            ("INSERT INTO t VALUES (1); NOTIFY x", "NOTIFY"),
            (
                "CREATE INDEX CONCURRENTLY i ON t (a)",
                "CREATE … CONCURRENTLY",
            ),
        ] {
            let reason = Some(Reason::Command(command.to_owned()));
            assert_eq!(reason_of(text), reason, "{text}");
        }
        assert_eq!(reason_of("INSERT INTO \"notify\" VALUES (1)"), None);
    }
}
