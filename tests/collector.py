"""A collector of traces."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    """Keeps the traces that it gets, and the secret header of the exporter."""

    def do_POST(self):
        length = int(self.headers["Content-Length"])
        self.server.bodies.append(self.rfile.read(length).decode())
        self.server.headers_seen.append(self.headers["Authorization"])
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


@contextmanager
def collector():
    """Starts a collector; returns it with its `url`, the `bodies` and the `headers_seen`."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.bodies, server.headers_seen = [], []
        server.url = f"http://127.0.0.1:{server.server_port}/v1/traces"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
