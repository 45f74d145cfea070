"""Formulae for Homebrew, which install a program from an archive."""
import hashlib
import json

from packs import archive, contents
from packs.project import OUT, PROGRAMS, Program, Target, names, version
from packs.templates import filled, short

SYSTEMS = {True: "on_linux", False: "on_macos"}


def write(targets: list[Target]) -> None:
    """Writes the formula of each program, for all targets that are built."""
    places = downloads(targets)
    for each in PROGRAMS:
        name = names()["programs"][each.name]["formula"]
        (OUT / f"{name}.rb").write_text(formula(each, name, places))


def downloads(targets: list[Target]) -> str:
    """Returns where the archives are, and their checksums."""
    found = ""
    for is_linux, system in SYSTEMS.items():
        fitting = [target for target in targets if target.is_linux == is_linux]
        if fitting:
            found += f"\n  {system} do\n{''.join(download(target) for target in fitting)}  end\n"
    return found


def download(target: Target) -> str:
    """Returns where the archive for a target is, and its checksum."""
    path = archive.path(target)
    if not path.is_file():
        archive.write([target])
    processor = "on_arm" if target.triple.startswith("aarch64") else "on_intel"
    url = f"{names()['project']['downloads']}/v{version()}/{path.name}"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return f'    {processor} do\n      url "{url}"\n      sha256 "{digest}"\n    end\n'


def formula(each: Program, name: str, places: str) -> str:
    """Returns the formula of a program."""
    examples = " ".join(f'"examples/{example.path}",' for example in contents.examples(each)).removesuffix(",")
    return filled(
        "formula.rb", each,
        **{"class": "".join(word.capitalize() for word in name.split("-"))},
        desc=json.dumps(short(each)),
        downloads=places,
        section="8" if each.is_server else "1",
        examples=f"    pkgshare.install {examples}\n" if examples else "",
        service=filled("service.rb", each) if each.is_server else "",
        word="-version" if each.is_server else "version",
    )
