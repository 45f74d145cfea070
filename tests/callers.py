"""Clients of ziggurat-tools, and its files."""

import hashlib
import http.client
import json
import socket
import time
from dataclasses import dataclass

# No server sends as much in one answer.
MAX_BYTES = 64 << 20
MODERN = "2026-07-28"
# Sockets that hold ports.
HELD = []
PREFIX = "io.modelcontextprotocol/"


@dataclass
class Answer:
    status: int
    text: str
    is_error: bool
    seconds: float

    def said(self):
        """The first characters, for a report."""
        return f"{self.status} {self.text[:160]!r} after {self.seconds:.1f} s"


class Caller:
    """A client with a token and a connection for each request.

    With `modern` it uses the revision in which a disconnect cancels the call. One that `can_confirm`
    is asked before a statement changes anything.
    """

    def __init__(
        self, address, token=None, modern=True, host=None, source=None, can_confirm=False
    ):
        self.address = address.removeprefix("http://")
        self.token, self.modern, self.host = token, modern, host
        self.capabilities = {"elicitation": {}} if can_confirm else {}
        self.source = source and (source, 0)

    def query(self, statement, patience=120, tool="query_database"):
        return self.call(tool, {"query": statement}, patience)

    def call(self, tool, arguments, patience=120):
        """Calls a tool. After `patience` seconds the client disconnects and gets a TimeoutError."""
        params = {"name": tool, "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {"Accept": "application/json, text/event-stream"}
        path = "/mcp/v1"
        if self.modern:
            path = "/mcp"
            headers |= {
                "MCP-Protocol-Version": MODERN,
                "Mcp-Method": "tools/call",
                "Mcp-Name": tool,
            }
            params["_meta"] = {
                PREFIX + "protocolVersion": MODERN,
                PREFIX + "clientCapabilities": self.capabilities,
                PREFIX + "clientInfo": {"name": "callers", "version": "1"},
            }
        return self.ask("POST", path, body, headers, patience)

    def ask(self, method, path, body=None, headers=None, patience=120):
        headers = {"Connection": "close"} | (headers or {})
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if self.host:
            headers["Host"] = self.host
        if body is not None:
            headers["Content-Type"] = "application/json"
            body = json.dumps(body)
        begun = time.monotonic()
        connection = http.client.HTTPConnection(
            self.address, timeout=patience, source_address=self.source
        )
        try:
            connection.request(method, path, body, headers)
            # The response releases the connection if the server is going to close it.
            stream = connection.sock
            with connection.getresponse() as response:
                raw = read(response, stream, begun + patience)
        finally:
            connection.close()
        text, is_error = understood(response, raw)
        return Answer(response.status, text, is_error, time.monotonic() - begun)


def read(response, stream, deadline):
    """Reads the body until the deadline."""
    parts, size = [], 0
    while True:
        # The socket is gone when the response has ended.
        if stream.fileno() >= 0:
            stream.settimeout(max(0.001, deadline - time.monotonic()))
        if not (part := response.read1(1 << 20)):
            return b"".join(parts)
        parts.append(part)
        if (size := size + len(part)) > MAX_BYTES:
            raise ValueError(f"a body of more than {MAX_BYTES} bytes")


def understood(response, raw):
    """Returns the text of a result or an error, and which of the two it is."""
    text = raw.decode(errors="replace")
    if "text/event-stream" in (response.getheader("Content-Type") or ""):
        text = [line[5:] for line in text.splitlines() if line.startswith("data:")][-1]
    try:
        answer = json.loads(text)
    except ValueError:
        return text, response.status != 200
    if not isinstance(answer, dict) or "result" not in answer:
        return text, response.status != 200 or "error" in answer
    result = answer["result"]
    if "content" not in result:
        # A question to the user of the client.
        return text, False
    return result["content"][0]["text"], result.get("isError", False)


def write_tokens(file, count, database=None):
    """Writes a file of API tokens, the last one for a database of its own; returns the tokens."""
    tokens = [f"token-of-caller-{number}" for number in range(count)]
    lines = ["tokens:"]
    for number, token in enumerate(tokens):
        record = {"id": f"token-{number}", "hash": hashlib.sha256(token.encode()).hexdigest()}
        record |= {"note": "a caller", "created_at": "2026-01-01T00:00:00Z"}
        if database and number == count - 1:
            record["database"] = database
        lines.append(f"- {json.dumps(record)}")
    file.write_text("\n".join(lines) + "\n")
    file.chmod(0o600)
    return tokens


def entry(name, variables, **more):
    """A database entry for the configuration, from the variables of a PostgreSQL client."""
    return {
        "name": name,
        "host": variables["PGHOST"],
        "port": int(variables["PGPORT"]),
        "user": variables["PGUSER"],
        "password": variables["PGPASSWORD"],
        "database": variables["PGDATABASE"],
        **more,
    }


def write_configuration(folder, **sections):
    """Writes a configuration and the other files of the server; returns its arguments."""
    (folder / "users.yaml").write_text("users: {}\n")
    (folder / "users.yaml").chmod(0o600)
    sections = {"data_dir": str(folder / "data")} | sections
    # JSON is also YAML.
    lines = [f"{name}: {json.dumps(section)}" for name, section in sections.items()]
    file = folder / "ziggurat-tools.yaml"
    file.write_text("\n".join(lines) + "\n")
    file.chmod(0o600)
    arguments = ["-config", file, "-user-file", folder / "users.yaml"]
    return [*arguments, "-token-file", folder / "tokens.yaml"]


def free_port():
    """A port for a server that starts later; until then the system gives it to no other program."""
    held = socket.socket()
    # With it, the server can bind the port beside this socket, which never listens.
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    HELD.append(held)
    return held.getsockname()[1]


def wait_for_port(port, patience=60):
    """Waits until a local port accepts connections."""
    deadline = time.monotonic() + patience
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
