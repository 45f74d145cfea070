//! The lines of an answer, for each kind of entry at each level.

use std::{collections::HashMap, fmt::Write as _, sync::Arc};

use ziggurat_postgres::{
    metadata::{Column, EnumType, ForeignKey, Function, Metadata, Table, TableKind},
    statement::MaskedColumns,
    tsv,
};

use crate::{
    Glossary,
    search_schema::{arguments::Kind, full, index::Entry, level::Level, name},
    table_details::TableDetails,
};

/// Limit on the characters of a comment at the level `summary`.
const SHORT_COMMENT: usize = 200;

/// Limit on the labels of an enum in a line.
const MAX_LABELS: usize = 50;

/// Limit on the foreign keys in the first line of a table.
const MAX_KEYS: usize = 20;

/// A database as it is described.
pub(super) struct Lines<'a> {
    /// In their order, to find one by its position.
    pub(super) tables: Vec<Table<'a>>,
    pub(super) enums: Vec<EnumType<'a>>,
    pub(super) functions: Vec<Function<'a>>,
    pub(super) database: &'a str,
    pub(super) glossary: &'a Glossary,
    pub(super) masked: MaskedColumns,
    /// Of tables that are shown in full, by their position.
    pub(super) details: HashMap<usize, Arc<TableDetails>>,
}

// === impl Lines ===

impl<'a> Lines<'a> {
    pub(super) fn new(metadata: &'a Metadata, database: &'a str, glossary: &'a Glossary) -> Self {
        Self {
            tables: metadata.tables().collect(),
            enums: metadata.enums().collect(),
            functions: metadata.functions().collect(),
            database,
            glossary,
            masked: MaskedColumns::default(),
            details: HashMap::new(),
        }
    }

    /// Marks the columns that are masked for the caller.
    pub(super) fn with_marks(self, masked: MaskedColumns) -> Self {
        Self { masked, ..self }
    }

