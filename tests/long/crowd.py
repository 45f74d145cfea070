"""More callers than PostgreSQL has connections, while another program needs connections, too.

`bash tests/long/run crowd`: a PostgreSQL and a server with default settings, 120 tokens that have
each made a call, another program that holds connections and opens more, and 2,000 callers at once,
each with its own token. Every call succeeds or fails with a reason within 10 s, the other program
gets every connection it opens, and each token works afterwards.
"""

import os
import re
import resource
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import psycopg
from another_program import connect
from callers import Caller, entry, write_configuration, write_tokens
from faults import Faults
from processes import database, listening

TENTH = "--tenth" in sys.argv
CALLERS = 200 if TENTH else 2000
IDLE = 12 if TENTH else 120
HELD = 40
# PostgreSQL's connections for roles that are not superusers.
CONNECTIONS = 97
# Connections left to the server when the other program has nearly all.
FEW = 5
BOUND = 10.0


class OtherProgram(threading.Thread):
    """Opens connections, one after the other, until it is stopped."""

    def __init__(self, reader, faults):
        super().__init__()
        self.reader, self.faults = reader, faults
        self.stop = threading.Event()
        self.times = []

    def run(self):
        while not self.stop.is_set():
            begun = time.monotonic()
            try:
                with connect(self.reader) as connection:
                    connection.execute("SELECT 1")
                self.times.append(time.monotonic() - begun)
            except psycopg.Error as error:
                self.faults.add("connections the other program did not get", str(error))
            self.stop.wait(0.05)


def call(address, token, faults, outcomes):
    """Makes one call, which must succeed or fail with a reason within the bound."""
    mark = f"for {token}"
    client = Caller(address, token, modern=False)
    try:
        answer = client.query(f"SELECT '{mark}' AS mark", patience=BOUND + 20)
    except (OSError, ValueError) as error:
        faults.add("calls without an answer", repr(error))
        return
    if not answer.is_error and mark in answer.text:
        outcomes.append(("served", answer.seconds))
    elif answer.is_error and len(answer.text) > 20:
        words = re.sub(r"\d+", "#", answer.text).replace("\n", " ")
        outcomes.append((f"told ({answer.status}): {words[:200]}", answer.seconds))
    else:
        faults.add("answers that are neither rows nor a reason", answer.said())
    if answer.seconds > BOUND:
        faults.add("answers that came too late", f"{answer.said()}")


def calls(address, tokens, faults, at_once):
    """Makes a call per token; returns the outcomes."""
    outcomes = []
    begun = time.monotonic()
    with ThreadPoolExecutor(at_once) as pool:
        for token in tokens:
            pool.submit(faults.watch, call, address, token, faults, outcomes)
    return outcomes, time.monotonic() - begun


def report(what, outcomes, took):
    print(f"{what}: {len(outcomes)} answers in {took:.1f} s")
    for outcome, count in Counter(outcome for outcome, _ in outcomes).most_common():
        times = sorted(seconds for found, seconds in outcomes if found == outcome)
        middle, longest = times[len(times) // 2], times[-1]
        print(f"    {count} {outcome}; p50 {middle:.2f} s, longest {longest:.2f} s")


def all_served(what, outcomes, faults):
    for outcome, _ in outcomes:
        if outcome != "served":
            faults.add(what, outcome)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    threading.stack_size(256 << 10)
    # The server, a child process, needs up to two files per connection; so does this one.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    faults = Faults()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o711)
        variables = stack.enter_context(database(os.environ["LONG_DATABASE"], folder))
        direct = stack.enter_context(connect(variables))
        direct.execute("CREATE ROLE reader LOGIN PASSWORD 'a reader'")
        reader = variables | {"PGUSER": "reader", "PGPASSWORD": "a reader"}
        home = folder / "tools"
        home.mkdir()
        tokens = write_tokens(home / "tokens.yaml", IDLE + CALLERS)
        idle, callers = tokens[:IDLE], tokens[IDLE:]
        arguments = write_configuration(home, databases=[entry("shop", reader)])
        command = [os.environ["LONG_TOOLS"], "-http", "-addr", "127.0.0.1:0", *arguments]
        environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
        address, _ = stack.enter_context(listening(command, environment, folder / "log"))

        def ours():
            query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'ziggurat'"
            return direct.execute(query).fetchone()[0]

        others = []

        def hold(count):
            try:
                while len(others) < count:
                    others.append(connect(reader))
            except psycopg.Error as error:
                faults.add("connections the other program did not get", str(error))
            while len(others) > count:
                others.pop().close()

        hold(CONNECTIONS - FEW)
        outcomes, took = calls(address, idle, faults, 8)
        report(
            f"{FEW} connections left by another program, {IDLE} callers, 8 at a time",
            outcomes,
            took,
        )
        all_served("callers that were not served with the few that are left", outcomes, faults)
        hold(0)
        outcomes, took = calls(address, idle, faults, 8)
        report(f"{IDLE} callers, 8 at a time", outcomes, took)
        all_served("callers that were not served, with connections to be had", outcomes, faults)
        print(f"    {ours()} connections of the server afterwards")
        hold(HELD)
        asking = [OtherProgram(reader, faults) for _ in range(2)]
        for thread in asking:
            thread.start()
        outcomes, took = calls(address, callers, faults, CALLERS)
        report(
            f"{CALLERS} callers at once, {HELD} connections held by another program", outcomes, took
        )
        print(f"    {ours()} connections of the server afterwards")
        for thread in asking:
            thread.stop.set()
            thread.join()
        times = [seconds for thread in asking for seconds in thread.times]
        print(
            f"    {len(times)} connections of the other program, longest {max(times, default=0):.2f} s"
        )
        hold(HELD)
        outcomes, took = calls(address, idle + callers[:: max(1, CALLERS // 100)], faults, 8)
        report("afterwards, 8 at a time", outcomes, took)
        all_served("callers that were locked out afterwards", outcomes, faults)
        hold(0)
    faults.end()


if __name__ == "__main__":
    main()
