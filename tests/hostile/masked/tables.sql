-- Tables with masked columns, and what leads to them. `masked.py` makes two databases of this file,
-- with other values under the masks: {word} and {number} are other texts and numbers of equal length,
-- and {key} and {step} give the rows another order and other equal values. The characters that masks keep (the
-- first of an address, its domain, and the last four) are equal.

CREATE TABLE person (
    id int PRIMARY KEY,
    name text,
    region text,
    born date,
    ssn text,
    email text,
    phone text,
    pin int,
    gone text,
    salary numeric(12, 2),
    doc jsonb,
    tags text[],
    raw bytea,
    seen timestamptz,
    place int4range,
    initial text GENERATED ALWAYS AS (left(ssn, 8)) STORED,
    CONSTRAINT person_ssn_check CHECK (ssn <> '{word}-none')
);
INSERT INTO person
SELECT n, 'name' || n, (array['north', 'south', 'west'])[1 + n % 3], date '1970-01-01' + n * 100,
    '{word}-' || lpad(k::text, 4, '0'), 'x{word}' || k || '@example.com', '{word} ' || k || ' 5550',
    {number} + k, '{word}' || k, {number}.25 + k, jsonb_build_object('code', '{word}-' || k),
    array['{word}', k::text], convert_to('{word}' || k, 'UTF8'),
    timestamptz '2001-01-01 00:00:00Z' + make_interval(days => {number} % 1000 + k), int4range({number}, {number} + k + 1)
FROM generate_series(1, 9) AS n, LATERAL (SELECT {key} AS k) AS keys;

-- Enough rows that PostgreSQL takes the indexes.
CREATE TABLE visit (id int PRIMARY KEY, person int, day date, code text, score numeric, note text);
INSERT INTO visit
SELECT n, 1 + n % 9, date '2020-01-01' + n % 50, '{word}-' || lpad((n * {step} % 6007)::text, 5, '0'),
    {number} + n * {step} % 6007, 'note ' || n % 20
FROM generate_series(1, 6000) AS n;
CREATE INDEX visit_code ON visit (code);
CREATE INDEX visit_score ON visit (score, id);
CREATE INDEX visit_lower ON visit (lower(code));
CREATE INDEX visit_day ON visit (day);
CREATE STATISTICS visit_both (mcv) ON code, note FROM visit;

-- A table with a column of the same name, which is not masked.
CREATE TABLE note (id int PRIMARY KEY, person int REFERENCES person, body text, ssn text, amount int);
INSERT INTO note SELECT n, 1 + n % 9, 'card 4111111111111111 of ' || n, 'open-' || n, n * 10
FROM generate_series(1, 20) AS n;
CREATE TABLE pair_of (a int, b text);
INSERT INTO pair_of VALUES (1, 'one'), (2, 'two');
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN short AS text CHECK (length(value) < 3);
CREATE DOMAIN late AS text CHECK (value > 'h');
CREATE TYPE mood AS ENUM ('good', 'bad');

-- Partitions of each kind, and inheritance.
CREATE TABLE part (id int, kind text, ssn text) PARTITION BY RANGE (id);
CREATE TABLE part_a PARTITION OF part FOR VALUES FROM (0) TO (10);
CREATE TABLE part_b PARTITION OF part FOR VALUES FROM (10) TO (20) PARTITION BY LIST (kind);
CREATE TABLE part_b_x PARTITION OF part_b FOR VALUES IN ('x');
CREATE TABLE part_b_rest PARTITION OF part_b DEFAULT;
INSERT INTO part SELECT n, (array['x', 'y'])[1 + n % 2], '{word}' || ({key})
FROM generate_series(1, 19) AS n;
CREATE TABLE hashed (id int, ssn text) PARTITION BY HASH (id);
CREATE TABLE hashed_0 PARTITION OF hashed FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE hashed_1 PARTITION OF hashed FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO hashed SELECT n, '{word}' || ({key}) FROM generate_series(1, 9) AS n;
CREATE TABLE parent (id int, ssn text);
CREATE TABLE child (extra text) INHERITS (parent);
CREATE TABLE grandchild () INHERITS (child);
INSERT INTO parent SELECT n, '{word}' || ({key}) FROM generate_series(1, 3) AS n;
INSERT INTO child SELECT n, '{word}' || ({key}), 'x' FROM generate_series(4, 6) AS n;
INSERT INTO grandchild SELECT n, '{word}' || ({key}), 'y' FROM generate_series(7, 9) AS n;

-- Names that have to be quoted, and names that are long.
CREATE TABLE "Odd Table" (id int, "Odd ""Column" text);
INSERT INTO "Odd Table" SELECT n, '{word}' || ({key}) FROM generate_series(1, 3) AS n;
CREATE SCHEMA other;
CREATE TABLE other.person (id int, ssn text);
INSERT INTO other.person VALUES (1, 'open');
CREATE TABLE other.secret_of_a_long_name_that_is_cut_by_postgres_at_its_limit_of_63 (id int, ssn text);
INSERT INTO other.secret_of_a_long_name_that_is_cut_by_postgres_at_its_limit_of_63
SELECT n, '{word}' || ({key}) FROM generate_series(1, 3) AS n;

