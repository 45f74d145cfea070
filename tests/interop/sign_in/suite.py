"""Clients that get nothing but an address: a person signs in for them in Chromium."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import replays
from places import PROGRAM, PYTHON_1, alone, behind_platform, clock, with_provider
from processes import PATIENCE, database, running
from sign_in_server import PERSON

HERE = Path(__file__).resolve().parent
JAVASCRIPT = Path(os.environ["INTEROP_JAVASCRIPT"])
PYTHON_2 = os.environ["INTEROP_PYTHON_2"]
CLIENTS = {
    "python_1": [PYTHON_1, HERE / "python_1.py"],
    "python_2": [PYTHON_2, HERE / "python_2.py"],
    "fastmcp_4": [os.environ["INTEROP_FASTMCP"], HERE / "fastmcp_4.py"],
    "typescript_1": ["node", HERE / "typescript_1.mjs"],
    "typescript_2": ["node", HERE / "typescript_2.mjs"],
    "rmcp": [os.environ["INTEROP_RMCP"]],
    "mcp_remote": [PYTHON_1, HERE / "mcp_remote.py"],
    "inspector": [sys.executable, HERE / "inspector.py"],
    "claude_code": [sys.executable, HERE / "claude_code.py"],
    "python_assertion": [PYTHON_2, HERE / "python_assertion.py"],
    "typescript_assertion": ["node", HERE / "typescript_assertion.mjs"],
}
# The clients that ask for more when the server says so, in the newest revision.
ASKING_AGAIN = ["python_2", "fastmcp_4", "typescript_2", "rmcp"]
# With the address as the manual has it they register. With a slash at its end, as some people type
# it, they have a document.
TARGETS = {
    "registered": (alone, "/mcp"),
    "by document": (alone, "/mcp/"),
    "platform": (behind_platform, "/mcp"),
    "provider": (with_provider, "/mcp"),
}
# These are given the clock by a script. Python cannot wait for a process with this clock.
SCRIPTED = ["mcp_remote", "inspector", "claude_code"]
# Clients with names of their own.
NAMES = {
    "inspector registered": "MCP Inspector",
    "inspector platform": "MCP Inspector",
    "claude_code registered": "Claude Code (shop)",
    "claude_code by document": "Claude Code",
    "claude_code platform": "Claude Code",
}


def targets(client):
    """The ways of a client, all from a bare address."""
    if "assertion" in client:
        return ["provider"]
    return ["registered", "by document", "platform"]


def environment(client, target, browser, documents, address):
    """The environment of a client, in which the browser is the scripted one."""
    document = {"INTEROP_DOCUMENT": f"{documents}/{client}.json"} if "doc" in target else {}
    return os.environ | document | {
        "BROWSER": str(HERE / "open"),
        "INTEROP_BROWSER": browser,
        "INTEROP_CLIENT": f"{client} {target}",
        "INTEROP_MODULES": str(JAVASCRIPT / "node_modules"),
        "INTEROP_REMOTE": str(JAVASCRIPT / "node_modules/mcp-remote/dist/proxy.js"),
        "INTEROP_URL": address + TARGETS[target][1],
    }


def run_client(client, target, browser, documents, place, folder):
    """Runs a client with a server of its own; returns whether it succeeded."""
    started = time.monotonic()
    folder.mkdir()
    registration = {"ca_file": documents[1], "private_hosts": ["localhost"]}
    # Its document is its own, and it registers where documents are not fetched.
    if (client, target) == ("claude_code", "registered"):
        registration["fetch"] = False
    moved = clock(folder)
    with TARGETS[target][0](place, folder, registration, moved) as (address, more):
        of_client = environment(client, target, browser, documents[0], address) | moved | more
        if client in SCRIPTED:
            del of_client["LD_PRELOAD"]
        try:
            done = subprocess.run(
                CLIENTS[client],
                env=of_client,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=PATIENCE,
            )
            is_content, said = done.returncode == 0, done.stdout
        except subprocess.TimeoutExpired as error:
            is_content, said = False, f"{error}\n{(error.stdout or b'').decode(errors='replace')}"
    took = time.monotonic() - started
    line = f"{'ok' if is_content else 'FAILED':6} {client:20} {target:12} {took:4.1f}s\n"
    logs = [f"--- {log.name}\n{log.read_text()}" for log in folder.glob("*.log")]
    print(line if is_content else "".join([line, said, *logs]), end="", flush=True)
    return is_content


def run_replays(place, folder):
    """Replays the requests of hosted clients; returns whether all succeeded."""
    started = time.monotonic()
    failures = replays.run(PROGRAM, place, folder)
    took = time.monotonic() - started
    print(f"{'FAILED' if failures else 'ok':6} {'replays':33} {took:4.1f}s", flush=True)
    print("".join(f"{failure}\n" for failure in failures), end="")
    return not failures


def main():
    # Raises SystemExit on SIGTERM, so that the started processes are stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    known = ["replays", *CLIENTS]
    wanted = sys.argv[1:] or known
    if unknown := [name for name in wanted if name not in known]:
        sys.exit(f"no such client: {', '.join(unknown)}; there are {', '.join(known)}")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        place = stack.enter_context(database(os.environ["INTEROP_DATABASE"]))
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        host = running([PYTHON_1, HERE / "document_host.py", folder / "host.pem"], **pipes)
        host = stack.enter_context(host).stdout.readline().strip(), str(folder / "host.pem")
        person = os.environ | {"INTEROP_PERSON": json.dumps(PERSON)}
        person["INTEROP_MODULES"] = str(JAVASCRIPT / "node_modules")
        chromium = running(["node", HERE / "chromium.mjs"], env=person, **pipes)
        browser = stack.enter_context(chromium).stdout.readline().strip()
        clients = [client for client in wanted if client in CLIENTS]
        runs = [(client, target) for client in clients for target in targets(client)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            places = [folder / " ".join(run) for run in runs]
            pending = [
                pool.submit(run_client, *run, browser, host, place, own)
                for run, own in zip(runs, places)
            ]
            if "replays" in wanted:
                pending.append(pool.submit(run_replays, place, folder))
            outcomes = [one.result() for one in pending]
        with urllib.request.urlopen(browser, timeout=PATIENCE) as answer:
            seen = json.load(answer)
        # A client refreshes without the person, and may ask again for a change.
        expected = Counter()
        for client, target in runs:
            name = NAMES.get(f"{client} {target}", f"{client} {target}")
            if target != "provider":
                expected[name] += 2 if client in ASKING_AGAIN else 1
        if seen != {"opened": expected, "problems": []} or not all(outcomes):
            failed = f"{outcomes.count(False)} of {len(outcomes)} failed"
            sys.exit(f"{failed}; the browser: {json.dumps(seen, indent=1)}")
        print(f"all {len(runs)} clients signed in and worked through three expiries")


if __name__ == "__main__":
    main()
