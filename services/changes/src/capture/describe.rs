//! Definitions of the tables that a statement has touched.

use std::{collections::BTreeMap, sync::Arc};

use ziggurat_postgres::{driver::Row, error::DriverError, quoted};

use crate::{
    Reason, Table,
    capture::{
        connections::{Capture, Stop},
        opening::{FACTS, MISSING},
        touched::Touched,
    },
    change::Column,
};

/// Tables that a statement has touched.
#[derive(Debug, Default)]
pub(super) struct Described {
    /// The tables that hold rows.
    pub(super) found: Vec<Stored>,
    /// The same by OID, and the roots of partitions.
    pub(super) tables: BTreeMap<u32, Arc<Table>>,
    /// Functions of triggers with words for effects outside of the tables, or at COMMIT.
    pub(super) outside: Vec<String>,
}

/// Table that holds rows.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) oid: u32,
    /// The root of its partitions, or itself.
    pub(super) root: u32,
    /// Its name with its schema.
    pub(super) name: String,
    /// The same, quoted.
    pub(super) path: String,
    pub(super) is_readable: bool,
    pub(super) bytes: u64,
    /// It is too large to be read through.
    pub(super) is_sought: bool,
    /// The columns of its root, quoted.
    pub(super) columns: Vec<String>,
}

impl Capture<'_> {
    /// Asks for the definitions of touched tables.
    pub(super) async fn describe(&mut self, touched: &Touched) -> Result<Described, Stop> {
        let oids: Vec<_> = touched.tables().map(|oid| oid.to_string()).collect();
        if oids.is_empty() {
            return Ok(Described::default());
        }
        let oids = oids.join(",");
        let roots = format!(
            "(SELECT oid FROM unnest('{{{oids}}}'::oid[]) AS oid \
             UNION SELECT pg_partition_root(oid) FROM unnest('{{{oids}}}'::oid[]) AS oid)"
        );
        let sql = format!(
            "SELECT c.oid, coalesce(pg_partition_root(c.oid)::oid, c.oid), \
             n.nspname, c.relname, coalesce(m.amname, '') = 'heap', \
             has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT'), \
             pg_relation_size(c.oid) \
             FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
             LEFT JOIN pg_am m ON m.oid = c.relam \
             WHERE c.oid = ANY ('{{{oids}}}'::oid[]) ORDER BY n.nspname, c.relname; \
             SELECT c.oid, n.nspname || '.' || c.relname, a.attname, a.atttypid, \
             coalesce(array_position(i.indkey::int2[], a.attnum) + 1, 0), \
             coalesce(({IS_GENERATED_ANEW}), false), \
             array_to_string(ARRAY({SEQUENCES_OF_A_COLUMN}), ','), \
             array_to_string(ARRAY({REFERENCES_OF_A_COLUMN}), E'\\t'), a.attnum::int8, \
             n.nspname, c.relname, c.relkind = 'p', row_security_active(c.oid) OR EXISTS (\
             SELECT FROM pg_partition_tree(c.oid) AS p WHERE row_security_active(p.relid)), \
             format_type(a.atttypid, a.atttypmod), a.attgenerated <> '' \
             FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
             JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
             LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary \
             WHERE c.oid IN {roots} ORDER BY c.oid, a.attnum; \
             SELECT DISTINCT n.nspname || '.' || f.proname FROM pg_trigger g \
             JOIN pg_proc f ON f.oid = g.tgfoid JOIN pg_namespace n ON n.oid = f.pronamespace \
             WHERE g.tgrelid IN {roots} AND NOT g.tgisinternal \
             AND f.prosrc ~* '\\m(pg_notify|notify|dblink\\w*|http\\w*|copy|constraints)\\M' ORDER BY 1"
        );
        let sets = self
            .writer
            .begin()
            .ask_all(&sql, &mut FACTS.clone())
            .await?;
        let [stored, columns, outside] = &*sets else {
            return Err(MISSING.into());
        };
        let tables = tables(columns)?;
        let mut found = Vec::new();
        for row in stored {
            let table = Stored::read(row, &tables)?;
            if !row.get::<bool>(4)? {
                return Err(Stop::Unseen(Reason::Unusual(table.name)));
            }
            found.push(table);
        }
        let outside = outside.iter().map(|row| row.get(0));
        Ok(Described {
            outside: outside.collect::<Result<_, _>>()?,
            found,
            tables,
        })
    }
}

/// Asks whether the default of a column is a volatile function without arguments, which no trigger before
/// the row replaces.
const IS_GENERATED_ANEW: &str = "SELECT f.provolatile = 'v' FROM pg_attrdef d \
    CROSS JOIN pg_get_expr(d.adbin, d.adrelid) AS e (text) JOIN pg_proc f \
    ON f.oid = CASE WHEN e.text ~ '^[a-z0-9_.]+[(][)]$' THEN to_regprocedure(e.text) END \
    WHERE d.adrelid = c.oid AND d.adnum = a.attnum AND NOT EXISTS (SELECT FROM pg_trigger g \
    WHERE g.tgtype & 3 = 3 AND (g.tgrelid = c.oid \
    OR g.tgrelid IN (SELECT relid FROM pg_partition_tree(c.oid))))";

