-- Sessions, prepared transactions and slots that keep VACUUM from removing dead rows. Slots
-- and the feedback of standbys hold a transaction id without a time, so they are judged by its age.
WITH session AS (
  SELECT pid, usename, datname, state, xact_start, backend_xmin,
    datid IS NOT NULL AND state IS NULL AND query = '<insufficient privilege>' AS hidden
  FROM pg_stat_activity
  WHERE pid <> pg_backend_pid() AND usesysid IS NOT NULL
), timed AS (
  SELECT format('pid %s (%s on %s)', pid, usename, datname) AS subject,
    'transaction, ' || coalesce(state, 'no state') AS kind, xact_start AS since,
    format('end it: SELECT pg_terminate_backend(%s);', pid) AS advice
  FROM session WHERE xact_start IS NOT NULL
  UNION ALL
  SELECT format('prepared transaction %L (%s on %s)', gid, owner, database),
    'prepared transaction', prepared, format('COMMIT PREPARED %L; or ROLLBACK PREPARED %L;', gid, gid)
  FROM pg_prepared_xacts
), aged AS (
  SELECT format('slot %s', slot_name) AS subject,
    greatest(age(xmin), age(catalog_xmin)) AS age,
    CASE WHEN active THEN 'its reader is slow or has an old transaction'
      ELSE format('if its reader is gone: SELECT pg_drop_replication_slot(%L);', slot_name) END
      AS advice
  FROM pg_replication_slots WHERE xmin IS NOT NULL OR catalog_xmin IS NOT NULL
  UNION ALL
  SELECT format('pid %s (feedback of a standby)', pid), age(backend_xmin),
    'end the old transaction on the standby, or set hot_standby_feedback = off there'
  FROM session WHERE xact_start IS NULL AND backend_xmin IS NOT NULL
), found AS (
  SELECT CASE WHEN now() - since > interval '2 hours' THEN 'critical' ELSE 'warn' END AS status,
    subject, format('%s for %s s', kind, extract(epoch FROM now() - since)::bigint) AS value,
    '15 min / 2 h' AS threshold, advice, extract(epoch FROM now() - since)::bigint AS weight
  FROM timed WHERE now() - since > interval '15 min'
  UNION ALL
  SELECT CASE WHEN age > 50000000 THEN 'critical' ELSE 'warn' END, subject,
    format('holds back %s transactions', age), '1000000 / 50000000 transactions', advice, age
  FROM aged WHERE age > 1000000
  UNION ALL
  SELECT 'unknown', format('%s sessions', count(*)), '', '15 min / 2 h',
    format('transactions of other roles are hidden: GRANT pg_read_all_stats TO %I;', current_user),
    0
  FROM session WHERE hidden HAVING count(*) > 0
)
(SELECT 'long_transactions' AS "check", status, subject, value, threshold, advice
 FROM found
 ORDER BY array_position(ARRAY['critical', 'warn'], status), weight DESC
 LIMIT 20)
UNION ALL
SELECT 'long_transactions', 'ok', 'transactions', 'none is old', '15 min / 2 h', ''
WHERE NOT EXISTS (SELECT FROM found)
