"""A flood of requests without a token, and the statuses of all other requests.

`bash tests/long/run flood`: a server with `limits.callers` for everyone. 10,000 requests without a token
over 8 connections go to the sign-in, pages, the API and both endpoints of MCP. Meanwhile probes, pages,
the sign-in of a user and calls with a good token go on; none of their statuses may change.
"""

import http.client
import os
import sys
import tempfile
import threading
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from callers import Caller, entry, write_configuration, write_tokens
from faults import Faults
from processes import database, listening

TENTH = "--tenth" in sys.argv
REQUESTS = 1_000 if TENTH else 10_000
CONNECTIONS = 8
FLOODED = [
    ("GET", "/api/console/session"),
    ("GET", "/console/"),
    ("GET", "/docs"),
    ("GET", "/api/user/info"),
    ("GET", "/.well-known/oauth-protected-resource"),
    ("POST", "/mcp/v1"),
    ("POST", "/mcp"),
    ("DELETE", "/api/console/session"),
]
# Each request of others, with its status without a flood.
OTHERS = [("/health", 200), ("/ready", 200), ("/console/", 200), ("/docs", 200)]
SIGN_IN = {"username": "unknown", "password": "wrong"}


def flood(address, statuses):
    """Sends its share of the requests over one connection."""
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=60)
    for number in range(REQUESTS // CONNECTIONS):
        method, path = FLOODED[number % len(FLOODED)]
        body = "{}" if method == "POST" else None
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            with connection.getresponse() as response:
                response.read()
            statuses[path, response.status] += 1
        except (http.client.HTTPException, OSError):
            connection.close()
    connection.close()


def look(address, good, faults):
    """Sends one request of each kind of the others."""
    stranger = Caller(address)
    for path, status in OTHERS:
        answer = stranger.ask("GET", path)
        if answer.status != status:
            faults.add("statuses that have changed", f"{path}: {answer.said()}")
    sign_in = stranger.ask("POST", "/api/console/session", SIGN_IN, {"Ziggurat-Console": ""})
    if sign_in.status not in (401, 403):
        faults.add("sign-ins that were not looked at", sign_in.said())
    answer = good.ask("GET", "/api/databases")
    if answer.status != 200:
        faults.add("calls with a good token that failed", answer.said())
    answer = good.query("SELECT 1")
    if answer.status != 200 or answer.is_error:
        faults.add("calls with a good token that failed", answer.said())


def main():
    faults = Faults()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o711)
        variables = stack.enter_context(database(os.environ["LONG_DATABASE"], folder))
        [token] = write_tokens(folder / "tokens.yaml", 1)
        limits = {"callers": [{"for": {"everyone": True}, "calls": "100000 per hour"}]}
        # So few that the flood would use them up at once if it counted.
        limits["callers"].insert(0, {"for": {"local": True}, "calls": "1 per hour"})
        shop = entry("shop", variables, pool_max_conns=8)
        auth = {"rate_limit_max_attempts": 100_000}
        arguments = write_configuration(
            folder, databases=[shop], limits=limits, http={"auth": auth}
        )
        command = [os.environ["LONG_TOOLS"], "-http", "-addr", "127.0.0.1:0", *arguments]
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        address, _ = stack.enter_context(listening(command, environment, folder / "log"))
        good = Caller(address, token)
        look(address, good, faults)
        statuses = Counter()
        threads = [
            threading.Thread(target=flood, args=(address, statuses)) for _ in range(CONNECTIONS)
        ]
        for thread in threads:
            thread.start()
        looks = 0
        while any(thread.is_alive() for thread in threads):
            look(address, good, faults)
            looks += 1
        look(address, good, faults)
        for (path, status), count in sorted(statuses.items()):
            if status == 429:
                faults.add("requests of the flood that were counted", f"{path}: {count}")
        print(f"{sum(statuses.values())} requests without a token, {looks + 2} looks at the others")
    faults.end()


if __name__ == "__main__":
    main()
