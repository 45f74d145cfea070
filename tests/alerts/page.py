"""Feeds pages of metrics to promtool, and the configurations of the chapter about metrics to the
programs that read them. `tests/alerts/run` runs it.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from contextlib import ExitStack
from pathlib import Path

from callers import Caller, entry, free_port, write_configuration, write_tokens
from processes import database, listening

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "docs/operations/ziggurat.rules.yaml"
CHAPTER = ROOT / "docs/src/metrics.md"
PROGRAMS = Path(os.environ["ALERTS_PROGRAMS"])
TELEMETRY = {"metrics": {"address": "127.0.0.1:0"}}
PAGE = re.compile(r"metrics on (http://[^\s\"]+)")


def checked(log, name, *expected):
    """Reads the page of a server and has it checked."""
    url = PAGE.search(log.read_text())[1]
    with urllib.request.urlopen(url, timeout=20) as answer:
        page = answer.read()
    for series in expected:
        if series not in page.decode():
            sys.exit(f"the page of {name} lacks {series}:\n{page.decode()}")
    done = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True)
    said = (done.stdout + done.stderr).decode().strip()
    if done.returncode or said:
        sys.exit(f"promtool rejects the page of {name}: {said}")
    count = page.count(b"# TYPE ")
    print(f"promtool accepts the {count} metrics of {name}")


def tools(stack, folder):
    """Calls tools with and without success, and checks the page."""
    variables = stack.enter_context(database(PROGRAMS / "examples/database"))
    token, *_ = write_tokens(folder / "tokens.yaml", 1)
    arguments = write_configuration(
        folder,
        databases=[entry("shop", variables)],
        audit={"file": "audit.jsonl"},
        telemetry=TELEMETRY,
    )
    command = [PROGRAMS / "ziggurat-tools", "-http", "-addr", "127.0.0.1:0", *arguments]
    log = folder / "tools.log"
    address, _ = stack.enter_context(listening(command, dict(os.environ), log))
    caller = Caller(address, token)
    caller.query("SELECT 1")
    caller.query("SELECT * FROM missing")
    caller.call("invented", {})
    Caller(address, "no token").query("SELECT 1")
    shop = 'tool="query_database",database="shop",verdict="ok"'
    checked(log, "ziggurat-tools", shop, 'tool="other"', 'refused_total{reason="token"} 1')


def rag(stack, folder):
    """Asks questions with and without success, and checks the page."""
    variables = stack.enter_context(database(PROGRAMS / "examples/database"))
    pipeline = {
        "name": "wares",
        # The rest is in the environment.
        "database": {name: variables[f"PG{name.upper()}"] for name in ["host", "port", "database"]},
        # Without the column of vectors only words are searched.
        "tables": [{"table": "ware", "text_column": "name", "vector_column": "embedding"}],
        "embedding_llm": {"provider": "local"},
        "rag_llm": {"provider": "local"},
    }
    configuration = {
        "server": {"listen_address": "127.0.0.1", "port": free_port()},
        "audit": {"file": "rag.jsonl"},
        "telemetry": TELEMETRY,
        "limits": {"callers": [{"for": {"local": True}, "calls": "2 per day"}]},
        "pipelines": [pipeline],
    }
    # JSON is also YAML.
    config = folder / "rag.yaml"
    config.write_text(json.dumps(configuration))
    log = folder / "rag.log"
    command = [PROGRAMS / "ziggurat-rag", "-config", config]
    address, _ = stack.enter_context(listening(command, dict(os.environ, **variables), log))
    for name in ["wares", "invented", "wares"]:
        Caller(address).ask("POST", f"/v1/pipelines/{name}", {"query": "kettle"})
    embedded = 'pipeline_seconds_count{pipeline="wares",stage="embed"} 1'
    checked(log, "ziggurat-rag", embedded, 'verdict="unknown"', 'reached_total{limit="calls"} 1')


def platform(stack, folder):
    """Makes a tenant, asks for a token in vain, and checks the page."""
    program = [PROGRAMS / "ziggurat-platform", "-data-dir", folder / "accounts"]
    config = folder / "platform.yaml"
    config.write_text(f"telemetry: {TELEMETRY}\n")
    subprocess.run([*program, "init", "-out", folder / "first.json"], check=True)
    command = [*program, "-config", config, "-addr", "127.0.0.1:0"]
    log = folder / "platform.log"
    address, _ = stack.enter_context(listening(command, dict(os.environ), log))
    secret = {"client_id": "invented", "client_secret": "invented"}
    Caller(address).ask("POST", "/account/v1/oauth/token", secret)
    checked(log, "ziggurat-platform", 'tokens_issued_total{result="refused"} 1')


def documented(folder):
    """Checks the configuration of Prometheus in the book, with the rules next to it."""
    blocks = re.findall(r"^```yaml\n(.*?)^```$", CHAPTER.read_text(), re.M | re.S)
    (block,) = [block for block in blocks if "scrape_configs:" in block]
    shutil.copy(RULES, folder)
    (folder / "prometheus.yml").write_text(block)
    command = ["promtool", "check", "config", folder / "prometheus.yml"]
    subprocess.run(command, check=True)


def main():
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        documented(folder)
        tools(stack, folder)
        rag(stack, folder)
        platform(stack, folder)


if __name__ == "__main__":
    main()
