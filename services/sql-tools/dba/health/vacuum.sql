-- Dead rows against the number at which autovacuum starts, by the table's own settings.
WITH candidate AS (
  SELECT c.oid, format('%I.%I', s.schemaname, s.relname) AS subject, s.n_dead_tup AS dead,
    greatest(c.reltuples, 0) AS live, greatest(s.last_vacuum, s.last_autovacuum) AS vacuumed,
    (SELECT jsonb_object_agg(option_name, option_value) FROM pg_options_to_table(c.reloptions)) AS own
  FROM pg_stat_user_tables s
  JOIN pg_class c ON c.oid = s.relid
  WHERE s.n_dead_tup > 0 AND c.relkind IN ('r', 'm') AND c.relpersistence <> 't'
    AND (:schema IS NULL OR s.schemaname = :schema)
), measured AS (
  SELECT subject, dead, vacuumed,
    coalesce((own->>'autovacuum_enabled')::boolean, true) AS enabled,
    coalesce(own->>'autovacuum_vacuum_threshold', current_setting('autovacuum_vacuum_threshold'))
      ::float8
    + coalesce(own->>'autovacuum_vacuum_scale_factor',
        current_setting('autovacuum_vacuum_scale_factor'))::float8 * live AS own_limit,
    -- From version 18 on; -1 is none.
    nullif(coalesce(own->>'autovacuum_vacuum_max_threshold',
      current_setting('autovacuum_vacuum_max_threshold', true), '-1')::float8, -1) AS most
  FROM candidate
), found AS (
  SELECT subject, dead, vacuumed, enabled, least(own_limit, most) AS start_at,
    CASE WHEN dead > 4 * least(own_limit, most)
        AND coalesce(vacuumed < now() - interval '1 day', true) THEN 'critical'
      ELSE 'warn' END AS status
  FROM measured
  WHERE dead > least(own_limit, most)
)
(SELECT 'vacuum' AS "check", status, subject,
   format('%s dead rows, last vacuum %s', dead,
     coalesce(to_char(vacuumed AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI"Z"'), 'never')) AS value,
   format('%s / %s and none for a day', round(start_at), round(4 * start_at)) AS threshold,
   CASE WHEN enabled THEN format('VACUUM (ANALYZE) %s;', subject)
     ELSE format('ALTER TABLE %s RESET (autovacuum_enabled); VACUUM (ANALYZE) %s;', subject, subject)
   END AS advice
 FROM found
 ORDER BY status, dead DESC, subject
 LIMIT 20)
UNION ALL
SELECT 'vacuum', CASE count(*) WHEN 0 THEN 'ok' ELSE 'warn' END,
  CASE count(*) WHEN 0 THEN 'tables' ELSE format('%s more tables', count(*) - 20) END,
  CASE count(*) WHEN 0 THEN 'none is over its threshold' ELSE '' END, '', ''
FROM found HAVING count(*) = 0 OR count(*) > 20
