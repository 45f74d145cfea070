"""The Python SDK, version 2, with `server/discover` first, and with `initialize`."""

import asyncio
import json
import os
from contextlib import asynccontextmanager

import httpx2
from mcp import MCPError
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

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


@asynccontextmanager
async def connected(mode):
    if "url" in TARGET:
        async with httpx2.AsyncClient(headers=TARGET["headers"], timeout=60) as http:
            transport = streamable_http_client(TARGET["url"], http_client=http)
            async with Client(transport, mode=mode) as client:
                yield client
    else:
        transport = stdio_client(StdioServerParameters(**TARGET))
        async with Client(transport, mode=mode) as client:
            yield client


def revision(mode):
    """The revision that a client in this mode gets."""
    if mode != "legacy" and (NEGOTIATES or "url" not in TARGET):
        return MODERN
    return "2025-11-25" if NEGOTIATES else "2024-11-05"


async def talk(client, mode):
    assert client.protocol_version == revision(mode), client.protocol_version
    is_modern = client.protocol_version == MODERN
    # This client knows the name only from the opening.
    assert is_modern or client.server_info.name == CONVERSATION["server"], client.server_info

    listed = {tool.name for tool in (await client.list_tools()).tools}
    assert set(CONVERSATION["tools"]) <= listed, listed
    for call in CONVERSATION["calls"] + CONVERSATION["unlisted_calls"]:
        result = await client.call_tool(call["tool"], call["arguments"])
        assert bool(result.is_error) is call.get("isError", False), (call, result)
        assert all(part in result.content[0].text for part in call["text"]), (call, result)

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
    uris = {str(resource.uri) for resource in (await client.list_resources()).resources}
    templates = (await client.list_resource_templates()).resource_templates
    assert bool(templates) is (NEGOTIATES or is_modern), templates
    for read in CONVERSATION["reads"]:
        assert read["uri"] in uris, uris
        contents = (await client.read_resource(read["uri"])).contents
        assert set(read["members"]) <= set(json.loads(contents[0].text)), contents


async def get_prompts(client):
    names = {prompt.name for prompt in (await client.list_prompts()).prompts}
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
        async with connected(mode) as client:
            await talk(client, mode)
            if "slow" in CONVERSATION:
                await give_up(client)


asyncio.run(main())
