//! Tables and columns of a database.
//!
//! [`Metadata`] is read in one round trip: everything outside of the system's schemas that the role
//! may use, sorted by schema, table and column, from one snapshot of the catalogue.
//!
//! ```no_run
//! use ziggurat_postgres::{error::QueryError, pool::Pool, metadata::Metadata};
//!
//! # async fn example(pool: Pool) -> Result<(), QueryError> {
//! let metadata = Metadata::load(pool.lease().await?).await?;
//! for table in metadata.tables().filter(|table| !table.is_partition()) {
//!     let columns: Vec<_> = table.columns().map(|column| column.name()).collect();
//!     println!("{}.{}: {}", table.schema(), table.name(), columns.join(", "));
//!     let key: Vec<_> = table.primary_key().collect();
//!     println!("{:?} rows, key {key:?}", table.rows());
//!     for foreign_key in table.foreign_keys().chain(table.referenced_by()) {
//!         let (columns, targets) = (foreign_key.columns(), foreign_key.target_columns());
//!         for (column, target) in columns.zip(targets) {
//!             println!("{column} = {target} of {:?}", foreign_key.target());
//!         }
//!     }
//!     for found in table.columns().filter_map(|column| column.enum_type()) {
//!         println!("{}: {}", found.name(), found.labels().collect::<Vec<_>>().join(", "));
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Memory
//!
//! It stays in memory while the database is in use, so it is compact: all texts are in one buffer,
//! equal ones only once, and a column takes 36 bytes in addition. Comments and defaults are cut at
//! 2,000 characters. Reading stops at 100,000 tables, a million columns or 64 MiB of text, and
//! [`is_cut`](Metadata::is_cut) reports it; a table is kept completely or not at all. Of 10,000
//! enums, 1,000 labels each are kept, and 10,000 functions.

mod enums;
mod field;
mod interner;
mod keys;
mod load;
mod query;
mod seen;
#[cfg(test)]
mod tests;

use std::{fmt, num::NonZeroU16, ops::Range, sync::Arc};

pub use self::{
    enums::EnumType,
    field::{number, text},
    keys::ForeignKey,
    query::{POWERS, SCHEMAS},
};
use self::{
    enums::Enums,
    interner::{Interner, TextId},
    keys::Keys,
    seen::Seen,
};

/// Tables of a database and their columns, at one moment.
#[derive(Default)]
pub struct Metadata {
    content: Arc<Content>,
    /// The part that a role sees; without, all of it is seen.
    seen: Option<Seen>,
}

/// The tables and columns themselves.
#[derive(Default)]
struct Content {
    words: Interner,
    /// Sorted by the bytes of schema and name.
    tables: Vec<TableEntry>,
    columns: Vec<ColumnEntry>,
    keys: Keys,
    enums: Enums,
    /// Schema, name, arguments, result and comment of each.
    functions: Vec<[TextId; 5]>,
    /// Sorted by name.
    denied: Vec<TextId>,
    is_cut: bool,
    version: String,
    powers: Vec<String>,
}

/// Table, or another relation with columns.
#[derive(Clone, Copy)]
pub struct Table<'a> {
    metadata: &'a Metadata,
    entry: &'a TableEntry,
}

/// The tables of some positions.
struct Tables<'a> {
    metadata: &'a Metadata,
    positions: Range<usize>,
    left: usize,
}

/// Column of a table.
#[derive(Clone, Copy)]
pub struct Column<'a> {
    metadata: &'a Metadata,
    entry: &'a ColumnEntry,
}

/// Kind of a table. `Display` writes it in capitals: `MATERIALIZED VIEW`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableKind {
    /// An ordinary table.
    Table,
    /// A partitioned table.
    Partitioned,
    /// A view.
    View,
    /// A materialized view.
    MaterializedView,
    /// A foreign table.
    Foreign,
}

/// Function or procedure that the role may call.
#[derive(Clone, Copy, Debug)]
pub struct Function<'a> {
    /// Name of its schema.
    pub schema: &'a str,
    /// Its name in the schema.
    pub name: &'a str,
    /// Its arguments, as CREATE FUNCTION has them.
    pub arguments: &'a str,
    /// Type of its result; empty for a procedure.
    pub result: &'a str,
    /// Its comment, or an empty text.
    pub comment: &'a str,
}

