"""The requests of hosted clients and editors, as each of them sends them.

A server that fetches nothing serves the clients with documents, from its copies. A server that
fetches serves the clients that register.
"""

import base64
import hashlib
import json
import os
import secrets
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlencode

from processes import database
from sign_in_server import Browser, sign_in_server

PUBLIC = {"token_endpoint_auth_method": "none"}
REFRESHING = {"grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"]}
# The clients without an address of their own listen at a free port.
PORTS = [33418, 49152]


@dataclass
class Client:
    """A client, with all that differs between clients."""

    name: str
    # Addresses that it returns to.
    redirects: list
    # The address of its document, or the metadata that it registers besides its redirects.
    document: str = ""
    metadata: dict = field(default_factory=dict)
    # More parameters of its authorization request.
    asks: dict = field(default_factory=dict)
    scope: str = "mcp"
    # Some name no resource when they refresh.
    refreshes_with_resource: bool = True
    # Some do not read where the endpoints are.
    uses_aliases: bool = False
    # The server asks it for a secret although it wants none.
    gets_secret: bool = False
    # Hosts that the administrator lists for it.
    host: str = ""


def local(*addresses):
    """Addresses of this computer, each at several ports."""
    return [address.replace("PORT", str(port)) for address in addresses for port in PORTS]


PAIR = local("http://localhost:PORT/callback", "http://127.0.0.1:PORT/callback")
CLAUDE = ["https://claude.ai/api/mcp/auth_callback", "https://claude.com/api/mcp/auth_callback"]
VSCODE = ["https://vscode.dev/redirect", "https://insiders.vscode.dev/redirect"]
VSCODE += local("http://127.0.0.1:PORT/")
GROK = ["grok.com", "console.x.ai"]
GROK = [f"https://{host}/connectors-oauth-exchange-code/" for host in GROK]
CURSOR = [
    "cursor://anysphere.cursor-mcp/oauth/callback",
    "https://www.cursor.com/agents/mcp/oauth/callback",
    "http://localhost:8787/callback",
]
PERPLEXITY = ["www.perplexity.ai", "enterprise.perplexity.ai"]
PERPLEXITY = [f"https://{host}/rest/connections/oauth_callback" for host in PERPLEXITY]
OPENCODE = local(
    "http://127.0.0.1:PORT/callback",
    "http://localhost:PORT/callback",
    "http://127.0.0.1:PORT/mcp/oauth/callback",
    "http://localhost:PORT/mcp/oauth/callback",
)
CLAUDE_ASKS = {"scope": " offline_access", "prompt": "consent"}
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"

DOCUMENTS = [
    Client(
        "Claude",
        CLAUDE,
        "https://claude.ai/oauth/mcp-oauth-client-metadata",
        asks=CLAUDE_ASKS,
        scope="mcp offline_access",
        uses_aliases=True,
    ),
    Client("Claude Code", PAIR, "https://claude.ai/oauth/claude-code-client-metadata"),
    Client(
        "ChatGPT",
        ["https://chatgpt.com/connector_platform_oauth_redirect"],
        "https://chatgpt.com/oauth/client.json",
    ),
    Client(
        "ChatGPT, an app",
        ["https://chatgpt.com/connector/oauth/aB3_x-9"],
        "https://chatgpt.com/oauth/aB3_x-9/client.json",
    ),
    Client(
        "Codex",
        PAIR,
        "https://chatgpt.com/oauth/codex/client.json",
        refreshes_with_resource=False,
    ),
    Client("VS Code", VSCODE, "https://vscode.dev/oauth/client-metadata.json"),
    Client(
        "Copilot CLI",
        local("http://127.0.0.1:PORT/"),
        "https://github.com/copilot/cli/client-metadata.json",
    ),
    Client("Grok", GROK, "https://grok.com/oauth/mcp-client.json"),
    Client(
        "Zed",
        local("http://127.0.0.1:PORT/callback"),
        "https://zed.dev/oauth/client-metadata.json",
    ),
    Client("OpenCode", OPENCODE, "https://opencode.ai/oauth/opencode/client.json"),
]

