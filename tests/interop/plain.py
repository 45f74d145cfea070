"""Plain messages, over HTTP and on lines. Everything that comes back is held against the schema of
its revision, be it a result, an error or said unasked."""

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
    """A request that says its revision."""
    params = dict(params or {})
    params["_meta"] = params.get("_meta", {}) | {
        PREFIX + "protocolVersion": version,
        PREFIX + "clientCapabilities": capabilities or {},
        PREFIX + "clientInfo": {"name": "plain", "version": "1"},
    }
    return request(method, params, request_id)


def said_id(message):
    """The id of a message, unless there is none that could be read."""
    value = message.get("id") if isinstance(message, dict) else None
    return value if isinstance(value, str) or type(value) is int else None


def of_nobody(answer, asked, revision, is_exact):
    """An answer to a message without an id that the schema knows, as the schema has it.

    The schema asks for a string or an integer, and those before 2025-11-25 ask for one in every
    answer. So these are the answers that are not to the letter of it, and there are no others:

    - on `/mcp/v1` and on lines the id of an error about an unreadable message is null, as JSON-RPC
      has it and the base document keeps; there null and fractions are ids, too, and come back;
    - on `/mcp` such an error has no id in any revision, as the later schemas have it.
    """
    if is_exact:
        given = asked.get("id") if isinstance(asked, dict) else None
        assert answer["id"] == (given if isinstance(given, float) else None), answer
        return answer | {"id": 0}
    assert "error" in answer and "id" not in answer, answer
    return answer | {"id": 0} if revision in LEGACY[:3] else answer


def check(answer, asked, revision, is_exact):
    """Holds the answer to a message against the schema."""
    if (asked_id := said_id(asked)) is None:
        answer = of_nobody(answer, asked, revision, is_exact)
    else:
        assert answer["id"] == asked_id and type(answer["id"]) is type(asked_id), answer
    if "error" in answer:
        check_error(answer, revision)
    else:
        check_result(answer, revision, asked["method"])


class Http:
    """One POST per message."""

    def __init__(self, door, revision=EXACT):
        self.door, self.revision = door, revision
        self.is_exact = not door.get("negotiates", False)

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
        return headers | self.door["headers"]

    def post(self, message, **changed):
        """What comes back for a message, or for anything else. A header that is None is left out."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        headers = self.headers(message) | {k.replace("_", "-"): v for k, v in changed.items()}
        headers = {name: value for name, value in headers.items() if value is not None}
        return fetch(urllib.request.Request(self.door["url"], body, headers))

    def hear(self, message, **changed):
        """The status, and all messages up to the answer."""
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
        """The answer, which comes alone and is none of HTTP."""
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
            headers = self.door["headers"]
            asked = urllib.request.Request(self.door["url"], headers=headers, method=method)
            status, headers, _ = fetch(asked)
            assert (status, headers["Allow"]) == (405, "POST"), (method, status)


class Stdio:
    """One line per message."""

    def __init__(self, door):
        command = [door["command"], *door["args"]]
        pipe = subprocess.PIPE
        self.child = subprocess.Popen(command, env=door["env"], stdin=pipe, stdout=pipe)

    def tell(self, message):
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.child.stdin.write(line + b"\n")
        self.child.stdin.flush()

    def hear(self, message):
        """No status, and all messages up to the answer."""
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
        assert self.child.stdout.read() == b"", "something was said unasked"


def door_of(door, revision=EXACT):
    return Http(door, revision) if "url" in door else Stdio(door)


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
    """The data of a stream of events."""
    for event in text.replace("\r\n", "\n").split("\n\n"):
        lines = [line.removeprefix("data:") for line in event.split("\n") if line[:5] == "data:"]
        if lines:
            yield "\n".join(lines)
