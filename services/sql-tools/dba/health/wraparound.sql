-- Ages of databases and tables against the limit at which PostgreSQL stops, which is not the
-- setting at which autovacuum begins to freeze.
WITH aged AS (
  SELECT 'database' AS kind, format('%I', datname) AS subject, age(datfrozenxid) AS xids,
    mxid_age(datminmxid) AS mxids
  FROM pg_database
  UNION ALL
  SELECT 'table', format('%I.%I', n.nspname, c.relname),
    greatest(age(c.relfrozenxid), age(t.relfrozenxid)),
    greatest(mxid_age(c.relminmxid), mxid_age(t.relminmxid))
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_class t ON t.oid = c.reltoastrelid
  WHERE c.relkind IN ('r', 'm') AND (:schema IS NULL OR n.nspname = :schema)
), judged AS (
  SELECT kind, subject, unit, age, age / 2147483647.0 AS share
  FROM aged CROSS JOIN LATERAL (VALUES ('transactions', xids), ('multixacts', mxids)) u (unit, age)
), found AS (
  SELECT *, row_number() OVER (PARTITION BY kind, unit ORDER BY age DESC, subject) AS place,
    CASE WHEN share >= 0.8 THEN 'critical' WHEN share >= 0.5 THEN 'warn' ELSE 'ok' END AS status
  FROM judged
)
SELECT 'wraparound' AS "check", status, kind || ' ' || subject AS subject,
  format('%s %% of the limit (%s %s)', round(100 * share), age, unit) AS value,
  '50 % / 80 %' AS threshold,
  CASE WHEN status = 'ok' THEN ''
    WHEN kind = 'table' THEN format('VACUUM (FREEZE) %s;', subject)
    ELSE 'VACUUM (FREEZE) its oldest tables; look for old transactions and slots: long_transactions'
    END AS advice
FROM found
WHERE place <= 5 AND (status <> 'ok' OR kind = 'database' AND place = 1)
ORDER BY kind, share DESC, unit
