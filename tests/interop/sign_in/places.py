"""The servers that clients sign in at: each client has its own, and both have one clock."""

import json
import os
import secrets
import socket
import subprocess
from contextlib import contextmanager

from processes import PATIENCE, listening, running
from sign_in_server import PERSON, Browser, configured, sign_in_server

HERE = os.path.dirname(__file__)
PLATFORM = os.environ["INTEROP_PLATFORM"]
PROGRAM = os.environ["INTEROP_PROGRAM"]
PYTHON_1 = os.environ["INTEROP_PYTHON_1"]
LIFETIME = {"access_lifetime": "5m"}


def clock(folder):
    """The environment of programs with a clock that a file moves."""
    file = folder / "clock"
    file.write_text("+0")
    return {
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_TIMESTAMP_FILE": str(file),
        "LD_PRELOAD": os.environ["INTEROP_FAKETIME"],
    }


@contextmanager
def alone(place, folder, registration, moved):
    """A tool server with a sign-in."""
    oauth = LIFETIME | {"registration": registration, "step_up": True}
    with sign_in_server(PROGRAM, place, folder, oauth, moved) as address:
        yield address, {}


@contextmanager
def with_provider(place, folder, _, moved):
    """A tool server that an identity provider admits people to."""
    secret, signed_in = secrets.token_urlsafe(), secrets.token_urlsafe()
    file = folder / "secret"
    file.write_text(secret)
    file.chmod(0o600)
    acme = {"id": "acme", "name": "Acme", "redirect_uris": ["https://acme.example/callback"]}
    then = {"groups": ["analysts"], "databases": ["shop"], "write": True}
    entry = {"name": "corp", "map": [{"when": {"groups": "db-analysts"}, "then": then}]}
    command = [PYTHON_1, f"{HERE}/identity_provider.py", acme["id"], signed_in]
    pipes = {"stdout": subprocess.PIPE, "text": True}
    with running(command, env=os.environ | moved, **pipes) as provider:
        idp = provider.stdout.readline().strip()
        oauth = {
            "clients": [acme | {"secret_file": str(file)}],
            "identity_assertion": [entry | LIFETIME | {"issuer": idp}],
            "password_login": False,
            "step_up": True,
        }
        with sign_in_server(PROGRAM, place, folder, oauth, moved) as address:
            yield address, {
                "INTEROP_CLIENT_ID": acme["id"],
                "INTEROP_CLIENT_SECRET": secret,
                "INTEROP_IDP": idp,
                "INTEROP_SIGNED_IN": signed_in,
            }


@contextmanager
def behind_platform(place, folder, registration, moved):
    """A tool server that trusts a platform, which people sign in at."""
    # Each of them names the other in its configuration.
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("", 0)) as other:
        ports = [one.getsockname()[1], other.getsockname()[1]]
    [issuer, tools] = [f"http://localhost:{port}" for port in ports]
    [of_issuer, of_tools] = [f"127.0.0.1:{port}" for port in ports]
    resource = {"uri": f"{tools}/mcp", "title": "Shop", "write": True}
    resource |= {"databases": [{"name": "shop", "title": "The shop"}]}
    section = LIFETIME | {"enabled": True, "resources": [resource], "registration": registration}
    file = folder / "platform.yaml"
    settings = {"server": {"public_url": issuer}, "sign_in": section}
    file.write_text(json.dumps(settings | {"data_dir": str(folder / "platform")}))
    environment = {"HOME": str(folder), **moved}

    def command(*words):
        return [PLATFORM, *words, "-config", str(file)]

    def run(*words):
        options = {"env": environment, "check": True, "capture_output": True}
        done = subprocess.run(command(*words), timeout=PATIENCE, **options)
        return json.loads(done.stdout)

    run("init")
    with listening(command("-addr", of_issuer), environment, folder / "platform.log"):
        member = run("user", "create", "-email", PERSON["name"])
        browser = Browser()
        page = browser.send(member["reset_url"])
        browser.submit(page, "/oauth/reset", password=PERSON["password"])
        trusted = {"url": issuer, "public_url": tools, "poll_interval": "1s"}
        trusted |= {"scopes": ["mcp"], "write_scope": "mcp:write", "step_up": True}
        auth = {"issuer": trusted}
        words = ["-config", configured(place, folder, auth, of_tools)]
        with listening([PROGRAM, *words], environment, folder / "tools.log"):
            leave = command("membership", "delete", member["id"])
            yield tools, {"INTEROP_LEAVE": json.dumps(leave)}
