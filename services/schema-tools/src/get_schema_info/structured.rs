//! The structured answer.
//!
//! A missing value (a comment, a default) is null; flags are booleans.

use std::{convert::Infallible, iter};

use ziggurat_mcp::Structure;
use ziggurat_postgres::{
    metadata::{Column, Table},
    scalar::Scalar,
    statement::MaskedColumns,
};

use ziggurat_answers::Table as Rows;

use crate::get_schema_info::{
    columns::{column_header, table_header},
    summary,
};

const SCHEMA_HEADER: [&str; 4] = ["schema", "table_count", "tables", "vector_tables"];

/// Makes a row for each column.
pub(super) fn columns(
    tables: &[Table<'_>],
    max_bytes: usize,
    has_more: bool,
    masked: &MaskedColumns,
) -> Structure {
    let mut rows = Rows::new(table_header().chain(column_header(masked)), max_bytes);
    for &table in tables {
        add(&mut rows, |rows| write_columns(rows, table, masked));
    }
    rows.finish(has_more)
}

/// Makes a row for each table.
pub(super) fn tables(tables: &[Table<'_>], max_bytes: usize, has_more: bool) -> Structure {
    let mut rows = Rows::new(table_header(), max_bytes);
    for &table in tables {
        add(&mut rows, |rows| write(rows, of_table(table)));
    }
    rows.finish(has_more)
}

/// Makes a row for each schema, with its first tables.
pub(super) fn schemas(tables: &[Table<'_>], max_bytes: usize, has_more: bool) -> Structure {
    let mut rows = Rows::new(SCHEMA_HEADER, max_bytes);
    let schemas = summary::schemas(tables);
    for tables in schemas.iter().take(summary::MAX_SCHEMAS) {
        let count = tables.len().to_string();
        let (all, vectors) = (summary::names(tables, false), summary::names(tables, true));
        let row = [
            Scalar::Text(tables[0].schema()),
            Scalar::Number(&count),
            Scalar::Text(&all),
            some(&vectors),
        ];
        add(&mut rows, |rows| write(rows, row));
    }
    rows.finish(has_more || schemas.len() > summary::MAX_SCHEMAS)
}

fn add(rows: &mut Rows, write: impl FnOnce(&mut Rows) -> Result<(), Infallible>) {
    let Ok(()) = rows.add(write);
}

fn write<'a, V>(rows: &mut Rows, values: V) -> Result<(), Infallible>
where
    V: IntoIterator<Item = Scalar<'a>>,
{
    rows.write_row(values.into_iter().map(Ok))
}

fn write_columns(
    rows: &mut Rows,
    table: Table<'_>,
    masked: &MaskedColumns,
) -> Result<(), Infallible> {
    if table.columns().len() == 0 {
        let nothing = iter::repeat_n(Scalar::Null, column_header(masked).count());
        return write(rows, of_table(table).into_iter().chain(nothing));
    }
    for column in table.columns() {
        let dims = column.vector_dims().to_string();
        let mark = Scalar::Bool(masked.mark(table.oid(), column.number()));
        let mark = (!masked.is_empty()).then_some(mark);
        let values = of_table(table).into_iter().chain(of_column(column, &dims));
        write(rows, values.chain(mark))?;
    }
    Ok(())
}

fn of_table(table: Table<'_>) -> [Scalar<'_>; 4] {
    [
        Scalar::Text(table.schema()),
        Scalar::Text(table.name()),
        Scalar::Text(table.kind().as_str()),
        some(table.comment()),
    ]
}

fn of_column<'a>(column: Column<'a>, dims: &'a str) -> [Scalar<'a>; 12] {
    [
        Scalar::Text(column.name()),
        Scalar::Text(column.data_type()),
        Scalar::Text(if column.is_nullable() { "YES" } else { "NO" }),
        some(column.comment()),
        Scalar::Bool(column.is_primary_key()),
        Scalar::Bool(column.is_unique()),
        some(column.references()),
        Scalar::Bool(column.is_indexed()),
        some(column.identity()),
        some(column.default()),
        Scalar::Bool(column.is_vector()),
        Scalar::Number(dims),
    ]
}

fn some(text: &str) -> Scalar<'_> {
    if text.is_empty() {
        Scalar::Null
    } else {
        Scalar::Text(text)
    }
}
