"""Lists of parts: equal to Cargo.lock, and to the list inside of each program."""
import datetime
import json
import pathlib
import re
import tempfile
import tomllib
import zlib

from packs.project import OUT, PROGRAMS, ROOT, Program, epoch, output, version
from proofs.static import unpacked
from proofs.support import NotRun, need, package, proof, run


@proof
def lists_of_parts_are_those_of_cargo() -> None:
    """Compares the lists with the crates of a build, and each entry with Cargo.lock."""
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    checksums = {(crate["name"], crate["version"]): crate.get("checksum") for crate in locked}
    for triple in triples():
        for program in PROGRAMS:
            listed = read(program, triple)
            assert "serialNumber" not in listed, program
            time = datetime.datetime.fromisoformat(listed["metadata"]["timestamp"][:19] + "Z")
            assert time.timestamp() == epoch(), listed["metadata"]["timestamp"]
            for part in listed["components"]:
                sums = [sum_["content"] for sum_ in part.get("hashes", [])] or [None]
                assert sums == [checksums[part["name"], part["version"]]], part
            expected = built(program, triple)
            assert crates(listed) == expected, (program.name, triple, crates(listed) ^ expected)


def built(program: Program, triple: str) -> set[tuple]:
    """Returns the crates that Cargo builds a program from."""
    words = ("--offline", "--locked", "--edges", "normal,build", "--prefix", "none", "--format", "{p}")
    tree = output("cargo", "tree", *words, "--target", triple, "--package", program.package)
    lines = [line.split() for line in tree.splitlines() if line]
    return {(name, number.removeprefix("v")) for name, number, *_ in lines}


@proof
def programs_have_their_lists_inside() -> None:
    """Compares the list inside of each program, static and dynamic, with the list beside it."""
    need("readelf", "dpkg-deb")
    for triple in triples():
        folder = unpacked(triple)
        machine = "arm64" if triple.startswith("aarch64") else "amd64"
        for program in PROGRAMS:
            expected = crates(read(program, triple))
            assert inside(folder / program.name) == expected, (program.name, triple)
            with tempfile.TemporaryDirectory() as place:
                run("dpkg-deb", "--extract", package(f"{program.name}_{version()}_{machine}.deb"), place)
                assert inside(pathlib.Path(place, "usr/bin", program.name)) == expected, (program.name, machine)


def triples() -> list[str]:
    """Returns the targets that have lists."""
    stem = f"{PROGRAMS[-1].name}-{version()}-"
    found = [path.name.removeprefix(stem).removesuffix(".cdx.json") for path in OUT.glob(f"{stem}*.cdx.json")]
    if not found:
        raise NotRun("dist/out has no lists of parts")
    return found


def read(program: Program, triple: str) -> dict:
    """Returns the list of a program."""
    text = package(f"{program.name}-{version()}-{triple}.cdx.json").read_text()
    assert str(ROOT) not in text and ROOT.as_uri() not in text, program
    return json.loads(text)


def crates(listed: dict) -> set[tuple]:
    """Returns the crates of a list by name and version."""
    return {(part["name"], part["version"]) for part in (listed["metadata"]["component"], *listed["components"])}


def inside(path: pathlib.Path) -> set[tuple]:
    """Returns the crates of the list that cargo-auditable puts into a program."""
    sections = run("readelf", "--section-headers", "--wide", path)
    found = re.search(r"\.dep-v0\s+\S+\s+\S+\s+(\w+)\s+(\w+)", sections)
    assert found, f"{path.name} has no list of parts"
    start, size = (int(number, 16) for number in found.groups())
    listed = json.loads(zlib.decompress(path.read_bytes()[start:start + size]))
    return {(crate["name"], crate["version"]) for crate in listed["packages"]}
