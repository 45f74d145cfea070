"""Statements of disconnected clients: the connection limit also holds for PostgreSQL's processes.

`bash tests/long/run abandoned`: eight statements at a time are abandoned after 0.7 s: sleeping,
computing and expensive to parse. At no time are more backends busy than `pool_max_conns`, and none
is busy a second after the disconnects.
"""

import os
import signal
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

from another_program import connect
from callers import Caller, entry, write_configuration, write_tokens
from faults import Faults
from processes import database, listening

TENTH = "--tenth" in sys.argv
ROUNDS = 1 if TENTH else 10
CALLERS = 8
POOL_MAX_CONNS = 4
GIVES_UP_AFTER = 0.7
GONE_WITHIN = 1.0
FORGIVEN_AFTER = 60

NUMBERS = "generate_series(1, 100000)"
STATEMENTS = {
    "asleep": "SELECT pg_sleep(60)",
    "calculating": f"SELECT count(*) FROM {NUMBERS} a, {NUMBERS} b WHERE a.a % 7 = b.b % 5",
    "sorting": f"SELECT md5(a::text) FROM {NUMBERS} a, generate_series(1, 100) ORDER BY 1",
    "comments in a row": "SELECT 1" + "/**/" * 40_000,
    "comments in pieces": "SELECT 1" + ("/**/" * 200 + " ") * 200,
    "nested comments": "/*" * 40_000 + "*/" * 40_000 + " SELECT 1",
    "operators in a row": "SELECT 1 " + "+-" * 50_000 + " 1",
    "parentheses": "SELECT " + "(" * 4_000 + "1" + ")" * 4_000,
}


def busy(direct):
    """Counts the backends that run a statement of the server."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'abandoned'"
    return direct.execute(f"{query} AND state <> 'idle'").fetchone()[0]


def give_up(client, statement, answered):
    try:
        answered.append(client.query(statement, patience=GIVES_UP_AFTER))
    except TimeoutError:
        pass


def attempt(direct, client, name, statement, faults):
    """Abandons a statement in several clients at once; returns the number of busy backends, and how
    long the last was busy after the disconnects."""
    answered = []
    threads = [
        threading.Thread(target=give_up, args=[client, statement, answered]) for _ in range(CALLERS)
    ]
    for thread in threads:
        thread.start()
    most = 0
    while any(thread.is_alive() for thread in threads):
        most = max(most, busy(direct))
        time.sleep(0.02)
    gone = time.monotonic()
    while now := busy(direct):
        most = max(most, now)
        if time.monotonic() - gone > GONE_WITHIN:
            faults.add(
                f"{name}: a backend that is busy after its client has gone", f"{now} of them"
            )
            break
        time.sleep(0.02)
    if most > POOL_MAX_CONNS:
        faults.add(f"{name}: more backends busy than the pool has connections", str(most))
    took = time.monotonic() - gone
    # A later statement must not be counted here.
    while busy(direct) and time.monotonic() - gone < FORGIVEN_AFTER:
        time.sleep(0.1)
    return most, took, answered


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    faults = Faults()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        variables = stack.enter_context(database(os.environ["LONG_DATABASE"]))
        direct = stack.enter_context(connect(variables))
        token = write_tokens(folder / "tokens.yaml", 1)[0]
        shop = entry("shop", variables, application_name="abandoned", pool_max_conns=POOL_MAX_CONNS)
        arguments = write_configuration(folder, databases=[shop])
        command = [os.environ["LONG_TOOLS"], "-http", "-addr", "127.0.0.1:0", *arguments]
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        server = listening(command, environment, folder / "log")
        client = Caller(stack.enter_context(server)[0], token)
        client.query("SELECT 1")
        for name, statement in STATEMENTS.items():
            rounds = [attempt(direct, client, name, statement, faults) for _ in range(ROUNDS)]
            most = max(most for most, _, _ in rounds)
            longest = max(took for _, took, _ in rounds)
            answered = [answer for _, _, answers in rounds for answer in answers]
            print(
                f"{name}: {CALLERS * ROUNDS} statements, {len(answered)} answered before they "
                f"were given up; {most} backends busy at most, none {1000 * longest:.0f} ms later"
            )
            if answered:
                print(f"    {answered[0].said()}")
        answer = client.query("SELECT 'well' AS mark")
        if answer.is_error or "well" not in answer.text:
            faults.add("a call afterwards", answer.said())
    faults.end()


if __name__ == "__main__":
    main()