    /// Returns the table at a position.
    pub(super) fn table(&self, at: usize) -> Option<Table<'a>> {
        self.tables.get(at).copied()
    }

    /// Returns the enum at a position.
    pub(super) fn enum_type(&self, at: usize) -> Option<EnumType<'a>> {
        self.enums.get(at).copied()
    }

    /// Returns the column at a position.
    pub(super) fn column(&self, table: usize, at: usize) -> Option<(Table<'a>, Column<'a>)> {
        let table = self.table(table)?;
        table.columns().nth(at).map(|column| (table, column))
    }

    /// Returns the note about a table, or about a column of it.
    pub(super) fn note(&self, table: Table<'_>, column: Option<&str>) -> Option<&'a str> {
        self.glossary
            .note(self.database, (table.schema(), table.name()), column)
    }

    /// Returns the kind of an entry.
    pub(super) fn kind(&self, entry: Entry) -> Kind {
        match entry {
            Entry::Table(at) => match self.table(at).map(Table::kind) {
                Some(TableKind::View | TableKind::MaterializedView) => Kind::View,
                _ => Kind::Table,
            },
            Entry::Enum(_) => Kind::Enum,
            Entry::Term(_) => Kind::Term,
            Entry::Function(_) => Kind::Function,
            Entry::Column(..) => Kind::Column,
        }
    }

    /// Returns the name of an entry, as it is written in SQL.
    pub(super) fn name(&self, entry: Entry) -> String {
        let path = match entry {
            Entry::Table(at) => self.table(at).map(|table| name::of(table)),
            Entry::Enum(at) => {
                let kind = self.enum_type(at);
                kind.map(|kind| name::path([kind.schema(), kind.name()]))
            }
            Entry::Term(at) => self.glossary.terms().nth(at).map(|(term, _)| {
                let mut name = String::new();
                tsv::write_text(&mut name, term);
                name
            }),
            Entry::Function(at) => self.functions.get(at).map(|function| {
                let mut name = name::path([function.schema, function.name]);
                name.push('(');
                tsv::write_text(&mut name, function.arguments);
                name.push(')');
                name
            }),
            Entry::Column(table, at) => self
                .column(table, at)
                .map(|(table, column)| name::path([table.schema(), table.name(), column.name()])),
        };
        path.unwrap_or_default()
    }

    /// Writes an entry; of a table also the columns at these positions, where `summary` has none.
    pub(super) fn write(&self, out: &mut String, entry: Entry, level: Level, columns: &[usize]) {
        if level == Level::Names {
            if matches!(entry, Entry::Term(_)) {
                out.push_str("term ");
            }
            out.push_str(&self.name(entry));
            out.push('\n');
            return;
        }
        match entry {
            Entry::Table(at) => {
                let Some(table) = self.table(at) else { return };
                self.write_table(out, table, level);
                if level == Level::Full {
                    self.write_columns(out, at, 0..table.columns().len());
                    self.write_sections(out, at);
                } else {
                    self.write_columns(out, at, columns.iter().copied());
                }
            }
            Entry::Enum(at) => {
                let Some(kind) = self.enum_type(at) else {
                    return;
                };
                out.push_str(&self.name(entry));
                out.push_str(" (enum) ");
                push_labels(out, kind);
                let note = self
                    .glossary
                    .note(self.database, (kind.schema(), kind.name()), None);
                push_comments(out, kind.comment(), note, level);
                out.push('\n');
            }
            Entry::Term(at) => {
                let note = self.glossary.terms().nth(at).map(|(_, note)| note);
                write!(out, "term {}: ", self.name(entry)).expect(STRING);
                tsv::write_text(out, note.unwrap_or_default());
                out.push('\n');
            }
            Entry::Function(at) => {
                out.push_str(&self.name(entry));
                if let Some(function) = self.functions.get(at) {
                    write_function(out, function, level);
                }
            }
            Entry::Column(table, at) => {
                let Some((table, column)) = self.column(table, at) else {
                    return;
                };
                out.push_str(&name::of(table));
                out.push('.');
                self.write_column(out, table, column, None);
            }
        }
    }

    /// Writes the first line of a table.
    pub(super) fn write_table(&self, out: &mut String, table: Table<'_>, level: Level) {
        out.push_str(&name::of(table));
        write!(out, " ({}", kind(table)).expect(STRING);
        if !matches!(table.kind(), TableKind::View) {
            write!(out, ", {} rows", rows(table.rows())).expect(STRING);
        }
        let columns = table.columns().len();
        let plural = if columns == 1 { "" } else { "s" };
        let unreadable = ["", ", not readable"][usize::from(!table.is_readable())];
        write!(out, ", {columns} column{plural}{unreadable})").expect(STRING);
        let mut facts = Vec::new();
        let key = name::list(table.primary_key());
        if !key.is_empty() {
            facts.push(format!(" pk {key}"));
        }
        let keys: Vec<_> = table.foreign_keys().take(MAX_KEYS + 1).collect();
        let shown = keys.iter().take(MAX_KEYS);
        facts.extend(shown.map(|&key| format!(" fk {}", reference(key))));
        if keys.len() > MAX_KEYS {
            let more = table.foreign_keys().count() - MAX_KEYS;
            facts.push(format!(" {more} more fk"));
        }
        let has_comment = !table.comment().is_empty() && !facts.is_empty();
        out.push_str(&facts.join(";"));
        if has_comment {
            out.push(';');
        }
        push_comments(out, table.comment(), self.note(table, None), level);
        out.push('\n');
    }

    /// Writes a line for each of these columns.
    pub(super) fn write_columns(
        &self,
        out: &mut String,
        table: usize,
        columns: impl IntoIterator<Item = usize>,
    ) {
        let details = self.details.get(&table);
        for column in columns {
            if let Some((table, column)) = self.column(table, column) {
                out.push_str("  ");
                self.write_column(out, table, column, details.map(|known| &**known));
            }
        }
    }

    /// Writes the sections below the columns of a table.
    pub(super) fn write_sections(&self, out: &mut String, at: usize) {
        if let Some(table) = self.table(at) {
            full::write_sections(out, table, self.details.get(&at).map(|known| &**known));
        }
    }

    /// Returns the positions of all columns of a table.
    pub(super) fn all_columns(&self, at: usize) -> Vec<usize> {
        let columns = self.table(at).map_or(0, |table| table.columns().len());
        (0..columns).collect()
    }

    fn write_column(
        &self,
        out: &mut String,
        table: Table<'_>,
        column: Column<'_>,
        details: Option<&TableDetails>,
    ) {
        name::push(out, column.name());
        out.push(' ');
        tsv::write_text(out, column.data_type());
        let facts = [
            (!column.is_nullable(), " not null"),
            (column.is_primary_key(), " pk"),
            (full::is_unique(column, details), " unique"),
            (!column.identity().is_empty(), " identity"),
            (self.masked.mark(table.oid(), column.number()), " masked"),
        ];
        facts
            .iter()
            .filter(|(holds, _)| *holds)
            .for_each(|(_, fact)| out.push_str(fact));
        push_targets(out, table, column);
        if !column.default().is_empty() {
            out.push_str(" [default ");
            tsv::write_text(out, column.default());
            out.push(']');
        }
        if let Some(details) = details {
            full::push_checks(out, column, details);
        }
        if let Some(kind) = column.enum_type() {
            out.push_str(" [enum ");
            push_labels(out, kind);
            out.push(']');
        }
        if let Some(details) = details {
            full::push_values(out, column, details);
        }
        push_comments(
            out,
            column.comment(),
            self.note(table, Some(column.name())),
            Level::Full,
        );
        out.push('\n');
    }
}

