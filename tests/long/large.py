"""Results that are far larger than the memory limit of the server.

`bash tests/long/run large`: 16 GB in one cell, in many cells and in many rows, for 16 callers. The
server grows by less than 76 MiB, and each answer names what it omits. At rest it has 20 MiB in a
release build, and more in a debug build. PostgreSQL itself needs three times the size of a row, so
the largest cells are requested by as many callers at once as fit into memory; smaller ones by all
of them.
"""

import os
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from callers import Caller, entry, write_configuration, write_tokens
from faults import Faults
from processes import database, listening, peak_memory

TENTH = "--tenth" in sys.argv
CALLERS = 16
GROWTH_KIB = 76 << 10
# Bytes of rows in an answer, with the JSON around them.
MAX_ANSWER = (4 << 20) + (64 << 10)
GB = 1_000_000_000
# PostgreSQL's memory per byte of a row: the value, its text and the message.
COPIES = 3.5

# The text of an answer that was cut.
LEFT_OUT = re.compile(
    r"left out|more available|truncated|too large|larger than|ends? here|cut", re.I
)


def at_once(size):
    """Number of callers that may ask for rows of this size at the same time."""
    info = Path("/proc/meminfo").read_text()
    available = int(re.search(r"MemAvailable:\s+(\d+) kB", info)[1]) << 10
    # Half of the memory: the machine has other work, too.
    return max(1, min(CALLERS, int(available / 2 / (COPIES * size))))


def repeated(size):
    return f"repeat('x', {size})"


def cases():
    """Statements, the size of their rows, and the number of callers."""
    part = 10 if TENTH else 1
    cell = GB // 16
    few, some = (1, 4) if TENTH else (CALLERS, CALLERS)
    yield "one cell of 1 GB", f"SELECT {repeated(GB)} AS a", GB, few
    yield "one cell of 63 MB", f"SELECT {repeated(cell)} AS a", cell, CALLERS
    cells = ", ".join(f"{repeated(cell)} AS a{number}" for number in range(16))
    yield "16 cells of 63 MB", f"SELECT {cells}", GB, few
    cells = ", ".join(f"{repeated(GB // 10_000)} AS a{number}" for number in range(1000))
    yield "1,000 cells of 100 kB", f"SELECT {cells}", GB // 10, CALLERS
    rows = 100 // part
    many = f"SELECT n, {repeated(GB // 100)} AS a FROM generate_series(1, {rows}) n"
    yield f"{rows} rows of 10 MB", many, GB // 100, CALLERS
    # None of these exceeds the limit alone.
    almost = f"SELECT n, {repeated(4_000_000)} AS a FROM generate_series(1, {rows}) n"
    yield f"{rows} rows of 4 MB", almost, 4_000_000, CALLERS
    escaped = f"SELECT n, repeat(chr(9), 2000000) AS a FROM generate_series(1, {rows}) n"
    yield f"{rows} rows of 2 MB of tabs", escaped, 2_000_000, some
    behind = f"SELECT n, CASE n WHEN 50 THEN {repeated(GB // 4)} ELSE 'small' END AS a"
    yield "one large cell behind small ones", f"{behind} FROM generate_series(1, 99) n", GB // 4, few


def ask(client, statement, answers):
    try:
        answers.append(client.query(statement, patience=300))
    except (OSError, ValueError) as error:
        answers.append(error)


def attempt(name, statement, size, callers, clients, process, at_rest, faults):
    """Runs a statement from several callers; checks the answers and the growth of the server."""
    peak_memory(process)
    before = peak_memory(process)
    answers, begun, together = [], time.monotonic(), min(at_once(size), callers)
    with ThreadPoolExecutor(together) as pool:
        for client in clients[:callers]:
            pool.submit(ask, client, statement, answers)
    peak = peak_memory(process)
    print(
        f"{name}: {callers} callers, {together} at once, {time.monotonic() - begun:.1f} s; "
        f"from {before >> 10} to {peak >> 10} MiB"
    )
    if peak > at_rest + GROWTH_KIB:
        faults.add(f"{name}: grown by more than {GROWTH_KIB >> 10} MiB", f"{peak >> 10} MiB")
    said = Counter()
    for answer in answers:
        if isinstance(answer, Exception):
            faults.add(f"{name}: a call without an answer", repr(answer))
            continue
        if len(answer.text) > MAX_ANSWER:
            faults.add(f"{name}: an answer that is too long", f"{len(answer.text)} characters")
        # Texts of the server are never table cells.
        plain = re.sub(r"[x\t]{20,}|(\\t){20,}", "…", answer.text)
        found = [line for line in plain.splitlines() if LEFT_OUT.search(line)]
        said["; ".join(found)[:300]] += 1
        if not found:
            faults.add(f"{name}: an answer that does not say what it leaves out", plain[-300:])
    for words, count in said.most_common(3):
        print(f"    {count} x {words!r}")


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    faults = Faults()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        variables = stack.enter_context(database(os.environ["LONG_DATABASE"]))
        tokens = write_tokens(folder / "tokens.yaml", CALLERS)
        shop = entry("shop", variables, query_timeout="5m", lease_timeout="5m")
        structured = {"structured_output": True}
        arguments = write_configuration(folder, databases=[shop], mcp=structured)
        command = [os.environ["LONG_TOOLS"], "-http", "-addr", "127.0.0.1:0", *arguments]
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        address, child = stack.enter_context(listening(command, environment, folder / "log"))
        # Text only on `/mcp/v1`, text and JSON on `/mcp`.
        clients = [
            Caller(address, token, modern=number % 2 == 1) for number, token in enumerate(tokens)
        ]
        for client in clients:
            client.query("SELECT 1")
        at_rest = peak_memory(child.pid)
        print(f"at rest: peak {at_rest >> 10} MiB")
        for name, statement, size, callers in cases():
            attempt(name, statement, size, callers, clients, child.pid, at_rest, faults)
    faults.end()


if __name__ == "__main__":
    main()
