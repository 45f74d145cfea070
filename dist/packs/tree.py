"""Trees of files that make the same bytes on every machine."""
import dataclasses
import gzip
import io
import tarfile
import time
import zipfile


@dataclasses.dataclass(frozen=True)
class Entry:
    """A file of a package, or a folder if it has no content."""

    path: str
    content: bytes | None = None
    mode: int = 0o644
    owner: int = 0


def text(path: str, content: str, mode: int = 0o644) -> Entry:
    """Returns a file with a text."""
    return Entry(path, content.encode(), mode)


def program(path: str, content: bytes) -> Entry:
    """Returns a file that can be run."""
    return Entry(path, content, 0o755)


def folder(path: str, mode: int = 0o755, owner: int = 0) -> Entry:
    """Returns a folder."""
    return Entry(path, None, mode, owner)


def complete(entries: list[Entry]) -> list[Entry]:
    """Sorts entries, and adds the folders that they are in. Two entries of one path are an error."""
    found: dict[str, Entry] = {}
    for entry in entries:
        if found.setdefault(entry.path, entry) is not entry:
            raise ValueError(f"two files of a package are called {entry.path}")
    for entry in entries:
        parts = entry.path.split("/")[:-1]
        for count in range(1, len(parts) + 1):
            path = "/".join(parts[:count])
            found.setdefault(path, folder(path))
    return [found[path] for path in sorted(found)]


def tar(entries: list[Entry], when: int) -> bytes:
    """Packs entries with their folders. All of them have one time."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for entry in complete(entries):
            member = tarfile.TarInfo(entry.path)
            member.mode, member.mtime, member.uid, member.gid = entry.mode, when, entry.owner, entry.owner
            if entry.content is None:
                member.type = tarfile.DIRTYPE
                archive.addfile(member)
            else:
                member.size = len(entry.content)
                archive.addfile(member, io.BytesIO(entry.content))
    return packed.getvalue()


def zipped(entries: list[Entry], when: int) -> bytes:
    """Packs files as a ZIP archive, in their order. All of them have one time."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for entry in entries:
            member = zipfile.ZipInfo(entry.path, time.gmtime(when)[:6])
            member.compress_type, member.create_system = zipfile.ZIP_DEFLATED, 3
            member.external_attr = (0o100000 | entry.mode) << 16
            archive.writestr(member, entry.content or b"")
    return packed.getvalue()


def gz(content: bytes) -> bytes:
    """Compresses without a name and a time."""
    return gzip.compress(content, 9, mtime=0)
