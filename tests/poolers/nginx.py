"""nginx in front of ziggurat-tools, both configured as in the manual."""

import os
import re
import signal
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from callers import Caller, entry, free_port, wait_for_port, write_configuration, write_tokens
from processes import database, listening, running

MANUAL = Path(__file__).resolve().parents[2] / "docs/src/tools.md"
HOST = "tools.example.com"
ATTEMPTS = 5


def manual():
    """The configurations of the server and of nginx in the manual's section on proxies."""
    section = MANUAL.read_text().split("### Behind a reverse proxy")[1].split("\n### ")[0]
    return [re.search(rf"```{kind}\n(.*?)```", section, re.S)[1] for kind in ("yaml", "nginx")]


def nginx(stack, folder, location):
    """Starts nginx with this location; returns its port."""
    port = free_port()
    folders = "".join(
        f"    {kind}_temp_path {folder}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    config = folder / "nginx.conf"
    config.write_text(
        # A single process, under the account that runs this script.
        f"daemon off;\nmaster_process off;\npid {folder}/nginx.pid;\n"
        f"events {{}}\nhttp {{\n    access_log off;\n{folders}"
        f"    server {{\n        listen 127.0.0.1:{port};\n{location}    }}\n}}\n"
    )
    log = stack.enter_context(open(folder / "nginx.log", "wb"))
    command = ["nginx", "-e", "stderr", "-c", config]
    stack.enter_context(running(command, stdout=log, stderr=log))
    wait_for_port(port)
    return port


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    begun = time.monotonic()
    for_server, location = manual()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        variables = stack.enter_context(database(os.environ["POOLERS_DATABASE"]))
        token = write_tokens(folder / "tokens.yaml", 1)[0]
        arguments = write_configuration(folder, databases=[entry("shop", variables)])
        # The manual's text, except for the port and the limit of failed logins.
        port = free_port()
        for_server = for_server.replace("127.0.0.1:8080", f"127.0.0.1:{port}")
        for_server += f"  auth: {{rate_limit_max_attempts: {ATTEMPTS}}}\n"
        with open(folder / "ziggurat-tools.yaml", "a") as file:
            file.write(for_server)
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        command = [os.environ["POOLERS_PROGRAM"], *arguments]
        stack.enter_context(listening(command, environment, folder / "tools.log"))
        front = nginx(stack, folder, location.replace("127.0.0.1:8080", f"127.0.0.1:{port}"))

        def client(source="127.0.0.1", token=None, modern=False):
            return Caller(f"127.0.0.1:{front}", token, modern, host=HOST, source=source)

        for modern in (False, True):
            answer = client(token=token, modern=modern).query("SELECT 'through' AS mark")
            if answer.is_error or "through" not in answer.text:
                sys.exit(f"FAILED a call through nginx: {answer.said()}")
        answer = client(token="another").query("SELECT 1")
        if answer.status != 401:
            sys.exit(f"FAILED a wrong token through nginx: {answer.said()}")

        def log_in(source, headers=None):
            arguments = {"username": "ann", "password": "wrong horse battery"}
            params = {"name": "authenticate_user", "arguments": arguments}
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            return client(source).ask("POST", "/mcp/v1", body, headers).status

        # Failed logins count per address, and a client cannot forge its address.
        first = [log_in("127.0.0.2") for _ in range(ATTEMPTS + 1)]
        if first != [200] * ATTEMPTS + [429]:
            sys.exit(f"FAILED logins from one address: {first}")
        if (status := log_in("127.0.0.3")) != 200:
            sys.exit(f"FAILED a login from another address: {status}")
        forged = {"X-Real-IP": "127.0.0.4", "X-Forwarded-For": "127.0.0.4"}
        if (status := log_in("127.0.0.2", forged)) != 429:
            sys.exit(f"FAILED a login under a forged address: {status}")
        if (status := log_in("127.0.0.3", {"X-Real-IP": "127.0.0.2"})) != 200:
            sys.exit(f"FAILED a login under the address of a locked one: {status}")
    print(
        "nginx: calls pass, failed logins count for the address of the client; "
        f"{time.monotonic() - begun:.1f} s"
    )


if __name__ == "__main__":
    main()
