"""Many sign-ins with a browser, and a server that is killed in the middle of them.

`bash tests/long/run sign_ins`: ten people sign in 10,000 times. Memory and the rows of their grants
and sessions stay bounded, and no secret of the run is in the log or in the audit trail. Then the server is killed at 1,000 moments while clients exchange codes, refresh
and revoke: no code is good twice, and no token works after the server said that its grant has ended.
"""

import base64
import hashlib
import json
import os
import random
import secrets
import signal
import sqlite3
import sys
import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

from callers import Caller, entry, free_port, write_configuration, write_tokens
from faults import Faults
from processes import database, listening, peak_memory
from sign_in_server import PERSON, Browser

TOOLS = os.environ["LONG_TOOLS"]
IS_PART = "--tenth" in sys.argv
SIGN_INS = 600 if IS_PART else 10_000
KILLS = 25 if IS_PART else 1000
WARM = 100
# Growth of memory from the first hundred sign-ins to the last, in KiB.
MORE_MEMORY = 48 << 10
# Rows of one person with one client, and of one person.
MOST_GRANTS, MOST_SESSIONS = 50, 50
PEOPLE = [f"person-{number}" for number in range(10)]
# Its hash is cheap, so that the sign-ins are more work than the passwords.
ACCOUNT = {
    "password_hash": "$2b$04$UzETGPsISqLz.lJLQkg.HOQGICuVZCfRhuix9IGa1DzcsOyWGHLIu",
    "created_at": "2026-01-01T00:00:00Z",
}
REDIRECT = "http://127.0.0.1:9/callback"


class Visitor(Browser):
    """A browser at an address of its own, behind a proxy."""

    def __init__(self):
        super().__init__()
        self.person = PERSON | {"name": random.choice(PEOPLE)}
        self.address = ".".join(str(random.randint(1, 250)) for _ in range(4))

    def send(self, address, body=None, headers=None, method=None):
        headers = {"X-Forwarded-For": self.address} | (headers or {})
        return super().send(address, body, headers, method)

    def post(self, address, **fields):
        return self.send(address, urlencode(fields).encode())


class Program:
    """A client that a person connects again and again."""

    def __init__(self, base, name):
        self.base = base
        metadata = {"client_name": name, "redirect_uris": [REDIRECT]}
        body = json.dumps(metadata).encode()
        answer = Visitor().send(f"{base}/oauth/register", body)
        self.id = answer.json()["client_id"]

    def code(self, visitor):
        """Signs the person in; returns a code, its verifier and what else is secret of it."""
        verifier = secrets.token_urlsafe(40)
        digest = hashlib.sha256(verifier.encode()).digest()
        state = secrets.token_urlsafe(16)
        query = {
            "response_type": "code",
            "client_id": self.id,
            "redirect_uri": REDIRECT,
            "state": state,
            "code_challenge": base64.urlsafe_b64encode(digest).decode().rstrip("="),
            "code_challenge_method": "S256",
            "scope": "mcp offline_access",
        }
        end = visitor.allow(f"{self.base}/oauth/authorize?{urlencode(query)}")
        code = parse_qs(urlsplit(end).query)["code"][0]
        return code, verifier, state

    def token(self, visitor, **fields):
        return visitor.post(f"{self.base}/oauth/token", client_id=self.id, **fields)

    def exchange(self, visitor, code, verifier):
        return self.token(
            visitor,
            grant_type="authorization_code",
            code=code,
            code_verifier=verifier,
            redirect_uri=REDIRECT,
        )

    def refresh(self, visitor, token):
        return self.token(visitor, grant_type="refresh_token", refresh_token=token)

    def revoke(self, visitor, token):
        return visitor.post(f"{self.base}/oauth/revoke", client_id=self.id, token=token)


def works(base, token):
    """Whether a token opens the server."""
    address = urlsplit(base).netloc
    return Caller(address, token).ask("GET", "/api/user/info").status == 200


def most(folder, rows):
    """The number of rows of the person who has the most."""
    query = f"SELECT count(*) FROM {rows} GROUP BY person ORDER BY 1 DESC"
    with sqlite3.connect(folder / "data/sign-in.db") as store:
        return store.execute(query).fetchone()[0]


