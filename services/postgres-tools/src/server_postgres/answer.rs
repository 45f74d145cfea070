//! Rows as a JSON array.

use futures_util::TryStreamExt as _;
use serde::{Serialize, Serializer};
use ziggurat_calls::Call;
use ziggurat_mcp::ToolResult;
use ziggurat_postgres::{
    error::QueryError,
    rows::{ResultRow, Rows},
};

use crate::server_postgres::{json, value::Form};

/// Columns by name, each with its index in a row.
type Columns = Vec<(String, (usize, Form))>;

/// A row as an object.
struct Object<'a> {
    columns: &'a Columns,
    row: &'a ResultRow,
}

// === impl Object ===

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.columns.iter().map(|(name, (index, form))| {
            // The texts have been checked.
            let text = self.row.text(*index).unwrap_or_default();
            (name, text.map(|text| form.read(text)))
        }))
    }
}

/// Reads the rows that fit into this number of bytes, and counts them for the limits of the caller.
pub(super) async fn read(
    mut rows: Rows,
    max_bytes: usize,
    call: &Call,
) -> Result<ToolResult, QueryError> {
    let columns = rows.columns().iter().enumerate();
    let columns: Columns = json::ordered(columns.map(|(index, column)| {
        let form = Form::of(column.type_oid());
        (column.name().to_owned(), (index, form))
    }));
    let left = call.left();
    let (mut text, mut count, mut rest) = (String::from("["), 0, None);
    while let Some(row) = rows.try_next().await? {
        for index in 0..row.columns().len() {
            row.text(index)?;
        }
        let before = text.len();
        text.push_str(if count == 0 { "\n  " } else { ",\n  " });
        let columns = &columns;
        text.push_str(&json::pretty(&Object { columns, row: &row }).replace('\n', "\n  "));
        let exceeded = left.exceeded(count + 1, text.len());
        // The line break and the bracket follow.
        if text.len() + 2 > max_bytes || exceeded.is_some() {
            text.truncate(before);
            rows.leave_out();
            rest = Some(exceeded);
            break;
        }
        count += 1;
    }
    if rows
        .summary()
        .is_some_and(|summary| summary.oversized.is_some())
    {
        rest = Some(None);
    }
    text.push_str(if count == 0 { "]" } else { "\n]" });
    call.count(count, text.len());
    call.set_rows(count);
    let more = rest.map(|refused| {
        let more = format!("{count} rows shown, more available.");
        refused.map_or(more.clone(), |refused| format!("{more} {refused}"))
    });
    Ok(ToolResult::texts([text].into_iter().chain(more)))
}
