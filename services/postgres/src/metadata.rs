//! What tables a database has, and of what columns they are made.
//!
//! [`Metadata`] is read in one flight: everything the role may use outside of the system's own
//! schemas, in the order of schema, table and column, from one snapshot of the catalogue.
//!
//! ```no_run
//! use ziggurat_postgres::{error::QueryError, pool::Pool, metadata::Metadata};
//!
//! # async fn example(pool: Pool) -> Result<(), QueryError> {
//! let metadata = Metadata::load(pool.lease().await?).await?;
//! for table in metadata.tables().filter(|table| !table.is_partition()) {
//!     let columns: Vec<_> = table.columns().map(|column| column.name()).collect();
//!     println!("{}.{}: {}", table.schema(), table.name(), columns.join(", "));
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Memory
//!
//! It is kept for as long as the database is in use, so it is small: texts stand one after
//! another in one buffer, those that are equal only once, and a column is 32 bytes beside them.
//! Comments and defaults are cut at 2,000 characters. Beyond 100,000 tables, a million columns
//! or 64 MiB of text nothing is read any more, and [`is_cut`](Metadata::is_cut) says so; a table
//! is known whole or not at all.

mod interner;
mod load;
mod query;
#[cfg(test)]
mod tests;

use std::{fmt, ops::Range};

use self::interner::{Word, Words};

/// The tables of a database and their columns, at one moment.
#[derive(Default)]
pub struct Metadata {
    words: Words,
    /// In the order of schema and name, byte by byte.
    tables: Vec<TableEntry>,
    columns: Vec<ColumnEntry>,
    /// In the same order.
    denied: Vec<Word>,
    is_cut: bool,
    powers: Vec<String>,
}

/// Something that has columns.
#[derive(Clone, Copy)]
pub struct Table<'a> {
    metadata: &'a Metadata,
    entry: &'a TableEntry,
}

/// A column of a table.
#[derive(Clone, Copy)]
pub struct Column<'a> {
    words: &'a Words,
    entry: &'a ColumnEntry,
}

/// What kind of table it is. `Display` writes it in capitals: `MATERIALIZED VIEW`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableKind {
    /// An ordinary table.
    Table,
    /// A table that is made of partitions.
    Partitioned,
    /// A view.
    View,
    /// A materialized view.
    MaterializedView,
    /// A table somewhere else.
    Foreign,
}

struct TableEntry {
    schema: Word,
    name: Word,
    comment: Word,
    kind: TableKind,
    is_partition: bool,
    has_vectors: bool,
    columns: Range<u32>,
}

struct ColumnEntry {
    name: Word,
    data_type: Word,
    comment: Word,
    references: Word,
    default: Word,
    vector_dims: Option<u32>,
    identity: Option<Identity>,
    facts: u8,
}

#[derive(Clone, Copy)]
enum Identity {
    Always,
    ByDefault,
}

/// The bits of `facts`, as the query sets them.
const NOT_NULL: u8 = 1;
const PRIMARY_KEY: u8 = 2;
const UNIQUE: u8 = 4;
const INDEXED: u8 = 8;

// === impl Metadata ===

impl Metadata {
    /// All tables, partitions among them, in the order of schema and name.
    #[must_use]
    pub fn tables(&self) -> impl ExactSizeIterator<Item = Table<'_>> {
        self.entries(&self.tables)
    }

    /// The tables of a schema, in the order of their names.
    #[must_use]
    pub fn schema(&self, schema: &str) -> impl ExactSizeIterator<Item = Table<'_>> {
        let of = |entry: &TableEntry| self.words.text(entry.schema).cmp(schema);
        let first = self.tables.partition_point(|entry| of(entry).is_lt());
        let end = self.tables.partition_point(|entry| of(entry).is_le());
        self.entries(&self.tables[first..end])
    }

    /// The table of that name, in capitals and small letters as PostgreSQL has it.
    #[must_use]
    pub fn table(&self, schema: &str, name: &str) -> Option<Table<'_>> {
        let sought = (schema, name);
        let at = self.tables.binary_search_by(|entry| {
            let (schema, name) = (self.words.text(entry.schema), self.words.text(entry.name));
            (schema, name).cmp(&sought)
        });
        at.ok().map(|at| Table {
            metadata: self,
            entry: &self.tables[at],
        })
    }

    /// Whether the role lacks USAGE on a schema that exists. Its tables are not known.
    #[must_use]
    pub fn is_denied(&self, schema: &str) -> bool {
        self.denied
            .binary_search_by(|&word| self.words.text(word).cmp(schema))
            .is_ok()
    }

    /// Whether there are more tables than can be kept.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Names the powers of the role that no read-only transaction limits: `superuser`, `replication`, or a role such as `pg_read_server_files`.
    #[must_use]
    pub fn powers(&self) -> &[String] {
        &self.powers
    }

    fn entries<'a>(
        &'a self,
        entries: &'a [TableEntry],
    ) -> impl ExactSizeIterator<Item = Table<'a>> {
        entries.iter().map(|entry| Table {
            metadata: self,
            entry,
        })
    }
}

