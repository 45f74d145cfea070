"""The servers that clients sign in at: each client has its own, and both have one clock."""

import os
from contextlib import contextmanager

from sign_in_server import sign_in_server

PROGRAM = os.environ["INTEROP_PROGRAM"]
PYTHON_1 = os.environ["INTEROP_PYTHON_1"]
LIFETIME = {"access_lifetime": "5m"}


def clock(folder):
    """The environment of programs with a clock that a file moves."""
    file = folder / "clock"
    file.write_text("+0")
    return {
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_TIMESTAMP_FILE": str(file),
        "LD_PRELOAD": os.environ["INTEROP_FAKETIME"],
    }


@contextmanager
def alone(place, folder, registration, moved):
    """A tool server with a sign-in."""
    oauth = LIFETIME | {"registration": registration, "step_up": True}
    with sign_in_server(PROGRAM, place, folder, oauth, moved) as address:
        yield address, {}
