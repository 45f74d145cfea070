"""FastMCP, which opens the browser and listens by itself."""

import asyncio
import warnings

from callback import CHANGE, DOCUMENT, NAME, QUERY, URL, expire
from fastmcp import Client
from fastmcp.client.auth import OAuth

# Tokens in memory are what is wanted here.
warnings.simplefilter("ignore")


async def call(client, arguments):
    result = await client.call_tool("query_database", arguments)
    assert "kettle" in result.content[0].text, result


async def main():
    provider = OAuth(client_name=NAME, client_metadata_url=DOCUMENT, callback_timeout=60)
    async with Client(URL, auth=provider) as client:
        await call(client, QUERY)
        tokens = provider.token_storage_adapter.get_tokens
        for _ in range(3):
            before = await tokens()
            expire()
            await call(client, QUERY)
            after = await tokens()
            assert after.access_token != before.access_token
            assert after.refresh_token != before.refresh_token
        await call(client, CHANGE)
        after = await tokens()
        assert "mcp:write" in after.scope, after.scope


asyncio.run(main())
