"""Plain messages: raw results against the schema of the revision, and the exact shapes."""

import json
import os
import subprocess
import urllib.error
import urllib.request

from mcp_types.methods import validate_server_result

REVISION = "2024-11-05"
DOOR = json.loads(os.environ["INTEROP_DOOR"])
with open(os.environ["INTEROP_CONVERSATION"], encoding="utf-8") as file:
    CONVERSATION = json.load(file)


class Http:
    """One POST per message."""

    def __init__(self, door, headers=None):
        self.url = door["url"]
        self.headers = door["headers"] if headers is None else headers

    def post(self, message):
        headers = {"Content-Type": "application/json", **self.headers}
        request = urllib.request.Request(self.url, json.dumps(message).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, response.headers, response.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def ask(self, message):
        status, headers, body = self.post(message)
        assert status == 200, (status, body)
        assert headers["Content-Type"] == "application/json", headers
        assert "Mcp-Session-Id" not in headers, headers
        return json.loads(body)

    def tell(self, message):
        status, _, body = self.post(message)
        assert (status, body) == (202, b""), (status, body)

    def close(self):
        for method in ["GET", "DELETE"]:
            request = urllib.request.Request(self.url, headers=self.headers, method=method)
            try:
                urllib.request.urlopen(request, timeout=60)
            except urllib.error.HTTPError as error:
                assert (error.code, error.headers["Allow"]) == (405, "POST"), (method, error)
            else:
                raise AssertionError(f"{method} is served")


class Stdio:
    """One line per message."""

    def __init__(self, door):
        command = [door["command"], *door["args"]]
        pipe = subprocess.PIPE
        self.child = subprocess.Popen(command, env=door["env"], stdin=pipe, stdout=pipe, text=True)

    def tell(self, message):
        self.child.stdin.write(json.dumps(message) + "\n")
        self.child.stdin.flush()

    def ask(self, message):
        self.tell(message)
        return json.loads(self.child.stdout.readline())

    def close(self):
        self.child.stdin.close()
        assert self.child.wait(timeout=20) == 0
        assert self.child.stdout.read() == "", "something was said unasked"


def ask(door, method, params=None, request_id=1):
    message = {"jsonrpc": "2.0", "id": request_id, "method": method}
    if params is not None:
        message["params"] = params
    answer = door.ask(message)
    assert answer["jsonrpc"] == "2.0", answer
    assert answer["id"] == request_id and type(answer["id"]) is type(request_id), answer
    assert set(answer) in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"}), answer
    return answer


def result(door, method, params=None, **more):
    answer = ask(door, method, params, **more)
    assert "result" in answer, answer
    if method != "ping":
        validate_server_result(method, REVISION, answer["result"])
    assert not {"resultType", "_meta", "structuredContent"} & set(answer["result"]), answer
    return answer["result"]


def only(members, value, optional=()):
    assert set(members) <= set(value) <= {*members, *optional}, value


def portable(schema):
    """What keeps every host from dropping a tool, or all of them."""
    assert schema["type"] == "object" and isinstance(schema["properties"], dict), schema
    assert isinstance(schema.get("required", []), list), schema
    assert not {"anyOf", "oneOf", "allOf", "$ref", "$dynamicRef"} & set(schema), schema
    for name, value in schema["properties"].items():
        assert value.get("description"), (name, value)
        assert value.get("type") != "array" or "items" in value, (name, value)


def opening(door):
    for version in [REVISION, "2025-11-25", "2026-07-28", None]:
        params = {"capabilities": {}, "clientInfo": {"name": "wire", "version": "1"}}
        if version:
            params["protocolVersion"] = version
        opened = result(door, "initialize", params, request_id=f"init {version}")
        only(["protocolVersion", "capabilities", "serverInfo"], opened, ["instructions"])
        assert opened["protocolVersion"] == REVISION, opened
        assert opened["capabilities"] == {"tools": {}, "resources": {}, "prompts": {}}, opened
        only(["name", "version"], opened["serverInfo"])
    for method in ["notifications/initialized", "notifications/cancelled", "notifications/none"]:
        door.tell({"jsonrpc": "2.0", "method": method, "params": {"requestId": 99}})
    assert result(door, "ping", request_id=2**53 + 1) == {}


def lists(door):
    tools = result(door, "tools/list")["tools"]
    for tool in tools:
        only(["name", "description", "inputSchema"], tool)
        assert tool["name"].replace("_", "a").isalnum() and tool["description"], tool
        portable(tool["inputSchema"])
    for entry in result(door, "resources/list")["resources"]:
        only(["uri", "name", "description", "mimeType"], entry)
    for prompt in result(door, "prompts/list")["prompts"]:
        only(["name", "description"], prompt, ["arguments"])
        for argument in prompt.get("arguments", []):
            only(["name"], argument, ["description", "required", "type"])
    assert result(door, "resources/templates/list") == {"resourceTemplates": []}
    return {tool["name"] for tool in tools}


def conversation(door):
    listed = lists(door)
    for name in CONVERSATION["tools"]:
        assert name in listed, f"{name} is not offered"
    for call in CONVERSATION["calls"] + CONVERSATION["unlisted_calls"]:
        answer = result(door, "tools/call", {"name": call["tool"], "arguments": call["arguments"]})
        only(["content"], answer, ["isError"])
        assert answer.get("isError", False) is call.get("isError", False), (call, answer)
        text = answer["content"][0]["text"]
        assert all(part in text for part in call["text"]), (call, text)
    for read in CONVERSATION["reads"]:
        for content in result(door, "resources/read", {"uri": read["uri"]})["contents"]:
            only(["uri", "mimeType", "text"], content)
            assert set(read["members"]) <= set(json.loads(content["text"])), content
    for get in CONVERSATION["prompts"]:
        params = {"name": get["name"], "arguments": get["arguments"]}
        assert result(door, "prompts/get", params)["messages"], get
    for refused in CONVERSATION["refusals"]:
        answer = ask(door, refused["method"], refused["params"])
        # A client on lines that has not said which revision it asks in is told to.
        expected = refused.get("stdio", refused["code"]) if "args" in DOOR else refused["code"]
        assert answer["error"]["code"] == expected, (refused, answer)


def login(door):
    """Without a token there is the login and nothing else; then there is a session."""
    stranger = Http(door, {})
    status, headers, _ = stranger.post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert (status, headers["WWW-Authenticate"]) == (401, "Bearer"), (status, headers)
    wrong = Http(door, {"Authorization": "Bearer wrong"})
    status, _, _ = wrong.post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert status == 401, status
    params = {"name": "authenticate_user", "arguments": door["login"]}
    session = json.loads(result(stranger, "tools/call", params)["content"][0]["text"])
    assert session["success"] is True, session.keys()
    conversation(Http(door, {"Authorization": f"Bearer {session['session_token']}"}))


door = Http(DOOR) if "url" in DOOR else Stdio(DOOR)
opening(door)
conversation(door)
door.close()
if "login" in DOOR:
    login(DOOR)