impl fmt::Debug for Metadata {
    /// Leaves out the names: there may be a great many.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metadata")
            .field("tables", &self.tables.len())
            .field("columns", &self.columns.len())
            .field("is_cut", &self.is_cut)
            .finish_non_exhaustive()
    }
}

// === impl Table ===

impl<'a> Table<'a> {
    /// The name of its schema.
    #[must_use]
    pub fn schema(self) -> &'a str {
        self.metadata.words.text(self.entry.schema)
    }

    /// Its name in the schema.
    #[must_use]
    pub fn name(self) -> &'a str {
        self.metadata.words.text(self.entry.name)
    }

    /// What its owner says about it; empty if nothing.
    #[must_use]
    pub fn comment(self) -> &'a str {
        self.metadata.words.text(self.entry.comment)
    }

    /// What kind of table it is.
    #[must_use]
    pub fn kind(self) -> TableKind {
        self.entry.kind
    }

    /// Whether it is a part of another table.
    #[must_use]
    pub fn is_partition(self) -> bool {
        self.entry.is_partition
    }

    /// Whether a column of it holds vectors.
    #[must_use]
    pub fn has_vectors(self) -> bool {
        self.entry.has_vectors
    }

    /// Its columns in their order; there may be none.
    #[must_use]
    pub fn columns(self) -> impl ExactSizeIterator<Item = Column<'a>> {
        let Range { start, end } = self.entry.columns;
        let words = &self.metadata.words;
        self.metadata.columns[start as usize..end as usize]
            .iter()
            .map(move |entry| Column { words, entry })
    }
}

impl fmt::Debug for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}.{}", self.kind(), self.schema(), self.name())
    }
}

// === impl Column ===

impl<'a> Column<'a> {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'a str {
        self.words.text(self.entry.name)
    }

    /// Its type with its modifiers, as `format_type` writes it: `character varying(50)`.
    #[must_use]
    pub fn data_type(self) -> &'a str {
        self.words.text(self.entry.data_type)
    }

    /// What its owner says about it; empty if nothing.
    #[must_use]
    pub fn comment(self) -> &'a str {
        self.words.text(self.entry.comment)
    }

    /// Whether it may be NULL: neither the column nor the domain it is of forbids it.
    #[must_use]
    pub fn is_nullable(self) -> bool {
        self.entry.facts & NOT_NULL == 0
    }

    /// Whether it is in the primary key.
    #[must_use]
    pub fn is_primary_key(self) -> bool {
        self.entry.facts & PRIMARY_KEY != 0
    }

    /// Whether it is in a unique constraint other than the primary key.
    #[must_use]
    pub fn is_unique(self) -> bool {
        self.entry.facts & UNIQUE != 0
    }

    /// Whether it is in the key of an index.
    #[must_use]
    pub fn is_indexed(self) -> bool {
        self.entry.facts & INDEXED != 0
    }

    /// The columns its foreign keys refer to, as `schema.table.column` with commas between;
    /// empty if none.
    #[must_use]
    pub fn references(self) -> &'a str {
        self.words.text(self.entry.references)
    }

    /// How it is numbered, if it is: `a` for always, `d` by default, else empty.
    #[must_use]
    pub fn identity(self) -> &'static str {
        match self.entry.identity {
            Some(Identity::Always) => "a",
            Some(Identity::ByDefault) => "d",
            None => "",
        }
    }

    /// The expression of its default, or the one it is generated from; empty if none.
    #[must_use]
    pub fn default(self) -> &'a str {
        self.words.text(self.entry.default)
    }

    /// Whether it holds vectors: of pgvector's `vector`, `halfvec` or `sparsevec`, or of a
    /// domain over one.
    #[must_use]
    pub fn is_vector(self) -> bool {
        self.entry.vector_dims.is_some()
    }

    /// How many dimensions its vectors have; 0 if it holds none, or does not say.
    #[must_use]
    pub fn vector_dims(self) -> u32 {
        self.entry.vector_dims.unwrap_or_default()
    }
}

impl fmt::Debug for Column<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name(), self.data_type())
    }
}

// === impl TableKind ===

impl TableKind {
    /// The words of `Display`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Table => "TABLE",
            Self::Partitioned => "PARTITIONED TABLE",
            Self::View => "VIEW",
            Self::MaterializedView => "MATERIALIZED VIEW",
            Self::Foreign => "FOREIGN TABLE",
        }
    }
}

impl fmt::Display for TableKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
