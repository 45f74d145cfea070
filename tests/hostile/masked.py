"""Attempts to see values under masks: `bash tests/hostile/run [version or folder of binaries…]`

The attempts are lines of `masked/attempts.txt`, on the tables of `masked/tables.sql`. There are two
databases that differ only in the values under the masks. Each attempt is made through every entrance
of a server, once with `enforce: plan` and once with `enforce: origin`. No answer, no record and no
line of a log or span has a value. With `plan`, the answers of both databases are equal, byte for byte, and
each question about a value is refused. With `origin`, they are equal for attempts to see a value.

The queries of `masked/honest.txt` and a thousand of `honest.py` use no masked column in an expression.
All of them run with `plan`; before version 17 those with a subquery in an expression are refused.
"""

import json
import os
import queue
import re
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import honest
from another_program import connect
from callers import MODERN, PREFIX, Caller, entry, free_port, write_configuration, write_tokens
from collector import collector
from processes import database, listening

HERE = Path(__file__).resolve().parent / "masked"
THREADS = 4
MADE = 1000
ALL = "--all" in sys.argv
# The values of the two databases, which have the same lengths.
SIDES = [
    {"word": "sekret", "number": "918273", "key": "n % 5", "step": "7919"},
    {"word": "geheim", "number": "645546", "key": "(20000 - n) * 3 % 4", "step": "4001"},
]
LONG = "other.secret_of_a_long_name_that_is_cut_by_postgres_at_its_limit_of_6"
HIDDEN = [
    *(f"person.{name}" for name in ["ssn", "salary", "doc", "tags", "raw", "seen", "place"]),
    *["visit.code", "visit.score", "part.ssn", "hashed.ssn", "parent.ssn"],
    '"Odd Table"."Odd ""Column"',
]
MASKS = [
    *({"column": f"public.{name}", "mask": "fixed"} for name in HIDDEN),
    {"column": f"{LONG}.ssn", "mask": "fixed"},
    {"column": "public.person.email", "mask": "email"},
    {"column": "public.person.phone", "mask": "last4"},
    {"column": "public.person.pin", "mask": "null"},
    {"column": "public.person.gone", "mask": "drop"},
    {"column": "public.note.body", "patterns": ["card"]},
]
PAGES = [
    {"column": f"public.{name}", "mask": "fixed"}
    for name in ["page.body", "leaf.body_embedding", "moss.note"]
]
# A vector has as many numbers as the built-in model gives.
VECTORS = """
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE page (id int PRIMARY KEY, title text, body text, body_embedding vector(256));
INSERT INTO page SELECT n, 'page ' || n, '{word} ' || n, array_fill(n, array[256])::vector
FROM generate_series(1, 5) AS n;
CREATE TABLE leaf (id int PRIMARY KEY, body text, body_embedding vector(256));
CREATE TABLE moss (id int PRIMARY KEY, body text, note text, body_embedding vector(256));
INSERT INTO moss SELECT n, 'moss ' || n, '{word} ' || n, array_fill(n, array[256])::vector
FROM generate_series(1, 5) AS n;
INSERT INTO leaf SELECT n, 'leaf ' || n,
    array_prepend({number} * n % 7, array_fill(1, array[255]))::vector FROM generate_series(1, 5) AS n;
"""


@dataclass
class Attempt:
    """A line of the file."""

    number: int
    kind: str
    text: str
    is_question: bool


@dataclass
class Findings:
    """Things that must not be."""

    kinds: dict = field(default_factory=dict)

    def add(self, kind, attempt, *more):
        self.kinds.setdefault(kind, []).append((attempt, *more))

    def end(self):
        """Prints them, and exits with 1 if there are some."""
        for kind, found in self.kinds.items():
            print(f"FAILED {kind}: {len(found)}")
            for attempt, *more in found[: int(os.environ.get("SHOWN", "20"))]:
                print(f"  [{attempt.kind}] {attempt.text}")
                for line in more:
                    print(f"      {line}")
        if self.kinds:
            sys.exit(1)


