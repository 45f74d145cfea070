"""The three servers with a page of metrics, for the checks here."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

from callers import Caller, entry, free_port, write_configuration, write_tokens
from processes import database, listening

PROGRAMS = Path(os.environ["ALERTS_PROGRAMS"])
PAGE = re.compile(r"metrics on (http://[^\s\"]+)")


class Server:
    """A running server, with a client of it."""

    def __init__(self, stack, command, environment, log, token=None):
        self.log = log
        address, self.process = stack.enter_context(listening(command, environment, log))
        self.client = Caller(address, token)
        self.stranger = Caller(address, token and "no token")

    def page(self):
        return PAGE.search(self.log.read_text())[1]

    def reload(self):
        self.process.send_signal(signal.SIGHUP)


def tools(stack, folder, telemetry, **sections):
    """ziggurat-tools with a database, and one that is down for its client `lost`."""
    variables = stack.enter_context(database(PROGRAMS / "examples/database"))
    token, lost = write_tokens(folder / "tokens.yaml", 2, "down")
    down = entry("down", variables | {"PGHOST": "127.0.0.1", "PGPORT": free_port()})
    arguments = write_configuration(
        folder,
        databases=[entry("shop", variables), down],
        audit={"file": "audit.jsonl"},
        telemetry=telemetry,
        **sections,
    )
    command = [PROGRAMS / "ziggurat-tools", "-http", "-addr", "127.0.0.1:0", *arguments]
    server = Server(stack, command, dict(os.environ), folder / "tools.log", token)
    server.lost = Caller(server.client.address, lost)
    return server


def rag(stack, folder, telemetry, calls, embedding):
    """ziggurat-rag with a pipeline whose callers may ask so often, with this model of vectors."""
    variables = stack.enter_context(database(PROGRAMS / "examples/database"))
    pipeline = {
        "name": "wares",
        # The rest is in the environment.
        "database": {name: variables[f"PG{name.upper()}"] for name in ["host", "port", "database"]},
        # Without the column of vectors only words are searched.
        "tables": [{"table": "ware", "text_column": "name", "vector_column": "embedding"}],
        "embedding_llm": embedding,
        "rag_llm": {"provider": "local"},
    }
    configuration = {
        "server": {"listen_address": "127.0.0.1", "port": free_port()},
        "audit": {"file": "rag.jsonl"},
        "telemetry": telemetry,
        "limits": {"callers": [{"for": {"local": True}, "calls": calls}]},
        "pipelines": [pipeline],
    }
    # JSON is also YAML.
    config = folder / "rag.yaml"
    config.write_text(json.dumps(configuration))
    command = [PROGRAMS / "ziggurat-rag", "-config", config]
    return Server(stack, command, dict(os.environ, **variables), folder / "rag.log")


def platform(stack, folder, telemetry):
    """ziggurat-platform with one tenant."""
    program = [PROGRAMS / "ziggurat-platform", "-data-dir", folder / "accounts"]
    config = folder / "platform.yaml"
    config.write_text(f"telemetry: {json.dumps(telemetry)}\n")
    subprocess.run([*program, "init", "-out", folder / "first.json"], check=True)
    command = [*program, "-config", config, "-addr", "127.0.0.1:0"]
    return Server(stack, command, dict(os.environ), folder / "platform.log")


def ask_platform(server):
    """Asks for a token in vain."""
    secret = {"client_id": "invented", "client_secret": "invented"}
    server.client.ask("POST", "/account/v1/oauth/token", secret)


def ask_rag(server, pipeline="wares"):
    """Asks a question."""
    server.client.ask("POST", f"/v1/pipelines/{pipeline}", {"query": "kettle"})
