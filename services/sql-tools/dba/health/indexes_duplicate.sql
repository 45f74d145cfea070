-- Indexes that another index of the table equals, and that no constraint needs.
WITH known AS (
  SELECT i.indexrelid, i.indisunique, i.indisprimary, i.indisreplident, i.indisclustered,
    format('%I.%I', n.nspname, c.relname) AS subject, s.shape,
    count(*) OVER (PARTITION BY s.shape) AS alike
  FROM pg_index i
  JOIN pg_class c ON c.oid = i.indexrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
  CROSS JOIN LATERAL (
    SELECT concat_ws('|', i.indrelid, c.relam, i.indnkeyatts, i.indkey, i.indclass, i.indcollation,
      i.indoption, i.indisexclusion, coalesce(pg_get_expr(i.indexprs, i.indrelid), '-'),
      coalesce(pg_get_expr(i.indpred, i.indrelid), '-')) AS shape
  ) s
  WHERE i.indisvalid AND NOT c.relispartition
    AND n.nspname NOT IN ('pg_catalog', 'pg_toast', 'information_schema')
    AND NOT pg_is_other_temp_schema(n.oid) AND (:schema IS NULL OR n.nspname = :schema)
), several AS MATERIALIZED (
  SELECT k.*, EXISTS (SELECT FROM pg_constraint o WHERE o.conindid = k.indexrelid) AS needed,
    -- indnullsnotdistinct exists from version 15 on.
    (SELECT concat_ws('|', i.indimmediate, to_jsonb(i)->>'indnullsnotdistinct')
     FROM pg_index i WHERE i.indexrelid = k.indexrelid) AS uniqueness
  FROM known k
  WHERE k.alike > 1
), ranked AS (
  SELECT *, row_number() OVER (PARTITION BY shape ORDER BY indisprimary DESC, indisunique DESC,
    needed DESC, indisreplident DESC, indisclustered DESC, indexrelid) AS place
  FROM several
), found AS (
  SELECT DISTINCT ON (extra.indexrelid) extra.subject, kept.subject AS kept,
    pg_relation_size(extra.indexrelid) AS bytes
  FROM ranked extra
  JOIN ranked kept ON kept.shape = extra.shape AND kept.place < extra.place
    AND (NOT extra.indisunique OR kept.indisunique AND kept.uniqueness = extra.uniqueness)
  WHERE NOT extra.needed AND NOT extra.indisreplident
  ORDER BY extra.indexrelid, kept.place
)
(SELECT 'indexes_duplicate' AS "check", 'warn' AS status, subject,
   format('equals %s, %s MB', kept, round(bytes / 1048576.0, 1)) AS value, 'none' AS threshold,
   format('DROP INDEX CONCURRENTLY %s;', subject) AS advice
 FROM found
 ORDER BY bytes DESC, subject
 LIMIT 20)
UNION ALL
SELECT 'indexes_duplicate', CASE count(*) WHEN 0 THEN 'ok' ELSE 'warn' END,
  CASE count(*) WHEN 0 THEN 'indexes' ELSE format('%s more indexes', count(*) - 20) END,
  CASE count(*) WHEN 0 THEN 'no two are equal' ELSE '' END, 'none', ''
FROM found HAVING count(*) = 0 OR count(*) > 20
