//! Facts about a text that need no parser.

use std::borrow::Cow;

use crate::Token;

/// Facts about a text, found by its words and parentheses.
///
/// Only [`Policy::check`](super::Policy::check) makes one from a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatementShape<'a> {
    pub(super) first: Option<&'a str>,
    verb: Option<&'a str>,
    object: [Option<&'a str>; 2],
    bounds: Bounds,
    parentheses: Parentheses,
    has_ended: bool,
    is_several: bool,
    mentions: Mentions,
    outlives: SessionEffects,
}

/// Facts about the parentheses of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Parentheses {
    /// One stands before the first word.
    lead: bool,
    /// One is closed but not opened.
    unopened: bool,
    /// Number of open ones.
    depth: usize,
}

/// Words found anywhere in the text, also in parentheses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Mentions {
    write: bool,
    definition: bool,
    copy: CopyWords,
}

/// Words of a COPY.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct CopyWords {
    /// It stands in the current statement.
    is_open: bool,
    /// It reads from or writes to the client.
    through_the_client: bool,
}

/// Effects of a text on its session, found word by word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SessionEffects {
    /// Number of words of the current statement so far.
    words: usize,
    first: FirstWord,
    is_with: bool,
    found: bool,
}

/// First word of a statement, as far as it matters for its session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum FirstWord {
    #[default]
    Other,
    /// SET or RESET.
    Set,
    /// A statement that may create a table.
    Create,
}

/// Limits that a query sets on its own result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Set if it has a LIMIT or a FETCH.
    pub limits: bool,
    /// Set if it has an OFFSET.
    pub offsets: bool,
}

// === impl StatementShape ===

impl<'a> StatementShape<'a> {
    /// Reads the next token.
    pub(super) fn read(&mut self, token: Token<'a>) {
        if token == Token::Symbol(b';') {
            self.has_ended = true;
            self.mentions.copy.is_open = false;
            self.outlives.end();
            return;
        }
        self.is_several |= self.has_ended;
        match token {
            Token::Symbol(b'(') => {
                self.parentheses.lead |= self.first.is_none();
                self.parentheses.depth += 1;
            }
            Token::Symbol(b')') => {
                self.parentheses.unopened |= self.parentheses.depth == 0;
                self.parentheses.depth = self.parentheses.depth.saturating_sub(1);
            }
            Token::Word(word) => self.word(word),
            _ => {}
        }
    }

    fn word(&mut self, word: &'a str) {
        self.first.get_or_insert(word);
        self.outlives.note(word);
        let mentions = &mut self.mentions;
        mentions.write |= is(word, &["INTO", "INSERT", "UPDATE", "DELETE", "MERGE"]);
        mentions.definition |= is(word, DEFINING);
        let copy = &mut mentions.copy;
        copy.is_open |= is(word, &["COPY"]);
        copy.through_the_client |= copy.is_open && is(word, &["STDIN", "STDOUT"]);
        if self.parentheses.depth > 0 {
            return;
        }
        self.bounds.limits |= is(word, &["LIMIT", "FETCH"]);
        self.bounds.offsets |= is(word, &["OFFSET"]);
        if self.verb.is_none() {
            // The statement behind the WITH has the command.
            let introduces = is(self.first.unwrap_or(word), &["WITH"]);
            if !introduces || is(word, MAIN) {
                self.verb = Some(word);
            }
        } else if !is(word, MODIFIERS) {
            if self.object[0].is_none() {
                self.object[0] = Some(word);
            } else if self.object[1].is_none() {
                self.object[1] = Some(word);
            }
        }
    }

    /// Returns whether it changes the session beyond its transaction: settings, prepared
    /// statements, temporary tables, cursors WITH HOLD, listeners.
    #[must_use]
    pub fn outlives(&self) -> bool {
        self.outlives.found
    }

    /// Returns whether it starts with SELECT, WITH, TABLE or VALUES.
    #[must_use]
    pub fn is_query(&self) -> bool {
        self.starts_with(&["SELECT", "WITH", "TABLE", "VALUES"])
    }

    fn starts_with(&self, any_of: &[&str]) -> bool {
        self.first.is_some_and(|word| is(word, any_of))
    }

    /// Returns whether more text follows a `;`.
    #[must_use]
    pub fn is_several(&self) -> bool {
        self.is_several
    }

    /// Returns whether a LIMIT may be put behind it, once it is in parentheses, as its only one.
    #[must_use]
    pub fn takes_a_limit(&self) -> bool {
        let Bounds { limits, offsets } = self.bounds;
        // A query in parentheses may have its own LIMIT inside.
        let lead = self.parentheses.lead;
        self.is_query() && !(limits || offsets || lead) && self.parentheses.are_balanced()
    }

    /// Returns whether it may become a subquery with a LIMIT around it. Its own LIMIT or OFFSET
    /// makes PostgreSQL keep the order of its rows there.
    #[must_use]
    pub fn takes_another_limit(&self) -> bool {
        let Bounds { limits, offsets } = self.bounds;
        self.is_query() && (limits || offsets) && self.parentheses.are_balanced()
    }

    /// Returns whether it is an EXPLAIN.
    #[must_use]
    pub fn explains(&self) -> bool {
        self.starts_with(&["EXPLAIN"])
    }

