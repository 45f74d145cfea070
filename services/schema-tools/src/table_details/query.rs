//! Query for the details of tables.
//!
//! The tables are few, so all else is found by index. Each detail is a row: the place of its table,
//! its kind, and up to seven texts.

use std::fmt::Write as _;

use postgres_protocol::escape::escape_literal;
use ziggurat_postgres::metadata::SCHEMAS;

use crate::table_details::DetailOptions;

/// Maximum number of characters of a text.
pub(super) const LONGEST: usize = 4000;

/// Maximum number of bytes of all details of a table.
pub(super) const MAX_BYTES: u32 = 256 << 10;

/// Maximum number of characters of a value.
const MAX_VALUE: u32 = 40;

/// The order of details of one kind, which is the same in all databases.
const BY_TEXT: &str = "a COLLATE \"C\", b COLLATE \"C\"";

/// The kinds of rows, in the order in which they are cut.
pub(super) const TABLE: &str = "1";
pub(super) const UNREADABLE: &str = "2";
pub(super) const UNIQUE: &str = "3";
pub(super) const CHECK: &str = "4";
pub(super) const POLICY: &str = "5";
pub(super) const INDEX: &str = "6";
pub(super) const TRIGGER: &str = "7";
pub(super) const VALUES: &str = "8";

/// The tables, their columns, and the type of each column with the types below it if it is a domain.
const TABLES: &str = "tables AS MATERIALIZED (
        SELECT w.place, n.nspname, c.oid, c.relname, c.relkind, c.relispartition, c.relpartbound,
            c.reltuples, c.relrowsecurity, c.relforcerowsecurity,
            pg_catalog.has_any_column_privilege(c.oid, 'SELECT') AS is_readable
        FROM wanted w JOIN ($schemas) AS n ON n.nspname = w.nspname AND n.is_open
        JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = w.relname
        WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relpersistence <> 't'),
    columns AS MATERIALIZED (
        SELECT t.place, t.oid AS attrelid, a.attnum, a.attname, a.atttypid
        FROM tables t JOIN pg_catalog.pg_attribute a
            ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped),
    types AS (
        SELECT c.place, c.attnum, c.attname, y.oid, y.typtype, y.typcategory, y.typbasetype
        FROM columns c JOIN pg_catalog.pg_type y ON y.oid = c.atttypid
        UNION ALL
        SELECT t.place, t.attnum, t.attname, y.oid, y.typtype, y.typcategory, y.typbasetype
        FROM types t JOIN pg_catalog.pg_type y ON y.oid = t.typbasetype
        WHERE t.typtype = 'd')";

/// A view is read with a privilege, since PostgreSQL itself shows its query to every role.
const TABLE_ROWS: &str = "SELECT t.place, 1, 0,
        CASE WHEN NOT t.relrowsecurity THEN '' WHEN t.relforcerowsecurity THEN 'forced'
            ELSE 'on' END,
        CASE WHEN t.relkind IN ('v', 'm') AND t.is_readable
            THEN left(pg_catalog.pg_get_viewdef(t.oid, true), $longest) END,
        CASE t.relkind WHEN 'p' THEN left(pg_catalog.pg_get_partkeydef(t.oid), $longest) END,
        CASE t.relkind WHEN 'p' THEN (SELECT count(*) FROM pg_catalog.pg_inherits i
            WHERE i.inhparent = t.oid) END::text,
        CASE WHEN t.relispartition THEN (SELECT n.nspname || '.' || p.relname
            FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class p ON p.oid = i.inhparent
            JOIN pg_catalog.pg_namespace n ON n.oid = p.relnamespace
            WHERE i.inhrelid = t.oid) END,
        left(pg_catalog.pg_get_expr(t.relpartbound, t.oid), $longest),
        concat_ws(',', CASE WHEN t.is_readable THEN 'SELECT' END,
            CASE WHEN pg_catalog.has_any_column_privilege(t.oid, 'INSERT') THEN 'INSERT' END,
            CASE WHEN pg_catalog.has_any_column_privilege(t.oid, 'UPDATE') THEN 'UPDATE' END,
            CASE WHEN pg_catalog.has_table_privilege(t.oid, 'DELETE') THEN 'DELETE' END)
    FROM tables t";

