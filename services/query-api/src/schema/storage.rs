//! Sizes and indexes of all tables.
//!
//! [`Metadata`](ziggurat_postgres::metadata::Metadata) has what every call may need; this is read
//! only where a catalogue is shown. Sizes are the planner's: to ask for the present ones would wait
//! for each table that another session has locked.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use ziggurat_postgres::{
    driver::{DriverError, Row},
    error::QueryError,
    metadata::{Metadata, SCHEMAS, Table, number, text},
    pool::Lease,
    single_round_trip::ReadOnlyQuery,
    statement::MaskedColumns,
};

/// Maximum numbers of tables and of indexes that are read.
const MAX_TABLES: usize = 100_000;
const MAX_INDEXES: usize = 200_000;

/// Maximum number of bytes of the texts of all indexes.
const MAX_TEXT: usize = 32 << 20;

/// Maximum number of characters of a definition.
const LONGEST: u32 = 4000;

/// Sizes and indexes of the tables of a database.
#[derive(Debug, Default)]
pub(crate) struct Storage {
    /// By the OID of the table.
    bytes: HashMap<u32, u64>,
    indexes: HashMap<u32, Vec<Index>>,
    is_cut: bool,
}

/// Index of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Index {
    /// Its name.
    pub(crate) name: String,
    /// The columns and expressions of its key.
    pub(crate) columns: Vec<String>,
    /// True if no two rows have the same key.
    pub(crate) is_unique: bool,
    /// Its method, such as `btree`.
    pub(crate) method: String,
    /// The statement that makes it.
    pub(crate) definition: String,
}

/// Row of the query.
enum Found {
    Size(u32, u64),
    Index(u32, Index),
    /// Row beyond the limits.
    Nothing,
}

// === impl Storage ===

impl Storage {
    /// Reads sizes and indexes, in a read-only transaction limited by the query timeout of the
    /// database.
    ///
    /// # Errors
    /// Fails when PostgreSQL refuses it or takes too long, and when the connection breaks.
    pub(crate) async fn load(lease: Lease) -> Result<Self, QueryError> {
        let query = ReadOnlyQuery {
            name: "SELECT",
            before: Some("SET LOCAL jit = off".to_owned()),
            query: query(),
            values: Vec::new(),
        };
        let (left, indexes) = (AtomicUsize::new(MAX_TEXT), AtomicUsize::new(0));
        let rows = query.read(lease, |row| found(row, &left, &indexes)).await?;
        let mut storage = Self::default();
        for row in rows {
            match row {
                Found::Size(table, bytes) => drop(storage.bytes.insert(table, bytes)),
                Found::Index(table, index) => {
                    storage.indexes.entry(table).or_default().push(index);
                }
                Found::Nothing => storage.is_cut = true,
            }
        }
        Ok(storage)
    }

    /// Removes parts of indexes with what could be values of masked columns.
    pub(super) fn hide(&mut self, metadata: &Metadata, masked: &MaskedColumns) {
        if masked.is_empty() {
            return;
        }
        for table in metadata.tables() {
            let name = (table.schema(), table.name());
            let indexes = self.indexes.get_mut(&table.oid());
            for index in indexes.into_iter().flatten() {
                index.definition = masked.shown(&index.definition, name).to_owned();
                index
                    .columns
                    .retain(|it| !masked.shown(it, name).is_empty());
            }
        }
    }

    /// Returns the planner's estimate of the size of a table with its indexes; for a partitioned
    /// table the sum over its partitions. `None` if it was never vacuumed nor analyzed.
    #[must_use]
    pub(crate) fn bytes(&self, table: Table<'_>) -> Option<u64> {
        self.bytes.get(&table.oid()).copied()
    }

    /// Returns the indexes of a table, sorted by name.
    #[must_use]
    pub(crate) fn indexes(&self, table: Table<'_>) -> &[Index] {
        let indexes = self.indexes.get(&table.oid());
        indexes.map_or(&[], Vec::as_slice)
    }

