"""The suite's scenarios for clients, turned round: the server gives a client what each demands.

The suite plays the servers in these scenarios, so it cannot run them against ours.
"""

import base64
import hashlib
import json
import secrets
import subprocess
from contextlib import contextmanager
from urllib.parse import parse_qsl, urlencode, urlsplit

from processes import PATIENCE, listening
from sign_in_server import Browser, sign_in_server

REDIRECT = "http://127.0.0.1:33418/callback"
BASIC, POST, NONE = ["client_secret_basic", "client_secret_post", "none"]
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
ID_JAG = "urn:ietf:params:oauth:grant-profile:id-jag"
# A provider of assertions. Nothing listens there.
PROVIDER = {
    "name": "corp",
    "issuer": "http://localhost:1",
    "map": [{"when": {"groups": "analysts"}, "then": {"databases": ["shop"]}}],
}

# The scenarios that demand nothing from a server.
OF_CLIENTS = {
    "auth/scope-retry-limit": "the client counts its attempts",
    "auth/client-credentials-jwt": "clients that sign in by themselves have secrets here",
    "auth/dpop": "tokens here are not bound to keys",
    "auth/dpop-nonce": "tokens here are not bound to keys",
    "auth/wif-jwt-bearer": "workloads have no identity here",
}


class Server:
    """A tool server, with the documents about it and a browser in which a person signs in."""

    def __init__(self, address, platform):
        self.address, self.platform = address, platform
        self.browser = Browser()
        self.metadata = self.get("/.well-known/oauth-authorization-server")

    def get(self, path):
        answer = self.browser.send(self.address + path)
        assert answer.status == 200, answer
        return answer.json()

    def resource(self, path=""):
        return self.get(f"/.well-known/oauth-protected-resource{path}")

    def post(self, address, form, headers=None):
        return self.browser.send(address, urlencode(form).encode(), headers)

    def call(self, token=None, sql="SELECT name FROM ware WHERE id = 1"):
        """Calls a tool in the newest revision."""
        own = "io.modelcontextprotocol"
        meta = {f"{own}/protocolVersion": "2026-07-28", f"{own}/clientCapabilities": {}}
        params = {"name": "query_database", "arguments": {"query": sql}, "_meta": meta}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {"Accept": "application/json, text/event-stream"}
        headers |= {"Content-Type": "application/json", "MCP-Protocol-Version": "2026-07-28"}
        headers |= {"Mcp-Method": "tools/call", "Mcp-Name": "query_database"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        return self.browser.send(f"{self.address}/mcp", json.dumps(body).encode(), headers)

    def register(self, method, endpoint=None):
        wanted = {"redirect_uris": [REDIRECT], "token_endpoint_auth_method": method}
        body = json.dumps(wanted).encode()
        headers = {"Content-Type": "application/json"}
        endpoint = endpoint or self.metadata["registration_endpoint"]
        answer = self.browser.send(endpoint, body, headers)
        assert answer.status == 201, answer
        return answer.json()

    def authorize(self, client, endpoint=None, **asks):
        """Has the person allow a client everything; returns the parameters and the verifier."""
        verifier = secrets.token_urlsafe(48)
        digest = hashlib.sha256(verifier.encode()).digest()
        asks |= {"client_id": client["client_id"], "redirect_uri": REDIRECT, "state": "s"}
        asks |= {"response_type": "code", "code_challenge_method": "S256"}
        asks["code_challenge"] = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        endpoint = endpoint or self.metadata["authorization_endpoint"]
        write = {"write": "on"} if "write" in asks.get("scope", "") else {}
        goal = self.browser.allow(f"{endpoint}?{urlencode(asks)}", **write)
        return dict(parse_qsl(urlsplit(goal).query)), verifier

    def exchange(self, client, code, verifier, endpoint=None):
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": REDIRECT}
        form |= {"code_verifier": verifier, "client_id": client["client_id"]}
        headers = {}
        if client["token_endpoint_auth_method"] == BASIC:
            headers = basic(client)
        elif secret := client.get("client_secret"):
            form["client_secret"] = secret
        return self.post(endpoint or self.metadata["token_endpoint"], form, headers)

    def tokens(self, client=None, **asks):
        """Goes the whole way; returns the answer with the tokens."""
        client = client or self.register(NONE)
        returned, verifier = self.authorize(client, **asks)
        answer = self.exchange(client, returned["code"], verifier)
        assert answer.status == 200, answer
        return answer.json()


def basic(client):
    pair = f"{client['client_id']}:{client['client_secret']}".encode()
    return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}


def document_in_the_challenge(server):
    challenge = server.call().headers["WWW-Authenticate"]
    address = f"{server.address}/.well-known/oauth-protected-resource/mcp"
    assert f'resource_metadata="{address}"' in challenge, challenge
    [issuer] = server.resource("/mcp")["authorization_servers"]
    assert server.metadata["issuer"] == issuer


