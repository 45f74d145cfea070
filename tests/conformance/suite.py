"""Starts the servers, and runs the suite against them."""

import os
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

from processes import PATIENCE, database, running, server
from processes import documents as retrieval

HERE = Path(__file__).resolve().parent
TARGET = Path(os.environ["CONFORMANCE_TARGET"]) / "debug"
REVISIONS = ["2025-11-25", "2026-07-28"]


@contextmanager
def fixture(folder):
    """Starts the server with everything; returns its address."""
    command = [TARGET / "conformance-server", "127.0.0.1:0"]
    with running(command, stdout=subprocess.PIPE, text=True) as child:
        yield child.stdout.readline().strip()


@contextmanager
def product(folder):
    """Starts the program in front of a database; returns its address."""
    program = TARGET / "ziggurat-tools"
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    with database(TARGET / "examples/database") as variables:
        log = folder / "product.log"
        with server(program, ["-no-auth"], environment | variables, log) as address:
            yield f"{address}/mcp"


@contextmanager
def documents(folder):
    """Starts the retrieval server in front of a database; returns its address."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    with database(TARGET / "examples/database") as variables:
        program = TARGET / "ziggurat-rag"
        with retrieval(program, environment | variables, folder) as address:
            yield f"{address}/mcp"


def examine(name, url, revision, folder):
    """Runs the requirements of a revision; returns whether the results are as expected."""
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
    print(f"{'ok' if is_content else 'FAILED':6} {name:9} {revision}", flush=True)
    if not is_content:
        print(done.stdout)
    return is_content


def main():
    # Raises SystemExit on SIGTERM, so that the started processes are stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    outcomes = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for subject in [fixture, product, documents]:
            with subject(folder) as url:
                for revision in REVISIONS:
                    outcomes.append(examine(subject.__name__, url, revision, folder))
    if failed := outcomes.count(False):
        sys.exit(f"{failed} of {len(outcomes)} failed")


if __name__ == "__main__":
    main()