/// Lists the sequences that a column owns, or that its default draws from.
const SEQUENCES_OF_A_COLUMN: &str = "SELECT s.oid FROM pg_depend d \
    JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S' \
    WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass \
    AND d.refobjid = c.oid AND d.refobjsubid = a.attnum AND d.deptype IN ('a', 'i') \
    UNION SELECT s.oid FROM pg_attrdef v JOIN pg_depend d \
    ON d.classid = 'pg_attrdef'::regclass AND d.objid = v.oid \
    AND d.refclassid = 'pg_class'::regclass \
    JOIN pg_class s ON s.oid = d.refobjid AND s.relkind = 'S' \
    WHERE v.adrelid = c.oid AND v.adnum = a.attnum";

/// Lists the tables and columns that a column refers to, each with a line break between table and
/// column.
const REFERENCES_OF_A_COLUMN: &str = "SELECT m.nspname || '.' || t.relname || E'\\n' || b.attname \
    FROM pg_constraint k CROSS JOIN unnest(k.conkey, k.confkey) AS pair (own, other) \
    JOIN pg_class t ON t.oid = k.confrelid JOIN pg_namespace m ON m.oid = t.relnamespace \
    JOIN pg_attribute b ON b.attrelid = t.oid AND b.attnum = pair.other \
    WHERE k.contype = 'f' AND k.conrelid = c.oid AND pair.own = a.attnum";

/// Reads the columns of tables.
fn tables(rows: &[Row]) -> Result<BTreeMap<u32, Arc<Table>>, DriverError> {
    let mut tables: BTreeMap<u32, (Table, Vec<(i64, usize)>)> = BTreeMap::new();
    for row in rows {
        let (table, key) = tables.entry(row.get(0)?).or_insert_with(|| {
            let table = Table {
                oid: 0,
                hides_new: false,
                name: String::new(),
                columns: Vec::new(),
                key: Vec::new(),
                path: String::new(),
                is_partitioned: false,
                hides_rows: false,
            };
            (table, Vec::new())
        });
        table.oid = row.get(0)?;
        table.name = row.get(1)?;
        table.path = format!("{}.{}", quoted(row.text(9)?), quoted(row.text(10)?));
        table.is_partitioned = row.get(11)?;
        table.hides_rows = row.get(12)?;
        let position: i64 = row.get(4)?;
        if position > 0 {
            key.push((position, table.columns.len()));
        }
        let sequences: String = row.get(6)?;
        let sequences = sequences.split(',').filter_map(|oid| oid.parse().ok());
        let number: i64 = row.get(8)?;
        table.columns.push(Column {
            name: row.get(2)?,
            type_oid: row.get(3)?,
            number: u16::try_from(number).map_err(DriverError::value)?,
            is_masked: false,
            is_generated_anew: row.get(5)?,
            sequences: sequences.collect(),
            refers_to: references(row.text(7)?),
            type_name: row.get(13)?,
            is_computed: row.get(14)?,
        });
    }
    let tables = tables.into_iter().map(|(oid, (mut table, mut key))| {
        key.sort_unstable();
        table.key = key.into_iter().map(|(_, place)| place).collect();
        (oid, Arc::new(table))
    });
    Ok(tables.collect())
}

fn references(text: &str) -> Vec<(String, String)> {
    let pairs = text.split('\t').filter_map(|pair| pair.split_once('\n'));
    let pairs = pairs.map(|(table, column)| (table.to_owned(), column.to_owned()));
    pairs.collect()
}

// === impl Described ===

impl Described {
    /// Returns the name under which the rows of a table are shown.
    pub(super) fn shown_as(&self, oid: u32) -> Option<String> {
        let stored = self.found.iter().find(|table| table.oid == oid);
        let root = stored.map_or(oid, |table| table.root);
        self.tables.get(&root).map(|table| table.name.clone())
    }
}

// === impl Stored ===

impl Stored {
    fn read(row: &Row, tables: &BTreeMap<u32, Arc<Table>>) -> Result<Self, DriverError> {
        let (schema, name) = (row.text(2)?, row.text(3)?);
        let root = row.get(1)?;
        let columns = tables.get(&root).into_iter().flat_map(|it| &it.columns);
        let bytes: i64 = row.get(6)?;
        Ok(Self {
            oid: row.get(0)?,
            root,
            name: format!("{schema}.{name}"),
            path: format!("{}.{}", quoted(schema), quoted(name)),
            is_readable: row.get(5)?,
            bytes: bytes.unsigned_abs(),
            is_sought: false,
            columns: columns.map(|column| quoted(&column.name)).collect(),
        })
    }
}
