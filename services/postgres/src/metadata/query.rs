//! Queries for the catalogue of PostgreSQL.
//!
//! The statistics of the catalogue are often missing or old, so the query plan must not depend on
//! them: with ten thousand tables, a wrong plan takes a minute instead of a second. Tables and
//! columns are scanned once, and everything about one of them is a subquery by index. JIT is off,
//! since compiling the query would take longer than running it.

use crate::metadata::load::Limits;

/// Maximum number of characters of a comment or a default.
const LONGEST: u32 = 2000;

/// Maximum number of labels of an enum.
const MAX_LABELS: u32 = 1000;

/// Maximum number of enums and domains that are read.
const MAX_TYPES: u32 = 100_000;

/// Maximum number of primary and foreign keys that are read.
const MAX_KEYS: u32 = 1_000_000;

/// Maximum number of functions that are read.
const MAX_FUNCTIONS: u32 = 10_000;

/// Number of statements in the message before each one that returns rows.
pub(super) const VERSION_AT: u32 = 3;
pub(super) const POWERS_AT: u32 = 4;
pub(super) const DENIED_AT: u32 = 5;
pub(super) const TABLES_AT: u32 = 6;
pub(super) const TYPES_AT: u32 = 7;
pub(super) const COLUMNS_AT: u32 = 8;
pub(super) const KEYS_AT: u32 = 9;
pub(super) const FUNCTIONS_AT: u32 = 10;

/// The version of the server, such as `16.4`. Packages of distributions add their own, after a space.
const VERSION: &str =
    "SELECT pg_catalog.split_part(pg_catalog.current_setting('server_version'), ' ', 1)";

/// The privileges of the role that no read-only transaction limits. A superuser is a member of
/// every role, so nothing else is listed for one.
pub const POWERS: &str = "SELECT p.power FROM pg_catalog.pg_roles r CROSS JOIN LATERAL (
        SELECT 1, 'superuser' WHERE r.rolsuper
        UNION ALL SELECT 2, 'replication' WHERE r.rolreplication AND NOT r.rolsuper
        UNION ALL SELECT 3, g.rolname::text FROM pg_catalog.pg_roles g
        WHERE g.rolname IN ('pg_read_server_files', 'pg_write_server_files',
                'pg_execute_server_program')
            AND NOT r.rolsuper AND pg_catalog.pg_has_role(r.oid, g.oid, 'MEMBER')
    ) AS p (place, power)
    WHERE r.rolname = current_user ORDER BY p.place, p.power";

/// The schemas that are not the system's, and whether the role may use them. Temporary tables are
/// in schemas of the system.
pub const SCHEMAS: &str = "SELECT n.oid, n.nspname,
        pg_catalog.has_schema_privilege(n.oid, 'USAGE') AS is_open
    FROM pg_catalog.pg_namespace n
    WHERE left(n.nspname, 3) <> 'pg_' AND n.nspname <> 'information_schema'";

/// The relations with columns, sorted by the bytes of their names.
const TABLES: &str = "SELECT c.oid, s.nspname, c.relname, c.relkind, c.relispartition,
        c.reltuples
    FROM pg_catalog.pg_class c JOIN schemas s ON s.oid = c.relnamespace
    WHERE s.is_open AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relpersistence <> 't'
    ORDER BY s.nspname, c.relname";

/// The positions of the tables in that order, and the numbers of the columns in keys and indexes.
const KEYS: &str = "SELECT t.oid, row_number() OVER (ORDER BY t.nspname, t.relname) - 1 AS place,
        ARRAY(SELECT unnest(c.conkey) FROM pg_catalog.pg_constraint c
            WHERE c.conrelid = t.oid AND c.contype = 'p') AS primaries,
        ARRAY(SELECT unnest(c.conkey) FROM pg_catalog.pg_constraint c
            WHERE c.conrelid = t.oid AND c.contype = 'u') AS uniques,
        ARRAY(SELECT unnest(c.conkey) FROM pg_catalog.pg_constraint c
            WHERE c.conrelid = t.oid AND c.contype = 'f') AS foreigns,
        ARRAY(SELECT k.attnum FROM pg_catalog.pg_index i
            CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k (attnum, place)
            WHERE i.indrelid = t.oid AND k.place <= i.indnkeyatts) AS indexed
    FROM tables t";

