"""mcp-remote, for hosts that cannot sign in."""

import asyncio
import json
import os
import tempfile
from pathlib import Path

from callback import DOCUMENT, NAME, QUERY, URL, expire
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def call(session):
    result = await session.call_tool("query_database", QUERY)
    assert "kettle" in result.content[0].text, result


def tokens(folder):
    [file] = folder.glob("*/*_tokens.json")
    return json.loads(file.read_text())


async def converse(folder):
    words = [os.environ["INTEROP_REMOTE"], URL, "--transport", "http-only", "--allow-http"]
    if DOCUMENT:
        words += ["--client-metadata-url", DOCUMENT]
    else:
        words += ["--static-oauth-client-metadata", json.dumps({"client_name": NAME})]
    environment = os.environ | {"LD_PRELOAD": os.environ["INTEROP_FAKETIME"]}
    environment["MCP_REMOTE_CONFIG_DIR"] = str(folder)
    parameters = StdioServerParameters(command="node", args=words, env=environment)
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        await call(session)
        for _ in range(3):
            before = tokens(folder)
            expire()
            await call(session)
            after = tokens(folder)
            assert after["access_token"] != before["access_token"]
            assert after["refresh_token"] != before["refresh_token"]


with tempfile.TemporaryDirectory() as name:
    asyncio.run(converse(Path(name)))
