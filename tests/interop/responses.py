"""All kinds of responses and notifications that the ordinary conversation lacks, each checked
against the schema of its revision."""

import json
import os
from concurrent.futures import ThreadPoolExecutor

from plain import EXACT, PREFIX, Http, Stdio, modern, request
from schemas import LEGACY, MODERN

TARGET = json.loads(os.environ["INTEROP_TARGET"])
QUERY = {"name": "query_database", "arguments": {"query": "SELECT 1 AS one"}}
SLOW = {
    "name": "query_database",
    "arguments": {"query": "SELECT pg_sleep(3.5)"},
    "_meta": {"progressToken": "p"},
}
ALL_CAPABILITIES = {"elicitation": {}, "sampling": {}, "roots": {}}

ASKING = [
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_sampling",
]

# Invalid requests, and the code of their refusal.
MALFORMED = [
    (b"{", -32700),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping"', -32700),
    (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32700),
    (b"17", -32600),
    (b'"ping"', -32600),
    (b"[]", -32600),
    ({"id": 7, "method": "ping"}, -32600),
    ({"jsonrpc": "1.0", "id": "seven", "method": "ping"}, -32600),
    ({"jsonrpc": "2.0", "id": 7}, -32600),
    ({"jsonrpc": "2.0", "id": 7, "method": 7}, -32600),
    (request("ping", request_id={}), -32600),
    (request("ping", request_id=True), -32600),
    (request("ping", []), -32602),
    (request("ping", "all"), -32602),
]

# Methods that need a header with their subject.
NAMED = ["tools/call", "resources/read", "prompts/get"]

# Requests, and the codes of their refusal: on `/mcp/v1`, in the other revisions with `initialize`,
# and in the newest. None means a result.
REFUSED = [
    ("no/such/method", {}, -32601, -32601, -32601),
    ("subscriptions/listen", {"notifications": {}}, -32601, -32601, -32601),
    ("initialize", {"protocolVersion": 20241105}, -32602, -32602, -32601),
    ("tools/call", {}, -32602, -32602, -32602),
    ("tools/call", {"name": "no_such_tool", "arguments": {}}, -32002, -32602, -32602),
    ("tools/call", {"name": "query_database", "arguments": []}, -32602, -32602, -32602),
    ("tools/call", {"name": "query_database", "arguments": {}}, None, None, None),
    ("tools/call", {"name": "query_database", "arguments": {"query": 7}}, None, None, None),
    ("resources/read", {}, -32602, -32602, -32602),
    ("resources/read", {"uri": "pg://nowhere"}, -32003, -32002, -32602),
    ("prompts/get", {"name": "no_such_prompt"}, -32603, -32602, -32602),
    ("prompts/get", {"name": "design-schema"}, None, -32602, -32602),
    ("prompts/get", {"name": "design-schema", "arguments": {"use_case": 7}}, *[-32602] * 3),
    ("tools/list", {"cursor": "made up"}, None, -32602, -32602),
    ("resources/list", {"cursor": "made up"}, None, -32602, -32602),
    ("prompts/list", {"cursor": 7}, None, -32602, -32602),
]


def code(answer):
    return answer.get("error", {}).get("code")


def expect(heard, expected, why):
    status, messages = heard
    assert code(messages[-1]) == expected, (why, status, messages)
    return status


def refusals(target, say, index):
    for method, params, *codes in REFUSED:
        expected = codes[index]
        if say is modern and isinstance(target, Http) and method in NAMED and not params:
            # The header would be empty.
            expected = -32020
        expect(target.hear(say(method, params)), expected, (method, params))


def exact(target):
    """`/mcp/v1`, or stdio."""
    on_lines = isinstance(target, Stdio)
    for message, expected in MALFORMED:
        expect(target.hear(message), expected, message)
    expect(target.hear([request("ping")]), -32600, "a batch")
    for given in [None, 1.5]:
        expect(target.hear(request("ping", request_id=given)), None, given)
    refusals(target, request, 0)
    if on_lines:
        expect(target.hear(request("server/discover")), -32602, "no revision is said")


def legacy(target):
    for message, expected in MALFORMED:
        status = expect(target.hear(message), expected, message)
        assert status == (200 if expected == -32602 else 400), (message, status)
    for given in [None, 1.5]:
        expect(target.hear(request("ping", request_id=given)), -32600, given)
    refusals(target, request, 1)
    batch = [
        request("ping", request_id=1),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        request("no/such/method", request_id="two"),
        request("tools/call", QUERY, request_id=3),
        request("initialize", request_id=4),
    ]
    if target.revision == "2025-03-26":
        _, [answers] = target.hear(batch)
        codes = {answer["id"]: code(answer) for answer in answers}
        assert codes == {1: None, "two": -32601, 3: None, 4: -32600}, answers
    else:
        assert expect(target.hear(batch), -32600, "a batch") == 400
    status, messages = target.hear(request("tools/call", SLOW))
    assert len(messages) > 1 and status == 200, messages


def modern_era(target):
    refusals(target, modern, 2)
    bare = {"_meta": {PREFIX + "protocolVersion": MODERN}}
    expect(target.hear(request("tools/list", bare)), -32602, bare)
    wrong = modern("tools/list")
    wrong["params"]["_meta"][PREFIX + "clientCapabilities"] = []
    expect(target.hear(wrong), -32602, "capabilities that are none")
    _, messages = target.hear(modern("tools/call", SLOW))
    assert len(messages) > 1, messages


def modern_on_lines(target):
    modern_era(target)
    _, [answer] = target.hear(modern("tools/list", version="2099-01-01"))
    assert answer["error"]["data"] == {"supported": [MODERN], "requested": "2099-01-01"}, answer


