//! Changed rows.

use std::{collections::BTreeMap, sync::Arc};

use crate::{Digest, digest::Run, shown::grouped};

/// Text of a masked value.
pub(crate) const HIDDEN: &str = "***";

/// Value as PostgreSQL prints it; `None` for NULL.
pub type Text = Option<Box<str>>;

/// Everything that a statement changed.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The changed tables, by name.
    pub tables: Vec<TableChanges>,
    /// Changed tables that the caller may not read.
    pub unread: Vec<Unread>,
    /// Sequences that it drew numbers from.
    pub sequences: Vec<Sequence>,
    /// Sentences about what the rows do not show.
    pub notes: Vec<String>,
    /// Fingerprint of all of it.
    pub digest: Digest,
    /// Facts of the run.
    pub(crate) run: Run,
}

/// Changed rows of a table, or of all partitions of a table.
#[derive(Clone, Debug)]
pub struct TableChanges {
    /// The table, or the root of its partitions.
    pub table: Arc<Table>,
    /// The rows, by key.
    pub changes: Vec<Change>,
}

/// Changed table that the caller may not read. The numbers are upper bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// Its name with its schema.
    pub table: String,
    /// Number of added, changed and removed rows.
    pub rows: [u64; 3],
}

/// Sequence that numbers were drawn from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    pub(crate) oid: u32,
    /// Its name with its schema.
    pub name: String,
    /// Its last value before the statement.
    pub(crate) before: i64,
    /// Its last value after the statement.
    pub(crate) after: i64,
}

/// Table as far as its changes need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    pub(crate) oid: u32,
    /// True if new values could be made of masked ones.
    pub(crate) hides_new: bool,
    /// Its name with its schema.
    pub name: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// The places of the columns of its primary key.
    pub key: Vec<usize>,
    /// Its name with its schema, quoted.
    pub(crate) path: String,
    /// It has partitions.
    pub(crate) is_partitioned: bool,
    /// Row security may hide some of its rows.
    pub(crate) hides_rows: bool,
}

/// Column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The OID of its type.
    pub(crate) type_oid: u32,
    /// Its number in the table.
    pub(crate) number: u16,
    /// Its values are masked for the caller.
    pub(crate) is_masked: bool,
    /// Sequences that it owns, or that its default draws from.
    pub(crate) sequences: Vec<u32>,
    /// The columns that it refers to: name of the table, name of the column.
    pub(crate) refers_to: Vec<(String, String)>,
    /// Its default is a volatile function without arguments.
    pub(crate) is_generated_anew: bool,
    /// The name of its type, with a schema unless PostgreSQL itself has the type.
    pub(crate) type_name: String,
    /// Its value is computed from others.
    pub(crate) is_computed: bool,
}

/// Side of a change.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Side {
    Before,
    After,
}

/// Value as it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Value<'a> {
    /// It is masked.
    Hidden,
    Text(Option<&'a str>),
}

/// Changed row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A row that was not there before.
    Added(Vec<Text>),
    /// A row before and after.
    Changed {
        /// The values before.
        before: Vec<Text>,
        /// The values after.
        after: Vec<Text>,
    },
    /// A row that is not there any more.
    Removed(Vec<Text>),
}

// === impl Seen ===

impl Seen {
    /// Returns the number of changed rows that were read.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.tables.iter().map(|table| table.changes.len()).sum()
    }

    /// Returns this number in words, such as `1 row` or `1,204 rows`.
    #[must_use]
    pub fn amount(&self) -> String {
        let count = self.rows();
        let rows = if count == 1 { "row" } else { "rows" };
        format!("{} {rows}", grouped(count))
    }
}

// === impl Unread ===

impl Unread {
    /// Says how many rows changed that cannot be read.
    pub(crate) fn note(&self) -> String {
        let words = ["added", "changed", "removed"];
        let counts = self.rows.iter().zip(words).filter(|(count, _)| **count > 0);
        let counts: Vec<_> = counts
            .enumerate()
            .map(|(at, (count, word))| match (at, count) {
                (0, 1) => format!("1 row {word}"),
                (0, _) => format!("{count} rows {word}"),
                _ => format!("{count} {word}"),
            })
            .collect();
        format!(
            "{}: {}, which you may not read.",
            self.table,
            counts.join(", ")
        )
    }
}

// === impl TableChanges ===

