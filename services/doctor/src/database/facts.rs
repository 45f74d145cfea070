//! Facts about a server, a database and the role of a connection.

use serde::Deserialize;
use ziggurat_postgres::{
    driver::{DriverError, Row},
    error::QueryError,
    metadata::SCHEMAS,
    pool::Lease,
    single_round_trip::ReadOnlyQuery,
};

/// Maximum number of names of each kind.
const MAX_NAMES: u32 = 20;

/// Facts, as the query returns them.
#[derive(Debug, Deserialize)]
pub(super) struct Facts {
    /// Such as 160004.
    pub(super) version_number: u32,
    /// Such as `16.4`.
    pub(super) version: String,
    pub(super) is_standby: bool,
    pub(super) role: String,
    pub(super) database: String,
    /// Attributes of the role beyond LOGIN and INHERIT.
    pub(super) attributes: Vec<String>,
    /// Predefined roles that reach beyond the database.
    pub(super) memberships: Vec<String>,
    /// Limit of the connections of the role, or -1.
    pub(super) connection_limit: i64,
    /// Connections that the server has for roles without privileges.
    pub(super) free_connections: i64,
    /// Time limit of a statement of the role, in milliseconds, or 0.
    pub(super) statement_timeout: u64,
    /// Limit of the temporary files of a session, in kB, or -1.
    pub(super) temp_file_limit: i64,
    /// Quoted names of tables that the role may change: the first of them.
    pub(super) writable: Vec<String>,
    /// Number of these tables.
    pub(super) writable_count: u64,
    /// Quoted names of schemas that the role may create tables in.
    pub(super) creatable: Vec<String>,
    /// True if the role may create schemas.
    pub(super) creates_schemas: bool,
    /// True if the role may create temporary tables.
    pub(super) makes_temporary: bool,
    /// Functions that run with the rights of another role, with their arguments.
    pub(super) definers: Vec<String>,
    /// Functions of `dblink`, which open connections of their own.
    pub(super) dblink: Vec<String>,
    /// Names of the extensions in the database.
    pub(super) extensions: Vec<String>,
    /// Table and column of vectors without an index.
    pub(super) unindexed: Vec<[String; 2]>,
    /// Number of tables and views that the role may read.
    pub(super) tables: u64,
    /// Quoted names of schemas with tables that the role may not read.
    pub(super) closed: Vec<String>,
}

// === impl Facts ===

impl Facts {
    /// Asks the server.
    ///
    /// # Errors
    /// Fails if the query fails.
    pub(super) async fn ask(lease: Lease) -> Result<Self, QueryError> {
        let query = ReadOnlyQuery {
            name: "doctor",
            // The names below must not mean a table or function of a user.
            before: Some("SET LOCAL search_path = pg_catalog".to_owned()),
            query: question(),
            values: Vec::new(),
        };
        let mut found = query.read(lease, Self::of).await?;
        let none = DriverError::Protocol("a query has no rows");
        found.pop().ok_or(QueryError::Connection(none))
    }

    fn of(row: &Row) -> Result<Self, DriverError> {
        serde_json::from_str(row.text(0)?).map_err(DriverError::value)
    }

    pub(super) fn has_extension(&self, name: &str) -> bool {
        self.extensions.iter().any(|it| it == name)
    }

    pub(super) fn is_superuser(&self) -> bool {
        self.attributes.iter().any(|it| it == "SUPERUSER")
    }
}

/// Tables and functions outside the schemas of the system, as the role sees them.
const SEEN: &str = "WITH schemas AS ($schemas),
    tables AS (
        SELECT c.oid, format('%I.%I', s.nspname, c.relname) AS name, s.nspname, s.is_open,
            c.relkind,
            has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT')
                AS may_read,
            has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
                OR has_any_column_privilege(c.oid, 'INSERT, UPDATE') AS may_write
        FROM pg_class c JOIN schemas s ON s.oid = c.relnamespace
        WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition),
    writable AS (
        SELECT name FROM tables WHERE is_open AND may_write AND relkind <> 'm' ORDER BY name),
    callable AS (
        SELECT p.oid, p.oid::regprocedure::text AS name, p.prosecdef, p.proowner
        FROM pg_proc p JOIN schemas s ON s.oid = p.pronamespace
        WHERE s.is_open AND has_function_privilege(p.oid, 'EXECUTE')),
    names AS (
        SELECT (SELECT coalesce(json_agg(name), '[]')
                FROM (SELECT name FROM writable LIMIT $most) AS w) AS writable,
            (SELECT coalesce(json_agg(name), '[]') FROM (
                SELECT name FROM callable WHERE prosecdef
                    AND proowner <> (SELECT oid FROM pg_roles WHERE rolname = current_user)
                ORDER BY name LIMIT $most) AS d) AS definers,
            (SELECT coalesce(json_agg(name), '[]') FROM (
                SELECT c.name FROM callable c
                JOIN pg_depend d ON d.objid = c.oid AND d.classid = 'pg_proc'::regclass
                    AND d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass
                JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'dblink'
                ORDER BY c.name LIMIT $most) AS l) AS dblink)
