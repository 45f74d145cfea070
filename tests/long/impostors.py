"""A thousand statements of a caller who wants to be another one, in each mode of `identity`.

`bash tests/long/run impostors`: with and without `allow_writes`, over MCP, `/api/query` and exports. No
answer has rows of another tenant, all answers are equal for two sets of such rows, and the calls
afterwards see what they should.
"""

import os
import signal
import sys
import tempfile
import time
from pathlib import Path

from faults import Faults
from impostor_calls import Proof
from processes import database

TENTH = "--tenth" in sys.argv


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    faults, begun = Faults(), time.monotonic()
    with (
        tempfile.TemporaryDirectory() as folder,
        database(os.environ["LONG_DATABASE"]) as variables,
    ):
        proof = Proof(os.environ["LONG_TOOLS"], variables, Path(folder), faults)
        sent = proof.run(10 if TENTH else 1)
    print(f"{sent} statements of impostors in {time.monotonic() - begun:.0f} s")
    faults.end()


if __name__ == "__main__":
    main()