    /// Returns whether indexes are missing because a limit was reached.
    #[must_use]
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }
}

/// Reads a row, as far as the limits allow.
fn found(row: &Row, left: &AtomicUsize, indexes: &AtomicUsize) -> Result<Found, DriverError> {
    let table = number(row, 0)?;
    let name = text(row, 1)?;
    if name.is_empty() {
        return Ok(Found::Size(table, number(row, 2)?));
    }
    let size = row.size();
    if indexes.fetch_add(1, Relaxed) >= MAX_INDEXES || left.load(Relaxed) < size {
        left.store(0, Relaxed);
        return Ok(Found::Nothing);
    }
    left.fetch_sub(size, Relaxed);
    let columns = serde_json::from_str(&text(row, 5)?).map_err(DriverError::value)?;
    let index = Index {
        name: name.into_owned(),
        columns,
        is_unique: text(row, 3)? == "t",
        method: text(row, 4)?.into_owned(),
        definition: text(row, 6)?.into_owned(),
    };
    Ok(Found::Index(table, index))
}

/// Returns the query: a row for each table with a known size, then one for each index.
fn query() -> String {
    let indexes = MAX_INDEXES + 1;
    format!(
        "WITH RECURSIVE schemas AS MATERIALIZED ({SCHEMAS}), tables AS MATERIALIZED (
             SELECT c.oid, c.relkind, c.reltuples, c.relpages, c.reltoastrelid
             FROM pg_catalog.pg_class c JOIN schemas s ON s.oid = c.relnamespace
             WHERE s.is_open AND c.relkind IN ('r', 'p', 'm') AND c.relpersistence <> 't'
             LIMIT {MAX_TABLES}),
         sizes AS MATERIALIZED (
             SELECT t.oid, (t.relpages
                 + coalesce((SELECT o.relpages FROM pg_catalog.pg_class o
                     WHERE o.oid = t.reltoastrelid), 0)
                 + coalesce((SELECT sum(x.relpages) FROM pg_catalog.pg_index i
                     JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
                     WHERE i.indrelid = t.oid), 0))
                 * pg_catalog.current_setting('block_size')::int8 AS bytes
             FROM tables t WHERE t.relkind <> 'p' AND (t.reltuples >= 0 OR t.relpages > 0)),
         parts AS (
             SELECT t.oid AS root, i.inhrelid AS part FROM tables t
             JOIN pg_catalog.pg_inherits i ON i.inhparent = t.oid WHERE t.relkind = 'p'
             UNION ALL
             SELECT p.root, i.inhrelid FROM parts p
             JOIN pg_catalog.pg_inherits i ON i.inhparent = p.part)
         SELECT oid, '', bytes::int8, false, '', '', '' FROM sizes
         UNION ALL
         SELECT p.root, '', sum(s.bytes)::int8, false, '', '', ''
         FROM parts p JOIN sizes s ON s.oid = p.part GROUP BY p.root
         UNION ALL
         (SELECT t.oid, x.relname, 0, i.indisunique, m.amname,
             array_to_json(ARRAY(SELECT CASE k.attnum
                     WHEN 0 THEN pg_catalog.pg_get_indexdef(x.oid, k.place::int, true)
                     ELSE (SELECT a.attname::text FROM pg_catalog.pg_attribute a
                         WHERE a.attrelid = t.oid AND a.attnum = k.attnum) END
                 FROM unnest(i.indkey) WITH ORDINALITY AS k (attnum, place)
                 WHERE k.place <= i.indnkeyatts ORDER BY k.place))::text,
             left(pg_catalog.pg_get_indexdef(x.oid), {LONGEST})
         FROM tables t JOIN pg_catalog.pg_index i ON i.indrelid = t.oid
         JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
         JOIN pg_catalog.pg_am m ON m.oid = x.relam
         ORDER BY t.oid, x.relname LIMIT {indexes})"
    )
}