def read(name):
    """Returns the attempts of a file."""
    attempts, kind = [], ""
    for line in (HERE / name).read_text().splitlines():
        if line.startswith("## "):
            kind = line[3:]
        elif line and not line.startswith("# "):
            text = line.replace("\\n", "\n")
            attempts.append(Attempt(len(attempts), kind.rstrip("?"), text, kind.endswith("?")))
    return attempts


# The entrances for a statement.


def ask(caller, method, path, body=None):
    return caller.ask(method, path, body).text


def tool(caller, name, arguments):
    return caller.call(name, arguments).text


def export(caller, sql):
    """Returns a file of rows, or the refusal of one."""
    link = ask(caller, "POST", "/api/exports", {"sql": sql, "format": "csv"})
    try:
        return ask(caller, "GET", json.loads(link)["href"])
    except (ValueError, KeyError):
        return link


def committed(caller, sql):
    """Commits a statement that is previewed, and returns all that is said, with the undo script."""
    body = {"sql": sql, "database": "seen", "undo": True}
    said = ask(caller, "POST", "/api/query", body)
    try:
        seal = json.loads(said)["confirm"]
    except (ValueError, KeyError):
        return said
    return said + ask(caller, "POST", "/api/query", body | {"confirm": seal})


# Each attempt is made through these,
ALWAYS = {
    "query_database": lambda caller, sql: tool(caller, "query_database", {"query": sql}),
    "/api/query": lambda caller, sql: ask(caller, "POST", "/api/query", {"sql": sql}),
}
# through one of these,
IN_TURN = {
    "/api/exports": export,
    "execute_explain": lambda caller, sql: tool(caller, "execute_explain", {"query": sql}),
    "count_rows": lambda caller, sql: tool(
        caller, "count_rows", {"table": "note", "where": f"EXISTS ({sql})"}
    ),
}
# and those that write also where statements may write, with previews and without.
OPEN = {
    "query_database, open": lambda caller, sql: tool(
        caller, "query_database", {"query": sql, "database": "open"}
    ),
    "/api/query, open": lambda caller, sql: ask(
        caller, "POST", "/api/query", {"sql": sql, "database": "open"}
    ),
    "/api/query, preview": lambda caller, sql: ask(
        caller, "POST", "/api/query", {"sql": sql, "database": "seen", "preview": "only"}
    ),
    "/api/query, committed": committed,
}


def entrances(attempt, enforce):
    """Returns the entrances for an attempt."""
    in_turn = list(IN_TURN.items())
    chosen = in_turn if ALL else [in_turn[attempt.number % len(in_turn)]]
    # A copy of a value is not stopped by `origin`.
    writes = attempt.kind.startswith("writes") and not (attempt.is_question and enforce == "origin")
    return ALWAYS | dict(chosen) | (OPEN if writes else {})


def named(caller, line):
    """Uses the entrance that a line names."""
    way, rest = line[1:].split(" ", 1)
    if way == "GET":
        return ask(caller, "GET", rest)
    name, body = rest.split(" ", 1)
    if way == "POST":
        if name == "/api/exports":
            body = json.loads(body)
            return export(caller, body["sql"])
        return ask(caller, "POST", name, json.loads(body))
    if way == "rpc":
        params = json.loads(body)
        params["_meta"] = {PREFIX + "protocolVersion": MODERN, PREFIX + "clientCapabilities": {}}
        headers = {"Accept": "application/json, text/event-stream", "Mcp-Method": name}
        headers |= {"MCP-Protocol-Version": MODERN}
        if "uri" in params:
            headers["Mcp-Name"] = params["uri"]
        body = {"jsonrpc": "2.0", "id": 1, "method": name, "params": params}
        return caller.ask("POST", "/mcp", body, headers).text
    return tool(caller, name, json.loads(body))


