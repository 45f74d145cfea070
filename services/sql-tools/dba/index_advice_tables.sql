-- The tables of index_advice: rows, columns that a B-tree can hold, B-trees that exist, the
-- partitioned table of a partition, and whether row security holds for the role on the table, or on
-- one that it is a part of. The values are their schemas and names.
WITH RECURSIVE found AS (
  SELECT c.oid, n.nspname, c.relname, c.relkind, greatest(c.reltuples, 0) AS rows,
    CASE WHEN c.relispartition THEN pg_partition_root(c.oid)::oid END AS root
  FROM unnest($1::text[], $2::text[]) wanted (schema, name)
  JOIN pg_namespace n ON n.nspname = wanted.schema
  JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = wanted.name
  WHERE c.relkind IN ('r', 'm', 'p')
), wholes (part, oid) AS (
  SELECT oid, oid FROM found
  UNION
  SELECT w.part, i.inhparent FROM wholes w JOIN pg_inherits i ON i.inhrelid = w.oid
), roots AS (
  SELECT r.oid, jsonb_build_object('schema', n.nspname, 'name', r.relname, 'rows', (
      SELECT coalesce(sum(greatest(leaf.reltuples, 0)), 0)
      FROM pg_partition_tree(r.oid) tree
      JOIN pg_class leaf ON leaf.oid = tree.relid
      WHERE tree.isleaf)) AS about
  FROM pg_class r
  JOIN pg_namespace n ON n.oid = r.relnamespace
  WHERE r.oid IN (SELECT root FROM found)
)
SELECT c.nspname AS schema, c.relname AS name, c.rows,
  (SELECT coalesce(jsonb_agg(jsonb_build_object(
      'name', a.attname,
      'type_name', format_type(a.atttypid, NULL),
      -- Negative numbers are shares of the rows. What a role cannot see is 0.
      'distinct', coalesce(CASE WHEN s.n_distinct < 0 THEN -s.n_distinct * c.rows
        ELSE s.n_distinct END, 0),
      'width', coalesce(s.avg_width, CASE WHEN a.attlen > 0 THEN a.attlen ELSE 16 END))
      ORDER BY a.attnum), '[]')
   FROM pg_attribute a
   JOIN pg_type t ON t.oid = a.atttypid
   LEFT JOIN pg_stats s ON s.schemaname = c.nspname AND s.tablename = c.relname
     AND s.attname = a.attname AND s.inherited = (c.relkind = 'p')
   WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated <> 'v'
     AND (t.typtype IN ('e', 'r') OR t.oid = 'varchar'::regtype OR EXISTS (
       SELECT FROM pg_opclass o JOIN pg_am m ON m.oid = o.opcmethod
       WHERE m.amname = 'btree' AND o.opcdefault
         AND o.opcintype = CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END))) AS columns,
  (SELECT coalesce(jsonb_agg(jsonb_build_object(
      -- Of a partitioned index that is the name which an operator has given.
      'name', (
        SELECT format('%I.%I', named_in.nspname, named.relname)
        FROM pg_class named
        JOIN pg_namespace named_in ON named_in.oid = named.relnamespace
        WHERE named.oid = coalesce(pg_partition_root(x.oid)::oid, x.oid)),
      'columns', (
        SELECT coalesce(jsonb_agg(a.attname ORDER BY k.place), '[]')
        FROM unnest(i.indkey::int2[]) WITH ORDINALITY k (number, place)
        JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number
        WHERE k.place <= i.indnkeyatts
          -- An expression has the number 0, and ends the columns that can be compared.
          AND k.place < coalesce(array_position(i.indkey::int2[], 0::int2) + 1, 1000)))
      ORDER BY x.relname), '[]')
   FROM pg_index i
   JOIN pg_class x ON x.oid = i.indexrelid
   JOIN pg_am m ON m.oid = x.relam AND m.amname = 'btree'
   WHERE i.indrelid = c.oid AND i.indisvalid AND i.indpred IS NULL) AS indexes,
  coalesce((SELECT about FROM roots WHERE roots.oid = c.root), 'null') AS root,
  (SELECT bool_or(row_security_active(w.oid)) FROM wholes w WHERE w.part = c.oid) AS is_secured
FROM found c
ORDER BY 1, 2
