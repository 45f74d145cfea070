-- Tables and views of `public`, with a column of each kind, and a table of another schema.
CREATE TYPE mood AS ENUM ('glad', 'very sad');
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN percent AS int CHECK (VALUE BETWEEN 0 AND 100);

CREATE TABLE people (id int PRIMARY KEY, name varchar(40) NOT NULL, born date, score numeric(6, 2),
    tags text[], mood mood, extra jsonb, pair pair, share percent, seen timestamptz);
INSERT INTO people VALUES
    (1, 'Ada', '1815-12-10', 99.50, '{math,"two words"}', 'glad', '{"b": 1, "a": [1.0]}', '(1,x)', 7,
     '2024-01-31 12:34:56.789+00'),
    (2, 'Zoë', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE orders (id bigint, amount numeric, paid boolean);
INSERT INTO orders SELECT n, n * 1.25, n % 2 = 0 FROM generate_series(1, 250) n;
CREATE VIEW adults AS SELECT id, name FROM people;
CREATE MATERIALIZED VIEW counts AS SELECT count(*) FROM orders;
CREATE TABLE measured (at timestamptz, value float8) PARTITION BY RANGE (at);
CREATE SCHEMA other;
CREATE TABLE other.hidden (id int);
CREATE FUNCTION broken() RETURNS int LANGUAGE plpgsql AS $$ BEGIN
    RAISE EXCEPTION 'it is broken' USING HINT = 'mend it', DETAIL = 'in the middle';
END $$;
CREATE FUNCTION writes() RETURNS int LANGUAGE sql AS 'INSERT INTO orders VALUES (0) RETURNING 1';
