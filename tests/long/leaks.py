"""Secrets stay out of what operators see.

`bash tests/long/run leaks`: 400 tokens, passwords, keys, values, headers and URLs are used in
every way that a client or an operator can use them, with the audit trail, metrics, traces, comments
in statements, and the log at its most detailed level. None of them is in any of these.
"""

import os
import secrets
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from callers import Caller, entry, free_port, write_configuration, write_tokens
from collector import collector
from faults import Faults
from processes import database, listening

TOOLS = os.environ["LONG_TOOLS"]
EACH = 40 if "--tenth" not in sys.argv else 8


def made(corpus, kind):
    secret = f"{kind}-{secrets.token_hex(8)}"
    corpus.append(secret)
    return secret


def use(client, address, corpus):
    """Uses one secret of each kind that a client has."""

    def new(kind):
        return made(corpus, kind)

    def query(text):
        return client.query(text)

    Caller(address, new("token")).query("SELECT 1")
    wrong = {"username": "ada", "password": new("password")}
    Caller(address, modern=False).call("authenticate_user", wrong)
    query(f"SELECT '{new('literal')}'")
    query(f"SELECT $tag${new('dollar')}$tag$ -- {new('comment')}")
    query(f"SELECT 'unfinished {new('broken')}")
    query(f"SELECT * FROM pg_class WHERE relname = E'{new('escaped')}\\n' /* {new('block')} */")
    client.call("count_rows", {"table": "pg_class", "where": f"relname = '{new('condition')}'"})
    client.call("query_database", {"query": 7, "password": new("argument")})
    client.call("similarity_search", {"query_text": new("question"), "table_name": "nothing"})
    query(f"connect to postgres://ada:{new('url')}@192.0.2.1:5432/shop and SELECT 1")
    client.ask("GET", f"/api/databases?token={new('parameter')}")
    headers = {"X-Api-Key": new("header"), "Cookie": f"session={new('cookie')}"}
    client.ask("GET", "/api/databases", headers=headers)
    traced = {"traceparent": f"00-{new('traceparent')}", "baggage": f"key={new('baggage')}"}
    client.ask("GET", "/api/databases", headers=traced)


def main():
    faults = Faults()
    corpus = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        variables = stack.enter_context(database(os.environ["LONG_DATABASE"]))
        traces = stack.enter_context(collector())
        tokens = write_tokens(folder / "tokens.yaml", 1)
        header, key, password = (made(corpus, it) for it in ("exporter", "key", "login"))
        (folder / "headers").write_text(f"authorization: Bearer {header}\n")
        (folder / "key").write_text(key * 3)
        (folder / "key").chmod(0o600)
        port = free_port()
        arguments = write_configuration(
            folder,
            databases=[entry("main", variables)],
            audit={"file": str(folder / "audit.jsonl"), "key_file": str(folder / "key")},
            telemetry={
                "metrics": {"address": f"127.0.0.1:{port}"},
                "otlp": {"url": traces.url, "headers_file": str(folder / "headers"), "ratio": 1},
                "sql_comment": "trace",
            },
        )
        subprocess.run(
            [TOOLS, *arguments, "-add-user", "-username", "ada", "-user-note", "-", "-password", password],
            capture_output=True,
            check=True,
        )
        corpus += [*tokens, variables["PGPASSWORD"]] if variables["PGPASSWORD"] else tokens
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "ZIGGURAT_LOG": "trace",
            "ZIGGURAT_MCP_LOG_LEVEL": "debug",
            "ZIGGURAT_DB_LOG_LEVEL": "trace",
        }
        command = [TOOLS, "-http", "-addr", "127.0.0.1:0", "-debug", *arguments]
        with listening(command, environment, folder / "log") as (address, _):
            client = Caller(address, tokens[0])
            Caller(address, modern=False).call(
                "authenticate_user", {"username": "ada", "password": password}
            )
            for _ in range(EACH):
                use(client, address, corpus)
            page = Caller(f"127.0.0.1:{port}").ask("GET", "/metrics").text
        seen = {
            "the audit trail": (folder / "audit.jsonl").read_text(),
            "the trail of commands": (folder / "audit-admin.jsonl").read_text(),
            "the metrics": page,
            "the traces": "".join(traces.bodies),
            "the log": (folder / "log").read_text(),
        }
        if f"Bearer {header}" not in traces.headers_seen:
            faults.add("the exporter", "its header did not arrive")
        for place, text in seen.items():
            found = [secret for secret in corpus if secret in text]
            print(f"{place}: {len(text)} bytes, {len(found)} of {len(corpus)} secrets")
            if len(text) < 200:
                faults.add(place, "hardly anything is there")
            for secret in found:
                faults.add(f"a secret in {place}", secret.split("-")[0])
    faults.end()


if __name__ == "__main__":
    main()
