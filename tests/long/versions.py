"""Databases that know their callers, on PostgreSQL 14 to 18: `bash tests/long/run versions`

On each version tenants see their own rows, by role and setting together, and a tenth of the statements
of impostors gets nothing else in any mode. The arguments are folders of binaries.
"""

import os
import signal
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from callers import Caller, write_configuration
from faults import Faults
from impostor_calls import Proof
from processes import server as program
from servers import server
from tenants import WHO, tenants

TENANTS = 5
TURNS = 3


def see_their_rows(stack, variables, folder, faults):
    """Checks what tenants with a role and a setting each see."""
    made = stack.enter_context(tenants(variables, TENANTS))
    made.write_tokens(folder / "tokens.yaml")
    shop = made.entry("shop", made.login)
    arguments = write_configuration(folder, databases=[shop])
    started = program(os.environ["LONG_TOOLS"], arguments, {"HOME": str(folder)}, folder / "log")
    address = stack.enter_context(started)
    for number in list(range(TENANTS)) * TURNS:
        answer = Caller(address, made.tokens[number]).query(WHO)
        faults.expect("a tenant", answer.text.splitlines()[-1], made.who(number))


def check(binaries, faults):
    begun = time.monotonic()
    with ExitStack() as stack:
        postgres = stack.enter_context(server(binaries))
        with postgres.connect(database="postgres") as admin:
            admin.execute("CREATE DATABASE shop")
            version = admin.execute("SHOW server_version").fetchone()[0]
        variables = {"PGHOST": str(postgres.folder), "PGPORT": "5432", "PGUSER": "postgres"}
        variables |= {"PGPASSWORD": "none", "PGDATABASE": "shop"}
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        with ExitStack() as inner:
            see_their_rows(inner, variables, home, faults)
        sent = Proof(os.environ["LONG_TOOLS"], variables, home, faults).run(10)
    took = time.monotonic() - begun
    print(f"PostgreSQL {version}: {sent} statements of impostors in {took:.0f} s", flush=True)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    faults = Faults()
    for binaries in sys.argv[1:]:
        faults.watch(check, binaries, faults)
    faults.end()


if __name__ == "__main__":
    main()
