"""Starts the servers, and runs the suite against them, and against the sign-in of the programs."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

from processes import PATIENCE, database, running, server
from processes import documents as retrieval
from sign_in_server import Browser, sign_in_server
from turned_round import DEMANDS, failures

HERE = Path(__file__).resolve().parent
TARGET = Path(os.environ["CONFORMANCE_TARGET"]) / "debug"
SUITE = os.environ["CONFORMANCE_SUITE"]
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
    command = ["node", SUITE, "server", "--url", url]
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


def examine_authorization(folder):
    """Runs the scenarios for an authorization server; returns whether all succeed.

    The suite prints the address at which a person signs in, and waits for the browser to come back.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    client = {"id": "conformance", "name": "Conformance"}
    client["redirect_uris"] = ["http://127.0.0.1/callback"]
    program = TARGET / "ziggurat-tools"
    with database(TARGET / "examples/database") as place, sign_in_server(
        program, place, folder / "sign-in", {"clients": [client]}
    ) as issuer:
        words = ["node", SUITE, "authorization", "--url", issuer, "--client-id", "conformance"]
        words += ["--port", str(port), "-o", str(folder / "authorization")]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        said = ""
        with running(words, cwd=folder, stdin=subprocess.DEVNULL, **pipes) as suite:
            for line in suite.stdout:
                said += line
                if re.match(r"https?://\S+/authorize\?", line):
                    browser = Browser()
                    browser.send(browser.allow(line.strip()))
            status = suite.wait(PATIENCE)
    results = sorted((folder / "authorization").rglob("checks.json"))
    checks = [check for file in results for check in json.loads(file.read_text())]
    is_content = status == 0 and {check["status"] for check in checks} == {"SUCCESS"}
    print(f"{'ok' if is_content else 'FAILED':6} authorization server", flush=True)
    if not is_content:
        print(said, json.dumps(checks, indent=1))
    return is_content


def examine_demands(folder):
    """Turns the scenarios for clients round; returns whether the server meets all demands."""
    with database(TARGET / "examples/database") as place:
        failed = failures(SUITE, TARGET, place, folder)
    print(f"{'FAILED' if failed else 'ok':6} {len(DEMANDS)} demands of clients", flush=True)
    if failed:
        print(json.dumps(failed, indent=1))
    return not failed


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
        outcomes.append(examine_authorization(folder))
        outcomes.append(examine_demands(folder))
    if failed := outcomes.count(False):
        sys.exit(f"{failed} of {len(outcomes)} failed")


if __name__ == "__main__":
    main()
