-- Free and dead space of tables, estimated from the widths of columns and the number of rows at the
-- last VACUUM or ANALYZE. Tables below 100 MB are never named.
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
), found AS (
  SELECT subject, share, share * bytes AS wasted,
    CASE WHEN share >= 0.60 AND share * bytes >= 1073741824 THEN 'critical' ELSE 'warn' END AS status
  FROM estimated WHERE known AND share >= 0.30 AND share * bytes >= 104857600
)
(SELECT 'bloat' AS "check", status, subject,
   format('estimated %s %%, %s MB', round((100 * share)::numeric), round((wasted / 1048576)::numeric))
     AS value,
   '30 % and 100 MB / 60 % and 1 GB' AS threshold,
   format('VACUUM (ANALYZE) %s; if it has to shrink: pg_repack, or VACUUM FULL, which locks it',
     subject) AS advice
 FROM found
 ORDER BY wasted DESC, subject
 LIMIT 20)
UNION ALL
SELECT 'bloat', CASE count(*) WHEN 0 THEN 'ok' ELSE 'warn' END,
  CASE count(*) WHEN 0 THEN 'tables' ELSE format('%s more tables', count(*) - 20) END,
  CASE count(*) WHEN 0 THEN 'none that can be estimated' ELSE '' END,
  '30 % and 100 MB / 60 % and 1 GB', ''
FROM found HAVING count(*) = 0 OR count(*) > 20
UNION ALL
SELECT 'bloat', 'unknown', format('%s tables in %I', count(*), nspname), '',
  '30 % and 100 MB / 60 % and 1 GB',
  format('statistics of columns are hidden: GRANT SELECT ON ALL TABLES IN SCHEMA %I TO %I; or GRANT pg_stat_scan_tables TO %I; with CREATE EXTENSION pgstattuple;',
    nspname, current_user, current_user)
FROM big WHERE NOT visible GROUP BY nspname
UNION ALL
SELECT 'bloat', 'unknown', subject, '', '30 % and 100 MB / 60 % and 1 GB',
  format('it has no statistics: ANALYZE %s;', subject)
FROM estimated WHERE visible AND NOT known
