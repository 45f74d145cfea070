"""Plain messages to `/mcp`, which negotiates: the whole conversation in each revision."""

import json
import os

from plain import PREFIX, client_of, modern, request
from schemas import LEGACY, MODERN

TARGET = json.loads(os.environ["INTEROP_TARGET"])
with open(os.environ["INTEROP_CONVERSATION"], encoding="utf-8") as file:
    CONVERSATION = json.load(file)
STRUCTURED = ["query_database", "get_schema_info", "execute_explain"]
CACHED = {
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
}


class Talk:
    def __init__(self, target, revision):
        self.target, self.revision = client_of(target, revision), revision

    def answer(self, method, params=None):
        say = modern if self.revision == MODERN else request
        return self.target.ask(say(method, params or {}, "a"))

    def result(self, method, params=None):
        answer = self.answer(method, params)
        assert "result" in answer, answer
        result = answer["result"]
        is_modern = self.revision == MODERN
        assert (result.get("resultType") == "complete") is is_modern, result
        assert (PREFIX + "serverInfo" in result.get("_meta", {})) is is_modern, result
        assert ("ttlMs" in result) is (is_modern and method in CACHED), result
        return result

    def code(self, method, params=None):
        return self.answer(method, params)["error"]["code"]

    def opened(self):
        if self.revision == MODERN:
            found = self.result("server/discover")
            assert found["supportedVersions"] == [MODERN], found
            for method in ["initialize", "ping", "logging/setLevel", "resources/subscribe"]:
                assert self.code(method) == -32601, method
            assert self.code("subscriptions/listen", {"notifications": {}}) == -32601
            return
        params = {
            "protocolVersion": self.revision,
            "capabilities": {},
            "clientInfo": {"name": "revisions", "version": "1"},
        }
        opened = self.result("initialize", params)
        assert opened["protocolVersion"] == self.revision, opened
        assert self.result("ping") == {}

    def lists(self):
        tools = self.result("tools/list")["tools"]
        names = {tool["name"] for tool in tools}
        assert {*CONVERSATION["tools"], "execute_explain"} <= names, names
        for tool in tools:
            assert ("annotations" in tool) is (self.revision >= "2025-03-26"), tool
            assert ("title" in tool) is (self.revision >= "2025-06-18"), tool
            assert not {"anyOf", "oneOf", "allOf", "$ref"} & set(tool["inputSchema"]), tool
        for method in ["resources/list", "resources/templates/list", "prompts/list"]:
            assert self.result(method), method
        if self.revision >= "2025-03-26":
            subject = {"type": "ref/prompt", "name": "design-schema"}
            argument = {"name": "use_case", "value": "o"}
            params = {"ref": subject, "argument": argument}
            assert self.result("completion/complete", params)["completion"]["values"]

    def is_structured(self, call):
        is_asked = TARGET.get("structured", False) and self.revision >= "2025-06-18"
        is_said = call["tool"] in STRUCTURED and not call.get("isError", False)
        return is_asked and is_said

    def conversation(self):
        for call in CONVERSATION["calls"] + CONVERSATION["unlisted_calls"]:
            params = {"name": call["tool"], "arguments": call["arguments"]}
            answer = self.result("tools/call", params)
            assert answer.get("isError", False) is call.get("isError", False), (call, answer)
            assert all(part in answer["content"][0]["text"] for part in call["text"]), call
            has_structure = self.is_structured(call)
            assert ("structuredContent" in answer) is has_structure, (call, answer)
        for read in CONVERSATION["reads"]:
            assert self.result("resources/read", {"uri": read["uri"]})["contents"]
        for get in CONVERSATION["prompts"]:
            params = {"name": get["name"], "arguments": get["arguments"]}
            assert self.result("prompts/get", params)["messages"], get
        assert self.code("tools/call", {"name": "no_such_tool", "arguments": {}}) == -32602
        expected = -32602 if self.revision == MODERN else -32002
        assert self.code("resources/read", {"uri": "pg://nowhere"}) == expected
        assert self.code("prompts/get", {"name": "no_such_prompt"}) == -32602
        assert self.code("tools/list", {"cursor": "made up"}) == -32602


# On stdio only the newest revision is chosen per request.
for revision in [*LEGACY, MODERN] if "url" in TARGET else [MODERN]:
    talk = Talk(TARGET, revision)
    talk.opened()
    talk.lists()
    talk.conversation()
    talk.target.close()
