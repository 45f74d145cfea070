"""Archives with all programs, for any Linux."""
import pathlib

from packs import builds, contents, image
from packs.project import OUT, PROGRAMS, ROOT, SERVERS, Target, epoch, version
from packs.tree import Entry, gz, program, tar, text


def write(targets: list[Target]) -> None:
    """Writes an archive for each target."""
    for target in targets:
        place = path(target)
        name = place.name.removesuffix(".tar.gz")
        entries = [Entry(f"{name}/{entry.path}", entry.content, entry.mode, entry.owner) for entry in inside(target)]
        place.write_bytes(gz(tar(entries, epoch())))


def path(target: Target) -> pathlib.Path:
    """Returns the path of an archive."""
    return OUT / f"ziggurat-{version()}-{target.triple}.tar.gz"


def inside(target: Target) -> list[Entry]:
    """Returns the files of an archive."""
    build = builds.static(target)
    entries = [*contents.licences(), text("README.md", (ROOT / "dist/templates/archive.md").read_text())]
    for each in PROGRAMS:
        entries.append(program(f"bin/{each.name}", build.program(each)))
        entries += [moved("man", page) for page in contents.manuals(each)]
        for shell in contents.SHELLS:
            place = f"completions/{shell}/{contents.file_of_completion(shell, each)}"
            entries.append(text(place, contents.completion(each, shell)))
        if each.unit:
            entries.append(text(f"systemd/{each.unit.name}", each.unit.read_text()))
        entries += [moved("examples", example) for example in contents.examples(each)]
    if target.is_linux:
        entries.append(Entry("image/root.tar", tar(image.machine(), epoch())))
        entries += [text(f"image/{server.name}.Dockerfile", image.dockerfile(server)) for server in SERVERS]
    return entries


def moved(folder: str, entry: Entry) -> Entry:
    """Returns an entry in a folder."""
    return Entry(f"{folder}/{entry.path}", entry.content, entry.mode, entry.owner)
