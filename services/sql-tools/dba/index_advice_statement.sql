-- The text of a statement by its queryid, which has an entry for each role and each nesting; else
-- the reason why there may be one that is not seen.
SELECT max(query) FILTER (WHERE queryid = $1::bigint) AS query,
  CASE WHEN bool_or(queryid IS NULL) THEN
    format('statements of other roles are hidden: GRANT pg_read_all_stats TO %I;', current_user)
  END AS hidden
FROM pg_stat_statements
WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