def document_at_the_path(server):
    [issuer] = server.resource("/mcp")["authorization_servers"]
    document = server.get("/.well-known/openid-configuration")
    assert document["issuer"] == issuer and server.metadata.items() <= document.items(), document


def document_at_the_root(server):
    assert server.resource()["resource"] == f"{server.address}/mcp"
    assert server.resource()["authorization_servers"] == [server.metadata["issuer"]]


def documents_of_clients(server):
    assert server.metadata["client_id_metadata_document_supported"] is True
    assert NONE in server.metadata["token_endpoint_auth_methods_supported"]


def scope_of_the_challenge(server):
    challenge = server.call().headers["WWW-Authenticate"]
    assert 'scope="mcp"' in challenge, challenge
    assert server.tokens(scope="mcp")["scope"] == "mcp"


def scope_of_the_document(server):
    scopes = server.resource("/mcp")["scopes_supported"]
    assert server.tokens(scope=" ".join(scopes))["scope"].split() == scopes


def scope_left_out(server):
    tokens = server.tokens()
    assert tokens["scope"] == "mcp" and server.call(tokens["access_token"]).status == 200, tokens


def scope_for_a_change(server):
    change = "UPDATE ware SET price = price RETURNING name"
    refused = server.call(server.tokens(scope="mcp")["access_token"], change)
    challenge = refused.headers["WWW-Authenticate"]
    assert refused.status == 403 and 'error="insufficient_scope"' in challenge, refused
    assert 'scope="mcp mcp:write"' in challenge and "resource_metadata=" in challenge, challenge
    tokens = server.tokens(scope="mcp mcp:write")
    done = server.call(tokens["access_token"], change)
    assert done.status == 200 and "kettle" in done.body, done


def method(name):
    def proof(server):
        assert name in server.metadata["token_endpoint_auth_methods_supported"]
        client = server.register(name)
        assert client["token_endpoint_auth_method"] == name, client
        tokens = server.tokens(client)
        assert server.call(tokens["access_token"]).status == 200, tokens

    return proof


def client_by_hand(server):
    client = {"client_id": "conformance", "token_endpoint_auth_method": NONE}
    assert server.call(server.tokens(client)["access_token"]).status == 200


def metadata_at_the_root(server):
    # The client of that time takes the host of the server for the issuer.
    assert server.metadata["issuer"] == server.address
    assert server.tokens()["token_type"] == "Bearer"


def endpoints_at_the_root(server):
    client = server.register(NONE, f"{server.address}/register")
    returned, verifier = server.authorize(client, f"{server.address}/authorize")
    answer = server.exchange(client, returned["code"], verifier, f"{server.address}/token")
    assert server.call(answer.json()["access_token"]).status == 200, answer


def resource_of_the_address(server):
    for path in ["/mcp", "/mcp/", "/mcp/v1"]:
        assert server.resource(path)["resource"] == server.address + path


def refresh_on_request(server):
    assert "offline_access" in server.metadata["scopes_supported"]
    assert "refresh_token" in server.metadata["grant_types_supported"]
    assert server.tokens(scope="mcp offline_access")["refresh_token"]


def refresh_in_no_challenge(server):
    assert "offline_access" not in server.resource("/mcp")["scopes_supported"]
    assert "offline_access" not in server.call().headers["WWW-Authenticate"]


def clients_of_others_are_unknown(server):
    form = {"grant_type": "refresh_token", "refresh_token": "x", "client_id": "of-another-server"}
    answer = server.post(server.metadata["token_endpoint"], form)
    assert (answer.status, answer.json()["error"]) == (401, "invalid_client"), answer


def issuer_in_the_answer(server):
    assert server.metadata["authorization_response_iss_parameter_supported"] is True
    returned, _ = server.authorize(server.register(NONE))
    assert returned["iss"] == server.metadata["issuer"], returned


def issuer_in_the_error(server):
    client = server.register(NONE)
    asked = {"response_type": "code", "client_id": client["client_id"], "redirect_uri": REDIRECT}
    endpoint = server.metadata["authorization_endpoint"]
    refused = server.browser.send(f"{endpoint}?{urlencode(asked)}")
    returned = dict(parse_qsl(urlsplit(refused.goal()).query))
    assert returned["error"] == "invalid_request", refused
    assert returned["iss"] == server.metadata["issuer"], returned


def issuer_as_it_is_written(server):
    issuer = server.metadata["issuer"]
    assert issuer == issuer.lower().rstrip("/"), issuer
    assert server.resource("/mcp")["authorization_servers"] == [issuer]
    returned, _ = server.authorize(server.register(NONE))
    assert returned["iss"] == issuer, returned


def issuer_of_the_address(server):
    for name in ["oauth-authorization-server", "openid-configuration"]:
        assert server.get(f"/.well-known/{name}")["issuer"] == server.address


