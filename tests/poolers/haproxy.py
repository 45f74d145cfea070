"""haproxy in front of two replicas, which it probes for readiness."""

import http.client
import os
import signal
import socket
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from callers import Caller, entry, free_port, wait_for_port, write_configuration
from processes import PATIENCE, database, listening, running
from tcp_proxy import TcpProxy

HOST = "tools.example.com"
# The server checks a database every ten seconds.
NOTICED_WITHIN = 25


def haproxy(stack, folder, ports):
    """Starts haproxy with a frontend for each of the two readiness paths; returns the ports."""
    frontends = {"ready": free_port(), "health": free_port()}
    servers = "\n".join(
        f"    server replica{number} 127.0.0.1:{port} check inter 200ms fall 2 rise 2"
        for number, port in enumerate(ports)
    )
    # Without a Host header, the default of this directive.
    sections = "".join(
        f"frontend {path}\n    bind 127.0.0.1:{port}\n    default_backend {path}\n"
        f"backend {path}\n    balance roundrobin\n    option httpchk GET /{path}\n"
        f"    http-response set-header x-replica %s\n{servers}\n"
        for path, port in frontends.items()
    )
    config = folder / "haproxy.cfg"
    config.write_text(
        "defaults\n    mode http\n    timeout connect 1s\n    timeout client 30s\n"
        f"    timeout server 30s\n    option redispatch\n    retries 3\n{sections}"
    )
    log = stack.enter_context(open(folder / "haproxy.log", "wb"))
    stack.enter_context(running(["haproxy", "-db", "-f", config], stdout=log, stderr=log))
    for port in frontends.values():
        wait_for_port(port)
    return frontends


def answering(port, count=20):
    """The replicas that answer a number of requests, with the statuses."""
    found = Counter()
    for _ in range(count):
        connection = http.client.HTTPConnection(f"127.0.0.1:{port}", timeout=PATIENCE)
        connection.request("GET", "/health", headers={"Host": HOST})
        response = connection.getresponse()
        response.read()
        found[response.getheader("x-replica") or f"haproxy {response.status}"] += 1
        connection.close()
    return found


def wait_for(port, replicas, what):
    """Waits until all requests go to these replicas; returns the time."""
    begun = time.monotonic()
    while set(found := answering(port)) != replicas:
        if time.monotonic() - begun > NOTICED_WITHIN:
            sys.exit(f"FAILED {what}: answers come from {dict(found)}, not {sorted(replicas)}")
        time.sleep(0.1)
    return time.monotonic() - begun


def probe(port, path, version, headers):
    """Sends a handwritten request; returns the status."""
    lines = [f"GET {path} HTTP/{version}", *headers, "Connection: close", "", ""]
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        connection.settimeout(PATIENCE)
        connection.sendall("\r\n".join(lines).encode())
        with connection.makefile("rb") as file:
            return int(file.readline().split()[1])


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    begun = time.monotonic()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        variables = stack.enter_context(database(os.environ["POOLERS_DATABASE"]))
        proxies, ports = [], []
        for number in range(2):
            home = folder / f"replica{number}"
            home.mkdir()
            proxy = TcpProxy(variables["PGHOST"], int(variables["PGPORT"]))
            proxies.append(proxy)
            shop = entry("shop", variables | {"PGPORT": str(proxy.port)})
            web = {"enabled": True, "address": "127.0.0.1:0", "allowed_hosts": [HOST]}
            arguments = write_configuration(home, databases=[shop], http=web)
            command = [os.environ["POOLERS_PROGRAM"], "-no-auth", *arguments]
            environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
            server = listening(command, environment, folder / f"replica{number}.log")
            address, _ = stack.enter_context(server)
            ports.append(int(address.rsplit(":", 1)[1]))

        both = {"replica0", "replica1"}
        frontends = haproxy(stack, folder, ports)
        for name, port in frontends.items():
            wait_for(port, both, f"asked at /{name} by address")
        for path in ("/health", "/ready"):
            for version, headers in [
                ("1.0", []),
                ("1.1", [f"Host: 127.0.0.1:{ports[0]}"]),
                ("1.1", ["Host: 10.0.0.7"]),
                ("1.1", [f"Host: {HOST}"]),
            ]:
                status = probe(ports[0], path, version, headers)
                if status != 200:
                    sys.exit(f"FAILED a probe of {path} with {headers or 'no host'}: {status}")
        status = probe(ports[0], "/api/databases", "1.1", ["Host: 10.0.0.7"])
        if status != 403:
            sys.exit(f"FAILED another path by another name: {status} and not 403")

        proxies[1].vanish()
        gone = wait_for(frontends["ready"], {"replica0"}, "a database that is gone")
        if set(found := answering(frontends["health"])) != both:
            sys.exit(f"FAILED /health follows the database: {dict(found)}")
        for _ in range(5):
            client = Caller(f"127.0.0.1:{frontends['ready']}", host=HOST)
            answer = client.query("SELECT 'served' AS mark")
            if answer.is_error or "served" not in answer.text:
                sys.exit(f"FAILED a call while one replica has no database: {answer.said()}")
        proxies[1].appear()
        back = wait_for(frontends["ready"], both, "a database that is back")
    print(
        f"haproxy: 2 replicas, probes by address are 200; a replica without its database was "
        f"left out after {gone:.1f} s and back after {back:.1f} s; "
        f"{time.monotonic() - begun:.1f} s"
    )


if __name__ == "__main__":
    main()
