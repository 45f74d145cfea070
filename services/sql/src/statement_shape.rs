//! What can be said about a text without understanding it.

use std::borrow::Cow;

use super::{Lexer, Token};

/// What a text looks like from afar.
#[derive(Clone, Copy, Debug, Default)]
pub struct StatementShape<'a> {
    first: Option<&'a str>,
    verb: Option<&'a str>,
    object: [Option<&'a str>; 2],
    bounds: Bounds,
    parentheses: Parentheses,
    is_several: bool,
    mentions: Mentions,
    outlives: Outlives,
}

/// How far the text is one piece.
#[derive(Clone, Copy, Debug, Default)]
struct Parentheses {
    /// Before its first word.
    lead: bool,
    /// One closes that was not opened, or is left open.
    unbalanced: bool,
}

/// Words that stand somewhere, in parentheses too.
#[derive(Clone, Copy, Debug, Default)]
struct Mentions {
    write: bool,
    definition: bool,
    copy: bool,
}

/// Effects of a text on its session, read one word after the other.
#[derive(Clone, Copy, Debug, Default)]
struct Outlives {
    /// Words of the present statement that were read.
    words: usize,
    first: First,
    is_with: bool,
    found: bool,
}

/// The first word of a statement, as far as it matters for its session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum First {
    #[default]
    Other,
    /// SET or RESET.
    Set,
    /// A statement that may make a table.
    Create,
}

/// What a query says itself about how much of its result there is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounds {
    /// It has a LIMIT or a FETCH.
    pub limits: bool,
    /// It has an OFFSET.
    pub offsets: bool,
}

// === impl StatementShape ===

