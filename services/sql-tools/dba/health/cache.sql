-- Hits in shared_buffers of all tables and of all indexes, and of each table with many misses.
WITH relation AS (
  SELECT 'tables' AS kind, NULL AS name, sum(heap_blks_read) AS read, sum(heap_blks_hit) AS hit
  FROM pg_statio_user_tables
  WHERE :schema IS NULL OR schemaname = :schema
  UNION ALL
  SELECT 'indexes', NULL, sum(idx_blks_read), sum(idx_blks_hit)
  FROM pg_statio_user_indexes
  WHERE :schema IS NULL OR schemaname = :schema
  UNION ALL
  SELECT 'table', format('%I.%I', schemaname, relname), heap_blks_read, heap_blks_hit
  FROM pg_statio_user_tables
  WHERE (:schema IS NULL OR schemaname = :schema) AND heap_blks_read > 10000
), judged AS (
  SELECT kind, coalesce(name, kind) AS subject, coalesce(read, 0) AS read,
    round(hit / nullif(hit + read, 0), 3) AS share
  FROM relation
), found AS (
  SELECT kind, subject, read, share,
    CASE WHEN read <= 10000 OR share IS NULL OR share >= 0.95 THEN 'ok'
      WHEN share >= 0.90 THEN 'warn' ELSE 'critical' END AS status
  FROM judged
)
SELECT 'cache' AS "check", status, subject,
  CASE WHEN share IS NULL THEN 'nothing was read yet'
    ELSE format('%s of reads are hits, %s blocks were read', share, read) END AS value,
  '0.95 / 0.90 beyond 10000 blocks read' AS threshold,
  CASE WHEN status = 'ok' THEN ''
    WHEN kind = 'table' THEN 'find the statements that read all of it: top_queries by io'
    ELSE 'raise shared_buffers, or read less: top_queries by io' END AS advice
FROM found
WHERE kind <> 'table' OR status <> 'ok'
ORDER BY kind = 'table', read DESC, subject
LIMIT 22
