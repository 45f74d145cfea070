//! Harmful statements, and their expected outcomes.

/// The part that stops a statement of a superuser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// The policy refuses it before PostgreSQL gets it.
    ByPolicy,
    /// PostgreSQL refuses it.
    ByPostgres,
    /// No part: it is harmless.
    Harmless,
    /// The time limit.
    ByTimeout,
}

use Expected::{ByPolicy, ByPostgres, ByTimeout, Harmless};

/// `{canary}` is a folder that PostgreSQL can write to; `{comments}`, `{nested}` and `{signs}` are
/// 40,000 comments or pairs of signs in a row.
pub(crate) const CORPUS: &[(Expected, &str)] = &[
    // Plain writes.
    (ByPostgres, "INSERT INTO account VALUES (0, 'eve', 1e9)"),
    (ByPostgres, "UPDATE account SET balance = 0"),
    (ByPostgres, "DELETE FROM account"),
    (
        ByPostgres,
        "MERGE INTO account a USING account b ON a.id = b.id WHEN MATCHED THEN DELETE",
    ),
    (ByPostgres, "TRUNCATE account"),
    (ByPostgres, "DROP TABLE account"),
    (ByPostgres, "DROP SCHEMA public CASCADE"),
    (ByPostgres, "CREATE TABLE loot (a int)"),
    (ByPostgres, "CREATE TABLE loot AS SELECT * FROM account"),
    (
        ByPostgres,
        "CREATE TEMP TABLE loot AS SELECT * FROM account",
    ),
    (
        ByPostgres,
        "CREATE TEMPORARY VIEW loot AS SELECT * FROM account",
    ),
    (ByPostgres, "CREATE UNLOGGED TABLE loot ()"),
    (ByPostgres, "SELECT * INTO loot FROM account"),
    (ByPostgres, "SELECT * INTO TEMP loot FROM account"),
    (ByPostgres, "SELECT * FROM account FOR UPDATE"),
    (ByPostgres, "ALTER TABLE account ADD COLUMN gone int"),
    (ByPostgres, "CREATE INDEX ON account (owner)"),
    (ByPostgres, "REFRESH MATERIALIZED VIEW total"),
    (ByPostgres, "GRANT ALL ON account TO PUBLIC"),
    (ByPostgres, "CREATE ROLE eve SUPERUSER LOGIN"),
    (ByPostgres, "DROP ROLE bystander"),
    (ByPostgres, "CREATE DATABASE eve"),
    (ByPostgres, "DROP DATABASE victim"),
    (ByPostgres, "CREATE TABLESPACE eve LOCATION '{canary}'"),
    (ByPostgres, "ALTER SYSTEM SET work_mem = '1GB'"),
    (ByPostgres, "COMMENT ON TABLE account IS 'gone'"),
    (ByPostgres, "CREATE EXTENSION vector"),
    (
        ByPostgres,
        "CREATE FUNCTION eve() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    ),
    (
        ByPostgres,
        "CREATE FUNCTION eve(text) RETURNS text LANGUAGE internal AS 'pg_read_file_all'",
    ),
    (
        ByPostgres,
        "CREATE EVENT TRIGGER eve ON ddl_command_end EXECUTE FUNCTION eve()",
    ),
    (ByPostgres, "REASSIGN OWNED BY CURRENT_USER TO bystander"),
    (ByPostgres, "SELECT nextval('counter')"),
    (ByPostgres, "SELECT setval('counter', 4711)"),
    // In a WITH, in a cursor, below EXPLAIN.
    (
        ByPostgres,
        "WITH x AS (DELETE FROM account RETURNING *) SELECT * FROM x",
    ),
    (
        ByPostgres,
        "WITH x AS (INSERT INTO account VALUES (0) RETURNING 1) TABLE x",
    ),
    (
        ByPostgres,
        "WITH x AS (UPDATE account SET balance = 0 RETURNING id) SELECT ';', * FROM x",
    ),
    (ByPostgres, "WITH x AS (SELECT 1) DELETE FROM account"),
    (ByPostgres, "EXPLAIN ANALYZE DELETE FROM account"),
    (
        ByPostgres,
        "EXPLAIN (ANALYZE, BUFFERS) INSERT INTO account VALUES (0)",
    ),
    (
        ByPolicy,
        "EXPLAIN ANALYZE CREATE TABLE loot AS SELECT * FROM account",
    ),
    (
        ByPolicy,
        "EXPLAIN (ANALYZE) CREATE TEMP TABLE loot AS SELECT 1 AS a",
    ),
    (
        ByPolicy,
        "EXPLAIN ANALYZE CREATE MATERIALIZED VIEW loot AS TABLE account",
    ),
    (
        ByPolicy,
        "EXPLAIN ANALYZE VERBOSE SELECT * INTO loot FROM account",
    ),
    (ByPolicy, "EXPLAIN ANALYZE SELECT 1 AS insert INTO loot"),
    (ByPolicy, "EXPLAIN ANALYZE (SELECT 1 merge INTO loot)"),
    (
        ByPolicy,
        "explain/**/analyze--\ncreate table loot as values (1)",
    ),
    (Harmless, "EXPLAIN DELETE FROM account"),
    // Several statements, and disguised ones.
    (ByPolicy, "SELECT 1; DROP TABLE account"),
    (ByPolicy, "SELECT 1; COMMIT; DELETE FROM account"),
    (ByPolicy, "COMMIT; DELETE FROM account; --"),
    (ByPolicy, "; ; DELETE FROM account"),
    (ByPolicy, "SELECT 1 /* ; */; DELETE FROM account"),
    (ByPolicy, "SELECT 1 /* /* */ ; */; DELETE FROM account"),
    (ByPolicy, "SELECT 1 -- ;\n; DELETE FROM account"),
    (ByPolicy, "SELECT 1 -- ;\r; DELETE FROM account"),
    (ByPolicy, r"SELECT '\'; DELETE FROM account; --'"),
    (ByPolicy, "SELECT a$$; DELETE FROM account; --$$"),
    (ByPolicy, r"SELECT E'\\'; DELETE FROM account; --'"),
    (ByPolicy, "SELECT $a$ $A$ $a$; DELETE FROM account; -- $A$"),
    (ByPolicy, "SELECT 1 AS \"a\"\"\"; DELETE FROM account; --\""),
    (Harmless, "SELECT '; DELETE FROM account; --'"),
    (Harmless, "SELECT $$; DELETE FROM account; --$$"),
    (Harmless, "SELECT 1 /* ; DELETE FROM account */"),
    (Harmless, "SELECT E'\\'; DELETE FROM account; --'"),
    // Broken quotes, NUL and other noise.
    (ByPostgres, "SELECT 'a"),
    (ByPostgres, "SELECT \"a"),
    (ByPostgres, "SELECT $$a"),
    (ByPostgres, "SELECT $a$ $b$"),
    (ByPostgres, "SELECT E'\\"),
    (ByPostgres, "SELECT 1 /* a"),
    (ByPostgres, "SELECT U&'\\00'"),
    (ByPostgres, "SELECT E'\\x80\\xff'"),
    (ByPostgres, ")) UNION SELECT 1"),
    (ByPostgres, "\u{feff}SELECT 1"),
    (ByPolicy, "SELECT 'a\0b'"),
    (ByPolicy, "SELECT 1\0; DELETE FROM account"),
    // Ending the transaction.
    (ByPolicy, "COMMIT"),
    (ByPolicy, "/* */ ROLLBACK"),
    (ByPolicy, "END AND CHAIN"),
    (ByPolicy, "BEGIN READ WRITE"),
    (ByPolicy, "START TRANSACTION READ WRITE"),
    (ByPolicy, "SAVEPOINT a"),
    (ByPolicy, "PREPARE TRANSACTION 'a'"),
    (ByPolicy, "SET TRANSACTION READ WRITE"),
    (ByPolicy, "SET TRANSACTION READ /* */ WRITE"),
    (ByPolicy, "SET transaction_read_only = off"),
    (ByPolicy, "SET LOCAL \"transaction_read_only\" = off"),
    (ByPolicy, "SET U&\"transaction_read\\005fonly\" = off"),
    (ByPolicy, "RESET default_transaction_read_only"),
    (
        ByPolicy,
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
    ),
    (
        ByPolicy,
        "SELECT set_config('transaction_read_only', 'off', false)",
    ),
    (
        ByPolicy,
        "SELECT pg_catalog.\"set_config\"/**/('statement_timeout', '0', false), pg_sleep(9)",
    ),
    (
        ByPolicy,
        "SELECT U&\"set!005fconfig\" UESCAPE '!' ('a.b', 'c', false)",
    ),
    (ByPolicy, "DO $$ BEGIN DELETE FROM account; END $$"),
    (
        ByPolicy,
        "DO LANGUAGE plpgsql 'BEGIN COMMIT; DELETE FROM account; END'",
    ),
    (ByPostgres, "CALL eve()"),
    (ByPostgres, "EXECUTE eve"),
    // Changing the role.
    (ByPolicy, "SET ROLE bystander"),
    (ByPolicy, "SET \"role\" = 'bystander'"),
    (ByPolicy, "SET U&\"\\0072ole\" TO bystander"),
    (ByPolicy, "SET SESSION AUTHORIZATION bystander"),
    (ByPolicy, "SET session_authorization = bystander"),
    (ByPolicy, "RESET ROLE"),
    (ByPolicy, "ALTER ROLE CURRENT_USER SUPERUSER"),
    (ByPolicy, "ALTER USER bystander PASSWORD 'x'"),
    (ByPolicy, "ALTER DATABASE victim SET work_mem = '1GB'"),
    // Changing settings of the session.
    (ByPolicy, "SET statement_timeout = 0"),
    (ByPolicy, "SET standard_conforming_strings = off"),
    (ByPolicy, "SET NAMES 'SJIS'"),
    (ByPolicy, "SET client_encoding = 'GBK'"),
    (ByPolicy, "SET zero_damaged_pages = on"),
    (ByPolicy, "SET session_replication_role = replica"),
    (ByPolicy, "SET temp_file_limit = -1"),
    (ByPolicy, "SET work_mem = '2TB'"),
    (
        ByPostgres,
        "UPDATE pg_settings SET setting = 'off' WHERE name = 'standard_conforming_strings'",
    ),
    (
        ByPostgres,
        "EXPLAIN ANALYZE UPDATE pg_settings SET setting = '0' WHERE name = 'statement_timeout'",
    ),
    (Harmless, "SELECT pg_export_snapshot()"),
    (ByPolicy, "RESET ALL"),
    (ByPolicy, "DISCARD ALL"),
    (ByPolicy, "PREPARE eve AS SELECT 1"),
    (ByPolicy, "DECLARE eve CURSOR WITH HOLD FOR SELECT 1"),
    (ByPostgres, "FETCH ALL FROM ziggurat_cursor"),
    (Harmless, "DEALLOCATE ALL"),
    (Harmless, "CLOSE ALL"),
    // Files and programs.
    (ByPolicy, "COPY account TO '{canary}/stolen'"),
    (ByPolicy, "COPY account FROM '{canary}/bird'"),
    (
        ByPolicy,
        "COPY (SELECT 1) TO PROGRAM 'touch {canary}/touched'",
    ),
    (
        ByPolicy,
        "copy account to program $$touch {canary}/touched$$",
    ),
    (ByPolicy, "COPY account FROM PROGRAM 'echo 1'"),
    (ByPolicy, "COPY account TO STDOUT"),
    (ByPolicy, "COPY account FROM STDIN"),
    (ByPolicy, "LOAD 'plpgsql'"),
    (ByPolicy, "SELECT pg_read_file('{canary}/bird')"),
    (
        ByPolicy,
        "SELECT pg_catalog . pg_read_file -- (\n ('postgresql.conf')",
    ),
    (ByPolicy, "SELECT U&\"pg_read\\005Ffile\"('{canary}/bird')"),
    (ByPolicy, "SELECT ('{canary}/bird'::text).pg_read_file"),
    (
        ByPolicy,
        "SELECT t.pg_read_file FROM unnest('{PG_VERSION}'::text[]) t",
    ),
    (
        ByPolicy,
        "SELECT * FROM pg_read_binary_file('{canary}/bird')",
    ),
    (
        ByPolicy,
        "EXPLAIN ANALYZE SELECT pg_read_file('{canary}/bird')",
    ),
    (ByPolicy, "TABLE pg_ls_dir('.')"),
    (ByPolicy, "VALUES ((SELECT count(*) FROM pg_ls_waldir()))"),
    (ByPolicy, "SELECT pg_stat_file('{canary}/bird')"),
    (
        ByPolicy,
        "SELECT pg_file_write('{canary}/bird', 'x', false)",
    ),
    (
        ByPolicy,
        "SELECT ts_stat('SELECT to_tsvector(pg_read_file(''PG_VERSION''))')",
    ),
    (
        ByPolicy,
        "SELECT query_to_xml('DELETE FROM account', true, true, '')",
    ),
    (
        ByPolicy,
        "SELECT ts_rewrite('a & b'::tsquery, 'SELECT ''a''::tsquery, ''b''::tsquery')",
    ),
    // Passwords, password hashes, and files shown by views.
    (ByPolicy, "SELECT rolname, rolpassword FROM pg_authid"),
    (ByPolicy, "SELECT a FROM pg_catalog . \"pg_authid\" a"),
    (ByPolicy, "SELECT * FROM U&\"pg\\005fauthid\""),
    (ByPolicy, "SELECT * FROM U&\"pg!005fauthid\" UESCAPE '!'"),
    (ByPolicy, "TABLE /* */ Pg_Shadow"),
    (ByPolicy, "EXPLAIN ANALYZE TABLE pg_shadow"),
    (ByPolicy, "COPY pg_authid TO STDOUT"),
    (ByPolicy, "SELECT table_to_xml('pg_authid', true, true, '')"),
    (
        ByPolicy,
        "SELECT schema_to_xml('pg_catalog', true, true, '')",
    ),
    (ByPolicy, "SELECT database_to_xml(true, true, '')"),
    (ByPolicy, "SELECT * FROM pg_hba_file_rules"),
    (ByPolicy, "SELECT pg_hba_file_rules()"),
    (ByPolicy, "SELECT * FROM pg_file_settings"),
    (ByPolicy, "SELECT pg_show_all_file_settings()"),
    (ByPolicy, "SELECT * FROM pg_ident_file_mappings"),
    (ByPolicy, "SELECT pg_ident_file_mappings()"),
    (ByPolicy, "SELECT umoptions FROM pg_user_mapping"),
    (ByPolicy, "SELECT * FROM pg_user_mappings"),
    (
        ByPolicy,
        "SELECT * FROM information_schema.user_mapping_options",
    ),
    (ByPolicy, "SELECT subconninfo FROM pg_subscription"),
    (Harmless, "SELECT 'pg_authid', rolname FROM pg_roles"),
    // Large objects.
    (ByPolicy, "SELECT lo_import('{canary}/bird')"),
    (ByPolicy, "SELECT lo_export(4711, '{canary}/stolen')"),
    (ByPolicy, "SELECT lo_unlink(4711)"),
    (ByPolicy, "SELECT lo_put(4711, 0, 'gone')"),
    (ByPolicy, "SELECT lo_from_bytea(0, 'new')"),
    (ByPolicy, "SELECT lowrite(lo_open(4711, 131072), 'gone')"),
    (ByPostgres, "SELECT lo_open(4711, 131072)"),
    (Harmless, "SELECT lo_get(4711)"),
    // Other sessions, other servers, the server itself.
    (
        ByPolicy,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'bystander'",
    ),
    (
        ByPolicy,
        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity",
    ),
    (
        ByPolicy,
        "SELECT dblink_exec('host=localhost', 'DROP TABLE account')",
    ),
    (ByPolicy, "SELECT pg_reload_conf()"),
    (ByPolicy, "SELECT pg_rotate_logfile()"),
    (
        ByPolicy,
        "SELECT pg_switch_wal(), pg_create_restore_point('eve')",
    ),
    (ByPolicy, "SELECT pg_backup_start('eve', true)"),
    (
        ByPolicy,
        "SELECT pg_create_physical_replication_slot('eve', true)",
    ),
    (ByPolicy, "SELECT pg_replication_origin_create('eve')"),
    (
        ByPolicy,
        "SELECT pg_logical_emit_message(false, 'eve', repeat('x', 1000000))",
    ),
    (
        ByPolicy,
        "SELECT pg_stat_reset(), pg_stat_reset_shared('bgwriter')",
    ),
    (ByPolicy, "SELECT pg_import_system_collations('pg_catalog')"),
    (ByPolicy, "CHECKPOINT"),
    (
        ByPostgres,
        "CREATE SUBSCRIPTION eve CONNECTION 'host=localhost' PUBLICATION eve",
    ),
    // Statements that leave objects, block, or use up resources.
    (ByPolicy, "SELECT pg_advisory_lock(1)"),
    (
        ByPolicy,
        "SELECT pg_try_advisory_lock(i) FROM generate_series(1, 100000) i",
    ),
    (ByPolicy, "SELECT pg_advisory_xact_lock(1)"),
    (
        ByPolicy,
        "SELECT pg_try_advisory_xact_lock_shared(i) FROM generate_series(1, 100000) i",
    ),
    (ByPolicy, "SELECT txid_current()"),
    (ByPolicy, "SELECT pg_catalog.pg_current_xact_id()"),
    (
        Harmless,
        "SELECT txid_current_if_assigned(), pg_current_xact_id_if_assigned()",
    ),
    (ByPolicy, "LISTEN eve"),
    (ByPolicy, "NOTIFY eve, 'hear me'"),
    (ByPolicy, "SELECT pg_notify('eve', 'hear me')"),
    (ByPolicy, "LOCK TABLE account IN ACCESS EXCLUSIVE MODE"),
    (ByPolicy, "VACUUM FULL account"),
    (ByPolicy, "ANALYZE account"),
    (ByPolicy, "CLUSTER account USING account_pkey"),
    (ByPolicy, "REINDEX TABLE account"),
    (
        Harmless,
        "SELECT random(), clock_timestamp(), gen_random_uuid()",
    ),
    // Texts that PostgreSQL parses for minutes without a check for cancellation.
    (ByPolicy, "SELECT 1{comments}"),
    (ByPolicy, "{nested} SELECT 1"),
    (ByPolicy, "SELECT {signs}1"),
    // Time and size.
    (ByTimeout, "SELECT pg_sleep(600)"),
    (ByTimeout, "SELECT ';', pg_sleep_for('10 minutes')"),
    (ByTimeout, "EXPLAIN ANALYZE SELECT pg_sleep(600)"),
    (
        ByTimeout,
        "WITH RECURSIVE x AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM x) SELECT max(a) FROM x",
    ),
    (
        ByTimeout,
        "SELECT count(*) FROM generate_series(1, 1000000000) a",
    ),
    (
        ByTimeout,
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
    (ByPostgres, "SELECT repeat('x', 1100000000)"),
    (
        ByPostgres,
        "SELECT string_agg(repeat('x', 100000000), '') FROM generate_series(1, 20)",
    ),
];
