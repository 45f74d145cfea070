"""The command line of the MCP Inspector: once with a browser, then with a dead token."""

import json
import os
import socket
import subprocess
import tempfile
from pathlib import Path

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


def main():
    with tempfile.TemporaryDirectory() as name, socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
        free.close()
        folder = Path(name)
        call(folder, port)
        file = folder / ".mcp-inspector/secrets.json"
        kept = json.loads(file.read_text())
        [(name, before)] = kept["secrets"].items()
        before = json.loads(before)
        # A token that the server refuses.
        dead = before | {"access_token": "e" + before["access_token"]}
        file.write_text(json.dumps(kept | {"secrets": {name: json.dumps(dead)}}))
        call(folder, port)
        after = json.loads(json.loads(file.read_text())["secrets"][name])
        assert after["access_token"] not in [before["access_token"], dead["access_token"]], after
        assert after["refresh_token"] != before["refresh_token"], after


if __name__ == "__main__":
    main()
