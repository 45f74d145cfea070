"""The statements of the administrator's pack, run as the server will run them."""

import re
import time
from pathlib import Path

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


def row(*values):
    return dict(zip(["check", "status", "subject", "value", "threshold", "advice"], values))
