//! Refuses texts that would leave the role or the settings of their caller.

use std::{borrow::Cow, mem};

use crate::{
    Lexer, Refusal, Token,
    guard::TRANSACTION,
    policy::runs_text,
    spelling,
    statement_shape::{is, known},
};

/// Refuses a text with which a caller could get another role than its own, or other values for the
/// settings that it must keep. PostgreSQL ignores the case of their names.
///
/// Only names that the text contains are recognised. A function of the database that calls
/// `set_config` is not, so the role of the caller must have no right to execute that.
///
/// ```
/// use ziggurat_sql::keep_identity;
///
/// let check = |text| keep_identity(text, |name| name.eq_ignore_ascii_case("app.tenant"));
/// assert!(check("SELECT current_setting('app.tenant')").is_ok());
/// let refusal = check("SELECT 1; SET LOCAL \"app\".tenant TO '7'").expect_err("a setting");
/// assert_eq!(
///     refusal.to_string(),
///     "query rejected: changing that setting is not allowed where the database knows its callers",
/// );
/// ```
///
/// # Errors
/// Fails when the text must not be sent; the message is for its author.
pub fn keep_identity(text: &str, is_kept: impl Fn(&str) -> bool) -> Result<(), Refusal> {
    let is_kept = |name: &str| is(name, KEPT) || is_kept(name);
    let mut statement = Statement::default();
    for token in Lexer::new(text) {
        if token == Token::Symbol(b';') {
            statement = Statement::default();
        } else {
            statement.read(token, &is_kept).map_err(Refusal::Identity)?;
        }
    }
    Ok(())
}

/// Refuses a text with a statement that begins, divides or ends a transaction.
///
/// ```
/// use ziggurat_sql::keep_transaction;
///
/// assert!(keep_transaction("DELETE FROM commit; SELECT 'COMMIT'").is_ok());
/// let refusal = keep_transaction("DELETE FROM t; /* now */ COMMIT").expect_err("an end");
/// assert_eq!(
///     refusal.to_string(),
///     "query rejected: COMMIT is not allowed, the server handles transactions itself",
/// );
/// ```
///
/// # Errors
/// Fails when the text must not be sent; the message is for its author.
pub fn keep_transaction(text: &str) -> Result<(), Refusal> {
    let (mut words, mut prepares) = (0_usize, false);
    for token in Lexer::new(text) {
        match token {
            Token::Symbol(b';') => words = 0,
            Token::Word(word) => {
                if words == 0
                    && let Some(command) = known(word, TRANSACTION)
                {
                    return Err(Refusal::Transaction(command));
                }
                if words == 1 && prepares && is(word, &["TRANSACTION"]) {
                    return Err(Refusal::Transaction("PREPARE TRANSACTION"));
                }
                prepares = words == 0 && is(word, &["PREPARE"]);
                words += 1;
            }
            _ => words += 1,
        }
    }
    Ok(())
}

/// Returns whether a statement of the text is an EXPLAIN.
#[must_use]
pub fn explains(text: &str) -> bool {
    let mut begins = true;
    Lexer::new(text).any(|token| {
        let is_first = begins;
        begins = token == Token::Symbol(b';');
        is_first && matches!(token, Token::Word(word) if is(word, &["EXPLAIN"]))
    })
}

/// Settings that give another role, or with which a text would be read in another way than here.
const KEPT: &[&str] = &[
    "role",
    "session_authorization",
    "standard_conforming_strings",
    "client_encoding",
    "names",
];

/// Statements that end the transaction of the settings, or run what this reader does not see.
const STATEMENTS: &[&str] = &["DISCARD", "DO", "CALL", "PREPARE", "EXECUTE"];

/// Objects that run code, or that have roles or settings of their own.
const OBJECTS: &[(&str, [&str; 2])] = &[
    ("FUNCTION", ["CREATE FUNCTION", "ALTER FUNCTION"]),
    ("PROCEDURE", ["CREATE PROCEDURE", "ALTER PROCEDURE"]),
    ("ROUTINE", ["CREATE ROUTINE", "ALTER ROUTINE"]),
    ("AGGREGATE", ["CREATE AGGREGATE", "ALTER AGGREGATE"]),
    ("OPERATOR", ["CREATE OPERATOR", "ALTER OPERATOR"]),
    ("CAST", ["CREATE CAST", "ALTER CAST"]),
    ("RULE", ["CREATE RULE", "ALTER RULE"]),
    ("TRIGGER", ["CREATE TRIGGER", "ALTER TRIGGER"]),
    ("EXTENSION", ["CREATE EXTENSION", "ALTER EXTENSION"]),
    ("LANGUAGE", ["CREATE LANGUAGE", "ALTER LANGUAGE"]),
    ("ROLE", ["CREATE ROLE", "ALTER ROLE"]),
    ("USER", ["CREATE USER", "ALTER USER"]),
    ("GROUP", ["CREATE GROUP", "ALTER GROUP"]),
    ("DATABASE", ["CREATE DATABASE", "ALTER DATABASE"]),
    ("SYSTEM", ["CREATE SYSTEM", "ALTER SYSTEM"]),
];

