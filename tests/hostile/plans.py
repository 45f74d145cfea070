"""Writes plans of PostgreSQL 14 to 18 for the tests of the check of plans.

`bash tests/hostile/run --plans 14 15 16 17 18` replaces the files in `tests/fuzz/inputs/plans`. A line
of a file has a query, the masked columns of its result, whether the query may run, and its plan. The
columns with a name that begins with `secret` are masked. `newer.jsonl` there is written by hand.
"""

import json
import sys
from pathlib import Path

import psycopg

FOLDER = Path(__file__).resolve().parents[1] / "fuzz/inputs/plans"
TABLES = """
CREATE TABLE person (id int PRIMARY KEY, name text, secret_a text, secret_b text);
INSERT INTO person SELECT n, 'name' || n, n % 7, n FROM generate_series(1, 3000) AS n;
CREATE INDEX person_a ON person (secret_a);
CREATE INDEX person_name ON person (name);
CREATE TABLE note (id int, person int, body text);
INSERT INTO note SELECT n, n % 50, 'note ' || n FROM generate_series(1, 300) AS n;
CREATE INDEX note_person ON note (person);
CREATE INDEX note_id ON note (id);
CREATE TABLE part (id int, secret_a text) PARTITION BY RANGE (id);
CREATE TABLE part_x PARTITION OF part FOR VALUES FROM (0) TO (50);
CREATE TABLE part_y PARTITION OF part FOR VALUES FROM (50) TO (100);
CREATE INDEX part_id ON part (id);
INSERT INTO part SELECT n, n FROM generate_series(1, 99) AS n;
CREATE FUNCTION leak(n int) RETURNS text LANGUAGE plpgsql AS
    'BEGIN RETURN (SELECT secret_a FROM person WHERE id = n); END';
SET jit = off;
"""
ANALYZE = "VACUUM ANALYZE"
HASH = "enable_hashjoin"
NEST = "enable_nestloop"
SEQ, INDEX, BITMAP = "enable_seqscan", "enable_indexscan", "enable_bitmapscan"
SORT, HASHED = "enable_sort", "enable_hashagg"
PARALLEL = "parallel"
# Settings that are off, the query, the masked columns of its result, and whether it may run. The
# columns are 0 for person.secret_a, 1 for person.secret_b, and 2 for those of part.
CASES = [
    ("", "SELECT id, secret_a FROM person", [0], True),
    ("", "SELECT * FROM person", [0, 1], True),
    ("", "SELECT secret_b, secret_a, secret_a FROM person", [1, 0, 0], True),
    ("", "SELECT id FROM person WHERE secret_a > 'x'", [], False),
    ("", "SELECT upper(secret_a) FROM person", [], False),
    ("", "SELECT to_json(p) FROM person p", [], False),
    ("", "SELECT p FROM person p", [], False),
    ("", "SELECT leak(id) FROM person", [], False),
    ("", "SELECT secret_a FROM person TABLESAMPLE BERNOULLI (10) REPEATABLE (3)", [0], True),
    ("", "SELECT id FROM person TABLESAMPLE SYSTEM ((SELECT 10)) WHERE name > 'n'", [], True),
    (SEQ, "SELECT id, secret_a FROM person WHERE id = 3", [0], True),
    (SEQ, "SELECT id FROM person WHERE secret_a = '3'", [], False),
    (f"{SEQ} {BITMAP}", "SELECT id FROM person WHERE secret_a = '3'", [], False),
    (SEQ, "SELECT id FROM person WHERE id < 9", [], True),
    (
        f"{SEQ} {INDEX} enable_indexonlyscan",
        "SELECT name, secret_a FROM person WHERE id < 9",
        [0],
        True,
    ),
    (f"{SEQ} {INDEX}", "SELECT id FROM person WHERE id < 9 OR name = 'name77'", [], True),
    (f"{SEQ} {INDEX}", "SELECT body FROM note WHERE id < 90 AND person = 7", [], True),
    (f"{SEQ} {INDEX}", "SELECT id FROM person WHERE id < 9 OR secret_a = 'x'", [], False),
    ("", "SELECT secret_a FROM person WHERE ctid = '(0,1)'", [0], True),
    ("", "SELECT secret_a FROM person WHERE ctid > '(9,1)' AND ctid < '(12,1)'", [0], True),
    (SEQ, "SELECT count(*) FROM person", [], True),
    (f"{SEQ} {BITMAP} {SORT}", "SELECT id FROM person ORDER BY secret_a LIMIT 3", [], False),
    (
        f"{SEQ} {BITMAP} {SORT}",
        "SELECT id, secret_a FROM person ORDER BY secret_a LIMIT 3",
        [0],
        False,
    ),
    (
        f"{SEQ} {BITMAP} {SORT}",
        "SELECT array_agg(id) FROM (SELECT id FROM person ORDER BY secret_a LIMIT 3) AS s",
        [],
        False,
    ),
    (
        f"{SEQ} {BITMAP} {SORT}",
        "SELECT id, row_number() OVER (ORDER BY secret_a) FROM person",
        [],
        False,
    ),
    ("", "SELECT id, secret_a FROM person ORDER BY name LIMIT 3", [0], True),
    ("", "SELECT id FROM person ORDER BY secret_a", [], False),
    (
        SEQ,
        "SELECT name, body FROM person JOIN note USING (id) ORDER BY person.id, body "
        "LIMIT 5",
        [],
        True,
    ),
    (
        "",
        "SELECT s.name FROM (SELECT name, secret_a FROM person OFFSET 2) AS s WHERE "
        "s.name > 'n'",
        [],
        True,
    ),
    ("", "SELECT s.name FROM (SELECT name FROM person OFFSET 2) AS s WHERE s.name > 'n'", [], True),
    ("", "SELECT x || '' FROM (SELECT secret_a AS x FROM person OFFSET 2) AS s", [], False),
    (
        "",
        "WITH c AS MATERIALIZED (SELECT id, name FROM person) SELECT name FROM c WHERE id "
        "< 4",
        [],
        True,
    ),
    (
        "",
        "WITH c AS MATERIALIZED (SELECT id, secret_a AS name FROM person) SELECT name "
        "FROM c",
        [],
        False,
    ),
    (
        "",
        "SELECT p.secret_a, g FROM person p, generate_series(1, p.id) AS g WHERE p.id < 3",
        [0],
        True,
    ),
    ("", "SELECT g FROM person p, generate_series(1, length(p.secret_a)) AS g", [], False),
    ("", "SELECT x FROM leak(3) AS x", [], False),
    ("", "SELECT p.id, p.secret_b, n.body FROM person p JOIN note n ON n.person = p.id", [1], True),
    (
        HASH,
        "SELECT p.id, p.secret_b, n.body FROM person p LEFT JOIN note n ON n.person = "
        "p.id",
        [1],
        True,
    ),
    (
        f"{HASH} {NEST}",
        "SELECT p.id, p.secret_b, n.body FROM person p FULL JOIN note n ON n.person = "
        "p.id",
        [1],
        True,
    ),
    (
        f"{HASH} enable_mergejoin",
        "SELECT p.secret_a, n.body FROM note n JOIN person p ON n.person = p.id",
        [0],
        True,
    ),
    (
        f"{HASH} enable_mergejoin {INDEX} {BITMAP} enable_indexonlyscan enable_memoize",
        "SELECT p.name, n.body FROM note n JOIN person p ON n.person <> p.id AND p.id < 5",
        [],
        True,
    ),
    ("", "SELECT n.body FROM note n JOIN person p ON n.body = p.secret_a", [], False),
    (HASH, "SELECT n.body FROM note n JOIN person p ON n.body < p.secret_b", [], False),
    (f"{HASH} {NEST}", "SELECT n.body FROM note n JOIN person p ON n.body = p.secret_b", [], False),
    ("", "SELECT max(name) FROM (SELECT name FROM person OFFSET 1) AS s", [], True),
    ("", "SELECT max(secret_a) FROM person", [], False),
    (f"{SEQ} {BITMAP}", "SELECT max(secret_a) FROM person", [], False),
    ("", "SELECT name, count(*) FROM person GROUP BY name HAVING count(*) > 0", [], True),
    (HASHED, "SELECT name FROM person GROUP BY name", [], True),
    (HASHED, "SELECT secret_a FROM person GROUP BY secret_a", [0], False),
    ("", "SELECT count(*) FROM person GROUP BY secret_a", [], False),
    (
        "",
        "SELECT id, name, count(*) FROM person GROUP BY GROUPING SETS ((id), (name), ())",
        [],
        True,
    ),
    ("", "SELECT count(*) FROM person GROUP BY CUBE (name, secret_a)", [], False),
    (HASHED, "SELECT DISTINCT name FROM person", [], True),
    (HASHED, "SELECT DISTINCT secret_a FROM person", [0], False),
    ("", "SELECT DISTINCT ON (secret_a) id FROM person", [], False),
    ("", "SELECT id FROM person INTERSECT SELECT id FROM note", [], True),
    ("", "SELECT secret_a FROM person EXCEPT SELECT body FROM note", [], False),
    ("", "SELECT id, secret_a FROM person EXCEPT SELECT id, body FROM note", [], False),
    ("", "SELECT id, sum(id) OVER (ORDER BY name) FROM person", [], True),
    ("", "SELECT id, rank() OVER (PARTITION BY secret_a ORDER BY id) FROM person", [], False),
    (
        "",
        "SELECT * FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM person) AS s "
        "WHERE n < 4",
        [],
        True,
    ),
    ("", "SELECT generate_series(1, id) FROM person", [], True),
    ("", "SELECT regexp_split_to_table(secret_a, '') FROM person", [], False),
    ("", "SELECT 1", [], True),
    ("", "SELECT id FROM person WHERE false", [], True),
    ("", "SELECT id, secret_a FROM person WHERE id < 3 AND id > 5", [0], True),
    ("", "SELECT id, secret_a FROM part", [2], True),
    ("", "SELECT id, secret_a FROM part WHERE id < 20", [2], True),
    ("", "SELECT secret_a FROM part ORDER BY id LIMIT 3", [2], True),
    (f"{SEQ} {BITMAP}", "SELECT secret_a FROM part ORDER BY id DESC LIMIT 3", [2], True),
    ("", "SELECT id FROM part ORDER BY secret_a", [], False),
    ("", "SELECT secret_a || '' FROM part WHERE id = 3", [], False),
    ("", "SELECT name FROM person UNION ALL SELECT body FROM note", [], True),
    ("", "SELECT name FROM person UNION SELECT body FROM note", [], True),
    ("", "SELECT body FROM note UNION ALL SELECT secret_a FROM person", [], False),
    ("", "SELECT secret_a FROM person UNION ALL SELECT secret_a FROM person", [], False),
    (
        "",
        "SELECT x FROM (SELECT secret_a AS x FROM person UNION ALL SELECT secret_b FROM "
        "person) AS s ORDER BY x",
        [],
        False,
    ),
    ("", "SELECT secret_a FROM person UNION SELECT body FROM note", [], False),
    (
        f"{SORT} {SEQ} {BITMAP}",
        "SELECT id FROM person UNION ALL SELECT id FROM note ORDER BY id LIMIT 4",
        [],
        True,
    ),
    (PARALLEL, "SELECT id, secret_a FROM person WHERE name > 'n'", [0], True),
    (PARALLEL, "SELECT id, secret_a FROM person ORDER BY name", [0], True),
    (PARALLEL, "SELECT name, count(*) FROM person GROUP BY name", [], True),
    (PARALLEL, "SELECT count(*) FROM person WHERE secret_b < 'x'", [], False),
    ("", "SELECT name, (SELECT max(id) FROM note) FROM person", [], True),
    ("", "SELECT (SELECT secret_a FROM person WHERE id = 3)", [], False),
    (
        "",
        "SELECT body, (SELECT p.secret_a FROM person p WHERE p.id = n.person) FROM note n",
        [],
        False,
    ),
    (
        "",
        "SELECT id FROM note n WHERE EXISTS (SELECT FROM person p WHERE p.id = n.person)",
        [],
        True,
    ),
    ("", "SELECT id FROM note WHERE body NOT IN (SELECT secret_a FROM person)", [], False),
    ("", "SELECT id FROM note WHERE id = ANY (ARRAY(SELECT id FROM person))", [], True),
    ("", "SELECT array(SELECT secret_a FROM person)", [], False),
    ("", "VALUES (1, 'a'), (2, (SELECT max(name) FROM person))", [], False),
    (
        "",
        "WITH RECURSIVE r AS (SELECT 1 AS id UNION ALL SELECT p.id FROM r JOIN person p "
        "ON p.id = r.id + 1) SELECT id FROM r",
        [],
        False,
    ),
    (
        "",
        "SELECT x.a FROM person, XMLTABLE('/a' PASSING xmlelement(name a, secret_a) "
        "COLUMNS a text PATH '.') AS x",
        [],
        False,
    ),
    ("", "SELECT id, secret_a FROM person FOR UPDATE", [0], False),
    ("", "UPDATE person SET name = secret_a RETURNING name", [], False),
    ("", "INSERT INTO note (id, body) SELECT id, secret_a FROM person", [], False),
    ("", "DELETE FROM person RETURNING secret_a", [0], False),
]


