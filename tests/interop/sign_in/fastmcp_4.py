"""FastMCP, which opens the browser and listens by itself."""

import asyncio
import warnings

from callback import CHANGE, DOCUMENT, NAME, QUERY, URL
from fastmcp import Client
from fastmcp.client.auth import OAuth

# Tokens in memory are what is wanted here.
warnings.simplefilter("ignore")


async def call(provider, arguments):
    async with Client(URL, auth=provider) as client:
        result = await client.call_tool("query_database", arguments)
        assert "kettle" in result.content[0].text, result


async def main():
    provider = OAuth(client_name=NAME, client_metadata_url=DOCUMENT, callback_timeout=60)
    await call(provider, QUERY)
    first = await provider.token_storage_adapter.get_tokens()
    # The time at which it takes the token for expired.
    provider.context.token_expiry_time = 1
    await call(provider, QUERY)
    second = await provider.token_storage_adapter.get_tokens()
    assert second.access_token != first.access_token
    assert second.refresh_token != first.refresh_token
    await call(provider, CHANGE)
    third = await provider.token_storage_adapter.get_tokens()
    assert "mcp:write" in third.scope, third.scope


asyncio.run(main())