REGISTERED = [
    Client(
        "Claude",
        CLAUDE[:1],
        metadata=PUBLIC | REFRESHING | {"scope": "claudeai"},
        asks=CLAUDE_ASKS,
        scope="mcp offline_access",
        uses_aliases=True,
    ),
    Client(
        "VS Code",
        VSCODE,
        metadata=PUBLIC
        | {"grant_types": [*REFRESHING["grant_types"], DEVICE], "application_type": "native"},
    ),
    Client("Copilot CLI", local("http://127.0.0.1:PORT/"), metadata=PUBLIC | REFRESHING),
    Client("Cursor", CURSOR, metadata=PUBLIC | REFRESHING | {"application_type": "web"}),
    Client("Grok", GROK, metadata=PUBLIC | REFRESHING),
    Client(
        "Perplexity",
        PERPLEXITY,
        metadata=PUBLIC | REFRESHING,
        asks={"scope": "mcp offline_access"},
        scope="mcp offline_access",
        gets_secret=True,
    ),
    Client(
        "Mistral",
        ["https://callback.mistral.ai/v1/integrations_auth/oauth2_callback"],
        metadata={"token_endpoint_auth_method": "client_secret_basic"} | REFRESHING,
        asks={"scope": "openid profile email mcp"},
    ),
    Client("Antigravity", ["https://antigravity.google/oauth-callback"], metadata=PUBLIC),
    Client(
        "n8n Cloud",
        ["https://oauth.n8n.cloud/oauth2/callback"],
        metadata={"token_endpoint_auth_method": "client_secret_post"} | REFRESHING,
    ),
    Client(
        "own n8n",
        ["https://n8n.corp.example/rest/oauth2-credential/callback"],
        metadata=PUBLIC | REFRESHING,
        host="n8n.corp.example",
    ),
    Client(
        "Open WebUI",
        ["https://chat.corp.example/oauth/clients/mcp:shop/callback"],
        metadata={"token_endpoint_auth_method": "client_secret_post"} | REFRESHING,
        host="chat.corp.example",
    ),
    Client(
        "MCP Inspector",
        local("http://localhost:PORT/oauth/callback"),
        metadata=PUBLIC | REFRESHING | {"client_uri": "https://github.com/", "scope": "mcp"},
    ),
    Client(
        "Gemini CLI",
        local("http://localhost:PORT/oauth/callback"),
        metadata=PUBLIC | REFRESHING | {"scope": ""},
        asks={"scope": "mcp mcp:write"},
        scope="mcp mcp:write",
    ),
]


