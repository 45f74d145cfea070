"""What is on stage while others try the programs: processes, a database, a server."""

import re
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

PATIENCE = 120
SAMPLE = Path(__file__).resolve().parent / "interop/sample.sql"


@contextmanager
def running(command, **options):
    """A process that ends with the block."""
    child = subprocess.Popen(command, **options)
    try:
        yield child
    finally:
        if child.stdin:
            child.stdin.close()
        child.terminate()
        try:
            child.wait(timeout=20)
        except subprocess.TimeoutExpired:
            child.kill()
            raise


@contextmanager
def database(keeper):
    """A database with sample data, as the variables of a PostgreSQL client."""
    command = [keeper, SAMPLE]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        url = urlsplit(child.stdout.readline().strip())
        if not url.hostname:
            sys.exit("no PostgreSQL to test with")
        yield {
            "PGHOST": url.hostname,
            "PGPORT": str(url.port or 5432),
            "PGUSER": unquote(url.username or ""),
            "PGPASSWORD": unquote(url.password or ""),
            "PGDATABASE": url.path.removeprefix("/"),
        }
    finally:
        # The database is dropped when its owner reads the end.
        child.stdin.close()
        child.wait(timeout=20)


@contextmanager
def server(program, arguments, environment, log):
    """An HTTP server on a free port: its address."""
    command = [program, "-http", "-addr", "127.0.0.1:0", *arguments]
    with open(log, "wb") as errors, running(command, env=environment, stderr=errors) as child:
        deadline = time.monotonic() + PATIENCE
        while not (found := re.search(r"listening on (http://\S+)", Path(log).read_text())):
            if child.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"the server did not start: {Path(log).read_text()}")
            time.sleep(0.02)
        yield found[1].rstrip("/")
        if child.poll() is not None:
            sys.exit(f"the server ended by itself: {Path(log).read_text()}")
