//! Finds indexes that would make statements cheaper, from the plans of PostgreSQL.
//!
//! Nothing here talks to PostgreSQL. The caller reads plans with `EXPLAIN (VERBOSE, FORMAT JSON)`
//! (VERBOSE writes each column with the alias of its table), looks up the [`Table`]s they scan with
//! `dba/index_advice_tables.sql`, and gets [`Candidate`]s. With `hypopg` it creates hypothetical indexes in the order of a [`Trial`],
//! which keeps those that pay.
//!
//! A candidate has up to three columns of one scan: those compared for equality, then one compared
//! for a range, then those of a sort. A comparison below OR or NOT, or of an expression, is not
//! used.

mod candidates;
mod condition;
mod plan;
mod table;
#[cfg(test)]
mod tests;
mod trial;

use std::fmt;

pub(crate) use self::{candidates::candidates, plan::scanned_tables, table::Table, trial::Trial};

/// Rows of a table below which a scan of it is cheap without an index.
pub(crate) const MIN_ROWS: f64 = 10_000.0;

/// An index that may help.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) schema: String,
    pub(crate) table: String,
    pub(crate) keys: Vec<Key>,
    /// Positions of the statements that it may help, in ascending order.
    pub(crate) statements: Vec<usize>,
    /// Sum of the costs of the scans that it may replace.
    pub(crate) cost: f64,
    /// Estimate of its size.
    pub(crate) bytes: f64,
}

/// A column of a [`Candidate`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) column: String,
    pub(crate) order: Order,
}

/// The direction of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) is_descending: bool,
    /// NULLS FIRST of an ascending key, NULLS LAST of a descending one.
    pub(crate) has_unusual_nulls: bool,
}

/// A candidate that was not chosen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fallen {
    pub(crate) candidate: Candidate,
    pub(crate) reason: Reason,
}

/// Reason not to choose a [`Candidate`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reason {
    /// An index that exists begins with the same columns.
    Exists(String),
    /// The limit on candidates was reached by others, which replace costlier scans.
    TooMany,
    /// The cost falls by less than a tenth with it.
    TooLittle,
    /// The limit on indexes was reached by others.
    Enough,
}

/// Chosen and fallen candidates.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Advice {
    /// The most promising first.
    pub(crate) chosen: Vec<Candidate>,
    pub(crate) fallen: Vec<Fallen>,
}

// === impl Candidate ===

impl fmt::Display for Candidate {
    /// Writes the statement that creates the index.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CREATE INDEX ON {}.", Quoted(&self.schema))?;
        write!(f, "{} (", Quoted(&self.table))?;
        for (place, key) in self.keys.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{}{}", Quoted(&key.column), key.order)?;
        }
        f.write_str(")")
    }
}

// === impl Order ===

impl Order {
    /// Returns the order of a scan in the other direction.
    fn reversed(self) -> Self {
        Self {
            is_descending: !self.is_descending,
            ..self
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.is_descending, self.has_unusual_nulls) {
            (false, false) => "",
            (false, true) => " NULLS FIRST",
            (true, false) => " DESC",
            (true, true) => " DESC NULLS LAST",
        })
    }
}

// === impl Reason ===

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists(index) => write!(f, "{index} begins with the same columns"),
            Self::TooMany => f.write_str("not tried: other scans cost more"),
            Self::TooLittle => f.write_str("the cost falls by less than a tenth"),
            Self::Enough => f.write_str("not kept: five others gain more"),
        }
    }
}

/// A name, quoted for SQL where it has to be.
struct Quoted<'a>(&'a str);

// === impl Quoted ===

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A keyword cannot be told from a name here, so quotes are left out only where a digit or
        // an underscore shows that it is none.
        let is_plain = self
            .0
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
            && self.0.starts_with(|c: char| c.is_ascii_lowercase())
            && self.0.bytes().any(|b| b.is_ascii_digit() || b == b'_')
            && !KEYWORDS.contains(&self.0);
        if is_plain {
            f.write_str(self.0)
        } else {
            write!(f, "\"{}\"", self.0.replace('"', "\"\""))
        }
    }
}

/// Reserved words with an underscore.
const KEYWORDS: &[&str] = &[
    "current_catalog",
    "current_date",
    "current_role",
    "current_schema",
    "current_time",
    "current_timestamp",
    "current_user",
    "session_user",
    "system_user",
];
