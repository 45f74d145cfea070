"""The command line of the MCP Inspector: once with a browser, then with what it keeps."""

import json
import os
import socket
import subprocess
import tempfile
from pathlib import Path

from callback import expire

MODULES = Path(os.environ["INTEROP_MODULES"])
INSPECTOR = MODULES / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
SQL = "SELECT name FROM ware WHERE id = 1"


def call(folder, port):
    words = ["--cli", os.environ["INTEROP_URL"], "--transport", "http", "--format", "json"]
    words += ["--callback-url", f"http://127.0.0.1:{port}/oauth/callback", "--method", "tools/call"]
    words += ["--tool-name", "query_database", "--tool-args-json", json.dumps({"query": SQL})]
    if document := os.environ.get("INTEROP_DOCUMENT"):
        words += ["--client-metadata-url", document]
    environment = os.environ | {
        "LD_PRELOAD": os.environ["INTEROP_FAKETIME"],
        "HOME": str(folder),
        "MCP_AUTO_OPEN_ENABLED": "true",
        "MCP_INSPECTOR_SECRET_STORE": "file",
    }
    done = subprocess.run(
        ["node", str(INSPECTOR), *words],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0 and "kettle" in done.stdout, f"{done.stdout}\n{done.stderr}"


def tokens(folder):
    kept = json.loads((folder / ".mcp-inspector/secrets.json").read_text())
    [secret] = kept["secrets"].values()
    return json.loads(secret)


def main():
    with tempfile.TemporaryDirectory() as name, socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
        free.close()
        folder = Path(name)
        call(folder, port)
        for _ in range(3):
            before = tokens(folder)
            expire()
            call(folder, port)
            after = tokens(folder)
            assert after["access_token"] != before["access_token"], after
            assert after["refresh_token"] != before["refresh_token"], after


if __name__ == "__main__":
    main()
