//! Primary keys, foreign keys and partitions: the relations between tables.

use std::{collections::HashMap, fmt, ops::Range};

use crate::{
    driver::{DriverError, Row},
    metadata::{
        Metadata, Table, TableEntry, TableKind,
        field::{number, text},
    },
};

/// Maximum depth of partitions of partitions.
const MAX_DEPTH: u32 = 32;

/// Foreign key of a table.
#[derive(Clone, Copy)]
pub struct ForeignKey<'a> {
    metadata: &'a Metadata,
    entry: &'a ForeignKeyEntry,
}

/// Keys of a database.
#[derive(Default)]
pub(super) struct Keys {
    /// Positions of the columns of each key. Behind a foreign key are the columns that it targets.
    columns: Vec<u32>,
    /// Sorted by table and columns.
    foreign: Vec<ForeignKeyEntry>,
    /// Positions in `foreign`, sorted by target.
    by_target: Vec<u32>,
}

struct ForeignKeyEntry {
    /// Positions of the tables; OIDs while the keys are collected.
    table: u32,
    target: u32,
    columns: Range<u32>,
}

/// Keys that are still being collected.
#[derive(Default)]
pub(super) struct KeysBuilder {
    keys: Keys,
    /// The OIDs of the parents of partitions.
    parents: HashMap<u32, u32>,
    /// The number in its table of each column.
    numbers: Vec<u16>,
}

// === impl ForeignKey ===

impl<'a> ForeignKey<'a> {
    /// Returns the table that has it.
    #[must_use]
    pub fn table(self) -> Table<'a> {
        self.metadata.table_at(self.entry.table)
    }

    /// Returns its columns, in the order of the key.
    pub fn columns(self) -> impl Iterator<Item = &'a str> {
        self.metadata.key(self.entry.columns.clone())
    }

    /// Returns the table that it refers to.
    #[must_use]
    pub fn target(self) -> Table<'a> {
        self.metadata.table_at(self.entry.target)
    }

    /// Returns the column of the target for each of its columns.
    pub fn target_columns(self) -> impl Iterator<Item = &'a str> {
        self.metadata.key(self.entry.targets())
    }
}

impl fmt::Debug for ForeignKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (table, target) = (self.table(), self.target());
        let columns: Vec<_> = self.columns().collect();
        let targets: Vec<_> = self.target_columns().collect();
        write!(f, "{}.{}", table.schema(), table.name())?;
        write!(f, " ({}) -> ", columns.join(", "))?;
        write!(f, "{}.{}", target.schema(), target.name())?;
        write!(f, " ({})", targets.join(", "))
    }
}

// === impl ForeignKeyEntry ===

impl ForeignKeyEntry {
    fn targets(&self) -> Range<u32> {
        let Range { start, end } = self.columns;
        end..end + (end - start)
    }
}

// === impl Metadata ===

impl Metadata {
    /// Returns the names of columns of a key.
    pub(super) fn key(&self, columns: Range<u32>) -> impl Iterator<Item = &str> {
        let columns = self.content.keys.columns[range(&columns)].iter();
        columns.map(|&at| {
            self.content
                .words
                .text(self.content.columns[at as usize].name)
        })
    }

    pub(super) fn foreign_keys(&self, keys: &Range<u32>) -> impl Iterator<Item = ForeignKey<'_>> {
        let entries = self.content.keys.foreign[range(keys)].iter();
        let seen = entries.filter(|entry| self.sees(entry.target as usize));
        seen.map(|entry| ForeignKey {
            metadata: self,
            entry,
        })
    }

    pub(super) fn references(&self, keys: &Range<u32>) -> impl Iterator<Item = ForeignKey<'_>> {
        let positions = self.content.keys.by_target[range(keys)].iter();
        let entries = positions.map(|&at| &self.content.keys.foreign[at as usize]);
        let seen = entries.filter(|entry| self.sees(entry.table as usize));
        seen.map(|entry| ForeignKey {
            metadata: self,
            entry,
        })
    }

    fn table_at(&self, position: u32) -> Table<'_> {
        Table {
            metadata: self,
            entry: &self.content.tables[position as usize],
        }
    }
}

// === impl Keys ===

impl Keys {
    /// Returns the positions of the columns that refer to one of these tables.
    pub(super) fn referring_to(&self, is_one: impl Fn(usize) -> bool) -> impl Iterator<Item = u32> {
        let foreign = self.foreign.iter();
        let keys = foreign.filter(move |key| is_one(key.target as usize));
        keys.flat_map(|key| self.columns[range(&key.columns)].iter().copied())
    }
}

// === impl KeysBuilder ===

impl KeysBuilder {
    /// Reads the parent of a table.
    pub(super) fn table(&mut self, row: &Row) -> Result<(), DriverError> {
        if let Ok(parent) = text(row, 7)?.parse() {
            self.parents.insert(number(row, 5)?, parent);
        }
        Ok(())
    }

