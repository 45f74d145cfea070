//! Statements that have no place in a read-only transaction.

use thiserror::Error;

use super::{Lexer, Token, sketch::is};

/// Why a text was not sent to PostgreSQL. What it says is meant for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The text holds a NUL character, which ends a text on PostgreSQL's side.
    #[error("query rejected: a query cannot hold a NUL character")]
    Nul,
    /// COPY would make the client send or take a file.
    #[error("query rejected: COPY to or from the client is not supported, use SELECT or INSERT")]
    Copy,
    /// The text holds more than one statement.
    #[error("query rejected: only one statement is allowed at a time")]
    Several,
    /// The text starts or ends a transaction.
    #[error("query rejected: {0} is not allowed, the server handles transactions itself")]
    Transaction(&'static str),
    /// The text does something that read-only access must not.
    #[error("query rejected: {0} is not allowed on a read-only database")]
    Forbidden(&'static str),
}

/// Refuses what tries to get out of a read-only transaction, with a message that says so.
///
/// It is there for the message and as a second lock. The first is the transaction: an INSERT
/// passes here, and PostgreSQL refuses it.
pub fn guard(text: &str) -> Result<(), Refusal> {
    if text.contains('\0') {
        return Err(Refusal::Nul);
    }
    let mut reader = Reader::default();
    let mut ended = false;
    for token in Lexer::new(text) {
        if token == Token::Symbol(b';') {
            ended = true;
        } else if ended {
            return Err(Refusal::Several);
        } else {
            reader.read(token)?;
        }
    }
    Ok(())
}

/// What the tokens so far make of the next one.
#[derive(Default)]
struct Reader<'a> {
    /// How many words there were; the first three decide what kind of statement it is.
    words: usize,
    first: &'a str,
    previous: &'a str,
    /// The name right before, quoted or not: with a parenthesis it is a call.
    name: &'a str,
    sets: bool,
    names_read_only: bool,
}

impl<'a> Reader<'a> {
    fn read(&mut self, token: Token<'a>) -> Result<(), Refusal> {
        match token {
            Token::Word(word) => {
                self.word(word)?;
                self.name = word;
                self.names_read_only |= is(word, READ_ONLY);
            }
            // Quotes do not change which function or setting a name means.
            Token::Quoted(name) => {
                self.name = name;
                self.names_read_only |= is(name, READ_ONLY);
            }
            Token::Symbol(b'(') => {
                self.call()?;
                self.name = "";
            }
            _ => self.name = "",
        }
        if self.sets && self.names_read_only {
            return Err(Refusal::Forbidden("changing transaction_read_only"));
        }
        Ok(())
    }

    fn word(&mut self, word: &'a str) -> Result<(), Refusal> {
        if self.words == 0 {
            self.first = word;
            if let Some(control) = known(word, TRANSACTION) {
                return Err(Refusal::Transaction(control));
            }
            if is(word, &["DO"]) {
                return Err(Refusal::Forbidden("DO"));
            }
        }
        self.sets |= is(word, &["SET", "RESET"]);
        let previous = self.previous;
        let forbidden = match word {
            _ if is(word, &["DISCARD"]) => Some("DISCARD"),
            _ if is(word, &["WRITE"]) && is(previous, &["READ"]) => Some("READ WRITE"),
            _ if is(word, &["CHARACTERISTICS"]) && is(previous, &["SESSION"]) => {
                Some("SESSION CHARACTERISTICS")
            }
            _ if is(word, &["AUTHORIZATION"]) && is(previous, &["SESSION"]) => {
                Some("SESSION AUTHORIZATION")
            }
            _ if is(word, &["ALL"]) && is(previous, &["RESET"]) => Some("RESET ALL"),
            // With ANALYZE it would create the table, transaction or not.
            _ if is(self.first, &["EXPLAIN"])
                && (is(word, &["CREATE"])
                    || is(word, &["INTO"]) && !is(previous, &["INSERT", "MERGE"])) =>
            {
                Some("EXPLAIN of a statement that creates a table")
            }
            _ if is(word, &["PROGRAM"]) && is(self.first, &["COPY"]) => Some("COPY PROGRAM"),
            _ if self.words == 1 && is(word, &["TRANSACTION"]) && is(self.first, &["PREPARE"]) => {
                return Err(Refusal::Transaction("PREPARE TRANSACTION"));
            }
            _ if is(word, &["ROLE"]) && is(self.first, &["SET"]) => {
                let follows =
                    self.words == 1 || self.words == 2 && is(previous, &["SESSION", "LOCAL"]);
                follows.then_some("SET ROLE")
            }
            _ if self.words == 1 && is(self.first, &["ALTER"]) => known(word, ALTERED),
            _ => None,
        };
        self.words += 1;
        self.previous = word;
        forbidden.map_or(Ok(()), |what| Err(Refusal::Forbidden(what)))
    }

    fn call(&self) -> Result<(), Refusal> {
        let is_dblink = self
            .name
            .get(..6)
            .is_some_and(|start| start.eq_ignore_ascii_case("dblink"));
        let called = if is_dblink {
            Some("dblink")
        } else {
            known(self.name, CALLS)
        };
        called.map_or(Ok(()), |what| Err(Refusal::Forbidden(what)))
    }
}

const READ_ONLY: &[&str] = &["transaction_read_only", "default_transaction_read_only"];

const TRANSACTION: &[&str] = &[
    "BEGIN",
    "START",
    "COMMIT",
    "END",
    "ROLLBACK",
    "ABORT",
    "SAVEPOINT",
    "RELEASE",
];

const ALTERED: &[&str] = &["ROLE", "USER", "DATABASE"];

const CALLS: &[&str] = &[
    "set_config",
    "lo_export",
    "pg_file_write",
    "pg_file_unlink",
    "pg_file_rename",
];

/// The entry of a list that a word is.
fn known(word: &str, list: &[&'static str]) -> Option<&'static str> {
    list.iter()
        .find(|known| word.eq_ignore_ascii_case(known))
        .copied()
}
