-- Indexes that a failed CREATE or REINDEX … CONCURRENTLY left: no query uses them, writes do.
WITH found AS (
  SELECT format('%I.%I', n.nspname, c.relname) AS subject, c.relkind, c.relname,
    pg_relation_size(c.oid) AS bytes,
    -- The lock that CREATE INDEX CONCURRENTLY holds until the index is valid.
    EXISTS (SELECT FROM pg_locks l WHERE l.relation = i.indrelid AND l.granted
      AND l.mode = 'ShareUpdateExclusiveLock'
      AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))
      AS busy
  FROM pg_index i
  JOIN pg_class c ON c.oid = i.indexrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE NOT (i.indisvalid AND i.indisready AND i.indislive)
    AND n.nspname <> 'pg_toast' AND NOT pg_is_other_temp_schema(n.oid)
    AND (:schema IS NULL OR n.nspname = :schema)
)
(SELECT 'indexes_invalid' AS "check", 'warn' AS status, subject,
   format('invalid, %s MB', round(bytes / 1048576.0, 1)) AS value, 'none' AS threshold,
   CASE WHEN relkind = 'I' THEN 'an index of a partition is missing: ALTER INDEX … ATTACH PARTITION …;'
     WHEN busy THEN 'it may be built just now: look again later'
     WHEN relname ~ '_ccnew[0-9]*$|_ccold[0-9]*$' THEN format('DROP INDEX CONCURRENTLY %s;', subject)
     ELSE format('REINDEX INDEX CONCURRENTLY %s; or DROP INDEX CONCURRENTLY %s;', subject, subject)
   END AS advice
 FROM found
 ORDER BY bytes DESC, subject
 LIMIT 20)
UNION ALL
SELECT 'indexes_invalid', CASE count(*) WHEN 0 THEN 'ok' ELSE 'warn' END,
  CASE count(*) WHEN 0 THEN 'indexes' ELSE format('%s more indexes', count(*) - 20) END,
  CASE count(*) WHEN 0 THEN 'all are valid' ELSE '' END, 'none', ''
FROM found HAVING count(*) = 0 OR count(*) > 20