def client_by_itself(server):
    issuer, client = server.platform
    metadata = f"{issuer}/.well-known/oauth-authorization-server"
    metadata = server.browser.send(metadata).json()
    assert "client_credentials" in metadata["grant_types_supported"], metadata
    assert BASIC in metadata["token_endpoint_auth_methods_supported"], metadata
    form = {"grant_type": "client_credentials"}
    answer = server.post(metadata["token_endpoint"], form, basic(client))
    assert answer.status == 200 and answer.json()["token_type"] == "Bearer", answer


def assertions_of_a_provider(server):
    assert JWT_BEARER in server.metadata["grant_types_supported"]
    assert ID_JAG in server.metadata["authorization_grant_profiles_supported"]
    assert BASIC in server.metadata["token_endpoint_auth_methods_supported"]
    client = {"client_id": "acme", "client_secret": "a secret of a client"}
    form = {"grant_type": JWT_BEARER, "assertion": "e30.e30.e30"}
    answer = server.post(server.metadata["token_endpoint"], form, basic(client))
    assert (answer.status, answer.json()["error"]) == (400, "invalid_grant"), answer


DEMANDS = {
    "auth/metadata-default": document_in_the_challenge,
    "auth/metadata-var1": document_at_the_path,
    "auth/metadata-var2": document_at_the_root,
    "auth/metadata-var3": document_in_the_challenge,
    "auth/basic-cimd": documents_of_clients,
    "auth/scope-from-www-authenticate": scope_of_the_challenge,
    "auth/scope-from-scopes-supported": scope_of_the_document,
    "auth/scope-omitted-when-undefined": scope_left_out,
    "auth/scope-step-up": scope_for_a_change,
    "auth/token-endpoint-auth-basic": method(BASIC),
    "auth/token-endpoint-auth-post": method(POST),
    "auth/token-endpoint-auth-none": method(NONE),
    "auth/pre-registration": client_by_hand,
    "auth/2025-03-26-oauth-metadata-backcompat": metadata_at_the_root,
    "auth/2025-03-26-oauth-endpoint-fallback": endpoints_at_the_root,
    "auth/resource-mismatch": resource_of_the_address,
    "auth/offline-access-scope": refresh_on_request,
    "auth/offline-access-not-supported": refresh_in_no_challenge,
    "auth/authorization-server-migration": clients_of_others_are_unknown,
    "auth/iss-supported": issuer_in_the_answer,
    "auth/iss-not-advertised": issuer_in_the_answer,
    "auth/iss-supported-missing": issuer_in_the_error,
    "auth/iss-wrong-issuer": issuer_in_the_answer,
    "auth/iss-unexpected": issuer_in_the_error,
    "auth/iss-normalized": issuer_as_it_is_written,
    "auth/metadata-issuer-mismatch": issuer_of_the_address,
    "auth/client-credentials-basic": client_by_itself,
    "auth/enterprise-managed-authorization": assertions_of_a_provider,
}


@contextmanager
def platform(program, folder):
    """Starts the platform, for clients without a person; returns its issuer and such a client."""
    resource = {"uri": "https://tools.example/mcp", "title": "Tools"}
    section = {"enabled": True, "resources": [resource]}
    file = folder / "platform.yaml"
    file.write_text(json.dumps({"data_dir": str(folder / "platform"), "sign_in": section}))
    environment = {"HOME": str(folder)}
    command = [program, "-config", file]
    options = {"env": environment, "check": True, "capture_output": True, "timeout": PATIENCE}
    made = json.loads(subprocess.run([program, "init", "-config", file], **options).stdout)
    served = [*command, "-addr", "127.0.0.1:0"]
    with listening(served, environment, folder / "platform.log") as (address, _):
        yield address, made


def listed(suite):
    """The scenarios of the suite for clients that sign in."""
    done = subprocess.run(["node", suite, "list"], capture_output=True, text=True)
    return {word for word in done.stdout.split() if word.startswith("auth/")}


def failures(suite, programs, place, folder):
    """Returns what is wrong, by scenario."""
    known = DEMANDS.keys() | OF_CLIENTS.keys()
    missing = {name: "is in no table" for name in listed(suite) ^ known}
    secret = folder / "secret"
    secret.write_text("a secret of a client")
    secret.chmod(0o600)
    acme = {"id": "acme", "name": "Acme", "redirect_uris": ["https://acme.example/callback"]}
    by_hand = {"id": "conformance", "name": "Conformance", "redirect_uris": [REDIRECT]}
    oauth = {"clients": [by_hand, acme | {"secret_file": str(secret)}], "step_up": True}
    oauth["identity_assertion"] = [PROVIDER]
    tools = sign_in_server(programs / "ziggurat-tools", place, folder / "turned", oauth)
    with platform(programs / "ziggurat-platform", folder) as other, tools as address:
        server = Server(address, other)
        for name, demand in DEMANDS.items():
            try:
                demand(server)
            except (AssertionError, KeyError, ValueError) as error:
                missing[name] = f"{demand.__name__}: {error!r}"
    return missing
