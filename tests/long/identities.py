"""Calls of many identities in turn, of which none ever sees the rows of another.

`bash tests/long/run identities`: 1,000,000 calls of 50 tenants, each with a role and a setting of its
own, on 90 connections of a server. Each answer is the one line of its tenant. Between them are calls
that fail, and calls of clients that give up.
"""

import json
import multiprocessing
import os
import random
import signal
import socket
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from callers import MODERN, PREFIX, write_configuration
from faults import Faults
from processes import database, listening
from tenants import WHO, tenants

TENTH = "--tenth" in sys.argv
# A tenth would take minutes with a debug build; it takes a fiftieth.
CALLS = 20_000 if TENTH else 1_000_000
TENANTS = 50
# Clients, and connections of each: it sends a call on all of them before it reads the answers.
CLIENTS, SOCKETS = 3, 8
# One of so many calls fails, and one gives up.
FAILS, GIVES_UP = 40, 400
PATIENCE = 0.05
FAILING = "SELECT 1 / 0"


def request(token, statement):
    """The bytes of a call in the revision in which a disconnect cancels it."""
    params = {"name": "query_database", "arguments": {"query": statement}}
    params["_meta"] = {PREFIX + "protocolVersion": MODERN, PREFIX + "clientCapabilities": {}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
        f"MCP-Protocol-Version: {MODERN}\r\nMcp-Method: tools/call\r\n"
        f"Mcp-Name: query_database\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return (head + body).encode()


def answer(stream):
    """Reads the body of one answer on a connection that stays open."""
    received = b""
    while (end := received.find(b"\r\n\r\n")) < 0:
        received += part(stream)
    head, body = received[:end].lower(), received[end + 4 :]
    length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
    while len(body) < length:
        body += part(stream)
    return body


def part(stream):
    received = stream.recv(65536)
    if not received:
        raise ConnectionError("the server closed the connection")
    return received


class Client:
    """Calls of random tenants on connections that stay open, whoever calls."""

    def __init__(self, address, made, seed):
        host, port = address.removeprefix("http://").split(":")
        self.place, self.made = (host, int(port)), made
        self.faults, self.chance = Faults(), random.Random(seed)
        self.asking = [request(token, WHO) for token in made.tokens]
        self.failing = [request(token, FAILING) for token in made.tokens]
        slow = f"{WHO}, pg_sleep(5)"
        self.slow = [request(token, slow) for token in made.tokens]
        # The answer to each tenant, which never changes.
        self.known = [None] * len(made.tokens)
        # It gives up as tenants of its own only: one connection of each tenant stays free.
        self.own = range(seed, len(made.tokens), CLIENTS)
        self.leaving = []

    def connect(self):
        stream = socket.create_connection(self.place, 120)
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return stream

    def check(self, number, fails, body):
        """Checks an answer; the second of a tenant is not read again if it is equal."""
        if not fails and body == self.known[number]:
            return
        result = json.loads(body)["result"]
        if fails:
            self.faults.expect("an error", result.get("isError"), True)
            return
        line = result["content"][0]["text"].splitlines()[-1]
        self.faults.expect("an answer", line, self.made.who(number))
        if line == self.made.who(number):
            self.known[number] = body

    def give_up(self):
        number = self.chance.choice(self.own)
        if any(number == other for _, other, _ in self.leaving):
            return
        stream = self.connect()
        stream.sendall(self.slow[number])
        self.leaving.append((time.monotonic() + PATIENCE, number, stream))

    def leave(self):
        """Hangs up where the time has come."""
        while self.leaving and self.leaving[0][0] <= time.monotonic():
            *_, stream = self.leaving.pop(0)
            stream.setblocking(False)
            try:
                self.faults.add("a client that gives up", repr(stream.recv(200)))
            except BlockingIOError:
                pass
            stream.close()

    def run(self, calls):
        streams = [self.connect() for _ in range(SOCKETS)]
        for turn in range(calls // SOCKETS):
            sent = []
            for at, stream in enumerate(streams):
                number = self.chance.randrange(len(self.asking))
                fails = (turn * SOCKETS + at) % FAILS == 0
                stream.sendall((self.failing if fails else self.asking)[number])
                sent.append((number, fails))
            for stream, (number, fails) in zip(streams, sent):
                self.check(number, fails, answer(stream))
            if turn % (GIVES_UP // SOCKETS) == 0:
                self.give_up()
            self.leave()
        time.sleep(PATIENCE)
        self.leave()
        return self.faults.kinds


def run(address, made, seed, calls):
    client = Client(address, made, seed)
    client.faults.watch(client.run, calls)
    return client.faults.kinds


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    faults = Faults()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        variables = stack.enter_context(database(os.environ["LONG_DATABASE"]))
        made = stack.enter_context(tenants(variables, TENANTS))
        made.write_tokens(folder / "tokens.yaml")
        shop = made.entry("shop", made.login, max_total_connections=90, pool_max_conns=2)
        arguments = write_configuration(folder, databases=[shop])
        program = [os.environ["LONG_TOOLS"], "-http", "-addr", "127.0.0.1:0", *arguments]
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        address, _ = stack.enter_context(listening(program, environment, folder / "log"))
        begun = time.monotonic()
        with multiprocessing.get_context("spawn").Pool(CLIENTS) as pool:
            parts = [(address, made, seed, CALLS // CLIENTS) for seed in range(CLIENTS)]
            for kinds in pool.starmap(run, parts):
                for kind, found in kinds.items():
                    faults.kinds.setdefault(kind, []).extend(found)
        took = time.monotonic() - begun
    print(f"{CALLS} calls of {TENANTS} identities in {took:.0f} s, {CALLS / took:.0f} a second")
    faults.end()


if __name__ == "__main__":
    main()
