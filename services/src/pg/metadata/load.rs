//! Reads the catalogue.

use std::borrow::Cow;

use futures_util::TryStreamExt as _;
use sqlx::{AssertSqlSafe, Either, Row as _, ValueRef as _, postgres::PgRow};

use super::{
    ColumnEntry, Identity, Metadata, TableEntry, TableKind,
    words::{Gathering, Word},
};
use crate::pg::{
    error::{Phase, QueryError},
    lease::{Lease, milliseconds},
};

/// How many characters of a comment or a default are kept.
const LONGEST: u32 = 2000;

/// How much is kept at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) tables: usize,
    pub(super) columns: usize,
    /// In bytes.
    pub(super) text: usize,
}

/// The schemas that are not the system's own, and whether the role may use them. Temporary
/// tables live in schemas of the system.
const SCHEMAS: &str = "SELECT n.oid, n.nspname,
        pg_catalog.has_schema_privilege(n.oid, 'USAGE') AS is_open
    FROM pg_catalog.pg_namespace n
    WHERE left(n.nspname, 3) <> 'pg_' AND n.nspname <> 'information_schema'";

/// What has columns, in the order it is shown: names sort byte by byte.
const TABLES: &str = "SELECT c.oid, s.nspname, c.relname, c.relkind, c.relispartition
    FROM pg_catalog.pg_class c JOIN schemas s ON s.oid = c.relnamespace
    WHERE s.is_open AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relpersistence <> 't'
    ORDER BY s.nspname, c.relname";

/// What the query for the columns joins.
///
/// A foreign key between partitioned tables has a constraint for each pair of their parts; what
/// its author wrote is the one they all descend from.
const DETAILS: &str = "
    vectors (oid, dims) AS (
        SELECT t.oid, -1 FROM pg_catalog.pg_type t
        WHERE t.typname IN ('vector', 'halfvec', 'sparsevec') AND EXISTS (
            SELECT FROM pg_catalog.pg_depend d
            JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid AND e.extname = 'vector'
            WHERE d.classid = 'pg_catalog.pg_type'::pg_catalog.regclass AND d.objid = t.oid
                AND d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass)
        UNION ALL
        SELECT t.oid, CASE t.typtypmod WHEN -1 THEN v.dims ELSE t.typtypmod END
        FROM pg_catalog.pg_type t JOIN vectors v ON t.typbasetype = v.oid
    ), origins (oid, origin) AS (
        SELECT c.oid, c.oid FROM pg_catalog.pg_constraint c
        WHERE c.contype = 'f' AND c.conparentid = 0
        UNION ALL
        SELECT c.oid, o.origin FROM pg_catalog.pg_constraint c
        JOIN origins o ON c.conparentid = o.oid
        WHERE c.contype = 'f'
    ), targets AS (
        SELECT DISTINCT c.conrelid, k.attnum,
            n.nspname || '.' || t.relname || '.' || a.attname AS target
        FROM origins o
        JOIN pg_catalog.pg_constraint c ON c.oid = o.oid
        JOIN pg_catalog.pg_constraint f ON f.oid = o.origin
        CROSS JOIN LATERAL unnest(c.conkey, f.confkey) AS k (attnum, target)
        JOIN pg_catalog.pg_class t ON t.oid = f.confrelid
        JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
        JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.target
    ), foreign_keys AS MATERIALIZED (
        SELECT conrelid, attnum, string_agg(target, ',' ORDER BY target COLLATE \"C\") AS targets
        FROM targets GROUP BY 1, 2
    ), keys AS MATERIALIZED (
        SELECT c.conrelid, k.attnum, bool_or(c.contype = 'p') AS is_primary,
            bool_or(c.contype = 'u') AS is_unique
        FROM pg_catalog.pg_constraint c CROSS JOIN LATERAL unnest(c.conkey) AS k (attnum)
        WHERE c.contype IN ('p', 'u') GROUP BY 1, 2
    ), indexed AS MATERIALIZED (
        SELECT DISTINCT i.indrelid, k.attnum
        FROM pg_catalog.pg_index i
        CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k (attnum, place)
        WHERE k.place <= i.indnkeyatts
    )";

/// A row for each column of the tables, in their order.
const COLUMNS: &str = "SELECT t.oid, a.attname,
        pg_catalog.format_type(a.atttypid, a.atttypmod),
        (a.attnotnull OR y.typtype = 'd' AND y.typnotnull)::int
            + 2 * coalesce(k.is_primary, false)::int
            + 4 * coalesce(k.is_unique, false)::int
            + 8 * (i.attnum IS NOT NULL)::int,
        left(d.description, $longest), f.targets, a.attidentity,
        left(pg_catalog.pg_get_expr(e.adbin, e.adrelid), $longest),
        CASE WHEN a.atttypmod = -1 THEN v.dims WHEN v.oid IS NOT NULL THEN a.atttypmod END
    FROM tables t
    JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
    JOIN pg_catalog.pg_type y ON y.oid = a.atttypid
    LEFT JOIN vectors v ON v.oid = a.atttypid
    LEFT JOIN keys k ON k.conrelid = a.attrelid AND k.attnum = a.attnum
    LEFT JOIN indexed i ON i.indrelid = a.attrelid AND i.attnum = a.attnum
    LEFT JOIN foreign_keys f ON f.conrelid = a.attrelid AND f.attnum = a.attnum
    LEFT JOIN pg_catalog.pg_attrdef e ON e.adrelid = a.attrelid AND e.adnum = a.attnum
    LEFT JOIN pg_catalog.pg_description d ON d.objoid = a.attrelid AND d.objsubid = a.attnum
        AND d.classoid = 'pg_catalog.pg_class'::pg_catalog.regclass
    ORDER BY t.nspname, t.relname, a.attnum";

/// Which of the statements of the message a row is of, by how many have completed.
const DENIED_AT: u32 = 2;
const TABLES_AT: u32 = 3;
const COLUMNS_AT: u32 = 4;

struct Reader {
    words: Gathering,
    metadata: Metadata,
    limits: Limits,
    /// The table whose columns are arriving.
    at: usize,
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self {
            tables: 100_000,
            columns: 1_000_000,
            text: 64 << 20,
        }
    }
}