/// Words between CREATE or ALTER and the kind of an object.
const BEFORE_OBJECT: &[&str] = &[
    "OR",
    "REPLACE",
    "TRUSTED",
    "PROCEDURAL",
    "CONSTRAINT",
    "EVENT",
];

/// A statement, as far as it is read.
#[derive(Debug, Default)]
struct Statement<'a> {
    has_begun: bool,
    kind: Kind,
    last: Last<'a>,
    updates: bool,
    names_settings: bool,
}

/// The last token.
#[derive(Debug, Default)]
enum Last<'a> {
    #[default]
    Other,
    Dot,
    Name(Cow<'a, str>),
}

/// A kind of statement, and the next thing that it names.
#[derive(Debug, Default)]
enum Kind {
    #[default]
    Other,
    /// SET or RESET; behind it the name of the setting so far.
    Set(String),
    /// CREATE or ALTER; true while the kind of its object is awaited.
    Define { is_new: bool, is_awaited: bool },
}

type What = &'static str;

// === impl Statement ===

impl<'a> Statement<'a> {
    fn read(&mut self, token: Token<'a>, is_kept: &impl Fn(&str) -> bool) -> Result<(), What> {
        let name = match token {
            Token::Word(word) => {
                self.word(word)?;
                spelling::folded(word)
            }
            Token::Quoted(name) => Cow::Borrowed(name),
            Token::Escaped(name) => Cow::Owned(spelling::unescaped(name)),
            Token::Symbol(b'.') => {
                self.last = Last::Dot;
                return Ok(());
            }
            symbol => {
                let call = match mem::take(&mut self.last) {
                    Last::Name(name) if symbol == Token::Symbol(b'(') => runs_text(&name),
                    _ => None,
                };
                self.end_name();
                return call.map_or(Ok(()), Err);
            }
        };
        self.name(&name, matches!(token, Token::Word(_)), is_kept)?;
        self.last = Last::Name(name);
        self.has_begun = true;
        Ok(())
    }

    /// Checks a word that may be a keyword.
    fn word(&mut self, word: &str) -> Result<(), What> {
        let what = known(word, TRANSACTION).or_else(|| known(word, STATEMENTS));
        if let Some(what) = what.filter(|_| !self.has_begun) {
            return Err(what);
        }
        self.updates |= is(word, &["UPDATE", "MERGE"]);
        // CREATE SCHEMA may hold other definitions.
        let is_new = is(word, &["CREATE"]);
        match &mut self.kind {
            Kind::Define { is_awaited, is_new } if *is_awaited => {
                let object = OBJECTS.iter().find(|(object, _)| is(word, &[object]));
                if let Some((_, [created, altered])) = object {
                    return Err(if *is_new { created } else { altered });
                }
                *is_awaited = is(word, BEFORE_OBJECT);
            }
            Kind::Define { is_awaited, .. } => *is_awaited = is_new,
            _ if self.has_begun => {}
            _ if is_new || is(word, &["ALTER"]) => {
                self.kind = Kind::Define {
                    is_new,
                    is_awaited: true,
                };
            }
            _ => {}
        }
        Ok(())
    }

    /// Checks a name as PostgreSQL reads it.
    fn name(
        &mut self,
        name: &str,
        is_word: bool,
        is_kept: &impl Fn(&str) -> bool,
    ) -> Result<(), What> {
        if is(name, &["set_config"]) {
            return Err("set_config");
        }
        self.names_settings |= is(name, &["pg_settings"]);
        if self.updates && self.names_settings {
            return Err("UPDATE of pg_settings");
        }
        // `(x).f` is a call of `f(x)`.
        if matches!(self.last, Last::Dot)
            && let Some(call) = runs_text(name)
        {
            return Err(call);
        }
        if let Kind::Set(_) = &self.kind {
            return self.set(name, is_word, is_kept);
        }
        if !self.has_begun && is(name, &["SET", "RESET"]) {
            self.kind = Kind::Set(String::new());
        }
        Ok(())
    }

    /// Reads a part of the name of a setting.
    fn set(
        &mut self,
        part: &str,
        is_word: bool,
        is_kept: &impl Fn(&str) -> bool,
    ) -> Result<(), What> {
        let Kind::Set(so_far) = &mut self.kind else {
            return Ok(());
        };
        if so_far.is_empty() {
            if is_word && is(part, &["SESSION", "LOCAL"]) {
                return Ok(());
            }
            if is_word && is(part, &["AUTHORIZATION"]) {
                return Err("SET SESSION AUTHORIZATION");
            }
            if is_word && is(part, &["ALL"]) {
                return Err("RESET ALL");
            }
            if is(part, &["role"]) {
                return Err("SET ROLE");
            }
        } else if matches!(self.last, Last::Dot) {
            so_far.push('.');
        } else {
            self.end_name();
            return Ok(());
        }
        so_far.push_str(part);
        if is_kept(so_far) {
            return Err("changing that setting");
        }
        Ok(())
    }

    /// Ends the name of a setting; the rest is its value.
    fn end_name(&mut self) {
        if matches!(&self.kind, Kind::Set(name) if !name.is_empty()) {
            self.kind = Kind::Other;
        }
    }
}
