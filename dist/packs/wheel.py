"""Wheels for PyPI, which carry a program as a script.

Maturin would compile the program again, and cannot link it as the other packages are linked; a wheel with one
file is a ZIP archive with three more.
"""
import base64
import hashlib

from packs import builds, contents
from packs.project import OUT, PROGRAMS, Program, Target, epoch, names, version
from packs.templates import readme, summary
from packs.tree import Entry, program, text, zipped

SYSTEMS = {
    # A static program runs with every C library.
    "x86_64-unknown-linux-gnu": "manylinux_2_17_x86_64.musllinux_1_1_x86_64",
    "aarch64-unknown-linux-gnu": "manylinux_2_17_aarch64.musllinux_1_1_aarch64",
    "x86_64-apple-darwin": "macosx_10_12_x86_64",
    "aarch64-apple-darwin": "macosx_11_0_arm64",
}


def write(targets: list[Target]) -> None:
    """Writes a wheel for each program and machine."""
    for target in targets:
        for each in PROGRAMS:
            stem = f"{names()['programs'][each.name]['pypi'].replace('-', '_')}-{version()}"
            path = OUT / f"{stem}-py3-none-{SYSTEMS[target.triple]}.whl"
            entries = inside(each, target, stem)
            record = "".join(line(entry) for entry in entries) + f"{stem}.dist-info/RECORD,,\n"
            path.write_bytes(zipped([*entries, text(f"{stem}.dist-info/RECORD", record)], epoch()))


def inside(each: Program, target: Target, stem: str) -> list[Entry]:
    """Returns the files of a wheel, without the record of them."""
    about = f"{stem}.dist-info"
    licences = [Entry(f"{about}/licenses/{licence.path}", licence.content) for licence in contents.licences()]
    return [
        program(f"{stem}.data/scripts/{each.name}", builds.static(target).program(each)),
        *licences,
        text(f"{about}/METADATA", description(each)),
        text(f"{about}/WHEEL", kind(target)),
    ]


def kind(target: Target) -> str:
    """Returns what installers read first: for which machines the wheel is."""
    tags = "".join(f"Tag: py3-none-{system}\n" for system in SYSTEMS[target.triple].split("."))
    return f"Wheel-Version: 1.0\nGenerator: dist/build\nRoot-Is-Purelib: false\n{tags}"


def description(each: Program) -> str:
    """Returns the fields that PyPI shows, and the text below them."""
    project, name = names()["project"], names()["programs"][each.name]["pypi"]
    fields = [
        ("Metadata-Version", "2.4"),
        ("Name", name),
        ("Version", version()),
        ("Summary", summary(each)),
        ("Project-URL", f"Homepage, {project['home']}"),
        ("Project-URL", f"Documentation, {project['manual']}"),
        ("Project-URL", f"Source, {project['source']}"),
        ("License-Expression", "Apache-2.0 OR MIT"),
        *(("License-File", licence.path) for licence in contents.licences()),
        ("Requires-Python", ">=3.8"),
        ("Description-Content-Type", "text/markdown"),
    ]
    return "".join(f"{field}: {value}\n" for field, value in fields) + f"\n{readme(each, f'uvx {name}')}"


def line(entry: Entry) -> str:
    """Returns the line of a file in the record."""
    content = entry.content or b""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
    return f"{entry.path},sha256={digest},{len(content)}\n"
