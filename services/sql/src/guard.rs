//! Refuses statements that try to leave a read-only transaction.

use std::borrow::Cow;

use thiserror::Error;

use crate::{
    Token,
    policy::{Danger, Policy},
    settings::Setting,
    spelling,
    statement_shape::{is, known},
};

/// Reason not to send a text to PostgreSQL. `Display` is for the caller.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The text holds a NUL character, which ends a text on PostgreSQL's side.
    #[error("query rejected: a query cannot hold a NUL character")]
    Nul,
    /// COPY would make the client send or receive a file.
    #[error("query rejected: COPY to or from the client is not supported, use SELECT or INSERT")]
    Copy,
    /// The text holds more than one statement.
    #[error("query rejected: only one statement is allowed at a time")]
    Several,
    /// The text starts or ends a transaction.
    #[error("query rejected: {0} is not allowed, the server handles transactions itself")]
    Transaction(&'static str),
    /// The text is not allowed with read-only access.
    #[error("query rejected: {0} is not allowed on a read-only database")]
    Forbidden(&'static str),
    /// The text could get another role or other settings than its caller has.
    #[error("query rejected: {0} is not allowed where the database knows its callers")]
    Identity(&'static str),
    /// The plan of a statement counts rows that its caller does not see.
    #[error(
        "query rejected: EXPLAIN is not allowed where the database knows its callers, use \
         execute_explain"
    )]
    Plans,
    /// The text has an effect that PostgreSQL allows in any transaction.
    #[error("query rejected: {call} is not allowed: {danger}, even in a read-only transaction")]
    Dangerous {
        /// Name of the function or statement, or the beginning of the name.
        call: &'static str,
        /// Its effect.
        danger: Danger,
    },
    /// PostgreSQL would read the text again for each of its comments or operators, and cannot be
    /// cancelled meanwhile.
    #[error(
        "query rejected: too many comments or operators follow each other directly, leave them \
         out or put spaces between them"
    )]
    Operators,
    /// The text would change a session that other programs use too.
    #[error(
        "query rejected: it would leave a setting, a prepared statement or a temporary table in a \
         session that a connection pooler shares with other programs: use SET LOCAL, or an \
         ordinary table"
    )]
    Session,
    /// PostgreSQL would compare the tables, joins, sort keys or conditions of the text with each
    /// other, and cannot be cancelled meanwhile.
    #[error(
        "query rejected: its lists of tables, joins, sort keys or conditions are so long that \
         PostgreSQL could not be stopped while it compares them, use VALUES or an array for the \
         values"
    )]
    Lists,
    /// The text is longer than the operator allows.
    #[error(
        "query rejected: it has {bytes} bytes, more than the {max} that the server takes \
         (limits.max_statement_bytes), send it in smaller parts"
    )]
    TooLong {
        /// Length of the text.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// The text uses masked columns in a way that could show their values.
    #[error("query rejected: {0}")]
    Masked(Box<str>),
    /// The masked columns of the database are not known yet, or a role may read them.
    #[error("query rejected: the database is not ready, its masked columns are not known yet")]
    NotReady,
    /// A name uses UESCAPE, which this crate does not read.
    #[error("query rejected: UESCAPE is not supported in names, write the name as it is")]
    Escape,
}

/// Checks a statement token by token.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    policy: Policy,
    /// Number of words so far; the first three decide what kind of statement it is.
    words: usize,
    first: &'a str,
    previous: &'a str,
    last: PreviousToken<'a>,
    setting: Setting,
    selects: bool,
    sets: bool,
    names_read_only: bool,
}

/// The token before the current one.
#[derive(Debug)]
enum PreviousToken<'a> {
    Other,
    /// A dot, before the name of a table, a column or a function.
    Dot,
    /// A name; with a parenthesis behind it, a call.
    Name(Cow<'a, str>),
    Escaped(String),
    /// TO or FROM.
    Direction,
}

impl<'a> Reader<'a> {
    pub(super) fn new(policy: Policy) -> Self {
        Self {
            policy,
            words: 0,
            first: "",
            previous: "",
            last: PreviousToken::Other,
            setting: Setting::None,
            selects: false,
            sets: false,
            names_read_only: false,
        }
    }

    pub(super) fn read(&mut self, token: Token<'a>) -> Result<(), Refusal> {
        if self.policy.is_open() {
            return Ok(());
        }
        self.last = match token {
            Token::Word(word) => self.word(word)?,
            // Quotes do not change which function or setting a name means.
            Token::Quoted(name) => {
                self.name(name, true)?;
                PreviousToken::Name(name.into())
            }
            Token::Escaped(name) => {
                let name = spelling::unescaped(name);
                self.name(&name, true)?;
                PreviousToken::Escaped(name)
            }
            Token::Symbol(symbol) => self.symbol(symbol)?,
            Token::Literal
                if is(self.first, &["COPY"]) && matches!(self.last, PreviousToken::Direction) =>
            {
                return Err(Refusal::Dangerous {
                    call: "COPY with a file",
                    danger: Danger::Files,
                });
            }
            Token::Literal | Token::Number | Token::Unclosed => {
                self.settle(Setting::end)?;
                PreviousToken::Other
            }
        };
        if self.sets && self.names_read_only && !self.policy.writes {
            return Err(Refusal::Forbidden("changing transaction_read_only"));
        }
        Ok(())
    }

    /// Checks a setting that is complete only at the end of a statement.
    pub(super) fn finish(&mut self) -> Result<(), Refusal> {
        self.settle(Setting::end)
    }

