"""FastMCP, with `server/discover` first, its default, and with `initialize`."""

import asyncio
import json
import os

from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from fastmcp.exceptions import ToolError
from mcp import MCPError

TARGET = json.loads(os.environ["INTEROP_TARGET"])
with open(os.environ["INTEROP_CONVERSATION"], encoding="utf-8") as file:
    CONVERSATION = json.load(file)
NEGOTIATES = TARGET.pop("negotiates", False)
MODERN = "2026-07-28"
REFUSED = {
    "tools/call": lambda client, params: client.call_tool(params["name"], params["arguments"]),
    "resources/read": lambda client, params: client.read_resource(params["uri"]),
    "prompts/get": lambda client, params: client.get_prompt(params["name"]),
}


def transport():
    if "url" not in TARGET:
        return StdioTransport(**TARGET, keep_alive=False)
    # It takes a token without `Bearer`.
    token = TARGET["headers"].get("Authorization", "").removeprefix("Bearer ")
    return StreamableHttpTransport(TARGET["url"], auth=token or None)


def revision(mode):
    """The revision that a client in this mode gets."""
    if mode != "legacy" and (NEGOTIATES or "url" not in TARGET):
        return MODERN
    return "2025-11-25" if NEGOTIATES else "2024-11-05"


async def talk(client, mode):
    assert client.protocol_version == revision(mode), client.protocol_version
    is_modern = client.protocol_version == MODERN
    # A client with a fixed revision does not ask for the server's name.
    assert mode == MODERN or client.server_info.name == CONVERSATION["server"], client.server_info

    listed = {tool.name for tool in await client.list_tools()}
    assert set(CONVERSATION["tools"]) <= listed, listed
    for call in CONVERSATION["calls"] + CONVERSATION["unlisted_calls"]:
        tool, arguments = call["tool"], call["arguments"]
        result = await client.call_tool(tool, arguments, raise_on_error=False)
        assert bool(result.is_error) is call.get("isError", False), (call, result)
        assert all(part in result.content[0].text for part in call["text"]), (call, result)
    failing = next(call for call in CONVERSATION["calls"] if call.get("isError"))
    try:
        await client.call_tool(failing["tool"], failing["arguments"])
    except ToolError as error:
        assert failing["text"][0] in str(error), error
    else:
        raise AssertionError(f"{failing} succeeds")

    if CONVERSATION["reads"]:
        await read_resources(client, is_modern)
    if CONVERSATION["prompts"]:
        await get_prompts(client)

    for refused in CONVERSATION["refusals"]:
        if not refused.get("typed", False):
            continue
        try:
            await REFUSED[refused["method"]](client, refused["params"])
        except MCPError as error:
            expected = -32602 if is_modern else refused["legacy" if NEGOTIATES else "code"]
            assert error.code == expected, (refused, error)
        else:
            raise AssertionError(f"{refused} is served")


async def read_resources(client, is_modern):
    uris = {str(resource.uri) for resource in await client.list_resources()}
    templates = await client.list_resource_templates()
    assert bool(templates) is (NEGOTIATES or is_modern), templates
    for read in CONVERSATION["reads"]:
        assert read["uri"] in uris, uris
        contents = await client.read_resource(read["uri"])
        assert set(read["members"]) <= set(json.loads(contents[0].text)), contents


async def get_prompts(client):
    names = {prompt.name for prompt in await client.list_prompts()}
    for get in CONVERSATION["prompts"]:
        assert get["name"] in names, names
        result = await client.get_prompt(get["name"], get["arguments"])
        assert result.messages[0].role == "user", result


async def give_up(client):
    """Checks that a cancelled call leaves the connection usable."""
    slow, quick = CONVERSATION["slow"], CONVERSATION["calls"][0]
    call = client.call_tool(slow["tool"], slow["arguments"])
    try:
        await asyncio.wait_for(call, timeout=0.5)
    except TimeoutError:
        pass
    result = await client.call_tool(quick["tool"], quick["arguments"])
    assert quick["text"][0] in result.content[0].text, result


async def main():
    modes = ["auto", "legacy"]
    if NEGOTIATES or "url" not in TARGET:
        modes.append(MODERN)
    for mode in modes:
        # The default mode.
        options = {} if mode == "auto" else {"mode": mode}
        async with Client(transport(), **options) as client:
            await talk(client, mode)
            if "slow" in CONVERSATION:
                await give_up(client)


asyncio.run(main())
