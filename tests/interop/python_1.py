"""The Python SDK, version 1: the whole conversation, and two calls at once."""

import asyncio
import json
import os
from contextlib import asynccontextmanager

import httpx
from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

TARGET = json.loads(os.environ["INTEROP_TARGET"])
with open(os.environ["INTEROP_CONVERSATION"], encoding="utf-8") as file:
    CONVERSATION = json.load(file)
NEGOTIATES = TARGET.pop("negotiates", False)
REFUSED = {
    "tools/call": lambda session, params: session.call_tool(params["name"], params["arguments"]),
    "resources/read": lambda session, params: session.read_resource(params["uri"]),
    "prompts/get": lambda session, params: session.get_prompt(params["name"]),
}


@asynccontextmanager
async def connected():
    if "url" in TARGET:
        async with httpx.AsyncClient(headers=TARGET["headers"], timeout=60) as client:
            async with streamable_http_client(TARGET["url"], http_client=client) as (read, write, _):
                async with ClientSession(read, write) as session:
                    yield session
    else:
        parameters = StdioServerParameters(**TARGET)
        async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
            yield session


async def talk(session):
    opened = await session.initialize()
    assert opened.protocolVersion == ("2025-11-25" if NEGOTIATES else "2024-11-05"), opened
    assert opened.serverInfo.name == CONVERSATION["server"], opened
    await session.send_ping()
    await session.send_roots_list_changed()

    listed = {tool.name for tool in (await session.list_tools()).tools}
    assert set(CONVERSATION["tools"]) <= listed, listed
    for call in CONVERSATION["calls"] + CONVERSATION["unlisted_calls"]:
        result = await session.call_tool(call["tool"], call["arguments"])
        assert bool(result.isError) is call.get("isError", False), (call, result)
        assert all(part in result.content[0].text for part in call["text"]), (call, result)

    if CONVERSATION["reads"]:
        await read_resources(session)
    if CONVERSATION["prompts"]:
        await get_prompts(session)

    for refused in CONVERSATION["refusals"]:
        if not refused.get("typed", False):
            continue
        try:
            await REFUSED[refused["method"]](session, refused["params"])
        except McpError as error:
            expected = refused["legacy" if NEGOTIATES else "code"]
            assert error.error.code == expected, (refused, error.error)
        else:
            raise AssertionError(f"{refused} is served")


async def read_resources(session):
    uris = {str(resource.uri) for resource in (await session.list_resources()).resources}
    templates = (await session.list_resource_templates()).resourceTemplates
    assert bool(templates) is NEGOTIATES, templates
    for read in CONVERSATION["reads"]:
        assert read["uri"] in uris, uris
        contents = (await session.read_resource(read["uri"])).contents
        assert set(read["members"]) <= set(json.loads(contents[0].text)), contents


async def get_prompts(session):
    names = {prompt.name for prompt in (await session.list_prompts()).prompts}
    for get in CONVERSATION["prompts"]:
        assert get["name"] in names, names
        result = await session.get_prompt(get["name"], get["arguments"])
        assert result.messages[0].role == "user", result


async def at_once(session):
    """Checks that a slow call delays no other, and that a cancelled one is not answered."""
    slow, quick = CONVERSATION["slow"], CONVERSATION["calls"][0]
    slow = asyncio.create_task(session.call_tool(slow["tool"], slow["arguments"]))
    result = await session.call_tool(quick["tool"], quick["arguments"])
    assert quick["text"][0] in result.content[0].text, result
    assert not slow.done(), "the quick call waited for the slow one"
    assert not (await slow).isError
    cancelled = types.CancelledNotificationParams(requestId=10_000, reason="not there")
    notification = types.CancelledNotification(params=cancelled)
    await session.send_notification(types.ClientNotification(notification))
    await session.send_ping()


async def main():
    async with connected() as session:
        await talk(session)
        if "slow" in CONVERSATION:
            await at_once(session)


asyncio.run(main())