-- Views.
CREATE VIEW shown AS SELECT id, ssn AS number, upper(ssn) AS large, name FROM person;
CREATE VIEW outer_shown AS SELECT number AS again, large AS larger, id FROM shown;
CREATE VIEW third_shown AS SELECT again AS thrice, larger || '!' AS loud, id FROM outer_shown;
CREATE VIEW as_row AS SELECT id, to_json(person) AS entry FROM person;
CREATE VIEW renamed AS SELECT x AS number, i FROM person AS p (i, n, r, b, x);
CREATE VIEW outer_renamed AS SELECT number, i FROM renamed;
CREATE VIEW fenced WITH (security_barrier) AS SELECT id, ssn AS number FROM person WHERE id < 8;
CREATE VIEW united AS SELECT id, ssn AS number FROM person UNION ALL SELECT id, ssn FROM note;
CREATE VIEW united_of_masked AS SELECT id, ssn AS number FROM person UNION ALL SELECT id, ssn FROM person;
CREATE VIEW joined AS SELECT p.id, p.ssn AS number, n.body FROM person p JOIN note n ON n.person = p.id;
CREATE VIEW counted AS SELECT region, count(DISTINCT ssn) AS numbers, max(ssn) AS last FROM person GROUP BY region;
CREATE VIEW ranked AS SELECT id, rank() OVER (ORDER BY ssn) AS place FROM person;
CREATE RECURSIVE VIEW chained (id, number) AS
    SELECT id, ssn FROM person WHERE id = 1
    UNION ALL SELECT p.id, p.ssn FROM chained c JOIN person p ON p.id = c.id + 1;
CREATE MATERIALIZED VIEW kept AS SELECT id, ssn AS number, lower(ssn) AS small, name FROM person;
CREATE VIEW over_kept AS SELECT id, number AS n, small AS s FROM kept;

-- Functions that show values.
CREATE FUNCTION leak(n int) RETURNS text LANGUAGE sql VOLATILE AS 'SELECT ssn FROM public.person WHERE id = n';
CREATE FUNCTION leak_fixed(n int) RETURNS text LANGUAGE plpgsql IMMUTABLE
    AS 'BEGIN RETURN (SELECT ssn FROM public.person WHERE id = n); END';
CREATE FUNCTION leak_number(n int) RETURNS bigint LANGUAGE sql STABLE
    AS 'SELECT ascii(ssn)::bigint % 20 FROM public.person WHERE id = n';
CREATE FUNCTION leak_fixed_number(n int) RETURNS bigint LANGUAGE plpgsql IMMUTABLE
    AS 'BEGIN RETURN (SELECT ascii(ssn) % 20 FROM public.person WHERE id = n); END';
CREATE FUNCTION leak_of(p pair) RETURNS text LANGUAGE plpgsql IMMUTABLE
    AS 'BEGIN RETURN (SELECT ssn FROM public.person WHERE id = p.a); END';
CREATE FUNCTION leak_of_pair(p pair_of) RETURNS text LANGUAGE plpgsql STABLE
    AS 'BEGIN RETURN (SELECT ssn FROM public.person WHERE id = p.a); END';
CREATE FUNCTION leaks() RETURNS SETOF person LANGUAGE sql STABLE AS 'SELECT * FROM public.person';
CREATE FUNCTION leak_table() RETURNS TABLE (i int, s text) LANGUAGE sql STABLE AS 'SELECT id, ssn FROM public.person';
CREATE FUNCTION leak_cursor() RETURNS refcursor LANGUAGE plpgsql AS
    'DECLARE c refcursor := ''c''; BEGIN OPEN c FOR SELECT ssn FROM public.person; RETURN c; END';
CREATE FUNCTION shout(n int) RETURNS int LANGUAGE plpgsql AS
    'BEGIN RAISE NOTICE ''%'', (SELECT ssn FROM public.person WHERE id = n); RETURN n; END';
CREATE FUNCTION fail(n int) RETURNS int LANGUAGE plpgsql AS
    'BEGIN RAISE ''%'', (SELECT ssn FROM public.person WHERE id = n); END';
CREATE FUNCTION "Leak"(n int) RETURNS text LANGUAGE sql AS 'SELECT public.leak(n)';
CREATE FUNCTION other.leak_there(n int) RETURNS text LANGUAGE sql AS 'SELECT public.leak(n)';
CREATE FUNCTION leak_from(p person) RETURNS text LANGUAGE sql AS 'SELECT p.ssn';
CREATE AGGREGATE leak_all(int) (SFUNC = int4pl, STYPE = int);
CREATE FUNCTION age(n int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN n; END';
CREATE PROCEDURE tell() LANGUAGE plpgsql AS 'BEGIN RAISE NOTICE ''%'', (SELECT ssn FROM public.person LIMIT 1); END';
CREATE VIEW calling AS SELECT id, leak(id) AS number FROM note;
CREATE VIEW calling_fixed AS SELECT id, leak_fixed(1) AS number FROM note;
CREATE VIEW calling_for_limit AS SELECT id FROM note LIMIT leak_number(1);

ANALYZE;