const UNREADABLE_ROWS: &str = "SELECT c.place, 2, c.attnum, c.attname, '', '', '', '', '', ''
    FROM columns c JOIN tables t ON t.place = c.place
    WHERE t.is_readable AND NOT pg_catalog.has_table_privilege(t.oid, 'SELECT')
        AND NOT pg_catalog.has_column_privilege(t.oid, c.attnum, 'SELECT')";

/// An exclusion constraint without overlaps has a unique index too, but its columns may be equal.
const UNIQUE_ROWS: &str = "SELECT DISTINCT t.place, 3, 0, array_to_json(ARRAY(
            SELECT c.attname FROM unnest(i.indkey) WITH ORDINALITY AS k (attnum, place)
            JOIN columns c ON c.place = t.place AND c.attnum = k.attnum
            WHERE k.place <= i.indnkeyatts ORDER BY k.place))::text, '', '', '', '', '', ''
    FROM tables t JOIN pg_catalog.pg_index i ON i.indrelid = t.oid
    WHERE i.indisunique AND i.indisvalid AND NOT i.indisprimary AND NOT i.indisexclusion
        AND i.indexprs IS NULL AND i.indpred IS NULL";

const CHECK_ROWS: &str = "SELECT t.place, 4, 0, k.conname,
        left(pg_catalog.pg_get_expr(k.conbin, k.conrelid, true), $longest)
            || CASE WHEN k.convalidated THEN '' ELSE ' NOT VALID' END,
        CASE cardinality(k.conkey) WHEN 1 THEN (SELECT c.attname FROM columns c
            WHERE c.place = t.place AND c.attnum = k.conkey[1]) END, '', '', '', ''
    FROM tables t JOIN pg_catalog.pg_constraint k ON k.conrelid = t.oid AND k.contype = 'c'
    UNION ALL
    SELECT y.place, 4, y.attnum, k.conname,
        left(pg_catalog.pg_get_expr(k.conbin, 0, true), $longest)
            || CASE WHEN k.convalidated THEN '' ELSE ' NOT VALID' END,
        y.attname, '', '', '', ''
    FROM types y JOIN pg_catalog.pg_constraint k ON k.contypid = y.oid AND k.contype = 'c'
    WHERE y.typtype = 'd'";

const POLICY_ROWS: &str = "SELECT t.place, 5, 0, p.polname,
        CASE p.polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE'
            WHEN 'd' THEN 'DELETE' ELSE 'ALL' END,
        array_to_json(ARRAY(SELECT CASE r.oid WHEN 0 THEN 'PUBLIC'
            ELSE pg_catalog.pg_get_userbyid(r.oid) END FROM unnest(p.polroles) AS r (oid)))::text,
        left(pg_catalog.pg_get_expr(p.polqual, p.polrelid, true), $longest),
        left(pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid, true), $longest),
        p.polpermissive::text, ''
    FROM tables t JOIN pg_catalog.pg_policy p ON p.polrelid = t.oid";

const INDEX_ROWS: &str = "SELECT t.place, 6, 0,
        x.relname || CASE WHEN i.indisunique THEN ' unique' ELSE '' END
            || CASE WHEN i.indisvalid THEN '' ELSE ' invalid' END,
        left(substr(d.text, strpos(d.text, ' USING ') + 7), $longest), '', '', '', '', ''
    FROM tables t JOIN pg_catalog.pg_index i ON i.indrelid = t.oid AND NOT i.indisprimary
    JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
    CROSS JOIN LATERAL pg_catalog.pg_get_indexdef(x.oid, 0, true) AS d (text)";