// === impl Metadata ===

impl Metadata {
    /// Reads the catalogue, in a read-only transaction that the timeout of the database bounds.
    ///
    /// # Errors
    /// When PostgreSQL refuses it or takes too long, and when the connection breaks.
    pub async fn load(lease: Lease) -> Result<Self, QueryError> {
        Self::load_within(lease, Limits::default()).await
    }

    pub(super) async fn load_within(mut lease: Lease, limits: Limits) -> Result<Self, QueryError> {
        let message = message(milliseconds(lease.database().query_timeout()), limits);
        let mut reader = Reader::new(limits);
        reader
            .read(&mut lease, message)
            .await
            .map_err(|error| QueryError::new(error, Phase::Run, 0))?;
        lease.settle();
        Ok(reader.finish())
    }
}

/// Everything at once. Nothing in it comes from a caller.
fn message(timeout: u128, limits: Limits) -> String {
    // One more than is kept, to know that there are more.
    let (tables, columns) = (limits.tables + 1, limits.columns + 1);
    let columns_query = COLUMNS.replace("$longest", &LONGEST.to_string());
    format!(
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
         SET LOCAL statement_timeout = {timeout};
         SELECT nspname FROM ({SCHEMAS}) AS schemas WHERE NOT is_open
         ORDER BY nspname LIMIT {tables};
         WITH schemas AS MATERIALIZED ({SCHEMAS}), tables AS ({TABLES} LIMIT {tables})
         SELECT t.*, left(d.description, {LONGEST}) FROM tables t
         LEFT JOIN pg_catalog.pg_description d ON d.objoid = t.oid AND d.objsubid = 0
             AND d.classoid = 'pg_catalog.pg_class'::pg_catalog.regclass
         ORDER BY t.nspname, t.relname;
         WITH RECURSIVE schemas AS MATERIALIZED ({SCHEMAS}),
         tables AS MATERIALIZED ({TABLES} LIMIT {tables}), {DETAILS}
         {columns_query} LIMIT {columns};
         COMMIT"
    )
}

// === impl Reader ===

impl Reader {
    fn new(limits: Limits) -> Self {
        Self {
            words: Gathering::default(),
            metadata: Metadata::default(),
            limits,
            at: 0,
        }
    }

    async fn read(&mut self, lease: &mut Lease, message: String) -> sqlx::Result<()> {
        let mut completed = 0;
        let mut results = sqlx::raw_sql(AssertSqlSafe(message)).fetch_many(lease.begin());
        while let Some(result) = results.try_next().await? {
            match result {
                Either::Left(_) => completed += 1,
                Either::Right(row) => match completed {
                    DENIED_AT => self.denied(&row)?,
                    TABLES_AT => self.table(&row)?,
                    COLUMNS_AT => self.column(&row)?,
                    _ => {}
                },
            }
        }
        Ok(())
    }

    fn denied(&mut self, row: &PgRow) -> sqlx::Result<()> {
        if let Some(schema) = self.word(row, 0)? {
            self.metadata.denied.push(schema);
        }
        Ok(())
    }