class Server:
    """A server with masks for one of the databases."""

    def __init__(self, stack, folder, side, variables, enforce):
        word, number = side["word"], side["number"]
        # Hashes and fractions of seconds have digits, too.
        self.secret = re.compile(f"{word}|{word[::-1]}|(?<![0-9a-f.]){number}", re.IGNORECASE)
        self.variables, self.enforce = variables, enforce
        # Its last statement has a value, and stays in the list of sessions.
        other = stack.enter_context(connect(variables))
        other.execute(f"SELECT '{side['word']}-0001' AS ssn")
        self.version = other.info.server_version // 10_000
        self.folder = folder
        folder.mkdir()
        tokens = write_tokens(self.folder / "tokens.yaml", THREADS)
        (self.folder / "own.yaml").write_text((HERE / "own.yaml").read_text())
        has_vectors = variables["vectors"]
        masks = MASKS + (PAGES if has_vectors else [])
        self.spans = stack.enter_context(collector())
        everything = {"name": "all", "tools": ["search_schema", "*"], "resources": ["*"]}
        everything |= {"rest": ["databases", "query", "schema", "activity"], "for": {"everyone": True}}
        arguments = write_configuration(
            self.folder,
            databases=[
                entry("shop", variables),
                entry("open", variables, allow_writes=True),
                entry("seen", variables, allow_writes=True, preview={"mode": "offer"}),
            ],
            masking={
                "enforce": enforce,
                "functions": ["public.age"],
                "databases": {"shop": masks, "open": masks, "seen": masks},
            },
            toolsets=[everything],
            dba={"enabled": True, "for": {"everyone": True}},
            embedding={"enabled": has_vectors, "provider": "local"},
            custom_definitions_path="own.yaml",
            audit={"file": "audit.jsonl", "statement": "text", "methods": "all"},
            telemetry={"otlp": {"url": self.spans.url, "ratio": 1}},
        )
        program = [os.environ["HOSTILE_TOOLS"], "-http", "-addr", "127.0.0.1:0", *arguments]
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "RUST_LOG": "debug"}
        address, _ = stack.enter_context(listening(program, environment, self.folder / "log"))
        # A session runs few queries at a time.
        self.callers = queue.SimpleQueue()
        for token in tokens:
            self.callers.put(Caller(address, token, modern=False))

    def answer(self, entrance, text):
        """Returns the answer of an entrance."""
        caller = self.callers.get()
        try:
            return self.normal(entrance(caller, text))
        finally:
            self.callers.put(caller)

    def answers(self, attempt):
        """Returns the answers to an attempt, by entrance."""
        if attempt.text.startswith("@"):
            return {"its own": self.answer(named, attempt.text)}
        found = entrances(attempt, self.enforce).items()
        return {name: self.answer(entrance, attempt.text) for name, entrance in found}

    def normal(self, text):
        """Takes out what differs between any two calls or databases."""
        text = text.replace(self.variables["PGDATABASE"], "DATABASE")
        text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", text)
        text = re.sub(r'"(confirm|digest)": ?"[^"]*"', "SEAL", text)
        text = re.sub(r'"(ms|id)": ?("[0-9a-f]{16}"|[\d.]+)', r'"\1":0', text)
        text = re.sub(r'"(took|duration|elapsed|planning|execution)[^"]*": ?[\d.]+', "TIME", text)
        text = re.sub(r"(?i)\b(planning|execution) time: [\d.]+ ms", "TIME", text)
        text = re.sub(r"[\d.]+ ?(µs|ms|s)\b", "TIME", text)
        text = re.sub(r"actual time=[\d.]+", "TIME", text)
        text = re.sub(r"(?m)^ *(Planning:|Buffers: .*)\n", "", text)
        return text

    def told(self):
        """Returns what operators see, by place, once the server has ended."""
        files = {name: (self.folder / name).read_text() for name in ["audit.jsonl", "log"]}
        return files | {"spans": "\n".join(self.spans.bodies)}

    def has_value(self, text):
        return self.secret.search(text) is not None


def compare(findings, attempt, enforce, found, servers):
    """Judges the answers of two servers."""
    for name in found[0]:
        texts = [answers[name] for answers in found]
        for server, text in zip(servers, texts, strict=True):
            if server.has_value(text):
                findings.add(f"{enforce}, {name}: a value", attempt, repr(text[-300:]))
        # This page is about the calls of the server.
        if "/api/activity" in attempt.text or enforce == "origin" and attempt.is_question:
            continue
        if texts[0] != texts[1]:
            one, two = (repr(text[-300:]) for text in texts)
            findings.add(f"{enforce}, {name}: two answers", attempt, one, two)
        refusals = ["query rejected", "ERROR", "SQLSTATE", '"error":', "Only SELECT queries"]
        if attempt.is_question and not any(it in texts[0] for it in refusals):
            findings.add(f"{enforce}, {name}: an answer", attempt, repr(texts[0][-300:]))


