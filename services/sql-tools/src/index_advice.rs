//! `index_advice`: finds indexes that would make a statement cheaper, from the plans of PostgreSQL.
//!
//! A candidate has up to three columns of one scan: columns compared for equality, then one
//! compared for a range, then columns of a sort. A comparison below OR or NOT, or of an expression,
//! is not used. With the extension `hypopg` the candidates are created as hypothetical indexes in
//! the order of a [`Trial`], which keeps those that pay. Without it the best guess for each scan is
//! given.

mod answer;
mod candidates;
mod condition;
mod partitions;
mod plan;
mod planner;
mod recorded;
mod table;
#[cfg(test)]
mod tests;
mod tool;
mod trial;

use std::fmt;

use ziggurat_postgres::name::written;

pub(crate) use self::{
    recorded::{ABSENT_CODES, NO_TOP_QUERIES},
    tool::IndexAdvice,
};
use self::{table::Table, trial::Trial};

/// Rows of a table below which a scan of it is cheap without an index.
const MIN_ROWS: f64 = 10_000.0;

/// Limit on indexes that are advised.
const MAX_ADVISED: usize = 5;

/// An index that may help.
#[derive(Clone, Debug, PartialEq)]
struct Candidate {
    schema: String,
    table: String,
    /// Schemas and names of the partitions that are scanned, of a partitioned table.
    partitions: Vec<(String, String)>,
    keys: Vec<Key>,
    /// The scans that it may replace.
    helps: Vec<String>,
    /// Sum of their costs.
    cost: f64,
    /// It is the best guess for one of them.
    is_first: bool,
    /// Estimate of its size.
    bytes: f64,
}

/// A column of a [`Candidate`].
#[derive(Clone, Debug, PartialEq, Eq)]
struct Key {
    column: String,
    order: Order,
}

/// The direction of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Order {
    is_descending: bool,
    /// NULLS FIRST of an ascending key, NULLS LAST of a descending one.
    has_unusual_nulls: bool,
}

/// A candidate that was not chosen.
#[derive(Clone, Debug, PartialEq)]
struct Fallen {
    candidate: Candidate,
    reason: Reason,
}

/// Reason not to choose a [`Candidate`].
#[derive(Clone, Debug, PartialEq)]
enum Reason {
    /// An index that exists begins with the same columns.
    Exists(String),
    /// The limit on candidates was reached by others, which replace costlier scans.
    TooMany,
    /// Another index is a better guess for the same scan, and none was tried.
    Alternative,
    /// The trial had to end.
    NoTime,
    /// The cost falls by less than a tenth with it.
    TooLittle,
    /// The limit on indexes was reached by others.
    Enough,
}

/// Chosen and fallen candidates.
#[derive(Clone, Debug, Default, PartialEq)]
struct Advice {
    /// The most promising first.
    chosen: Vec<Candidate>,
    fallen: Vec<Fallen>,
}

// === impl Advice ===

impl Advice {
    /// Leaves the best guess for each scan, for candidates that cannot be tried.
    fn guessed(mut self) -> Self {
        let mut chosen = Vec::new();
        for candidate in self.chosen {
            let reason = match (candidate.is_first, chosen.len() < MAX_ADVISED) {
                (true, true) => {
                    chosen.push(candidate);
                    continue;
                }
                (true, false) => Reason::TooMany,
                (false, _) => Reason::Alternative,
            };
            self.fallen.push(Fallen { candidate, reason });
        }
        Self { chosen, ..self }
    }
}

// === impl Candidate ===

impl Candidate {
    /// Returns the statements that create hypothetical indexes. `hypopg` makes none on a partitioned
    /// table, so these are on the partitions.
    fn hypothetical(&self) -> Vec<String> {
        if self.partitions.is_empty() {
            return vec![self.to_string()];
        }
        let partitions = self.partitions.iter();
        partitions
            .map(|(schema, table)| self.on(schema, table))
            .collect()
    }

    /// Returns the statement that creates the index on a table.
    fn on(&self, schema: &str, table: &str) -> String {
        let keys = self.keys.iter();
        let keys: Vec<_> = keys
            .map(|key| format!("{}{}", written(&key.column), key.order))
            .collect();
        let (schema, table) = (written(schema), written(table));
        format!("CREATE INDEX ON {schema}.{table} ({})", keys.join(", "))
    }
}

impl fmt::Display for Candidate {
    /// Writes the statement that creates the index.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.on(&self.schema, &self.table))
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
            Self::Alternative => f.write_str("another index is a better guess for the same scan"),
            Self::NoTime => f.write_str("the time to try candidates was over"),
            Self::TooLittle => f.write_str("saves less than a tenth of the cost that is left"),
            Self::Enough => f.write_str("not kept: five others gain more"),
        }
    }
}
