//! The table and the columns that a search uses.

use ziggurat_postgres::{
    metadata::{Column, Metadata, Table},
    statement::MaskedColumns,
};

use crate::similarity_search::columns::{self, ColumnPair};

/// A table that can be searched.
pub(super) struct TargetTable<'a> {
    pub(super) table: Table<'a>,
    /// Its vector columns, at least one.
    pub(super) vectors: Vec<Column<'a>>,
    /// The vector columns with a known text; may be empty.
    pub(super) pairs: Vec<ColumnPair<'a>>,
    /// The text columns to show, at least one.
    pub(super) texts: Vec<Column<'a>>,
    /// The columns that are masked for the caller, once they are known.
    masked: Option<MaskedColumns>,
}

/// The reason why no table can be searched.
pub(super) enum Problem<'a> {
    /// The call names no table, and the database does not have exactly one with vectors.
    Unnamed,
    /// There is no such table.
    NoTable { name: &'a str },
    /// The table has no vectors.
    NoVectors { name: &'a str },
    /// The table has vectors and no texts.
    NoTexts {
        name: String,
        vectors: Vec<Column<'a>>,
    },
}

// === impl TargetTable ===

impl<'a> TargetTable<'a> {
    /// Finds the table of this name; without a name, the only table that has vectors.
    pub(super) fn find(metadata: &'a Metadata, name: Option<&'a str>) -> Result<Self, Problem<'a>> {
        let table = match name {
            Some(name) => named(metadata, name).ok_or(Problem::NoTable { name })?,
            None => only(metadata).ok_or(Problem::Unnamed)?,
        };
        let vectors: Vec<_> = table
            .columns()
            .filter(|column| column.is_vector())
            .collect();
        if let (true, Some(name)) = (vectors.is_empty(), name) {
            return Err(Problem::NoVectors { name });
        }
        let pairs = columns::pairs(table, &vectors);
        let texts = columns::texts(table, &pairs);
        if texts.is_empty() {
            let name = name.map_or_else(|| full_name(table), str::to_owned);
            return Err(Problem::NoTexts { name, vectors });
        }
        Ok(Self {
            table,
            vectors,
            pairs,
            texts,
            masked: None,
        })
    }

    /// Leaves masked columns out, and returns whether the table can still be searched.
    pub(super) fn leave_out(&mut self, masked: MaskedColumns) -> bool {
        let table = self.table.oid();
        let is_open = |column: Column<'_>| !masked.has(table, column.number());
        self.vectors.retain(|column| is_open(*column));
        self.texts.retain(|column| is_open(*column));
        self.pairs
            .retain(|pair| is_open(pair.text) && is_open(pair.vector));
        self.masked = Some(masked);
        !(self.vectors.is_empty() || self.texts.is_empty())
    }

    fn is_masked(&self, column: Column<'_>) -> bool {
        let masked = self.masked.as_ref();
        masked.is_some_and(|it| it.has(self.table.oid(), column.number()))
    }

    /// Returns the column that identifies a row: a primary key of one column, else one named `id`.
    pub(super) fn id(&self) -> Option<Column<'a>> {
        let mut keys = self
            .table
            .columns()
            .filter(|column| column.is_primary_key());
        let key = keys.next().filter(|_| keys.next().is_none());
        key.or_else(|| {
            let mut columns = self.table.columns();
            columns.find(|column| column.name() == "id")
        })
        .filter(|column| !self.is_masked(*column))
    }

    /// Returns the shortest name that identifies the table.
    pub(super) fn name(&self) -> String {
        match self.table.schema() {
            "public" => self.table.name().to_owned(),
            _ => full_name(self.table),
        }
    }
}

/// Finds `schema.table`, or a table in `public`; a name may contain dots as well.
fn named<'a>(metadata: &'a Metadata, name: &str) -> Option<Table<'a>> {
    let of_schema = |(schema, table)| metadata.table(schema, table);
    let in_schema = name.split_once('.').and_then(of_schema);
    in_schema.or_else(|| metadata.table("public", name))
}

/// Returns the only table that can be searched, if there is exactly one.
fn only(metadata: &Metadata) -> Option<Table<'_>> {
    // The metadata is incomplete, so there may be another one.
    if metadata.is_cut() {
        return None;
    }
    let mut searchable = searchable(metadata);
    searchable.next().filter(|_| searchable.next().is_none())
}

/// Returns the tables that have vectors.
pub(super) fn searchable(metadata: &Metadata) -> impl Iterator<Item = Table<'_>> {
    metadata
        .tables()
        .filter(|table| table.has_vectors() && !table.is_partition())
}

/// Returns the name of the table with its schema.
pub(super) fn full_name(table: Table<'_>) -> String {
    format!("{}.{}", table.schema(), table.name())
}
