-- Indexes without a scan in 30 days, unless something else needs them: uniqueness, a constraint,
-- a replica identity, or a foreign key whose only index it is.
WITH known AS (
  -- Before version 16 only scans are counted, without the time of the last one. Where statistics
  -- have never been reset, the start of the server is the time that is certain.
  SELECT coalesce(stats_reset, pg_postmaster_start_time()) AS since
  FROM pg_stat_database WHERE datname = current_database()
), candidate AS (
  SELECT s.indexrelid, format('%I.%I', s.schemaname, s.indexrelname) AS subject,
    s.idx_scan, (to_jsonb(s)->>'last_idx_scan')::timestamptz AS last_scan,
    pg_relation_size(s.indexrelid) AS bytes
  FROM pg_stat_user_indexes s
  JOIN pg_index i ON i.indexrelid = s.indexrelid
  JOIN pg_class c ON c.oid = s.indexrelid
  WHERE i.indisvalid AND NOT i.indisunique AND NOT i.indisexclusion AND NOT i.indisreplident
    AND c.relpersistence <> 't' AND (:schema IS NULL OR s.schemaname = :schema)
    AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid)
    AND NOT EXISTS (
      SELECT FROM pg_constraint k
      WHERE k.contype = 'f' AND k.conrelid = i.indrelid
        AND (i.indkey::int2[])[0 : cardinality(k.conkey) - 1] @> k.conkey
        AND NOT EXISTS (
          SELECT FROM pg_index o
          WHERE o.indrelid = i.indrelid AND o.indexrelid <> i.indexrelid AND o.indisvalid
            AND o.indpred IS NULL
            AND (o.indkey::int2[])[0 : cardinality(k.conkey) - 1] @> k.conkey))
), found AS (
  SELECT subject, last_scan, bytes
  FROM candidate CROSS JOIN known
  WHERE since <= now() - interval '30 days'
    AND (idx_scan = 0 OR last_scan < now() - interval '30 days')
)
(SELECT 'indexes_unused' AS "check", 'warn' AS status, subject,
   format('last scan %s, %s MB',
     coalesce(to_char(last_scan AT TIME ZONE 'UTC', 'YYYY-MM-DD'), 'never'),
     round(bytes / 1048576.0, 1)) AS value,
   '30 days' AS threshold,
   format('if it is older than 30 days and no standby uses it: DROP INDEX CONCURRENTLY %s;', subject)
     AS advice
 FROM found
 ORDER BY bytes DESC, subject
 LIMIT 20)
UNION ALL
SELECT 'indexes_unused', CASE count(*) WHEN 0 THEN 'ok' ELSE 'warn' END,
  CASE count(*) WHEN 0 THEN 'indexes' ELSE format('%s more indexes', count(*) - 20) END,
  CASE count(*) WHEN 0 THEN 'all are used' ELSE '' END, '30 days', ''
FROM found
HAVING (count(*) = 0 AND (SELECT since <= now() - interval '30 days' FROM known)) OR count(*) > 20
UNION ALL
SELECT 'indexes_unused', 'unknown', 'indexes',
  format('statistics since %s', to_char(since AT TIME ZONE 'UTC', 'YYYY-MM-DD')), '30 days',
  'statistics are younger than 30 days: ask again when they are older'
FROM known WHERE since > now() - interval '30 days'
