"""The Python SDK, version 2, with assertions of an identity provider in place of a page."""

import asyncio
import os
from urllib.parse import urlsplit

import httpx2
from callback import CHANGE, PATIENCE, QUERY, URL, Memory, expire
from mcp.client.auth.extensions.identity_assertion import IdentityAssertionOAuthProvider
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

IDP = os.environ["INTEROP_IDP"]
CLIENT = os.environ["INTEROP_CLIENT_ID"]


async def assertion(audience, resource):
    form = {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "requested_token_type": "urn:ietf:params:oauth:token-type:id-jag",
        "audience": audience,
        "resource": resource,
        "scope": "mcp mcp:write",
        "subject_token": os.environ["INTEROP_SIGNED_IN"],
        "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
        "client_id": CLIENT,
    }
    async with httpx2.AsyncClient(timeout=PATIENCE) as http:
        answer = await http.post(f"{IDP}/token", data=form)
        return answer.raise_for_status().json()["access_token"]


async def call(client, arguments):
    result = await client.call_tool("query_database", arguments)
    assert "kettle" in result.content[0].text, result


async def main():
    memory = Memory()
    provider = IdentityAssertionOAuthProvider(
        server_url=URL,
        storage=memory,
        client_id=CLIENT,
        client_secret=os.environ["INTEROP_CLIENT_SECRET"],
        issuer="://".join(urlsplit(URL)[:2]),
        assertion_provider=assertion,
        scope="mcp",
    )
    async with httpx2.AsyncClient(auth=provider, timeout=PATIENCE) as http:
        async with Client(streamable_http_client(URL, http_client=http)) as client:
            await call(client, QUERY)
            for _ in range(3):
                before = memory.tokens
                expire()
                await call(client, QUERY)
                assert memory.tokens.access_token != before.access_token
                assert memory.tokens.refresh_token is None, "a new assertion takes its place"
            await call(client, CHANGE)
            assert memory.tokens.scope == "mcp mcp:write", memory.tokens.scope


asyncio.run(main())