@contextmanager
def local(sql):
    """A database on the shared server."""
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(sql)
        file.flush()
        with database(os.environ["HOSTILE_DATABASE"], sample=file.name) as variables:
            yield variables


def made(host, name, sql):
    """Makes a database on a server of its own."""
    for target, text in [("postgres", f"CREATE DATABASE {name}"), (name, sql)]:
        variables = host | {"PGDATABASE": target}
        with connect(variables) as connection:
            connection.execute(text)
    return variables


def filled(sql, side):
    for name, value in side.items():
        sql = sql.replace("{" + name + "}", value)
    return sql


def databases(stack, binaries):
    """Makes both databases; returns the variables of a client for each."""
    tables = (HERE / "tables.sql").read_text()
    if binaries is None:
        return [
            stack.enter_context(local(filled(tables + VECTORS, side))) | {"vectors": True}
            for side in SIDES
        ]
    from servers import server

    port = str(free_port())
    settings = {"listen_addresses": "127.0.0.1", "port": port, "fsync": "off"}
    stack.enter_context(server(binaries, settings))
    host = {"PGHOST": "127.0.0.1", "PGPORT": port, "PGUSER": "postgres", "PGPASSWORD": "x"}
    return [
        made(host, f"side_{number}", filled(tables, side)) | {"vectors": False}
        for number, side in enumerate(SIDES)
    ]


def run_honest(findings, server):
    """Runs the queries that must run."""
    queries, unseen = read("honest.txt"), []
    number = len(queries)
    queries += [Attempt(number, "made", text, False) for text in honest.made(MADE)]

    def run(attempt):
        text = server.answer(ALWAYS["query_database"], attempt.text)
        if server.version < 17 and "(SELECT " in attempt.text and "this form of" in text:
            unseen.append(attempt)
        elif "\nResults (" not in text:
            findings.add("an honest query does not run", attempt, repr(text[-300:]))
        if server.has_value(text):
            findings.add("an honest query shows a value", attempt, repr(text[-300:]))

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(run, queries))
    print(f"{number} honest queries, and {MADE} that were made")
    if unseen:
        # Their plans do not show what is compared with the rows of a subquery.
        print(f"refused before version 17: {len(unseen)} with a subquery in an expression")


def make(findings, attempts, places, enforce):
    """Makes the attempts with servers for both databases."""
    with tempfile.TemporaryDirectory() as folder:
        with ExitStack() as stack:
            servers = [
                Server(stack, Path(folder) / str(number), side, place, enforce)
                for number, (side, place) in enumerate(zip(SIDES, places, strict=True))
            ]

            def run(attempt):
                found = [server.answers(attempt) for server in servers]
                compare(findings, attempt, enforce, found, servers)

            if enforce == "plan":
                run_honest(findings, servers[0])
            # Those that write, in order and at the end.
            last = [attempt for attempt in attempts if attempt.kind.startswith("writes")]
            with ThreadPoolExecutor(THREADS) as pool:
                list(pool.map(run, [it for it in attempts if it not in last]))
            for attempt in last:
                run(attempt)
        for server in servers:
            for place, text in server.told().items():
                if not text:
                    findings.add(f"{place}: nothing is there", Attempt(0, enforce, "", False))
                for line in filter(server.has_value, text.splitlines()):
                    findings.add(place, Attempt(0, enforce, line[:300], False))


def check(binaries):
    begun, findings = time.monotonic(), Findings()
    attempts = read("attempts.txt")
    with ExitStack() as stack:
        places = databases(stack, binaries)
        for enforce in ["plan", "origin"]:
            make(findings, attempts, places, enforce)
    kinds = Counter(attempt.kind for attempt in attempts)
    took = time.monotonic() - begun
    print(f"{len(attempts)} attempts of {len(kinds)} kinds in {took:.0f} s: {binaries or 'local'}")
    findings.end()


if __name__ == "__main__":
    for folder in [word for word in sys.argv[1:] if word != "--all"] or [None]:
        check(folder)
