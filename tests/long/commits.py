"""Commits of previewed changes, with something killed at COMMIT: `bash tests/long/run commits`

A connection, PostgreSQL or the server ends just before COMMIT reaches PostgreSQL, or just after it, 500
times. The answer and the audit trail say what PostgreSQL says of the transaction. While an answer of a
person is awaited, no transaction is open.
"""

import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from another_program import connect
from audit import records, started
from callers import Caller, entry, free_port, write_configuration, write_tokens
from faults import Faults
from servers import server
from tcp_proxy import TcpProxy

TENTH = "--tenth" in sys.argv
BINARIES = [word for word in sys.argv[1:] if not word.startswith("--")]
CONNECTIONS, RESTARTS, KILLS = (40, 6, 6) if TENTH else (400, 60, 40)
# A session runs so many statements at a time.
CALLERS = 2
TOOLS = os.environ["LONG_TOOLS"]
UNDONE = "The change was not committed."
UNKNOWN = "It is not known whether the change was committed: transaction "
COMMIT = b"COMMIT\0"


class Cut(TcpProxy):
    """A proxy that strikes when a COMMIT passes, if it is told to."""

    def __init__(self, host, port):
        self.strikes = []
        super().__init__(host, port)

    def send(self, data, source, target):
        if COMMIT not in data or not self.strikes:
            return super().send(data, source, target)
        forwards, strike = self.strikes.pop()
        if forwards:
            target.sendall(data)
        strike(source, target, forwards)

    def hang_up(self, source, target, forwards):
        self.close(source)
        # PostgreSQL reads what was sent before it sees the end.
        if not forwards:
            self.close(target)


class Place:
    """A server of this workspace in front of a PostgreSQL that can be stopped."""

    def __init__(self, stack, binaries):
        self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        port = free_port()
        settings = {"listen_addresses": "127.0.0.1", "port": str(port), "fsync": "off"}
        self.postgres = stack.enter_context(server(binaries, settings))
        self.own = {"PGHOST": "127.0.0.1", "PGPORT": str(port), "PGUSER": "postgres"}
        self.own |= {"PGPASSWORD": "x", "PGDATABASE": "postgres"}
        self.direct = connect(self.own)
        self.direct.execute("CREATE TABLE counter (id int PRIMARY KEY, n int NOT NULL)")
        self.direct.execute("INSERT INTO counter SELECT n, 0 FROM generate_series(1, 100) n")
        self.proxy = Cut("127.0.0.1", port)
        variables = self.own | {"PGPORT": str(self.proxy.port)}
        (self.token,) = write_tokens(self.folder / "tokens.yaml", 1)
        self.trail = self.folder / "audit.jsonl"
        main = entry("main", variables, allow_writes=True, preview={"mode": "require"})
        self.arguments = write_configuration(
            self.folder,
            databases=[main],
            audit={"file": str(self.trail), "required": True, "fsync": "never"},
            toolsets=[{"name": "all", "tools": ["*"], "rest": ["query"], "for": {"everyone": True}}],
        )
        self.child, self.address = None, None

    def begin(self):
        log = self.folder / "log"
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder)}
        command = [TOOLS, "-http", "-addr", "127.0.0.1:0", *self.arguments]
        with open(log, "wb") as lines:
            self.child = subprocess.Popen(command, env=environment, stdout=lines, stderr=lines)
        self.address = started(self.child, log)

    def end(self):
        self.child.terminate()
        self.child.wait()

    def restart_postgres(self):
        self.postgres.stop()
        self.postgres.start()
        self.direct = connect(self.own)

    def value(self, row):
        return self.direct.execute("SELECT n FROM counter WHERE id = %s", [row]).fetchone()[0]

    def status(self, transaction):
        asked = self.direct.execute("SELECT pg_xact_status(%s::text::xid8)", [transaction])
        return asked.fetchone()[0]


def ask(place, body):
    return Caller(place.address, place.token).ask("POST", "/api/query", body, patience=60)


def change(place, faults, row, number, strike=None):
    """Previews a change of a row, commits it, and returns the end of the answer."""
    body = {"sql": f"UPDATE counter SET n = {number} WHERE id = {row}"}
    asked = ask(place, body)
    if asked.status != 409:
        return faults.add("no preview", asked.said())
    if strike:
        place.proxy.strikes.append(strike)
    try:
        answer = ask(place, body | {"confirm": json.loads(asked.text)["confirm"]})
    except (OSError, http.client.HTTPException):
        return "no answer"
    if '"committed":true' in answer.text.replace(" ", ""):
        return "committed"
    if UNDONE in answer.text:
        return "undone"
    if UNKNOWN in answer.text:
        return "unknown"
    return faults.add("another answer", answer.said())


