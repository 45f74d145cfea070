"""Statements for both servers."""

# Each is selected alone, NULL among them, and in an array of its type.
VALUES = r"""
true
false
(-32768)::int2
32767::int2
2147483647
-1
(-9223372036854775808)::int8
42::int8
4294967295::oid
1.5::float4
0.1::float4
1e-7::float4
0.1::float8 + 0.2
1e20::float8
1e21::float8
1e300::float8
'1.7976931348623157e308'::float8
5e-324::float8
123456789.125::float8
'-0'::float8
'NaN'::float8
'Infinity'::float8
'-Infinity'::float4
19.90
'123456789012345678901234567890.00000000001'::numeric
'NaN'::numeric
'12.34'::money
'Ada'::text
''::text
E'tab\tline\nquote"back\\slash\u0001'::text
'Zoë 日本 🏺'::text
'NULL'::text
'{a,b}'::text
'Ada'::varchar(2)
'Ada'::char(5)
'A'::"char"
'Ada'::name
'very sad'::mood
7::percent
ROW(1, 'x')::pair
ROW(1, NULL, 'a b')
'\x'::bytea
'\x0001ff'::bytea
date '2024-01-31'
date '0001-01-01'
date '0099-12-31'
date '0044-03-15 BC'
date '12024-01-01'
date 'infinity'
date '-infinity'
timestamp '2024-01-31 12:34:56'
timestamp '2024-01-31 12:34:56.7'
timestamp '2024-01-31 12:34:56.789999'
timestamp '1969-12-31 23:59:59.999'
timestamp '0050-06-01 00:00'
timestamp '4713-01-01 00:00 BC'
timestamp '290000-01-01 00:00'
timestamp 'infinity'
timestamptz '2024-01-31 12:34:56.789+02'
timestamptz '2024-06-30 23:59:59.1234 Europe/Berlin'
timestamptz '-infinity'
time '12:34:56.789'
timetz '12:34:56+02'
interval '0'
interval '1 year 2 months 3 days 4 hours 5 minutes 6.789 seconds'
interval '-1 year +2 months -3 days'
interval '-04:05:06.000789'
interval '100:00:00.5'
interval '1 day -00:00:00.25'
interval '1 month'
point '(1.5,-2)'
point '(1e300,1e-7)'
point '(Infinity,NaN)'
circle '<(1,2),3.5>'
line '{1,2,3}'
lseg '[(0,0),(1,1)]'
box '(1,1),(0,0)'
path '((0,0),(1,1))'
polygon '((0,0),(1,1),(1,0))'
inet '192.168.0.1/24'
cidr '10.0.0.0/8'
macaddr '08:00:2b:01:02:03'
macaddr8 '08:00:2b:01:02:03:04:05'
bit '101'
varbit '1011'
uuid 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'
'{"b": 1.0, "a": [1, {"x": null}], "10": 1, "9": "z", "b": 2}'::json
'[1e2, 1.50, -0, 12345678901234567890, "é\u00e9\n", [], {}]'::json
'"text"'::json
'null'::json
'{"b": 1.50, "a": [], "10": {"2": 1, "1": 2}}'::jsonb
'null'::jsonb
'true'::jsonb
to_tsvector('english', 'a fat cat sat')
to_tsquery('english', 'fat & cat')
int4range(1, 10)
numrange(1.5, 2.5)
daterange('2024-01-01', '2024-02-01')
tstzrange('2024-01-01', NULL)
int4multirange(int4range(1, 3), int4range(5, 7))
'$.a[*]'::jsonpath
'pg_class'::regclass
'int4'::regtype
'sum(int4)'::regprocedure
'now'::regproc
'16/B374D848'::pg_lsn
'10:20:10,14,15'::pg_snapshot
'1 2 3'::int2vector
'1 2'::oidvector
'(1,2)'::tid
'7'::xid
'7'::cid
'7'::xid8
'cursor'::refcursor
'10:20:10'::txid_snapshot
('=r/' || quote_ident(current_user))::aclitem
'pg_catalog'::regnamespace
0::regrole
'english'::regconfig
'simple'::regdictionary
'"C"'::regcollation
0::regoper
0::regoperator
int8range(1, 2)
tsrange('2024-01-01', '2024-01-02')
int8multirange(int8range(1, 2))
nummultirange(numrange(1, 2))
datemultirange(daterange('2024-01-01', NULL))
tsmultirange(tsrange('2024-01-01', NULL))
tstzmultirange(tstzrange('2024-01-01', NULL))
""".strip().splitlines()

