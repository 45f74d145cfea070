"""One caller at its limits, and the time that the calls of another take.

`bash tests/long/run limits`: a server with limits on calls, statements at once and rows of a day for
one caller, which goes on with 12 calls at once at each limit in turn. The other caller has no
limits: each of its calls succeeds. Printed are the 50th and 99th percentile of its times, alone and
next to the limited caller, in turns; the limited caller gets no more than its limit.
"""

import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

from callers import Caller, entry, write_configuration, write_tokens
from faults import Faults
from processes import database, listening

TENTH = "--tenth" in sys.argv
# Calls of the other caller in a turn, and turns with and without the limited caller.
CALLS = 60 if TENTH else 400
TURNS = 2 if TENTH else 7
AT_ONCE = 12
# A client that is refused waits before it tries again.
PAUSE = 0.02

# Of the other caller: long enough that waiting shows and not the processor time of the clients.
STATEMENT = "SELECT pg_sleep(0.01)"

LIMITS = {
    "calls": ({"calls": "20 per minute"}, "SELECT 1"),
    "concurrent": ({"concurrent": 2}, "SELECT pg_sleep(0.05)"),
    "rows_per_day": ({"rows_per_day": 1000}, "SELECT generate_series(1, 100)"),
}


def press(address, token, statement, stop, admitted):
    """Calls at a limit until it is stopped, in a process of its own, and counts what was admitted."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def run():
        caller = Caller(address, token)
        while not stop.is_set():
            try:
                answer = caller.query(statement, patience=30)
            except OSError:
                continue
            if answer.status == 200 and not answer.is_error:
                with admitted.get_lock():
                    admitted.value += 1
            else:
                stop.wait(PAUSE)

    threads = [threading.Thread(target=run) for _ in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def turn(caller, faults):
    """The times of the calls of the other caller."""
    times = []
    for _ in range(CALLS):
        answer = caller.query(STATEMENT)
        if answer.is_error or answer.status != 200:
            faults.add("calls of the other caller that failed", answer.said())
        times.append(answer.seconds)
    return times


def percentile(times, part):
    return sorted(times)[min(len(times) - 1, int(len(times) * part))] * 1e3


def measure(name, address, tokens, faults):
    limited, other = tokens
    statement = LIMITS[name][1]
    caller = Caller(address, other)
    turn(caller, faults)
    alone, beside = [], []
    admitted = multiprocessing.Value("q", 0)
    for _ in range(TURNS):
        alone += turn(caller, faults)
        stop = multiprocessing.Event()
        arguments = (address, limited, statement, stop, admitted)
        process = multiprocessing.Process(target=press, args=arguments)
        process.start()
        # The limit is reached before the turn begins.
        time.sleep(1)
        beside += turn(caller, faults)
        stop.set()
        process.join()
    p50, p99 = (percentile(beside, part) / percentile(alone, part) for part in (0.5, 0.99))
    print(
        f"{name}: alone p50 {percentile(alone, .5):.2f} ms, p99 {percentile(alone, .99):.2f} ms; "
        f"next to a caller at its limit {p50:.2f} and {p99:.2f} times as long; "
        f"{admitted.value} calls of that caller were admitted"
    )
    return admitted.value


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    faults = Faults()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o711)
        variables = stack.enter_context(database(os.environ["LONG_DATABASE"], folder))
        for name, (limit, _) in LIMITS.items():
            home = folder / name
            home.mkdir()
            tokens = write_tokens(home / "tokens.yaml", 2)
            callers = [{"for": {"tokens": ["token-0"]}, **limit}]
            shop = entry("shop", variables, pool_max_conns=8)
            arguments = write_configuration(
                home, databases=[shop], limits={"callers": callers}
            )
            command = [os.environ["LONG_TOOLS"], "-http", "-addr", "127.0.0.1:0", *arguments]
            environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
            begun = time.monotonic()
            address, _ = stack.enter_context(listening(command, environment, home / "log"))
            count = measure(name, address, tokens, faults)
            minutes = (time.monotonic() - begun) / 60
            most = {"calls": 20 + 20 * minutes, "rows_per_day": 10 + AT_ONCE}.get(name)
            if most is not None and count > most + 1:
                faults.add("limits that were exceeded", f"{name}: {count} of {most:.0f}")
    faults.end()


if __name__ == "__main__":
    main()