    /// Returns whether it looks read-only. A function that it calls may still write.
    #[must_use]
    pub fn only_reads(&self) -> bool {
        (self.is_query() || self.explains() || self.starts_with(&["SHOW"]))
            && !(self.mentions.write || self.mentions.definition || self.is_several)
    }

    /// Returns the limits that a query sets on its own result, outside parentheses.
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        if self.is_query() {
            self.bounds
        } else {
            Bounds::default()
        }
    }

    /// Returns whether a word that changes data stands anywhere.
    #[must_use]
    pub fn mentions_a_write(&self) -> bool {
        self.mentions.write
    }

    /// Returns whether a word stands anywhere that may change the definition of tables, or that
    /// runs code with unknown effects.
    #[must_use]
    pub fn mentions_a_definition(&self) -> bool {
        self.mentions.definition
    }

    /// Returns whether it copies data to or from the client.
    #[must_use]
    pub fn copies_through_the_client(&self) -> bool {
        self.mentions.copy.through_the_client
    }

    /// Returns the command tag that PostgreSQL reports for it, without the row count.
    ///
    /// Of several statements, the first one's.
    #[must_use]
    pub fn command(&self) -> Cow<'static, str> {
        let Some(verb) = self.verb.or(self.first) else {
            return Cow::Borrowed("");
        };
        if is(verb, &["SELECT"]) {
            return Cow::Borrowed("SELECT");
        }
        let mut tag = verb.to_ascii_uppercase();
        let objects = if is(verb, &["CREATE", "ALTER", "DROP"]) {
            match self.object[0] {
                Some(word) if is(word, TWO_WORDS) => 2,
                Some(_) => 1,
                None => 0,
            }
        } else if is(verb, &["REFRESH"]) {
            2
        } else if is(verb, &["TRUNCATE", "LOCK"]) {
            tag.push_str(" TABLE");
            0
        } else {
            0
        };
        for word in self.object.iter().flatten().take(objects) {
            tag.push(' ');
            tag.push_str(&word.to_ascii_uppercase());
        }
        Cow::Owned(tag)
    }
}

/// Commands that may follow WITH.
const MAIN: &[&str] = &["SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "VALUES"];

/// Words between a verb and its object that the command tag leaves out.
const MODIFIERS: &[&str] = &[
    "OR",
    "REPLACE",
    "TEMP",
    "TEMPORARY",
    "UNLOGGED",
    "GLOBAL",
    "LOCAL",
    "UNIQUE",
    "RECURSIVE",
    "CONSTRAINT",
    "TRUSTED",
    "PROCEDURAL",
];

/// Words of statements that may change the catalogue.
const DEFINING: &[&str] = &[
    "CREATE", "ALTER", "DROP", "COMMENT", "INTO", "IMPORT", "GRANT", "REVOKE", "DO", "CALL",
];

/// First words of object types that consist of two words.
const TWO_WORDS: &[&str] = &[
    "MATERIALIZED",
    "FOREIGN",
    "TEXT",
    "EVENT",
    "ACCESS",
    "OPERATOR",
    "DEFAULT",
];

// === impl Parentheses ===

impl Parentheses {
    fn are_balanced(self) -> bool {
        !self.unopened && self.depth == 0
    }
}

// === impl SessionEffects ===

impl SessionEffects {
    fn end(&mut self) {
        let found = self.found;
        *self = Self {
            found,
            ..Self::default()
        };
    }

    fn note(&mut self, word: &str) {
        self.words += 1;
        self.found |= is(word, SESSION_FUNCTIONS);
        match self.words {
            1 => {
                self.first = if is(word, &["SET", "RESET"]) {
                    FirstWord::Set
                } else if is(word, &["CREATE", "SELECT", "WITH"]) {
                    FirstWord::Create
                } else {
                    FirstWord::Other
                };
                self.found |= is(word, SESSION_COMMANDS);
            }
            2 if self.first == FirstWord::Set => {
                self.found |= !is(word, &["LOCAL", "TRANSACTION", "CONSTRAINTS"]);
            }
            _ => {
                let creates = self.first == FirstWord::Create;
                self.found |= creates && is(word, &["TEMP", "TEMPORARY"]);
                self.found |= self.is_with && is(word, &["HOLD"]);
            }
        }
        self.is_with = is(word, &["WITH"]);
    }
}

/// Functions that change the session, or may.
const SESSION_FUNCTIONS: &[&str] = &[
    "SET_CONFIG",
    "PG_ADVISORY_LOCK",
    "PG_ADVISORY_LOCK_SHARED",
    "PG_TRY_ADVISORY_LOCK",
    "PG_TRY_ADVISORY_LOCK_SHARED",
];

/// Commands that change the session.
const SESSION_COMMANDS: &[&str] = &[
    "PREPARE",
    "DEALLOCATE",
    "LISTEN",
    "UNLISTEN",
    "LOAD",
    "DISCARD",
];

pub(super) fn is(word: &str, any_of: &[&str]) -> bool {
    any_of.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// Returns the entry of a list that equals a word.
pub(super) fn known(word: &str, list: &[&'static str]) -> Option<&'static str> {
    list.iter()
        .find(|known| word.eq_ignore_ascii_case(known))
        .copied()
}
