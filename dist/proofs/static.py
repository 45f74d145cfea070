"""Static programs start and look up names on any Linux; dynamic ones need no newer glibc."""
import pathlib
import re
import shutil
import subprocess
import tempfile

from packs.builds import GLIBC
from packs.project import OUT, PROGRAMS, WORK, host, version
from proofs.support import SERVICES, SUITES, NotRun, copy_of, need, need_root, package, proof, root_of, run

LISTED = "listed.test"  # in /etc/hosts
SERVED = "served.test"  # of a DNS server
DNS_SERVER = pathlib.Path(__file__).with_name("dns.py")


@proof
def names_are_found_in_an_empty_root() -> None:
    """Runs tools where there is nothing but the program and the files with names."""
    need_root()
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "etc").mkdir()
        find_names(root, nsswitch=None)


@proof
def names_are_found_whatever_nsswitch_says() -> None:
    """Runs tools in Debian 12 and 13 with each name service in front."""
    for suite in SUITES:
        with copy_of(root_of(suite)) as root:
            for service in SERVICES:
                word = "mdns4_minimal [NOTFOUND=return]" if service == "mdns" else service
                find_names(root, nsswitch=f"hosts: {word} files dns\npasswd: {service} files\n")


def find_names(root: pathlib.Path, nsswitch: str | None) -> None:
    """Looks up both names. A database is asked for that nobody serves, so that a found name is refused."""
    programs = unpacked(host().triple)
    shutil.copy(programs / "ziggurat-tools", root / "ziggurat-tools")
    (root / "etc/hosts").write_text(f"127.0.0.1 localhost {LISTED}\n")
    (root / "etc/resolv.conf").unlink(missing_ok=True)
    (root / "etc/resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
    if nsswitch:
        (root / "etc/nsswitch.conf").write_text(nsswitch)
    for name in (LISTED, SERVED):
        url = f"postgres://reader@{name}:1/shop?connect_timeout=2"
        script = 'ip link set lo up; python3 "$1" "$2" && exec chroot "$3" /ziggurat-tools -check-config -connect "$4"'
        command = ["unshare", "--net", "--kill-child", "--pid", "--fork", "sh", "-c", script]
        done = subprocess.run(
            [*command, "sh", DNS_SERVER, SERVED, root, url], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=60, check=False,
        )
        where = nsswitch or "an empty root"
        assert "refused" in done.stdout, f"{name} in {where!r}: exit code {done.returncode}\n{done.stdout}"


@proof
def programs_of_other_machines_start() -> None:
    """Starts the programs for arm64."""
    if host().debian == "arm64":
        raise NotRun("this is arm64")
    need("qemu-aarch64-static")
    folder = unpacked("aarch64-unknown-linux-gnu")
    for program in PROGRAMS:
        word = "-version" if program.is_server else "version"
        assert version() in run("qemu-aarch64-static", folder / program.name, word)


@proof
def dynamic_programs_need_an_old_glibc() -> None:
    """Reads the versions of the symbols that the programs of Debian packages need."""
    need("dpkg-deb", "objdump")
    for path in sorted(OUT.glob("*.deb")):
        with tempfile.TemporaryDirectory() as folder:
            run("dpkg-deb", "--extract", path, folder)
            (program,) = pathlib.Path(folder, "usr/bin").iterdir()
            symbols = run("objdump", "--dynamic-syms", program) if is_ours(path) else readelf(program)
        versions = {tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([\d.]+)", symbols)}
        oldest = tuple(map(int, GLIBC.split(".")))
        assert versions and max(versions) <= oldest, f"{path.name} needs glibc {max(versions)}"


def is_ours(path: pathlib.Path) -> bool:
    """Returns whether a package is for this machine."""
    return path.stem.endswith(host().debian)


def readelf(program: pathlib.Path) -> str:
    """Returns the versions that a program for another machine needs."""
    need("readelf")
    return run("readelf", "--version-info", "--wide", program)


def unpacked(triple: str) -> pathlib.Path:
    """Returns the folder of the programs in an archive, unpacked once."""
    archive = package(f"ziggurat-*-{triple}.tar.gz")
    folder = WORK / "unpacked" / triple
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    run("tar", "--extract", "--file", archive, "--directory", folder, "--strip-components=1")
    return folder / "bin"
