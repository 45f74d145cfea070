"""Exports of a million rows, and the memory of the server.

`bash tests/long/run exports`: each format alone, then two at once, which is what a session may have,
with clients that pause. Each file is whole, and the memory of the server grows by less than 64 MiB.
"""

import http.client
import json
import os
import signal
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from callers import entry, write_configuration
from faults import Faults
from processes import database, listening, peak_memory

TENTH = "--tenth" in sys.argv
ROWS = 100_000 if TENTH else 1_000_000
BOUND_KIB = 64 << 10
PATIENCE = 600
# The lines of a file besides its rows: names of columns, or the brackets of a list.
FORMATS = {"csv": 1, "tsv": 1, "json": 2, "ndjson": 0}

SQL = f"""SELECT n, n * 1.5 AS price, 'line' || n AS title, repeat('x', 40) AS note,
    timestamptz '2024-01-01' + n * interval '1 second' AS at, n % 2 = 0 AS is_even,
    NULL::text AS nothing, md5(n::text) AS digest
    FROM generate_series(1, {ROWS}) n"""


def link(address, kind):
    connection = http.client.HTTPConnection(address, timeout=PATIENCE)
    body = json.dumps({"sql": SQL, "format": kind, "max_rows": ROWS})
    connection.request("POST", "/api/exports", body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    answer = json.load(response)
    if response.status != 201:
        raise ValueError(f"{response.status} {answer}")
    return answer["href"]


def fetch(address, kind, pause, faults):
    """Downloads a file; returns its bytes and the seconds it took."""
    begun = time.monotonic()
    connection = http.client.HTTPConnection(address, timeout=PATIENCE)
    connection.request("GET", link(address, kind))
    response = connection.getresponse()
    lines = size = 0
    while part := response.read(1 << 16):
        if not size:
            time.sleep(pause)
        size += len(part)
        lines += part.count(b"\n")
    faults.expect(f"{kind}: lines of the file", lines, ROWS + FORMATS[kind])
    return size, time.monotonic() - begun


def attempt(name, kinds, pause, address, process, faults):
    """Downloads files at once, and checks how much the memory of the server grows."""
    peak_memory(process)
    before = peak_memory(process)
    with ThreadPoolExecutor(len(kinds)) as pool:
        files = [
            pool.submit(faults.watch, fetch, address, kind, pause, faults) for kind in kinds
        ]
        files = [file.result() or (0, 0) for file in files]
    grown = peak_memory(process) - before
    size, seconds = sum(size for size, _ in files), max(seconds for _, seconds in files)
    print(
        f"{name}: {ROWS:,} rows each, {size / 1e6:.0f} MB in {seconds:.1f} s; "
        f"the server had {before >> 10} MiB and grew by {grown / 1024:.1f} MiB"
    )
    if grown >= BOUND_KIB:
        faults.add(f"{name}: the server grew by more than {BOUND_KIB >> 10} MiB", f"{grown} KiB")


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    faults = Faults()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        variables = stack.enter_context(database(os.environ["LONG_DATABASE"]))
        shop = entry("shop", variables, query_timeout="10m")
        arguments = write_configuration(folder, databases=[shop])
        command = [os.environ["LONG_TOOLS"], "-http", "-no-auth", "-addr", "127.0.0.1:0", *arguments]
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        address, child = stack.enter_context(listening(command, environment, folder / "log"))
        address = address.removeprefix("http://")
        for kind in FORMATS:
            attempt(kind, [kind], 0, address, child.pid, faults)
        attempt("two at once", ["csv", "json"], 5, address, child.pid, faults)
    faults.end()


if __name__ == "__main__":
    main()