impl<'a> StatementShape<'a> {
    /// Reads a text.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        let mut sketch = Self::default();
        let mut depth = 0_usize;
        let mut is_copy = false;
        let mut ended = false;
        for token in Lexer::new(text) {
            if token == Token::Symbol(b';') {
                ended = true;
                is_copy = false;
                sketch.outlives.end();
                continue;
            }
            sketch.is_several |= ended;
            match token {
                Token::Symbol(b'(') => {
                    sketch.parentheses.lead |= sketch.first.is_none();
                    depth += 1;
                }
                Token::Symbol(b')') => {
                    sketch.parentheses.unbalanced |= depth == 0;
                    depth = depth.saturating_sub(1);
                }
                Token::Word(word) => {
                    is_copy |= is(word, &["COPY"]);
                    sketch.mentions.copy |= is_copy && is(word, &["STDIN", "STDOUT"]);
                    sketch.note(word, depth);
                }
                _ => {}
            }
        }
        sketch.parentheses.unbalanced |= depth > 0;
        sketch
    }

    fn note(&mut self, word: &'a str, depth: usize) {
        self.first.get_or_insert(word);
        self.outlives.note(word);
        self.mentions.write |= is(word, &["INTO", "INSERT", "UPDATE", "DELETE", "MERGE"]);
        self.mentions.definition |= is(word, DEFINING);
        if depth > 0 {
            return;
        }
        self.bounds.limits |= is(word, &["LIMIT", "FETCH"]);
        self.bounds.offsets |= is(word, &["OFFSET"]);
        if self.verb.is_none() {
            // The statement that a WITH introduces is what it does.
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

    /// Tells whether something of it stays in the session when its transaction has ended: settings,
    /// prepared statements, temporary tables, cursors with HOLD, listeners.
    #[must_use]
    pub fn outlives(&self) -> bool {
        self.outlives.found
    }

    /// The first word, behind any parentheses.
    #[must_use]
    pub fn first_word(&self) -> Option<&'a str> {
        self.first
    }

    /// Whether it starts like something that only has a result: SELECT, WITH, TABLE, VALUES.
    #[must_use]
    pub fn is_query(&self) -> bool {
        self.first
            .is_some_and(|word| is(word, &["SELECT", "WITH", "TABLE", "VALUES"]))
    }

    /// Whether something stands behind a `;`.
    #[must_use]
    pub fn is_several(&self) -> bool {
        self.is_several
    }

    /// Whether LIMIT or FETCH stands outside parentheses.
    #[must_use]
    pub fn limits_itself(&self) -> bool {
        self.bounds.limits
    }

    /// Whether OFFSET stands outside parentheses.
    #[must_use]
    pub fn offsets_itself(&self) -> bool {
        self.bounds.offsets
    }

    /// Whether a LIMIT may follow it once it is in parentheses, and is its only one.
    #[must_use]
    pub fn takes_a_limit(&self) -> bool {
        let Bounds { limits, offsets } = self.bounds;
        let Parentheses { lead, unbalanced } = self.parentheses;
        // A query that is in parentheses already may have a LIMIT in there that counts.
        self.is_query() && !(limits || offsets || lead || unbalanced)
    }

    /// Tells whether a LIMIT may follow it once it is the table of another query. Its own, or its
    /// OFFSET, keeps its rows in their order there.
    #[must_use]
    pub fn takes_another_limit(&self) -> bool {
        let Bounds { limits, offsets } = self.bounds;
        self.is_query() && (limits || offsets) && !self.parentheses.unbalanced
    }

    /// Whether it asks for a plan.
    #[must_use]
    pub fn explains(&self) -> bool {
        self.first.is_some_and(|word| is(word, &["EXPLAIN"]))
    }

    /// Returns what it says about how much of its result there is.
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Whether a word that changes data stands anywhere.
    #[must_use]
    pub fn mentions_a_write(&self) -> bool {
        self.mentions.write
    }

    /// Whether a word stands anywhere that changes what tables there are, or runs code of which
    /// that cannot be known.
    #[must_use]
    pub fn mentions_a_definition(&self) -> bool {
        self.mentions.definition
    }

    /// Whether it copies to or from whoever sent it.
    #[must_use]
    pub fn copies_through_the_client(&self) -> bool {
        self.mentions.copy
    }

    /// The command tag PostgreSQL gives such a statement, without its row count.
    ///
    /// Of several statements it is the first one's.
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

/// What may follow WITH.
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

/// Words of statements after which the catalogue may read differently.
const DEFINING: &[&str] = &[
    "CREATE", "ALTER", "DROP", "COMMENT", "INTO", "IMPORT", "GRANT", "REVOKE", "DO", "CALL",
];

/// First words of objects whose names have two.
const TWO_WORDS: &[&str] = &[
    "MATERIALIZED",
    "FOREIGN",
    "TEXT",
    "EVENT",
    "ACCESS",
    "OPERATOR",
    "DEFAULT",
];

// === impl Outlives ===

impl Outlives {
    fn end(&mut self) {
        let found = self.found;
        *self = Self {
            found,
            ..Self::default()
        };
    }

    fn note(&mut self, word: &str) {
        self.words += 1;
        self.found |= is(word, STAYING_CALLS);
        match self.words {
            1 => {
                self.first = if is(word, &["SET", "RESET"]) {
                    First::Set
                } else if is(word, &["CREATE", "SELECT", "WITH"]) {
                    First::Create
                } else {
                    First::Other
                };
                self.found |= is(word, STAYING);
            }
            2 if self.first == First::Set => {
                self.found |= !is(word, &["LOCAL", "TRANSACTION", "CONSTRAINTS"]);
            }
            _ => {
                let creates = self.first == First::Create;
                self.found |= creates && is(word, &["TEMP", "TEMPORARY"]);
                self.found |= self.is_with && is(word, &["HOLD"]);
            }
        }
        self.is_with = is(word, &["WITH"]);
    }
}

/// Functions whose effect is on the session, or may be.
const STAYING_CALLS: &[&str] = &[
    "SET_CONFIG",
    "PG_ADVISORY_LOCK",
    "PG_ADVISORY_LOCK_SHARED",
    "PG_TRY_ADVISORY_LOCK",
    "PG_TRY_ADVISORY_LOCK_SHARED",
];

/// Commands whose effect is on the session.
const STAYING: &[&str] = &[
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
