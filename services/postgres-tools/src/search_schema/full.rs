//! What is said of a table in full, beyond its columns.

use std::fmt::Write as _;

use ziggurat_postgres::metadata::{Column, Table};

use super::{lines::STRING, name};

pub(super) type TableDetails = ();

/// Limit on the foreign keys that refer to a table.
const MAX_REFERENCES: usize = 20;

pub(super) fn write_sections(out: &mut String, table: Table<'_>, _details: Option<&TableDetails>) {
    let references: Vec<_> = table.referenced_by().take(MAX_REFERENCES).collect();
    if !references.is_empty() {
        let keys = references
            .iter()
            .map(|key| format!("{}.{}", name::of(key.table()), name::list(key.columns())));
        out.push_str("  referenced by: ");
        out.push_str(&keys.collect::<Vec<_>>().join(", "));
        let more = table.referenced_by().skip(MAX_REFERENCES).count();
        if more > 0 {
            write!(out, ", {more} more").expect(STRING);
        }
        out.push('\n');
    }
}

pub(super) fn is_unique(column: Column<'_>, _details: Option<&TableDetails>) -> bool {
    column.is_unique()
}

pub(super) fn push_checks(_out: &mut String, _column: Column<'_>, _details: &TableDetails) {}

pub(super) fn push_values(_out: &mut String, _column: Column<'_>, _details: &TableDetails) {}
