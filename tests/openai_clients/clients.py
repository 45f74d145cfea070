"""Starts the program with a pipeline that needs no model, and runs every client against it."""

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from processes import PATIENCE, database, listening

HERE = Path(__file__).resolve().parent
CLIENTS = {
    "python": [os.environ["OPENAI_CLIENTS_PYTHON"], HERE / "chat.py"],
    "typescript": ["node", HERE / "chat.mjs"],
}
CONFIGURATION = """
server: {{listen_address: 127.0.0.1, port: {port}, openai_compatible: true}}
pipelines:
- name: docs
  database: {{host: "{PGHOST}", port: {PGPORT}, database: "{PGDATABASE}", username: "{PGUSER}",
    password: "{PGPASSWORD}"}}
  tables:
  - {{table: documents, text_column: content, vector_column: embedding, id_column: id,
      title_column: title, url_column: link}}
  embedding_llm: {{provider: local}}
  rag_llm: {{provider: local}}
  allow_include_sources: true
"""


def free_port():
    """A port without a listener."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def run_client(name, address):
    """Runs a client; returns whether it succeeded."""
    done = subprocess.run(
        [str(word) for word in CLIENTS[name]],
        env=os.environ | {"OPENAI_BASE_URL": f"{address}/v1", "OPENAI_API_KEY": "any"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
    )
    is_content = done.returncode == 0
    print(f"{'ok' if is_content else 'FAILED':6} {name}\n{'' if is_content else done.stdout}", end="")
    return is_content


def main():
    with tempfile.TemporaryDirectory() as folder, database(
        os.environ["OPENAI_CLIENTS_DATABASE"], sample=HERE / "sample.sql"
    ) as variables:
        file, log = Path(folder) / "rag.yaml", Path(folder) / "log"
        file.write_text(CONFIGURATION.format(port=free_port(), **variables))
        environment = {"PATH": os.environ["PATH"], "HOME": folder}
        command = [os.environ["OPENAI_CLIENTS_PROGRAM"], "-config", str(file)]
        with listening(command, environment, log) as (address, _):
            outcomes = [run_client(name, address) for name in CLIENTS]
        if not all(outcomes):
            sys.exit(log.read_text())


main()
