//! Knowledge from the texts of answers.

mod listing;
pub(crate) mod names;
mod search;

use std::collections::{BTreeMap, BTreeSet};

use crate::question::{ColumnName, Fact, TableName};

/// Everything that answers said about a database.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// In the order in which they were shown first.
    pub(crate) tables: Vec<(TableName, Shown)>,
    /// The lines of enums, by their names as they are written.
    enums: BTreeMap<String, String>,
    joins: BTreeSet<(ColumnName, ColumnName)>,
}

/// A table of an answer.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    /// Its first line.
    pub(crate) head: String,
    /// The lines of its columns; empty for a column that only a key names.
    pub(crate) columns: BTreeMap<String, String>,
    /// The lines below its columns.
    pub(crate) sections: Vec<String>,
    /// The tables that it refers to, or that refer to it.
    pub(crate) neighbours: BTreeSet<TableName>,
}

// === impl Known ===

impl Known {
    /// Reads an answer of either tool.
    pub(crate) fn read(&mut self, answer: &str) {
        if answer
            .lines()
            .any(|line| line.starts_with("schema\ttable\t"))
        {
            listing::read(self, answer);
        } else {
            search::read(self, answer);
        }
    }

    /// Returns a table if it was shown.
    pub(crate) fn table(&self, name: &TableName) -> Option<&Shown> {
        let mut tables = self.tables.iter();
        tables
            .find(|(known, _)| known == name)
            .map(|(_, shown)| shown)
    }

    /// Returns whether a fact was said, in its place: a column below its table, a value with its
    /// column.
    pub(crate) fn holds(&self, fact: &Fact) -> bool {
        match fact {
            Fact::Table(table) => self.table(table).is_some(),
            Fact::Column(column) => self.column(column).is_some(),
            Fact::Value(column, value) => self.holds_value(column, value),
            Fact::Join(one, other) => {
                let is_key = |one: &ColumnName, other: &ColumnName| {
                    self.joins.contains(&(one.clone(), other.clone()))
                };
                is_key(one, other)
                    || is_key(other, one)
                    || self.column(one).is_some() && self.column(other).is_some()
            }
        }
    }

    fn column(&self, column: &ColumnName) -> Option<&str> {
        let line = self.table(&column.table)?.columns.get(&column.name)?;
        Some(line)
    }

    fn holds_value(&self, column: &ColumnName, value: &str) -> bool {
        let Some(line) = self.column(column) else {
            return false;
        };
        let checks = self
            .table(&column.table)
            .map_or(&[][..], |table| &table.sections);
        let checks = checks
            .iter()
            .filter(|section| section.starts_with("checks:"));
        let enums = self
            .enums
            .iter()
            .filter(|(name, _)| names::contains(line, name));
        let enums = enums.map(|(_, line)| line);
        let mut lines = [line]
            .into_iter()
            .chain(checks.map(String::as_str))
            .chain(enums.map(String::as_str));
        lines.any(|line| names::contains(line, value))
    }

    /// Returns the entry of a table, a new one if it was not shown before.
    fn entry(&mut self, name: &TableName) -> &mut Shown {
        let at = self.tables.iter().position(|(known, _)| known == name);
        let at = at.unwrap_or_else(|| {
            self.tables.push((name.clone(), Shown::default()));
            self.tables.len() - 1
        });
        &mut self.tables[at].1
    }

    /// Notes a foreign key.
    fn add_key(&mut self, from: ColumnName, to: ColumnName) {
        self.entry(&from.table).neighbours.insert(to.table.clone());
        self.joins.insert((from, to));
    }
}
