-- Stands for top_queries where its own statement fails: says what is missing, in the same columns.
SELECT 'unknown' AS queryid, NULL AS calls, NULL AS total_ms, NULL AS mean_ms, NULL AS stddev_ms,
  NULL AS rows, NULL AS "hit_%", NULL AS "read_MB", NULL AS "temp_MB", NULL AS "wal_MB",
  NULL AS "share_%",
  CASE
    WHEN e.extname IS NULL THEN 'pg_stat_statements is not installed: add it to shared_preload_libraries, then CREATE EXTENSION pg_stat_statements;'
    WHEN to_regclass('pg_stat_statements') IS NULL THEN
      format('pg_stat_statements is in a schema that is not searched: GRANT USAGE ON SCHEMA %I TO %I; ALTER ROLE %I SET search_path = "$user", public, %I;',
        n.nspname, current_user, current_user, n.nspname)
    WHEN NOT has_table_privilege('pg_stat_statements', 'SELECT') THEN
      format('pg_stat_statements may not be read: GRANT SELECT ON %I.pg_stat_statements TO %I;',
        n.nspname, current_user)
    ELSE 'pg_stat_statements is not loaded: add it to shared_preload_libraries and restart PostgreSQL'
  END AS query
FROM (VALUES ('pg_stat_statements')) wanted (name)
LEFT JOIN pg_extension e ON e.extname = wanted.name
LEFT JOIN pg_namespace n ON n.oid = e.extnamespace
