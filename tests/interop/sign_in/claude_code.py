"""Claude Code, with a model that calls a tool: once with a browser, then with what it keeps."""

import http.server
import json
import os
import subprocess
import tempfile
import threading
from pathlib import Path

from callback import PATIENCE, QUERY, URL, expire

[PROGRAM] = Path(os.environ["INTEROP_MODULES"]).glob("@anthropic-ai/claude-code-*/claude")
TOOL = "mcp__shop__query_database"


class Model(http.server.BaseHTTPRequestHandler):
    """A model that calls the tool, and then repeats what the tool said."""

    def do_HEAD(self):
        self.send_response(200)
        self.end_headers()

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        last = json.dumps(asked["messages"][-1])
        if "tool_result" in last:
            delta, stop = {"type": "text_delta", "text": last}, "end_turn"
            block = {"type": "text", "text": ""}
        else:
            delta = {"type": "input_json_delta", "partial_json": json.dumps(QUERY)}
            block = {"type": "tool_use", "id": "toolu_1", "name": TOOL, "input": {}}
            stop = "tool_use"
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
        message |= {"model": asked["model"], "usage": usage}
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for name, event in [
            ("message_start", {"message": message}),
            ("content_block_start", {"index": 0, "content_block": block}),
            ("content_block_delta", {"index": 0, "delta": delta}),
            ("content_block_stop", {"index": 0}),
            ("message_delta", {"delta": {"stop_reason": stop}, "usage": usage}),
            ("message_stop", {}),
        ]:
            data = json.dumps({"type": name} | event)
            self.wfile.write(f"event: {name}\ndata: {data}\n\n".encode())

    def log_message(self, *_):
        pass


def run(environment, *words, **options):
    options |= {"env": environment, "cwd": environment["HOME"], "timeout": PATIENCE}
    return subprocess.run([PROGRAM, *words], **options)


def sign_in(environment):
    """Signs in, for which the program needs a terminal."""
    ours, its = os.openpty()
    done = run(environment, "mcp", "login", "shop", stdin=its, stdout=its, stderr=its)
    os.close(its)
    assert done.returncode == 0, os.read(ours, 1 << 16).decode()
    os.close(ours)


def call(environment):
    options = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    done = run(environment, "-p", "Call it.", "--allowedTools", TOOL, **options)
    assert done.returncode == 0 and "kettle" in done.stdout, done


def tokens(folder):
    kept = json.loads((folder / ".claude/.credentials.json").read_text())
    [of_server] = kept["mcpOAuth"].values()
    return of_server


def main():
    with tempfile.TemporaryDirectory() as name, http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), Model
    ) as model:
        threading.Thread(target=model.serve_forever, daemon=True).start()
        environment = os.environ | {
            "ANTHROPIC_API_KEY": "a key of no account",
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{model.server_port}",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            # All tools are there from the first request on.
            "ENABLE_TOOL_SEARCH": "false",
            "MCP_CONNECTION_NONBLOCKING": "false",
            "HOME": name,
            "LD_PRELOAD": os.environ["INTEROP_FAKETIME"],
        }
        quiet = {"stdout": subprocess.DEVNULL, "check": True}
        run(environment, "mcp", "add", "--transport", "http", "shop", URL, **quiet)
        sign_in(environment)
        call(environment)
        for _ in range(3):
            before = tokens(Path(name))
            expire()
            call(environment)
            after = tokens(Path(name))
            assert after["accessToken"] != before["accessToken"]
            assert after["refreshToken"] != before["refreshToken"]
        model.shutdown()


if __name__ == "__main__":
    main()
