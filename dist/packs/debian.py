"""Debian packages: one for each program."""
import email.utils
import pathlib
import shutil
import subprocess
import tempfile
import textwrap

from packs import builds, contents, installed, templates
from packs.project import CLI, OUT, PROGRAMS, ROOT, Missing, Program, Target, epoch, names, version
from packs.templates import short, summary
from packs.tree import Entry, complete, folder, gz, text

COMPLETIONS = {
    "bash": "usr/share/bash-completion/completions",
    "zsh": "usr/share/zsh/vendor-completions",
    "fish": "usr/share/fish/vendor_completions.d",
}
# An unset mask and locale would show in the package.
DPKG = {"LC_ALL": "C", "TZ": "UTC", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}


def write(targets: list[Target]) -> None:
    """Writes a package for each program and architecture."""
    if not shutil.which("dpkg-deb"):
        raise Missing("dpkg-deb")
    for target in targets:
        for each in PROGRAMS:
            package = names()["programs"][each.name]["debian"]
            path = OUT / f"{package}_{version()}_{target.debian}.deb"
            pack(control(each, target) + files_of(each, target), path)


def pack(entries: list[Entry], path: pathlib.Path) -> None:
    """Packs entries, those below DEBIAN as control files."""
    with tempfile.TemporaryDirectory() as place:
        for entry in complete(entries):
            unpack(entry, pathlib.Path(place, entry.path))
        pathlib.Path(place).chmod(0o755)
        command = ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", place, str(path)]
        environment = {**DPKG, "SOURCE_DATE_EPOCH": str(epoch())}
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)


def unpack(entry: Entry, path: pathlib.Path) -> None:
    """Writes an entry as a file or a folder."""
    if entry.content is None:
        path.mkdir()
    else:
        path.write_bytes(entry.content)
    path.chmod(entry.mode)


def files_of(each: Program, target: Target) -> list[Entry]:
    """Returns the files that a package installs."""
    return [*installed.files(each, target, COMPLETIONS), *documents(each)]


def documents(each: Program) -> list[Entry]:
    """Returns the files below /usr/share/doc."""
    package = names()["programs"][each.name]["debian"]
    place = f"usr/share/doc/{package}"
    date = email.utils.formatdate(epoch())
    entries = [
        text(f"{place}/copyright", filled("copyright", each)),
        Entry(f"{place}/changelog.gz", gz(filled("changelog", each, date=date).encode())),
        Entry(f"{place}/CHANGELOG.md.gz", gz((ROOT / "CHANGELOG.md").read_bytes())),
        text(f"usr/share/lintian/overrides/{package}", filled("overrides", each)),
    ]
    for licence in contents.licences():
        if licence.path == "THIRD-PARTY":
            entries.append(Entry(f"{place}/THIRD-PARTY.gz", gz(licence.content or b"")))
    entries += [Entry(f"{place}/examples/{example.path}", example.content) for example in contents.examples(each)]
    return entries


def control(each: Program, target: Target) -> list[Entry]:
    """Returns the control files."""
    files = files_of(each, target)
    size = sum(len(entry.content or b"") for entry in files) // 1024
    entries = [text("DEBIAN/control", filled("control", each, architecture=target.debian, size=str(size)))]
    if each is not CLI:
        scripts = ("postinst", "prerm", "postrm")
        entries += [Entry(f"DEBIAN/{name}", filled(name, each).encode(), 0o755) for name in scripts]
    return [folder("DEBIAN"), *entries]


def filled(template: str, each: Program, **more: str) -> str:
    """Returns a template of Debian with the names of a program in it."""
    more |= {
        "package": names()["programs"][each.name]["debian"],
        "glibc": builds.GLIBC,
        "summary": short(each),
        "description": "\n ".join(textwrap.wrap(f"{summary(each)}. The manual is at {names()['project']['manual']}.", 75)),
        "mit": indented((ROOT / "LICENSE-MIT").read_text()),
    }
    return templates.filled(f"debian/{template}", each, **more)


def indented(body: str) -> str:
    """Returns a text as the value of a field, with a dot for an empty line."""
    return "\n".join(f" {line}" if line.strip() else " ." for line in body.strip().splitlines())
