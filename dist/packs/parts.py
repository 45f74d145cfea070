"""Lists of the parts of programs: the crates that Cargo builds each of them from.

Cargo's metadata, which other tools read, has the features that any crate of the workspace asks for, and so
crates that are in no program. `cargo tree` has those of a build.
"""
import functools
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

from packs.project import OUT, PROGRAMS, ROOT, TOOLS, Missing, Program, Target, epoch, metadata, output, version

# Paths of crates begin so in lists.
PLACE = "/ziggurat"


def write(targets: list[Target]) -> None:
    """Writes the list of each program and target, as CycloneDX has it."""
    cyclonedx = tool("cargo-cyclonedx")
    for target in targets:
        for each in PROGRAMS:
            path = OUT / f"{each.name}-{version()}-{target.triple}.cdx.json"
            path.write_text(listed(cyclonedx, each, target))


def tool(name: str) -> pathlib.Path:
    """Returns the path of a tool of Cargo."""
    found = TOOLS / "bin" / name
    if not found.is_file():
        raise Missing(name)
    return found


def listed(cyclonedx: pathlib.Path, each: Program, target: Target) -> str:
    """Returns the list that cargo-cyclonedx makes of a program. It writes beside manifests: those of a copy."""
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        (place / each.folder).mkdir(parents=True)
        shutil.copy(ROOT / "Cargo.lock", place)
        described = json.dumps(described_by_cargo(each, target))
        described = described.replace(ROOT.as_uri(), f"file://{PLACE}").replace(str(ROOT), folder)
        (place / "metadata.json").write_text(described)
        cargo = place / "cargo"
        cargo.write_text('#!/bin/sh\nexec cat "${0%/*}/metadata.json"\n')
        cargo.chmod(0o755)
        words = ("cyclonedx", "--quiet", "--format", "json", "--spec-version", "1.5", "--target", target.triple)
        manifest = place / each.folder / "Cargo.toml"
        environment = {**os.environ, "CARGO": str(cargo), "SOURCE_DATE_EPOCH": str(epoch())}
        subprocess.run([cyclonedx, *words, "--manifest-path", manifest], env=environment, check=True)
        (found,) = (place / each.folder).glob("*.cdx.json")
        return found.read_text()


def described_by_cargo(each: Program, target: Target) -> dict:
    """Returns Cargo's metadata, with a program and its parts alone."""
    described = metadata()
    edges = edges_of(each, target)
    ids = {(package["name"], package["version"]): package["id"] for package in described["packages"]}
    names = {id: name for name, id in ids.items()}
    root = next(id for name, id in ids.items() if name[0] == each.package)
    found, waiting = {root}, [root]
    while waiting:
        for dependency in edges.get(names[waiting.pop()], ()):
            if ids[dependency] not in found:
                found.add(ids[dependency])
                waiting.append(ids[dependency])
    nodes = [
        node_of(node, {ids[dependency] for dependency in edges.get(names[node["id"]], ())})
        for node in described["resolve"]["nodes"]
        if node["id"] in found
    ]
    packages = [package for package in described["packages"] if package["id"] in found]
    resolve = {"nodes": nodes, "root": root}
    return {**described, "packages": packages, "resolve": resolve, "workspace_members": [root]}


def node_of(node: dict, dependencies: set[str]) -> dict:
    """Returns a node of Cargo's metadata with some of its dependencies."""
    found = []
    for dependency in node["deps"]:
        kinds = [kind for kind in dependency["dep_kinds"] if kind["kind"] in (None, "build")]
        if dependency["pkg"] in dependencies and kinds:
            found.append({**dependency, "dep_kinds": kinds})
    return {**node, "deps": found, "dependencies": [dependency["pkg"] for dependency in found]}


@functools.cache
def edges_of(each: Program, target: Target) -> dict[tuple, set[tuple]]:
    """Returns the dependencies of each crate, by name and version, in the build of a program."""
    words = ("--offline", "--locked", "--edges", "normal,build", "--prefix", "depth", "--format", " {p}")
    edges: dict[tuple, set[tuple]] = {}
    above: list[tuple] = []
    for line in output("cargo", "tree", *words, "--target", target.triple, "--package", each.package).splitlines():
        if not line:
            continue
        depth, name, number = line.split()[:3]
        crate = (name, number.removeprefix("v"))
        above[int(depth):] = [crate]
        if len(above) > 1:
            edges.setdefault(above[-2], set()).add(crate)
    return edges


def embedded(each: Program, target: Target) -> str:
    """Returns the list of a program in the form of Cargo, which cargo-auditable reads and puts into it."""
    described = described_by_cargo(each, target)
    nodes = sorted(described["resolve"]["nodes"], key=lambda node: node["id"])
    places = {node["id"]: place for place, node in enumerate(nodes)}
    crates = [
        {
            "id": node["id"].replace(ROOT.as_uri(), f"file://{PLACE}"),
            "kind": [],
            "features": [],
            "dependencies": [
                {"index": places[dependency["pkg"]], "kind": kind["kind"] or "normal"}
                for dependency in node["deps"]
                for kind in dependency["dep_kinds"]
            ],
        }
        for node in nodes
    ]
    unknown = ("version", "commit_hash", "host", "verbose_version")
    compiler = {**dict.fromkeys(unknown, ""), "wrapper": None, "workspace_wrapper": None}
    root = places[described["resolve"]["root"]]
    return json.dumps({"version": 1, "root": root, "crates": crates, "rustc": compiler})
