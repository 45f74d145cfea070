//! The definition of a table, and the names of the objects that are added to it.

use ziggurat_postgres::{
    driver::{DriverError, Row, query},
    pool::Pool,
    quoted,
};
use ziggurat_vector_search::retrieval_queries::qualified;

use crate::{
    SyncedTable,
    error::{During as _, SyncError},
};

/// The number of a table: as questions name it, else as PostgreSQL reads it.
const TABLE: &str = "SELECT coalesce(pg_catalog.to_regclass($1), pg_catalog.to_regclass($2))
    ::pg_catalog.oid::pg_catalog.text";

/// The table and three of its columns, each with the facts that are checked.
const COLUMNS: &str = "SELECT n.nspname, c.relname, c.relkind IN ('r', 'p'), a.attname, t.typname,
        pg_catalog.format_type(a.atttypid, a.atttypmod), a.atttypmod::int8, a.attnotnull,
        EXISTS (SELECT FROM pg_catalog.pg_index i
            WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid AND i.indimmediate
            AND i.indpred IS NULL AND i.indnkeyatts = 1 AND i.indkey[0] = a.attnum)
    FROM pg_catalog.pg_class c
        JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
            AND NOT a.attisdropped AND a.attname IN ($2, $3, $4)
        LEFT JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
    WHERE c.oid = $1::text::pg_catalog.oid";

/// An object with a name of the queue, and with an owner that is neither a superuser nor the
/// current role nor the owner of the table. Its triggers, or its code, would run with the rights of
/// the owner of the function.
const FOREIGN: &str = "SELECT o.name
    FROM (SELECT c.relowner AS owner, c.oid::pg_catalog.regclass::text AS name
        FROM pg_catalog.pg_class c
        WHERE c.oid IN (pg_catalog.to_regclass($2), pg_catalog.to_regclass($3))
        UNION ALL SELECT p.proowner, p.oid::pg_catalog.regprocedure::text
        FROM pg_catalog.pg_proc p
        WHERE p.oid = pg_catalog.to_regprocedure($4 || '()')) o
        JOIN pg_catalog.pg_roles r ON r.oid = o.owner
    WHERE NOT r.rolsuper AND r.rolname <> current_user
        AND o.owner <> (SELECT c.relowner FROM pg_catalog.pg_class c
            WHERE c.oid = pg_catalog.to_regclass($1))
    ORDER BY o.name LIMIT 1";

/// Maximum length of the table's part of a name, in bytes. The rest of a name has 18, and
/// PostgreSQL cuts names after 63.
const LONGEST_STEM: usize = 44;

/// Length of the digest in a stem that was cut.
const DIGEST: usize = 8;

/// A table as it is. All names are in quotes.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    /// With its schema.
    pub(crate) table: String,
    pub(crate) id: String,
    pub(crate) id_type: String,
    pub(crate) text: String,
    pub(crate) vector: String,
    /// The type, as a cast writes it.
    pub(crate) vector_type: String,
    /// Number of dimensions, if the column has a fixed one.
    pub(crate) dimensions: Option<usize>,
    /// Queue of the rows to embed, with its schema.
    pub(crate) queue: String,
    /// Index of the queue.
    pub(crate) queue_index: String,
    /// Rows that have failed for good, with the schema.
    pub(crate) failed: String,
    /// Function of the triggers, with its schema.
    pub(crate) function: String,
    /// Channel of the notifications.
    pub(crate) channel: String,
    /// The role of the worker, and whether it may use the table already.
    pub(crate) role: String,
    pub(crate) has_rights: bool,
}

// === impl Definition ===

impl Definition {
    /// Reads the definition of a table and checks that it can be kept in step.
    pub(crate) async fn load(pool: &Pool, names: &SyncedTable) -> Result<Self, SyncError> {
        let task = format!("reading the definition of table {}", names.table);
        let mut lease = pool.lease().await?;
        // The only name that is looked up in the path of the role.
        let table = query(TABLE)
            .bind(&*qualified(&names.table))
            .bind(&names.table);
        let row = table.fetch_optional(lease.begin()).await.during(&task)?;
        let table = row.map_or(Ok(None), |row| row.get(0));
        let table: Option<String> = table.during(&task)?;
        let columns = query(COLUMNS)
            .in_catalog()
            .bind(table.as_deref())
            .bind(&names.id)
            .bind(&names.text)
            .bind(&names.vector);
        let rows = columns.fetch_all(lease.begin()).await.during(&task)?;
        let mut definition = Self::of(names, &rows)?;
        let rights = query(
            "SELECT current_user, pg_catalog.has_column_privilege($1, $2, 'SELECT')
                 AND pg_catalog.has_column_privilege($1, $3, 'SELECT')
                 AND pg_catalog.has_column_privilege($1, $4, 'SELECT')
                 AND pg_catalog.has_column_privilege($1, $4, 'UPDATE')",
        )
        .in_catalog()
        .bind(&definition.table)
        .bind(&names.id)
        .bind(&names.text)
        .bind(&names.vector);
        let row = rights.fetch_optional(lease.begin()).await.during(&task)?;
        lease.settle();
        if let Some(row) = row {
            definition.role = quoted(row.text(0).during(&task)?);
            definition.has_rights = row.get(1).during(&task)?;
        }
        Ok(definition)
    }

