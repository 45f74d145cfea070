-- Checkpoints from version 17 on; on a standby its restartpoints.
WITH known AS (
  SELECT CASE WHEN pg_is_in_recovery() THEN restartpoints_timed ELSE num_timed END AS timed,
    CASE WHEN pg_is_in_recovery() THEN restartpoints_req ELSE num_requested END AS asked, stats_reset
  FROM pg_stat_checkpointer
)
SELECT 'checkpoints' AS "check", CASE WHEN asked > timed AND asked >= 10 THEN 'warn' ELSE 'ok' END
    AS status,
  'checkpoints' AS subject, format('%s asked for, %s timed, since %s', asked, timed,
    to_char(stats_reset AT TIME ZONE 'UTC', 'YYYY-MM-DD')) AS value,
  'more asked for than timed, from 10 on' AS threshold,
  CASE WHEN asked > timed AND asked >= 10 THEN format('raise max_wal_size (now %s)',
    current_setting('max_wal_size')) ELSE '' END AS advice
FROM known
