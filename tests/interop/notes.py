"""The Python SDK, version 2, and the example server of the MCP crate."""

import asyncio
import json
import os

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

TARGET = json.loads(os.environ["INTEROP_TARGET"])
TOOLS = {"write", "read", "delete", "list", "count"}


async def talk(client):
    assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
    note = {"name": "milk", "text": "two litres"}
    assert not (await client.call_tool("write", note)).is_error
    read = await client.call_tool("read", {"name": "milk"})
    assert read.content[0].text == "two litres", read
    listed = await client.call_tool("list", {})
    assert "milk" in listed.structured_content["names"], listed
    unknown = await client.call_tool("read", {"name": "bread"})
    assert unknown.is_error and "bread" in unknown.content[0].text, unknown


async def main():
    for mode, revision in [("auto", "2026-07-28"), ("legacy", "2025-11-25")]:
        async with httpx2.AsyncClient(headers=TARGET["headers"], timeout=60) as http:
            transport = streamable_http_client(TARGET["url"], http_client=http)
            async with Client(transport, mode=mode) as client:
                assert client.protocol_version == revision, client.protocol_version
                await talk(client)


asyncio.run(main())