    fn word(&mut self, word: &'a str) -> Result<PreviousToken<'a>, Refusal> {
        if matches!(self.last, PreviousToken::Escaped(_)) && is(word, &["UESCAPE"]) {
            return Err(Refusal::Escape);
        }
        self.machine(word)?;
        if !self.policy.writes {
            self.statement(word)?;
        }
        if self.words == 0 {
            self.first = word;
            if is(word, &["SET", "RESET"]) && !self.policy.writes {
                self.setting = Setting::Awaited;
            }
        }
        let name = spelling::folded(word);
        if self.words > 0 {
            self.name(&name, false)?;
        }
        self.selects |= is(word, &["SELECT"]);
        self.sets |= is(word, &["SET", "RESET"]);
        self.words += 1;
        self.previous = word;
        Ok(if is(word, &["TO", "FROM"]) {
            PreviousToken::Direction
        } else {
            PreviousToken::Name(name)
        })
    }

    /// Refuses statements with effects on the host of PostgreSQL, also where writes are allowed.
    fn machine(&self, word: &str) -> Result<(), Refusal> {
        let call = if self.words == 0 && is(word, &["LOAD"]) {
            "LOAD"
        } else if is(word, &["PROGRAM"])
            && is(self.first, &["COPY"])
            && matches!(self.last, PreviousToken::Direction)
        {
            "COPY PROGRAM"
        } else {
            return Ok(());
        };
        let danger = Danger::Files;
        Err(Refusal::Dangerous { call, danger })
    }

    fn statement(&self, word: &str) -> Result<(), Refusal> {
        let (first, previous) = (self.first, self.previous);
        if self.words == 0
            && let Some(control) = known(word, TRANSACTION)
        {
            return Err(Refusal::Transaction(control));
        }
        let forbidden = match word {
            _ if is(word, &["DISCARD"]) => Some("DISCARD"),
            _ if self.words == 0 => {
                // PREPARE TRANSACTION has its own message.
                known(word, STATEMENTS).filter(|&statement| statement != "PREPARE")
            }
            _ if self.words == 1 && is(first, &["PREPARE"]) => {
                if is(word, &["TRANSACTION"]) {
                    return Err(Refusal::Transaction("PREPARE TRANSACTION"));
                }
                Some("PREPARE")
            }
            _ if is(word, &["WRITE"]) && is(previous, &["READ"]) => Some("READ WRITE"),
            _ if is(word, &["CHARACTERISTICS"]) && is(previous, &["SESSION"]) => {
                Some("SESSION CHARACTERISTICS")
            }
            _ if is(word, &["AUTHORIZATION"]) && is(previous, &["SESSION"]) => {
                Some("SESSION AUTHORIZATION")
            }
            _ if is(word, &["ALL"]) && is(previous, &["RESET"]) => Some("RESET ALL"),
            _ if is(word, &["ROLE"]) && is(first, &["SET", "RESET"]) => {
                let follows =
                    self.words == 1 || self.words == 2 && is(previous, &["SESSION", "LOCAL"]);
                follows.then_some("SET ROLE")
            }
            // With ANALYZE it would create the table even in a read-only transaction. The word
            // before INTO does not matter, since a column may be called `insert`.
            _ if is(first, &["EXPLAIN"])
                && (is(word, &["CREATE"]) || is(word, &["INTO"]) && self.selects) =>
            {
                Some("EXPLAIN of a statement that creates a table")
            }
            _ if self.words == 1 && is(first, &["ALTER"]) => known(word, ALTER_OBJECTS),
            _ => None,
        };
        forbidden.map_or(Ok(()), |what| Err(Refusal::Forbidden(what)))
    }

    /// Checks a name as PostgreSQL reads it.
    fn name(&mut self, name: &str, is_quoted: bool) -> Result<(), Refusal> {
        self.settle(|setting| setting.name(name, is_quoted))?;
        self.names_read_only |= is(name, READ_ONLY);
        if let Some(refusal) = self.policy.refuses_to_name(name) {
            return Err(refusal);
        }
        // `(x).f` is a call of `f(x)`, unless there is a column `f`.
        if matches!(self.last, PreviousToken::Dot) {
            self.call(name)?;
        }
        Ok(())
    }

    fn symbol(&mut self, symbol: u8) -> Result<PreviousToken<'a>, Refusal> {
        self.settle(|setting| setting.symbol(symbol))?;
        match (symbol, &self.last) {
            (b'(', PreviousToken::Name(name)) => self.call(name)?,
            (b'(', PreviousToken::Escaped(name)) => self.call(name)?,
            (b'.', _) => return Ok(PreviousToken::Dot),
            _ => {}
        }
        Ok(PreviousToken::Other)
    }

    fn call(&self, name: &str) -> Result<(), Refusal> {
        self.policy.refuses(name).map_or(Ok(()), Err)
    }

    fn settle(&mut self, step: impl FnOnce(&mut Setting) -> bool) -> Result<(), Refusal> {
        if step(&mut self.setting) {
            Ok(())
        } else {
            Err(Refusal::Forbidden("changing that setting"))
        }
    }
}

const READ_ONLY: &[&str] = &["transaction_read_only", "default_transaction_read_only"];

pub(super) const TRANSACTION: &[&str] = &[
    "BEGIN",
    "START",
    "COMMIT",
    "END",
    "ROLLBACK",
    "ABORT",
    "SAVEPOINT",
    "RELEASE",
];

/// Statements that PostgreSQL runs in a read-only transaction although they run code, block other
/// sessions, rewrite tables or outlive the transaction.
const STATEMENTS: &[&str] = &[
    "DO",
    "ANALYZE",
    "ANALYSE",
    "CHECKPOINT",
    "CLUSTER",
    "LOCK",
    "REINDEX",
    "REPACK",
    "VACUUM",
    "DECLARE",
    "LISTEN",
    "NOTIFY",
    "PREPARE",
];

const ALTER_OBJECTS: &[&str] = &["ROLE", "USER", "DATABASE"];
