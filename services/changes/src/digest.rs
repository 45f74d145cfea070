//! Fingerprint of changed rows, in which values that are never the same twice are marks.
//!
//! Two runs of one statement have the same digest if they change the same rows in the same way, but
//! for drawn numbers, the time of the run and random identifiers.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::RangeInclusive,
};

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::change::{Change, Column, Seen, Sequence, Side, Table, TableChanges, Unread};

/// First line of the text that is hashed.
const VERSION: &str = "ziggurat diff v1\n";

/// The OIDs of `timestamp`, `timestamptz` and `uuid`.
const TIMESTAMP: u32 = 1114;
const TIMESTAMPTZ: u32 = 1184;
const UUID: u32 = 2950;

/// SHA-256 of changed rows. It tells of values that are masked, so it must not be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(pub [u8; 32]);

/// Columns that are shown but not compared, such as `public.page.hits` or `*.updated_at`.
#[derive(Clone, Debug, Default)]
pub struct Ignored(BTreeSet<String>);

/// Facts of a run that values are compared with.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// Sequences that numbers were drawn from; empty if there are too many to know.
    pub(crate) drawn: Vec<Sequence>,
    /// The times of the run, as PostgreSQL prints them, in UTC and in the zone of the session.
    pub(crate) times: Vec<RangeInclusive<String>>,
    /// The table that an INSERT names, and the columns of its list.
    pub(crate) inserts: Option<(String, Vec<String>)>,
    pub(crate) ignored: Ignored,
}

/// Place of a value: its table and its column by name.
type Place<'a> = (&'a str, &'a str);

/// Marks of values, by their place and their text.
struct Marks<'a> {
    run: &'a Run,
    /// Drawn numbers, by the OID of their sequence.
    drawn: BTreeMap<u32, BTreeSet<i64>>,
    /// The same, by the columns that hold them.
    held: BTreeMap<(Place<'a>, &'a str), u32>,
}

// === impl Ignored ===

impl FromIterator<String> for Ignored {
    fn from_iter<T: IntoIterator<Item = String>>(columns: T) -> Self {
        Self(columns.into_iter().collect())
    }
}

impl Ignored {
    /// Returns whether a column is not compared.
    fn has(&self, (table, column): Place<'_>) -> bool {
        self.0.contains(&format!("{table}.{column}")) || self.0.contains(&format!("*.{column}"))
    }
}

// === impl Digest ===

impl Digest {
    /// Hashes the changed rows of a run.
    pub(crate) fn of(tables: &[TableChanges], unread: &[Unread], run: &Run) -> Self {
        let mut hash = Sha256::new();
        hash.update(VERSION);
        for entry in entries(tables, unread, run) {
            hash.update(entry);
            hash.update("\n");
        }
        Self(hash.finalize().into())
    }
}

impl Seen {
    /// Returns the columns with other values than in another run, if they are all that differs.
    #[must_use]
    pub fn unstable(&self, other: &Self) -> Vec<String> {
        let (one, two) = (values(self), values(other));
        let names = one.keys().chain(two.keys());
        let unstable: BTreeSet<_> = names
            .filter(|name| one.get(*name) != two.get(*name))
            .collect();
        let rest = |seen: &Self| {
            let mut run = seen.run.clone();
            run.ignored
                .0
                .extend(unstable.iter().map(ToString::to_string));
            Digest::of(&seen.tables, &seen.unread, &run)
        };
        if rest(self) == rest(other) {
            unstable.into_iter().cloned().collect()
        } else {
            Vec::new()
        }
    }
}

/// Returns the values of each column before and after, with marks, in order.
fn values(seen: &Seen) -> BTreeMap<String, Vec<[String; 2]>> {
    let marks = Marks::of(&seen.tables, &seen.run);
    let mut values: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for TableChanges { table, changes } in &seen.tables {
        for (place, column) in table.columns.iter().enumerate() {
            let pairs = changes.iter().map(|change| {
                [Side::Before, Side::After].map(|side| {
                    let value = marks.value(table, place, change, side, &mut None);
                    value.to_string()
                })
            });
            let name = format!("{}.{}", table.name, column.name);
            let own = values.entry(name).or_default();
            own.extend(pairs);
            own.sort();
        }
    }
    values
}

/// Writes an entry for each changed row, sorted by bytes.
fn entries(tables: &[TableChanges], unread: &[Unread], run: &Run) -> Vec<String> {
    let marks = Marks::of(tables, run);
    // Entries without random identifiers decide about their numbers.
    let mut written: Vec<(String, &TableChanges, &Change)> = Vec::new();
    for table in tables {
        for change in &table.changes {
            let entry = marks.entry(&table.table, change, None);
            written.push((entry, table, change));
        }
    }
    written.sort_by(|(one, ..), (other, ..)| one.cmp(other));
    let mut numbers = Numbers::default();
    let mut entries: Vec<_> = written
        .into_iter()
        .map(|(entry, table, change)| {
            if marks.has_random(&table.table) {
                marks.entry(&table.table, change, Some(&mut numbers))
            } else {
                entry
            }
        })
        .collect();
    for Unread { table, rows } in unread {
        let [added, changed, removed] = rows;
        entries.push(json!([table, "#", added, changed, removed]).to_string());
    }
    entries.sort_unstable();
    entries
}

/// Numbers of random identifiers, in the order in which they are met.
#[derive(Default)]
struct Numbers(BTreeMap<String, usize>);

// === impl Numbers ===

impl Numbers {
    fn of(&mut self, text: &str) -> usize {
        let next = self.0.len() + 1;
        *self.0.entry(text.to_owned()).or_insert(next)
    }
}