class Replay:
    """The requests of a client to a server, in a browser in which a person is signed in."""

    def __init__(self, client, address, browser):
        self.client, self.address, self.browser = client, address, browser
        self.machine = Browser()
        metadata = self.machine.send(f"{address}/.well-known/oauth-authorization-server").json()
        self.issuer = metadata["issuer"]
        self.authorize = metadata["authorization_endpoint"]
        self.token = metadata["token_endpoint"]
        self.register = metadata["registration_endpoint"]
        if client.uses_aliases:
            self.authorize, self.token = f"{address}/authorize", f"{address}/token"
            self.register = f"{address}/register"
        self.secret = None
        self.method = client.metadata.get("token_endpoint_auth_method", "none")
        self.id = client.document or self.registered()

    def registered(self):
        """Registers twice, as some clients do; both answers have the same id."""
        client = self.client
        metadata = {"client_name": client.name, "redirect_uris": client.redirects}
        body = json.dumps(metadata | client.metadata).encode()
        headers = {"Content-Type": "application/json"}
        answers = [self.machine.send(self.register, body, headers) for _ in range(2)]
        assert [answer.status for answer in answers] == [201, 201], answers
        first, second = (answer.json() for answer in answers)
        assert first["client_id"] == second["client_id"], answers
        assert sorted(first["redirect_uris"]) == sorted(client.redirects), first
        if kind := client.metadata.get("application_type"):
            assert first["application_type"] == kind, first
        self.method = first["token_endpoint_auth_method"]
        self.secret = first.get("client_secret")
        has_secret = client.gets_secret or "secret" in client.metadata.get(
            "token_endpoint_auth_method", ""
        )
        assert bool(self.secret) is has_secret, first
        return first["client_id"]

    def request(self, redirect, challenge):
        """The address that the client opens."""
        parameters = {
            "response_type": "code",
            "client_id": self.id,
            "redirect_uri": redirect,
            "state": "a/state+of=the client",
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            "resource": f"{self.address}/mcp",
            **self.client.asks,
        }
        return f"{self.authorize}?{urlencode(parameters)}"

    def ask(self, **form):
        """Sends a form to the token endpoint, with the credentials of the client."""
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        if self.method == "client_secret_basic":
            pair = f"{self.id}:{self.secret}".encode()
            headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
        else:
            form["client_id"] = self.id
            if self.secret:
                form["client_secret"] = self.secret
        return self.machine.send(self.token, urlencode(form).encode(), headers)

    def returned(self, redirect, goal):
        """The parameters with which the browser came back to the client."""
        address, _, query = goal.partition("?")
        assert address == redirect, goal
        returned = parse_qs(query, keep_blank_values=True)
        assert all(len(values) == 1 for values in returned.values()), returned
        returned = {name: value for name, [value] in returned.items()}
        assert returned.pop("iss") == self.issuer, returned
        assert returned.pop("state") == "a/state+of=the client", returned
        return returned

    def run(self, redirect):
        """Goes the whole way to a redirect address, and refreshes."""
        verifier = secrets.token_urlsafe(48)
        digest = hashlib.sha256(verifier.encode()).digest()
        request = self.request(redirect, base64.urlsafe_b64encode(digest).rstrip(b"=").decode())
        write = {"write": "on"} if "mcp:write" in self.client.scope else {}
        [code] = self.returned(redirect, self.browser.allow(request, **write)).values()

        resource = {"resource": f"{self.address}/mcp"}
        form = {"code": code, "code_verifier": verifier, "redirect_uri": redirect} | resource
        tokens = self.granted(self.ask(grant_type="authorization_code", **form))
        self.call(tokens)
        form = resource if self.client.refreshes_with_resource else {}
        form |= {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
        # Two processes, or a client that lost the first answer.
        after = [self.granted(self.ask(**form)) for _ in range(2)]
        assert after[0]["refresh_token"] == after[1]["refresh_token"], "one successor"
        self.call(after[1])
        dead = self.ask(grant_type="refresh_token", refresh_token="zrt_" + "A" * 59)
        assert (dead.status, dead.json()["error"]) == (400, "invalid_grant"), dead

    def be_denied(self, redirect):
        """Asks a person who denies."""
        page = self.browser.send(self.request(redirect, "A" * 43))
        assert page.headers["Cross-Origin-Opener-Policy"] is None, "a pop-up needs its opener"
        page = self.browser.submit(page, "/oauth/consent", decision="deny")
        returned = self.returned(redirect, page.goal())
        assert returned["error"] == "access_denied" and "code" not in returned, returned

    def granted(self, answer):
        assert answer.status == 200, answer
        tokens = answer.json()
        assert tokens["token_type"] == "Bearer" and tokens["scope"] == self.client.scope, tokens
        return tokens

    def call(self, tokens):
        """Calls a tool with a token."""
        arguments = {"query": "SELECT name FROM ware WHERE id = 1"}
        params = {"name": "query_database", "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {
            "Accept": "application/json, text/event-stream",
            "Authorization": f"Bearer {tokens['access_token']}",
            "Content-Type": "application/json",
            "MCP-Protocol-Version": "2025-06-18",
        }
        answer = self.machine.send(f"{self.address}/mcp", json.dumps(body).encode(), headers)
        assert answer.status == 200 and "kettle" in answer.body, answer


def replay(clients, address, browser):
    """Returns the failures of these clients, each with its name."""
    failures = []
    for client in clients:
        redirect = None
        try:
            replayed = Replay(client, address, browser)
            replayed.be_denied(client.redirects[0])
            for redirect in client.redirects:
                replayed.run(redirect)
        except AssertionError as error:
            failures.append(f"{client.name} ({redirect or 'registration'}): {error}")
    return failures


def from_a_page(address):
    """Checks that a client may run in a page, as the Inspector does."""
    machine = Browser()
    asked = {"Origin": "http://localhost:6274", "Access-Control-Request-Method": "POST"}
    for path in ["/oauth/register", "/oauth/token", "/oauth/revoke", "/register", "/token"]:
        answer = machine.send(address + path, headers=asked, method="OPTIONS")
        assert answer.status == 204, answer
        allowed = answer.headers["Access-Control-Allow-Headers"]
        assert allowed == "Authorization, Content-Type, MCP-Protocol-Version", answer
        assert answer.headers["Access-Control-Allow-Origin"] == "*", answer
        assert answer.headers["Access-Control-Allow-Credentials"] is None, answer
    refused = machine.send(f"{address}/oauth/token", b"grant_type=none", asked)
    assert refused.status == 400 and refused.headers["Access-Control-Allow-Origin"] == "*", refused
    for path in ["oauth-protected-resource/mcp", "oauth-authorization-server", "jwks.json"]:
        answer = machine.send(f"{address}/.well-known/{path}", headers=asked)
        assert answer.status == 200 and answer.headers["Access-Control-Allow-Origin"] == "*", answer


def documents(address):
    """Checks the documents that clients compare or look for elsewhere."""
    machine = Browser()
    # Claude Code compares the resource with the address it was given, to the slash.
    for path in ["/mcp", "/mcp/"]:
        document = machine.send(f"{address}/.well-known/oauth-protected-resource{path}").json()
        assert document["resource"] == address + path, document
        refused = machine.send(address + path, b"{}", {"Content-Type": "application/json"})
        expected = f'resource_metadata="{address}/.well-known/oauth-protected-resource{path}"'
        assert refused.status == 401 and expected in refused.headers["WWW-Authenticate"], refused
    # Mistral looks only here.
    document = machine.send(f"{address}/.well-known/openid-configuration").json()
    metadata = machine.send(f"{address}/.well-known/oauth-authorization-server").json()
    assert metadata.items() <= document.items(), document
    return metadata


def stranger(address):
    """Checks that a program that registers itself gets no address of others."""
    body = {"client_name": "Claude", "redirect_uris": ["https://n8n.evil.example/callback"]}
    headers = {"Content-Type": "application/json"}
    answer = Browser().send(f"{address}/oauth/register", json.dumps(body).encode(), headers)
    assert (answer.status, answer.json()["error"]) == (400, "invalid_redirect_uri"), answer


def run(program, place, folder):
    """Replays all clients; returns the failures."""
    failures = []
    for name, clients in [("documents", DOCUMENTS), ("registered", REGISTERED)]:
        fetch = name == "registered"
        hosts = [client.host for client in clients if client.host]
        oauth = {"registration": {"fetch": fetch, "redirect_hosts": hosts}}
        with sign_in_server(program, place, folder / name, oauth) as address:
            browser = Browser()
            # The first request has the person sign in.
            first = Replay(Client("First", PAIR[:1], metadata=PUBLIC), address, browser)
            browser.allow(first.request(PAIR[0], "A" * 43))
            failures += replay(clients, address, browser)
            try:
                metadata = documents(address)
                is_fetching = metadata["client_id_metadata_document_supported"]
                assert is_fetching is fetch, metadata
                from_a_page(address)
                stranger(address)
            except AssertionError as error:
                failures.append(f"{name}: {error}")
    return failures


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary, database(
        os.environ["INTEROP_DATABASE"]
    ) as place:
        if failures := run(os.environ["INTEROP_PROGRAM"], place, Path(temporary)):
            sys.exit("\n".join(failures))
