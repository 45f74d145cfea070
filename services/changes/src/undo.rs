//! Statement that undoes changes.
//!
//! It removes the added rows, sets the changed ones back, and adds the removed ones again. As all of it
//! is one statement, PostgreSQL checks foreign keys at its end, so the tables need no order.
//!
//! Each added or changed row is compared as a whole, by its text, with the committed one. If a row is
//! another one by now, the number of rows is wrong, and the statement fails with a division by zero.

use std::fmt::Write as _;

use thiserror::Error;
use ziggurat_postgres::quoted;

use crate::change::{Change, Column, Seen, Table, TableChanges, Text, literal};

/// Limit on the bytes of a statement.
const MAX_BYTES: usize = 1 << 20;

/// Name of the type with values that PostgreSQL reads by a setting, also of its arrays.
const MONEY: &str = "money";

const INFALLIBLE: &str = "a string takes everything";

/// Reason for which changes cannot be undone. `Display` is for people.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoUndo {
    /// There is nothing to undo.
    #[error("There is no undo script: no row was changed.")]
    Nothing,
    /// The changed rows were not read.
    #[error("There is no undo script: the statement had no preview.")]
    Unseen,
    /// A table has no primary key.
    #[error("There is no undo script: {0} has no primary key.")]
    NoKey(String),
    /// The caller may not read a table.
    #[error("There is no undo script: you may not read {0}.")]
    Unread(String),
    /// Row security may hide changes of a table from the caller.
    #[error("There is no undo script: row security may hide rows of {0}.")]
    Hidden(String),
    /// A column is masked for the caller.
    #[error("There is no undo script: {0} has masked columns.")]
    Masked(String),
    /// The statement would be too long.
    #[error("There is no undo script: it would have more than {MAX_BYTES} bytes.")]
    TooLong,
}

/// Rows of a statement, each with a value for each column.
type Values<'a> = Vec<Vec<&'a Text>>;

// === impl Seen ===

impl Seen {
    /// Returns a statement that undoes the changes. Triggers fire again when it runs.
    ///
    /// # Errors
    /// Fails if the changes cannot be undone exactly.
    pub fn undo(&self) -> Result<String, NoUndo> {
        if let Some(unread) = self.unread.first() {
            return Err(NoUndo::Unread(unread.table.clone()));
        }
        for TableChanges { table, .. } in &self.tables {
            let name = || table.name.clone();
            if table.key.is_empty() {
                return Err(NoUndo::NoKey(name()));
            }
            if table.hides_rows {
                return Err(NoUndo::Hidden(name()));
            }
            let mut columns = table.columns.iter();
            if table.hides_new || columns.any(|column| column.is_masked) {
                return Err(NoUndo::Masked(name()));
            }
        }
        // A value that is unique may have moved from a removed row to a changed one, and from there
        // to an added one.
        let removing = self.tables.iter().filter_map(removing);
        let changing = self.tables.iter().filter_map(setting_back);
        let adding = self.tables.iter().filter_map(adding);
        let steps: Vec<_> = removing.chain(changing).chain(adding).collect();
        let script = self.script(&steps).ok_or(NoUndo::Nothing)?;
        (script.len() <= MAX_BYTES)
            .then_some(script)
            .ok_or(NoUndo::TooLong)
    }

    /// Joins the steps to one statement, which fails if a row is not found.
    fn script(&self, steps: &[String]) -> Option<String> {
        let mut columns = self.tables.iter().flat_map(|it| &it.table.columns);
        let mut script = if columns.any(|column| column.type_name.starts_with(MONEY)) {
            "SET LOCAL lc_monetary = 'C';\n".to_owned()
        } else {
            String::new()
        };
        let (last, all) = (steps.len(), 1..=steps.len());
        for (step, number) in steps.iter().zip(all.clone()) {
            let before = if number == 1 { "WITH" } else { "" };
            let after = if number == last { "" } else { "," };
            writeln!(
                script,
                "{before} step_{number} AS ({step} RETURNING 1){after}"
            )
            .expect(INFALLIBLE);
        }
        let tables: Vec<_> = all.map(|number| format!("TABLE step_{number}")).collect();
        let tables = tables.join(" UNION ALL ");
        let rows = self.rows();
        write!(
            script,
            "SELECT 1 / (count(*) = {rows})::int AS undone FROM ({tables}) AS steps"
        )
        .expect(INFALLIBLE);
        (last > 0).then_some(script)
    }
}

