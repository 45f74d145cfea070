"""Packages for npm: a launcher, and the program for each kind of machine."""
import json

from packs import builds, contents
from packs.project import OUT, PROGRAMS, Program, Target, epoch, names, version
from packs.templates import filled, readme, summary
from packs.tree import Entry, gz, program, tar, text

LICENCE = "Apache-2.0 OR MIT"


def write(targets: list[Target]) -> None:
    """Writes the launcher of each program, and a package for each machine."""
    for each in PROGRAMS:
        pack(launcher(each, targets), names()["programs"][each.name]["npm"])
        for target in targets:
            pack(carrier(each, target), carrier_name(each, target))


def pack(entries: list[Entry], name: str) -> None:
    """Packs entries as `npm pack` does."""
    path = OUT / f"{name.removeprefix('@').replace('/', '-')}-{version()}.tgz"
    packed = [Entry(f"package/{entry.path}", entry.content, entry.mode) for entry in entries]
    path.write_bytes(gz(tar(packed, epoch())))


def launcher(each: Program, targets: list[Target]) -> list[Entry]:
    """Returns the files of the package that users install."""
    own = names()["programs"][each.name]
    manifest = {
        **described(own["npm"], summary(each)),
        "type": "module",
        "bin": {each.name: "launcher.js"},
        "engines": {"node": ">=18"},
        "optionalDependencies": {carrier_name(each, target): version() for target in targets},
    }
    if "registry" in own:
        manifest["mcpName"] = own["registry"]
    script = filled("launcher.mjs", each, scope=names()["project"]["npm_scope"])
    return [
        text("package.json", encoded(manifest)),
        text("launcher.js", script, 0o755),
        text("README.md", readme(each, f"npx {own['npm']}")),
        *contents.licences(),
    ]


def carrier(each: Program, target: Target) -> list[Entry]:
    """Returns the files of the package with the program for a machine."""
    system, processor = machine(target)
    manifest = {
        **described(carrier_name(each, target), f"{summary(each)} ({system}, {processor})"),
        "os": [system],
        "cpu": [processor],
        "preferUnplugged": True,
    }
    return [
        text("package.json", encoded(manifest)),
        program(f"bin/{each.name}", builds.static(target).program(each)),
        text("README.md", readme(each, f"npx {names()['programs'][each.name]['npm']}")),
        *contents.licences(),
    ]


def carrier_name(each: Program, target: Target) -> str:
    """Returns the name of the package with the program for a machine."""
    return f"{names()['project']['npm_scope']}/{each.name}-{'-'.join(machine(target))}"


def machine(target: Target) -> tuple[str, str]:
    """Returns the names that Node has for a system and a processor."""
    processor = "arm64" if target.triple.startswith("aarch64") else "x64"
    return ("linux" if target.is_linux else "darwin"), processor


def described(name: str, line: str) -> dict:
    """Returns the keys that all manifests have."""
    project = names()["project"]
    repository = {"type": "git", "url": project["source"]}
    about = {"name": name, "version": version(), "description": line, "license": LICENCE}
    return {**about, "homepage": project["home"], "repository": repository}


def encoded(manifest: dict) -> str:
    """Returns a manifest as npm writes it."""
    return json.dumps(manifest, indent=2) + "\n"
