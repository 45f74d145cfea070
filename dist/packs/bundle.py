"""Bundles of MCP, which a client installs with a click, and the entry for the registry of MCP."""
import hashlib
import json

from packs import builds, contents
from packs.project import OUT, TOOLS_SERVER, Target, epoch, names, version
from packs.templates import summary
from packs.tree import Entry, program, text, zipped

SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
URL = "URL of the database, such as postgres://reader@db.example.com/shop. A password in it is kept as a secret."
WRITES = "Let transactions write. Off, every statement is read-only."


def write(targets: list[Target]) -> None:
    """Writes a bundle for each machine, and the entry that names all packages."""
    for target in targets:
        path(target).write_bytes(zipped(inside(target), epoch()))
    (OUT / "server.json").write_text(json.dumps(entry(targets), indent=2) + "\n")


def path(target: Target):
    """Returns the path of a bundle."""
    return OUT / f"{names()['programs'][TOOLS_SERVER.name]['bundle']}-{target.triple}.mcpb"


def inside(target: Target) -> list[Entry]:
    """Returns the files of a bundle."""
    return [
        text("manifest.json", json.dumps(manifest(target), indent=2) + "\n"),
        program(f"server/{TOOLS_SERVER.name}", builds.static(target).program(TOOLS_SERVER)),
        *contents.licences(),
    ]


def manifest(target: Target) -> dict:
    """Returns how a client starts the server, and what it asks its user for."""
    project = names()["project"]
    command = f"server/{TOOLS_SERVER.name}"
    return {
        "manifest_version": "0.3",
        "name": names()["programs"][TOOLS_SERVER.name]["bundle"],
        "display_name": project["name"],
        "version": version(),
        "description": summary(TOOLS_SERVER),
        "author": {"name": project["maintainer"].split(" <")[0], "url": project["home"]},
        "homepage": project["home"],
        "documentation": project["manual"],
        "license": "Apache-2.0 OR MIT",
        "server": {
            "type": "binary",
            "entry_point": command,
            "mcp_config": {
                "command": f"${{__dirname}}/{command}",
                "args": [],
                "env": {
                    "DATABASE_URL": "${user_config.database_url}",
                    "ZIGGURAT_DB_ALLOW_WRITES": "${user_config.allow_writes}",
                },
            },
        },
        "tools_generated": True,
        "prompts_generated": True,
        "compatibility": {"platforms": ["linux" if target.is_linux else "darwin"]},
        "user_config": {
            "database_url": {
                "type": "string", "title": "Database", "description": URL,
                "required": True, "sensitive": True,
            },
            "allow_writes": {"type": "boolean", "title": "Writes", "description": WRITES, "default": False},
        },
    }


def entry(targets: list[Target]) -> dict:
    """Returns `server.json`, which names every package that starts the server."""
    project, own = names()["project"], names()["programs"][TOOLS_SERVER.name]
    bundles = [
        {
            "registryType": "mcpb",
            "identifier": f"{project['downloads']}/v{version()}/{path(target).name}",
            "version": version(),
            "fileSha256": hashlib.sha256(path(target).read_bytes()).hexdigest(),
        }
        for target in targets
    ]
    packages = [
        {"registryType": "npm", "identifier": own["npm"], "version": version(), "runtimeHint": "npx"},
        {"registryType": "pypi", "identifier": own["pypi"], "version": version(), "runtimeHint": "uvx"},
        {"registryType": "oci", "identifier": f"{project['images']}/{own['image']}:{version()}", "runtimeHint": "docker"},
        *bundles,
    ]
    return {
        "$schema": SCHEMA,
        "name": own["registry"],
        "title": project["name"],
        "description": summary(TOOLS_SERVER),
        "version": version(),
        "websiteUrl": project["home"],
        "packages": [{**package, "transport": {"type": "stdio"}, **settings()} for package in packages],
    }


def settings() -> dict:
    """Returns the variables that a client sets."""
    url = {"name": "DATABASE_URL", "description": URL, "isRequired": True, "isSecret": True}
    writes = {"name": "ZIGGURAT_DB_ALLOW_WRITES", "description": WRITES, "format": "boolean", "default": "false"}
    return {"environmentVariables": [url, writes]}
