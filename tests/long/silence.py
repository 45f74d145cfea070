"""A PostgreSQL that does not respond: stopped, or behind a network that forwards nothing.

`bash tests/long/run silence`: calls of ziggurat-tools, ziggurat-rag and ziggurat-platform are made
while it is silent, and some were running before. Each ends within `query_timeout` plus 6 s, and
when it responds again, all programs work within a second.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

from another_program import connect
from callers import Caller, entry, free_port, write_configuration, write_tokens
from faults import Faults
from processes import PATIENCE, database, listening
from tcp_proxy import TcpProxy

TENTH = "--tenth" in sys.argv
EACH = 1 if TENTH else 10
QUERY_TIMEOUT = 4
BOUND = QUERY_TIMEOUT + 6
WELL_WITHIN = 1.0
# Long enough to measure by how much a bound was missed.
PATIENT = 3 * BOUND

TABLE = """
CREATE TABLE documents (id int PRIMARY KEY, content text, embedding vector(256));
INSERT INTO documents SELECT n, 'Wool is washed in cold water, the ' || n || 'th time.',
    array_fill(n / 100.0, ARRAY[256])::vector FROM generate_series(1, 20) n;
CREATE TABLE orders (id int PRIMARY KEY, placed timestamptz);
"""


class Frozen:
    """Stops all processes of PostgreSQL."""

    name = "frozen"

    def __init__(self, folder):
        file = folder / "postgresql/data/postmaster.pid"
        self.postmaster = int(file.read_text().splitlines()[0])

    def children(self):
        """The child processes of the postmaster."""
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                # The name, in parentheses, may contain any character.
                parent = stat.read_text().rsplit(")", 1)[1].split()[1]
            except OSError:
                continue
            if int(parent) == self.postmaster:
                yield int(stat.parent.name)

    def begin(self):
        # Once it is stopped, it starts no more children.
        os.kill(self.postmaster, signal.SIGSTOP)
        for child in self.children():
            os.kill(child, signal.SIGSTOP)

    def end(self):
        for process in [*self.children(), self.postmaster]:
            os.kill(process, signal.SIGCONT)


class Silent:
    """A network that keeps connections open and forwards nothing."""

    name = "behind a silent network"

    def __init__(self, proxy):
        self.begin, self.end = proxy.silence, proxy.resume


def start_tools(stack, folder, variables, tokens, **more):
    """Starts ziggurat-tools; returns its address."""
    folder.mkdir()
    write_tokens(folder / "tokens.yaml", tokens)
    times = {"query_timeout": f"{QUERY_TIMEOUT}s", "connect_timeout": "5s"}
    arguments = write_configuration(folder, databases=[entry("shop", variables, **times)], **more)
    command = [os.environ["LONG_TOOLS"], "-http", "-addr", "127.0.0.1:0", *arguments]
    return start(stack, folder, command)


def start_rag(stack, folder, variables):
    """Starts ziggurat-rag with two pipelines, one of them by keywords only; returns its address."""
    folder.mkdir()
    access = entry("docs", variables, statement_timeout=f"{QUERY_TIMEOUT}s")
    access["username"] = access.pop("user")
    del access["name"]
    table = {"table": "documents", "text_column": "content", "id_column": "id"}
    pipeline = {
        "name": "docs",
        "database": access,
        "tables": [table | {"vector_column": "embedding"}],
        "embedding_llm": {"provider": "local"},
        "rag_llm": {"provider": "local"},
    }
    server = {"listen_address": "127.0.0.1", "port": free_port()}
    file = folder / "ziggurat-rag.yaml"
    file.write_text(json.dumps({"server": server, "pipelines": [pipeline]}))
    return start(stack, folder, [os.environ["LONG_RAG"], "-config", file])


def start_platform(stack, folder, url):
    """Starts ziggurat-platform on PostgreSQL; returns its address and a client's credentials."""
    folder.mkdir()
    file = folder / "ziggurat-platform.yaml"
    server = {"address": "127.0.0.1:0"}
    file.write_text(json.dumps({"server": server, "data_dir": str(folder), "state": {"url": url}}))
    file.chmod(0o600)
    command = [os.environ["LONG_PLATFORM"], "-config", file]
    out = folder / "first.json"
    init = [*command, "init", "-out", out]
    subprocess.run(init, check=True, capture_output=True, timeout=PATIENCE)
    return start(stack, folder, command), json.loads(out.read_text())


