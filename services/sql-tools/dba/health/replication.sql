-- Standbys, slots, and on a standby its receiver.
WITH place AS (
  -- Volatile functions: each is only called where it is allowed.
  SELECT pg_is_in_recovery() AS standby,
    CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn() ELSE pg_current_wal_lsn() END AS lsn
), sender AS (
  SELECT format('standby %s (pid %s)', coalesce(nullif(r.application_name, ''), '?'), r.pid)
      AS subject,
    r.replay_lag AS lag, pg_wal_lsn_diff(p.lsn, r.replay_lsn) AS bytes, r.state,
    r.state IS NULL AS hidden
  FROM pg_stat_replication r CROSS JOIN place p
), slot AS (
  SELECT format('slot %s', s.slot_name) AS subject, s.slot_name, s.active, s.wal_status,
    pg_wal_lsn_diff(p.lsn, s.restart_lsn) AS bytes,
    -- From versions 17 and 16 on.
    (to_jsonb(s)->>'inactive_since')::timestamptz AS since,
    coalesce((to_jsonb(s)->>'conflicting')::boolean, false) AS conflicting
  FROM pg_replication_slots s CROSS JOIN place p
), receiver AS (
  SELECT w.running, pg_wal_lsn_diff(p.lsn, pg_last_wal_replay_lsn()) AS bytes,
    CASE WHEN p.lsn IS DISTINCT FROM pg_last_wal_replay_lsn()
      THEN now() - pg_last_xact_replay_timestamp() END AS lag
  FROM place p
  CROSS JOIN LATERAL (SELECT EXISTS (SELECT FROM pg_stat_wal_receiver) AS running) w
  WHERE p.standby
), found AS (
  SELECT CASE WHEN lag > interval '60 s' OR bytes > 10737418240 THEN 'critical'
      WHEN lag > interval '10 s' OR bytes > 1073741824 OR state <> 'streaming' THEN 'warn'
      ELSE 'ok' END AS status,
    subject,
    format('%s, %s s and %s MB behind', state, coalesce(round(extract(epoch FROM lag), 1), 0),
      round(coalesce(bytes, 0) / 1048576)) AS value,
    '10 s or 1 GB / 60 s or 10 GB' AS threshold,
    CASE WHEN lag > interval '10 s' OR bytes > 1073741824
      THEN 'look at the load, disk and network of the standby, and at queries on it' ELSE '' END
      AS advice
  FROM sender WHERE NOT hidden
  UNION ALL
  SELECT 'unknown', format('%s standbys', count(*)), '', '10 s or 1 GB / 60 s or 10 GB',
    format('standbys are hidden: GRANT pg_read_all_stats TO %I;', current_user)
  FROM sender WHERE hidden HAVING count(*) > 0
  UNION ALL
  SELECT CASE WHEN wal_status = 'lost' OR conflicting OR bytes > 10737418240
        OR NOT active AND since < now() - interval '1 day' THEN 'critical'
      WHEN wal_status = 'unreserved' OR bytes > 1073741824 THEN 'warn' ELSE 'ok' END,
    subject,
    format('%s, %s, keeps %s MB of WAL',
      CASE WHEN active THEN 'active' WHEN since IS NULL THEN 'inactive' ELSE 'inactive since '
        || to_char(since AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI"Z"') END,
      coalesce(wal_status, 'reserves nothing'), round(coalesce(bytes, 0) / 1048576)),
    'unreserved or 1 GB / lost, 10 GB or inactive for a day',
    CASE WHEN wal_status = 'lost' OR conflicting OR NOT active
      THEN format('if its reader is gone: SELECT pg_drop_replication_slot(%L);', slot_name)
      WHEN wal_status = 'unreserved' OR bytes > 1073741824 THEN 'its reader is slow' ELSE '' END
  FROM slot
  UNION ALL
  SELECT CASE WHEN lag > interval '60 s' OR bytes > 10737418240 THEN 'critical'
      WHEN lag > interval '10 s' OR bytes > 1073741824 OR NOT running THEN 'warn' ELSE 'ok' END,
    'this standby',
    format('receiver %s, %s s and %s MB to replay',
      CASE WHEN running THEN 'running' ELSE 'not running' END,
      coalesce(round(extract(epoch FROM lag), 1), 0), round(coalesce(bytes, 0) / 1048576)),
    '10 s or 1 GB / 60 s or 10 GB',
    CASE WHEN running THEN '' ELSE 'look at primary_conninfo and the log of this server' END
  FROM receiver
)
(SELECT 'replication' AS "check", status, subject, value, threshold, advice
 FROM found
 ORDER BY array_position(ARRAY['critical', 'warn', 'unknown', 'ok'], status), subject
 LIMIT 20)
UNION ALL
SELECT 'replication', 'ok', 'replication', 'no standbys and no slots', '', ''
WHERE NOT EXISTS (SELECT FROM found)
