"""The Python SDK, version 1."""

import asyncio

import httpx
from callback import DOCUMENT, NAME, PATIENCE, QUERY, URL, Callback, Memory
from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata


async def call(provider):
    async with httpx.AsyncClient(auth=provider, timeout=PATIENCE) as client:
        async with streamable_http_client(URL, http_client=client) as (read, write, _):
            async with ClientSession(read, write) as session:
                await session.initialize()
                result = await session.call_tool("query_database", QUERY)
                assert "kettle" in result.content[0].text, result


async def main():
    async with Callback() as callback:

        async def code():
            returned = await callback.returned()
            return returned["code"], returned["state"]

        memory = Memory()
        metadata = OAuthClientMetadata(client_name=NAME, redirect_uris=[callback.url])
        provider = OAuthClientProvider(
            URL, metadata, memory, callback.open, code, client_metadata_url=DOCUMENT
        )
        await call(provider)
        first = memory.tokens
        # The time at which it takes the token for expired.
        provider.context.token_expiry_time = 1
        await call(provider)
        assert memory.tokens.access_token != first.access_token
        assert memory.tokens.refresh_token != first.refresh_token
        assert callback.opened == 1, callback.opened


asyncio.run(main())
