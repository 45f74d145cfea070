"""The tool index_advice on databases whose best indexes are known, through the real server.

`bash tests/dba/run` calls it with folders of binaries of PostgreSQL; DBA_PROGRAM is the server.
Where the extension hypopg is installed, candidates are tried with it. Every index that is advised is
created, has to be used by the planner, and has to be at least nine tenths as good as the best one.
"""

import json
import os
import re
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import psycopg
from callers import Caller, entry, free_port, write_configuration
from processes import server as program
from servers import server
from sick import script

HEADER = "index\tsize_MB\tcost_before\tcost_after\tgain_%\thelps"

MADE = """
CREATE ROLE reader LOGIN;
CREATE DATABASE shop;
"""

SHOP = """
CREATE SCHEMA shop;
CREATE TABLE shop.customers (id int PRIMARY KEY, email text, country text);
INSERT INTO shop.customers SELECT n, 'c' || n || '@example.com', 'c' || n % 50
FROM generate_series(1, 20000) n;
CREATE TABLE shop.orders (id int PRIMARY KEY, customer_id int, status text,
  placed_at timestamptz, total numeric, org int);
INSERT INTO shop.orders SELECT n, (n::bigint * 7919) % 18000,
  CASE WHEN n % 50 = 0 THEN 'open' WHEN n % 50 < 10 THEN 'void' ELSE 'paid' END,
  timestamptz '2020-01-01' + n * interval '10 min', n % 1000, n % 40
FROM generate_series(1, 150000) n;
CREATE TABLE shop.events (id int PRIMARY KEY, user_id int, kind text, at timestamptz, body text);
INSERT INTO shop.events SELECT n, (n::bigint * 104729) % 5000, 'kind' || n % 20,
  timestamptz '2020-01-01' + n * interval '1 min', repeat('x', 60)
FROM generate_series(1, 200000) n;
CREATE TABLE shop.tiny AS SELECT n AS id FROM generate_series(1, 500) n;
CREATE EXTENSION pg_stat_statements;
GRANT USAGE ON SCHEMA shop TO reader;
GRANT SELECT ON ALL TABLES IN SCHEMA shop TO reader;
VACUUM ANALYZE;
"""

# Statements, and the best indexes for each: the columns of a table.
KNOWN = [
    ("SELECT * FROM shop.orders WHERE customer_id = 42", ["orders (customer_id)"]),
    ("SELECT * FROM shop.orders WHERE customer_id = $1", ["orders (customer_id)"]),
    (
        "SELECT * FROM shop.orders WHERE customer_id = $1 ORDER BY placed_at DESC LIMIT 2",
        ["orders (customer_id, placed_at)"],
    ),
    ("SELECT * FROM shop.orders ORDER BY placed_at DESC LIMIT 20", ["orders (placed_at)"]),
    (
        "SELECT * FROM shop.orders WHERE status = 'open' AND placed_at > '2022-11-01'",
        ["orders (status, placed_at)"],
    ),
    (
        "SELECT * FROM shop.customers c JOIN shop.orders o ON o.customer_id = c.id"
        " WHERE c.email = 'c7@example.com'",
        ["customers (email)", "orders (customer_id)"],
    ),
    (
        "SELECT * FROM shop.events WHERE user_id = $1 AND kind = $2 AND at > '2020-03-01'",
        ["events (user_id, kind, at)"],
    ),
    (
        "SELECT * FROM shop.customers c WHERE c.id = 5 AND NOT EXISTS"
        " (SELECT FROM shop.orders o WHERE o.customer_id = c.id AND o.status = 'open')",
        ["orders (customer_id, status)"],
    ),
    (
        "SELECT * FROM shop.orders ORDER BY status, placed_at DESC LIMIT 10",
        ["orders (status, placed_at DESC)"],
    ),
    (
        "SELECT c.id, (SELECT count(*) FROM shop.orders o WHERE o.customer_id = c.id)"
        " FROM shop.customers c WHERE c.id < 10",
        ["orders (customer_id)"],
    ),
]

# Statements that no index helps.
HELPLESS = [
    "SELECT count(*) FROM shop.orders",
    "SELECT * FROM shop.orders WHERE id = 7",
    "SELECT * FROM shop.tiny WHERE id = 7",
]


class Advice:
    """The answer of the tool, taken apart."""

    def __init__(self, answer):
        assert answer.status == 200 and not answer.is_error, answer.text
        self.text = answer.text
        above, _, below = self.text.partition("\n\n")
        lines = above.split("\n")
        self.untried = lines.pop(0) if lines[0].startswith("not tried: ") else None
        self.head, self.rows = lines[0], [line.split("\t") for line in lines[1:]]
        self.indexes = [row[0] for row in self.rows]
        self.fallen = [line.split("\t") for line in below.split("\n")[1:]]


def plan(connection, text):
    """The plan for any value of the parameters."""
    count = len(set(re.findall(r"\$\d", text)))
    values = "(" + ", ".join(["NULL"] * count) + ")" if count else ""
    connection.execute("SET LOCAL plan_cache_mode = force_generic_plan")
    connection.execute(f"PREPARE known AS {text}")
    found = connection.execute(f"EXPLAIN (FORMAT JSON) EXECUTE known{values}").fetchone()[0]
    connection.execute("DEALLOCATE known")
    return found