def start(stack, folder, command):
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    return stack.enter_context(listening(command, environment, folder / "log"))[0]


class Programs:
    """The programs, and calls of them."""

    def __init__(self, stack, folder, variables, url):
        # Some tokens make their first call while PostgreSQL is silent.
        self.tokens = [f"token-of-caller-{number}" for number in range(2 + 4 * EACH)]
        self.tools = start_tools(stack, folder / "tools", variables, len(self.tokens))
        self.replica = start_tools(
            stack, folder / "replica", variables, len(self.tokens), state={"url": url}
        )
        self.rag = start_rag(stack, folder / "rag", variables)
        self.platform, first = start_platform(stack, folder / "platform", url)
        secrets = {"client_id": first["client_id"], "client_secret": first["client_secret"]}
        self.exchange = (self.platform, "POST", "/account/v1/oauth/token", secrets)
        token = json.loads(self.ask(*self.exchange).text)["access_token"]
        self.clients = (self.platform, "GET", "/account/v1/clients", None, token)

    def ask(self, address, method, path, body=None, token=None):
        return Caller(address, token).ask(method, path, body, patience=PATIENT)

    def tool(self, address, token, name, arguments, modern=True):
        return Caller(address, token, modern).call(name, arguments, patience=PATIENT)

    def calls(self, fresh):
        """Calls of every kind by name, including the first calls of some tokens."""
        first = self.tokens[0]
        question = {"query": "How is wool washed?"}
        for name, address in [("tools", self.tools), ("tools with state", self.replica)]:
            query = {"query": "SELECT 'well' AS mark"}
            # Over existing connections, and over new ones.
            for token in [first, *fresh]:
                yield f"{name}: query", self.tool, (address, token, "query_database", query)
            yield f"{name}: query, /mcp/v1", self.tool, (
                address,
                first,
                "query_database",
                query,
                False,
            )
            plan = {"query": "SELECT count(*) FROM orders"}
            yield f"{name}: plan", self.tool, (address, first, "execute_explain", plan)
            yield f"{name}: schema", self.tool, (address, first, "get_schema_info", {})
            yield f"{name}: count", self.tool, (address, first, "count_rows", {"table": "orders"})
            info = {"uri": "pg://system_info"}
            yield f"{name}: resource", self.tool, (address, first, "read_resource", info)
            yield f"{name}: databases", self.ask, (address, "GET", "/api/databases", None, first)
            choice = {"name": "shop"}
            select = (address, "POST", "/api/databases/select", choice, first)
            yield f"{name}: select", self.ask, select
            yield f"{name}: ready", self.ask, (address, "GET", "/ready")
        yield "rag: question", self.ask, (self.rag, "POST", "/v1/pipelines/docs", question)
        stream = question | {"stream": True}
        yield "rag: stream", self.ask, (self.rag, "POST", "/v1/pipelines/docs", stream)
        yield "rag: health", self.ask, (self.rag, "GET", "/v1/health")
        yield "rag: ready", self.ask, (self.rag, "GET", "/ready")
        yield "platform: token", self.ask, self.exchange
        yield "platform: clients", self.ask, self.clients
        yield "platform: ready", self.ask, (self.platform, "GET", "/ready")

    def well(self):
        """A call of each program that must succeed afterwards, by name."""
        query = {"query": "SELECT 'well' AS mark"}
        for name, address in [("tools", self.tools), ("tools with state", self.replica)]:
            for token in self.tokens[:2]:
                yield f"{name}: query", self.tool, (address, token, "query_database", query)
        question = {"query": "How is wool washed?"}
        yield "rag: question", self.ask, (self.rag, "POST", "/v1/pipelines/docs", question)
        yield "platform: token", self.ask, self.exchange
        yield "platform: clients", self.ask, self.clients