impl TableChanges {
    /// Pairs the rows of a table before and after, by its key.
    pub(crate) fn pair(table: Arc<Table>, before: Vec<Vec<Text>>, after: Vec<Vec<Text>>) -> Self {
        if table.key.is_empty() {
            let changes = without_key(before, after);
            return Self { table, changes };
        }
        let mut by_key: BTreeMap<Vec<Text>, [Option<Vec<Text>>; 2]> = BTreeMap::new();
        for (side, rows) in [before, after].into_iter().enumerate() {
            for row in rows {
                let pair = by_key.entry(table.key_of(&row)).or_default();
                pair[side] = Some(row);
            }
        }
        let changes = by_key.into_values().filter_map(|pair| match pair {
            // An update that sets the same values changes nothing.
            [Some(before), Some(after)] if before == after => None,
            [Some(before), Some(after)] => Some(Change::Changed { before, after }),
            [Some(before), None] => Some(Change::Removed(before)),
            [None, after] => after.map(Change::Added),
        });
        Self {
            changes: changes.collect(),
            table,
        }
    }
}

/// Returns the rows that one side has more often than the other.
fn without_key(before: Vec<Vec<Text>>, after: Vec<Vec<Text>>) -> Vec<Change> {
    let mut surplus: BTreeMap<Vec<Text>, i64> = BTreeMap::new();
    for row in before {
        *surplus.entry(row).or_default() -= 1;
    }
    for row in after {
        *surplus.entry(row).or_default() += 1;
    }
    let mut changes = Vec::new();
    for (row, count) in surplus {
        let change = if count < 0 {
            Change::Removed
        } else {
            Change::Added
        };
        let times = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
        changes.extend(std::iter::repeat_n(row, times).map(change));
    }
    changes
}

// === impl Table ===

impl Table {
    /// Returns the values of the key of a row.
    pub(crate) fn key_of(&self, row: &[Text]) -> Vec<Text> {
        self.key.iter().map(|place| row[*place].clone()).collect()
    }

    /// Returns a value as it is shown, before or after a change.
    pub(crate) fn value<'a>(&self, change: &'a Change, place: usize, side: Side) -> Value<'a> {
        let is_hidden = match side {
            Side::Before => false,
            Side::After => self.hides_new && change.is_new(place),
        };
        if is_hidden || self.columns[place].is_masked {
            return Value::Hidden;
        }
        Value::Text(change.text(place, side))
    }

    /// Sorts changes by their shown values, so that their order tells nothing of masked ones.
    pub(crate) fn sort(&self, changes: &mut [Change]) {
        if !self.hides_new && !self.columns.iter().any(|column| column.is_masked) {
            return;
        }
        changes.sort_by(|one, other| {
            let shown = |change| {
                let places = 0..self.columns.len();
                let sides = [Side::Before, Side::After].into_iter();
                sides.flat_map(move |side| {
                    let places = places.clone();
                    places.map(move |place| self.value(change, place, side))
                })
            };
            let signs = one.sign().cmp(&other.sign());
            signs.then_with(|| shown(one).cmp(shown(other)))
        });
    }
}

// === impl Value ===

impl<'a> Value<'a> {
    /// Returns the text for a program; `None` for NULL.
    pub(crate) fn text(self) -> Option<&'a str> {
        match self {
            Self::Hidden => Some(HIDDEN),
            Self::Text(text) => text,
        }
    }
}

// === impl Change ===

impl Change {
    /// Returns the row before.
    #[must_use]
    pub fn before(&self) -> Option<&[Text]> {
        match self {
            Self::Added(_) => None,
            Self::Changed { before: row, .. } | Self::Removed(row) => Some(row),
        }
    }

    /// Returns the row after.
    #[must_use]
    pub fn after(&self) -> Option<&[Text]> {
        match self {
            Self::Removed(_) => None,
            Self::Changed { after: row, .. } | Self::Added(row) => Some(row),
        }
    }

    /// Returns the value in this place of the row before or after.
    pub(crate) fn text(&self, place: usize, side: Side) -> Option<&str> {
        let row = match side {
            Side::Before => self.before(),
            Side::After => self.after(),
        };
        row?[place].as_deref()
    }

    /// Returns the side that its key is of.
    pub(crate) fn side(&self) -> Side {
        match self {
            Self::Removed(_) => Side::Before,
            Self::Added(_) | Self::Changed { .. } => Side::After,
        }
    }

    /// Returns whether the value in this place of the row after was not there before.
    pub(crate) fn is_new(&self, place: usize) -> bool {
        match self {
            Self::Added(_) => true,
            Self::Changed { before, after } => before[place] != after[place],
            Self::Removed(_) => false,
        }
    }

    /// Returns the sign of an added, a changed or a removed row.
    #[must_use]
    pub fn sign(&self) -> char {
        match self {
            Self::Added(_) => '+',
            Self::Changed { .. } => '~',
            Self::Removed(_) => '-',
        }
    }
}

/// Writes a text as a literal, which means the same whatever `standard_conforming_strings` is.
pub(crate) fn literal(text: &str) -> String {
    let doubled = text.replace('\'', "''");
    if doubled.contains('\\') {
        format!(" E'{}'", doubled.replace('\\', "\\\\"))
    } else {
        format!("'{doubled}'")
    }
}
