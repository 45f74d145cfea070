"""The administrator's pack: of a real server, and its statements alone.

A server needs hours for some findings. So the statements are also run by themselves, as the server
runs them, with other durations in them.
"""

import os
import re
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import callers
import processes
import psycopg

HERE = Path(__file__).resolve().parents[2] / "services/sql-tools"
TYPES = {
    "string": "text",
    "enum": "text",
    "integer": "bigint",
    "number": "numeric",
    "array": "text",
}
# What PostgreSQL may not know for want of an extension or a right.
ABSENT = {"42P01", "42703", "42501", "55000"}
SECONDS = 5
SECONDS_IN_ALL = 20


class Tool:
    """An entry of dba.yaml. Only the keys needed here are read."""

    def __init__(self, text):
        self.name = re.match(r"\w+", text)[0]
        block = re.search(r"^  statement: \|\n((?:    .*\n|\n)+)", text, re.MULTILINE)[1]
        self.statement = re.sub("^    ", "", block, flags=re.MULTILINE)
        parameters = text[text.index("  parameters:") :]
        self.types = {}
        for entry in re.split(r"^  - ", parameters, flags=re.MULTILINE)[1:]:
            name, kind = re.search(r"name: (\w+)", entry)[1], re.search(r"type: (\w+)", entry)[1]
            default = re.search(r"default: (\w+)", entry)
            self.types[name] = (kind, default and default[1])


def tools():
    text = (HERE / "dba.yaml").read_text()
    found = [Tool(part) for part in re.split(r"^- name: ", text, flags=re.MULTILINE)[1:]]
    return {tool.name: tool for tool in found}


def bound(statement, types, arguments):
    """The statement with $n, and the values: text, as the server sends them."""
    order = []

    def number(found):
        name = found[1]
        kind, _ = types[name]
        if name not in order:
            order.append(name)
        array = "[]" if kind == "array" else ""
        return f"${order.index(name) + 1}::text{array}::{TYPES[kind]}{array}"

    # Strings, quoted names and comments stay as they are, and a colon before the name is a cast.
    pieces = re.split(r"('(?:[^']|'')*'|\"[^\"]*\"|--.*)", statement)
    for at in range(0, len(pieces), 2):
        pieces[at] = re.sub(r"(?<!:):([a-z]\w*)", number, pieces[at])
    values = []
    for name in order:
        value = arguments.get(name, types[name][1])
        values.append(value if value is None or isinstance(value, list) else str(value))
    return "".join(pieces), values


class Pack:
    """The tools for one role. `replaced` are texts of statements to change, such as a threshold."""

    def __init__(self, conninfo, replaced=()):
        self.connection = psycopg.connect(
            conninfo, cursor_factory=psycopg.RawCursor, autocommit=True
        )
        self.replaced = dict(replaced)
        self.used = set()
        self.tools = tools()

    def close(self):
        self.connection.close()

    def run(self, statement, types, arguments, seconds=SECONDS):
        for old, new in self.replaced.items():
            if old in statement:
                self.used.add(old)
                statement = statement.replace(old, new)
        text, values = bound(statement, types, arguments)
        cursor = self.connection.cursor()
        cursor.execute("BEGIN READ ONLY")
        try:
            cursor.execute(f"SET LOCAL statement_timeout = '{seconds}s'")
            cursor.execute(f"DECLARE z NO SCROLL CURSOR FOR {text}", values)
            cursor.execute("FETCH FORWARD 1001 FROM z")
            names = [column.name for column in cursor.description]
            return [dict(zip(names, row)) for row in cursor.fetchall()]
        finally:
            cursor.execute("ROLLBACK")

    def call(self, name, **arguments):
        tool = self.tools[name]
        try:
            return self.run(tool.statement, tool.types, arguments)
        except psycopg.Error as error:
            if name != "top_queries" or error.sqlstate not in ABSENT:
                raise
            return self.run((HERE / "dba/top_queries_absent.sql").read_text(), {}, {})

    def health(self, **arguments):
        """All checks; one that fails is a row, which callers here take for an error."""
        begun = time.monotonic()
        rows = []
        for chosen in self.call("db_health", **arguments):
            check, name = chosen["check"], chosen["statement"]
            left = SECONDS_IN_ALL - (time.monotonic() - begun)
            if chosen["unknown"] is None and left > 0:
                statement = (HERE / f"dba/health/{name}.sql").read_text()
                types = self.tools["db_health"].types
                found = self.run(statement, types, arguments, min(SECONDS, max(1, int(left))))
                assert found, f"{name} says nothing"
            else:
                found = [row(check, "unknown", check, "", "", chosen["unknown"] or "too late")]
            rows += found
        return rows


class Served:
    """The tools of a server, for the role that is the name of one of its databases."""

    def __init__(self, address):
        self.caller = callers.Caller(address)

    def call(self, role, name, **arguments):
        answer = self.caller.call(name, {"database": role} | arguments)
        assert answer.status == 200 and not answer.is_error, answer.said()
        label, *lines = answer.text.split("\n")
        assert label == f"database: {role}", answer.text
        if len(lines) == 1:
            return []
        heading, header, *rows = lines
        assert heading == f"Results ({len(rows)} rows):", answer.text
        names = header.split("\t")
        return [dict(zip(names, map(field, line.split("\t")), strict=True)) for line in rows]


def field(text):
    """A value as the server was sent it: NULL is \\N, a backslash is doubled."""
    return None if text == r"\N" else text.replace("\\\\", "\\")


@contextmanager
def serving(folder, roles, database):
    """Starts a server for a PostgreSQL whose socket is in this folder."""
    entries = [
        {"name": role, "host": str(folder), "user": role, "database": database} for role in roles
    ]
    with tempfile.TemporaryDirectory(prefix="served") as home:
        home = Path(home)
        arguments = callers.write_configuration(home, databases=entries, dba={"enabled": True})
        program = os.environ["DBA_PROGRAM"]
        started = processes.server(program, ["-no-auth", *arguments], {}, home / "log")
        with started as address:
            yield Served(address)


def row(*values):
    return dict(zip(["check", "status", "subject", "value", "threshold", "advice"], values))
