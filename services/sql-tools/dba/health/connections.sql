-- Used connections against the limit for ordinary roles, and sessions that idle in a transaction.
WITH session AS (
  SELECT pid, usename, datname, state, state_change,
    state IS NULL AND query = '<insufficient privilege>' AS hidden
  FROM pg_stat_activity
  -- A role that may not see a session does not see its kind either; background processes have no
  -- database.
  WHERE datid IS NOT NULL AND usesysid IS NOT NULL
    AND coalesce(backend_type, 'client backend') = 'client backend'
), used AS (
  SELECT count(*) AS n, count(*) FILTER (WHERE hidden) AS hidden,
    current_setting('max_connections')::int
      - current_setting('superuser_reserved_connections')::int
      - coalesce(current_setting('reserved_connections', true), '0')::int AS most
  FROM session
), idle AS (
  SELECT pid, usename, datname, extract(epoch FROM now() - state_change)::bigint AS seconds,
    now() - state_change > interval '1 hour' AS critical
  FROM session
  WHERE state LIKE 'idle in transaction%' AND now() - state_change > interval '5 min'
), found AS (
  SELECT 1 AS part, n AS weight,
    CASE WHEN n >= most * 0.95 THEN 'critical' WHEN n >= most * 0.80 THEN 'warn' ELSE 'ok' END
      AS status,
    'connections' AS subject,
    format('%s of %s (%s %%)', n, most, round(100.0 * n / most)) AS value,
    '80 % / 95 %' AS threshold,
    CASE WHEN n >= most * 0.80 THEN 'use a pooler, or raise max_connections' ELSE '' END AS advice
  FROM used
  UNION ALL
  SELECT 2, seconds, CASE WHEN critical THEN 'critical' ELSE 'warn' END,
    format('pid %s (%s on %s)', pid, usename, datname),
    format('idle in a transaction for %s s', seconds), '5 min / 1 h',
    format('end it: SELECT pg_terminate_backend(%s); and set idle_in_transaction_session_timeout',
      pid)
  FROM idle
  UNION ALL
  SELECT 3, 0, 'unknown', format('%s sessions', hidden), '', '5 min / 1 h',
    format('sessions of other roles are hidden: GRANT pg_read_all_stats TO %I;', current_user)
  FROM used WHERE hidden > 0
)
SELECT 'connections' AS "check", status, subject, value, threshold, advice
FROM (SELECT *, row_number() OVER (PARTITION BY part ORDER BY weight DESC) AS place FROM found) f
WHERE place <= 20
ORDER BY part, place
