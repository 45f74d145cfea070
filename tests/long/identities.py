"""Calls of many identities in turn, of which none ever sees the rows of another.

`bash tests/long/run identities`: 1,000,000 calls of 50 tenants, each with a role and a setting of its
own, on 60 connections of a server. Each answer is the one line of its tenant. Between them are calls
that fail, and calls of clients that give up.
"""

import http.client
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

from callers import Caller, write_configuration
from faults import Faults
from processes import database, listening
from tenants import WHO, tenants

TENTH = "--tenth" in sys.argv
# A tenth would take minutes; it takes a fiftieth.
CALLS = 20_000 if TENTH else 1_000_000
TENANTS = 50
THREADS = 8
# One of so many calls fails, and one gives up.
FAILS, GIVES_UP = 40, 400


def ask(connection, token):
    """Asks who it is on a connection that stays open; returns the last line of the answer."""
    params = {"name": "query_database", "arguments": {"query": WHO}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    connection.request("POST", "/mcp/v1", json.dumps(body), headers)
    answer = json.loads(connection.getresponse().read())
    return answer["result"]["content"][0]["text"].splitlines()[-1]


def run(address, made, seed, calls, faults):
    chance = random.Random(seed)
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=120)
    for turn in range(calls):
        number = chance.randrange(TENANTS)
        token = made.tokens[number]
        faults.expect("an answer", ask(connection, token), made.who(number))
        if turn % FAILS == 0:
            answer = Caller(address, token).query("SELECT 1 / 0")
            faults.expect("an error", answer.is_error, True)
        if turn % GIVES_UP == 0:
            try:
                Caller(address, token).query(f"{WHO}, pg_sleep(5)", patience=0.05)
                faults.add("a client that gives up", "got an answer")
            except TimeoutError:
                pass
    connection.close()


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    faults, begun = Faults(), time.monotonic()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        variables = stack.enter_context(database(os.environ["LONG_DATABASE"]))
        made = stack.enter_context(tenants(variables, TENANTS))
        made.write_tokens(folder / "tokens.yaml")
        shop = made.entry("shop", made.login, max_total_connections=60, pool_max_conns=2)
        arguments = write_configuration(folder, databases=[shop])
        program = [os.environ["LONG_TOOLS"], "-http", "-addr", "127.0.0.1:0", *arguments]
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        address, _ = stack.enter_context(listening(program, environment, folder / "log"))
        threads = [
            threading.Thread(
                target=faults.watch, args=[run, address, made, seed, CALLS // THREADS, faults]
            )
            for seed in range(THREADS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    took = time.monotonic() - begun
    print(f"{CALLS} calls of {TENANTS} identities in {took:.0f} s")
    faults.end()


if __name__ == "__main__":
    main()
