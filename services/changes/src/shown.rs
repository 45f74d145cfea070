//! Changed rows as people and programs see them.

use std::{collections::BTreeMap, fmt::Write as _};

use serde::Serialize;
use ziggurat_text::hidden;

use crate::change::{Change, Column, HIDDEN, Seen, Side, Table, TableChanges, Value};

/// Limits of the text for a person.
const MAX_ROWS: usize = 20;
const MAX_CHARACTERS: usize = 4000;

/// Limits of the object for a program.
const MAX_CHANGES: usize = 200;
const MAX_BYTES: usize = 256 << 10;

/// OIDs of types with values that need no quotes: booleans and numbers.
const PLAIN: [u32; 8] = [16, 20, 21, 23, 26, 700, 701, 1700];

const INFALLIBLE: &str = "a string takes everything";

/// Changed rows as an object.
#[derive(Clone, Debug, Serialize)]
pub struct Shown<'a> {
    rows: usize,
    tables: Vec<ShownTable<'a>>,
    uncompared: Vec<ShownUnread<'a>>,
    sequences: Vec<&'a str>,
    notes: &'a [String],
    digest: &'a str,
}

#[derive(Clone, Debug, Serialize)]
struct ShownTable<'a> {
    table: &'a str,
    inserted: usize,
    updated: usize,
    deleted: usize,
    key: Vec<&'a str>,
    masked: Vec<&'a str>,
    changes: Vec<ShownChange<'a>>,
    more: usize,
}

#[derive(Clone, Debug, Serialize)]
struct ShownChange<'a> {
    op: &'static str,
    key: Vec<Option<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<BTreeMap<&'a str, Option<&'a str>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<BTreeMap<&'a str, Option<&'a str>>>,
}

#[derive(Clone, Debug, Serialize)]
struct ShownUnread<'a> {
    table: &'a str,
    inserted: u64,
    updated: u64,
    deleted: u64,
}

// === impl Seen ===

impl Seen {
    /// Returns an object for a program, with the first changes and the mark of all of them.
    #[must_use]
    pub fn shown<'a>(&'a self, mark: &'a str) -> Shown<'a> {
        let (mut changes, mut bytes) = (MAX_CHANGES, MAX_BYTES);
        let tables = self.tables.iter();
        Shown {
            rows: self.rows(),
            tables: tables
                .map(|table| ShownTable::of(table, &mut changes, &mut bytes))
                .collect(),
            uncompared: self
                .unread
                .iter()
                .map(|unread| {
                    let [inserted, updated, deleted] = unread.rows;
                    ShownUnread {
                        table: &unread.table,
                        inserted,
                        updated,
                        deleted,
                    }
                })
                .collect(),
            sequences: self.sequences.iter().map(|it| &*it.name).collect(),
            notes: &self.notes,
            digest: mark,
        }
    }

    /// Describes the changes for a person: the tables, and the first rows of each.
    #[must_use]
    pub fn described(&self) -> String {
        let mut text = String::new();
        let mut left = MAX_ROWS;
        let mut hidden_rows = 0;
        for TableChanges { table, changes } in &self.tables {
            let name = on_one_line(&table.name);
            writeln!(text, "{name}: {}", counts(changes)).expect(INFALLIBLE);
            for change in changes {
                let line = table.line(change);
                let is_full = text.chars().count() + line.chars().count() > MAX_CHARACTERS;
                if left == 0 || is_full {
                    left = 0;
                    hidden_rows += 1;
                    continue;
                }
                left -= 1;
                writeln!(text, "  {line}").expect(INFALLIBLE);
            }
        }
        if hidden_rows > 0 {
            let rows = if hidden_rows == 1 { "row" } else { "rows" };
            writeln!(text, "… {} more {rows}", grouped(hidden_rows)).expect(INFALLIBLE);
        }
        for note in &self.notes {
            writeln!(text, "{}", on_one_line(note)).expect(INFALLIBLE);
        }
        text
    }
}

// === impl Shown ===

impl Shown<'_> {
    /// Returns the number of changed rows in it.
    #[must_use]
    pub fn changes(&self) -> usize {
        self.tables.iter().map(|table| table.changes.len()).sum()
    }
}

// === impl ShownTable ===

impl<'a> ShownTable<'a> {
    /// Takes changes as long as there is room for them.
    fn of(
        TableChanges { table, changes }: &'a TableChanges,
        left: &mut usize,
        bytes: &mut usize,
    ) -> Self {
        let [inserted, updated, deleted] = by_kind(changes);
        let mut shown = Vec::new();
        for change in changes {
            let change = ShownChange::of(table, change);
            let size = change.size();
            if *left == 0 || size > *bytes {
                *left = 0;
                break;
            }
            (*left, *bytes) = (*left - 1, *bytes - size);
            shown.push(change);
        }
        Self {
            table: &table.name,
            inserted,
            updated,
            deleted,
            key: table
                .key
                .iter()
                .map(|place| &*table.columns[*place].name)
                .collect(),
            masked: table
                .columns
                .iter()
                .filter(|column| column.is_masked)
                .map(|column| &*column.name)
                .collect(),
            more: changes.len() - shown.len(),
            changes: shown,
        }
    }
}