/// The invariant of writing to a string.
pub(super) const STRING: &str = "a string takes all that is written";

/// Returns a foreign key as `customer_id -> public.customer.id`; one of several columns has them in
/// parentheses.
pub(super) fn reference(key: ForeignKey<'_>) -> String {
    let target = name::of(key.target());
    let (columns, targets) = (name::list(key.columns()), name::list(key.target_columns()));
    if key.columns().nth(1).is_none() {
        format!("{columns} -> {target}.{targets}")
    } else {
        format!("({columns}) -> {target} ({targets})")
    }
}

/// Writes the columns that a column refers to.
fn push_targets(out: &mut String, table: Table<'_>, column: Column<'_>) {
    if column.references().is_empty() {
        return;
    }
    let pairs = table.foreign_keys().flat_map(|key| {
        let target = key.target();
        key.columns()
            .zip(key.target_columns())
            .map(move |(own, other)| (own, target, other))
    });
    for (_, target, other) in pairs.filter(|(own, ..)| *own == column.name()) {
        out.push_str(" -> ");
        out.push_str(&name::path([target.schema(), target.name(), other]));
    }
}

fn push_labels(out: &mut String, kind: EnumType<'_>) {
    for (index, label) in kind.labels().take(MAX_LABELS).enumerate() {
        if index > 0 {
            out.push('|');
        }
        tsv::write_text(out, label);
    }
    let more = kind.labels().skip(MAX_LABELS).count();
    if more > 0 {
        write!(out, "|… {more} more").expect(STRING);
    }
}

/// Writes a line of a function behind its name.
fn write_function(out: &mut String, function: &Function<'_>, level: Level) {
    if function.result.is_empty() {
        out.push_str(" (procedure)");
    } else {
        out.push_str(" (function) returns ");
        tsv::write_text(out, function.result);
    }
    push_comments(out, function.comment, None, level);
    out.push('\n');
}

/// Writes the comment of the database and the note of the glossary.
fn push_comments(out: &mut String, comment: &str, note: Option<&str>, level: Level) {
    if !comment.is_empty() {
        out.push_str(" -- ");
        let cut = comment.char_indices().nth(SHORT_COMMENT);
        match cut.filter(|_| level < Level::Full) {
            Some((end, _)) => {
                tsv::write_text(out, &comment[..end]);
                out.push('…');
            }
            None => tsv::write_text(out, comment),
        }
    }
    if let Some(note) = note {
        out.push_str(" | ");
        tsv::write_text(out, note);
    }
}

fn kind(table: Table<'_>) -> &'static str {
    match table.kind() {
        TableKind::View => "view",
        TableKind::MaterializedView => "materialized view",
        TableKind::Foreign => "foreign table",
        TableKind::Partitioned => "partitioned table",
        _ => "table",
    }
}

/// Returns an estimate with two digits: `~1.2M`.
fn rows(estimate: Option<u64>) -> String {
    let Some(estimate) = estimate else {
        return "unknown".to_owned();
    };
    // The estimate as two digits and a power of ten.
    let (mut digits, mut power) = (estimate, 0_u32);
    let mut rest = 0;
    while digits >= 100 {
        rest = digits % 10;
        digits /= 10;
        power += 1;
    }
    digits += u64::from(rest >= 5);
    if digits == 100 {
        (digits, power) = (10, power + 1);
    }
    let scaled = |unit: &str, zeros: u32| match power + 1 - zeros {
        0 => format!("~{}.{}{unit}", digits / 10, digits % 10).replace(".0", ""),
        more => format!("~{}{unit}", digits * 10_u64.pow(more - 1)),
    };
    match power + 1 {
        _ if power == 0 => format!("~{digits}"),
        1 | 2 => format!("~{}", digits * 10_u64.pow(power)),
        3..=5 => scaled("K", 3),
        6..=8 => scaled("M", 6),
        9..=11 => scaled("B", 9),
        _ => scaled("T", 12),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_two_digits_and_a_unit() {
        let cases = [
            (0, "~0"),
            (7, "~7"),
            (99, "~99"),
            (104, "~100"),
            (105, "~110"),
            (994, "~990"),
            (996, "~1K"),
            (1_234, "~1.2K"),
            (12_345, "~12K"),
            (123_456, "~120K"),
            (999_499, "~1M"),
            (1_234_567, "~1.2M"),
            (87_000_000, "~87M"),
            (5_050_000_000, "~5.1B"),
            (u64::MAX, "~18000000T"),
        ];
        for (estimate, expected) in cases {
            assert_eq!(rows(Some(estimate)), expected, "{estimate}");
        }
        assert_eq!(rows(None), "unknown");
    }
}
