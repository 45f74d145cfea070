-- The same as bloat_tables.sql, but tables that the estimate suspects, or cannot judge, are measured
-- with the extension pgstattuple: the ten largest.
WITH big AS (
  SELECT c.oid, format('%I.%I', n.nspname, c.relname) AS subject, n.nspname, c.relname, c.relpages,
    c.reltuples, c.relpages * current_setting('block_size')::numeric AS bytes,
    coalesce((SELECT option_value::int FROM pg_options_to_table(c.reloptions)
      WHERE option_name = 'fillfactor'), 100) AS fillfactor,
    has_table_privilege(c.oid, 'SELECT') AND NOT row_security_active(c.oid) AS visible
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_am m ON m.oid = c.relam AND m.amname = 'heap'
  WHERE c.relkind IN ('r', 'm') AND c.relpersistence <> 't'
    AND n.nspname NOT IN ('pg_catalog', 'information_schema')
    AND (:schema IS NULL OR n.nspname = :schema)
    AND c.relpages * current_setting('block_size')::numeric > 104857600
), columns AS (
  SELECT b.oid, s.null_frac, s.avg_width, a.attlen,
    CASE a.attalign WHEN 'd' THEN 8 WHEN 'i' THEN 4 WHEN 's' THEN 2 ELSE 1 END AS alignment,
    lag(a.attlen) OVER (PARTITION BY b.oid ORDER BY a.attnum) AS length_before
  FROM big b
  JOIN pg_attribute a ON a.attrelid = b.oid AND a.attnum > 0 AND NOT a.attisdropped
    -- Virtual columns, from version 18 on, are not stored.
    AND a.attgenerated <> 'v'
  LEFT JOIN pg_stats s ON s.schemaname = b.nspname AND s.tablename = b.relname
    AND s.attname = a.attname AND NOT s.inherited
), width AS (
  SELECT oid, count(*) FILTER (WHERE avg_width IS NULL) AS unmeasured,
    24 + CASE WHEN max(null_frac) > 0 THEN (count(*) + 7) / 8 ELSE 0 END
    + sum((1 - null_frac) * (avg_width + CASE
        -- Short values of variable length are not aligned.
        WHEN attlen < 0 OR length_before IS NULL THEN 0
        WHEN length_before < 0 THEN (alignment - 1) / 2.0
        ELSE (alignment - length_before % alignment) % alignment END)) AS bytes
  FROM columns GROUP BY oid
), estimated AS (
  SELECT b.*, b.visible AND w.unmeasured = 0 AND b.reltuples >= 0 AS known,
    1 - ceil(b.reltuples * (4 + ceil(w.bytes / 8) * 8)
      / ((current_setting('block_size')::int - 24) * b.fillfactor / 100.0)) / b.relpages AS share
  FROM big b LEFT JOIN width w ON w.oid = b.oid
), suspected AS (
  SELECT * FROM estimated
  WHERE known IS NOT TRUE OR share >= 0.30 AND share * bytes >= 104857600
  ORDER BY bytes DESC LIMIT 10
), measured AS (
  SELECT s.subject, m.table_len * greatest(m.share, 0) AS wasted, greatest(m.share, 0) AS share
  FROM suspected s
  CROSS JOIN LATERAL (
    -- What the fill factor leaves free is no bloat.
    SELECT table_len, (approx_free_space + dead_tuple_len)::float8 / nullif(table_len, 0)
      - (100 - s.fillfactor) / 100.0 AS share
    FROM pgstattuple_approx(s.oid::regclass)
  ) m
), found AS (
  SELECT *, CASE WHEN share >= 0.60 AND wasted >= 1073741824 THEN 'critical' ELSE 'warn' END AS status
  FROM measured WHERE share >= 0.30 AND wasted >= 104857600
)
SELECT 'bloat' AS "check", status, subject,
  format('measured %s %%, %s MB', round((100 * share)::numeric), round((wasted / 1048576)::numeric))
    AS value,
  '30 % and 100 MB / 60 % and 1 GB' AS threshold,
  format('VACUUM (ANALYZE) %s; if it has to shrink: pg_repack, or VACUUM FULL, which locks it',
    subject) AS advice
FROM found
UNION ALL
SELECT 'bloat', 'ok', 'tables', 'none', '30 % and 100 MB / 60 % and 1 GB', ''
WHERE NOT EXISTS (SELECT FROM found)
ORDER BY status, subject
