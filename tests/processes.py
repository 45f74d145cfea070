"""Processes for the tests with external clients: a database, and servers."""

import json
import re
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

PATIENCE = 120
SAMPLE = Path(__file__).resolve().parent / "interop/sample.sql"
# The lines of the servers: `listening on http://HOST:PORT`, `starting server … address=HOST:PORT`.
LISTENING = re.compile(r"(?:listening on http://|starting server.* address=)([\d.:]+)")


@contextmanager
def running(command, **options):
    """A process that is stopped at the end of the block."""
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


def peak_memory(process):
    """The peak of a process's memory since the last call, in KiB."""
    status = Path(f"/proc/{process}/status").read_text()
    peak = int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])
    Path(f"/proc/{process}/clear_refs").write_text("5")
    return peak


@contextmanager
def database(keeper, folder=None, sample=SAMPLE):
    """A database with sample data, as the variables of a PostgreSQL client.

    With a folder it has its own server, with the default settings of PostgreSQL.
    """
    command = [keeper, sample, *([folder] if folder else [])]
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
        # The database is dropped when standard input of its owner ends.
        child.stdin.close()
        child.wait(timeout=20)


@contextmanager
def server(program, arguments, environment, log):
    """Starts an HTTP server on a free port; returns its address."""
    command = [program, "-http", "-addr", "127.0.0.1:0", *arguments]
    with listening(command, environment, log) as (address, _):
        yield address


@contextmanager
def documents(program, environment, folder):
    """Starts the retrieval server in front of a document about ferns; returns its address."""
    text = folder / "ferns.md"
    text.write_text("# Ferns\n\nFerns like shade and damp soil.\n")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    place = {
        "host": environment["PGHOST"],
        "port": int(environment["PGPORT"]),
        "database": environment["PGDATABASE"],
        "username": environment["PGUSER"],
        "password": environment["PGPASSWORD"],
    }
    table = {"table": "documents", "text_column": "content", "vector_column": "embedding"}
    table |= {"id_column": "id", "title_column": "title", "url_column": "url"}
    local = {"provider": "local"}
    pipeline = {"name": "docs", "database": place, "tables": [table], "ingest": {"database": place}}
    pipeline |= {"embedding_llm": local, "rag_llm": local, "allow_include_sources": True}
    file = folder / "documents.yaml"
    server = {"listen_address": "127.0.0.1", "port": port}
    file.write_text(json.dumps({"server": server, "pipelines": [pipeline]}))
    bare = {name: environment[name] for name in ["PATH", "HOME"]}
    words = [program, "ingest", "-config", file, text]
    subprocess.run(words, env=bare, check=True, capture_output=True, timeout=PATIENCE)
    log = folder / "documents.log"
    with listening([program, "-config", file], bare, log) as (address, _):
        yield address


@contextmanager
def listening(command, environment, log):
    """Starts a server with these arguments; returns its address and its process."""
    # Some log to standard output, some to standard error.
    with open(log, "wb") as lines, running(
        command, env=environment, stdout=lines, stderr=lines
    ) as child:
        deadline = time.monotonic() + PATIENCE
        while not (found := LISTENING.search(Path(log).read_text())):
            if child.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"the server did not start: {Path(log).read_text()}")
            time.sleep(0.02)
        yield f"http://{found[1]}", child
        if child.poll() is not None:
            sys.exit(f"the server ended by itself: {Path(log).read_text()}")