@contextmanager
def silent(how):
    how.begin()
    try:
        yield
    finally:
        how.end()


def timed(call, arguments, times, name, faults):
    """Makes a call, which must end within the bound with any answer."""
    begun = time.monotonic()
    try:
        answer = call(*arguments)
        said = answer.said()
    except (OSError, ValueError) as error:
        answer, said = None, repr(error)
    took = time.monotonic() - begun
    times.append((took, name, said))
    if answer is None:
        faults.add(f"{name}: a call without an answer", f"{said} after {took:.1f} s")
    elif took > BOUND:
        faults.add(f"{name}: an answer after more than {BOUND} s", said)


def wait_until_well(call, arguments, name, since, times, faults):
    """Repeats a call until it succeeds; records the time since PostgreSQL responded again."""
    while True:
        try:
            answer = call(*arguments)
            is_well, said = answer.status == 200 and not answer.is_error, answer.said()
        except (OSError, ValueError) as error:
            is_well, said = False, repr(error)
        took = time.monotonic() - since
        if is_well:
            times.append((took, name, ""))
            if took > WELL_WITHIN:
                faults.add(f"{name}: not well within {WELL_WITHIN} s", f"{took:.2f} s")
            return
        if took > BOUND:
            faults.add(f"{name}: not well again", said)
            return
        time.sleep(0.02)


def together(jobs):
    threads = [threading.Thread(target=job[0], args=job[1:]) for job in jobs]
    for thread in threads:
        thread.start()
    return threads


def attempt(programs, how, fresh, faults):
    """Makes calls while PostgreSQL is silent, and afterwards."""
    name, times = how.name, []
    before = []
    together_well = [
        (
            wait_until_well,
            call,
            arguments,
            f"{name}, before: {what}",
            time.monotonic(),
            before,
            faults,
        )
        for what, call, arguments in programs.well()
    ]
    # Two rounds, so that one-time costs are not measured.
    for thread in together(together_well):
        thread.join()
    sleep = {"query": "SELECT pg_sleep(2)"}
    under_way = [
        (
            timed,
            programs.tool,
            (address, programs.tokens[1], "query_database", sleep),
            times,
            f"{name}: {what}: under way",
            faults,
        )
        for what, address in [("tools", programs.tools), ("tools with state", programs.replica)]
        for _ in range(2)
    ]
    threads = together(under_way)
    time.sleep(0.5)
    with silent(how):
        jobs = [
            (timed, call, arguments, times, f"{name}: {what}", faults)
            for what, call, arguments in programs.calls(fresh)
            for _ in range(EACH)
        ]
        for thread in threads + together(jobs):
            thread.join()
    since, after = time.monotonic(), []
    well = [
        (wait_until_well, call, arguments, f"{name}: {what}", since, after, faults)
        for what, call, arguments in programs.well()
    ]
    for thread in together(well):
        thread.join()
    longest, what, said = max(times)
    print(f"PostgreSQL {name}: {len(times)} calls, the longest {longest:.1f} s: {what}: {said}")
    if after:
        longest, what, _ = max(after)
        print(f"    all well {longest:.2f} s after it spoke again, the last {what}")
    if os.environ.get("LONG_VERBOSE"):
        for took, what, said in sorted(times):
            print(f"    {took:5.1f} s {what}: {said}")


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    faults = Faults()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o711)
        variables = stack.enter_context(database(os.environ["LONG_DATABASE"], folder))
        with connect(variables) as direct:
            direct.execute(TABLE)
        proxy = TcpProxy(variables["PGHOST"], int(variables["PGPORT"]))
        variables = variables | {"PGPORT": str(proxy.port)}
        url = "postgres://{PGUSER}:{PGPASSWORD}@{PGHOST}:{PGPORT}/{PGDATABASE}"
        programs = Programs(stack, folder, variables, url.format(**variables))
        half = len(programs.tokens) // 2
        attempt(programs, Frozen(folder), programs.tokens[2 : 2 + half], faults)
        attempt(programs, Silent(proxy), programs.tokens[2 + half :], faults)
    faults.end()


if __name__ == "__main__":
    main()
