"""The servers under Docker Compose."""
import json
import re

from packs.project import ROOT, SERVERS, TOOLS
from proofs.support import NotRun, proof, run

COMPOSE = ROOT / "deploy/compose"


@proof
def the_compose_file_is_valid_and_closed() -> None:
    """Reads the file as Compose does, and looks for what is reachable, writable, or run with rights."""
    compose = TOOLS / "bin/compose-go"
    if not compose.is_file():
        raise NotRun("compose-go is not installed")
    services = json.loads(run(compose, "-format", "json", COMPOSE / "compose.yaml"))["services"]
    published = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert list(published) == ["tools"] and published["tools"][0]["host_ip"] == "127.0.0.1", published
    for server in SERVERS:
        service = services[server.name.removeprefix("ziggurat-")]
        assert service["read_only"] and service["cap_drop"] == ["ALL"], service


@proof
def the_role_is_that_of_the_manual() -> None:
    """Compares the statements with those in the manual, but for the password."""
    statements = (COMPOSE / "role.sql").read_text().partition("\n\\set")[2].partition("\n")[2]
    manual = (ROOT / "docs/src/tools.md").read_text()
    found = re.search(r"```sql\n(CREATE ROLE reader LOGIN.*?)```", manual, re.S)
    assert found and found[1].replace("'change me'", ":'password'") == statements, statements
