"""The project: its folders, version, names, programs and targets."""
import dataclasses
import functools
import json
import os
import pathlib
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
OUT = DIST / "out"
WORK = ROOT / "target" / "dist"
TOOLS = WORK / "tools"


class Missing(Exception):
    """A tool that a format needs is not installed."""


@dataclasses.dataclass(frozen=True)
class Program:
    """A program that is packaged."""

    name: str
    package: str
    folder: str
    profile: str
    is_server: bool = True

    @property
    def unit(self) -> pathlib.Path | None:
        """Returns the unit for systemd."""
        return ROOT / self.folder / f"{self.name}.service" if self.is_server else None

    @property
    def examples(self) -> list[pathlib.Path]:
        """Returns the configurations that users copy."""
        return sorted((ROOT / self.folder).glob("*.yaml"))


CLI = Program("ziggurat", "ziggurat-cli", "bin/cli", "cli", is_server=False)
PLATFORM = Program("ziggurat-platform", "ziggurat-platform", "bin/platform", "dist")
RAG = Program("ziggurat-rag", "ziggurat-rag", "bin/rag", "dist")
TOOLS_SERVER = Program("ziggurat-tools", "ziggurat-tools", "bin/tools", "dist")
PROGRAMS = (CLI, PLATFORM, RAG, TOOLS_SERVER)
SERVERS = tuple(program for program in PROGRAMS if program.is_server)


@dataclasses.dataclass(frozen=True)
class Target:
    """A kind of machine that programs are built for. Debian and OCI have names of their own for it."""

    triple: str
    debian: str
    oci: str

    @property
    def is_glibc(self) -> bool:
        return self.triple.endswith("-linux-gnu")

    @property
    def is_linux(self) -> bool:
        return "-linux-" in self.triple


TARGETS = {
    target.triple: target
    for target in (
        Target("x86_64-unknown-linux-gnu", "amd64", "amd64"),
        Target("aarch64-unknown-linux-gnu", "arm64", "arm64"),
        Target("x86_64-unknown-linux-musl", "amd64", "amd64"),
        Target("aarch64-unknown-linux-musl", "arm64", "arm64"),
        Target("x86_64-apple-darwin", "", ""),
        Target("aarch64-apple-darwin", "", ""),
    )
}


@functools.cache
def names() -> dict:
    """Returns the names under which the project is published."""
    return tomllib.loads((DIST / "names.toml").read_text())


@functools.cache
def version() -> str:
    """Returns the version of the workspace. The tag of a hosted job has to be the same."""
    found = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    tag = os.environ.get("GITHUB_REF_NAME")
    if os.environ.get("GITHUB_REF_TYPE") == "tag" and tag != f"v{found}":
        sys.exit(f"the tag is {tag}, and the version of the workspace {found}")
    return found


@functools.cache
def epoch() -> int:
    """Returns the time of the commit, which all files in packages have."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    return int(given or output("git", "log", "-1", "--format=%ct"))


@functools.cache
def host() -> Target:
    """Returns the target of this machine."""
    lines = output("rustc", "-vV").splitlines()
    triple = next(line.removeprefix("host: ") for line in lines if line.startswith("host: "))
    if triple not in TARGETS:
        sys.exit(f"programs for {triple} are not packaged")
    return TARGETS[triple]


@functools.cache
def manifests() -> dict[str, dict]:
    """Returns the packages of the workspace by name, without their dependencies."""
    found = json.loads(output("cargo", "metadata", "--locked", "--offline", "--no-deps", "--format-version", "1"))
    return {package["name"]: package for package in found["packages"]}


@functools.cache
def metadata() -> dict:
    """Returns the packages of the workspace and their dependencies for all targets, as Cargo describes them."""
    targets = [word for triple in TARGETS for word in ("--filter-platform", triple)]
    return json.loads(output("cargo", "metadata", "--locked", "--offline", "--format-version", "1", *targets))


def output(*command: str | pathlib.Path) -> str:
    """Runs a command in the repository and returns what it prints."""
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()
