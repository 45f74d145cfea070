"""Bodies that a server would have no memory for, of requests and of providers.

`bash tests/long/run bodies`: 1,000 connections of one token with 9.9 MB each, not finished and
then finished, and 40 tokens with as much at once, beside 20 other callers. ziggurat-tools stays
below 160 MiB, each of the other callers is served within 2 s (10 s in the tenth), and each request
that is refused reads why. Then a provider never ends its answers to 40 questions at once, whole,
streamed and as vectors: ziggurat-rag stays below 128 MiB, and each question gets an error.
"""

import json
import multiprocessing
import os
import resource
import selectors
import signal
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from another_program import connect
from callers import Caller, entry, free_port, write_configuration, write_tokens
from faults import Faults
from processes import database, listening, peak_memory

TENTH = "--tenth" in sys.argv
SOCKETS = 100 if TENTH else 1000
TOKENS = 40
HONEST = 20
QUESTIONS = 40
LENGTH = 10_000_000
# Of a request that is not finished.
SENT = 9_900_000
# The tenth runs in the gate, beside whatever else the machine does then.
BOUND = 10.0 if TENTH else 2.0
PATIENCE = 120
TOOLS_KIB = 160 << 10
RAG_KIB = 128 << 10

TABLE = """
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE documents (id int PRIMARY KEY, content text, embedding vector(256));
INSERT INTO documents SELECT n, 'Wool is washed in cold water, the ' || n || 'th time.',
    array_fill(n / 100.0, ARRAY[256])::vector FROM generate_series(1, 20) n;
"""


