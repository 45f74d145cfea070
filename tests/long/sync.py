"""The vectors of a table follow its texts, whatever happens in between.

`bash tests/long/run sync`: two processes of `ziggurat-rag sync run` share the queue of a table, and a
provider that answers at once makes each vector from the text. First many rows are inserted at once:
the throughput. Then 100 rows a second: the lag of each. Then eight writers make 100,000 random
inserts, updates and deletes, alone and in transactions, of which some are rolled back, while one of
the processes is killed every ten seconds and the provider fails now and then. At the end every vector
is that of its text, none is missing, and nothing is left in the queue.
"""

import hashlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psycopg

from faults import Faults
from processes import database

TENTH = "--tenth" in sys.argv
ROWS = 10_000 if TENTH else 100_000
SECONDS = 6 if TENTH else 60
CHANGES = 10_000 if TENTH else 100_000
KILL_EVERY = 1.5 if TENTH else 10
WRITERS = 8
RATE = 100
PATIENCE = 300
DIMENSIONS = 16

TABLE = f"""
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE articles (id bigint PRIMARY KEY, body text, changed_at timestamptz,
    embedded_at timestamptz, embedding vector({DIMENSIONS}));
CREATE FUNCTION note_embedding() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN NEW.embedded_at = clock_timestamp(); RETURN NEW; END';
CREATE TRIGGER note BEFORE UPDATE OF embedding ON articles FOR EACH ROW
    EXECUTE FUNCTION note_embedding();
"""

WORDS = "bed soil loam sand rain frost fern moss wool silk yarn loom kiln clay glaze brass".split()


# === The provider ===

# Each byte as a number that a float of 32 bits holds exactly.
NUMBERS = [json.dumps((byte - 128) / 128) for byte in range(256)]


def vector(text):
    digest = hashlib.sha256(text.encode()).digest()
    return "[" + ",".join(NUMBERS[byte] for byte in digest[:DIMENSIONS]) + "]"


class Provider(BaseHTTPRequestHandler):
    """An embeddings API whose vectors are a function of the text."""

    protocol_version = "HTTP/1.1"
    # Head and body in one write, so that no delayed acknowledgement holds the second back.
    wbufsize = 1 << 20
    chance = random.Random(5)
    # Share of the requests that fail.
    failing = 0.0
    texts = 0

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        inputs = body["input"] if isinstance(body["input"], list) else [body["input"]]
        if self.chance.random() < Provider.failing:
            status, answer = self.chance.choice([500, 503, 429]), b'{"error": {"message": "busy"}}'
        else:
            Provider.texts += len(inputs)
            items = (f'{{"index":{at},"embedding":{vector(text)}}}' for at, text in enumerate(inputs))
            usage = '"usage":{"prompt_tokens":1,"total_tokens":1}'
            status, answer = 200, f'{{"data":[{",".join(items)}],{usage}}}'.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


@contextmanager
def provider():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()


# === The program ===


class Replicas:
    """Two processes that keep the table in step."""

    def __init__(self, home, variables, url):
        role = {"username": variables["PGUSER"], "password": variables["PGPASSWORD"]}
        place = {"host": variables["PGHOST"], "port": int(variables["PGPORT"])}
        role |= place | {"database": variables["PGDATABASE"]}
        table = {"table": "articles", "text_column": "body", "vector_column": "embedding"}
        pipeline = {"name": "docs", "database": role, "ingest": {"database": role}}
        pipeline["tables"] = [table | {"id_column": "id", "sync": True}]
        model = {"provider": "openai", "model": "m", "base_url": url}
        pipeline |= {"embedding_llm": model, "rag_llm": {"provider": "local"}}
        # JSON is also YAML.
        (home / "rag.yaml").write_text(json.dumps({"pipelines": [pipeline]}))
        self.home, self.children, self.kills = home, [], 0

    def run(self, *words):
        command = [os.environ["LONG_RAG"], "sync", *words, "-config", self.home / "rag.yaml"]
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home)}
        return command, environment

    def once(self, *words):
        command, environment = self.run(*words)
        ran = subprocess.run(command, env=environment, capture_output=True, text=True)
        if ran.returncode != 0:
            sys.exit(f"sync {words}: {ran.stderr}")
        return ran.stdout

    def start(self):
        command, environment = self.run("run")
        with open(self.home / "log", "ab") as log:
            child = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        self.children.append(child)

    def kill(self):
        """Kills the older one, and starts another."""
        child = self.children.pop(0)
        child.kill()
        child.wait()
        self.kills += 1
        self.start()

    def __enter__(self):
        self.start()
        self.start()
        return self

    def __exit__(self, *_):
        for child in self.children:
            child.terminate()
        for child in self.children:
            child.wait(timeout=20)


# === The table ===


def backlog(connection):
    return connection.execute("SELECT count(*) FROM articles_sync_queue").fetchone()[0]


def drain(connection, faults):
    """Waits until the queue is empty; returns the time that it took."""
    begun = time.monotonic()
    while left := backlog(connection):
        if time.monotonic() - begun > PATIENCE:
            faults.add("queues that do not become empty", f"{left} rows")
            break
        time.sleep(0.02)
    return time.monotonic() - begun