def modern_on_http(target):
    modern_era(target)
    for params in [None, {}, {"_meta": {}}]:
        expect(target.hear(request("tools/list", params)), -32602, params)
    for message, expected in MALFORMED:
        assert expect(target.hear(message), expected, message) == 400, message
    expect(target.hear([modern("tools/list")]), -32600, "a batch")
    call = modern("tools/call", QUERY)
    changes = [
        {"Mcp_Method": None},
        {"Mcp_Method": "tools/list"},
        {"Mcp_Name": None},
        {"Mcp_Name": "Query_Database"},
        {"Mcp_Name": "=?base64?cXVlcnk?="},
        {"MCP_Protocol_Version": None},
        {"MCP_Protocol_Version": "2025-11-25"},
    ]
    for changed in changes:
        assert expect(target.hear(call, **changed), -32020, changed) == 400
    for version in ["2099-01-01", "2025-11-25"]:
        message = modern("tools/list", version=version)
        status, [answer] = target.hear(message, MCP_Protocol_Version=version)
        assert (status, code(answer)) == (400, -32022), answer
        assert answer["error"]["data"] == {"supported": [MODERN], "requested": version}, answer


def confirmations(target):
    """Checks that writing needs a confirmation, in the revision that has elicitation."""
    able = {"elicitation": {}}
    insert = {"query": "INSERT INTO ware VALUES (10, 'pot', 1)"}
    call = {"name": "query_database", "arguments": insert}
    _, [asked] = target.hear(modern("tools/call", call, capabilities=able))
    assert asked["result"]["resultType"] == "input_required", asked
    state = asked["result"]["requestState"]
    for action, is_error in [("decline", True), ("accept", False)]:
        confirm = {"action": action, "content": {"confirm": True}}
        again = call | {"inputResponses": {"confirm": confirm}, "requestState": state}
        _, [done] = target.hear(modern("tools/call", again, capabilities=able))
        assert done["result"].get("isError", False) is is_error, done
    made_up = again | {"requestState": "AAAA"}
    expect(target.hear(modern("tools/call", made_up, capabilities=able)), -32602, "a made up state")


def structure(target):
    """Checks the structured content, by revision."""
    say = modern if target.revision == MODERN else request
    _, [answer] = target.hear(say("tools/call", QUERY))
    has_structure = "structuredContent" in answer["result"]
    assert has_structure is (target.revision >= "2025-06-18"), answer
    for method in ["tools/list", "resources/list", "resources/templates/list", "prompts/list"]:
        expect(target.hear(say(method, {})), None, method)
    params = {"uri": "pg://shop/public/ware"}
    expect(target.hear(say("resources/read", params)), None, params)
    if target.revision >= "2025-03-26":
        places = {"database": "shop", "schema": "public"}
        params = {
            "ref": {"type": "ref/resource", "uri": "pg://{database}/{schema}/{table}"},
            "argument": {"name": "table", "value": "wa"},
            "context": {"arguments": places},
        }
        expect(target.hear(say("completion/complete", params)), None, params)
        params["ref"] = {"type": "ref/prompt", "name": "no_such_prompt"}
        expect(target.hear(say("completion/complete", params)), -32602, params)


def unready(target):
    """Checks the answers while the database does not respond."""
    expect(target.hear(request("tools/call", QUERY)), -32001, "not ready")


def unready_in_modern(target):
    _, [answer] = target.hear(modern("tools/call", QUERY))
    assert answer["result"]["isError"] is True, answer


def fixtures(target):
    """Checks features that only the server of the conformance suite has."""
    _, [listed] = target.hear(modern("tools/list"))
    names = {tool["name"] for tool in listed["result"]["tools"]}
    # These ask on a stream, as in the revisions before.
    for name in sorted(names - set(ASKING)):
        params = {"name": name, "arguments": {}}
        params["_meta"] = {"progressToken": 1, PREFIX + "logLevel": "info"}
        expect(target.hear(modern("tools/call", params, capabilities=ALL_CAPABILITIES)), None, params)
        target.hear(modern("tools/call", params))
    params = {"name": "test_missing_capability", "arguments": {}}
    assert expect(target.hear(modern("tools/call", params)), -32021, params) == 400
    for resource in ["static-text", "static-binary", "template/1/data"]:
        params = {"uri": f"test://{resource}"}
        expect(target.hear(modern("resources/read", params)), None, params)
    _, [listed] = target.hear(modern("prompts/list"))
    for prompt in listed["result"]["prompts"]:
        given = {argument["name"]: "test://a" for argument in prompt.get("arguments", [])}
        params = {"name": prompt["name"], "arguments": given}
        expect(target.hear(modern("prompts/get", params, capabilities=ALL_CAPABILITIES)), None, params)


def visits(target):
    """The checks for a target."""
    kind = target.get("kind")
    if kind == "fixture":
        return [(fixtures, Http(target, MODERN))]
    if kind == "unready":
        return [(unready, Stdio(target)), (unready_in_modern, Stdio(target))]
    if kind == "writing":
        structures = [(structure, Http(target, revision)) for revision in [*LEGACY, MODERN]]
        return [*structures, (confirmations, Http(target, MODERN))]
    if target.get("negotiates"):
        all_legacy = [(legacy, Http(target, revision)) for revision in LEGACY]
        return [*all_legacy, (modern_on_http, Http(target, MODERN))]
    if "url" in target:
        return [(exact, Http(target))]
    return [(exact, Stdio(target)), (modern_on_lines, Stdio(target))]


with ThreadPoolExecutor() as pool:
    # In parallel: a statement that reports progress takes a while.
    tried = visits(TARGET)
    for outcome in [pool.submit(act, target) for act, target in tried]:
        outcome.result()
    for _, target in tried:
        target.close()