const TRIGGER_ROWS: &str = "SELECT t.place, 7, 0, g.tgname, '', '', '', '', '', ''
    FROM tables t JOIN pg_catalog.pg_trigger g ON g.tgrelid = t.oid AND NOT g.tgisinternal";

/// The view `pg_stats` leaves out what the role may not see. It is asked once for each table, with
/// conditions that it can use an index for.
///
/// A negative count is a part of the rows. Statistics with the rows of child tables are preferred,
/// since queries return those too.
const VALUES_ROWS: &str = "SELECT t.place, 8, y.attnum, y.attname, array_to_json(v.texts)::text,
        array_to_json(s.most_common_freqs::text[])::text, '', '', '', ''
    FROM tables t CROSS JOIN LATERAL (
        SELECT DISTINCT ON (s.attname) s.attname, s.n_distinct, s.most_common_vals,
            s.most_common_freqs
        FROM pg_catalog.pg_stats s WHERE s.schemaname = t.nspname AND s.tablename = t.relname
        ORDER BY s.attname, s.inherited DESC OFFSET 0) AS s
    JOIN types y ON y.place = t.place AND y.attname = s.attname
        AND (y.typtype = 'e' OR y.typtype = 'b'
            AND (y.typcategory IN ('S', 'B') OR y.oid IN (20, 21, 23)))
    CROSS JOIN LATERAL (SELECT CASE y.oid WHEN 16 THEN s.most_common_vals::text::bool[]::text[]
        ELSE s.most_common_vals::text::text[] END) AS v (texts)
    WHERE round(CASE WHEN s.n_distinct < 0 THEN -s.n_distinct * t.reltuples
            ELSE s.n_distinct END) BETWEEN 1 AND $values
        AND NOT EXISTS (SELECT FROM unnest(v.texts) AS e (text) WHERE length(e.text) > $value)
        AND v.texts IS NOT NULL";

/// Returns the query, or `None` without tables that can exist.
pub(super) fn text(tables: &[(&str, &str)], options: DetailOptions) -> Option<String> {
    let mut wanted = String::new();
    for (place, (schema, name)) in tables.iter().enumerate() {
        // No name has a NUL character, and no message may have one.
        if !schema.contains('\0') && !name.contains('\0') {
            let comma = if wanted.is_empty() { "" } else { ", " };
            let (schema, name) = (escape_literal(schema), escape_literal(name));
            write!(wanted, "{comma}({place}, {schema}::text, {name}::text)").ok()?;
        }
    }
    if wanted.is_empty() {
        return None;
    }
    let mut rows = vec![
        TABLE_ROWS,
        UNREADABLE_ROWS,
        UNIQUE_ROWS,
        CHECK_ROWS,
        POLICY_ROWS,
        INDEX_ROWS,
        TRIGGER_ROWS,
    ];
    if options.values_max > 0 {
        rows.push(VALUES_ROWS);
    }
    // One character more than is kept, to find out whether there are more.
    let rows = rows
        .join(" UNION ALL ")
        .replace("$longest", &(LONGEST + 1).to_string())
        .replace("$values", &options.values_max.to_string())
        .replace("$value", &MAX_VALUE.to_string());
    let tables = TABLES.replace("$schemas", SCHEMAS);
    Some(format!(
        "WITH RECURSIVE wanted (place, nspname, relname) AS (VALUES {wanted}), {tables},
         details (place, kind, number, a, b, c, d, e, f, g) AS ({rows}),
         counted AS (SELECT *, octet_length(concat(a, b, c, d, e, f, g)) AS length FROM details),
         summed AS (SELECT *, sum(length) OVER (PARTITION BY place
             ORDER BY kind, number, {BY_TEXT} ROWS UNBOUNDED PRECEDING) AS bytes FROM counted)
         SELECT place, kind, a, b, c, d, e, f, g, bytes FROM summed
         WHERE bytes - length <= {MAX_BYTES} ORDER BY place, kind, number, {BY_TEXT}"
    ))
}
