"""Schemas that are far larger than an answer may be.

`bash tests/long/run schemas`: a database of 100,000 tables, one of them with 1,600 columns, with
comments of 1 MB and an enum of 1,000 labels. No answer about it exceeds its budget of tokens, and
every page can be reached. Times are printed only.
"""

import math
import os
import re
import signal
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import psycopg
from callers import Caller, entry, write_configuration, write_tokens
from faults import Faults
from processes import database, listening

TENTH = "--tenth" in sys.argv
TABLES = 10_000 if TENTH else 100_000
CALLS = 200 if TENTH else 2_000
# A transaction holds a lock for each table that it makes.
BATCH = 1_000
BUDGET = 4_000
PAGES = 20
SCHEMAS = 40
WORDS = ["order", "customer", "invoice", "stock", "visit", "route", "claim", "course"]


def tables():
    """Statements, one for each transaction."""
    for schema in range(SCHEMAS):
        yield f"CREATE SCHEMA part_{schema}"
    for first in range(0, TABLES, BATCH):
        lines = []
        for number in range(first, min(first + BATCH, TABLES)):
            name = f"part_{number % SCHEMAS}.{WORDS[number % len(WORDS)]}_{number}"
            lines.append(f"CREATE TABLE {name} (id bigint, customer_id bigint, note text)")
        yield ";".join(lines)
    columns = ", ".join(f"column_{number} int" for number in range(1_600))
    yield f"CREATE TABLE public.wide ({columns})"
    labels = ", ".join(f"'label {number}'" for number in range(1_000))
    yield f"CREATE TYPE public.kind AS ENUM ({labels})"
    yield "CREATE TABLE public.talkative (id int PRIMARY KEY, kind public.kind, note text)"
    yield "CREATE TABLE public.child (id int REFERENCES public.talkative)"
    for thing in ["TABLE public.talkative", "COLUMN public.talkative.note", "TYPE public.kind"]:
        yield f"COMMENT ON {thing} IS '{'all about everything ' * 50_000}'"
    conditions = " OR ".join(f"id = {number}" for number in range(20_000))
    yield f"CREATE VIEW public.long_view AS SELECT * FROM public.talkative WHERE {conditions}"


def fill(variables):
    begun = time.monotonic()
    place = {
        "host": variables["PGHOST"],
        "port": variables["PGPORT"],
        "user": variables["PGUSER"],
        "password": variables["PGPASSWORD"],
        "dbname": variables["PGDATABASE"],
    }
    with psycopg.connect(**place, autocommit=True) as connection:
        for statement in tables():
            connection.execute(statement)
        connection.execute("ANALYZE public.talkative")
    print(f"{TABLES:,} tables made in {time.monotonic() - begun:.0f} s")


def searches():
    """Arguments of `search_schema`."""
    for level in ["names", "summary", "full"]:
        for budget in [None, 200, 1_000, 20_000]:
            sizes = {} if budget is None else {"max_tokens": budget}
            for query in ["", "customer", "orders of customers", "everything", "kind label 7"]:
                yield {"query": query, "level": level} | sizes
            for table in ["wide", "talkative", "long_view", "public.kind"]:
                yield {"schema": "public", "table": table.removeprefix("public."), "level": level} | sizes
            yield {"schema": "part_7", "level": level} | sizes
    yield {"from": "public.child", "to": "public.talkative"}
    yield {"from": "public.child", "to": "public.wide"}
    yield {"query": "custmer"}
    yield {"table": "wied"}


def schema_calls():
    """Arguments of `get_schema_info`."""
    yield {}
    yield {"compact": True}
    yield {"schema_name": "part_7"}
    for table in ["wide", "talkative", "long_view"]:
        yield {"schema_name": "public", "table_name": table}
    yield {"vector_tables_only": True}


def tokens(text):
    return math.ceil(len(text.encode()) / 4 * 1.2 + 10)


def check(client, tool, arguments, faults):
    answer = client.call(tool, arguments)
    budget = arguments.get("max_tokens", BUDGET)
    if (size := tokens(answer.text)) > budget:
        faults.add(f"{tool}: an answer above its budget", f"{arguments}: {size} of {budget}")
    return answer


def pages(client, arguments, faults):
    """Follows the cursors of an answer; no page may repeat a line of another."""
    seen = set()
    for _ in range(PAGES):
        answer = check(client, "search_schema", arguments, faults)
        lines = [line for line in answer.text.splitlines() if line.startswith("part_")]
        if repeated := seen.intersection(lines):
            faults.add("search_schema: a line on two pages", repeated.pop())
        seen.update(lines)
        if not (found := re.search(r"cursor=(\S+)$", answer.text)):
            break
        arguments = arguments | {"cursor": found[1]}
    return len(seen)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    faults = Faults()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        variables = stack.enter_context(database(os.environ["LONG_DATABASE"]))
        fill(variables)
        [token] = write_tokens(folder / "tokens.yaml", 1)
        large = entry("large", variables, metadata_ttl="1h")
        arguments = write_configuration(folder, databases=[large])
        command = [os.environ["LONG_TOOLS"], "-http", "-addr", "127.0.0.1:0", *arguments]
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        address, _ = stack.enter_context(listening(command, environment, folder / "log"))
        client = Caller(address, token)
        begun = time.monotonic()
        check(client, "search_schema", {"query": "customer"}, faults)
        print(f"first answer after {time.monotonic() - begun:.1f} s")
        for arguments in searches():
            check(client, "search_schema", arguments, faults)
        for arguments in schema_calls():
            check(client, "get_schema_info", arguments, faults)
        found = pages(client, {"query": "customer", "level": "names"}, faults)
        print(f"{found} tables on {PAGES} pages")
        if not found:
            faults.add("search_schema: no table found", "customer")
        times = []
        for number in range(CALLS):
            query = f"{WORDS[number % len(WORDS)]}s of customer {number}"
            times.append(check(client, "search_schema", {"query": query}, faults).seconds)
        times.sort()
        middle, late = times[len(times) // 2], times[len(times) * 99 // 100]
        print(f"{CALLS} warm answers: half within {middle * 1e3:.1f} ms, 99 % within {late * 1e3:.1f} ms")
    faults.end()


if __name__ == "__main__":
    main()