struct TableEntry {
    schema: TextId,
    name: TextId,
    comment: TextId,
    kind: TableKind,
    is_partition: bool,
    is_readable: bool,
    has_vectors: bool,
    oid: u32,
    columns: Range<u32>,
    /// Negative if it is not known.
    rows: i64,
    /// In the columns of the keys.
    primary_key: Range<u32>,
    foreign_keys: Range<u32>,
    /// In the foreign keys by target.
    referenced_by: Range<u32>,
}

struct ColumnEntry {
    name: TextId,
    data_type: TextId,
    comment: TextId,
    references: TextId,
    default: TextId,
    vector_dims: Option<u32>,
    identity: Option<Identity>,
    facts: u8,
    /// Number in its table.
    number: u16,
    /// Position in the enums, counted from one.
    enum_type: Option<NonZeroU16>,
}

#[derive(Clone, Copy)]
enum Identity {
    Always,
    ByDefault,
}

/// Bits of `facts`, as the query sets them.
const NOT_NULL: u8 = 1;
const PRIMARY_KEY: u8 = 2;
const UNIQUE: u8 = 4;
const INDEXED: u8 = 8;

// === impl Metadata ===

impl Metadata {
    /// Returns all tables, including partitions, sorted by schema and name.
    #[must_use]
    pub fn tables(&self) -> impl ExactSizeIterator<Item = Table<'_>> {
        self.entries(0..self.content.tables.len())
    }

    /// Returns the tables from a position on, in the order of [`tables`](Self::tables).
    #[must_use]
    pub fn tables_from(&self, start: usize) -> impl ExactSizeIterator<Item = Table<'_>> {
        if self.seen.is_none() {
            return self.entries(start..self.content.tables.len());
        }
        let mut tables = self.entries(0..self.content.tables.len());
        // The position counts the tables that are seen.
        for _ in 0..start {
            tables.next();
        }
        tables
    }

    /// Returns the tables of a schema, sorted by name.
    #[must_use]
    pub fn schema(&self, schema: &str) -> impl ExactSizeIterator<Item = Table<'_>> {
        let of = |entry: &TableEntry| self.content.words.text(entry.schema).cmp(schema);
        let first = self
            .content
            .tables
            .partition_point(|entry| of(entry).is_lt());
        let end = self
            .content
            .tables
            .partition_point(|entry| of(entry).is_le());
        self.entries(first..end)
    }

    /// Returns the table of that name, which is case-sensitive.
    #[must_use]
    pub fn table(&self, schema: &str, name: &str) -> Option<Table<'_>> {
        let sought = (schema, name);
        let at = self.content.tables.binary_search_by(|entry| {
            let (schema, name) = (
                self.content.words.text(entry.schema),
                self.content.words.text(entry.name),
            );
            (schema, name).cmp(&sought)
        });
        let at = at.ok().filter(|&at| self.sees(at))?;
        Some(Table {
            metadata: self,
            entry: &self.content.tables[at],
        })
    }

    /// Returns the table with an OID, after a look at all tables.
    #[must_use]
    pub fn table_with_oid(&self, oid: u32) -> Option<Table<'_>> {
        let mut tables = self.tables();
        tables.find(|table| table.entry.oid == oid)
    }

    /// Returns all enums in the schemas that the role may use, sorted by schema and name.
    pub fn enums(&self) -> impl Iterator<Item = EnumType<'_>> {
        self.content.enums.all(self)
    }

    /// Returns the functions and procedures that the role may call, sorted by schema and name,
    /// without the functions of extensions.
    #[must_use]
    pub fn functions(&self) -> impl ExactSizeIterator<Item = Function<'_>> {
        self.content.functions.iter().map(|texts| {
            let [schema, name, arguments, result, comment] =
                texts.map(|id| self.content.words.text(id));
            Function {
                schema,
                name,
                arguments,
                result,
                comment,
            }
        })
    }

    /// Returns the schemas on which the role lacks USAGE, sorted by name.
    #[must_use]
    pub fn denied(&self) -> impl ExactSizeIterator<Item = &str> {
        self.content
            .denied
            .iter()
            .map(|&schema| self.content.words.text(schema))
    }

    /// Returns whether the role lacks USAGE on this schema, so that its tables are unknown.
    #[must_use]
    pub fn is_denied(&self, schema: &str) -> bool {
        self.content
            .denied
            .binary_search_by(|&word| self.content.words.text(word).cmp(schema))
            .is_ok()
    }

    /// Drops the defaults of the columns with these names, before anything shares the tables.
    ///
    /// # Panics
    /// Panics if a role sees them already.
    pub fn hide_defaults(&mut self, names: &[String]) {
        if names.is_empty() {
            return;
        }
        let content = Arc::get_mut(&mut self.content).expect("tables that were just read");
        for column in &mut content.columns {
            let name = content.words.text(column.name);
            if names.iter().any(|hidden| hidden == name) {
                column.default = TextId::EMPTY;
            }
        }
    }

    /// Returns whether tables are missing because a limit was reached.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.content.is_cut
    }

    /// Returns the version of the server, such as `16.4`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.content.version
    }

    /// Returns the privileges of the role that no read-only transaction limits: `superuser`,
    /// `replication`, or a role such as `pg_read_server_files`.
    #[must_use]
    pub fn powers(&self) -> &[String] {
        &self.content.powers
    }

    /// Returns the tables at these positions that are seen.
    fn entries(&self, positions: Range<usize>) -> Tables<'_> {
        let end = positions.end.min(self.content.tables.len());
        let positions = positions.start.min(end)..end;
        let left = match &self.seen {
            None => positions.len(),
            Some(_) => positions.clone().filter(|&at| self.sees(at)).count(),
        };
        Tables {
            metadata: self,
            positions,
            left,
        }
    }

    /// Returns whether the table at a position is seen.
    fn sees(&self, position: usize) -> bool {
        self.seen.as_ref().is_none_or(|seen| seen.tables[position])
    }
}

