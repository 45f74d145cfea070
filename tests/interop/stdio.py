"""A server on standard input and output."""

import json
import subprocess
from contextlib import contextmanager

from processes import PATIENCE


class Stdio:
    """A server that was asked to speak its first revision."""

    def __init__(self, command, environment):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, env=environment, text=True, **pipes)
        self.count = 0
        about = {"name": "compare", "version": "1"}
        opening = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": about}
        self.ask("initialize", opening)
        self.tell({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def tell(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def ask(self, method, params=None):
        self.count += 1
        message = {"jsonrpc": "2.0", "id": self.count, "method": method}
        self.tell(message if params is None else message | {"params": params})
        # Some say unasked that their lists changed.
        while "id" not in (answer := json.loads(self.process.stdout.readline())):
            pass
        assert answer.pop("jsonrpc") == "2.0" and answer.pop("id") == self.count, answer
        return answer

    def call(self, tool, arguments):
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def close(self):
        self.process.stdin.close()
        self.process.kill()
        self.process.wait(PATIENCE)


@contextmanager
def served(command, environment):
    server = Stdio(command, environment)
    try:
        yield server
    finally:
        server.close()
