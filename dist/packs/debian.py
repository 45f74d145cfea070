"""Debian packages: one for each program."""
import email.utils
import pathlib
import shutil
import subprocess
import tempfile
import textwrap

from packs import builds, contents, templates
from packs.project import CLI, OUT, PROGRAMS, ROOT, Missing, Program, Target, epoch, names, version
from packs.templates import TEMPLATES, summary
from packs.tree import Entry, complete, folder, gz, program, text

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
            pack(control(each, target) + installed(each, target), path)


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


def installed(each: Program, target: Target) -> list[Entry]:
    """Returns the files that a package installs."""
    return [program(f"usr/bin/{each.name}", builds.dynamic(target).program(each)), *shared(each), *documents(each)]


def shared(each: Program) -> list[Entry]:
    """Returns manuals, completions, and the unit with its account and folders."""
    entries = [
        Entry(f"usr/share/man/{page.path}.gz", gz(page.content or b"")) for page in contents.manuals(each)
    ]
    for shell, place in COMPLETIONS.items():
        path = f"{place}/{contents.file_of_completion(shell, each)}"
        entries.append(text(path, contents.completion(each, shell)))
    if each.unit:
        entries.append(text(f"usr/lib/systemd/system/{each.unit.name}", unit(each)))
        for kind in ("sysusers", "tmpfiles"):
            entries.append(text(f"usr/lib/{kind}.d/{each.name}.conf", (TEMPLATES / f"{kind}.conf").read_text()))
    return entries


def unit(each: Program) -> str:
    """Returns the unit of a package. It starts the server once there is a configuration."""
    assert each.unit
    condition = f"ConditionPathExists=/etc/ziggurat/{each.name}.yaml"
    found = each.unit.read_text().replace("/usr/local/bin/", "/usr/bin/")
    return found.replace("[Unit]\n", f"[Unit]\n{condition}\n", 1)


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
    files = installed(each, target)
    size = sum(len(entry.content or b"") for entry in files) // 1024
    entries = [text("DEBIAN/control", filled("control", each, architecture=target.debian, size=str(size)))]
    if each is not CLI:
        scripts = ("postinst", "prerm", "postrm")
        entries += [Entry(f"DEBIAN/{name}", filled(name, each).encode(), 0o755) for name in scripts]
    return [folder("DEBIAN"), *entries]


def filled(template: str, each: Program, **more: str) -> str:
    """Returns a template of Debian with the names of a program in it."""
    line = summary(each)
    more |= {
        "package": names()["programs"][each.name]["debian"],
        "glibc": builds.GLIBC,
        # Without an article, as Debian has it.
        "summary": line.removeprefix("An ").removeprefix("A ").removeprefix("The "),
        "description": "\n ".join(textwrap.wrap(f"{line}. The manual is at {names()['project']['manual']}.", 75)),
        "mit": indented((ROOT / "LICENSE-MIT").read_text()),
    }
    return templates.filled(f"debian/{template}", each, **more)


def indented(body: str) -> str:
    """Returns a text as the value of a field, with a dot for an empty line."""
    return "\n".join(f" {line}" if line.strip() else " ." for line in body.strip().splitlines())
