"""The command line of the MCP Inspector, with one process per request."""

import json
import os
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TARGET = json.loads(os.environ["INTEROP_TARGET"])
NEGOTIATES = TARGET.pop("negotiates", False)
MODULES = Path(os.environ["INTEROP_MODULES"])
INSPECTOR = MODULES / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
CONVERSATION = json.loads(Path(os.environ["INTEROP_CONVERSATION"]).read_text(encoding="utf-8"))
# Its exit codes for an unknown tool, and for a tool that failed.
TOOL_FAILED = 5


def target(folder):
    """The arguments that name the server."""
    if "url" in TARGET:
        headers = [f"{name}: {value}" for name, value in TARGET["headers"].items()]
        # Otherwise it searches the keychain of the machine for the server.
        headed = ["--header", *headers, "--stored-auth-only"] if headers else []
        return [TARGET["url"], "--transport", "http", *headed]
    config = folder / "servers.json"
    config.write_text(json.dumps({"mcpServers": {"ziggurat": {"type": "stdio", **TARGET}}}))
    return ["--config", str(config), "--server", "ziggurat"]


def main():
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(2) as pool:
        folder = Path(name)
        where = target(folder)
        # It stores servers in the home folder, and uses the keychain.
        environment = os.environ | {"HOME": name, "MCP_INSPECTOR_SECRET_STORE": "memory"}

        def inspect(method, *more, code=0, era="legacy"):
            words = ["--cli", *where, "--protocol-era", era, "--format", "json", "--method", method]
            done = subprocess.run(
                ["node", str(INSPECTOR), *words, *more],
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=60,
            )
            said = f"{method} {more}: {done.returncode}\n{done.stdout}\n{done.stderr}"
            assert done.returncode == code, said
            return said if code else json.loads(done.stdout)["result"]

        def ask(*words, **more):
            return pool.submit(inspect, *words, **more)

        def call(tool, arguments, **more):
            words = ["--tool-name", tool, "--tool-args-json", json.dumps(arguments)]
            return ask("tools/call", *words, **more)

        opened = ask("initialize")
        # Tries the newest revision first, and falls back.
        automatic = ask("tools/list", era="auto")
        modern = ask("tools/list", era="modern") if NEGOTIATES else None
        tools = ask("tools/list", "--strict")
        # Of each kind one call, since each is a process.
        calls = CONVERSATION["calls"]
        failing = next(call for call in calls if call.get("isError"))
        succeeded = call(calls[0]["tool"], calls[0]["arguments"])
        failed = call(failing["tool"], failing["arguments"], code=TOOL_FAILED)
        unknown = call("no_such_tool", {}, code=TOOL_FAILED)
        resources = ask("resources/list") if CONVERSATION["reads"] else None
        reads = [ask("resources/read", "--uri", read["uri"]) for read in CONVERSATION["reads"]]
        prompts = ask("prompts/list") if CONVERSATION["prompts"] else None
        got = [
            ask(
                "prompts/get",
                *["--prompt-name", get["name"], "--prompt-args"],
                *[f"{key}={value}" for key, value in get["arguments"].items()],
            )
            for get in CONVERSATION["prompts"]
            if get["arguments"]
        ]

        expected = "2025-11-25" if NEGOTIATES else "2024-11-05"
        assert opened.result()["protocolVersion"] == expected, opened.result()
        listed = {tool["name"] for tool in tools.result()["tools"]}
        assert set(CONVERSATION["tools"]) <= listed, listed
        # On stdio it gets another revision, with a list of its own.
        automatic_tools = {tool["name"] for tool in automatic.result()["tools"]}
        assert set(CONVERSATION["tools"]) <= automatic_tools, automatic_tools
        if NEGOTIATES:
            modern_tools = {tool["name"] for tool in modern.result()["tools"]}
            assert modern_tools == listed, modern_tools
        text = succeeded.result()["content"][0]["text"]
        assert all(part in text for part in calls[0]["text"]), text
        assert failing["text"][0] in failed.result(), failed.result()
        assert "no_such_tool" in unknown.result(), unknown.result()
        if resources:
            uris = {resource["uri"] for resource in resources.result()["resources"]}
            assert {read["uri"] for read in CONVERSATION["reads"]} <= uris, uris
        for read in reads:
            assert read.result()["contents"][0]["text"]
        if prompts:
            names = {prompt["name"] for prompt in prompts.result()["prompts"]}
            assert {get["name"] for get in CONVERSATION["prompts"]} <= names, names
        for one in got:
            assert one.result()["messages"]


if __name__ == "__main__":
    main()