";

/// The facts, as an object. Settings have the values of a new session: the read-only transaction
/// has others.
const OBJECT: &str = "SELECT json_build_object(
    'version_number', current_setting('server_version_num')::int,
    'version', split_part(current_setting('server_version'), ' ', 1),
    'is_standby', pg_is_in_recovery(),
    'role', r.rolname,
    'database', current_database(),
    'attributes', array_to_json(array_remove(ARRAY[
        CASE WHEN r.rolsuper THEN 'SUPERUSER' END,
        CASE WHEN r.rolcreaterole THEN 'CREATEROLE' END,
        CASE WHEN r.rolcreatedb THEN 'CREATEDB' END,
        CASE WHEN r.rolreplication THEN 'REPLICATION' END,
        CASE WHEN r.rolbypassrls THEN 'BYPASSRLS' END], NULL)),
    'memberships', array_to_json(ARRAY(
        SELECT g.rolname::text FROM pg_roles g
        WHERE g.rolname IN ('pg_read_server_files', 'pg_write_server_files',
                'pg_execute_server_program', 'pg_signal_backend')
            AND NOT r.rolsuper AND pg_has_role(r.oid, g.oid, 'MEMBER') ORDER BY 1)),
    'connection_limit', r.rolconnlimit,
    'free_connections', current_setting('max_connections')::int
        - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true), '0')::int,
    'statement_timeout', (SELECT reset_val::bigint FROM pg_settings
        WHERE name = 'statement_timeout'),
    'temp_file_limit', (SELECT reset_val::bigint FROM pg_settings WHERE name = 'temp_file_limit'),
    'writable', names.writable,
    'writable_count', (SELECT count(*) FROM writable),
    'creatable', array_to_json(ARRAY(SELECT quote_ident(nspname) FROM schemas
        WHERE has_schema_privilege(oid, 'CREATE') ORDER BY 1)),
    'creates_schemas', has_database_privilege(current_database(), 'CREATE'),
    'makes_temporary', has_database_privilege(current_database(), 'TEMPORARY'),
    'definers', names.definers,
    'dblink', names.dblink,
    'extensions', array_to_json(ARRAY(SELECT extname::text FROM pg_extension ORDER BY 1)),
    'unindexed', array_to_json(ARRAY(
        SELECT ARRAY[t.name, quote_ident(a.attname)]
        FROM tables t JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0
        JOIN pg_type y ON y.oid = a.atttypid AND y.typname IN ('vector', 'halfvec')
        WHERE t.may_read AND t.relkind IN ('r', 'p', 'm') AND NOT a.attisdropped
            AND NOT EXISTS (SELECT FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
                JOIN pg_am m ON m.oid = c.relam
                WHERE i.indrelid = t.oid AND m.amname NOT IN ('btree', 'hash', 'brin', 'gin')
                    AND i.indkey[0] = a.attnum)
        ORDER BY 1 LIMIT $most)),
    'tables', (SELECT count(*) FROM tables WHERE is_open AND may_read),
    'closed', array_to_json(ARRAY(SELECT DISTINCT quote_ident(nspname) FROM tables
        WHERE NOT (is_open AND may_read) ORDER BY 1 LIMIT $most)))
FROM pg_roles r, names WHERE r.rolname = current_user";

/// Returns the query.
fn question() -> String {
    let query = format!("{SEEN}{OBJECT}");
    let query = query.replace("$schemas", SCHEMAS);
    query.replace("$most", &MAX_NAMES.to_string())
}
