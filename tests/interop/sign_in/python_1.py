"""The Python SDK, version 1."""

import asyncio

import httpx
from callback import DOCUMENT, NAME, PATIENCE, QUERY, URL, Callback, Memory, expire
from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata


async def call(session):
    result = await session.call_tool("query_database", QUERY)
    assert "kettle" in result.content[0].text, result


async def converse(provider, memory):
    async with httpx.AsyncClient(auth=provider, timeout=PATIENCE) as client:
        async with streamable_http_client(URL, http_client=client) as (read, write, _):
            async with ClientSession(read, write) as session:
                await session.initialize()
                await call(session)
                for _ in range(3):
                    before = memory.tokens
                    expire()
                    await call(session)
                    assert memory.tokens.access_token != before.access_token
                    assert memory.tokens.refresh_token != before.refresh_token


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
        await converse(provider, memory)
        assert callback.opened == 1, callback.opened


asyncio.run(main())
