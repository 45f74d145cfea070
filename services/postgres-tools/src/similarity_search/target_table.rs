//! Where a search looks: which table, and which of its columns.

use ziggurat_postgres::metadata::{Column, Metadata, Table};

use super::columns::{self, Pair};

/// A table that can be searched.
pub(super) struct TargetTable<'a> {
    pub(super) table: Table<'a>,
    /// Its vectors; there is one.
    pub(super) vectors: Vec<Column<'a>>,
    /// The vectors of which is known what they were made of; there may be none.
    pub(super) pairs: Vec<Pair<'a>>,
    /// The texts they were made of; there is one.
    pub(super) texts: Vec<Column<'a>>,
}

/// Why there is nowhere to look.
pub(super) enum Problem<'a> {
    /// No table is named, and not exactly one could be meant.
    Unnamed,
    /// There is no such table.
    NoTable { name: &'a str },
    /// It has nothing to compare a question with.
    NoVectors { name: &'a str },
    /// It has vectors, and nothing to show.
    NoTexts {
        name: String,
        vectors: Vec<Column<'a>>,
    },
}

// === impl TargetTable ===

impl<'a> TargetTable<'a> {
    /// Finds the table of that name; without one, the only table that has vectors.
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
        })
    }

    /// The column that names a row: a primary key of one column, else what is called `id`.
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
    }

    /// The shortest name by which a caller can mean the table.
    pub(super) fn name(&self) -> String {
        match self.table.schema() {
            "public" => self.table.name().to_owned(),
            _ => full_name(self.table),
        }
    }
}

/// `schema.table`, or a table in `public`; a name may have dots in it as well.
fn named<'a>(metadata: &'a Metadata, name: &str) -> Option<Table<'a>> {
    let of_schema = |(schema, table)| metadata.table(schema, table);
    let in_schema = name.split_once('.').and_then(of_schema);
    in_schema.or_else(|| metadata.table("public", name))
}

/// The table a caller means who names none.
fn only(metadata: &Metadata) -> Option<Table<'_>> {
    // There may be another one among those that are not known.
    if metadata.is_cut() {
        return None;
    }
    let mut searchable = searchable(metadata);
    searchable.next().filter(|_| searchable.next().is_none())
}

/// The tables that have vectors.
pub(super) fn searchable(metadata: &Metadata) -> impl Iterator<Item = Table<'_>> {
    metadata
        .tables()
        .filter(|table| table.has_vectors() && !table.is_partition())
}

/// The name by which a caller can mean it.
pub(super) fn full_name(table: Table<'_>) -> String {
    format!("{}.{}", table.schema(), table.name())
}
