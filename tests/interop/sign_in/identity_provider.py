"""An identity provider of a company, which decides who uses which client (ID-JAG).

Prints its address. `POST /token` exchanges a token of a person who has signed in for an assertion to
another authorization server (RFC 8693). The arguments are the client and that person's token.
"""

import http.server
import json
import sys
import time
import uuid
from urllib.parse import parse_qsl

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

KEY = Ed25519PrivateKey.generate()
CLIENT, SIGNED_IN = sys.argv[1:]
GROUPS = ["db-analysts"]


class Provider(http.server.BaseHTTPRequestHandler):
    def answer(self, document, status=200):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        issuer = self.server.issuer
        key = json.loads(jwt.algorithms.OKPAlgorithm.to_jwk(KEY.public_key()))
        keys = {"keys": [key | {"kid": "1", "alg": "EdDSA", "use": "sig"}]}
        metadata = {"issuer": issuer, "jwks_uri": f"{issuer}/keys"}
        metadata |= {"authorization_endpoint": f"{issuer}/authorize"}
        metadata |= {"token_endpoint": f"{issuer}/token", "response_types_supported": ["code"]}
        metadata |= {"subject_types_supported": ["public"]}
        metadata |= {"id_token_signing_alg_values_supported": ["EdDSA"]}
        self.answer(keys if self.path == "/keys" else metadata)

    def do_POST(self):
        length = int(self.headers["Content-Length"])
        asked = dict(parse_qsl(self.rfile.read(length).decode()))
        if (asked["client_id"], asked["subject_token"]) != (CLIENT, SIGNED_IN):
            return self.answer({"error": "invalid_grant"}, 400)
        now = int(time.time())
        claims = {"iss": self.server.issuer, "sub": "248289", "jti": str(uuid.uuid4())}
        claims |= {"aud": asked["audience"], "resource": asked["resource"], "client_id": CLIENT}
        claims |= {"iat": now, "exp": now + 300, "scope": asked.get("scope", "mcp")}
        claims |= {"preferred_username": "ann", "groups": GROUPS}
        assertion = jwt.encode(claims, KEY, "EdDSA", {"typ": "oauth-id-jag+jwt", "kid": "1"})
        kind = "urn:ietf:params:oauth:token-type:id-jag"
        done = {"access_token": assertion, "issued_token_type": kind, "token_type": "N_A"}
        self.answer(done | {"expires_in": 300, "scope": claims["scope"]})

    def log_message(self, *_):
        pass


with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider) as server:
    server.issuer = f"http://localhost:{server.server_port}"
    print(server.issuer, flush=True)
    server.serve_forever()
