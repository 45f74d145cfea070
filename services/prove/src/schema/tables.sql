WITH own AS (
  SELECT n.oid, n.nspname FROM pg_namespace n
  WHERE n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
), relation AS (
  SELECT c.oid, c.relname, c.relkind, c.relispartition, c.relrowsecurity, own.nspname
  FROM pg_class c JOIN own ON own.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'v', 'm') AND NOT EXISTS (SELECT FROM pg_depend d
    WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
), used AS (
  SELECT o.polrelid, d.refobjid, d.refobjsubid
  FROM pg_policy o JOIN pg_depend d ON d.classid = 'pg_policy'::regclass AND d.objid = o.oid
  WHERE d.refclassid = 'pg_class'::regclass AND d.refobjsubid > 0
), domain AS (
  WITH RECURSIVE below AS (
    SELECT t.oid, t.typbasetype AS base, t.typtypmod AS modifier, t.oid AS of FROM pg_type t
    WHERE t.typtype = 'd'
    UNION ALL
    SELECT t.oid, t.typbasetype, t.typtypmod, b.of FROM below b JOIN pg_type t ON t.oid = b.base
    WHERE t.typtype = 'd'
  )
  SELECT b.of AS oid, b.base, b.modifier FROM below b JOIN pg_type t ON t.oid = b.base
  WHERE t.typtype <> 'd'
), columns AS (
  SELECT a.attrelid, a.attnum, a.attname, json_build_object(
    'name', a.attname, 'quoted', quote_ident(a.attname),
    'base', coalesce(member.typname, t.typname),
    'is_array', member.oid IS NOT NULL,
    'is_required', a.attnotnull OR typ.typnotnull,
    'has_default', a.atthasdef OR a.attidentity <> '' OR typ.typdefault IS NOT NULL,
    'is_drawn', a.attidentity <> '' OR coalesce(pg_get_expr(e.adbin, e.adrelid) LIKE 'nextval(%', false),
    'is_generated', a.attgenerated <> '' OR a.attidentity = 'a',
    'is_policy', EXISTS (SELECT FROM used u
      WHERE u.polrelid = a.attrelid AND u.refobjid = a.attrelid AND u.refobjsubid = a.attnum),
    'length', CASE
      WHEN t.typname IN ('varchar', 'bpchar') AND modifier.value > 4 THEN modifier.value - 4
      WHEN t.typname IN ('vector', 'halfvec', 'bit', 'varbit') AND modifier.value > 0
        THEN modifier.value END,
    'labels', ARRAY(SELECT l.enumlabel::text FROM pg_enum l
      WHERE l.enumtypid = coalesce(member.oid, t.oid) ORDER BY l.enumsortorder),
    'checks', ARRAY(SELECT pg_get_constraintdef(k.oid) FROM pg_constraint k
      WHERE k.contype = 'c' AND (k.conrelid = a.attrelid AND a.attnum = ANY (k.conkey)
        OR k.contypid = a.atttypid) ORDER BY k.conname) || ARRAY(
      SELECT pg_get_expr(part.relpartbound, part.oid)
      FROM pg_partitioned_table p JOIN pg_inherits i ON i.inhparent = p.partrelid
        JOIN pg_class part ON part.oid = i.inhrelid
      WHERE p.partrelid = a.attrelid AND a.attnum = ANY (p.partattrs::int2[])
      ORDER BY part.relname)) AS described
  FROM pg_attribute a JOIN relation r ON r.oid = a.attrelid
    JOIN pg_type typ ON typ.oid = a.atttypid
    LEFT JOIN domain d ON d.oid = typ.oid
    JOIN pg_type t ON t.oid = coalesce(d.base, typ.oid)
    LEFT JOIN pg_type member ON member.oid = t.typelem AND t.typcategory = 'A'
    CROSS JOIN LATERAL (SELECT coalesce(d.modifier, a.atttypmod) AS value) AS modifier
    LEFT JOIN pg_attrdef e ON e.adrelid = a.attrelid AND e.adnum = a.attnum
  WHERE a.attnum > 0 AND NOT a.attisdropped
)
SELECT json_build_object(
  'relations', (SELECT coalesce(json_agg(json_build_object(
      'oid', r.oid::text, 'schema', r.nspname, 'name', r.relname,
      'quoted', format('%I.%I', r.nspname, r.relname), 'kind', r.relkind,
      'is_partition', r.relispartition, 'is_protected', r.relrowsecurity,
      'policies', ARRAY(SELECT o.polname::text FROM pg_policy o WHERE o.polrelid = r.oid ORDER BY 1),
      'read_by_policies', (SELECT coalesce(json_agg(DISTINCT jsonb_build_object(
          'oid', u.refobjid::text, 'name', a.attname)), '[]')
        FROM used u JOIN pg_attribute a ON a.attrelid = u.refobjid AND a.attnum = u.refobjsubid
        WHERE u.polrelid = r.oid AND u.refobjid <> r.oid),
      'columns', (SELECT coalesce(json_agg(c.described ORDER BY c.attnum), '[]')
        FROM columns c WHERE c.attrelid = r.oid),
      'unique', (SELECT coalesce(json_agg(x.names ORDER BY x.oid), '[]') FROM (
          SELECT i.indexrelid AS oid, ARRAY(SELECT a.attname::text FROM pg_attribute a
            WHERE a.attrelid = r.oid AND a.attnum = ANY (i.indkey::int2[]) ORDER BY 1) AS names
          FROM pg_index i WHERE i.indrelid = r.oid AND i.indisunique AND i.indexprs IS NULL) AS x)
    ) ORDER BY r.nspname, r.relname), '[]') FROM relation r),
  'keys', (SELECT coalesce(json_agg(json_build_object(
      'child', k.conrelid::oid::text, 'parent', k.confrelid::oid::text,
      'columns', ARRAY(SELECT a.attname::text FROM unnest(k.conkey) WITH ORDINALITY AS c (number, place)
        JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = c.number ORDER BY place),
      'parent_columns', ARRAY(SELECT a.attname::text
        FROM unnest(k.confkey) WITH ORDINALITY AS c (number, place)
        JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = c.number ORDER BY place)
    ) ORDER BY r.nspname, r.relname, k.conname), '[]')
    FROM (SELECT oid, conname, contype, conkey, confkey, conrelid, confrelid FROM pg_constraint) AS k
      JOIN relation r ON r.oid = k.conrelid
    WHERE k.contype = 'f'),
  'functions', (SELECT coalesce(json_agg(json_build_object(
      'oid', f.oid::text, 'schema', own.nspname,
      'name', format('%s(%s)', f.proname, pg_get_function_identity_arguments(f.oid)),
      'quoted', format('%I.%I', own.nspname, f.proname),
      'arguments', (SELECT coalesce(json_agg(json_build_object(
          'declared', format_type(t.oid, NULL), 'base', t.typname) ORDER BY place), '[]')
        FROM unnest(f.proargtypes) WITH ORDINALITY AS c (type, place) JOIN pg_type t ON t.oid = c.type)
    ) ORDER BY own.nspname, f.proname, pg_get_function_identity_arguments(f.oid)), '[]')
    FROM pg_proc f JOIN own ON own.oid = f.pronamespace
    WHERE f.prokind = 'f' AND f.prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype)
      AND (own.nspname, f.proname) <> ('ziggurat', 'claim')
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass
        AND d.objid = f.oid AND d.deptype = 'e')),
  'sequences', (SELECT coalesce(json_agg(json_build_object(
      'oid', c.oid::text, 'schema', own.nspname, 'name', c.relname,
      'quoted', format('%I.%I', own.nspname, c.relname)) ORDER BY own.nspname, c.relname), '[]')
    FROM pg_class c JOIN own ON own.oid = c.relnamespace
    WHERE c.relkind = 'S' AND NOT EXISTS (SELECT FROM pg_depend d
      WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'))
)