/// Removes the rows that were added.
fn removing(changes: &TableChanges) -> Option<String> {
    let table = &changes.table;
    let rows: Values<'_> = changes
        .changes
        .iter()
        .filter_map(|change| match change {
            Change::Added(row) => Some(row.iter().collect()),
            _ => None,
        })
        .collect();
    let columns: Vec<_> = table.columns.iter().collect();
    let rows = listed(&columns, &rows)?;
    Some(format!(
        "DELETE FROM {} AS t USING {rows} WHERE {}",
        target(table),
        table.is_same_row()
    ))
}

/// Sets the columns that were changed back.
fn setting_back(changes: &TableChanges) -> Option<String> {
    let table = &changes.table;
    let pairs: Vec<_> = changes
        .changes
        .iter()
        .filter_map(|change| match change {
            Change::Changed { before, after } => Some((before, after)),
            _ => None,
        })
        .collect();
    let is_changed = |&place: &usize| {
        let mut pairs = pairs.iter();
        !table.columns[place].is_computed && pairs.any(|(old, new)| old[place] != new[place])
    };
    let places: Vec<_> = (0..table.columns.len()).filter(is_changed).collect();
    if places.is_empty() {
        return None;
    }
    let rows = pairs.iter().map(|(before, after)| {
        let before = places.iter().map(|place| &before[*place]);
        after.iter().chain(before).collect()
    });
    let rows: Values<'_> = rows.collect();
    let set_back = places.iter().map(|place| &table.columns[*place]);
    let columns: Vec<_> = table.columns.iter().chain(set_back).collect();
    let rows = listed(&columns, &rows)?;
    let first = table.columns.len() + 1;
    let set = places.iter().zip(first..).map(|(place, number)| {
        let name = quoted(&table.columns[*place].name);
        format!("{name} = v.v{number}")
    });
    Some(format!(
        "UPDATE {} AS t SET {} FROM {rows} WHERE {}",
        target(table),
        set.collect::<Vec<_>>().join(", "),
        table.is_same_row()
    ))
}

/// Adds the rows that were removed.
fn adding(changes: &TableChanges) -> Option<String> {
    let table = &changes.table;
    let is_kept = |&place: &usize| !table.columns[place].is_computed;
    let places: Vec<_> = (0..table.columns.len()).filter(is_kept).collect();
    let rows: Values<'_> = changes
        .changes
        .iter()
        .filter_map(|change| match change {
            Change::Removed(row) => Some(places.iter().map(|place| &row[*place]).collect()),
            _ => None,
        })
        .collect();
    let columns: Vec<_> = places.iter().map(|place| &table.columns[*place]).collect();
    let rows = listed(&columns, &rows)?;
    let names: Vec<_> = columns.iter().map(|column| quoted(&column.name)).collect();
    Some(format!(
        "INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE SELECT * FROM {rows}",
        table.path,
        names.join(", ")
    ))
}

/// Writes rows as a table `v`, if there are rows.
fn listed(columns: &[&Column], rows: &Values<'_>) -> Option<String> {
    let mut text = "(VALUES ".to_owned();
    for (at, row) in rows.iter().enumerate() {
        text.push_str(if at == 0 { "(" } else { ", (" });
        for (place, (column, value)) in columns.iter().zip(row).enumerate() {
            if place > 0 {
                text.push_str(", ");
            }
            match value {
                Some(value) => text.push_str(&literal(value)),
                None => text.push_str("NULL"),
            }
            // The first row decides the types.
            if at == 0 {
                write!(text, "::{}", column.type_name).expect(INFALLIBLE);
            }
        }
        text.push(')');
    }
    let names: Vec<_> = (1..=columns.len()).map(|it| format!("v{it}")).collect();
    write!(text, ") AS v ({})", names.join(", ")).expect(INFALLIBLE);
    (!rows.is_empty()).then_some(text)
}

/// Returns the name of a table without tables that inherit from it. Partitions belong to it.
fn target(table: &Table) -> String {
    if table.is_partitioned {
        table.path.clone()
    } else {
        format!("ONLY {}", table.path)
    }
}

// === impl Table ===

impl Table {
    /// Returns the condition that a row of `t` is the same as one of `v`.
    fn is_same_row(&self) -> String {
        let name = |place: usize| quoted(&self.columns[place].name);
        let key = self.key.iter();
        let key = key.map(|place| format!("t.{} = v.v{}", name(*place), place + 1));
        let own = (0..self.columns.len()).map(|place| format!("t.{}", name(place)));
        let found = (1..=self.columns.len()).map(|number| format!("v.v{number}"));
        format!(
            "{} AND ROW({})::text = ROW({})::text",
            key.collect::<Vec<_>>().join(" AND "),
            own.collect::<Vec<_>>().join(", "),
            found.collect::<Vec<_>>().join(", ")
        )
    }
}
