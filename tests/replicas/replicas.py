"""Three replicas behind haproxy: the effect on clients when one is killed, or when all are restarted in turn."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from pathlib import Path

PROGRAM = os.environ["REPLICAS_PROGRAM"]
HAPROXY = os.environ["REPLICAS_HAPROXY"]
REPLICAS = 3
CLIENTS = 12
NAMES = ["one", "two", "three"]
PASSWORD = "correct horse"
# The lowest cost of password hashing, because passwords are not tested here.
HASH = "$2b$04$Ppcvd5/NfazclsO4EgnYy.9IcQqyPDIpoXon1/LzTctWMzYg3nvrm"
PATIENCE = 30


@contextmanager
def running(command, **options):
    """A process that is stopped at the end of the block."""
    child = subprocess.Popen([str(word) for word in command], **options)
    try:
        yield child
    finally:
        child.terminate()
        try:
            child.wait(timeout=20)
        except subprocess.TimeoutExpired:
            child.kill()


@contextmanager
def database(folder):
    """Makes an empty database; returns its URL."""
    empty = folder / "empty.sql"
    empty.write_text("SELECT 1;\n")
    command = [os.environ["REPLICAS_DATABASE"], empty]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        url = child.stdout.readline().strip()
        yield url or sys.exit("no PostgreSQL to test with")
    finally:
        # The database is dropped when standard input of its owner ends.
        child.stdin.close()
        child.wait(timeout=20)


def configuration(url):
    """Three names for one database, so that the answer tells which was used."""
    user, password, host, port, name = re.match(
        r"postgres(?:ql)?://([^:]*):([^@]*)@([^:/]*):(\d+)/([^?]*)", url
    ).groups()
    lines = ["databases:"]
    for entry in NAMES:
        fields = {"name": entry, "host": host, "port": int(port), "database": name}
        fields |= {"user": user, "password": password}
        lines.append(f"  - {json.dumps(fields)}")
    # Longer than haproxy needs to notice.
    lines.append("limits: {shutdown_delay: 2s}")
    return "\n".join(lines) + "\n"


def users():
    lines = ["users:"]
    for number in range(CLIENTS):
        fields = {"username": f"user{number}", "password_hash": HASH}
        fields |= {"created_at": "2026-01-01T00:00:00Z"}
        lines.append(f"  user{number}: {json.dumps(fields)}")
    return "\n".join(lines) + "\n"


def replica(stack, folder, url, port=0):
    """Starts a server with its own files; returns its process and its port."""
    folder.mkdir()
    for name, text in {
        "ziggurat-tools.yaml": configuration(url),
        "tokens.yaml": "tokens: []\n",
        "users.yaml": users(),
    }.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o600)
    environment = {"HOME": str(folder), "ZIGGURAT_STATE_URL": url}
    files = ["-config", folder / "ziggurat-tools.yaml"]
    files += ["-token-file", folder / "tokens.yaml", "-user-file", folder / "users.yaml"]
    log = folder / "log"
    errors = stack.enter_context(open(log, "wb"))
    command = [PROGRAM, "-http", "-addr", f"127.0.0.1:{port}", *files]
    child = stack.enter_context(running(command, env=environment, stderr=errors))
    deadline = time.monotonic() + PATIENCE
    while not (found := re.search(r"listening on http://\S+:(\d+)", log.read_text())):
        if child.poll() is not None or time.monotonic() > deadline:
            sys.exit(f"the server did not start: {log.read_text()}")
        time.sleep(0.02)
    return child, int(found[1])


def balancer(stack, folder, ports):
    """Starts haproxy in front of these ports; returns its port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    servers = "\n".join(
        f"    server replica{number} 127.0.0.1:{port} check inter 200ms fall 2 rise 1"
        for number, port in enumerate(ports)
    )
    config = folder / "haproxy.cfg"
    config.write_text(
        "defaults\n    mode http\n    timeout connect 1s\n    timeout client 30s\n"
        "    timeout server 30s\n    option redispatch\n    retries 3\n"
        f"frontend all\n    bind 127.0.0.1:{port}\n    default_backend replicas\n"
        "backend replicas\n    balance random\n    option httpchk\n"
        "    http-check send meth GET uri /ready ver HTTP/1.1\n"
        f"    http-response set-header x-replica %s\n{servers}\n"
    )
    stack.enter_context(running([HAPROXY, "-db", "-q", "-f", config]))
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return port
        except OSError:
            if time.monotonic() > deadline:
                sys.exit("haproxy did not start")
            time.sleep(0.02)


