"""Debian packages: installed, upgraded, removed and purged, in each Debian."""
import pathlib
import shutil
import subprocess
import tempfile

from packs.contents import SHELLS
from packs.debian import COMPLETIONS
from packs.project import OUT, PROGRAMS, SERVERS, host
from proofs.support import SUITES, NotRun, copy_of, need, need_root, proof, root_of, run


def ours() -> list[pathlib.Path]:
    """Returns the packages for this machine."""
    architecture = host().debian
    found = sorted(OUT.glob(f"*_{architecture}.deb"))
    if not found:
        raise NotRun("dist/out has no Debian packages for this machine")
    return found


@proof
def lintian_finds_no_errors() -> None:
    """Runs the checks of Debian."""
    need("lintian")
    run("lintian", "--fail-on", "error", "--allow-root", "--tag-display-limit", "0", *ours())


@proof
def packages_come_and_go_and_data_stay() -> None:
    """Installs, upgrades, removes and purges the packages in each Debian."""
    names = [path.name.split("_")[0] for path in ours()]
    for suite in SUITES:
        with copy_of(root_of(suite)) as root:
            for path in ours():
                shutil.copy(path, root)
            files = [f"/{path.name}" for path in ours()]
            inside(root, "dpkg", "--install", *files)
            for program in PROGRAMS:
                inside(root, f"/usr/bin/{program.name}", "-version" if program.is_server else "version")
            assert owner(root, "var/lib/ziggurat") == "ziggurat 700", owner(root, "var/lib/ziggurat")
            for server in SERVERS:
                (root / f"etc/ziggurat/{server.name}.yaml").write_text("# kept\n")
            (root / "var/lib/ziggurat/kept").write_text("data")
            inside(root, "dpkg", "--install", *files)
            inside(root, "dpkg", "--remove", *names)
            inside(root, "dpkg", "--purge", *names)
            assert (root / "var/lib/ziggurat/kept").read_text() == "data"
            assert len(list((root / "etc/ziggurat").iterdir())) == len(SERVERS)
            left = [path for name in names for path in root.glob(f"usr/**/*{name}*") if path.is_file()]
            assert not left, left


@proof
def an_apt_repository_serves_them() -> None:
    """Installs from a repository of files, with apt."""
    need_root()
    need("reprepro")
    with copy_of(root_of(SUITES[-1])) as root:
        tree = root / "apt"
        (tree / "conf").mkdir(parents=True)
        architecture = host().debian
        (tree / "conf/distributions").write_text(
            f"Codename: stable\nComponents: main\nArchitectures: {architecture}\n"
        )
        run("reprepro", "--basedir", tree, "includedeb", "stable", *ours())
        shutil.rmtree(root / "etc/apt/sources.list.d", ignore_errors=True)
        (root / "etc/apt/sources.list").write_text("deb [trusted=yes] file:/apt stable main\n")
        inside(root, "apt-get", "update")
        inside(root, "apt-get", "install", "--yes", "--no-install-recommends", "ziggurat-tools")
        inside(root, "ziggurat-tools", "-version")


@proof
def manuals_have_no_warnings() -> None:
    """Formats each manual page."""
    need("man")
    with unpacked() as folder:
        for page in sorted(folder.glob("usr/share/man/man?/*.gz")):
            done = subprocess.run(
                ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=60, check=True,
            )
            assert not done.stderr, f"{page.name}: {done.stderr}"


@proof
def completions_are_read_by_each_shell() -> None:
    """Sources the completions in the shells that are installed."""
    with unpacked() as folder:
        for shell in SHELLS:
            need(shell)
            for path in sorted((folder / COMPLETIONS[shell]).iterdir()):
                first = "autoload -U compinit; compinit -D -u; " if shell == "zsh" else ""
                run(shell, "-c", f"{first}source {path}", env={"HOME": str(folder), "PATH": "/usr/bin:/bin"})


class unpacked:
    """The files of all packages in one folder."""

    def __enter__(self) -> pathlib.Path:
        self.folder = tempfile.TemporaryDirectory()
        for path in ours():
            run("dpkg-deb", "--extract", path, self.folder.name)
        return pathlib.Path(self.folder.name)

    def __exit__(self, *_: object) -> None:
        self.folder.cleanup()


def inside(root: pathlib.Path, *command: str) -> str:
    """Runs a command in a root, without a network."""
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
    return run("unshare", "--net", "chroot", root, *command, env=environment)


def owner(root: pathlib.Path, path: str) -> str:
    """Returns the owner and the mode of a folder in a root."""
    return inside(root, "stat", "--format", "%U %a", f"/{path}").strip()
