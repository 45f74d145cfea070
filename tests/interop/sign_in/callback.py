"""The parts of a client that a host provides to the Python SDKs."""

import asyncio
import json
import os
import subprocess
import time
import traceback
import urllib.request
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

URL = os.environ["INTEROP_URL"]
NAME = os.environ["INTEROP_CLIENT"]
# The address of the document of a client that does not register.
DOCUMENT = os.environ.get("INTEROP_DOCUMENT")
QUERY = {"query": "SELECT name FROM ware WHERE id = 1"}
# A change, for which the server sends a client that may only read back to the person.
CHANGE = {"query": "UPDATE ware SET price = price RETURNING name"}
# The command with which the person leaves the tenant, if there is a tenant.
LEAVE = json.loads(os.environ.get("INTEROP_LEAVE", "null"))
PATIENCE = 60
# The clock of the client and the server, and seconds after which a token has expired.
CLOCK = Path(os.environ["FAKETIME_TIMESTAMP_FILE"])
LIFETIME = 360


def expire():
    """Moves the clock behind the end of all access tokens so far."""
    following = CLOCK.with_suffix(".next")
    following.write_text(f"+{int(CLOCK.read_text()) + LIFETIME}")
    following.rename(CLOCK)


async def stay_out(callback, call):
    """Takes the person out of the tenant, and calls until the client wants the person back.

    A call that is under way at that moment may fail in another way.
    """
    await asyncio.to_thread(subprocess.run, LEAVE, check=True, stdout=subprocess.DEVNULL)
    callback.is_alone = True
    failure = None
    end = time.monotonic() + PATIENCE
    while not callback.wanted:
        assert time.monotonic() < end, "".join(traceback.format_exception(failure))
        try:
            await call()
        except Exception as error:
            failure = error


class Callback:
    """The address that the browser returns to, and the command that opens it."""

    async def __aenter__(self):
        self.server = await asyncio.start_server(self.answer, "127.0.0.1", 0)
        port = self.server.sockets[0].getsockname()[1]
        self.url = f"http://localhost:{port}/callback"
        self.queries = asyncio.Queue()
        self.opened = 0
        self.is_alone = False
        self.wanted = 0
        return self

    async def __aexit__(self, *_):
        self.server.close()

    async def answer(self, reader, writer):
        target = (await reader.readline()).split()[1].decode()
        while (await reader.readline()).strip():
            pass
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nDone.")
        await writer.drain()
        writer.close()
        if urlsplit(target).path == "/callback":
            self.queries.put_nowait(dict(parse_qsl(urlsplit(target).query)))

    async def open(self, address):
        if self.is_alone:
            self.wanted += 1
            raise RuntimeError("the person has left")
        self.opened += 1
        browser = os.environ["INTEROP_BROWSER"]
        await asyncio.to_thread(urllib.request.urlopen, browser, address.encode(), PATIENCE)

    async def returned(self):
        return await asyncio.wait_for(self.queries.get(), PATIENCE)


class Memory:
    """What a client keeps."""

    tokens = client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client
