"""Fills the panels of the dashboard: real servers under calls, read by a real Prometheus, in which
each query of a panel has to find data, and each alert rule has to be evaluated. `tests/alerts/run`
runs it.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from callers import free_port, wait_for_port
from processes import running
from servers import ask_platform, ask_rag, platform, rag, tools

ROOT = Path(__file__).resolve().parents[2]
OPERATIONS = ROOT / "docs/operations"
CHAPTER = ROOT / "docs/src/metrics.md"
PATIENCE = 120
# The choices that a reader of the dashboard makes, and the window of rates at one scrape a second.
CHOICES = {"$job": ".*", "$instance": ".*", "$__rate_interval": "10s"}
GROUPED = re.compile(r"\bby \(([^)]*)\)")


class Embeddings(BaseHTTPRequestHandler):
    """A provider of vectors."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        usage = {"prompt_tokens": 3, "total_tokens": 3}
        body = json.dumps({"data": [{"embedding": [0.5] * 8}], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextmanager
def provider():
    """Runs the provider; returns its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Embeddings)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


def queries(value):
    """The titles and queries of all panels."""
    for panel in value.get("panels", []):
        yield from ((panel["title"], target["expr"]) for target in panel.get("targets", []))
        yield from queries(panel)


def chosen(query):
    for variable, choice in CHOICES.items():
        query = query.replace(variable, choice)
    return query


def parse(panels, folder):
    """Has promtool read the queries, as rules that record them."""
    rules = [
        {"record": f"panel:{number}", "expr": chosen(query)}
        for number, (_, query) in enumerate(panels)
    ]
    file = folder / "panels.rules.yaml"
    # JSON is also YAML.
    file.write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
    subprocess.run(["promtool", "check", "rules", file], check=True)


@contextmanager
def prometheus(folder, pages):
    """Runs Prometheus with the configuration of the chapter, for these pages; returns its address."""
    blocks = re.findall(r"^```yaml\n(.*?)^```$", CHAPTER.read_text(), re.M | re.S)
    (text,) = [block for block in blocks if "scrape_configs:" in block]
    text = text.replace("scrape_interval: 15s", "scrape_interval: 1s\n  evaluation_interval: 1s")
    for port, page in zip(["9464", "9465", "9466"], pages, strict=True):
        text = text.replace(f"127.0.0.1:{port}", urllib.parse.urlsplit(page).netloc)
    shutil.copy(OPERATIONS / "ziggurat.rules.yaml", folder)
    (folder / "prometheus.yml").write_text(text)
    port = free_port()
    command = [
        "prometheus",
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'series'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with open(folder / "prometheus.log", "wb") as log, running(command, stdout=log, stderr=log):
        wait_for_port(port)
        yield f"http://127.0.0.1:{port}/api/v1"


def read(address):
    with urllib.request.urlopen(address, timeout=20) as answer:
        return json.load(answer)["data"]


def has_data(api, query):
    """Returns if a query finds a number, and series with each label that it groups by."""
    parameters = urllib.parse.urlencode({"query": chosen(query)})
    found = read(f"{api}/query?{parameters}")["result"]
    groups = GROUPED.search(query)
    labels = {label.strip() for label in groups[1].split(",")} - {"le"} if groups else set()
    seen = {label for series in found for label in series["metric"]}
    return labels <= seen and any(series["value"][1] != "NaN" for series in found)


def calls(servers):
    """Calls of every kind that a panel shows."""
    shop, wares, accounts = servers
    shop.client.query("SELECT * FROM ware")
    shop.client.query("SELECT * FROM missing")
    shop.lost.query("SELECT 1")
    shop.client.call("generate_embedding", {"text": "kettle"})
    shop.client.ask("GET", "/api/databases")
    shop.stranger.query("SELECT 1")
    shop.reload()
    ask_rag(wares)
    ask_platform(accounts)


def serve(stack, folder, url):
    """Starts the servers, whose traces go nowhere."""
    nowhere = f"http://127.0.0.1:{free_port()}/v1/traces"
    telemetry = {"metrics": {"address": "127.0.0.1:0"}, "otlp": {"url": nowhere, "ratio": 1}}
    embedding = {"enabled": True, "provider": "openai", "openai_base_url": url}
    embedding |= {"openai_api_key": "a key"}
    model = {"provider": "openai", "model": "text-embedding-3-small", "base_url": url}
    return [
        tools(stack, folder, telemetry, embedding=embedding),
        # Some questions of each second reach the limit.
        rag(stack, folder, telemetry, "2 per second", model),
        platform(stack, folder, telemetry),
    ]


def fill(servers, api, panels):
    """Calls the servers until each panel has data; returns the panels that have none."""
    end = time.monotonic() + PATIENCE
    empty = panels
    while empty and time.monotonic() < end:
        for _ in range(5):
            calls(servers)
        empty = [panel for panel in empty if not has_data(api, panel[1])]
    return empty


def unhealthy(api):
    """The alert rules that cannot be evaluated."""
    rules = [rule for group in read(f"{api}/rules")["groups"] for rule in group["rules"]]
    return [rule["name"] for rule in rules if rule["health"] != "ok"]


def main():
    dashboard = json.loads((OPERATIONS / "ziggurat-dashboard.json").read_text())
    panels = list(queries(dashboard))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        parse(panels, folder)
        servers = serve(stack, folder, stack.enter_context(provider()))
        pages = [server.page() for server in servers]
        api = stack.enter_context(prometheus(folder, pages))
        if empty := fill(servers, api, panels):
            sys.exit("panels without data:\n" + "\n".join(f"{title}: {query}" for title, query in empty))
        print(f"each of the {len(panels)} queries of the dashboard finds data")
        if rules := unhealthy(api):
            sys.exit(f"rules that Prometheus cannot evaluate: {rules}")


if __name__ == "__main__":
    main()
