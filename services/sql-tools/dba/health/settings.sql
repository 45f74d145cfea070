-- Settings that lose data or blind the server, and those that wait for a restart.
WITH rule (name, bad, status, reason) AS (
  VALUES ('fsync', 'off', 'critical', 'a crash of the machine destroys the database'),
    ('full_page_writes', 'off', 'critical', 'a crash of the machine can tear pages'),
    ('autovacuum', 'off', 'critical', 'tables bloat, and transaction ids run out'),
    ('zero_damaged_pages', 'on', 'critical', 'damaged pages are emptied without a word'),
    ('ignore_checksum_failure', 'on', 'critical', 'damaged pages are read as if they were good'),
    ('track_counts', 'off', 'critical', 'autovacuum works only with it'),
    ('track_activities', 'off', 'warn', 'sessions and their statements cannot be seen'),
    ('synchronous_commit', 'off', 'warn', 'a crash loses the last commits'),
    ('password_encryption', 'md5', 'warn', 'md5 is deprecated: scram-sha-256')
), found AS (
  SELECT r.status, r.name AS subject, s.setting AS value, 'not ' || r.bad AS threshold,
    r.reason || format('; ALTER SYSTEM RESET %s; SELECT pg_reload_conf();', r.name) AS advice
  FROM rule r JOIN pg_settings s ON s.name = r.name
  WHERE s.setting = r.bad
  UNION ALL
  SELECT 'warn', s.name, s.setting, 'in force', 'its new value waits for a restart of the server'
  FROM pg_settings s WHERE s.pending_restart
)
SELECT 'settings' AS "check", status, subject, value, threshold, advice FROM found
UNION ALL
SELECT 'settings', 'ok', 'settings', 'nothing dangerous', '', '' WHERE NOT EXISTS (SELECT FROM found)
ORDER BY status, subject
