"""Builds of the programs, one for each target and kind of linking."""
import dataclasses
import functools
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

from packs import parts
from packs.project import DIST, PROGRAMS, ROOT, TOOLS, WORK, Missing, Program, Target, epoch, host, output

# The oldest glibc with which dynamic programs run.
GLIBC = "2.28"

CROSS_COMPILERS = {"aarch64-unknown-linux-gnu": "aarch64-linux-gnu-", "x86_64-unknown-linux-gnu": "x86_64-linux-gnu-"}


@dataclasses.dataclass(frozen=True)
class Build:
    """A build of all programs. A static one needs nothing of the machine that it runs on."""

    target: Target
    is_static: bool

    @property
    def name(self) -> str:
        return f"{self.target.triple}-{'static' if self.is_static else 'dynamic'}"

    @functools.cached_property
    def folder(self) -> pathlib.Path:
        """Builds the programs, and returns the folder that they are in."""
        self._require()
        say(f"building {self.name}")
        programs = WORK / self.name / "programs"
        shutil.rmtree(programs, ignore_errors=True)
        programs.mkdir(parents=True)
        self._parts.mkdir(exist_ok=True)
        for program in PROGRAMS:
            (self._parts / f"{program.package}.json").write_text(parts.embedded(program, self.target))
            # Each alone: programs that are built together share the features of their crates.
            self._compile(program)
            shutil.copy(WORK / self.name / self.target.triple / program.profile / program.name, programs)
        return programs

    def program(self, program: Program) -> bytes:
        """Returns the file of a program."""
        return (self.folder / program.name).read_bytes()

    @property
    def uses_zig(self) -> bool:
        """Returns whether zig links, which knows old versions of glibc, and musl."""
        return self.target.is_linux and not (self.is_static and self.target.is_glibc)

    @property
    def cross_compiler(self) -> str:
        """Returns the beginning of the names of the C compiler and its tools."""
        is_native = self.target.triple == host().triple
        return "" if is_native else CROSS_COMPILERS[self.target.triple]

    @property
    def _parts(self) -> pathlib.Path:
        """Returns the folder of the lists of parts."""
        return WORK / self.name / "parts"

    def _require(self) -> None:
        parts.tool("cargo-auditable")
        installed = pathlib.Path(output("rustc", "--print", "sysroot"), "lib/rustlib", self.target.triple, "lib")
        if not installed.is_dir():
            raise Missing(f"the standard library of Rust for {self.target.triple}")
        if self.uses_zig:
            if not zig().is_file():
                raise Missing("zig")
        elif not shutil.which(f"{self.cross_compiler}cc") and not shutil.which(f"{self.cross_compiler}gcc"):
            raise Missing(f"{self.cross_compiler}gcc")

    def _compile(self, program: Program) -> None:
        """Compiles a program."""
        triple = self.target.triple
        if self.uses_zig and self.target.is_glibc:
            triple = f"{triple}.{GLIBC}"
        command = [
            *("cargo", "zigbuild" if self.uses_zig else "build", "--offline", "--locked", "--quiet"),
            *("--profile", program.profile, "--target", triple, "--package", program.package, "--bins"),
        ]
        subprocess.run(command, cwd=ROOT, env=self._environment(), check=True)

    def _environment(self) -> dict[str, str]:
        """Returns the variables of a build in which no path and no time of this machine remain."""
        variables = {name: value for name, value in os.environ.items() if not name.startswith(("CARGO_", "RUSTFLAGS"))}
        cargo_home = os.environ.get("CARGO_HOME") or str(pathlib.Path.home() / ".cargo")
        paths = {str(WORK / self.name): "/build", str(ROOT): "/ziggurat", cargo_home: "/cargo"}
        # The last one that fits counts.
        paths = dict(sorted(paths.items(), key=lambda path: len(path[0])))
        # Not a key of the profile: Cargo forgets that for a package with a key of its own.
        flags = ["-Cstrip=symbols", *(f"--remap-path-prefix={path}={name}" for path, name in paths.items())]
        if self.is_static and self.target.is_glibc:
            flags += ["-Ctarget-feature=+crt-static", f"-Clink-arg={self._names()}"]
            # Random numbers without /dev: a static program cannot look up whether glibc has the function.
            flags += ["--cfg", 'getrandom_backend="linux_getrandom"']
        c_flags = shlex.join(f"-ffile-prefix-map={path}={name}" for path, name in paths.items())
        name = self.target.triple.replace("-", "_")
        variables |= {
            "CARGO_HOME": cargo_home,
            "CARGO_TARGET_DIR": str(WORK / self.name),
            "CARGO_INCREMENTAL": "0",
            "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags),
            f"CFLAGS_{name}": c_flags,
            f"CXXFLAGS_{name}": c_flags,
            "SOURCE_DATE_EPOCH": str(epoch()),
            "PATH": f"{DIST / 'wrapper'}:{TOOLS / 'bin'}:{os.environ['PATH']}",
            "RUSTC_WORKSPACE_WRAPPER": "rustc-with-parts",
            # With it cargo-auditable takes what it is called with for a call of the compiler.
            "CARGO_AUDITABLE_ORIG_ARGS": "{}",
            "AUDITABLE": str(parts.tool("cargo-auditable")),
            "PARTS": str(self._parts),
            "LC_ALL": "C",
            "TZ": "UTC",
        }
        if "'" in c_flags:
            # A path with a space. Builds of C begin anew when this changes, so it is there only if need be.
            variables["CC_SHELL_ESCAPED_FLAGS"] = "1"
        if self.uses_zig:
            variables["CARGO_ZIGBUILD_ZIG_PATH"] = str(zig())
            variables["ZIG_GLOBAL_CACHE_DIR"] = str(WORK / "zig")
        elif self.cross_compiler:
            variables[f"CC_{name}"] = f"{self.cross_compiler}gcc"
            variables[f"CXX_{name}"] = f"{self.cross_compiler}g++"
            variables[f"CARGO_TARGET_{name.upper()}_LINKER"] = f"{self.cross_compiler}gcc"
        return variables

    def _names(self) -> pathlib.Path:
        """Compiles the object that chooses name services."""
        compiled = WORK / self.name / "names.o"
        compiled.parent.mkdir(parents=True, exist_ok=True)
        command = [f"{self.cross_compiler}gcc", "-O2", "-c", "-o", str(compiled), str(DIST / "names.c")]
        subprocess.run(command, check=True)
        return compiled


@functools.cache
def static(target: Target) -> Build:
    """Returns the build for archives and images."""
    return Build(target, is_static=target.is_linux)


@functools.cache
def dynamic(target: Target) -> Build:
    """Returns the build for packages of distributions."""
    return Build(target, is_static=False)


def zig() -> pathlib.Path:
    """Returns the path of zig."""
    found = list(TOOLS.glob("lib/python3*/site-packages/ziglang/zig"))
    return found[0] if found else TOOLS / "zig"


def say(line: str) -> None:
    """Prints a line about progress."""
    print(line, file=sys.stderr, flush=True)
