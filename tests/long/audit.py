"""The audit trail: one record for each call, whatever becomes of it.

`bash tests/long/run audit`: 10,000 mixed calls over HTTP, `/api`, and standard input and output have
10,000 records with the right verdicts. A changed, removed, added or moved line is found. With
`audit.required`, a server that is killed at 1,000 random moments has a record of every statement
that changed the database, and one whose disk is full refuses calls and runs nothing.
"""

import hashlib
import http.client
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from another_program import connect
from callers import Caller, entry, write_configuration, write_tokens
from faults import Faults
from processes import LISTENING, database, listening

TENTH = "--tenth" in sys.argv
CALLS = 1_000 if TENTH else 10_000
KILLS = 40 if TENTH else 1_000
CHANGES = 40 if TENTH else 400
CALLERS = 8
TOOLS = os.environ["LONG_TOOLS"]
GIVES_UP_AFTER = 0.05
QUERY_TIMEOUT = "400ms"


def records(trail, kind="call"):
    """The records of one kind, of a trail that the server has closed or was killed over."""
    lines = trail.read_text().splitlines()
    return [record for line in lines if (record := json.loads(line))["kind"] == kind]


def check(faults, is_so, what):
    if not is_so:
        faults.add("the audit trail", what)


def verify(*trails):
    command = [TOOLS, "-verify-audit", *trails]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class Server:
    """A server with an audit trail, and a second database that may be changed."""

    def __init__(self, folder, variables, audit, **more):
        folder.mkdir()
        self.token, self.writer = write_tokens(folder / "tokens.yaml", 2, "writable")
        self.trail = folder / "audit.jsonl"
        databases = [
            entry("main", variables, query_timeout=QUERY_TIMEOUT, **more),
            entry("writable", variables, allow_writes=True),
        ]
        audit = {"file": str(self.trail)} | audit
        self.arguments = write_configuration(folder, databases=databases, audit=audit)
        self.log = folder / "log"
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}

    def listening(self):
        command = [TOOLS, "-http", "-addr", "127.0.0.1:0", *self.arguments]
        return listening(command, self.environment, self.log)


def give_up(client, statement):
    try:
        client.query(statement, patience=GIVES_UP_AFTER)
    except TimeoutError:
        pass


def ways(address, token, writer):
    """Calls over HTTP, each with its expected verdict."""
    modern, legacy = (Caller(address, token, modern=it) for it in (True, False))
    asked = Caller(address, writer, can_confirm=True)
    return [
        ("ok", lambda: modern.query("SELECT 1")),
        ("ok", lambda: legacy.query("SELECT generate_series(1, 50)")),
        ("ok", lambda: modern.call("list_databases", {})),
        ("ok", lambda: modern.call("get_schema_info", {})),
        ("ok", lambda: modern.ask("GET", "/api/user/info")),
        ("error", lambda: modern.query("SELECT * FROM nothing")),
        ("error", lambda: legacy.query("SELECT nothing")),
        ("refused", lambda: modern.query("DELETE FROM pg_class")),
        ("refused", lambda: modern.call("query_database", {"qery": "SELECT 1"})),
        ("unknown", lambda: modern.call("no_such_tool", {})),
        ("asked", lambda: asked.query("CREATE TABLE asked_for (mark int)")),
        ("timeout", lambda: modern.query("SELECT pg_sleep(30)")),
        ("cancelled", lambda: give_up(modern, "SELECT pg_sleep(30)")),
    ]


def calls_over_http(folder, variables, faults):
    server = Server(folder / "http", variables, {"fsync": "never"})
    expected = Counter()
    with server.listening() as (address, _):
        stranger = Caller(address, "no-such-token")
        choices = ways(address, server.token, server.writer)

        def call(number):
            # The slow ones are rare.
            few = number % 50
            way = choices[11 + few] if few < 2 else choices[number % 11]
            way[1]()
            return way[0]

        with ThreadPoolExecutor(CALLERS) as pool:
            expected.update(pool.map(call, range(CALLS)))
        stranger.ask("GET", "/api/databases")
    found = Counter(record["verdict"] for record in records(server.trail))
    print(f"{sum(found.values())} records of {CALLS} calls over HTTP: {dict(found)}")
    check(faults, found == expected, f"expected {dict(expected)}")
    check(faults, len(records(server.trail, "denied")) == 1, "a refused token has no record")
    checked = verify(server.trail)
    check(faults, checked.returncode == 0, checked.stdout + checked.stderr)
    return server.trail