/// The enums and the domains, with the OIDs that lead from a type to its enum. Enums are first, so
/// that the limit leaves out domains.
const TYPES: &str = "SELECT t.oid, t.typarray, t.typbasetype, s.nspname, t.typname,
        CASE t.typtype WHEN 'e' THEN (
            SELECT left(d.description, $longest) FROM pg_catalog.pg_description d
            WHERE d.objoid = t.oid AND d.objsubid = 0
                AND d.classoid = 'pg_catalog.pg_type'::pg_catalog.regclass) END,
        CASE t.typtype WHEN 'e' THEN array_to_json(ARRAY(
            SELECT e.enumlabel FROM pg_catalog.pg_enum e WHERE e.enumtypid = t.oid
            ORDER BY e.enumsortorder LIMIT $labels)) END
    FROM pg_catalog.pg_type t LEFT JOIN schemas s ON s.oid = t.typnamespace AND s.is_open
    WHERE t.typtype = 'd' OR t.typtype = 'e' AND s.is_open
    ORDER BY t.typtype DESC, s.nspname, t.typname LIMIT $types";

/// The primary keys, and the foreign keys that are declared: those that a partition has from its
/// parent have a parent too.
const ALL_KEYS: &str = "SELECT c.conrelid, c.conkey, c.confrelid, c.confkey
    FROM pg_catalog.pg_constraint c
    WHERE c.contype = 'p' OR c.contype = 'f' AND c.conparentid = 0";

/// The types of pgvector and the domains over them, with the dimensions of the domains.
const VECTORS: &str = "SELECT t.oid, -1 FROM pg_catalog.pg_type t
    WHERE t.typname IN ('vector', 'halfvec', 'sparsevec') AND EXISTS (
        SELECT FROM pg_catalog.pg_depend d
        JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid AND e.extname = 'vector'
        WHERE d.classid = 'pg_catalog.pg_type'::pg_catalog.regclass AND d.objid = t.oid
            AND d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass)
    UNION ALL
    SELECT t.oid, CASE t.typtypmod WHEN -1 THEN v.dims ELSE t.typtypmod END
    FROM pg_catalog.pg_type t JOIN vectors v ON t.typbasetype = v.oid";

/// The columns that the foreign keys of a column refer to.
///
/// A foreign key between partitioned tables has a constraint for each pair of partitions; the one
/// that the user declared is the root of them all.
const TARGETS: &str = "SELECT string_agg(target, ',' ORDER BY target COLLATE \"C\") FROM (
        SELECT DISTINCT n.nspname || '.' || r.relname || '.' || b.attname AS target
        FROM pg_catalog.pg_constraint c
        CROSS JOIN LATERAL (
            WITH RECURSIVE ancestors AS (
                SELECT c.confrelid, c.confkey, c.conparentid
                UNION ALL
                SELECT p.confrelid, p.confkey, p.conparentid
                FROM ancestors a JOIN pg_catalog.pg_constraint p ON p.oid = a.conparentid)
            SELECT confrelid, confkey FROM ancestors WHERE conparentid = 0) AS o
        CROSS JOIN LATERAL unnest(c.conkey, o.confkey) AS k (attnum, target)
        JOIN pg_catalog.pg_class r ON r.oid = o.confrelid
        JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace
        JOIN pg_catalog.pg_attribute b ON b.attrelid = r.oid AND b.attnum = k.target
        WHERE c.conrelid = a.attrelid AND c.contype = 'f' AND k.attnum = a.attnum) AS targets";

/// The columns of those tables, in their order. The limit keeps expensive expressions out of the
/// sort.
const PLACED: &str = "SELECT k.place, k.primaries, k.uniques, k.foreigns, k.indexed, a.attrelid,
        a.attnum, a.attname, a.atttypid, a.atttypmod, a.attnotnull, a.attidentity, a.atthasdef
    FROM keys k JOIN pg_catalog.pg_attribute a
        ON a.attrelid = k.oid AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY k.place, a.attnum LIMIT $columns";

