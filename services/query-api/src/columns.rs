//! The columns of a result.

use serde::Serialize;
use utoipa::ToSchema;
use ziggurat_databases::Current;
use ziggurat_postgres::{metadata::Table, rows::ResultColumn};

/// Column of a result.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = QueryColumn)]
pub(crate) struct DescribedColumn {
    /// Its name, which others may have too.
    name: String,
    /// Short name of its type, such as `int8` or `text[]`.
    #[serde(rename = "type")]
    data_type: Option<String>,
    /// The table that it comes from, with its schema.
    table: Option<String>,
    /// Its name in that table.
    column: Option<String>,
    /// True if its values are masked; else left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    masked: Option<bool>,
}

/// Describes columns, as far as their types and tables are known.
pub(crate) fn described(current: &Current, columns: &[ResultColumn]) -> Vec<DescribedColumn> {
    let metadata = current.cached_metadata();
    // Columns of one table mostly stand together.
    let mut latest: Option<(u32, Option<Table<'_>>)> = None;
    let described = columns.iter().map(|column| {
        let origin = column.origin().and_then(|(oid, number)| {
            let table = match latest {
                Some((known, table)) if known == oid => table,
                _ => metadata.as_ref().and_then(|it| it.table_with_oid(oid)),
            };
            latest = Some((oid, table));
            Some((table?, table?.column_with_number(number)?))
        });
        let name = current.pool().type_name(column.type_oid());
        DescribedColumn {
            name: column.name().to_owned(),
            data_type: name.as_deref().map(str::to_owned),
            table: origin.map(|(table, _)| format!("{}.{}", table.schema(), table.name())),
            column: origin.map(|(_, column)| column.name().to_owned()),
            masked: column.is_masked().then_some(true),
        }
    });
    described.collect()
}
