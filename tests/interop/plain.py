"""Plain messages, over HTTP and stdio. All results, errors and notifications of the server are
checked against the schema of their revision."""

import json
import subprocess
import urllib.error
import urllib.request

from schemas import LEGACY, MODERN, check_error, check_notification, check_result

EXACT = "2024-11-05"
PREFIX = "io.modelcontextprotocol/"


def request(method, params=None, request_id=1):
    message = {"jsonrpc": "2.0", "id": request_id, "method": method}
    if params is not None:
        message["params"] = params
    return message


def modern(method, params=None, request_id=1, version=MODERN, capabilities=None):
    """A request that names its revision."""
    params = dict(params or {})
    params["_meta"] = params.get("_meta", {}) | {
        PREFIX + "protocolVersion": version,
        PREFIX + "clientCapabilities": capabilities or {},
        PREFIX + "clientInfo": {"name": "plain", "version": "1"},
    }
    return request(method, params, request_id)


def said_id(message):
    """The id of a message, if it could be read."""
    value = message.get("id") if isinstance(message, dict) else None
    return value if isinstance(value, str) or type(value) is int else None


def without_id(answer, asked, revision, is_exact):
    """Gives an answer without a valid id an id for the schema.

    The schemas require a string or an integer, and those before 2025-11-25 require one in every
    answer. These are the only answers that deviate:

    - on `/mcp/v1` and stdio an error about an unreadable message has the id null, as in JSON-RPC;
      null and fractions are valid ids there, and are returned;
    - on `/mcp` such an error has no id in any revision, as in the later schemas.
    """
    if is_exact:
        given = asked.get("id") if isinstance(asked, dict) else None
        assert answer["id"] == (given if isinstance(given, float) else None), answer
        return answer | {"id": 0}
    assert "error" in answer and "id" not in answer, answer
    return answer | {"id": 0} if revision in LEGACY[:3] else answer


def check(answer, asked, revision, is_exact):
    """Checks the answer to a message against the schema."""
    if (asked_id := said_id(asked)) is None:
        answer = without_id(answer, asked, revision, is_exact)
    else:
        assert answer["id"] == asked_id and type(answer["id"]) is type(asked_id), answer
    if "error" in answer:
        check_error(answer, revision)
    else:
        check_result(answer, revision, asked["method"])


class Http:
    """One POST per message."""

    def __init__(self, target, revision=EXACT):
        self.target, self.revision = target, revision
        self.is_exact = not target.get("negotiates", False)

    def headers(self, message):
        headers = {"Content-Type": "application/json"}
        if not self.is_exact:
            headers["Accept"] = "application/json, text/event-stream"
            headers["MCP-Protocol-Version"] = self.revision
        if self.revision == MODERN and isinstance(message, dict):
            params = message.get("params")
            params = params if isinstance(params, dict) else {}
            headers["Mcp-Method"] = message.get("method")
            headers["Mcp-Name"] = params.get("name") or params.get("uri")
        return headers | self.target["headers"]

    def post(self, message, **changed):
        """Sends a message, or any other body. A header that is None is left out."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        headers = self.headers(message) | {k.replace("_", "-"): v for k, v in changed.items()}
        headers = {name: value for name, value in headers.items() if value is not None}
        return fetch(urllib.request.Request(self.target["url"], body, headers))

    def hear(self, message, **changed):
        """Returns the status, and all messages up to the answer."""
        status, headers, body = self.post(message, **changed)
        assert "Mcp-Session-Id" not in headers, headers
        if headers["Content-Type"] == "application/json":
            heard = [json.loads(body)]
        else:
            assert headers["Content-Type"] == "text/event-stream", (status, headers, body)
            assert not self.is_exact, body
            heard = [json.loads(data) for data in events(body.decode())]
        for unasked in heard[:-1]:
            check_notification(unasked, self.revision)
        if isinstance(heard[-1], list):
            assert len(heard[-1]) == sum("id" in one for one in message), heard
            for answer in heard[-1]:
                asked = next(one for one in message if one.get("id") == answer["id"])
                check(answer, asked, self.revision, self.is_exact)
        else:
            revision = MODERN if is_modern(message) else self.revision
            check(heard[-1], message, revision, self.is_exact)
        return status, heard

    def ask(self, message):
        """Returns the answer, which must be a single JSON body with the status for its code."""
        status, [answer] = self.hear(message)
        code = answer.get("error", {}).get("code")
        is_bad = self.revision == MODERN and code is not None and code != -32603
        assert status == (200 if not is_bad else 404 if code == -32601 else 400), (status, answer)
        return answer

    def tell(self, message):
        status, _, body = self.post(message)
        assert (status, body) == (202, b""), (status, body)

    def close(self):
        for method in ["GET", "DELETE"]:
            headers = self.target["headers"]
            asked = urllib.request.Request(self.target["url"], headers=headers, method=method)
            status, headers, _ = fetch(asked)
            assert (status, headers["Allow"]) == (405, "POST"), (method, status)


class Stdio:
    """One line per message."""

    def __init__(self, target):
        command = [target["command"], *target["args"]]
        pipe = subprocess.PIPE
        self.child = subprocess.Popen(command, env=target["env"], stdin=pipe, stdout=pipe)

    def tell(self, message):
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.child.stdin.write(line + b"\n")
        self.child.stdin.flush()

    def hear(self, message):
        """Returns no status, and all messages up to the answer."""
        self.tell(message)
        revision = MODERN if is_modern(message) else EXACT
        heard = [json.loads(self.child.stdout.readline())]
        while "method" in heard[-1]:
            check_notification(heard[-1], revision)
            heard.append(json.loads(self.child.stdout.readline()))
        check(heard[-1], message, revision, True)
        return None, heard

    def ask(self, message):
        _, [answer] = self.hear(message)
        return answer

    def close(self):
        self.child.stdin.close()
        assert self.child.wait(timeout=20) == 0
        assert self.child.stdout.read() == b"", "unexpected output"


def client_of(target, revision=EXACT):
    return Http(target, revision) if "url" in target else Stdio(target)


def is_modern(message):
    params = message.get("params") if isinstance(message, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and PREFIX + "protocolVersion" in meta


def fetch(asked):
    try:
        with urllib.request.urlopen(asked, timeout=60) as response:
            return response.status, response.headers, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def events(text):
    """The data of an event stream."""
    for event in text.replace("\r\n", "\n").split("\n\n"):
        lines = [line.removeprefix("data:") for line in event.split("\n") if line[:5] == "data:"]
        if lines:
            yield "\n".join(lines)