/// A row for each column: the position of its table, its name and type, its facts as a sum of bits,
/// its comment, targets, identity, default, dimensions if it is a vector, type if that is
/// not built in, and number.
const COLUMNS: &str = "SELECT a.place, a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod),
        (a.attnotnull OR a.atttypid IN (SELECT y.oid FROM pg_catalog.pg_type y
            WHERE y.typtype = 'd' AND y.typnotnull))::int
        + 2 * (a.attnum = ANY (a.primaries))::int + 4 * (a.attnum = ANY (a.uniques))::int
        + 8 * (a.attnum = ANY (a.indexed))::int,
        (SELECT left(d.description, $longest) FROM pg_catalog.pg_description d
            WHERE d.objoid = a.attrelid AND d.objsubid = a.attnum
                AND d.classoid = 'pg_catalog.pg_class'::pg_catalog.regclass),
        CASE WHEN a.attnum = ANY (a.foreigns) THEN ($targets) END,
        a.attidentity,
        CASE WHEN a.atthasdef THEN (
            SELECT left(pg_catalog.pg_get_expr(e.adbin, e.adrelid), $longest)
            FROM pg_catalog.pg_attrdef e
            WHERE e.adrelid = a.attrelid AND e.adnum = a.attnum) END,
        CASE WHEN a.atttypid IN (SELECT v.oid FROM vectors v) THEN CASE a.atttypmod
            WHEN -1 THEN (SELECT v.dims FROM vectors v WHERE v.oid = a.atttypid)
            ELSE a.atttypmod END END,
        CASE WHEN a.atttypid >= 16384 THEN a.atttypid END, a.attnum
    FROM ($placed) AS a";

/// The functions and procedures that the role may call, without the functions of extensions and
/// without functions that only PostgreSQL itself calls.
const FUNCTIONS: &str = "SELECT s.nspname, p.proname,
        left(pg_catalog.pg_get_function_arguments(p.oid), $longest),
        left(pg_catalog.pg_get_function_result(p.oid), $longest),
        left(pg_catalog.obj_description(p.oid, 'pg_proc'), $longest)
    FROM pg_catalog.pg_proc p JOIN schemas s ON s.oid = p.pronamespace
    WHERE s.is_open AND pg_catalog.has_function_privilege(p.oid, 'EXECUTE')
        AND p.prorettype NOT IN ('pg_catalog.internal'::pg_catalog.regtype,
            'pg_catalog.trigger'::pg_catalog.regtype, 'pg_catalog.event_trigger'::pg_catalog.regtype)
        AND NOT 'pg_catalog.internal'::pg_catalog.regtype = ANY (p.proargtypes)
        AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
            WHERE d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.objid = p.oid
                AND d.deptype = 'e')
    ORDER BY s.nspname, p.proname, p.pronargs, p.oid LIMIT $functions";

/// Returns the whole message, which has no text of a caller in it.
pub(super) fn message(timeout: u128, limits: Limits) -> String {
    // One more than is stored, to find out whether there are more.
    let (tables, columns) = (limits.tables + 1, limits.columns + 1);
    let columns = COLUMNS
        .replace("$targets", TARGETS)
        .replace("$placed", PLACED)
        .replace("$columns", &columns.to_string());
    let message = format!(
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
         SET LOCAL statement_timeout = {timeout};
         SET LOCAL jit = off;
         {VERSION};
         {POWERS};
         SELECT nspname FROM ({SCHEMAS}) AS schemas WHERE NOT is_open
         ORDER BY nspname LIMIT {tables};
         WITH schemas AS MATERIALIZED ({SCHEMAS}), tables AS ({TABLES} LIMIT {tables})
         SELECT t.nspname, t.relname, t.relkind, t.relispartition,
             (SELECT left(d.description, $longest) FROM pg_catalog.pg_description d
                 WHERE d.objoid = t.oid AND d.objsubid = 0
                     AND d.classoid = 'pg_catalog.pg_class'::pg_catalog.regclass),
             t.oid,
             CASE WHEN t.relkind IN ('r', 'm', 'f') THEN least(t.reltuples, 1e18)::int8 ELSE -1 END,
             CASE WHEN t.relispartition THEN (SELECT i.inhparent FROM pg_catalog.pg_inherits i
                 WHERE i.inhrelid = t.oid) END,
             pg_catalog.has_any_column_privilege(t.oid, 'SELECT')
         FROM tables t ORDER BY t.nspname, t.relname;
         WITH schemas AS MATERIALIZED ({SCHEMAS}) {TYPES};
         WITH RECURSIVE schemas AS MATERIALIZED ({SCHEMAS}),
         tables AS MATERIALIZED ({TABLES} LIMIT {tables}), keys AS MATERIALIZED ({KEYS}),
         vectors (oid, dims) AS MATERIALIZED ({VECTORS})
         {columns};
         {ALL_KEYS} LIMIT {MAX_KEYS};
         WITH schemas AS MATERIALIZED ({SCHEMAS}) {FUNCTIONS};
         COMMIT"
    );
    message
        .replace("$longest", &LONGEST.to_string())
        .replace("$labels", &MAX_LABELS.to_string())
        .replace("$types", &MAX_TYPES.to_string())
        .replace("$functions", &MAX_FUNCTIONS.to_string())
}
