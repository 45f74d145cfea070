"""Reloads under load: no call sees half of a configuration.

`bash tests/long/run reloads`: a server whose configuration and definitions change all the time, in
one step or in several, to good, bad and half-written contents. SIGHUP reloads everything, and in
every other turn only the definitions change, which the server notices by itself. Clients list and
call without a pause. Everything that they see says the number of its configuration and of its
definitions: an answer with two numbers, with a number that never was good, or an error is a fault.
"""

import http.client
import json
import os
import re
import signal
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

from callers import Caller, entry, write_configuration
from faults import Faults
from processes import database, listening

TENTH = "--tenth" in sys.argv
RELOADS = 100 if TENTH else 1000
CALLERS = 6
PATIENCE = 60

RELOADED = "configuration reloaded from"
NOTICED = "definitions reloaded"
KEPT = "configuration not reloaded, the "
IGNORED = "definitions not reloaded, the "

STATE = re.compile(r"\bstate-(\d+\.\d+)\b")
NUMBERED = re.compile(r"\b(?:one|two|db)_(\d+)\b")
LISTS = ("tools/list", "prompts/list", "resources/list")


def definitions(configuration, number):
    """Definitions in which everything says the same two numbers."""
    state = f"state-{configuration}.{number}"
    statement = f"SELECT '{state}' AS one, '{state}' AS two"
    more = {"description": state, "database": f"db_{configuration}", "statement": statement}
    names = ["which", f"one_{configuration}", f"two_{configuration}"]
    message = {"role": "user", "content": {"type": "text", "text": state}}
    sections = {
        "tools": [{"name": name, **more} for name in names],
        "prompts": [
            {"name": name, "description": state, "messages": [message]} for name in names
        ],
        "resources": [
            {"uri": f"custom://{name}", "name": name, "description": state}
            | {"type": "static", "data": state}
            for name in names
        ],
    }
    # JSON is also YAML.
    return json.dumps(sections, indent=1)


def toolsets(number):
    """A toolset that names everything of its definitions in full."""
    names = ["which", f"one_{number}", f"two_{number}"]
    return [
        {
            "name": "all",
            "tools": [*names, "list_databases"],
            "prompts": names,
            "resources": [f"custom://{name}" for name in names],
            "rest": ["databases"],
            "for": {"everyone": True},
        }
    ]


class Server:
    """The files of a server, and what it may show."""

    def __init__(self, folder, variables):
        self.folder, self.variables = folder, variables
        self.good, self.lock = set(), threading.Lock()
        self.process = self.address = None

    def configure(self, number):
        """Writes a configuration; returns the arguments of the server."""
        return write_configuration(
            self.folder,
            databases=[entry(f"db_{number}", self.variables)],
            toolsets=toolsets(number),
            custom_definitions_path=str(self.folder / "own.yaml"),
        )

    def write(self, text, in_one_step):
        """Writes the definitions, in one step or in two with a pause."""
        own = self.folder / "own.yaml"
        if in_one_step:
            new = self.folder / "own.new"
            new.write_text(text)
            new.rename(own)
            return
        with open(own, "w") as file:
            file.write(text[: len(text) // 2])
            file.flush()
            time.sleep(0.01)
            file.write(text[len(text) // 2 :])

    def allow(self, configuration, number):
        with self.lock:
            self.good.add(f"{configuration}.{number}")

    def log(self):
        return (self.folder / "log").read_text()

    def until(self, said, act):
        """Acts, and waits for another line of the log."""
        before = self.log().count(said)
        act()
        deadline = time.monotonic() + PATIENCE
        while self.log().count(said) == before:
            if time.monotonic() > deadline:
                sys.exit(f"no `{said}`: {self.log()[-2000:]}")
            time.sleep(0.005)

    def fault(self, text):
        """What is wrong with an answer, if anything is."""
        states = set(STATE.findall(text))
        numbers = set(NUMBERED.findall(text)) | {state.split(".")[0] for state in states}
        if len(states) > 1 or len(numbers) > 1:
            return "answers of two configurations"
        if not numbers:
            return "answers without a configuration"
        with self.lock:
            if states - self.good:
                return "answers of a configuration that never was good"
        return None


def press(server, stop, faults, counts):
    """Lists and calls until it is stopped."""
    caller, modern = Caller(server.address, modern=False), Caller(server.address)

    def lists(path, method):
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}
        version = {"MCP-Protocol-Version": "2025-06-18"} if path != "/mcp/v1" else {}
        accept = {"Accept": "application/json, text/event-stream"}
        return raw(server.address, "POST", path, body, accept | version)

    while not stop.is_set():
        try:
            answers = [
                lists(path, method)
                for path in ("/mcp/v1", "/mcp", "/mcp/x/all", "/mcp?tools=which,one_*")
                for method in LISTS
            ]
            answers.append(raw(server.address, "GET", "/api/databases"))
            for client in (caller, modern):
                answer = client.call("which", {})
                answers.append((answer.status if not answer.is_error else 500, answer.text))
        except OSError as error:
            faults.add("calls that failed", repr(error))
            continue
        for status, text in answers:
            counts.append(1)
            if status != 200 or '"error"' in text:
                faults.add("answers that are errors", f"{status} {text[:300]}")
            elif wrong := server.fault(text):
                faults.add(wrong, text[:600])


def raw(address, method, path, body=None, headers=None):
    """The status and the whole text of an answer."""
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=PATIENCE)
    try:
        headers = {"Connection": "close", "Content-Type": "application/json"} | (headers or {})
        connection.request(method, path, body and json.dumps(body), headers)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def reload_all(server):
    """Reloads with good, bad and half-written files."""
    configuration = 0
    for number in range(1, RELOADS + 1):
        is_asked, in_one_step = number % 2 == 0, number % 3 == 0
        if is_asked:
            configuration = number
        good = definitions(configuration, number)
        wrong = {0: good.replace("description", "descripton"), 1: good[: len(good) * 2 // 3]}

        def act(text):
            server.write(text, in_one_step)
            if is_asked:
                server.configure(configuration)
                server.process.send_signal(signal.SIGHUP)

        if number % 5 in wrong:
            # The server may notice the file before the signal.
            server.until(KEPT if is_asked else IGNORED, lambda: act(wrong[number % 5]))
        server.allow(configuration, number)
        server.until(RELOADED if is_asked else NOTICED, lambda: act(good))


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    faults, stop, counts = Faults(), threading.Event(), []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o711)
        variables = stack.enter_context(database(os.environ["LONG_DATABASE"], folder))
        home = folder / "home"
        home.mkdir()
        server = Server(home, variables)
        server.write(definitions(0, 0), True)
        server.allow(0, 0)
        arguments = [*server.configure(0), "-no-auth"]
        command = [os.environ["LONG_TOOLS"], "-http", "-addr", "127.0.0.1:0", *arguments]
        environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
        server.address, server.process = stack.enter_context(
            listening(command, environment, home / "log")
        )
        threads = [
            threading.Thread(target=press, args=(server, stop, faults, counts))
            for _ in range(CALLERS)
        ]
        for thread in threads:
            thread.start()
        begun = time.monotonic()
        try:
            reload_all(server)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        seconds = time.monotonic() - begun
        print(f"{RELOADS} reloads in {seconds:.0f} s, {len(counts)} answers")
        if len(counts) < RELOADS:
            faults.add("too few answers", str(len(counts)))
    faults.end()


if __name__ == "__main__":
    main()
