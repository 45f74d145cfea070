"""The client of the MCP crate, as its example `inspect`."""

import json
import os
import subprocess

TARGET = json.loads(os.environ["INTEROP_TARGET"])
IS_PRODUCT = "notes" not in os.environ["INTEROP_TARGET_NAME"]
TOKEN = TARGET["headers"].get("Authorization", "").removeprefix("Bearer ")


def inspect(*arguments):
    environment = {"PATH": os.environ["PATH"]} | ({"TOKEN": TOKEN} if TOKEN else {})
    command = [os.environ["INTEROP_INSPECT"], TARGET["url"], *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout.splitlines()


said = inspect()
revision = "2026-07-28" if TARGET.get("negotiates") else "2024-11-05"
assert said[0].endswith(f"revision {revision}"), said[0]
if IS_PRODUCT:
    assert "tool query_database" in said and "resource pg://system_info" in said, said
    said = inspect("query_database", json.dumps({"query": "SELECT 1 AS one"}))
    assert "one" in said and "1" in said, said
else:
    assert "tool count" in said, said
    assert inspect("read", '{"name": "none"}')[-1].startswith("error: No note"), said