def sign_in_often(faults, base, process, folder):
    """Signs people in many times; returns the secrets that were in use."""
    program, used = Program(base, "Often"), [PERSON["password"]]
    lock, todo, first = threading.Lock(), iter(range(SIGN_INS)), []

    def sign_in():
        while True:
            with lock:
                at = next(todo, None)
            if at is None:
                return
            visitor = Visitor()
            code, verifier, state = program.code(visitor)
            answer = program.exchange(visitor, code, verifier)
            if answer.status != 200:
                faults.add("an exchange", repr(answer))
                continue
            tokens = answer.json()
            faults.expect("a token of a sign-in", works(base, tokens["access_token"]), True)
            with lock:
                used.extend([code, verifier, state, tokens["access_token"], tokens["refresh_token"]])
                if at == WARM:
                    first.append(peak_memory(process))

    threads = [threading.Thread(target=faults.watch, args=[sign_in]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    more = peak_memory(process) - first[0]
    grants = most(folder, "oauth_grants WHERE ended_at IS NULL")
    sessions = most(folder, "oauth_sessions")
    print(f"{SIGN_INS} sign-ins: {more} KiB more, a person has {grants} grants, {sessions} sessions")
    if more > MORE_MEMORY:
        faults.add("memory", f"{more} KiB more")
    for what, rows, bound in [("grants", grants, MOST_GRANTS), ("sessions", sessions, MOST_SESSIONS)]:
        if not 0 < rows <= bound:
            faults.add(what, f"{rows} rows")
    return used


class Client(threading.Thread):
    """A program in use while its server dies, which keeps what the server said."""

    def __init__(self, faults, program, stopping):
        super().__init__()
        self.faults, self.program, self.stopping = faults, program, stopping
        # Codes that were exchanged, tokens of grants that have ended, and of those that have not.
        self.spent, self.ended, self.open = [], [], []

    def run(self):
        while not self.stopping.is_set():
            try:
                self.once()
            except Exception:
                # The server was killed meanwhile, and what it would have said is not known.
                self.stopping.wait(0.02)

    def once(self):
        visitor = Visitor()
        code, verifier, _ = self.program.code(visitor)
        answer = self.program.exchange(visitor, code, verifier)
        if answer.status != 200:
            return
        tokens = answer.json()
        self.spent.append((code, verifier))
        refreshed = self.program.refresh(visitor, tokens["refresh_token"])
        if refreshed.status != 200:
            return
        tokens = refreshed.json()
        if random.random() < 0.5:
            self.open.append(tokens["access_token"])
        elif self.program.revoke(visitor, tokens["refresh_token"]).status == 200:
            self.ended.append((tokens["access_token"], tokens["refresh_token"]))


def kill_often(faults, start, base):
    """Kills the server at many moments, and checks after each what clients were told before."""
    served = start()
    program = Program(base, "Killed")
    told = {"spent": 0, "ended": 0, "open": 0}
    for _ in range(KILLS):
        stopping = threading.Event()
        clients = [Client(faults, program, stopping) for _ in range(2)]
        for client in clients:
            client.start()
        threading.Event().wait(random.uniform(0.05, 0.6))
        served.kill(signal.SIGKILL)
        served = start()
        stopping.set()
        for client in clients:
            client.join()
        for client in clients:
            check(faults, program, client)
            for kind in told:
                told[kind] += len(getattr(client, kind))
    served.kill(signal.SIGTERM)
    print(f"{KILLS} kills: {told}")
    for kind, number in told.items():
        if number < KILLS // 4:
            faults.add("the clients did too little", kind)


def check(faults, program, client):
    visitor = Visitor()
    # Before the codes: a code that comes again ends its grant.
    for token in client.open[-1:]:
        faults.expect("a token of a grant", works(program.base, token), True)
    for access, refresh in client.ended:
        faults.expect("a token after its grant", works(program.base, access), False)
        status = program.refresh(visitor, refresh).status
        faults.expect("a refresh after its grant", status, 400)
    for code, verifier in client.spent:
        status = program.exchange(visitor, code, verifier).status
        faults.expect("a code, twice", status, 400)


class Served:
    """A server that is started again after it was killed."""

    def __init__(self, command, environment, log):
        self.stack = ExitStack()
        started = self.stack.enter_context(listening(command, environment, log))
        self.process = started[1]

    def kill(self, number):
        self.process.send_signal(number)
        self.process.wait(timeout=20)
        # The end was asked for.
        self.stack.pop_all()


def main():
    faults = Faults()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        variables = stack.enter_context(database(os.environ["LONG_DATABASE"]))
        write_tokens(folder / "tokens.yaml", 1)
        (folder / "key").write_text("a key of the audit trail that is long enough")
        (folder / "key").chmod(0o600)
        proxies = {"source": "header", "header": "X-Forwarded-For"}
        proxies |= {"trusted_proxies": ["127.0.0.0/8", "::1/128"]}
        port = free_port()
        base = f"http://localhost:{port}"
        arguments = write_configuration(
            folder,
            databases=[entry("main", variables)],
            audit={"file": str(folder / "audit.jsonl"), "key_file": str(folder / "key")},
            http={
                "enabled": True,
                "address": f"127.0.0.1:{port}",
                "client_ip": proxies,
                "auth": {"oauth": {"enabled": True}},
            },
        )
        environment = {"HOME": str(folder), "ZIGGURAT_LOG": "debug"}
        (folder / "users.yaml").write_text(json.dumps({"users": {name: ACCOUNT | {"username": name} for name in PEOPLE}}))
        command = [TOOLS, "-debug", *arguments]
        with listening(command, environment, folder / "log") as (_, process):
            used = sign_in_often(faults, base, process.pid, folder)
        for name in ["log", "audit.jsonl"]:
            text = (folder / name).read_text()
            found = [secret for secret in used if secret in text]
            print(f"{name}: {len(text)} bytes, {len(found)} of {len(used)} secrets")
            if found or len(text) < 200:
                faults.add(f"secrets in {name}", str(len(found)))
        kill_often(faults, lambda: Served(command, environment, folder / "log"), base)
    faults.end()


if __name__ == "__main__":
    main()
