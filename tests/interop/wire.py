"""Plain messages to `/mcp/v1`: the whole conversation, checked exactly."""

import json
import os

from plain import EXACT, Http, client_of, request

TARGET = json.loads(os.environ["INTEROP_TARGET"])
with open(os.environ["INTEROP_CONVERSATION"], encoding="utf-8") as file:
    CONVERSATION = json.load(file)


def ask(target, method, params=None, request_id=1):
    answer = target.ask(request(method, params, request_id))
    assert answer["jsonrpc"] == "2.0", answer
    assert set(answer) in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"}), answer
    return answer


def result(target, method, params=None, **more):
    answer = ask(target, method, params, **more)
    assert "result" in answer, answer
    assert not {"resultType", "_meta", "structuredContent"} & set(answer["result"]), answer
    return answer["result"]


def only(members, value, optional=()):
    assert set(members) <= set(value) <= {*members, *optional}, value


def portable(schema):
    """Checks for the schema features that make some hosts drop tools."""
    assert schema["type"] == "object" and isinstance(schema["properties"], dict), schema
    assert isinstance(schema.get("required", []), list), schema
    assert not {"anyOf", "oneOf", "allOf", "$ref", "$dynamicRef"} & set(schema), schema
    for name, value in schema["properties"].items():
        assert value.get("description"), (name, value)
        assert value.get("type") != "array" or "items" in value, (name, value)


def opening(target):
    for version in [EXACT, "2025-11-25", "2026-07-28", None]:
        params = {"capabilities": {}, "clientInfo": {"name": "wire", "version": "1"}}
        if version:
            params["protocolVersion"] = version
        opened = result(target, "initialize", params, request_id=f"init {version}")
        only(["protocolVersion", "capabilities", "serverInfo"], opened, ["instructions"])
        assert opened["protocolVersion"] == EXACT, opened
        assert opened["capabilities"] == {"tools": {}, "resources": {}, "prompts": {}}, opened
        only(["name", "version"], opened["serverInfo"])
    for method in ["notifications/initialized", "notifications/cancelled", "notifications/none"]:
        target.tell({"jsonrpc": "2.0", "method": method, "params": {"requestId": 99}})
    assert result(target, "ping", request_id=2**53 + 1) == {}


def lists(target):
    tools = result(target, "tools/list")["tools"]
    for tool in tools:
        only(["name", "description", "inputSchema"], tool)
        assert tool["name"].replace("_", "a").isalnum() and tool["description"], tool
        portable(tool["inputSchema"])
    for entry in result(target, "resources/list")["resources"]:
        only(["uri", "name", "description", "mimeType"], entry)
    for prompt in result(target, "prompts/list")["prompts"]:
        only(["name", "description"], prompt, ["arguments"])
        for argument in prompt.get("arguments", []):
            only(["name"], argument, ["description", "required", "type"])
    assert result(target, "resources/templates/list") == {"resourceTemplates": []}
    return {tool["name"] for tool in tools}


def conversation(target):
    listed = lists(target)
    for name in CONVERSATION["tools"]:
        assert name in listed, f"{name} is not offered"
    for call in CONVERSATION["calls"] + CONVERSATION["unlisted_calls"]:
        answer = result(target, "tools/call", {"name": call["tool"], "arguments": call["arguments"]})
        only(["content"], answer, ["isError"])
        assert answer.get("isError", False) is call.get("isError", False), (call, answer)
        text = answer["content"][0]["text"]
        assert all(part in text for part in call["text"]), (call, text)
    for read in CONVERSATION["reads"]:
        for content in result(target, "resources/read", {"uri": read["uri"]})["contents"]:
            only(["uri", "mimeType", "text"], content)
            assert set(read["members"]) <= set(json.loads(content["text"])), content
    for get in CONVERSATION["prompts"]:
        params = {"name": get["name"], "arguments": get["arguments"]}
        assert result(target, "prompts/get", params)["messages"], get
    for refused in CONVERSATION["refusals"]:
        answer = ask(target, refused["method"], refused["params"])
        # A stdio client that has not named its revision gets an error.
        expected = refused.get("stdio", refused["code"]) if "args" in TARGET else refused["code"]
        assert answer["error"]["code"] == expected, (refused, answer)


def login(target):
    """Without a token only the login works; it makes a session."""
    unauthenticated = Http(target | {"headers": {}})
    status, headers, _ = unauthenticated.post(request("tools/list"))
    assert (status, headers["WWW-Authenticate"]) == (401, "Bearer"), (status, headers)
    wrong = Http(target | {"headers": {"Authorization": "Bearer wrong"}})
    status, _, _ = wrong.post(request("tools/list"))
    assert status == 401, status
    params = {"name": "authenticate_user", "arguments": target["login"]}
    session = json.loads(result(unauthenticated, "tools/call", params)["content"][0]["text"])
    assert session["success"] is True, session.keys()
    bearer = {"Authorization": f"Bearer {session['session_token']}"}
    conversation(Http(target | {"headers": bearer}))


target = client_of(TARGET)
opening(target)
conversation(target)
target.close()
if "login" in TARGET:
    login(TARGET)
