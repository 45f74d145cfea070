"""Starts the program in several configurations, and runs every client against them."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

from processes import PATIENCE, database, documents, listening, running, server

HERE = Path(__file__).resolve().parent
PROGRAM = os.environ["INTEROP_PROGRAM"]
FIXTURE = os.environ["INTEROP_FIXTURE"]
NOTES = os.environ["INTEROP_NOTES"]
DOCUMENTS = os.environ["INTEROP_DOCUMENTS"]
JAVASCRIPT = Path(os.environ["INTEROP_JAVASCRIPT"])
PYTHON_1 = os.environ["INTEROP_PYTHON_1"]
PYTHON_2 = os.environ["INTEROP_PYTHON_2"]
FASTMCP = os.environ["INTEROP_FASTMCP"]
REMOTE = JAVASCRIPT / "node_modules/mcp-remote/dist/proxy.js"
USER = {"username": "ann", "password": "correct horse battery"}

# A writable database, and one that does not respond.
WRITING = """
databases:
- {{name: shop, host: "{PGHOST}", port: {PGPORT}, user: "{PGUSER}", password: "{PGPASSWORD}",
   database: "{PGDATABASE}", allow_writes: true}}
mcp: {{structured_output: true}}
"""
UNREADY = """
databases:
- {{name: shop, host: 127.0.0.1, port: {port}, user: nobody}}
"""

# `/mcp/v1`, `/mcp`, and stdio.
TARGETS = ["http", "token", "all", "guarded", "stdio"]
# These, and the example server of the MCP crate.
ALL_TARGETS = [*TARGETS, "notes"]
# These, the program in place of server-postgres, and documents as tools.
SDK_TARGETS = [*ALL_TARGETS, "drop_in", "documents", "folder"]

# The conversations with the targets that are not the program as it is.
CONVERSATIONS = {
    "notes": "notes.json",
    "notes_remote": "notes.json",
    "drop_in": "drop_in.json",
    "documents": "documents.json",
    "folder": "documents.json",
}

# Each client with its command and its targets.
CLIENTS = {
    "wire": ([PYTHON_2, HERE / "wire.py"], ["http", "token", "stdio"]),
    "revisions": ([PYTHON_2, HERE / "revisions.py"], ["all", "guarded", "stdio"]),
    "responses": (
        [PYTHON_2, HERE / "responses.py"],
        [*TARGETS, "writing", "unready", "fixture"],
    ),
    "inspector": ([sys.executable, HERE / "inspector.py"], [*ALL_TARGETS, "documents", "folder"]),
    "python_1": ([PYTHON_1, HERE / "python_1.py"], [*SDK_TARGETS, "remote", "notes_remote"]),
    "python_2": ([PYTHON_2, HERE / "python_2.py"], SDK_TARGETS),
    "fastmcp_4": ([FASTMCP, HERE / "fastmcp_4.py"], SDK_TARGETS),
    "rmcp": ([os.environ["INTEROP_RMCP"]], SDK_TARGETS),
    "typescript_1": (["node", HERE / "typescript_1.mjs"], SDK_TARGETS),
    "typescript_2": (["node", HERE / "typescript_2.mjs"], SDK_TARGETS),
    "ours": ([sys.executable, HERE / "ours.py"], ["http", "token", "all", "guarded", "notes"]),
}


def administer(arguments, environment):
    """Runs the program to its end; returns its output."""
    done = subprocess.run(
        [PROGRAM, *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    if done.returncode:
        sys.exit(f"{arguments[0]}: {done.stderr}")
    return done.stdout


def drop_in(environment, bare):
    """The program as a client starts it that was set up for server-postgres."""
    parts = {name: quote(value, safe="") for name, value in environment.items()}
    url = "postgresql://{PGUSER}@{PGHOST}:{PGPORT}/{PGDATABASE}".format(**parts)
    return {
        "command": PROGRAM,
        "args": ["-compat", "server-postgres", url],
        "env": bare | {"PGPASSWORD": environment["PGPASSWORD"]},
        "negotiates": True,
    }


def folder_target(folder, environment, bare):
    """The retrieval server as a client starts it for a folder."""
    texts = folder / "texts"
    texts.mkdir()
    (texts / "ferns.md").write_text("# Ferns\n\nFerns like shade and damp soil.\n")
    parts = {name: quote(value, safe="") for name, value in environment.items()}
    url = "postgresql://{PGUSER}:{PGPASSWORD}@{PGHOST}:{PGPORT}/{PGDATABASE}".format(**parts)
    return {
        "command": DOCUMENTS,
        "args": ["stdio", str(texts)],
        "env": bare | {"DATABASE_URL": url},
        "negotiates": True,
    }


def targets(stack, folder):
    """Starts the program in all configurations; returns the targets."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    environment |= stack.enter_context(database(os.environ["INTEROP_DATABASE"]))
    files = ["-token-file", str(folder / "tokens.yaml"), "-user-file", str(folder / "users.yaml")]
    notes = ["-token-note", "interop", "-token-expiry", "1d", "-token-database", ""]
    printed = administer(["-add-token", *notes, *files], environment)
    token = re.search(r"^Token: (\S+)", printed, re.M)[1]
    user = ["-username", USER["username"], "-password", USER["password"], "-user-note", ""]
    administer(["-add-user", *user, *files], environment)

    def serve(name, arguments, environment=environment):
        log = folder / f"{name}.log"
        address = stack.enter_context(server(PROGRAM, arguments, environment, log))
        return f"{address}/mcp/v1"

    def configured(name, text):
        file = folder / f"{name}.yaml"
        file.write_text(text)
        return ["-config", str(file)]

    is_open = serve("http", ["-no-auth", *files])
    # These clients check structured content against the output schemas.
    guarded = serve("token", [*files, *configured("token", "mcp: {structured_output: true}\n")])
    bare = {name: environment[name] for name in ["PATH", "HOME"]}
    writing = configured("writing", WRITING.format(**environment))
    writing = serve("writing", ["-no-auth", *writing], bare).removesuffix("/v1")
    silent = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    unready = configured("unready", UNREADY.format(port=silent.getsockname()[1]))
    fixture = [FIXTURE, "127.0.0.1:0"]
    fixture = stack.enter_context(running(fixture, stdout=subprocess.PIPE, text=True))
    bearer = {"Authorization": f"Bearer {token}"}
    notes = listening([NOTES, "127.0.0.1:0"], bare | {"NOTES_TOKEN": token}, folder / "notes.log")
    notes, _ = stack.enter_context(notes)

    asked = stack.enter_context(documents(DOCUMENTS, environment, folder))

    def remote(url):
        """The configuration of a host without HTTP."""
        arguments = [str(REMOTE), url, "--transport", "http-only", "--allow-http", "--silent"]
        return {
            "command": "node",
            "args": [*arguments, "--header", "Authorization:${TOKEN_HEADER}"],
            "env": environment | {"TOKEN_HEADER": bearer["Authorization"]},
        }

    return {
        "http": {"url": is_open, "headers": {}},
        "token": {"url": guarded, "headers": bearer, "login": USER},
        "all": {"url": is_open.removesuffix("/v1"), "headers": {}, "negotiates": True},
        "guarded": {
            "url": guarded.removesuffix("/v1"),
            "headers": bearer,
            "negotiates": True,
            "structured": True,
        },
        "stdio": {"command": PROGRAM, "args": files, "env": environment},
        "drop_in": drop_in(environment, bare),
        "documents": {"url": f"{asked}/mcp", "headers": {}, "negotiates": True},
        "folder": folder_target(folder, environment, bare),
        "writing": {"url": writing, "headers": {}, "negotiates": True, "kind": "writing"},
        "unready": {"command": PROGRAM, "args": unready, "env": bare, "kind": "unready"},
        "fixture": {
            "url": fixture.stdout.readline().strip(),
            "headers": {},
            "negotiates": True,
            "kind": "fixture",
        },
        # The example of the crate.
        "notes": {"url": f"{notes}/mcp", "headers": bearer, "negotiates": True},
        "remote": remote(guarded),
        "notes_remote": remote(f"{notes}/mcp") | {"negotiates": True},
    }