ARRAYS = r"""
ARRAY[true, NULL, false]
ARRAY[1, NULL, 3]::int2[]
ARRAY[1, NULL, 3]
ARRAY[1, 9223372036854775807]::int8[]
ARRAY[1.5, 'NaN', 'Infinity', NULL]::float4[]
ARRAY[1.5, 1e21, -0.0]::float8[]
ARRAY[1.50, NULL, 12345678901234567890]::numeric[]
ARRAY['a', NULL, '', 'NULL', 'a b', 'a"b', 'a\b', '{}', ',']
ARRAY['a', 'b']::varchar[]
ARRAY['a', 'b']::char(3)[]
ARRAY[[1, 2], [3, NULL]]
ARRAY[[['a'], ['b']], [['c'], ['d"']]]
'{}'::int[]
'[0:1]={7,8}'::int[]
'[-1:0][2:3]={{1,2},{3,4}}'::int[]
ARRAY['\x0102', NULL, '\x']::bytea[]
ARRAY['2024-01-31', 'infinity', NULL]::date[]
ARRAY['2024-01-31 12:34:56.5']::timestamp[]
ARRAY['2024-01-31 12:34:56.5+02', NULL]::timestamptz[]
ARRAY['1 day', NULL, '-01:00:00']::interval[]
ARRAY['(1,2)', NULL]::point[]
ARRAY['{"a": 1.0}', 'null', NULL]::json[]
ARRAY['{"b": [1], "a": "x\"y"}', '2']::jsonb[]
ARRAY['12:00', NULL]::time[]
ARRAY['12:00+01']::timetz[]
ARRAY['10.0.0.0/8']::cidr[]
ARRAY['10.0.0.1']::inet[]
ARRAY['08:00:2b:01:02:03']::macaddr[]
ARRAY['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11']::uuid[]
ARRAY['1.50']::money[]
ARRAY[1, 2]::oid[]
ARRAY['now']::regproc[]
ARRAY[numrange(1, 2), NULL]
ARRAY[int4range(1, 2)]
ARRAY['<(1,2),3>']::circle[]
ARRAY[box '(1,1),(0,0)', box '(2,2),(0,0)']
ARRAY['glad', 'very sad']::mood[]
ARRAY['a']::name[]
ARRAY['101']::bit(3)[]
ARRAY[ROW(1, 'x')::pair]
""".strip().splitlines()