def calls_over_stdio(folder, variables, faults):
    server = Server(folder / "stdio", variables, {})
    messages = []
    for number in range(CALLS // 10):
        query = {"name": "query_database", "arguments": {"query": f"SELECT {number}"}}
        message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": query}
        messages.append(json.dumps(message))
    command = [TOOLS, *server.arguments]
    text = "\n".join(messages) + "\n"
    subprocess.run(
        command, input=text, env=server.environment, capture_output=True, text=True, check=True
    )
    found = records(server.trail)
    print(f"{len(found)} records of {len(messages)} calls over standard input")
    check(faults, len(found) == len(messages), "records are missing")
    check(faults, {record["transport"] for record in found} == {"stdio"}, "not all are stdio")


def changes(trail, folder, faults):
    """Changes a copy of the trail in every way; each has to be found."""
    lines = trail.read_text().splitlines(keepends=True)[:400]
    copy = folder / "changed.jsonl"
    missed = 0
    for number in range(CHANGES):
        changed = lines.copy()
        place = random.randrange(1, len(changed) - 1)
        match number % 4:
            case 0:
                line = changed[place]
                byte = random.randrange(len(line) - 1)
                other = "0" if line[byte] != "0" else "1"
                changed[place] = line[:byte] + other + line[byte + 1 :]
            case 1:
                del changed[place]
            case 2:
                changed.insert(place, random.choice(lines))
            case 3:
                changed[place - 1], changed[place] = changed[place], changed[place - 1]
        copy.write_text("".join(changed))
        missed += verify(copy).returncode == 0
    print(f"{CHANGES} changes of a trail, {missed} not found")
    check(faults, missed == 0, "a change was not found")


def kills(folder, variables, direct, faults):
    """Kills a server that has to record everything, again and again."""
    direct.execute("CREATE TABLE marks (mark int)")
    audit = {"required": True, "fsync": "never", "statement": "text"}
    server = Server(folder / "killed", variables, audit, allow_writes=True)
    mark = 0
    for _ in range(KILLS):
        with ExitStack() as stack:
            command = [TOOLS, "-http", "-addr", "127.0.0.1:0", *server.arguments]
            # It does not end in order, so the helper that expects that is not used.
            log = stack.enter_context(open(server.log, "wb"))
            child = subprocess.Popen(command, env=server.environment, stdout=log, stderr=log)
            address = started(child, server.log)
            writers = [
                threading.Thread(target=write, args=(address, server.token, range(at, at + 40)))
                for at in range(mark, mark + 160, 40)
            ]
            mark += 160
            killer = threading.Timer(random.uniform(0.001, 0.12), child.kill)
            for thread in [*writers, killer]:
                thread.start()
            for thread in [*writers, killer]:
                thread.join()
            child.wait()
    # One more start completes the trail.
    with server.listening():
        pass
    digests = {
        record["statement"]["sha256"] for record in records(server.trail) if "statement" in record
    }
    marks = [mark for (mark,) in direct.execute("SELECT mark FROM marks").fetchall()]
    missing = [mark for mark in marks if digest(mark) not in digests]
    lost = sum(record["verdict"] == "lost" for record in records(server.trail))
    print(f"{len(marks)} rows written over {KILLS} kills, {lost} lost calls, {len(missing)} unknown")
    check(faults, not missing, f"no record of {missing[:5]}")
    checked = verify(server.trail)
    check(faults, checked.returncode == 0, checked.stdout + checked.stderr)


def digest(mark):
    return hashlib.sha256(f"INSERT INTO marks VALUES ({mark})".encode()).hexdigest()


def started(child, log):
    while not (found := LISTENING.search(log.read_text())):
        if child.poll() is not None:
            sys.exit(f"the server did not start: {log.read_text()}")
    return f"http://{found[1]}"


def write(address, token, marks):
    client = Caller(address, token, modern=False)
    for mark in marks:
        try:
            client.query(f"INSERT INTO marks VALUES ({mark})")
        except (OSError, ValueError, IndexError, http.client.HTTPException):
            return


def full_disk(folder, variables, direct, faults):
    """A server whose files cannot grow refuses calls, and runs nothing."""
    direct.execute("CREATE TABLE full_marks (mark int)")
    server = Server(folder / "full", variables, {"required": True}, allow_writes=True)

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))

    command = [TOOLS, "-http", "-addr", "127.0.0.1:0", *server.arguments]
    log = folder / "full-log"
    with open(log, "wb") as lines:
        child = subprocess.Popen(
            command, env=server.environment, stdout=lines, stderr=lines, preexec_fn=limit
        )
        address = started(child, log)
        client = Caller(address, server.token)
        statuses = [
            client.query(f"INSERT INTO full_marks VALUES ({mark})").status for mark in range(200)
        ]
        rest = client.ask("GET", "/api/user/info")
        child.terminate()
        child.wait()
    written = direct.execute("SELECT count(*) FROM full_marks").fetchone()[0]
    ran = statuses.count(200)
    print(f"a full disk: {ran} calls ran, {statuses.count(503)} got 503, {written} rows")
    check(faults, written == ran and statuses.count(503) == 200 - ran > 0, f"{statuses}")
    # A short line may fit where a longer one did not, so a call may run after one was refused.
    opens = server.trail.read_text().count('"kind":"open"')
    check(faults, opens >= ran, f"{ran} calls ran, but {opens} were recorded before")
    check(faults, rest.status == 503 and "Audit is unavailable" in rest.text, rest.said())


def main():
    faults = Faults()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        variables = stack.enter_context(database(os.environ["LONG_DATABASE"]))
        direct = stack.enter_context(connect(variables))
        trail = calls_over_http(folder, variables, faults)
        calls_over_stdio(folder, variables, faults)
        changes(trail, folder, faults)
        full_disk(folder, variables, direct, faults)
        kills(folder, variables, direct, faults)
    faults.end()


if __name__ == "__main__":
    main()
