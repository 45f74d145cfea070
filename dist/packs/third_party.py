"""Notices for all code of others that is in the programs."""
import collections
import dataclasses
import functools
import json
import pathlib
import re
import subprocess

from packs.project import DIST, PROGRAMS, ROOT, Missing, host, metadata

WEB = ROOT / "services/console/web"
LICENCE_FILES = re.compile(r"(licen[cs]e|copying|copyright|notice|unlicense)", re.I)
STANDARD_TEXTS = pathlib.Path("/usr/share/common-licenses")

HEAD = """\
The programs of Ziggurat contain the works of others that are listed here, each with its version, its
licence and the number of the texts below that apply to it. Static programs contain glibc; with the
source of Ziggurat, its Cargo.lock and dist/build they can be linked with another version of it.
"""


@dataclasses.dataclass(frozen=True)
class Work:
    """A work of others."""

    name: str
    version: str
    licence: str
    texts: tuple[str, ...]
    source: str = ""


def notices() -> str:
    """Returns the list of works, followed by the texts of their licences."""
    works = [*crates(), *scripts(), *c_library()]
    numbers: dict[str, int] = {}
    for work in works:
        for text in work.texts:
            numbers.setdefault(text, len(numbers) + 1)
    lines = [HEAD]
    for work in works:
        which = ", ".join(str(numbers[text]) for text in work.texts)
        source = f", {work.source}" if work.source else ""
        lines.append(f"{work.name} {work.version}: {work.licence} [{which}]{source}")
    for text, number in numbers.items():
        lines.append(f"\n{'=' * 78}\nText {number}\n\n{text}")
    return "\n".join(lines) + "\n"


@functools.cache
def crates() -> list[Work]:
    """Returns the crates that are in the programs."""
    packages = {package["id"]: package for package in metadata()["packages"]}
    found = [packages[id] for id in contained() if packages[id]["source"]]
    found.sort(key=lambda package: (package["name"], package["version"]))
    return [crate(package) for package in found]


def contained() -> set[str]:
    """Returns the identifiers of packages that the programs are built from, without tools of builds."""
    nodes = {node["id"]: node for node in metadata()["resolve"]["nodes"]}
    names = {program.package for program in PROGRAMS}
    ids = {package["id"]: package["name"] for package in metadata()["packages"]}
    waiting = [id for id in metadata()["workspace_members"] if ids[id] in names]
    found = set(waiting)
    while waiting:
        for dependency in nodes[waiting.pop()]["deps"]:
            is_linked = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            if is_linked and dependency["pkg"] not in found:
                found.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    return found


def crate(package: dict) -> Work:
    """Returns the notice of a crate. One that has no text of its licence has the usual text."""
    licence = package["license"] or "see the text"
    texts = texts_in(pathlib.Path(package["manifest_path"]).parent)
    if not texts:
        texts = (usual_text(licence, ", ".join(package["authors"]) or f"The authors of {package['name']}"),)
    return Work(package["name"], package["version"], licence, texts)


@functools.cache
def scripts() -> list[Work]:
    """Returns the packages that the pages of the console are built from."""
    lock = json.loads((WEB / "package-lock.json").read_text())
    found = []
    for path, package in sorted(lock["packages"].items()):
        if not path or package.get("dev"):
            continue
        folder = WEB / path
        if not folder.is_dir():
            raise Missing("the packages of the console (npm ci in services/console/web)")
        name = path.rpartition("node_modules/")[2]
        licence = package.get("license", "see the text")
        texts = texts_in(folder) or (usual_text(licence, f"The authors of {name}"),)
        found.append(Work(name, package["version"], licence, texts))
    return found


@functools.cache
def c_library() -> list[Work]:
    """Returns glibc, which is in static programs."""
    if not host().is_glibc:
        return []
    text = STANDARD_TEXTS / "LGPL-2.1"
    if not text.is_file():
        raise Missing(f"the text of the licence of glibc ({text})")
    command = ["dpkg-query", "--show", "--showformat=${Version}", "libc6-dev"]
    version = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    source = f"https://snapshot.debian.org/package/glibc/{version}/"
    return [Work("glibc", version, "LGPL-2.1-or-later", (text.read_text().strip(),), source)]


def texts_in(folder: pathlib.Path) -> tuple[str, ...]:
    """Returns the texts of licences in a folder, each once."""
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and LICENCE_FILES.match(path.name)]
    texts = (path.read_text(errors="replace").replace("\r\n", "\n").strip() for path in files)
    return tuple(collections.OrderedDict.fromkeys(texts))


def usual_text(licence: str, holders: str) -> str:
    """Returns the text of a licence that a work names without having its text."""
    files = {
        "Apache-2.0": ROOT / "LICENSE-APACHE",
        "MIT": ROOT / "LICENSE-MIT",
        "BSD-3-Clause": DIST / "templates/BSD-3-Clause",
    }
    found = next((file for name, file in files.items() if name in licence), None)
    if not found:
        raise LookupError(f"no text is known for the licence {licence}")
    return re.sub(r"Copyright \(c\).*", f"Copyright (c) {holders}", found.read_text().strip(), count=1)
