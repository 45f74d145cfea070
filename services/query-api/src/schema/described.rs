//! Tables as they are shown.

#![expect(
    single_use_lifetimes,
    reason = "the derive of a schema repeats the lifetime of its type"
)]

use std::{borrow::Cow, collections::HashMap};

use serde::Serialize;
use utoipa::ToSchema;
use ziggurat_postgres::{
    metadata::{Column, Table},
    statement::MaskedColumns,
    type_name,
};

use crate::schema::storage::{Index, Storage};

/// The tables of a database.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Catalogue)]
pub(super) struct CatalogueDescription<'a> {
    /// Name of the database.
    pub(super) database: &'a str,
    /// Time at which the tables were read.
    pub(super) loaded_at: String,
    /// True if there are more tables than are shown.
    pub(super) cut: bool,
    /// Schemas that the role of the server may not use.
    pub(super) denied: Vec<&'a str>,
    /// Schemas with tables. They are written one by one.
    #[schema(value_type = Vec<SchemaDescription<'static>>)]
    pub(super) schemas: [(); 0],
}

/// A schema.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SchemaOfTables)]
pub(super) struct SchemaDescription<'a> {
    /// Its name.
    pub(super) name: &'a str,
    /// Its tables, sorted by name. They are written one by one.
    #[schema(value_type = Vec<TableDescription<'static>>)]
    pub(super) tables: [(); 0],
}

/// A table.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TableOfCatalogue)]
pub(super) struct TableDescription<'a> {
    /// Its name.
    name: &'a str,
    /// `table`, `partitioned table`, `view`, `materialized view` or `foreign table`.
    kind: String,
    /// Its comment.
    comment: Option<&'a str>,
    /// Estimated number of rows.
    rows: Option<u64>,
    /// Estimated size with its indexes.
    bytes: Option<u64>,
    /// Its columns, in their order.
    columns: Vec<ColumnDescription<'a>>,
    /// Its indexes, sorted by name.
    indexes: Vec<IndexDescription<'a>>,
}

/// A column.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ColumnOfCatalogue)]
pub(super) struct ColumnDescription<'a> {
    /// Its name.
    name: &'a str,
    /// Its type, such as `int8` or `numeric(10,2)`.
    #[serde(rename = "type")]
    #[schema(value_type = String)]
    data_type: Cow<'a, str>,
    /// True if it may be NULL.
    nullable: bool,
    /// The expression of its default, or the one it is generated from.
    default: Option<&'a str>,
    /// Its comment.
    comment: Option<&'a str>,
    /// `primary` or `unique` if it is in such a key.
    key: Option<&'static str>,
    /// True if it is in the key of an index.
    indexed: bool,
    /// `always` or `by default` for an identity column.
    identity: Option<&'static str>,
    /// Number of dimensions of its vectors.
    dimensions: Option<u32>,
    /// The column that its foreign key refers to.
    references: Option<Reference<'a>>,
    /// True if its values are masked; else left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    masked: Option<bool>,
}

/// A column that a foreign key refers to.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[schema(as = ReferencedColumn)]
struct Reference<'a> {
    /// Its schema.
    schema: &'a str,
    /// Its table.
    table: &'a str,
    /// Its name.
    column: &'a str,
}

/// An index.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = IndexOfTable)]
struct IndexDescription<'a> {
    /// Its name.
    name: &'a str,
    /// The columns and expressions of its key.
    columns: &'a [String],
    /// True if no two rows have the same key.
    unique: bool,
    /// Its method, such as `btree`.
    method: &'a str,
    /// The statement that makes it.
    definition: &'a str,
}

// === impl TableDescription ===

impl<'a> TableDescription<'a> {
    /// Describes a table.
    pub(super) fn new(table: Table<'a>, storage: &'a Storage, masked: &MaskedColumns) -> Self {
        let references = references(table);
        let columns = table.columns().map(|column| {
            let reference = references.get(column.name()).copied();
            let is_masked = masked.mark(table.oid(), column.number());
            ColumnDescription::new(column, reference, is_masked)
        });
        let indexes = storage.indexes(table).iter().map(IndexDescription::new);
        Self {
            name: table.name(),
            kind: table.kind().as_str().to_lowercase(),
            comment: some(table.comment()),
            rows: table.rows(),
            bytes: storage.bytes(table),
            columns: columns.collect(),
            indexes: indexes.collect(),
        }
    }
}

/// Returns the column that each column of a foreign key refers to; of several keys the first counts.
fn references(table: Table<'_>) -> HashMap<&str, Reference<'_>> {
    let mut references = HashMap::new();
    for key in table.foreign_keys() {
        let target = key.target();
        for (column, referenced) in key.columns().zip(key.target_columns()) {
            references.entry(column).or_insert(Reference {
                schema: target.schema(),
                table: target.name(),
                column: referenced,
            });
        }
    }
    references
}

// === impl ColumnDescription ===

impl<'a> ColumnDescription<'a> {
    fn new(column: Column<'a>, references: Option<Reference<'a>>, is_masked: bool) -> Self {
        let dimensions = Some(column.vector_dims()).filter(|dimensions| *dimensions > 0);
        Self {
            name: column.name(),
            data_type: type_name::short(column.data_type()),
            nullable: column.is_nullable(),
            default: some(column.default()),
            comment: some(column.comment()),
            key: match (column.is_primary_key(), column.is_unique()) {
                (true, _) => Some("primary"),
                (_, true) => Some("unique"),
                _ => None,
            },
            indexed: column.is_indexed(),
            identity: match column.identity() {
                "a" => Some("always"),
                "d" => Some("by default"),
                _ => None,
            },
            dimensions,
            references,
            masked: is_masked.then_some(true),
        }
    }
}

// === impl IndexDescription ===

impl<'a> IndexDescription<'a> {
    fn new(index: &'a Index) -> Self {
        Self {
            name: &index.name,
            columns: &index.columns,
            unique: index.is_unique,
            method: &index.method,
            definition: &index.definition,
        }
    }
}

fn some(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}
