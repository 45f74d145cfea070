-- Free space of B-tree indexes, estimated from the widths of their columns. Equal keys share an
-- entry, which the estimate does not count: it names too few rather than too many.
WITH big AS (
  SELECT c.oid, i.indrelid, i.indkey, n.nspname, c.relname, t.relname AS table_name,
    format('%I.%I', n.nspname, c.relname) AS subject, c.relpages, c.reltuples,
    c.relpages * current_setting('block_size')::numeric AS bytes,
    coalesce((SELECT option_value::int FROM pg_options_to_table(c.reloptions)
      WHERE option_name = 'fillfactor'), 90) AS fillfactor,
    has_table_privilege(t.oid, 'SELECT') AND NOT row_security_active(t.oid) AS visible
  FROM pg_index i
  JOIN pg_class c ON c.oid = i.indexrelid
  JOIN pg_class t ON t.oid = i.indrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_am m ON m.oid = c.relam AND m.amname = 'btree'
  WHERE c.relkind = 'i' AND i.indisvalid AND c.relpersistence <> 't'
    AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
    AND (:schema IS NULL OR n.nspname = :schema)
    AND c.relpages * current_setting('block_size')::numeric > 104857600
), width AS (
  SELECT b.oid, count(*) FILTER (WHERE s.avg_width IS NULL) AS unmeasured,
    8 + CASE WHEN max(s.null_frac) > 0 THEN 8 ELSE 0 END
      + ceil(sum((1 - s.null_frac) * s.avg_width) / 8) * 8 AS bytes
  FROM big b
  CROSS JOIN LATERAL unnest(b.indkey::int2[]) WITH ORDINALITY k (number, place)
  -- Statistics of an expression are those of a column of the index.
  JOIN pg_attribute a ON a.attrelid = CASE k.number WHEN 0 THEN b.oid ELSE b.indrelid END
    AND a.attnum = CASE k.number WHEN 0 THEN k.place ELSE k.number END
  LEFT JOIN pg_stats s ON s.schemaname = b.nspname AND s.attname = a.attname AND NOT s.inherited
    AND s.tablename = CASE k.number WHEN 0 THEN b.relname ELSE b.table_name END
  GROUP BY b.oid
), estimated AS (
  SELECT b.*, b.visible AND w.unmeasured = 0 AND b.reltuples >= 0 AS known,
    1 - (1 + ceil(b.reltuples * (4 + w.bytes)
      / ((current_setting('block_size')::int - 40) * b.fillfactor / 100.0))) / b.relpages AS share
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
   format('REINDEX INDEX CONCURRENTLY %s;', subject) AS advice
 FROM found
 ORDER BY wasted DESC, subject
 LIMIT 20)
UNION ALL
SELECT 'bloat', CASE count(*) WHEN 0 THEN 'ok' ELSE 'warn' END,
  CASE count(*) WHEN 0 THEN 'indexes' ELSE format('%s more indexes', count(*) - 20) END,
  CASE count(*) WHEN 0 THEN 'none that can be estimated' ELSE '' END,
  '30 % and 100 MB / 60 % and 1 GB', ''
FROM found HAVING count(*) = 0 OR count(*) > 20
UNION ALL
SELECT 'bloat', 'unknown', format('%s indexes in %I', count(*), nspname), '',
  '30 % and 100 MB / 60 % and 1 GB',
  format('statistics of columns are hidden: GRANT SELECT ON ALL TABLES IN SCHEMA %I TO %I;',
    nspname, current_user)
FROM big WHERE NOT visible GROUP BY nspname