class Upload:
    """A request on a socket of its own, of which a part is sent.

    It stops to send when the answer comes, as most clients do, or else sends all of its part first.
    """

    def __init__(self, address, token, body, part, is_polite):
        host, port = address.removeprefix("http://").split(":")
        head = (
            f"POST /mcp/v1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        ).encode()
        self.head, self.body, self.part = head, body, part
        self.sent, self.answer, self.is_over = -len(head), b"", False
        self.is_polite, self.must_end = is_polite, part == len(body)
        self.socket = socket.create_connection((host, int(port)))
        self.socket.setblocking(False)

    def events(self):
        if self.sent < self.part and not (self.answer and self.is_polite):
            return selectors.EVENT_READ | selectors.EVENT_WRITE
        return selectors.EVENT_READ

    def write(self):
        if self.sent < 0:
            piece = self.head[self.sent :]
        else:
            piece = memoryview(self.body)[self.sent : min(self.part, self.sent + (256 << 10))]
        try:
            self.sent += self.socket.send(piece)
        except BlockingIOError:
            pass
        except OSError:
            # The server has closed the connection; what it said can still be read.
            self.part = self.sent

    def read(self):
        try:
            piece = self.socket.recv(64 << 10)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        self.answer += piece
        head, _, body = self.answer.partition(b"\r\n\r\n")
        length = [line for line in head.lower().split(b"\r\n") if b"content-length:" in line]
        is_whole = length and len(body) >= int(length[0].split(b":")[1])
        self.is_over = self.is_over or not piece or bool(is_whole)

    def said(self):
        """The status and the text of the answer."""
        head, _, body = self.answer.partition(b"\r\n\r\n")
        return f"{head[9:12].decode()} {body.decode(errors='replace')[:300]}"


def drive(uploads, faults):
    """Sends and reads until each is answered, or is one of those that the server waits for."""
    deadline = time.monotonic() + PATIENCE
    with selectors.DefaultSelector() as selector:
        for upload in uploads:
            selector.register(upload.socket, upload.events(), upload)
        open_ones = list(uploads)
        quiet = None
        while open_ones and time.monotonic() < deadline:
            ready = selector.select(0.2)
            for key, events in ready:
                upload = key.data
                if events & selectors.EVENT_READ:
                    upload.read()
                if not upload.is_over and events & selectors.EVENT_WRITE:
                    upload.write()
                if upload.is_over:
                    selector.unregister(upload.socket)
                else:
                    selector.modify(upload.socket, upload.events(), upload)
            open_ones = [upload for upload in open_ones if not upload.is_over]
            if ready:
                quiet = None
            elif all(not upload.must_end and upload.sent == upload.part for upload in open_ones):
                quiet = quiet or time.monotonic()
                if time.monotonic() > quiet + 2:
                    break
        else:
            if open_ones:
                faults.add("requests that were not answered", f"{len(open_ones)}")
    return open_ones


def call_often(address, token, stop, calls):
    """Makes one call after the other until it is stopped."""
    client = Caller(address, token)
    while not stop.wait(0.05):
        try:
            answer = client.query("SELECT 'served' AS mark", patience=PATIENCE)
        except (OSError, ValueError) as error:
            calls.put((0.0, repr(error)))
            continue
        is_served = answer.status == 200 and "served" in answer.text
        calls.put((answer.seconds, None if is_served else answer.said()))


def call_all(address, tokens, stop, calls):
    """Calls with each token, in a process of its own: the uploads take the time of theirs."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    threads = [
        threading.Thread(target=call_often, args=(address, token, stop, calls)) for token in tokens
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    calls.put(None)


@contextmanager
def others(address, tokens, faults):
    """Other callers, as long as the block lasts."""
    stop, calls = multiprocessing.Event(), multiprocessing.Queue()
    process = multiprocessing.Process(target=call_all, args=(address, tokens, stop, calls))
    process.start()
    try:
        yield
    finally:
        stop.set()
        times = []
        while (call := calls.get(timeout=PATIENCE)) is not None:
            seconds, fault = call
            times.append(seconds)
            if fault:
                faults.add("other callers that were not served", fault)
            elif seconds > BOUND:
                faults.add("other callers that were served too late", f"{seconds:.1f} s")
        process.join()
        print(f"    {len(times)} calls of the others, longest {max(times, default=0):.2f} s")


def attack(what, address, child, senders, body, part, faults):
    """Sends a body for each of these tokens at once; checks the answers and the memory."""
    peak_memory(child.pid)
    begun = time.monotonic()
    uploads = [
        Upload(address, token, body, part, is_polite=number % 10 > 0)
        for number, token in enumerate(senders)
    ]
    waiting = drive(uploads, faults)
    peak = peak_memory(child.pid)
    print(f"{what}: {time.monotonic() - begun:.1f} s, peak {peak >> 10} MiB")
    if peak > TOOLS_KIB:
        faults.add(f"{what}: more than {TOOLS_KIB >> 10} MiB", f"{peak >> 10} MiB")
    said = Counter(upload.said() for upload in uploads if upload.is_over)
    for text, count in said.most_common():
        print(f"    {count} x {text!r}")
        has_reason = "Try again later" in text or "max_statement_bytes" in text
        if text[:3] not in ("200", "429", "503") or not has_reason:
            faults.add(f"{what}: an answer without a reason", text)
    print(f"    {len(waiting)} that the server waits for")
    if len(waiting) > len(set(senders)):
        faults.add(f"{what}: too many bodies of one token", f"{len(waiting)}")
    for upload in uploads:
        upload.socket.close()


def check_tools(stack, folder, variables, faults):
    folder.mkdir()
    tokens = write_tokens(folder / "tokens.yaml", TOKENS + HONEST)
    senders, honest = tokens[:TOKENS], tokens[TOKENS:]
    arguments = write_configuration(folder, databases=[entry("shop", variables)])
    command = [os.environ["LONG_TOOLS"], "-http", "-addr", "127.0.0.1:0", *arguments]
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    address, child = stack.enter_context(listening(command, environment, folder / "log"))
    for token in honest:
        Caller(address, token).query("SELECT 1")
    print(f"ziggurat-tools at rest: {peak_memory(child.pid) >> 10} MiB")
    call = {"name": "query_database", "arguments": {"query": ""}}
    empty = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
    text = "SELECT 1 " + "x" * (LENGTH - len(empty) - len("SELECT 1 "))
    body = empty.replace('"query": ""', f'"query": "{text}"').encode()
    with others(address, honest, faults):
        one = senders[:1] * SOCKETS
        attack(f"{SOCKETS} of one token, not finished", address, child, one, body, SENT, faults)
        attack(f"{SOCKETS} of one token", address, child, one, body, len(body), faults)
        attack(f"{TOKENS} tokens, not finished", address, child, senders, body, SENT, faults)
        attack(f"{TOKENS} tokens", address, child, senders, body, len(body), faults)


class Endless(BaseHTTPRequestHandler):
    """A provider that begins an answer and never ends it."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        piece = b"x" * (64 << 10)
        chunk = b"%x\r\n%s\r\n" % (len(piece), piece)
        try:
            self.wfile.write(b'8\r\n{"text":\r\n1\r\n"\r\n')
            while True:
                self.wfile.write(chunk)
        except OSError:
            self.close_connection = True

    def log_message(self, *_):
        pass


class Provider(ThreadingHTTPServer):
    request_queue_size = 2 * QUESTIONS
    daemon_threads = True


def check_rag(stack, folder, variables, faults):
    folder.mkdir()
    provider = Provider(("127.0.0.1", 0), Endless)
    threading.Thread(target=provider.serve_forever, daemon=True).start()
    stack.callback(provider.shutdown)
    url = f"http://127.0.0.1:{provider.server_address[1]}"
    endless = {"provider": "ollama", "model": "m", "base_url": url, "max_retries": 0}
    local = {"provider": "local"}
    access = entry("docs", variables)
    access["username"] = access.pop("user")
    del access["name"]
    table = {"table": "documents", "text_column": "content", "id_column": "id"}
    pipelines = [
        {
            "name": name,
            "database": access,
            "tables": [table | {"vector_column": "embedding"}],
            "embedding_llm": embedding,
            "rag_llm": completion,
        }
        for name, embedding, completion in [("words", local, endless), ("vectors", endless, local)]
    ]
    server = {"listen_address": "127.0.0.1", "port": free_port()}
    file = folder / "ziggurat-rag.yaml"
    file.write_text(json.dumps({"server": server, "pipelines": pipelines}))
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    command = [os.environ["LONG_RAG"], "-config", file]
    address, child = stack.enter_context(listening(command, environment, folder / "log"))
    print(f"ziggurat-rag at rest: {peak_memory(child.pid) >> 10} MiB")
    for name, more in [("words", {}), ("words", {"stream": True}), ("vectors", {})]:
        question = {"query": "How is wool washed?", **more}
        begun = time.monotonic()

        def ask(_, path=f"/v1/pipelines/{name}", question=question):
            return Caller(address).ask("POST", path, question, patience=PATIENCE)

        with ThreadPoolExecutor(QUESTIONS) as pool:
            answers = list(pool.map(ask, range(QUESTIONS)))
        peak = peak_memory(child.pid)
        what = f"{QUESTIONS} endless answers for {name} {more}"
        print(f"{what}: {time.monotonic() - begun:.1f} s, peak {peak >> 10} MiB")
        if peak > RAG_KIB:
            faults.add(f"{what}: more than {RAG_KIB >> 10} MiB", f"{peak >> 10} MiB")
        for text, count in Counter(f"{it.status} {it.text[:200]}" for it in answers).most_common():
            print(f"    {count} x {text!r}")
            if "error" not in text:
                faults.add(f"{what}: an answer without an error", text)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    threading.stack_size(256 << 10)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    faults = Faults()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        variables = stack.enter_context(database(os.environ["LONG_DATABASE"]))
        with connect(variables) as connection:
            connection.execute(TABLE)
        check_tools(stack, folder / "tools", variables, faults)
        check_rag(stack, folder / "rag", variables, faults)
    faults.end()


if __name__ == "__main__":
    main()