def settings(words):
    """Returns the values of settings for a case."""
    given = {word: "off" for word in words.split() if word != PARALLEL}
    if PARALLEL in words:
        given |= {"parallel_setup_cost": "0", "parallel_tuple_cost": "0"}
        given |= {"min_parallel_table_scan_size": "0", "max_parallel_workers_per_gather": "2"}
    return given


def lines(connection):
    """Yields the lines of a file."""
    connection.execute(TABLES)
    connection.execute(ANALYZE)
    version = connection.info.server_version // 10_000
    for off, query, results, passes in CASES:
        with connection.transaction(force_rollback=True):
            for name, value in settings(off).items():
                if connection.execute("SELECT current_setting(%s, true)", [name]).fetchone()[0]:
                    connection.execute(f"SET LOCAL {name} = {value}")
            explain = f"EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON) {query}"
            try:
                plan = connection.execute(explain).fetchone()[0]
            except psycopg.errors.FeatureNotSupported:
                # Some builds lack XML.
                continue
        line = {"query": query, "version": version, "results": results, "passes": passes}
        yield json.dumps(line | {"plan": plan}, separators=(",", ":"))


def kinds(value):
    """Returns the kinds of the nodes in a plan."""
    if isinstance(value, list):
        return set().union(*map(kinds, value))
    if not isinstance(value, dict):
        return set()
    return {value.get("Node Type")} | set().union(set(), *map(kinds, value.values()))


if __name__ == "__main__":
    from servers import server

    for folder in sys.argv[1:]:
        with server(folder) as place, place.connect(database="postgres") as connection:
            found = list(lines(connection))
            number = connection.info.server_version // 10_000
            (FOLDER / f"{number}.jsonl").write_text("\n".join(found) + "\n")
            named = sorted(kinds([json.loads(line)["plan"] for line in found]) - {None})
            print(f"{number}: {len(found)} plans of {len(named)} kinds: {', '.join(named)}")
