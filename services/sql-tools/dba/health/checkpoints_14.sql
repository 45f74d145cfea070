-- Checkpoints before version 17. Columns are read by name from JSON, so that the statement is
-- accepted by each version.
WITH known AS (
  SELECT (to_jsonb(b)->>'checkpoints_timed')::bigint AS timed,
    (to_jsonb(b)->>'checkpoints_req')::bigint AS asked, stats_reset
  FROM pg_stat_bgwriter b
)
SELECT 'checkpoints' AS "check", CASE WHEN asked > timed AND asked >= 10 THEN 'warn' ELSE 'ok' END
    AS status,
  'checkpoints' AS subject, format('%s asked for, %s timed, since %s', asked, timed,
    to_char(stats_reset AT TIME ZONE 'UTC', 'YYYY-MM-DD')) AS value,
  'more asked for than timed, from 10 on' AS threshold,
  CASE WHEN asked > timed AND asked >= 10 THEN format('raise max_wal_size (now %s)',
    current_setting('max_wal_size')) ELSE '' END AS advice
FROM known
