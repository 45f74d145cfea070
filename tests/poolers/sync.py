"""The vectors of a table follow its texts behind PgBouncer in transaction mode, for two processes of
`ziggurat-rag sync run`, and the connections that they share with the application stay as they were."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

from another_program import connect
from faults import Faults
from pgbouncer import CONNECTIONS, UNTOUCHED, pgbouncer
from processes import PATIENCE, database, running

WRITERS = 4
ROWS = 500

# The vectors of `reference` are made at the end, without a pooler.
TABLES = """
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE articles (id bigint PRIMARY KEY, body text, embedding vector(256));
CREATE TABLE reference (LIKE articles INCLUDING ALL);
"""


def configuration(home, table, variables):
    """Writes the configuration of a pipeline over a table; returns its file."""
    role = {"host": variables["PGHOST"], "port": int(variables["PGPORT"])}
    role |= {"username": variables["PGUSER"], "password": variables["PGPASSWORD"]}
    role |= {"database": variables["PGDATABASE"], "ssl_mode": "disable"}
    place = {"table": table, "text_column": "body", "vector_column": "embedding"}
    pipeline = {"name": table, "database": role, "ingest": {"database": role}}
    pipeline["tables"] = [place | {"id_column": "id", "sync": True}]
    pipeline |= {"embedding_llm": {"provider": "local"}, "rag_llm": {"provider": "local"}}
    file = home / f"{table}.yaml"
    # JSON is also YAML.
    file.write_text(json.dumps({"pipelines": [pipeline]}))
    file.chmod(0o600)
    return file


def command(file, *words):
    return [os.environ["POOLERS_RAG"], "sync", *words, "-config", file]


def once(environment, file, *words):
    ran = subprocess.run(command(file, *words), env=environment, capture_output=True, text=True)
    if ran.returncode != 0:
        sys.exit(f"sync {words}: {ran.stderr}")


def writer(number, bouncer):
    """Inserts, changes and deletes rows of its own, some in transactions."""
    with connect(bouncer) as connection:
        for row in range(number, ROWS * WRITERS, WRITERS):
            connection.execute(f"INSERT INTO articles VALUES ({row}, 'wool {row} and silk')")
            if row % 3 == 0:
                with connection.transaction():
                    connection.execute(f"UPDATE articles SET body = 'clay {row}' WHERE id = {row}")
                    connection.execute(f"UPDATE articles SET body = 'oak {row}' WHERE id = {row}")
            if row % 7 == 0:
                connection.execute(f"DELETE FROM articles WHERE id = {row}")


def drain(direct, table, faults):
    """Waits until the queue of a table is empty."""
    deadline = time.monotonic() + PATIENCE
    while left := direct.execute(f"SELECT count(*) FROM {table}_sync_queue").fetchone()[0]:
        if time.monotonic() > deadline:
            faults.add("queues that do not become empty", f"{table}: {left} rows")
            break
        time.sleep(0.02)


def untouched(bouncer, faults):
    """Checks the settings that the application finds, on as many connections as it can get."""
    with ExitStack() as stack:
        connections = [stack.enter_context(connect(bouncer)) for _ in range(CONNECTIONS)]
        for connection in connections:
            stack.enter_context(connection.transaction())
            for setting, expected in UNTOUCHED.items():
                found = connection.execute(f"SHOW {setting}").fetchone()[0]
                faults.expect(f"the application's {setting}", found, expected)
            heard = connection.execute("SELECT count(*) FROM pg_listening_channels()").fetchone()
            faults.expect("channels that the application listens to", heard[0], 0)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    begun = time.monotonic()
    faults = Faults()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        variables = stack.enter_context(database(os.environ["POOLERS_DATABASE"]))
        direct = stack.enter_context(connect(variables))
        direct.execute(TABLES)
        bouncer = pgbouncer(stack, folder, variables)
        home = folder / "rag"
        home.mkdir()
        environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
        file = configuration(home, "articles", bouncer)
        once(environment, file, "install", "-apply")
        with ExitStack() as workers:
            log = workers.enter_context(open(home / "log", "wb"))
            for _ in range(2):
                words = command(file, "run")
                workers.enter_context(running(words, env=environment, stdout=log, stderr=log))
            threads = [
                threading.Thread(target=faults.watch, args=[writer, number, bouncer])
                for number in range(WRITERS)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            drain(direct, "articles", faults)
            untouched(bouncer, faults)
        if "level=ERROR" in (home / "log").read_text():
            faults.add("errors in the log", (home / "log").read_text()[-500:])
        direct.execute("INSERT INTO reference (id, body) SELECT id, body FROM articles")
        file = configuration(home, "reference", variables)
        once(environment, file, "install", "-apply")
        once(environment, file, "backfill")
        with running(command(file, "run"), env=environment, stderr=subprocess.DEVNULL):
            drain(direct, "reference", faults)
        rows, same = direct.execute(
            "SELECT count(*), count(*) FILTER (WHERE one.embedding = two.embedding)"
            " FROM articles one JOIN reference two USING (id)"
        ).fetchone()
        faults.expect("rows that have the vectors of their texts", same, rows)
    print(f"sync behind PgBouncer: {rows} rows; {time.monotonic() - begun:.1f} s")
    faults.end()


if __name__ == "__main__":
    main()