    fn of(names: &SyncedTable, rows: &[Row]) -> Result<Self, SyncError> {
        let problem = |problem: String| SyncError::Table {
            table: names.table.clone(),
            problem,
        };
        let task = "reading the definition of a table";
        let Some(first) = rows.first() else {
            return Err(problem("there is none with this name".to_owned()));
        };
        if !first.get::<bool>(2).during(task)? {
            return Err(problem("only a table can have the triggers".to_owned()));
        }
        let column = |name: &str| {
            let found = rows
                .iter()
                .find(|row| row.text(3).is_ok_and(|is| is == name));
            found.ok_or_else(|| problem(format!("there is no column {name}")))
        };
        let (id, vector) = (column(&names.id)?, column(&names.vector)?);
        column(&names.text)?;
        check_id(names, id)
            .during(task)?
            .map_or(Ok(()), |reason| Err(problem(reason)))?;
        check_vector(names, vector)
            .during(task)?
            .map_or(Ok(()), |reason| Err(problem(reason)))?;
        let vector_type = vector.text(5).during(task)?;
        let schema = quoted(first.text(0).during(task)?);
        let table = first.text(1).during(task)?;
        let stem = stem(table);
        let own = |end: &str| format!("{schema}.{}", quoted(&format!("{stem}{end}")));
        Ok(Self {
            table: format!("{schema}.{}", quoted(table)),
            id: quoted(&names.id),
            id_type: id.text(5).during(task)?.to_owned(),
            text: quoted(&names.text),
            vector: quoted(&names.vector),
            vector_type: vector_type.to_owned(),
            dimensions: usize::try_from(vector.get::<i64>(6).during(task)?).ok(),
            queue: own("_sync_queue"),
            queue_index: quoted(&format!("{stem}_sync_queue_due")),
            failed: own("_sync_queue_failed"),
            function: own("_sync_changed"),
            channel: format!("{stem}_sync_queue"),
            role: String::new(),
            has_rights: false,
        })
    }

    /// Checks that no other role has made an object with a name of the queue.
    pub(crate) async fn check_owners(&self, pool: &Pool) -> Result<(), SyncError> {
        let task = "reading the owners of the queue";
        let mut lease = pool.lease().await?;
        let foreign = query(FOREIGN)
            .in_catalog()
            .bind(&self.table)
            .bind(&self.queue)
            .bind(&self.failed)
            .bind(&self.function);
        let found = foreign.fetch_optional(lease.begin()).await.during(task)?;
        lease.settle();
        let Some(found) = found else { return Ok(()) };
        Err(SyncError::Table {
            table: self.table.clone(),
            problem: format!(
                "{} has an owner that is neither this role nor that of the table: look at it, and \
                 drop it or change its owner",
                found.text(0).during(task)?
            ),
        })
    }

    /// Returns the comment of the queue: other columns, or another form of the queue, need other
    /// triggers.
    pub(crate) fn fingerprint(&self) -> String {
        let Self {
            table,
            id,
            text,
            vector,
            ..
        } = self;
        format!("ziggurat-rag sync, form 1: {vector} of {text} in {table} by {id}")
    }

    /// Checks that vectors of a length fit.
    pub(crate) fn check_dimensions(&self, length: usize) -> Result<(), SyncError> {
        match self.dimensions {
            Some(dimensions) if dimensions != length => Err(SyncError::Table {
                table: self.table.clone(),
                problem: format!(
                    "column {} has {dimensions} dimensions, and the vectors of the model have \
                     {length}",
                    self.vector
                ),
            }),
            _ => Ok(()),
        }
    }
}

/// Returns the reason why a column does not identify a row, if it does not.
fn check_id(names: &SyncedTable, id: &Row) -> Result<Option<String>, DriverError> {
    let reason = || {
        format!(
            "column {} has no unique index of its own, so it does not identify a row: add a primary \
             key or a unique index",
            names.id
        )
    };
    Ok((!id.get::<bool>(8)?).then(reason))
}

/// Returns the reason why a column cannot have the vectors, if it cannot.
fn check_vector(names: &SyncedTable, vector: &Row) -> Result<Option<String>, DriverError> {
    let (kind, written) = (vector.text(4)?, vector.text(5)?);
    let SyncedTable {
        table,
        vector: name,
        ..
    } = names;
    if !matches!(kind, "vector" | "halfvec") {
        return Ok(Some(format!(
            "column {name} has type {written} and not vector or halfvec"
        )));
    }
    let reason = || {
        format!(
            "column {name} is NOT NULL, but a new row has no vector yet: run ALTER TABLE {table} \
             ALTER COLUMN {} DROP NOT NULL",
            quoted(name)
        )
    };
    Ok(vector.get::<bool>(7)?.then(reason))
}

/// Returns the beginning of the names that are derived from the name of a table.
fn stem(table: &str) -> String {
    if table.len() <= LONGEST_STEM {
        return table.to_owned();
    }
    // FNV-1a, because two long names must not become one.
    let digest = table.bytes().fold(0x811c_9dc5_u32, |digest, byte| {
        (digest ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    let end = table.floor_char_boundary(LONGEST_STEM - DIGEST - 1);
    format!("{}_{digest:08x}", &table[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_of_tables_become_different_names_of_queues() {
        assert_eq!(stem("documents"), "documents");
        let (one, other) = ("ä".repeat(31), format!("{}b", "ä".repeat(30)));
        for name in [&one, &other] {
            assert!(stem(name).len() <= LONGEST_STEM, "{name}");
        }
        assert_ne!(stem(&one), stem(&other));
    }
}