class Client:
    """A user that logs in once, at the beginning."""

    def __init__(self, number, port, stop):
        self.number, self.port, self.stop = number, port, stop
        self.token = None
        self.kept, self.times, self.answered, self.faults = {}, [], Counter(), []
        self.sent_again = self.turns = 0
        self.connection = None

    def ask(self, method, path, body=None):
        """Sends a request, again if its replica was killed before it answered."""
        deadline = time.monotonic() + PATIENCE
        while True:
            begun = time.monotonic()
            try:
                status, replica, answer = self.exchange(method, path, body)
            except (OSError, http.client.HTTPException):
                status, replica, answer = None, None, None
                self.connection = None
            # Without this header the answer comes from haproxy.
            if replica is not None:
                self.times.append(time.monotonic() - begun)
                self.answered[replica] += 1
                return status, json.loads(answer)
            if time.monotonic() > deadline:
                raise TimeoutError(f"{method} {path}: {status}")
            self.sent_again += 1

    def exchange(self, method, path, body):
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, PATIENCE)
        headers = {"content-type": "application/json"}
        if self.token:
            headers["authorization"] = f"Bearer {self.token}"
        self.connection.request(method, path, body and json.dumps(body), headers)
        response = self.connection.getresponse()
        return response.status, response.getheader("x-replica"), response.read()

    def tool(self, name, arguments):
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        call["params"] = {"name": name, "arguments": arguments}
        status, answer = self.ask("POST", "/mcp/v1", call)
        if status != 200 or "result" not in answer:
            raise AssertionError(f"{name}: {status} {answer}")
        return answer["result"]["content"][0]["text"]

    def log_in(self):
        arguments = {"username": f"user{self.number}", "password": PASSWORD}
        self.token = json.loads(self.tool("authenticate_user", arguments))["session_token"]

    def expect(self, what, found, expected):
        if found != expected:
            self.faults.append(f"{what}: {found!r} and not {expected!r}")

    def turn(self):
        name = NAMES[(self.number + self.turns) % len(NAMES)]
        status, answer = self.ask("POST", "/api/databases/select", {"name": name})
        self.expect("select", status, 200)
        status, answer = self.ask("GET", "/api/databases")
        self.expect("the selection", (status, answer.get("current")), (200, name))
        text = self.tool("query_database", {"query": "SELECT 1 AS n"})
        self.expect("the database used", text.split("\n")[0], f"Database: {name}")
        said = f"turn {self.turns} of user {self.number}"
        body = {"messages": [{"role": "user", "content": said}]}
        status, made = self.ask("POST", "/api/conversations", body)
        self.expect("keeping", status, 201)
        status, found = self.ask("GET", f"/api/conversations/{made['id']}")
        self.expect("reading", (status, found), (200, made))
        self.kept[made["id"]] = said
        self.turns += 1

    def run(self):
        try:
            while not self.stop.is_set():
                self.turn()
        except Exception as error:
            self.faults.append(repr(error))


def restart(stack, folder, url, replicas):
    """Restarts the replicas one after another, as a deployment does."""
    for number, (child, port) in enumerate(replicas):
        child.terminate()
        child.wait(PATIENCE)
        replicas[number] = replica(stack, folder / f"again{number}", url, port)


def main():
    rolls = "--rolling" in sys.argv
    numbers = [word for word in sys.argv[1:] if word != "--rolling"]
    seconds = float(numbers[0]) if numbers else 10.0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = stack.enter_context(database(folder))
        replicas = [replica(stack, folder / f"replica{n}", url) for n in range(REPLICAS)]
        port = balancer(stack, folder, [port for _, port in replicas])
        stop = threading.Event()
        clients = [Client(number, port, stop) for number in range(CLIENTS)]
        for client in clients:
            client.log_in()
        threads = [threading.Thread(target=client.run) for client in clients]
        begun = time.monotonic()
        for thread in threads:
            thread.start()
        time.sleep(seconds / 2)
        if rolls:
            restart(stack, folder, url, replicas)
        else:
            replicas[1][0].kill()
        time.sleep(seconds / 2)
        stop.set()
        for thread in threads:
            thread.join()
        took = time.monotonic() - begun

        for client in clients:
            for name, said in client.kept.items():
                status, found = client.ask("GET", f"/api/conversations/{name}")
                content = status == 200 and found["messages"][0]["content"]
                client.expect("what was kept", content, said)
        report(clients, took, rolls)


def report(clients, took, rolls):
    times = sorted(time for client in clients for time in client.times)
    answered = sum((client.answered for client in clients), Counter())
    kept = sum(len(client.kept) for client in clients)
    again = sum(client.sent_again for client in clients)
    at = lambda part: f"{1000 * times[int((len(times) - 1) * part)]:.1f} ms"
    shares = ", ".join(f"{name} {count}" for name, count in sorted(answered.items()))
    turns = sum(client.turns for client in clients)
    print(f"{turns} turns of five requests in {took:.1f} s: {5 * turns / took:.0f} requests/s")
    print(f"answered by {shares}; {'all were restarted' if rolls else 'the second was killed'} in the middle")
    print(f"p50 {at(0.5)}, p99 {at(0.99)}, longest {at(1)}; {again} sent again")
    print(f"{len(clients)} logins, and none after that; {kept} conversations kept and found")
    faults = [fault for client in clients for fault in client.faults]
    if rolls and again:
        faults.append(f"{again} requests were sent again")
    if faults:
        sys.exit("\n".join(faults[:20] + [f"{len(faults)} faults"]))


if __name__ == "__main__":
    main()