// === impl Marks ===

impl<'a> Marks<'a> {
    /// Finds the drawn numbers among new and changed values.
    fn of(tables: &'a [TableChanges], run: &'a Run) -> Self {
        let mut marks = Self {
            run,
            drawn: BTreeMap::new(),
            held: BTreeMap::new(),
        };
        for table in tables {
            for change in &table.changes {
                for (column, text) in new_values(&table.table, change) {
                    if let Some((sequence, number)) = run.drawn(column, text) {
                        let place = (&*table.table.name, &*column.name);
                        marks.drawn.entry(sequence).or_default().insert(number);
                        marks.held.insert((place, text), sequence);
                    }
                }
            }
        }
        marks
    }

    /// Returns whether a table may have random identifiers of this statement.
    fn has_random(&self, table: &Table) -> bool {
        let columns = &mut table.columns.iter();
        columns.any(|column| self.run.is_random(table, column))
    }

    /// Writes a changed row. Without `numbers` its random identifiers have none.
    fn entry(&self, table: &Table, change: &Change, mut numbers: Option<&mut Numbers>) -> String {
        let key = table.key.iter();
        let key = key.map(|place| self.value(table, *place, change, change.side(), &mut numbers));
        let key: Vec<_> = key.collect();
        let key = if key.is_empty() {
            Value::Null
        } else {
            key.into()
        };
        let mut values = |side| {
            let mut values = Map::new();
            for (place, column) in table.columns.iter().enumerate() {
                if !self.run.ignored.has((&table.name, &column.name)) {
                    let value = self.value(table, place, change, side, &mut numbers);
                    values.insert(column.name.clone(), value);
                }
            }
            values
        };
        let before = change.before().map(|_| values(Side::Before));
        let after = change.after().map(|_| values(Side::After));
        json!([table.name, change.sign().to_string(), key, before, after]).to_string()
    }

    fn value(
        &self,
        table: &Table,
        place: usize,
        change: &Change,
        side: Side,
        numbers: &mut Option<&mut Numbers>,
    ) -> Value {
        let column = &table.columns[place];
        let Some(text) = change.text(place, side) else {
            return Value::Null;
        };
        if matches!(side, Side::Before) || !change.is_new(place) {
            return text.into();
        }
        if let Some(sequence) = self.sequence_of(table, column, text) {
            return self.drawn(sequence, text);
        }
        if self.run.is_now(column, text) {
            return json!({"now": true});
        }
        if matches!(change, Change::Added(_)) && self.run.is_random(table, column) {
            let number = numbers.as_mut().map(|numbers| numbers.of(text));
            return json!({"uuid": number});
        }
        text.into()
    }

    /// Returns the sequence that a number was drawn from, for this column or for one that the column
    /// refers to.
    fn sequence_of(&self, table: &Table, column: &Column, text: &str) -> Option<u32> {
        let own = (&*table.name, &*column.name);
        let others = column.refers_to.iter();
        let others = others.map(|(table, column)| (&**table, &**column));
        let mut places = std::iter::once(own).chain(others);
        places.find_map(|place| self.held.get(&(place, text)).copied())
    }

    fn drawn(&self, sequence: u32, text: &str) -> Value {
        let name = self.run.drawn.iter().find(|it| it.oid == sequence);
        let number: i64 = text.parse().unwrap_or_default();
        let drawn = self.drawn.get(&sequence);
        let rank = drawn.map_or(0, |drawn| drawn.range(..=number).count());
        json!({"seq": name.map(|it| &*it.name), "n": rank})
    }
}

// === impl Run ===

impl Run {
    /// Returns the sequence and the number, if a value was drawn by this run.
    fn drawn(&self, column: &Column, text: &str) -> Option<(u32, i64)> {
        let number: i64 = text.parse().ok()?;
        let mut drawn = self.drawn.iter();
        let drawn = drawn.find(|it| column.sequences.contains(&it.oid) && it.has_drawn(number))?;
        Some((drawn.oid, number))
    }

    fn is_now(&self, column: &Column, text: &str) -> bool {
        let zones = match column.type_oid {
            // It is printed in UTC.
            TIMESTAMPTZ => 1,
            TIMESTAMP => self.times.len(),
            _ => 0,
        };
        // All of them are printed in one form, so that their order is the one of time.
        let mut times = self.times.iter().take(zones);
        times.any(|it| it.start().as_str() <= text && text <= it.end().as_str())
    }

    fn is_random(&self, table: &Table, column: &Column) -> bool {
        let inserts = self.inserts.as_ref();
        column.type_oid == UUID
            && column.is_generated_anew
            && inserts
                .is_some_and(|(name, listed)| *name == table.name && !listed.contains(&column.name))
    }
}

// === impl Sequence ===

impl Sequence {
    /// Returns whether a number lies beyond the last value before the run, and not beyond the last
    /// one after it.
    fn has_drawn(&self, number: i64) -> bool {
        if self.before <= self.after {
            (self.before + 1..=self.after).contains(&number)
        } else {
            (self.after..self.before).contains(&number)
        }
    }
}

/// Returns the values of a row that are new or have changed, with their columns.
fn new_values<'a>(
    table: &'a Table,
    change: &'a Change,
) -> impl Iterator<Item = (&'a Column, &'a str)> {
    let after = change.after().unwrap_or_default();
    let values = table.columns.iter().zip(after).enumerate();
    values.filter_map(move |(place, (column, text))| {
        Some((column, text.as_deref().filter(|_| change.is_new(place))?))
    })
}