// === impl Tables ===

impl<'a> Iterator for Tables<'a> {
    type Item = Table<'a>;

    fn next(&mut self) -> Option<Table<'a>> {
        let metadata = self.metadata;
        let at = self.positions.find(|&at| metadata.sees(at))?;
        self.left -= 1;
        Some(Table {
            metadata,
            entry: &metadata.content.tables[at],
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Tables<'_> {}

impl fmt::Debug for Metadata {
    /// Leaves out the names, since there may be very many.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metadata")
            .field("tables", &self.content.tables.len())
            .field("columns", &self.content.columns.len())
            .field("is_cut", &self.content.is_cut)
            .finish_non_exhaustive()
    }
}

// === impl Table ===

impl<'a> Table<'a> {
    /// Returns the name of its schema.
    #[must_use]
    pub fn schema(self) -> &'a str {
        self.metadata.content.words.text(self.entry.schema)
    }

    /// Returns its name in the schema.
    #[must_use]
    pub fn name(self) -> &'a str {
        self.metadata.content.words.text(self.entry.name)
    }

    /// Returns its OID.
    #[must_use]
    pub fn oid(self) -> u32 {
        self.entry.oid
    }

    /// Returns its comment, or an empty text.
    #[must_use]
    pub fn comment(self) -> &'a str {
        self.metadata.content.words.text(self.entry.comment)
    }

    /// Returns its kind.
    #[must_use]
    pub fn kind(self) -> TableKind {
        self.entry.kind
    }

    /// Returns whether it is a partition of another table.
    #[must_use]
    pub fn is_partition(self) -> bool {
        self.entry.is_partition
    }

    /// Returns whether the role may read one of its columns.
    #[must_use]
    pub fn is_readable(self) -> bool {
        // A role sees the tables that it has a right to.
        self.entry.is_readable || self.metadata.seen.is_some()
    }

    /// Returns whether one of its columns holds vectors.
    #[must_use]
    pub fn has_vectors(self) -> bool {
        self.entry.has_vectors
    }

    /// Returns the planner's estimate of its number of rows, of a partitioned table the sum of the
    /// known estimates of its partitions; `None` if none is known, and for views.
    #[must_use]
    pub fn rows(self) -> Option<u64> {
        u64::try_from(self.entry.rows).ok()
    }

    /// Returns the columns of its primary key, in the order of the key.
    pub fn primary_key(self) -> impl Iterator<Item = &'a str> {
        self.metadata.key(self.entry.primary_key.clone())
    }

    /// Returns its foreign keys to tables that are known, sorted by their columns. Those that a
    /// partition has from its parent are only returned for the parent.
    pub fn foreign_keys(self) -> impl Iterator<Item = ForeignKey<'a>> {
        self.metadata.foreign_keys(&self.entry.foreign_keys)
    }

    /// Returns the foreign keys of known tables that refer to it, sorted by table and columns.
    pub fn referenced_by(self) -> impl Iterator<Item = ForeignKey<'a>> {
        self.metadata.references(&self.entry.referenced_by)
    }

    /// Returns the column with a number of PostgreSQL.
    #[must_use]
    pub fn column_with_number(self, number: u16) -> Option<Column<'a>> {
        let mut columns = self.columns();
        columns.find(|column| column.entry.number == number)
    }

    /// Returns its columns in their order; there may be none.
    #[must_use]
    pub fn columns(self) -> impl ExactSizeIterator<Item = Column<'a>> {
        let Range { start, end } = self.entry.columns;
        let metadata = self.metadata;
        metadata.content.columns[start as usize..end as usize]
            .iter()
            .map(move |entry| Column { metadata, entry })
    }
}

