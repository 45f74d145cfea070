"""A TCP proxy that can stop forwarding, and that can disappear."""

import socket
import threading


class TcpProxy:
    """Forwards connections to an address. The threads end with the process."""

    def __init__(self, host, port):
        self.target = (host, port)
        self.flowing = threading.Event()
        self.flowing.set()
        self.open = set()
        self.listener = None
        self.port = 0
        self.appear()

    def silence(self):
        """Stops forwarding. Connections stay open, and new ones are accepted."""
        self.flowing.clear()

    def resume(self):
        """Forwards again, beginning with the data that arrived meanwhile."""
        self.flowing.set()

    def vanish(self):
        """Closes all connections and refuses new ones."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for end in list(self.open):
            self.close(end)

    def appear(self):
        """Accepts connections again, on the same port."""
        self.listener = socket.create_server(("127.0.0.1", self.port), backlog=512)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, args=[self.listener], daemon=True).start()

    def accept(self, listener):
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self.join, args=[client], daemon=True).start()

    def join(self, client):
        self.open.add(client)
        self.flowing.wait()
        try:
            server = socket.create_connection(self.target)
        except OSError:
            return self.close(client)
        self.open.add(server)
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=self.forward, args=[server, client], daemon=True).start()
        self.forward(client, server)

    def forward(self, source, target):
        try:
            while data := source.recv(1 << 16):
                self.flowing.wait()
                self.send(data, source, target)
        except OSError:
            pass
        self.flowing.wait()
        self.close(source)
        self.close(target)

    def send(self, data, source, target):
        """Passes on data of a client or a server."""
        target.sendall(data)

    def close(self, end):
        self.open.discard(end)
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        end.close()
