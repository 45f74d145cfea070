-- Weaknesses of row security: ways to the rows of others. Callers have the roles of this session. The
-- check of a configuration puts the roles of its rules in place of NULL, and its own end.
WITH given AS (
  SELECT NULL::text[] AS roles
), caller AS (
  SELECT r.oid, r.rolname FROM pg_roles r
  WHERE NOT r.rolsuper AND NOT r.rolbypassrls
    AND r.rolname = ANY (coalesce((SELECT roles FROM given), ARRAY[current_user::text, session_user::text]))
), own AS (
  SELECT n.oid, n.nspname FROM pg_namespace n
  WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_(toast|temp)'
), protected AS (
  SELECT n.nspname, c.oid, c.relowner, c.relforcerowsecurity AS is_forced,
    format('%I.%I', n.nspname, c.relname) AS name
  FROM pg_class c JOIN own n ON n.oid = c.relnamespace
  WHERE c.relrowsecurity AND c.relkind IN ('r', 'p')
), policy AS (
  SELECT p.nspname, p.name, p.oid AS relation, format('policy %I', o.polname) AS policy, o.oid, o.polcmd,
    o.polroles, o.polpermissive,
    pg_get_expr(o.polqual, o.polrelid) AS qual,
    concat_ws(' ', pg_get_expr(o.polqual, o.polrelid), pg_get_expr(o.polwithcheck, o.polrelid))
      AS text
  FROM pg_policy o JOIN protected p ON p.oid = o.polrelid
), uses (reader, relation) AS (
  -- Views and the tables below them, over views too.
  WITH RECURSIVE direct AS (
    SELECT w.ev_class AS reader, d.refobjid AS relation
    FROM pg_rewrite w JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
      AND d.refclassid = 'pg_class'::regclass
    WHERE d.refobjid <> w.ev_class
  ), below AS (
    SELECT reader, relation FROM direct
    UNION SELECT b.reader, d.relation FROM below b JOIN direct d ON d.reader = b.relation
  )
  SELECT DISTINCT b.reader, b.relation FROM below b JOIN protected p ON p.oid = b.relation
), seen AS (
  SELECT n.nspname, c.oid, c.relkind, c.relowner, c.reloptions,
    format('%I.%I', n.nspname, c.relname) AS name
  FROM pg_class c JOIN own n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('v', 'm')
    AND EXISTS (SELECT FROM caller r WHERE has_table_privilege(r.oid, c.oid, 'SELECT'))
), routine AS (
  SELECT n.nspname, f.oid, f.proowner, f.prosecdef, f.prosrc, f.proconfig, l.lanname,
    format('%I.%I(%s)', n.nspname, f.proname, pg_get_function_identity_arguments(f.oid)) AS name
  FROM pg_proc f JOIN own n ON n.oid = f.pronamespace JOIN pg_language l ON l.oid = f.prolang
  WHERE EXISTS (SELECT FROM protected)
    AND EXISTS (SELECT FROM caller r WHERE has_function_privilege(r.oid, f.oid, 'EXECUTE'))
    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass
      AND d.objid = f.oid AND d.deptype = 'e')
    -- It checks the seals of this server.
    AND (n.nspname, f.proname) <> ('ziggurat', 'claim')
), bypassing AS (
  -- Owners of views and functions that see past the row security of a table.
  SELECT r.oid AS owner, p.oid AS relation
  FROM pg_roles r CROSS JOIN protected p
  WHERE r.oid IN (SELECT relowner FROM seen UNION SELECT proowner FROM routine WHERE prosecdef)
    AND (r.rolsuper OR r.rolbypassrls
    OR NOT p.is_forced AND pg_has_role(r.oid, p.relowner, 'USAGE'))
), found (kind, schema, is_problem, name, part, finding, advice) AS (
  SELECT 'cast', nspname, false, name, policy, 'a cast of current_setting fails where the setting is empty',
    'put nullif(…, '''') around current_setting: SET LOCAL leaves an empty value behind'
  FROM policy
  WHERE text ~ '\(current_setting\([^()]*\)\)::(?!text|character varying|name)'
  UNION ALL
  SELECT 'empty', nspname, false, name, policy, 'current_setting without nullif(…, '''')',
    'put nullif(…, '''') around current_setting: SET LOCAL leaves an empty value behind'
  FROM policy
  WHERE text ~ '(?<!NULLIF\()current_setting\('
    AND text !~ '\(current_setting\([^()]*\)\)::(?!text|character varying|name)'
  UNION ALL
  SELECT 'force', p.nspname, true, p.name, NULL,
    format('role %I owns the table, and row security is not forced', min(r.rolname)),
    format('ALTER TABLE %s FORCE ROW LEVEL SECURITY;', p.name)
  FROM protected p JOIN caller r ON pg_has_role(r.oid, p.relowner, 'USAGE')
  WHERE NOT p.is_forced GROUP BY p.nspname, p.name
  UNION ALL
  SELECT 'true', o.nspname, true, o.name, o.policy, 'lets all rows pass beside a policy of tenants',
    'name the roles that it is for, or remove it: policies that permit are joined by OR'
  FROM policy o
  WHERE o.polpermissive AND coalesce(o.qual, o.text) = 'true'
    AND (0 = ANY (o.polroles)
      OR EXISTS (SELECT FROM caller r, unnest(o.polroles) AS role WHERE role <> 0
        AND pg_has_role(r.oid, role, 'USAGE')))
    AND EXISTS (SELECT FROM policy t WHERE t.relation = o.relation AND t.oid <> o.oid
      AND t.text <> 'true' AND (t.polcmd = o.polcmd OR '*' IN (t.polcmd, o.polcmd)))
  UNION ALL
  SELECT 'view', v.nspname, false, v.name, NULL,
    'the view shows all rows, since its owner is not under row security',
    CASE WHEN current_setting('server_version_num')::int >= 150000
      THEN format('ALTER VIEW %s SET (security_invoker = true);', v.name)
      ELSE 'give it an owner that row security holds for' END
  FROM seen v
  WHERE v.relkind = 'v'
    AND NOT coalesce(v.reloptions && ARRAY['security_invoker=true', 'security_invoker=on',
      'security_invoker=1', 'security_invoker=yes'], false)
    AND EXISTS (SELECT FROM uses u JOIN bypassing b ON b.relation = u.relation
      WHERE u.reader = v.oid AND b.owner = v.relowner)
  UNION ALL
  SELECT 'stored', v.nspname, false, v.name, NULL, 'the materialized view holds rows of all',
    format('REVOKE SELECT ON %s FROM the roles of callers', v.name)
  FROM seen v
  WHERE v.relkind = 'm' AND EXISTS (SELECT FROM uses u WHERE u.reader = v.oid)
  UNION ALL
  SELECT 'definer', f.nspname, false, f.name, NULL,
    'SECURITY DEFINER of an owner that is not under row security',
    format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC;', f.name)
  FROM routine f
  WHERE f.prosecdef AND EXISTS (SELECT FROM bypassing b WHERE b.owner = f.proowner)
  UNION ALL
  SELECT 'function', f.nspname, false, f.name, NULL,
    'the function may change the role or a setting',
    format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC;', f.name)
  FROM routine f
  WHERE ((SELECT roles FROM given) IS NOT NULL OR session_user <> current_user
      OR EXISTS (SELECT FROM policy WHERE text LIKE '%current_setting(%'))
    AND (f.lanname NOT IN ('c', 'internal')
        AND f.prosrc ~* '\m(execute|set_config)\M|(^|;|\m(begin|then|else|loop)\M)\s*set\M'
      OR array_to_string(f.proconfig, ' ') ~* '(^| )role=')
  UNION ALL
  SELECT 'login', n.nspname, true, format('%I.%I', n.nspname, c.relname), NULL,
    format('the login role %I owns the table', session_user),
    format('ALTER TABLE %I.%I OWNER TO another role', n.nspname, c.relname)
  FROM pg_class c JOIN own n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p')
    AND ((SELECT roles FROM given) IS NOT NULL OR session_user <> current_user)
    AND c.relowner = (SELECT oid FROM pg_roles WHERE rolname = session_user)
  UNION ALL
  SELECT 'login', NULL, true, format('role %I', session_user), NULL,
    format('it is a member of %I, which no rule gives to a caller', r.rolname),
    format('REVOKE %I FROM %I;', r.rolname, session_user)
  FROM pg_roles r
  WHERE r.oid IN (SELECT m.roleid FROM pg_auth_members m JOIN pg_roles l ON l.oid = m.member
      WHERE l.rolname = session_user)
    AND r.rolname <> ALL ((SELECT roles FROM given)::text[])
)
-- End of the findings.
SELECT * FROM (
  SELECT 'policies' AS "check", CASE WHEN is_problem THEN 'critical' ELSE 'warn' END AS status,
    concat_ws(' of ', part, name) AS subject, finding AS value, 'none' AS threshold, advice
  FROM found WHERE :schema IS NULL OR schema = :schema
  ORDER BY is_problem DESC, 3 LIMIT 100) AS worst
UNION ALL
SELECT 'policies', 'ok', 'policies', 'no weakness was found', 'none', ''
WHERE NOT EXISTS (SELECT FROM found WHERE :schema IS NULL OR schema = :schema)