    /// Reads the number of the next column.
    pub(super) fn column(&mut self, row: &Row) -> Result<(), DriverError> {
        self.numbers.push(number(row, 10)?);
        Ok(())
    }

    /// Reads a primary or a foreign key.
    pub(super) fn key(&mut self, row: &Row) -> Result<(), DriverError> {
        let Keys {
            columns, foreign, ..
        } = &mut self.keys;
        let (start, target) = (columns.len(), number(row, 2)?);
        columns.extend(numbers(&text(row, 1)?));
        let end = columns.len();
        // A primary key has no target.
        if target != 0 {
            columns.extend(numbers(&text(row, 3)?));
            columns.resize(end + (end - start), 0);
        }
        foreign.push(ForeignKeyEntry {
            table: number(row, 0)?,
            target,
            columns: position(start)..position(end),
        });
        Ok(())
    }

    /// Writes the relations into the tables, which are sorted.
    pub(super) fn finish(self, tables: &mut [TableEntry]) -> Keys {
        let positions: HashMap<u32, u32> = (0_u32..)
            .zip(&*tables)
            .map(|(at, table)| (table.oid, at))
            .collect();
        self.add_rows(tables, &positions);
        let Self {
            mut keys, numbers, ..
        } = self;
        let Keys {
            columns, foreign, ..
        } = &mut keys;
        foreign.retain_mut(|key| {
            let Some(&table) = positions.get(&key.table) else {
                return false;
            };
            let table_columns = tables[table as usize].columns.clone();
            let is_known = place(&mut columns[range(&key.columns)], &table_columns, &numbers);
            if key.target == 0 && is_known {
                tables[table as usize].primary_key = key.columns.clone();
            }
            let Some(&target) = positions.get(&key.target) else {
                return false;
            };
            let target_columns = &tables[target as usize].columns;
            (key.table, key.target) = (table, target);
            is_known
                && place(
                    &mut columns[range(&key.targets())],
                    target_columns,
                    &numbers,
                )
        });
        keys.sort(tables);
        keys
    }

    /// Adds the rows of partitions to the tables they belong to. Only partitions without partitions
    /// have rows.
    fn add_rows(&self, tables: &mut [TableEntry], positions: &HashMap<u32, u32>) {
        for at in 0..tables.len() {
            let TableEntry {
                oid, rows, kind, ..
            } = tables[at];
            if rows < 0 || kind == TableKind::Partitioned {
                continue;
            }
            let mut child = oid;
            for _ in 0..MAX_DEPTH {
                let Some(&parent) = self.parents.get(&child) else {
                    break;
                };
                if let Some(&position) = positions.get(&parent) {
                    let parent = &mut tables[position as usize];
                    parent.rows = parent.rows.max(0).saturating_add(rows);
                }
                child = parent;
            }
        }
    }
}

// === impl Keys ===

impl Keys {
    fn sort(&mut self, tables: &mut [TableEntry]) {
        let Self {
            columns,
            foreign,
            by_target,
        } = self;
        let rank = |key: &ForeignKeyEntry| {
            let columns = |of: &Range<u32>| &columns[range(of)];
            (
                key.table,
                columns(&key.columns),
                key.target,
                columns(&key.targets()),
            )
        };
        foreign.sort_by(|one, two| rank(one).cmp(&rank(two)));
        foreign.shrink_to_fit();
        *by_target = (0..position(foreign.len())).collect();
        by_target.sort_by_key(|&at| foreign[at as usize].target);
        for (at, key) in (0_u32..).zip(&*foreign) {
            extend(&mut tables[key.table as usize].foreign_keys, at);
        }
        for (at, &key) in (0_u32..).zip(&*by_target) {
            let target = foreign[key as usize].target;
            extend(&mut tables[target as usize].referenced_by, at);
        }
    }
}

/// Adds the next position to a range.
fn extend(range: &mut Range<u32>, position: u32) {
    if range.start == range.end {
        range.start = position;
    }
    range.end = position + 1;
}

/// Replaces numbers of columns of a table by their positions, and returns whether all are known.
fn place(key: &mut [u32], columns: &Range<u32>, numbers: &[u16]) -> bool {
    key.iter_mut().all(|column| {
        let at = numbers[range(columns)].binary_search_by_key(column, |&number| number.into());
        *column = at.map_or(0, |at| columns.start + position(at));
        at.is_ok()
    })
}

/// Reads the numbers of an array such as `{1,2}`.
fn numbers(array: &str) -> impl Iterator<Item = u32> {
    let members = array.trim_matches(['{', '}']).split(',');
    members.map(|member| member.parse().unwrap_or(0))
}

fn range(range: &Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}

fn position(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
