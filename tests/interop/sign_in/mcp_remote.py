"""mcp-remote, for hosts that cannot sign in: once with a browser, then with a dead token."""

import asyncio
import json
import os
import tempfile
from pathlib import Path

from callback import DOCUMENT, NAME, QUERY, URL
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def call(folder):
    words = [os.environ["INTEROP_REMOTE"], URL, "--transport", "http-only", "--allow-http"]
    if DOCUMENT:
        words += ["--client-metadata-url", DOCUMENT]
    else:
        words += ["--static-oauth-client-metadata", json.dumps({"client_name": NAME})]
    environment = os.environ | {"MCP_REMOTE_CONFIG_DIR": str(folder)}
    parameters = StdioServerParameters(command="node", args=words, env=environment)
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        result = await session.call_tool("query_database", QUERY)
        assert "kettle" in result.content[0].text, result


async def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        await call(folder)
        [file] = folder.glob("*/*_tokens.json")
        before = json.loads(file.read_text())
        # A token that the server refuses, with a time in the past.
        dead = {"access_token": "e" + before["access_token"], "expires_at": 1, "expires_in": 1}
        file.write_text(json.dumps(before | dead))
        await call(folder)
        after = json.loads(file.read_text())
        assert after["access_token"] not in [before["access_token"], dead["access_token"]]
        assert after["refresh_token"] != before["refresh_token"]


asyncio.run(main())
