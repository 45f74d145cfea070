"""The Python SDK, version 2."""

import asyncio
from contextlib import asynccontextmanager

import httpx2
from callback import CHANGE, DOCUMENT, LEAVE, NAME, PATIENCE, QUERY, URL
from callback import Callback, Memory, expire, stay_out
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata


@asynccontextmanager
async def connected(provider):
    async with httpx2.AsyncClient(auth=provider, timeout=PATIENCE) as http:
        async with Client(streamable_http_client(URL, http_client=http)) as client:
            yield client


async def call(client, arguments):
    result = await client.call_tool("query_database", arguments)
    assert "kettle" in result.content[0].text, result


async def call_once(provider):
    async with connected(provider) as client:
        await call(client, QUERY)


async def converse(provider, memory, callback):
    async with connected(provider) as client:
        await call(client, QUERY)
        for _ in range(3):
            before = memory.tokens
            expire()
            await call(client, QUERY)
            assert memory.tokens.access_token != before.access_token
            assert memory.tokens.refresh_token != before.refresh_token
        assert callback.opened == 1, callback.opened
        await call(client, CHANGE)
        assert callback.opened == 2, callback.opened
        assert "mcp:write" in memory.tokens.scope, memory.tokens.scope


async def main():
    async with Callback() as callback:

        async def code():
            return AuthorizationCodeResult(**await callback.returned())

        memory = Memory()
        metadata = OAuthClientMetadata(client_name=NAME, redirect_uris=[callback.url])
        provider = OAuthClientProvider(
            URL, metadata, memory, callback.open, code, client_metadata_url=DOCUMENT
        )
        await converse(provider, memory, callback)
        if LEAVE:
            await stay_out(callback, lambda: call_once(provider))


asyncio.run(main())