def judge(place, faults, row, number, end):
    """Compares the end of a change with the row."""
    is_there = place.value(row) == number
    if end in ("committed", "undone") and is_there != (end == "committed"):
        faults.add("a wrong answer", f"{end}, and the row is {'new' if is_there else 'old'}")


def cut_connections(place, faults):
    place.begin()
    ends = Counter()

    def one(number):
        forwards = number % 2 == 0
        row = number % CALLERS + 1
        end = change(place, faults, row, number, (forwards, place.proxy.hang_up))
        judge(place, faults, row, number, end)
        return end

    # One after the other, so that a strike meets its own COMMIT.
    ends.update(one(number) for number in range(1, CONNECTIONS + 1))
    print(f"{CONNECTIONS} connections cut at COMMIT: {dict(ends)}")
    if ends["unknown"] or ends["no answer"]:
        faults.add("connections", f"{dict(ends)}")
    if not ends["committed"] or not ends["undone"]:
        faults.add("connections", f"not both ends were seen: {dict(ends)}")
    place.end()


def kill_postgres(place, faults):
    place.begin()
    ends = Counter()
    for number in range(1, RESTARTS + 1):
        stopped = threading.Event()

        def strike(*_, stopped=stopped):
            place.restart_postgres()
            stopped.set()

        row, value = number % 100 + 1, 10_000 + number
        end = change(place, faults, row, value, (number % 2 == 0, strike))
        if end is not None:
            stopped.wait(60)
        place.proxy.strikes.clear()
        judge(place, faults, row, value, end)
        ends[end] += 1
    print(f"{RESTARTS} restarts of PostgreSQL at COMMIT: {dict(ends)}")
    place.end()


def kill_server(place, faults):
    ends = Counter()
    for number in range(1, KILLS + 1):
        place.begin()
        row, value = number % 100 + 1, 20_000 + number
        kill = (number % 2 == 0, lambda *_: place.child.kill())
        ends[change(place, faults, row, value, kill)] += 1
        place.proxy.strikes.clear()
        place.child.kill()
        place.child.wait()
    # One more start completes the trail.
    place.begin()
    place.end()
    lost = sum(record["verdict"] == "lost" for record in records(place.trail))
    print(f"{KILLS} kills of the server at COMMIT: {dict(ends)}, {lost} lost calls")
    # The end of the preview before may be lost with the server, too.
    is_each_lost = KILLS <= lost <= 2 * KILLS
    faults.expect("kills", (dict(ends), is_each_lost), ({"no answer": KILLS}, True))


def judge_trail(place, faults):
    """Compares each record of a commit with PostgreSQL."""
    steps = Counter()
    expected = {"committed": "committed", "undone": "aborted"}
    for record in records(place.trail):
        if "write" not in record:
            continue
        step, transaction = record["write"]["step"], record["write"].get("xid")
        steps[step] += 1
        status = transaction and place.status(transaction)
        if step in expected and status != expected[step]:
            faults.add("a record", f"{step}, and PostgreSQL says {status}")
    print(f"records by step: {dict(steps)}")


def no_transaction_waits(place, faults):
    """Looks at the sessions while an answer is awaited."""
    place.begin()
    body = {"sql": "UPDATE counter SET n = n + 1"}

    def look(_):
        asked = ask(place, body)
        if asked.status != 409:
            faults.add("no preview", asked.said())

    with ThreadPoolExecutor(CALLERS) as pool:
        list(pool.map(look, range(20)))
    text = """SELECT count(*) FROM pg_stat_activity a LEFT JOIN pg_locks l USING (pid)
        WHERE a.pid <> pg_backend_pid() AND a.datname = 'postgres'
          AND (a.xact_start IS NOT NULL OR l.locktype = 'relation')"""
    faults.expect("open transactions", place.direct.execute(text).fetchone()[0], 0)
    place.end()


def main():
    faults = Faults()
    for binaries in BINARIES:
        with ExitStack() as stack:
            place = Place(stack, binaries)
            for proof in (no_transaction_waits, cut_connections, kill_postgres, kill_server):
                random.seed(1)
                proof(place, faults)
            judge_trail(place, faults)
    faults.end()


if __name__ == "__main__":
    main()
