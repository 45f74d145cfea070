"""The Python SDK, version 2."""

import asyncio

import httpx2
from callback import CHANGE, DOCUMENT, NAME, PATIENCE, QUERY, URL, Callback, Memory
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata


async def call(provider, arguments):
    async with httpx2.AsyncClient(auth=provider, timeout=PATIENCE) as http:
        async with Client(streamable_http_client(URL, http_client=http)) as client:
            result = await client.call_tool("query_database", arguments)
            assert "kettle" in result.content[0].text, result


async def main():
    async with Callback() as callback:

        async def code():
            return AuthorizationCodeResult(**await callback.returned())

        memory = Memory()
        metadata = OAuthClientMetadata(client_name=NAME, redirect_uris=[callback.url])
        provider = OAuthClientProvider(
            URL, metadata, memory, callback.open, code, client_metadata_url=DOCUMENT
        )
        await call(provider, QUERY)
        first = memory.tokens
        # The time at which it takes the token for expired.
        provider.context.token_expiry_time = 1
        await call(provider, QUERY)
        assert memory.tokens.access_token != first.access_token
        assert memory.tokens.refresh_token != first.refresh_token
        assert callback.opened == 1, callback.opened
        await call(provider, CHANGE)
        assert callback.opened == 2, callback.opened
        assert "mcp:write" in memory.tokens.scope, memory.tokens.scope


asyncio.run(main())
