//! Counts the comparisons of pairs that PostgreSQL makes before it checks for a cancellation.
//!
//! Its analysis compares each table of a FROM with those before it, and likewise columns of a join,
//! queries of a WITH, windows, sort keys, groups and conditions. Some thousands of entries take it
//! seconds, ten thousand take minutes, in which it checks neither for a cancellation nor for
//! `statement_timeout`.

use crate::{Token, statement_shape::is};

/// Limit on the cost of the comparisons of one statement: about a second of PostgreSQL's time. A
/// list of 2,000 tables or sort keys costs as much, or one of 700 joins.
const MAX_COST: u64 = 2_000_000;

const JOIN: u64 = 8;

/// A star is not compared, but each stands for all columns.
const STAR_COST: u64 = 100;

/// The number of comparisons of conditions, which only move pointers, that cost as much as one of
/// sort keys.
const CONDITIONS_PER_COST: u64 = 4096;

/// Adds up comparisons, token by token.
#[derive(Debug, Default)]
pub(super) struct Pairs<'a> {
    cost: u64,
    conditions: u64,
    level: Level,
    /// The enclosing levels, one for each open parenthesis or bracket.
    outer: Vec<Level>,
    last: Last<'a>,
}

/// The text between the same parentheses.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    /// True if commas separate entries that are compared.
    is_list: bool,
    /// True for a subquery. Its entries are not compared with entries outside of it.
    is_query: bool,
    /// True behind INSERT INTO. The entries of its VALUES are not compared.
    is_insert: bool,
    items: u32,
    joins: u32,
    windows: u32,
    stars: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Last<'a> {
    Word(&'a str),
    Symbol(u8),
    #[default]
    Other,
}

// === impl Pairs ===

impl<'a> Pairs<'a> {
    /// Reads the next token of a statement. Returns whether the cost is within the limit so far.
    pub(super) fn read(&mut self, token: Token<'a>) -> bool {
        let last = self.last;
        self.last = match token {
            // After a dot every word is a name.
            Token::Word(_) if last == Last::Symbol(b'.') => Last::Other,
            Token::Word(word) => {
                self.word(word);
                Last::Word(word)
            }
            Token::Quoted(_) | Token::Escaped(_) if last.is(&["WITH"]) => {
                self.level.is_list = true;
                Last::Other
            }
            Token::Symbol(symbol) => {
                self.symbol(symbol, last);
                Last::Symbol(symbol)
            }
            _ => Last::Other,
        };
        self.cost <= MAX_COST
    }

    fn word(&mut self, word: &str) {
        let level = &mut self.level;
        if is(word, &["SELECT"]) {
            *level = Level {
                is_query: true,
                ..Level::default()
            };
        } else if is(word, &["FROM"]) && !self.last.is(&["DISTINCT"])
            || is(word, &["BY", "WINDOW"])
            || self.last.is(&["WITH"]) && !is(word, &["TIME", "ORDINALITY", "TIES"])
        {
            level.is_list = true;
        } else if is(word, &["INTO"]) {
            // A column may be called `insert`.
            level.is_insert |= !level.is_query && self.last.is(&["INSERT"]);
        } else if is(word, &["VALUES"]) {
            // Rows of values are not compared. A table may be called `values`.
            let ends_with = !level.is_query && self.last == Last::Symbol(b')');
            let follows = self.last.is(&["UNION", "EXCEPT", "INTERSECT", "ALL"]);
            level.is_list &= !(level.is_insert || ends_with || follows);
        } else if is(word, &["JOIN"]) {
            level.joins += 1;
            self.cost += JOIN * u64::from(level.joins);
        } else if is(word, &["OVER"]) {
            level.windows += 1;
            self.cost += u64::from(level.windows);
        } else if is(word, &["AND", "OR"]) {
            self.conditions += 1;
            self.cost += self.conditions / CONDITIONS_PER_COST;
        }
    }

    fn symbol(&mut self, symbol: u8, last: Last<'_>) {
        match symbol {
            b'(' | b'[' => {
                self.outer.push(self.level);
                self.level = Level {
                    is_list: symbol == b'('
                        && last.is(&["BY", "ON", "CUBE", "ROLLUP", "SETS", "XMLATTRIBUTES"]),
                    ..Level::default()
                };
            }
            b')' | b']' => {
                let inner = self.level;
                self.level = self.outer.pop().unwrap_or_default();
                if !inner.is_query {
                    self.level.joins += inner.joins;
                    self.level.windows += inner.windows;
                }
            }
            b',' if self.level.is_list => {
                self.level.items += 1;
                self.cost += u64::from(self.level.items);
            }
            b'*' if matches!(last, Last::Symbol(b',' | b'.')) => {
                self.level.stars += 1;
                self.cost += STAR_COST * u64::from(self.level.stars);
            }
            _ => {}
        }
    }
}

// === impl Last ===

impl Last<'_> {
    fn is(self, any_of: &[&str]) -> bool {
        matches!(self, Self::Word(word) if is(word, any_of))
    }
}
