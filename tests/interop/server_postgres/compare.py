"""The old server and the program, asked the same: their answers are equal but for what is named."""

import json
import os
import sys
import tempfile
import urllib.parse
from contextlib import ExitStack
from pathlib import Path

from cases import ERRORS, QUERIES, REFUSED, VALUES
from interop.stdio import served
from processes import database

HERE = Path(__file__).resolve().parent

# The built-in types with arrays of them, without those that take no value and that few builds have.
TYPES = """
    SELECT typname AS name FROM pg_type WHERE typnamespace = 'pg_catalog'::regnamespace
    AND typtype <> 'c' AND typtype <> 'p' AND typarray <> 0 AND typname NOT IN ('gtsvector', 'xml')
"""


def query(server, sql):
    return server.call("query", {"sql": sql})


def tools(old, ours):
    """The entry is the same but for its description."""
    [entry] = old.ask("tools/list")["result"]["tools"]
    listed = ours.ask("tools/list")["result"]["tools"]
    found = next(tool for tool in listed if tool["name"] == "query")
    assert found.pop("description"), found
    entry.pop("description")
    assert found == entry, (found, entry)


def names(ours, sql):
    answer = query(ours, sql)
    return {row["name"] for row in json.loads(answer["result"]["content"][0]["text"])}


def queries(old, ours):
    types = "SELECT typname AS name FROM pg_type WHERE oid = pg_typeof({})"
    asked = set().union(*(names(ours, types.format(value)) for value in VALUES))
    assert not (missing := names(ours, TYPES) - asked), missing
    different = []
    for sql in QUERIES:
        expected, found = query(old, sql), query(ours, sql)
        if found != expected or "result" not in expected:
            different.append((sql, expected, found))
    return different


def errors(old, ours):
    different = []
    for sql in ERRORS:
        expected, found = query(old, sql), query(ours, sql)
        if found != expected or expected.get("error", {}).get("code") != -32603:
            different.append((sql, expected, found))
    # A missing statement has a code of its own here.
    for arguments in [{}, {"sql": None}, {"sql": 7}, {"query": "SELECT 1"}]:
        expected, found = old.call("query", arguments), ours.call("query", arguments)
        if expected["error"]["code"] != -32603 or found["error"]["code"] != -32602:
            different.append((arguments, expected, found))
    # Statements with an effect beyond their transaction are refused here before they are sent.
    for sql in REFUSED:
        query(old, sql)
        found = query(ours, sql)
        if found.get("error", {}).get("code") != -32603:
            different.append((sql, None, found))
    return different


def resources(old, ours):
    """Listed by name and read in the order of columns here; in no order there."""
    expected = old.ask("resources/list")["result"]["resources"]
    found = ours.ask("resources/list")["result"]["resources"]
    found = [entry for entry in found if entry["uri"].startswith("postgres:")]
    assert found == sorted(expected, key=lambda entry: entry["name"]), (found, expected)
    for entry in [*found, {"uri": found[0]["uri"].replace("adults", "missing")}]:
        params = {"uri": entry["uri"]}
        there, here = (server.ask("resources/read", params)["result"] for server in [old, ours])
        [there], [here] = there["contents"], here["contents"]
        assert set(here) == set(there) and here["mimeType"] == there["mimeType"], (here, there)
        columns = [sorted(map(str, json.loads(one["text"]))) for one in [there, here]]
        assert columns[0] == columns[1], columns
        assert here["text"] == json.dumps(json.loads(here["text"]), indent=2), here
    wrong = {"uri": found[0]["uri"].replace("/schema", "/rows")}
    there, here = (server.ask("resources/read", wrong) for server in [old, ours])
    assert here == there, (here, there)


def stacked(old, ours):
    """Two statements leave the read-only transaction there; here they are refused."""
    for server, table in [(old, "there"), (ours, "here")]:
        answer = query(server, f"COMMIT; CREATE TABLE {table} (id int); SELECT 1")
        made = query(server, f"SELECT to_regclass('{table}') AS name")
        [row] = json.loads(made["result"]["content"][0]["text"])
        if server is old:
            assert row["name"] == table, (answer, row)
        else:
            assert row["name"] is None and answer["error"]["code"] == -32603, (answer, row)


def main():
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        parts = stack.enter_context(database(os.environ["INTEROP_DATABASE"], sample=HERE / "types.sql"))
        quoted = {name: urllib.parse.quote(value, safe="") for name, value in parts.items()}
        secret = f":{quoted['PGPASSWORD']}" if quoted.get("PGPASSWORD") else ""
        url = "postgresql://{PGUSER}{secret}@{PGHOST}:{PGPORT}/{PGDATABASE}"
        url = url.format(secret=secret, **quoted)
        environment = {"PATH": os.environ["PATH"], "HOME": folder, "TZ": "UTC", "PGTZ": "UTC"}
        old = stack.enter_context(served(["node", os.environ["INTEROP_OLD"], url], environment))
        ours = [os.environ["INTEROP_PROGRAM"], "-compat", "server-postgres", url]
        ours = stack.enter_context(served(ours, environment))
        tools(old, ours)
        different = queries(old, ours) + errors(old, ours)
        for sql, expected, found in different:
            print(f"{sql}\n  there: {json.dumps(expected)}\n  here:  {json.dumps(found)}")
        resources(old, ours)
        stacked(old, ours)
    if different:
        sys.exit(f"{len(different)} answers differ")
    print(f"server-postgres: {len(QUERIES)} queries and {len(ERRORS)} errors are equal")


main()