STATEMENTS = r"""
SELECT 1
SELECT 1;
  SELECT 1 AS a ;
SELECT
SELECT WHERE false
SELECT NULL AS a, 1 AS b, 'x' AS c
SELECT 1 AS a, 2 AS b, 3 AS a
SELECT 1 AS b, 2 AS "2", 3 AS "10", 4 AS "1", 5 AS a, 6 AS "01"
SELECT 1, 2, 'x'
SELECT 2 AS "a ""b", 3 AS "é ü"
SELECT 'x' COLLATE "C" AS v
SELECT lower(name) AS lower, upper(name) FROM people ORDER BY id
SELECT * FROM people ORDER BY id
SELECT * FROM people p JOIN people q USING (id) ORDER BY id
SELECT p FROM people p ORDER BY id
SELECT * FROM orders ORDER BY id
SELECT * FROM orders ORDER BY id LIMIT 3 OFFSET 2
SELECT * FROM orders ORDER BY id DESC FETCH FIRST 2 ROWS ONLY
SELECT paid, count(*), sum(amount), avg(id) FROM orders GROUP BY paid ORDER BY 1
SELECT * FROM adults ORDER BY id
TABLE counts
VALUES (1, 'a'), (2, NULL)
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT * FROM t
SELECT 1 UNION SELECT 2 ORDER BY 1
SELECT jsonb_agg(p ORDER BY id) FROM people p
SELECT row_to_json(p) FROM people p ORDER BY id
SELECT array_agg(p.name ORDER BY id) FROM people p
SELECT generate_series(1, 3) AS n
SELECT repeat('x', 100000) AS long
SELECT * FROM unnest(ARRAY[1, 2], ARRAY['a', 'b']) AS t(n, s)
SELECT current_setting('transaction_read_only') AS read_only
SHOW standard_conforming_strings
EXPLAIN (COSTS OFF) SELECT * FROM people WHERE id = 1
EXPLAIN (COSTS OFF, FORMAT JSON) SELECT 1
SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1
SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'people' ORDER BY 1
SELECT attname, attnum FROM pg_attribute WHERE attrelid = 'people'::regclass ORDER BY attnum
SELECT relname, relkind FROM pg_class WHERE relname = 'people'
-- a comment alone
/* a comment */ SELECT 1 -- and another
SELECT 'a;b' AS semicolon
SELECT $$dollar 'quoted'$$ AS text
SELECT U&'d\0061t\+000061' AS escaped
SELECT 'x' AS "name" WHERE 1 = 1
SELECT date_trunc('day', timestamp '2024-01-31 12:34') AS day
SELECT extract(epoch FROM timestamptz '2024-01-31 00:00Z') AS seconds
SELECT count(*) FILTER (WHERE paid) AS paid FROM orders
SELECT id, lag(id) OVER (ORDER BY id) FROM orders ORDER BY id LIMIT 3
SELECT id FROM people WHERE name ~ '^A' AND born < now()
SELECT coalesce(tags, '{}') AS tags, tags[1] AS first FROM people ORDER BY id
SELECT DISTINCT ON (paid) paid, id FROM orders ORDER BY paid, id
""".strip("\n").splitlines()

QUERIES = [f"SELECT {value} AS v" for value in [*VALUES, *ARRAYS]] + STATEMENTS

ERRORS = r"""
SELEC 1
SELECT 1 FROM
SELECT FROM nowhere
SELECT nothing
SELECT nothing FROM people
SELECT p.nothing FROM people p
SELECT * FROM nowhere
SELECT * FROM other.nowhere
SELECT * FROM nowhere.people
SELECT unknown_function(1)
SELECT 1 / 0
SELECT 1 / (id - 100) FROM orders ORDER BY id
SELECT 'x'::int
SELECT '2024-13-01'::date
SELECT '{'::json
SELECT '{"a"}'::jsonb
SELECT '{1,2'::int[]
SELECT 'sad'::mood
SELECT 101::percent
SELECT 1 + 'a'
SELECT 1 + true
SELECT 2147483647 + 1
SELECT 'a' LIKE 'b' ESCAPE 'cc'
SELECT (SELECT id FROM orders)
SELECT id FROM people GROUP BY name
SELECT count(count(*)) FROM people
SELECT 1 UNION SELECT 'a'::date
SELECT $1
SELECT 'open
SELECT "open
SELECT (1
SELECT 1)
SELECT broken()
SELECT writes()
INSERT INTO orders VALUES (1)
UPDATE people SET name = 'x'
DELETE FROM people
CREATE TABLE made (id int)
DROP TABLE people
TRUNCATE orders
ALTER TABLE people ADD COLUMN x int
SELECT * FROM people FOR UPDATE
SELECT nextval('nowhere')
EXPLAIN SELECT * FROM nowhere
SHOW nothing
WITH t AS (DELETE FROM people RETURNING 1) SELECT * FROM t
SELECT * FROM orders ORDER BY nothing LIMIT 1
SELECT id FROM people, orders
""".strip("\n").splitlines()

# What a read-only transaction does not prevent, or what ends it.
REFUSED = [
    "SELECT pg_sleep(0), set_config('search_path', 'other', false)",
    "SELECT pg_read_file('/etc/passwd')",
    "COPY (SELECT 1) TO PROGRAM 'true'",
    "SELECT 1; SELECT 2",
    "ROLLBACK",
    "SET LOCAL work_mem = '4MB'",
]
