#!/usr/bin/env python3
"""Compares two builds of ziggurat-tools in turns, with everything optional off.

Usage: turns.py [--pairs 20] [--seconds 2] BEFORE AFTER DATABASE-URL

Both builds serve the same database without authentication; wrk (a package of Debian) asks each in
turn, with 16 connections. The writes add rows to a table, which is dropped at the end. Prints for
each call the median over the pairs of the rate of AFTER divided by the rate of BEFORE, and the same
for the processor time of the server for one call.
"""
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import tempfile
import urllib.parse
import urllib.request

CONFIGURATION = """\
databases:
- {{name: bench, host: "{host}", port: {port}, user: "{user}", password: "{password}", database: "{database}", sslmode: disable, pool_max_conns: 4, allow_writes: {writes}}}
http: {{enabled: true, auth: {{enabled: false}}}}
"""


def statement(text):
    return "tools/call", {"name": "query_database", "arguments": {"query": text}}


READS = {
    "select 1": statement("SELECT 1"),
    "100 rows": statement(
        "SELECT i AS id, 'name ' || i AS name, i * 1.5 AS price FROM generate_series(1, 100) AS i"),
    "tools/list": ("tools/list", {}),
}
WRITES = {"a write": statement("INSERT INTO ziggurat_turns DEFAULT VALUES")}
BEGIN = statement("CREATE TABLE IF NOT EXISTS ziggurat_turns (id bigserial PRIMARY KEY)")
END = statement("DROP TABLE ziggurat_turns")
SCRIPT = """\
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Accept"] = "application/json, text/event-stream"
wrk.body = [==[{body}]==]
"""


class Server:
    def __init__(self, program, url, folder, writes):
        folder.mkdir()
        path = folder / "ziggurat-tools.yaml"
        at = urllib.parse.urlsplit(url)
        path.write_text(CONFIGURATION.format(
            host=at.hostname, port=at.port or 5432, user=at.username, password=at.password or "",
            database=at.path[1:], writes=json.dumps(writes)))
        path.chmod(0o600)
        command = [pathlib.Path(program).resolve(), "-http", "-addr", "127.0.0.1:0", "-config", str(path)]
        self.child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=folder)
        log = []
        for line in self.child.stderr:
            log.append(line)
            found = re.search(r"listening on (?:http://)?(127\.0\.0\.1:\d+)", line)
            if found:
                self.address = found[1]
                return
        raise SystemExit("".join(log))

    def processor_time(self):
        """Nanoseconds that all threads have run."""
        tasks = pathlib.Path(f"/proc/{self.child.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)

    def call(self, call):
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        request = urllib.request.Request(f"http://{self.address}/mcp/v1", body_of(call).encode(), headers)
        said = json.load(urllib.request.urlopen(request, timeout=60))
        if "error" in said or said["result"].get("isError"):
            raise SystemExit(said)

    def load(self, script, seconds):
        """The rate, and the processor time of a call in microseconds."""
        before = self.processor_time()
        command = ["wrk", "-t1", "-c16", f"-d{seconds}", "-s", script, f"http://{self.address}/mcp/v1"]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        if "Non-2xx" in said or "Socket errors" in said:
            raise SystemExit(said)
        calls = int(re.search(r"(\d+) requests in", said)[1])
        rate = float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1])
        return rate, (self.processor_time() - before) / calls / 1000


def body_of(call):
    method, params = call
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--pairs", type=int, default=20)
    arguments.add_argument("--seconds", type=int, default=2)
    arguments.add_argument("before")
    arguments.add_argument("after")
    arguments.add_argument("url")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for calls, writes in [(READS, False), (WRITES, True)]:
            programs = [options.before, options.after]
            servers = [Server(one, options.url, folder / f"{writes}{at}", writes) for at, one in enumerate(programs)]
            try:
                if writes:
                    servers[0].call(BEGIN)
                for name, call in calls.items():
                    compare(name, call, servers, folder / "call.lua", options)
                if writes:
                    servers[0].call(END)
            finally:
                for server in servers:
                    server.child.kill()


def compare(name, call, servers, script, options):
    script.write_text(SCRIPT.format(body=body_of(call)))
    for server in servers:
        server.call(call)
        server.load(script, 1)
    pairs = []
    for turn in range(options.pairs):
        order = (0, 1) if turn % 2 == 0 else (1, 0)
        measured = {which: servers[which].load(script, options.seconds) for which in order}
        pairs.append((measured[0], measured[1]))
    rate = statistics.median(after[0] / before[0] for before, after in pairs)
    time = statistics.median(after[1] / before[1] for before, after in pairs)
    usual = statistics.median(before[1] for before, _ in pairs)
    rates = statistics.median(before[0] for before, _ in pairs)
    print(f"{name:12} rate {rate:.3f} (of {rates:,.0f}/s)  processor time {time:.3f} (of {usual:.1f} µs)", flush=True)


if __name__ == "__main__":
    main()