    fn table(&mut self, row: &PgRow) -> sqlx::Result<()> {
        let texts = (self.word(row, 1)?, self.word(row, 2)?, self.word(row, 5)?);
        let (Some(schema), Some(name), Some(comment)) = texts else {
            self.metadata.is_cut = true;
            return Ok(());
        };
        let metadata = &mut self.metadata;
        // In this order, so that what is kept is the beginning of the list.
        if metadata.is_cut || metadata.tables.len() == self.limits.tables {
            metadata.is_cut = true;
            return Ok(());
        }
        metadata.tables.push(TableEntry {
            oid: number(row, 0)?,
            schema,
            name,
            comment,
            kind: match &*text(row, 3)? {
                "p" => TableKind::Partitioned,
                "v" => TableKind::View,
                "m" => TableKind::MaterializedView,
                "f" => TableKind::Foreign,
                _ => TableKind::Table,
            },
            is_partition: text(row, 4)? == "t",
            has_vectors: false,
            columns: 0..0,
        });
        Ok(())
    }

    fn column(&mut self, row: &PgRow) -> sqlx::Result<()> {
        let table: u32 = number(row, 0)?;
        let of = |entry: &TableEntry| entry.oid == table;
        // Both lists have one order, and a table without columns is passed over.
        let Some(ahead) = self.metadata.tables[self.at..].iter().position(of) else {
            return Ok(());
        };
        self.at += ahead;
        if self.metadata.columns.len() == self.limits.columns {
            self.cut();
            return Ok(());
        }
        let Some(entry) = self.column_entry(row)? else {
            self.cut();
            return Ok(());
        };
        let Metadata {
            tables, columns, ..
        } = &mut self.metadata;
        let table = &mut tables[self.at];
        let count = u32::try_from(columns.len()).unwrap_or(u32::MAX);
        if table.columns.is_empty() {
            table.columns.start = count;
        }
        table.columns.end = count + 1;
        table.has_vectors |= entry.vector_dims.is_some();
        columns.push(entry);
        Ok(())
    }

    fn column_entry(&mut self, row: &PgRow) -> sqlx::Result<Option<ColumnEntry>> {
        let mut words = [Word::EMPTY; 5];
        for (word, index) in words.iter_mut().zip([1, 2, 4, 5, 7]) {
            match self.word(row, index)? {
                Some(kept) => *word = kept,
                None => return Ok(None),
            }
        }
        let [name, data_type, comment, references, default] = words;
        let dims = text(row, 8)?;
        Ok(Some(ColumnEntry {
            name,
            data_type,
            comment,
            references,
            default,
            // A vector that does not say how many has -1.
            vector_dims: (!dims.is_empty()).then(|| dims.parse().unwrap_or(0)),
            identity: match &*text(row, 6)? {
                "a" => Some(Identity::Always),
                "d" => Some(Identity::ByDefault),
                _ => None,
            },
            facts: number(row, 3)?,
        }))
    }

    /// Gives up the table whose columns are arriving, and those behind it.
    fn cut(&mut self) {
        let metadata = &mut self.metadata;
        metadata.is_cut = true;
        let cut = metadata.tables.drain(self.at..).next();
        if let Some(table) = cut.filter(|table| !table.columns.is_empty()) {
            metadata.columns.truncate(table.columns.start as usize);
        }
    }

    fn word(&mut self, row: &PgRow, index: usize) -> sqlx::Result<Option<Word>> {
        Ok(self.words.keep(&text(row, index)?, self.limits.text))
    }

    fn finish(self) -> Metadata {
        let mut metadata = self.metadata;
        metadata.tables.shrink_to_fit();
        metadata.columns.shrink_to_fit();
        let words = self.words.finish();
        // PostgreSQL sorts the bytes of its own encoding, look-ups those of ours.
        let place = |entry: &TableEntry| (words.text(entry.schema), words.text(entry.name));
        metadata
            .tables
            .sort_by(|one, two| place(one).cmp(&place(two)));
        metadata.denied.sort_by_key(|&schema| words.text(schema));
        metadata.words = words;
        metadata
    }
}

/// The text of a value, empty for NULL. In a database whose encoding is `SQL_ASCII` names may be
/// in any; they must not keep the others from being read.
fn text(row: &PgRow, index: usize) -> sqlx::Result<Cow<'_, str>> {
    let value = row.try_get_raw(index)?;
    if value.is_null() {
        return Ok(Cow::Borrowed(""));
    }
    let bytes = value.as_bytes().map_err(sqlx::Error::Decode)?;
    Ok(String::from_utf8_lossy(bytes))
}

fn number<T>(row: &PgRow, index: usize) -> sqlx::Result<T>
where
    T: std::str::FromStr<Err = std::num::ParseIntError>,
{
    text(row, index)?
        .parse()
        .map_err(|error| sqlx::Error::Decode(Box::new(error)))
}