def run_client(client, name, target):
    """Runs a client against a target; returns whether it succeeded."""
    command, _ = CLIENTS[client]
    conversation = CONVERSATIONS.get(name, "conversation.json")
    environment = os.environ | {
        "INTEROP_TARGET": json.dumps(target),
        "INTEROP_TARGET_NAME": name,
        "INTEROP_CONVERSATION": str(HERE / conversation),
        # Node searches modules next to a script, but these are in the cache.
        "INTEROP_MODULES": str(JAVASCRIPT / "node_modules"),
    }
    started = time.monotonic()
    try:
        done = subprocess.run(
            [str(word) for word in command],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
        )
        is_content, said = done.returncode == 0, done.stdout
    except subprocess.TimeoutExpired as error:
        is_content, said = False, f"{error}\n{(error.stdout or b'').decode(errors='replace')}"
    verdict = "ok" if is_content else "FAILED"
    took = time.monotonic() - started
    line = f"{verdict:6} {client:13} {name:12} {took:4.1f}s\n"
    print(line if is_content else line + said, end="", flush=True)
    return is_content


def main():
    wanted = sys.argv[1:] or list(CLIENTS)
    if unknown := [name for name in wanted if name not in CLIENTS]:
        sys.exit(f"no such client: {', '.join(unknown)}; there are {', '.join(CLIENTS)}")
    # Raises SystemExit on SIGTERM, so that the started processes are stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        started = targets(stack, folder)
        runs = [(client, target) for client in wanted for target in CLIENTS[client][1]]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            outcomes = list(pool.map(lambda pair: run_client(*pair, started[pair[1]]), runs))
        if failed := outcomes.count(False):
            for log in sorted(folder.glob("*.log")):
                print(f"--- {log.name}\n{log.read_text()}")
            sys.exit(f"{failed} of {len(runs)} failed")
        print(f"all {len(runs)} runs succeeded")


if __name__ == "__main__":
    main()
