-- Constraints that old rows may break, and triggers that do not fire.
WITH found AS (
  SELECT format('%s of %s', format('%I', k.conname), format('%I.%I', n.nspname, c.relname))
      AS subject,
    'not validated: old rows may break it' AS value,
    format('ALTER TABLE %I.%I VALIDATE CONSTRAINT %I;', n.nspname, c.relname, k.conname) AS advice
  FROM pg_constraint k
  JOIN pg_class c ON c.oid = k.conrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE NOT k.convalidated AND k.conparentid = 0 AND (:schema IS NULL OR n.nspname = :schema)
    -- From version 18 on a constraint may be NOT ENFORCED on purpose.
    AND coalesce(to_jsonb(k)->>'conenforced', 'true') = 'true'
  UNION ALL
  SELECT format('trigger %s of %s', format('%I', t.tgname), format('%I.%I', n.nspname, c.relname)),
    'disabled', format('ALTER TABLE %I.%I ENABLE TRIGGER %I;', n.nspname, c.relname, t.tgname)
  FROM pg_trigger t
  JOIN pg_class c ON c.oid = t.tgrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE t.tgenabled = 'D' AND NOT t.tgisinternal AND t.tgparentid = 0
    AND (:schema IS NULL OR n.nspname = :schema)
  UNION ALL
  SELECT format('%s of %s', format('%I', k.conname), format('%I.%I', n.nspname, c.relname)),
    format('not checked for changes of %s: its triggers are disabled',
      string_agg(DISTINCT format('%I.%I', m.nspname, d.relname), ', ')),
    string_agg(DISTINCT format('ALTER TABLE %I.%I ENABLE TRIGGER ALL;', m.nspname, d.relname), ' ')
  FROM pg_trigger t
  JOIN pg_class d ON d.oid = t.tgrelid
  JOIN pg_namespace m ON m.oid = d.relnamespace
  JOIN pg_constraint k ON k.oid = t.tgconstraint
  JOIN pg_class c ON c.oid = k.conrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE t.tgenabled = 'D' AND t.tgisinternal AND (:schema IS NULL OR n.nspname = :schema)
  GROUP BY k.oid, k.conname, n.nspname, c.relname
)
(SELECT 'constraints' AS "check", 'warn' AS status, subject, value, 'none' AS threshold, advice
 FROM found
 ORDER BY subject
 LIMIT 20)
UNION ALL
SELECT 'constraints', CASE count(*) WHEN 0 THEN 'ok' ELSE 'warn' END,
  CASE count(*) WHEN 0 THEN 'constraints' ELSE format('%s more', count(*) - 20) END,
  CASE count(*) WHEN 0 THEN 'all are validated, no trigger is disabled' ELSE '' END, 'none', ''
FROM found HAVING count(*) = 0 OR count(*) > 20
