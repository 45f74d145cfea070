"""Starts the servers, and lets the suite at them."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

HERE = Path(__file__).resolve().parent
TARGET = Path(os.environ["CONFORMANCE_TARGET"]) / "debug"
REVISIONS = ["2025-11-25", "2026-07-28"]
PATIENCE = 120


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
def fixture(folder):
    """The server with everything: its address."""
    command = [TARGET / "conformance-server", "127.0.0.1:0"]
    with running(command, stdout=subprocess.PIPE, text=True) as child:
        yield child.stdout.readline().strip()


@contextmanager
def database():
    """A database with sample data, as the variables of a PostgreSQL client."""
    command = [TARGET / "examples/database", HERE.parent / "interop/sample.sql"]
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
def product(folder):
    """The program, in front of a database: its address."""
    log = folder / "product.log"
    command = [TARGET / "ziggurat-tools", "-http", "-addr", "127.0.0.1:0", "-no-auth"]
    with ExitStack() as stack:
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        environment |= stack.enter_context(database())
        errors = stack.enter_context(open(log, "wb"))
        child = stack.enter_context(running(command, env=environment, stderr=errors))
        deadline = time.monotonic() + PATIENCE
        while not (found := re.search(r"listening on (http://\S+)", log.read_text())):
            if child.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"the server did not start: {log.read_text()}")
            time.sleep(0.02)
        yield f"{found[1].rstrip('/')}/mcp"


def examine(name, url, revision, folder):
    """Runs the requirements of a revision: whether all is as expected."""
    command = ["node", os.environ["CONFORMANCE_SUITE"], "server", "--url", url]
    command += ["--requirements", revision, "-o", folder / f"{name}-{revision}"]
    if (baseline := HERE / f"{name}-{revision}.yml").exists():
        command += ["--expected-failures", baseline]
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
    )
    is_content = done.returncode == 0
    print(f"{'ok' if is_content else 'FAILED':6} {name:8} {revision}", flush=True)
    if not is_content:
        print(done.stdout)
    return is_content


def main():
    # Whoever ends this ends what it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    outcomes = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for server in [fixture, product]:
            with server(folder) as url:
                for revision in REVISIONS:
                    outcomes.append(examine(server.__name__, url, revision, folder))
    if failed := outcomes.count(False):
        sys.exit(f"{failed} of {len(outcomes)} failed")


if __name__ == "__main__":
    main()
