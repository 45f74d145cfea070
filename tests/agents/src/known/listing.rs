//! Answers of `get_schema_info`: tab-separated lines.

use super::{Known, names};
use crate::question::{ColumnName, TableName};

/// Reads an answer.
pub(super) fn read(known: &mut Known, answer: &str) {
    let mut header: Option<Vec<&str>> = None;
    // Only the first line of a table names it.
    let mut last: Option<TableName> = None;
    for line in answer.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        if line.starts_with("schema\ttable\t") {
            header = Some(fields);
            continue;
        }
        let Some(header) = header
            .as_ref()
            .filter(|header| header.len() == fields.len())
        else {
            continue;
        };
        let field = |name: &str| {
            let at = header.iter().position(|field| *field == name)?;
            fields.get(at).copied()
        };
        let (Some(schema), Some(table)) = (field("schema"), field("table")) else {
            continue;
        };
        let table = match last.take().filter(|_| table.is_empty()) {
            Some(table) => table,
            None => TableName {
                schema: schema.to_owned(),
                name: table.to_owned(),
            },
        };
        last = Some(table.clone());
        known.entry(&table);
        let Some(name) = field("column").map(str::to_owned) else {
            continue;
        };
        known
            .entry(&table)
            .columns
            .insert(name.clone(), line.to_owned());
        let target = field("fk_ref").and_then(names::column);
        if let Some((target, _)) = target {
            known.add_key(ColumnName { table, name }, target);
        }
    }
}
