-- Foreign keys without an index that begins with their columns: each DELETE or UPDATE of a key in
-- the referenced table reads the whole referencing one.
WITH found AS (
  SELECT format('%I.%I', n.nspname, c.relname) AS owner, k.conname, k.confrelid, c.relkind,
    c.relpages * current_setting('block_size')::numeric AS bytes, columns.list
  FROM pg_constraint k
  JOIN pg_class c ON c.oid = k.conrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
  CROSS JOIN LATERAL (
    SELECT string_agg(format('%I', a.attname), ', ' ORDER BY u.place) AS list
    FROM unnest(k.conkey) WITH ORDINALITY u (number, place)
    JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.number
  ) columns
  WHERE k.contype = 'f' AND k.conparentid = 0 AND (:schema IS NULL OR n.nspname = :schema)
    AND NOT EXISTS (
      SELECT FROM pg_index i
      WHERE i.indrelid = k.conrelid AND i.indisvalid
        AND (i.indkey::int2[])[0 : cardinality(k.conkey) - 1] @> k.conkey
        -- The check of a foreign key compares with =, so this condition does not exclude its rows.
        AND (i.indpred IS NULL
          OR pg_get_expr(i.indpred, i.indrelid) = format('(%s IS NOT NULL)', columns.list)))
)
(SELECT 'indexes_missing_fk' AS "check", 'warn' AS status,
   format('%s of %s', format('%I', conname), owner) AS subject,
   format('no index on (%s), table of %s MB', list, round(bytes / 1048576.0, 1)) AS value,
   'none' AS threshold,
   format('CREATE INDEX %sON %s (%s);', CASE relkind WHEN 'p' THEN '' ELSE 'CONCURRENTLY ' END,
     owner, list) AS advice
 FROM found
 ORDER BY bytes DESC, subject
 LIMIT 20)
UNION ALL
SELECT 'indexes_missing_fk', CASE count(*) WHEN 0 THEN 'ok' ELSE 'warn' END,
  CASE count(*) WHEN 0 THEN 'foreign keys' ELSE format('%s more foreign keys', count(*) - 20) END,
  CASE count(*) WHEN 0 THEN 'each has an index' ELSE '' END, 'none', ''
FROM found HAVING count(*) = 0 OR count(*) > 20
