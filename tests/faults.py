"""Faults of a long test, counted by kind."""

import re
import sys
import threading
from collections import Counter


class Faults:
    """Collects faults from several threads, and prints a few of each kind at the end."""

    def __init__(self):
        self.kinds = {}
        self.lock = threading.Lock()

    def add(self, kind, what):
        with self.lock:
            # Faults that differ only in numbers count as one.
            self.kinds.setdefault(kind, []).append(re.sub(r"\d+", "#", what))

    def expect(self, kind, found, expected):
        if found != expected:
            self.add(kind, f"{found!r} and not {expected!r}")

    def watch(self, function, *arguments):
        """Calls a function, and records its exception as a fault."""
        try:
            return function(*arguments)
        except Exception as error:
            self.add(f"exceptions in {function.__name__}", repr(error))

    def end(self):
        """Prints the faults, and exits with 1 if there are any."""
        for kind, found in self.kinds.items():
            print(f"FAILED {kind}: {len(found)} times")
            for what, count in Counter(found).most_common(5):
                print(f"    {count} x {what}")
        if self.kinds:
            sys.exit(1)