def compare(connection, faults):
    """Holds every vector against its text; returns the number of rows."""
    rows = connection.execute("SELECT id, body, embedding::text FROM articles").fetchall()
    for identifier, body, stored in rows:
        if stored is None:
            faults.add("vectors that are missing", f"row {identifier}")
        elif json.loads(stored) != json.loads(vector(body)):
            faults.add("vectors of other texts", f"row {identifier}")
    failed = connection.execute("SELECT row_id, reason FROM articles_sync_queue_failed").fetchall()
    faults.expect("rows that have failed", failed, [])
    return len(rows)


def throughput(connection, faults):
    connection.execute(
        "INSERT INTO articles (id, body) SELECT n, 'text ' || n || repeat(' of some length', 20)"
        " FROM generate_series(1, %s) n",
        [ROWS],
    )
    seconds = drain(connection, faults)
    print(f"throughput: {ROWS} rows in {seconds:.1f} s, {ROWS / seconds:.0f} a second")


def lag(connection, faults):
    begun = time.monotonic()
    for number in range(RATE * SECONDS):
        time.sleep(max(0, begun + number / RATE - time.monotonic()))
        connection.execute(
            "INSERT INTO articles (id, body, changed_at) VALUES (%s, %s, clock_timestamp())",
            [10_000_000 + number, f"change {number}"],
        )
    rate = RATE * SECONDS / (time.monotonic() - begun)
    drain(connection, faults)
    lags = connection.execute(
        "SELECT percentile_cont(ARRAY[0.5, 0.99, 1]) WITHIN GROUP (ORDER BY"
        " extract(epoch FROM embedded_at - changed_at)) FROM articles WHERE id >= 10000000"
    ).fetchone()[0]
    middle, slow, slowest = (f"{1000 * seconds:.0f} ms" for seconds in lags)
    print(f"lag at {rate:.0f} changes a second: p50 {middle}, p99 {slow}, longest {slowest}")


def writer(number, connect, faults):
    chance = random.Random(number)
    with connect() as connection:
        connection.autocommit = True
        highest = 0
        changes = 0

        def change():
            nonlocal highest
            kind = chance.random()
            text = " ".join(chance.choices(WORDS, k=chance.randint(1, 30)))
            if kind < 0.4 or not highest:
                highest += 1
                identifier = 20_000_000 + WRITERS * highest + number
                connection.execute("INSERT INTO articles VALUES (%s, %s)", [identifier, text])
                return
            # Also rows of other writers.
            identifier = 20_000_000 + chance.randint(WRITERS, WRITERS * highest + WRITERS)
            if kind < 0.8:
                connection.execute("UPDATE articles SET body = %s WHERE id = %s", [text, identifier])
            else:
                connection.execute("DELETE FROM articles WHERE id = %s", [identifier])

        while changes < CHANGES // WRITERS:
            if chance.random() < 0.8:
                change()
                changes += 1
                continue
            try:
                with connection.transaction():
                    for _ in range(chance.randint(2, 6)):
                        change()
                        changes += 1
                    if chance.random() < 0.2:
                        raise psycopg.Rollback()
            except psycopg.errors.DeadlockDetected as error:
                # Writers may lock rows in a circle, but only with other writers.
                if "sync" in str(error):
                    faults.add("deadlocks with a worker", str(error))


def chaos(connect, connection, replicas, faults):
    Provider.failing = 0.01
    threads = [
        threading.Thread(target=faults.watch, args=(writer, number, connect, faults))
        for number in range(WRITERS)
    ]
    begun = killed = time.monotonic()
    for thread in threads:
        thread.start()
    highest = 0
    while any(thread.is_alive() for thread in threads) or replicas.kills < 2:
        highest = max(highest, backlog(connection))
        if time.monotonic() - killed >= KILL_EVERY:
            replicas.kill()
            killed = time.monotonic()
        time.sleep(0.05)
    seconds = time.monotonic() - begun
    rest = drain(connection, faults)
    print(
        f"{CHANGES} changes by {WRITERS} writers in {seconds:.1f} s with {replicas.kills} kills:"
        f" backlog {highest} at most, empty {rest:.1f} s after the last change"
    )


def main():
    faults = Faults()
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        variables = stack.enter_context(database(os.environ["LONG_DATABASE"]))

        def connect():
            return psycopg.connect(
                host=variables["PGHOST"],
                port=variables["PGPORT"],
                user=variables["PGUSER"],
                password=variables["PGPASSWORD"],
                dbname=variables["PGDATABASE"],
            )

        connection = stack.enter_context(connect())
        connection.autocommit = True
        connection.execute(TABLE)
        replicas = Replicas(home, variables, stack.enter_context(provider()))
        replicas.once("install", "-apply")
        stack.enter_context(replicas)
        throughput(connection, faults)
        lag(connection, faults)
        before = Provider.texts
        chaos(connect, connection, replicas, faults)
        rows = compare(connection, faults)
        print(f"{rows} rows have the vectors of their texts; {Provider.texts - before} texts embedded")
        figures = replicas.once("status").splitlines()[1].split()
        faults.expect("figures at the end", figures, ["docs", "articles", "0", "-", "0", "0"])
        log = (home / "log").read_text()
        if broken := re.findall(r".*level=ERROR.*", log):
            faults.add("errors in the log", broken[0])
    faults.end()


if __name__ == "__main__":
    main()
