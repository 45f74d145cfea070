//! Statements that mean harm, and what becomes of them.

/// Who stops a statement that a superuser sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// It is refused before PostgreSQL sees it.
    Ours,
    /// PostgreSQL refuses it.
    Theirs,
    /// Nobody: it does no harm.
    Harmless,
    /// Its time limit.
    OutOfTime,
}

use Expected::{Harmless, Ours, OutOfTime, Theirs};

/// `{canary}` is a folder PostgreSQL can write to; `{comments}`, `{nested}` and `{signs}` are
/// 40,000 comments or pairs of signs side by side.
pub(crate) const CORPUS: &[(Expected, &str)] = &[
    // Plain writes.
    (Theirs, "INSERT INTO account VALUES (0, 'eve', 1e9)"),
    (Theirs, "UPDATE account SET balance = 0"),
    (Theirs, "DELETE FROM account"),
    (
        Theirs,
        "MERGE INTO account a USING account b ON a.id = b.id WHEN MATCHED THEN DELETE",
    ),
    (Theirs, "TRUNCATE account"),
    (Theirs, "DROP TABLE account"),
    (Theirs, "DROP SCHEMA public CASCADE"),
    (Theirs, "CREATE TABLE loot (a int)"),
    (Theirs, "CREATE TABLE loot AS SELECT * FROM account"),
    (Theirs, "CREATE TEMP TABLE loot AS SELECT * FROM account"),
    (
        Theirs,
        "CREATE TEMPORARY VIEW loot AS SELECT * FROM account",
    ),
    (Theirs, "CREATE UNLOGGED TABLE loot ()"),
    (Theirs, "SELECT * INTO loot FROM account"),
    (Theirs, "SELECT * INTO TEMP loot FROM account"),
    (Theirs, "SELECT * FROM account FOR UPDATE"),
    (Theirs, "ALTER TABLE account ADD COLUMN gone int"),
    (Theirs, "CREATE INDEX ON account (owner)"),
    (Theirs, "REFRESH MATERIALIZED VIEW total"),
    (Theirs, "GRANT ALL ON account TO PUBLIC"),
    (Theirs, "CREATE ROLE eve SUPERUSER LOGIN"),
    (Theirs, "DROP ROLE bystander"),
    (Theirs, "CREATE DATABASE eve"),
    (Theirs, "DROP DATABASE victim"),
    (Theirs, "CREATE TABLESPACE eve LOCATION '{canary}'"),
    (Theirs, "ALTER SYSTEM SET work_mem = '1GB'"),
    (Theirs, "COMMENT ON TABLE account IS 'gone'"),
    (Theirs, "CREATE EXTENSION vector"),
    (
        Theirs,
        "CREATE FUNCTION eve() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    ),
    (
        Theirs,
        "CREATE FUNCTION eve(text) RETURNS text LANGUAGE internal AS 'pg_read_file_all'",
    ),
    (
        Theirs,
        "CREATE EVENT TRIGGER eve ON ddl_command_end EXECUTE FUNCTION eve()",
    ),
    (Theirs, "REASSIGN OWNED BY CURRENT_USER TO bystander"),
    (Theirs, "SELECT nextval('counter')"),
    (Theirs, "SELECT setval('counter', 4711)"),
    // In a WITH, in a cursor, below EXPLAIN.
    (
        Theirs,
        "WITH x AS (DELETE FROM account RETURNING *) SELECT * FROM x",
    ),
    (
        Theirs,
        "WITH x AS (INSERT INTO account VALUES (0) RETURNING 1) TABLE x",
    ),
    (
        Theirs,
        "WITH x AS (UPDATE account SET balance = 0 RETURNING id) SELECT ';', * FROM x",
    ),
    (Theirs, "WITH x AS (SELECT 1) DELETE FROM account"),
    (Theirs, "EXPLAIN ANALYZE DELETE FROM account"),
    (
        Theirs,
        "EXPLAIN (ANALYZE, BUFFERS) INSERT INTO account VALUES (0)",
    ),
    (
        Ours,
        "EXPLAIN ANALYZE CREATE TABLE loot AS SELECT * FROM account",
    ),
    (
        Ours,
        "EXPLAIN (ANALYZE) CREATE TEMP TABLE loot AS SELECT 1 AS a",
    ),
    (
        Ours,
        "EXPLAIN ANALYZE CREATE MATERIALIZED VIEW loot AS TABLE account",
    ),
    (
        Ours,
        "EXPLAIN ANALYZE VERBOSE SELECT * INTO loot FROM account",
    ),
    (Ours, "EXPLAIN ANALYZE SELECT 1 AS insert INTO loot"),
    (Ours, "EXPLAIN ANALYZE (SELECT 1 merge INTO loot)"),
    (
        Ours,
        "explain/**/analyze--\ncreate table loot as values (1)",
    ),
    (Harmless, "EXPLAIN DELETE FROM account"),
    // Stacked, and pretending not to be.
    (Ours, "SELECT 1; DROP TABLE account"),
    (Ours, "SELECT 1; COMMIT; DELETE FROM account"),
    (Ours, "COMMIT; DELETE FROM account; --"),
    (Ours, "; ; DELETE FROM account"),
    (Ours, "SELECT 1 /* ; */; DELETE FROM account"),
    (Ours, "SELECT 1 /* /* */ ; */; DELETE FROM account"),
    (Ours, "SELECT 1 -- ;\n; DELETE FROM account"),
    (Ours, "SELECT 1 -- ;\r; DELETE FROM account"),
    (Ours, r"SELECT '\'; DELETE FROM account; --'"),
    (Ours, "SELECT a$$; DELETE FROM account; --$$"),
    (Ours, r"SELECT E'\\'; DELETE FROM account; --'"),
    (Ours, "SELECT $a$ $A$ $a$; DELETE FROM account; -- $A$"),
    (Ours, "SELECT 1 AS \"a\"\"\"; DELETE FROM account; --\""),
    (Harmless, "SELECT '; DELETE FROM account; --'"),
    (Harmless, "SELECT $$; DELETE FROM account; --$$"),
    (Harmless, "SELECT 1 /* ; DELETE FROM account */"),
    (Harmless, "SELECT E'\\'; DELETE FROM account; --'"),
    // Broken quotes, NUL and other noise.
    (Theirs, "SELECT 'a"),
    (Theirs, "SELECT \"a"),
    (Theirs, "SELECT $$a"),
    (Theirs, "SELECT $a$ $b$"),
    (Theirs, "SELECT E'\\"),
    (Theirs, "SELECT 1 /* a"),
    (Theirs, "SELECT U&'\\00'"),
    (Theirs, "SELECT E'\\x80\\xff'"),
    (Theirs, ")) UNION SELECT 1"),
    (Theirs, "\u{feff}SELECT 1"),
    (Ours, "SELECT 'a\0b'"),
    (Ours, "SELECT 1\0; DELETE FROM account"),
    // Out of the transaction.
    (Ours, "COMMIT"),
    (Ours, "/* */ ROLLBACK"),
    (Ours, "END AND CHAIN"),
    (Ours, "BEGIN READ WRITE"),
    (Ours, "START TRANSACTION READ WRITE"),
    (Ours, "SAVEPOINT a"),
    (Ours, "PREPARE TRANSACTION 'a'"),
    (Ours, "SET TRANSACTION READ WRITE"),
    (Ours, "SET TRANSACTION READ /* */ WRITE"),
    (Ours, "SET transaction_read_only = off"),
    (Ours, "SET LOCAL \"transaction_read_only\" = off"),
    (Ours, "SET U&\"transaction_read\\005fonly\" = off"),
    (Ours, "RESET default_transaction_read_only"),
    (
        Ours,
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
    ),
    (
        Ours,
        "SELECT set_config('transaction_read_only', 'off', false)",
    ),
    (
        Ours,
        "SELECT pg_catalog.\"set_config\"/**/('statement_timeout', '0', false), pg_sleep(9)",
    ),
    (
        Ours,
        "SELECT U&\"set!005fconfig\" UESCAPE '!' ('a.b', 'c', false)",
    ),
    (Ours, "DO $$ BEGIN DELETE FROM account; END $$"),
    (
        Ours,
        "DO LANGUAGE plpgsql 'BEGIN COMMIT; DELETE FROM account; END'",
    ),
    (Theirs, "CALL eve()"),
    (Theirs, "EXECUTE eve"),
    // Somebody else.
    (Ours, "SET ROLE bystander"),
    (Ours, "SET \"role\" = 'bystander'"),
    (Ours, "SET U&\"\\0072ole\" TO bystander"),
    (Ours, "SET SESSION AUTHORIZATION bystander"),
    (Ours, "SET session_authorization = bystander"),
    (Ours, "RESET ROLE"),
    (Ours, "ALTER ROLE CURRENT_USER SUPERUSER"),
    (Ours, "ALTER USER bystander PASSWORD 'x'"),
    (Ours, "ALTER DATABASE victim SET work_mem = '1GB'"),
    // What the session is set to.
    (Ours, "SET statement_timeout = 0"),
    (Ours, "SET standard_conforming_strings = off"),
    (Ours, "SET NAMES 'SJIS'"),
    (Ours, "SET client_encoding = 'GBK'"),
    (Ours, "SET zero_damaged_pages = on"),
    (Ours, "SET session_replication_role = replica"),
    (Ours, "SET temp_file_limit = -1"),
    (Ours, "SET work_mem = '2TB'"),
    (
        Theirs,
        "UPDATE pg_settings SET setting = 'off' WHERE name = 'standard_conforming_strings'",
    ),
    (
        Theirs,
        "EXPLAIN ANALYZE UPDATE pg_settings SET setting = '0' WHERE name = 'statement_timeout'",
    ),
    (Harmless, "SELECT pg_export_snapshot()"),
    (Ours, "RESET ALL"),
    (Ours, "DISCARD ALL"),
    (Ours, "PREPARE eve AS SELECT 1"),
    (Ours, "DECLARE eve CURSOR WITH HOLD FOR SELECT 1"),
    (Theirs, "FETCH ALL FROM ziggurat_cursor"),
    (Harmless, "DEALLOCATE ALL"),
    (Harmless, "CLOSE ALL"),
    // Files and programs.
    (Ours, "COPY account TO '{canary}/stolen'"),
    (Ours, "COPY account FROM '{canary}/bird'"),
    (Ours, "COPY (SELECT 1) TO PROGRAM 'touch {canary}/touched'"),
    (Ours, "copy account to program $$touch {canary}/touched$$"),
    (Ours, "COPY account FROM PROGRAM 'echo 1'"),
    (Ours, "COPY account TO STDOUT"),
    (Ours, "COPY account FROM STDIN"),
    (Ours, "LOAD 'plpgsql'"),
    (Ours, "SELECT pg_read_file('{canary}/bird')"),
    (
        Ours,
        "SELECT pg_catalog . pg_read_file -- (\n ('postgresql.conf')",
    ),
    (Ours, "SELECT U&\"pg_read\\005Ffile\"('{canary}/bird')"),
    (Ours, "SELECT ('{canary}/bird'::text).pg_read_file"),
    (
        Ours,
        "SELECT t.pg_read_file FROM unnest('{PG_VERSION}'::text[]) t",
    ),
    (Ours, "SELECT * FROM pg_read_binary_file('{canary}/bird')"),
    (Ours, "EXPLAIN ANALYZE SELECT pg_read_file('{canary}/bird')"),
    (Ours, "TABLE pg_ls_dir('.')"),
    (Ours, "VALUES ((SELECT count(*) FROM pg_ls_waldir()))"),
    (Ours, "SELECT pg_stat_file('{canary}/bird')"),
    (Ours, "SELECT pg_file_write('{canary}/bird', 'x', false)"),
    (
        Ours,
        "SELECT ts_stat('SELECT to_tsvector(pg_read_file(''PG_VERSION''))')",
    ),
    (
        Ours,
        "SELECT query_to_xml('DELETE FROM account', true, true, '')",
    ),
    (
        Ours,
        "SELECT ts_rewrite('a & b'::tsquery, 'SELECT ''a''::tsquery, ''b''::tsquery')",
    ),
    // Large objects.
    (Ours, "SELECT lo_import('{canary}/bird')"),
    (Ours, "SELECT lo_export(4711, '{canary}/stolen')"),
    (Ours, "SELECT lo_unlink(4711)"),
    (Ours, "SELECT lo_put(4711, 0, 'gone')"),
    (Ours, "SELECT lo_from_bytea(0, 'new')"),
    (Ours, "SELECT lowrite(lo_open(4711, 131072), 'gone')"),
    (Theirs, "SELECT lo_open(4711, 131072)"),
    (Harmless, "SELECT lo_get(4711)"),
    // Other sessions, other servers, the server itself.
    (
        Ours,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'bystander'",
    ),
    (Ours, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity"),
    (
        Ours,
        "SELECT dblink_exec('host=localhost', 'DROP TABLE account')",
    ),
    (Ours, "SELECT pg_reload_conf()"),
    (Ours, "SELECT pg_rotate_logfile()"),
    (
        Ours,
        "SELECT pg_switch_wal(), pg_create_restore_point('eve')",
    ),
    (Ours, "SELECT pg_backup_start('eve', true)"),
    (
        Ours,
        "SELECT pg_create_physical_replication_slot('eve', true)",
    ),
    (Ours, "SELECT pg_replication_origin_create('eve')"),
    (
        Ours,
        "SELECT pg_logical_emit_message(false, 'eve', repeat('x', 1000000))",
    ),
    (
        Ours,
        "SELECT pg_stat_reset(), pg_stat_reset_shared('bgwriter')",
    ),
    (Ours, "SELECT pg_import_system_collations('pg_catalog')"),
    (Ours, "CHECKPOINT"),
    (
        Theirs,
        "CREATE SUBSCRIPTION eve CONNECTION 'host=localhost' PUBLICATION eve",
    ),
    // What stays, blocks or wears out.
    (Ours, "SELECT pg_advisory_lock(1)"),
    (
        Ours,
        "SELECT pg_try_advisory_lock(i) FROM generate_series(1, 100000) i",
    ),
    (Harmless, "SELECT pg_advisory_xact_lock(1)"),
    (Ours, "LISTEN eve"),
    (Ours, "NOTIFY eve, 'hear me'"),
    (Ours, "SELECT pg_notify('eve', 'hear me')"),
    (Ours, "LOCK TABLE account IN ACCESS EXCLUSIVE MODE"),
    (Ours, "VACUUM FULL account"),
    (Ours, "ANALYZE account"),
    (Ours, "CLUSTER account USING account_pkey"),
    (Ours, "REINDEX TABLE account"),
    (
        Harmless,
        "SELECT txid_current(), random(), clock_timestamp(), gen_random_uuid()",
    ),
    // What PostgreSQL reads for minutes, and cannot be stopped.
    (Ours, "SELECT 1{comments}"),
    (Ours, "{nested} SELECT 1"),
    (Ours, "SELECT {signs}1"),
    // Time and size.
    (OutOfTime, "SELECT pg_sleep(600)"),
    (OutOfTime, "SELECT ';', pg_sleep_for('10 minutes')"),
    (OutOfTime, "EXPLAIN ANALYZE SELECT pg_sleep(600)"),
    (
        OutOfTime,
        "WITH RECURSIVE x AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM x) SELECT max(a) FROM x",
    ),
    (
        OutOfTime,
        "SELECT count(*) FROM generate_series(1, 1000000000) a",
    ),
    (
        OutOfTime,
        "SELECT * FROM account a, account b, account c, account d, account e ORDER BY a.owner || e.owner",
    ),
    (
        Harmless,
        "SELECT * FROM account a, account b, account c, account d",
    ),
    (Harmless, "SELECT repeat('x', 10000000)"),
    (
        Harmless,
        "SELECT repeat('x', 100000) FROM generate_series(1, 100)",
    ),
    (Theirs, "SELECT repeat('x', 1100000000)"),
    (
        Theirs,
        "SELECT string_agg(repeat('x', 100000000), '') FROM generate_series(1, 20)",
    ),
];