// === impl ShownChange ===

impl<'a> ShownChange<'a> {
    fn of(table: &'a Table, change: &'a Change) -> Self {
        let values = |side: Side| {
            let columns = table.columns.iter().enumerate();
            let columns = columns.filter(|(place, _)| change.shows(*place));
            let value = |place| table.value(change, place, side).text();
            let values = columns.map(|(place, column)| (&*column.name, value(place)));
            values.collect()
        };
        Self {
            op: match change {
                Change::Added(_) => "insert",
                Change::Changed { .. } => "update",
                Change::Removed(_) => "delete",
            },
            key: table
                .key
                .iter()
                .map(|place| table.value(change, *place, change.side()).text())
                .collect(),
            before: change.before().map(|_| values(Side::Before)),
            after: change.after().map(|_| values(Side::After)),
        }
    }

    /// Returns about how many bytes it has as JSON.
    fn size(&self) -> usize {
        let sides = self.before.iter().chain(&self.after).flatten();
        let sides = sides.map(|(name, text)| name.len() + text.map_or(4, str::len) + 6);
        let key = self.key.iter().map(|text| text.map_or(4, str::len) + 3);
        40 + sides.chain(key).sum::<usize>()
    }
}

// === impl Table ===

impl Table {
    /// Describes a changed row in one line.
    fn line(&self, change: &Change) -> String {
        let with = |place: usize, side| {
            let value = self.value(change, place, side);
            self.columns[place].with(value)
        };
        let key = self.key.iter().map(|place| with(*place, change.side()));
        let key: Vec<_> = key.collect();
        let others = self.columns.iter().enumerate();
        let others = others.filter(|(place, _)| !self.key.contains(place) && change.shows(*place));
        let others = others.map(|(place, column)| match change {
            Change::Changed { .. } => {
                let after = column.quoted(self.value(change, place, Side::After));
                format!("{} -> {after}", with(place, Side::Before))
            }
            Change::Added(_) | Change::Removed(_) => with(place, change.side()),
        });
        let others: Vec<_> = others.collect();
        let sign = match change {
            Change::Added(_) => "+ ",
            _ => "",
        };
        if key.is_empty() {
            format!("{sign}{}", others.join(", "))
        } else {
            format!("{sign}{}: {}", key.join(", "), others.join(", "))
        }
    }
}

// === impl Column ===

impl Column {
    /// Writes its name and a value.
    fn with(&self, value: Value<'_>) -> String {
        format!("{} {}", on_one_line(&self.name), self.quoted(value))
    }

    /// Writes a value on one line, in quotes unless it is a number or a boolean.
    fn quoted(&self, value: Value<'_>) -> String {
        let text = match value {
            Value::Hidden => return HIDDEN.to_owned(),
            Value::Text(None) => return "NULL".to_owned(),
            Value::Text(Some(text)) => text,
        };
        if PLAIN.contains(&self.type_oid) {
            return text.to_owned();
        }
        let text = text.replace('\\', "\\\\").replace('\'', "''");
        format!("'{}'", on_one_line(&text))
    }
}

// === impl Change ===

impl Change {
    /// Returns whether a value is shown: of a changed row, the changed ones.
    fn shows(&self, place: usize) -> bool {
        !matches!(self, Self::Changed { .. }) || self.is_new(place)
    }
}

/// Writes hidden characters and the ends of lines as escapes.
fn on_one_line(text: &str) -> String {
    let text = hidden::escaped(text).replace('\n', "\\n");
    text.replace('\r', "\\r").replace('\t', "\\t")
}

/// Counts added, changed and removed rows.
pub(crate) fn by_kind(changes: &[Change]) -> [usize; 3] {
    let count = |sign| {
        changes
            .iter()
            .filter(|change| change.sign() == sign)
            .count()
    };
    ['+', '~', '-'].map(count)
}

/// Describes how many rows were added, changed and removed.
fn counts(changes: &[Change]) -> String {
    let words = ["added", "changed", "removed"];
    let counts = by_kind(changes).into_iter().zip(words);
    let counts = counts.filter(|(count, _)| *count > 0);
    let counts = counts.map(|(count, word)| format!("{} {word}", grouped(count)));
    counts.collect::<Vec<_>>().join(", ")
}

/// Writes a number with commas between groups of three digits.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