impl fmt::Debug for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}.{}", self.kind(), self.schema(), self.name())
    }
}

// === impl Column ===

impl<'a> Column<'a> {
    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'a str {
        self.metadata.content.words.text(self.entry.name)
    }

    /// Returns its number in its table.
    #[must_use]
    pub fn number(self) -> u16 {
        self.entry.number
    }

    /// Returns its type with its modifiers, as `format_type` writes it: `character varying(50)`.
    #[must_use]
    pub fn data_type(self) -> &'a str {
        self.metadata.content.words.text(self.entry.data_type)
    }

    /// Returns its comment, or an empty text.
    #[must_use]
    pub fn comment(self) -> &'a str {
        self.metadata.content.words.text(self.entry.comment)
    }

    /// Returns whether it may be NULL: neither the column nor its domain forbids it.
    #[must_use]
    pub fn is_nullable(self) -> bool {
        self.entry.facts & NOT_NULL == 0
    }

    /// Returns whether it is in the primary key.
    #[must_use]
    pub fn is_primary_key(self) -> bool {
        self.entry.facts & PRIMARY_KEY != 0
    }

    /// Returns whether it is in a unique constraint other than the primary key.
    #[must_use]
    pub fn is_unique(self) -> bool {
        self.entry.facts & UNIQUE != 0
    }

    /// Returns whether it is in the key of an index.
    #[must_use]
    pub fn is_indexed(self) -> bool {
        self.entry.facts & INDEXED != 0
    }

    /// Returns the columns its foreign keys refer to, as `schema.table.column` separated by commas,
    /// or an empty text.
    #[must_use]
    pub fn references(self) -> &'a str {
        let references = self.entry.references;
        let seen = self.metadata.seen.as_ref();
        if seen.is_some_and(|seen| seen.hidden.contains(&references)) {
            return "";
        }
        self.metadata.content.words.text(references)
    }

    /// Returns its kind of identity column: `a` for always, `d` for by default, else empty.
    #[must_use]
    pub fn identity(self) -> &'static str {
        match self.entry.identity {
            Some(Identity::Always) => "a",
            Some(Identity::ByDefault) => "d",
            None => "",
        }
    }

    /// Returns the expression of its default, or the one it is generated from, or an empty text.
    #[must_use]
    pub fn default(self) -> &'a str {
        self.metadata.content.words.text(self.entry.default)
    }

    /// Returns the enum of its values: its type, the type of its domain, or the type of the
    /// elements of its array.
    #[must_use]
    pub fn enum_type(self) -> Option<EnumType<'a>> {
        let enums = &self.metadata.content.enums;
        enums.get(self.metadata, self.entry.enum_type?)
    }

    /// Returns whether it holds vectors: of pgvector's `vector`, `halfvec` or `sparsevec`, or of a
    /// domain over one.
    #[must_use]
    pub fn is_vector(self) -> bool {
        self.entry.vector_dims.is_some()
    }

    /// Returns the number of dimensions of its vectors; 0 if it has no vectors or its type sets no
    /// number.
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
    /// Returns the text of `Display`.
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
