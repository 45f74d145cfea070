"""Feeds pages of metrics to promtool, and the configurations of the chapter about metrics to the
programs that read them. `tests/alerts/run` runs it.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from contextlib import ExitStack
from pathlib import Path

from servers import ask_platform, ask_rag, platform, rag, tools

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "docs/operations/ziggurat.rules.yaml"
CHAPTER = ROOT / "docs/src/metrics.md"
TELEMETRY = {"metrics": {"address": "127.0.0.1:0"}}


def checked(server, name, *expected):
    """Reads the page of a server and has it checked."""
    with urllib.request.urlopen(server.page(), timeout=20) as answer:
        page = answer.read()
    for series in expected:
        if series not in page.decode():
            sys.exit(f"the page of {name} lacks {series}:\n{page.decode()}")
    done = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True)
    said = (done.stdout + done.stderr).decode().strip()
    if done.returncode or said:
        sys.exit(f"promtool rejects the page of {name}: {said}")
    count = page.count(b"# TYPE ")
    print(f"promtool accepts the {count} metrics of {name}")


def check_tools(stack, folder):
    """Calls tools with and without success, and checks the page."""
    server = tools(stack, folder, TELEMETRY)
    server.client.query("SELECT 1")
    server.client.query("SELECT * FROM missing")
    server.client.call("invented", {})
    server.stranger.query("SELECT 1")
    shop = 'tool="query_database",database="shop",verdict="ok"'
    checked(server, "ziggurat-tools", shop, 'tool="other"', 'refused_total{reason="token"} 1')


def check_rag(stack, folder):
    """Asks questions with and without success, and checks the page."""
    server = rag(stack, folder, TELEMETRY, "2 per day", {"provider": "local"})
    for name in ["wares", "invented", "wares"]:
        ask_rag(server, name)
    embedded = 'pipeline_seconds_count{pipeline="wares",stage="embed"} 1'
    checked(server, "ziggurat-rag", embedded, 'verdict="unknown"', 'reached_total{limit="calls"} 1')


def check_platform(stack, folder):
    """Asks for a token in vain, and checks the page."""
    server = platform(stack, folder, TELEMETRY)
    ask_platform(server)
    checked(server, "ziggurat-platform", 'tokens_issued_total{grant_type="client_credentials",result="refused"} 1')


def documented(folder):
    """Checks the configuration of Prometheus in the book, with the rules next to it."""
    blocks = re.findall(r"^```yaml\n(.*?)^```$", CHAPTER.read_text(), re.M | re.S)
    (block,) = [block for block in blocks if "scrape_configs:" in block]
    shutil.copy(RULES, folder)
    (folder / "prometheus.yml").write_text(block)
    command = ["promtool", "check", "config", folder / "prometheus.yml"]
    subprocess.run(command, check=True)


def main():
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        documented(folder)
        check_tools(stack, folder)
        check_rag(stack, folder)
        check_platform(stack, folder)


if __name__ == "__main__":
    main()