def cost_with(connection, text, indexes):
    """The cost with these indexes, and those of them that the plan uses."""
    connection.execute("BEGIN")
    try:
        names = []
        for number, index in enumerate(indexes):
            names.append(f"made_{number}")
            connection.execute(index.replace("CREATE INDEX ON", f"CREATE INDEX made_{number} ON"))
        found = plan(connection, text)
        used = [name for name in names if f'"{name}"' in json.dumps(found)]
        return found[0]["Plan"]["Total Cost"], len(used)
    finally:
        connection.execute("ROLLBACK")


def catalogue(connection):
    """Everything that an index would leave, and the use of transaction ids."""
    counted = "SELECT count(*), max(oid::int8) FROM pg_class"
    relations = connection.execute(counted).fetchone()
    return relations, connection.execute("SELECT count(*) FROM pg_index").fetchone()


def check(admin, caller, text, best, is_tried):
    before = catalogue(admin)
    advice = Advice(caller.call("index_advice", {"query": text}))
    assert catalogue(admin) == before, f"{text}: the catalogue changed"
    assert advice.head == HEADER, advice.text
    assert advice.untried == (None if is_tried else "not tried: hypopg is not installed")
    best_cost, _ = cost_with(admin, text, [f"CREATE INDEX ON shop.{index}" for index in best])
    cost, used = cost_with(admin, text, advice.indexes)
    assert used == len(advice.indexes) > 0, f"{text}: {used} are used of {advice.text}"
    assert best_cost >= 0.9 * cost, f"{text}: {cost} with {advice.indexes}, best is {best_cost}"
    for index, size, cost_before, cost_after, gain, helps in advice.rows:
        assert float(size) > 0 and float(cost_before) > 0 and " on " in helps, advice.text
        assert (cost_after != "" and float(gain) >= 10) == is_tried, advice.text
    if is_tried:
        predicted = float(advice.rows[-1][3])
        # The height of a hypothetical index is not known, which is a page of difference.
        assert abs(predicted - cost) < 0.1 * cost + 4, f"{text}: {predicted} predicted, {cost} found"
    assert all(reason for _, reason in advice.fallen), advice.text
    return best_cost / cost


def check_recorded(admin, caller):
    """The text of a statement is found by its queryid, whose values are parameters there."""
    text, best = KNOWN[0]
    # Otherwise the statement has the text of the first command that planned it.
    admin.execute("SELECT pg_stat_statements_reset()")
    admin.execute(text)
    recorded = admin.execute(
        "SELECT queryid::text FROM pg_stat_statements"
        " WHERE query = 'SELECT * FROM shop.orders WHERE customer_id = $1'"
    ).fetchone()
    hidden = caller.call("index_advice", {"queryid": recorded[0]})
    remedy = "statements of other roles are hidden: GRANT pg_read_all_stats TO reader;"
    assert hidden.is_error and hidden.text == remedy, hidden.text
    admin.execute("GRANT pg_read_all_stats TO reader")
    advice = Advice(caller.call("index_advice", {"queryid": recorded[0]}))
    assert best[0] in advice.indexes[0], advice.text


def check_connection(caller, is_tried):
    """A connection with hypothetical indexes is closed, any other one is used again."""
    process = caller.query("SELECT pg_backend_pid()").text
    caller.call("index_advice", {"query": KNOWN[0][0]})
    assert (caller.query("SELECT pg_backend_pid()").text != process) == is_tried
    prepared = caller.query("SELECT count(*) AS n FROM pg_prepared_statements").text
    assert prepared.endswith("n\n0"), prepared


def check_server(binaries):
    with ExitStack() as stack:
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(free_port()),
            "shared_preload_libraries": "pg_stat_statements",
            "autovacuum": "off",
        }
        postgres = stack.enter_context(server(binaries, settings))
        postgres.port = settings["port"]
        with connect(postgres, "postgres") as admin:
            script(admin, MADE)
        admin = stack.enter_context(connect(postgres))
        script(admin, SHOP)
        available = "SELECT FROM pg_available_extensions WHERE name = 'hypopg'"
        is_tried = admin.execute(available).rowcount == 1
        if is_tried:
            admin.execute("CREATE EXTENSION hypopg")
        caller = Caller(stack.enter_context(tools(stack, settings["port"])))
        ratios = [check(admin, caller, text, best, is_tried) for text, best in KNOWN]
        for text in HELPLESS:
            advice = Advice(caller.call("index_advice", {"query": text}))
            assert not advice.rows, f"{text}: {advice.text}"
        check_recorded(admin, caller)
        check_connection(caller, is_tried)
        version = admin.info.server_version // 10000
    way = "tried with hypopg" if is_tried else "not tried"
    print(f"index advice, PostgreSQL {version}: {len(ratios)} statements, {way}, worst"
          f" {min(ratios):.2f} of the best")


def connect(postgres, database="shop"):
    conninfo = f"{postgres.conninfo('postgres', database)} port={postgres.port}"
    return psycopg.connect(conninfo, autocommit=True)


def tools(stack, port):
    """Starts ziggurat-tools; returns its address."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="advice")))
    variables = {
        "PGHOST": "127.0.0.1",
        "PGPORT": port,
        "PGUSER": "reader",
        "PGPASSWORD": "",
        "PGDATABASE": "shop",
    }
    shop = entry("shop", variables, pool_max_conns=1)
    arguments = write_configuration(folder, databases=[shop], dba={"enabled": True})
    log = folder / "log"
    return program(os.environ["DBA_PROGRAM"], [*arguments, "-no-auth"], os.environ.copy(), log)


if __name__ == "__main__":
    for folder in sys.argv[1:]:
        check_server(Path(folder))
