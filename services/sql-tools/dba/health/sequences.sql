-- Sequences against their own limit and that of the column they feed. Reading a value locks its
-- sequence, and the locks of a server are limited: so only the 1000 that can end first are read.
WITH known AS (
  SELECT c.oid, n.nspname, format('%I.%I', n.nspname, c.relname) AS subject, s.seqmin, s.seqmax,
    s.seqincrement, s.seqcycle, has_sequence_privilege(c.oid, 'SELECT, USAGE') AS visible
  FROM pg_sequence s
  JOIN pg_class c ON c.oid = s.seqrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE (:schema IS NULL OR n.nspname = :schema) AND NOT pg_is_other_temp_schema(n.oid)
    -- The value of an unlogged sequence cannot be read on a standby.
    AND (c.relpersistence <> 'u' OR NOT pg_is_in_recovery())
), fed AS (
  -- Columns that own a sequence, or whose default reads it.
  SELECT d.objid AS oid, d.refobjid AS attrelid, d.refobjsubid AS attnum
  FROM pg_depend d
  WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
    AND d.refobjsubid > 0 AND d.deptype IN ('a', 'i')
  UNION
  SELECT d.refobjid, a.adrelid, a.adnum
  FROM pg_depend d
  JOIN pg_attrdef a ON a.oid = d.objid
  WHERE d.classid = 'pg_attrdef'::regclass AND d.refclassid = 'pg_class'::regclass
), narrow AS (
  SELECT DISTINCT ON (f.oid) f.oid, format('%I.%I.%I', n.nspname, t.relname, a.attname) AS name,
    CASE a.atttypid WHEN 'int2'::regtype THEN 32767 ELSE 2147483647 END AS most
  FROM fed f
  JOIN pg_attribute a ON a.attrelid = f.attrelid AND a.attnum = f.attnum
  JOIN pg_class t ON t.oid = f.attrelid
  JOIN pg_namespace n ON n.oid = t.relnamespace
  WHERE a.atttypid IN ('int2'::regtype, 'int4'::regtype)
  ORDER BY f.oid, a.attlen
), limited AS (
  SELECT k.*, n.name, CASE WHEN k.seqincrement > 0 THEN least(k.seqmax, n.most) ELSE k.seqmin END
      AS most,
    row_number() OVER (ORDER BY CASE WHEN k.seqincrement > 0
      THEN least(k.seqmax, n.most) - k.seqmin::numeric ELSE k.seqmax - k.seqmin::numeric END, k.oid)
      AS place
  FROM known k LEFT JOIN narrow n ON n.oid = k.oid
  WHERE k.visible
    -- One that begins anew never ends, unless its column ends first.
    AND (NOT k.seqcycle OR n.most < k.seqmax)
), read AS MATERIALIZED (
  SELECT *, pg_sequence_last_value(oid)::numeric AS last_value FROM limited WHERE place <= 1000
), judged AS (
  SELECT subject, last_value, name, most,
    CASE WHEN seqincrement > 0 THEN (last_value - seqmin) / nullif(most - seqmin::numeric, 0)
      ELSE (seqmax - last_value) / nullif(seqmax - seqmin::numeric, 0) END AS share
  FROM read
), found AS (
  SELECT *, CASE WHEN share >= 0.90 THEN 'critical' ELSE 'warn' END AS status
  FROM judged WHERE share >= 0.75
)
(SELECT 'sequences' AS "check", status, subject,
   format('%s of %s (%s %%)', last_value, most, round(100 * share)) AS value,
   '75 % / 90 %' AS threshold,
   CASE WHEN name IS NOT NULL THEN format('make the column %s bigint, and the sequence too', name)
     ELSE format('ALTER SEQUENCE %s AS bigint NO MAXVALUE;', subject) END AS advice
 FROM found
 ORDER BY share DESC, subject
 LIMIT 20)
UNION ALL
SELECT 'sequences', CASE count(*) WHEN 0 THEN 'ok' ELSE 'warn' END,
  CASE count(*) WHEN 0 THEN 'sequences' ELSE format('%s more sequences', count(*) - 20) END,
  CASE count(*) WHEN 0 THEN 'none that can be read is near its end' ELSE '' END, '75 % / 90 %', ''
FROM found HAVING count(*) = 0 OR count(*) > 20
UNION ALL
SELECT 'sequences', 'unknown', format('%s sequences in %I', count(*), nspname), '', '75 % / 90 %',
  format('values of sequences are hidden: GRANT SELECT ON ALL SEQUENCES IN SCHEMA %I TO %I;',
    nspname, current_user)
FROM known WHERE NOT visible GROUP BY nspname
UNION ALL
SELECT 'sequences', 'unknown', format('%s more sequences', count(*)), '', '75 % / 90 %',
  'too many to read at once: ask for one schema at a time'
FROM limited WHERE place > 1000 HAVING count(*) > 0
