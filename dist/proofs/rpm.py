"""RPM packages: installed, upgraded and removed, and served by a repository."""
import gzip
import pathlib
import re
import shutil
import tempfile

from packs.builds import GLIBC
from packs.project import OUT, PROGRAMS, SERVERS, host
from proofs.debian import inside, owner
from proofs.support import SUITES, NotRun, copy_of, need, need_root, proof, root_of, run

# Packages that a root of Debian has under other names.
BASE = f"""\
Name: base
Version: 1
Release: 1
Summary: Parts of a machine
License: none
BuildArch: noarch
Provides: glibc = {GLIBC}, /bin/sh
%description
Parts of a machine.
%files
"""


def ours(machine: str = "*") -> list[pathlib.Path]:
    """Returns the packages for a machine."""
    found = sorted(OUT.glob(f"*.{machine}.rpm"))
    if not found:
        raise NotRun("dist/out has no RPM packages")
    return found


@proof
def rpm_installs_and_removes_packages_and_data_stay() -> None:
    """Installs, upgrades and removes the packages in a root."""
    need_root()
    need("rpm", "rpmbuild")
    packages = ours(host().triple.partition("-")[0])
    names = [re.sub(r"-\d.*", "", path.name) for path in packages]
    with copy_of(root_of(SUITES[-1])) as root, tempfile.TemporaryDirectory() as folder:
        rpm = ("unshare", "--net", "rpm", "--root", root)
        run(*rpm, "--initdb")
        run(*rpm, "--install", base(pathlib.Path(folder)))
        run(*rpm, "--install", *packages)
        for program in PROGRAMS:
            inside(root, f"/usr/bin/{program.name}", "-version" if program.is_server else "version")
        assert owner(root, "var/lib/ziggurat") == "ziggurat 700", owner(root, "var/lib/ziggurat")
        for server in SERVERS:
            (root / f"etc/ziggurat/{server.name}.yaml").write_text("# kept\n")
        (root / "var/lib/ziggurat/kept").write_text("data")
        run(*rpm, "--upgrade", "--replacepkgs", *packages)
        assert not run(*rpm, "--verify", *names), "files differ from the packages"
        run(*rpm, "--erase", *names)
        assert (root / "var/lib/ziggurat/kept").read_text() == "data"
        assert len(list((root / "etc/ziggurat").iterdir())) == len(SERVERS)
        left = [path for name in names for path in root.glob(f"usr/**/*{name}*") if path.is_file()]
        assert not left, left


def base(folder: pathlib.Path) -> pathlib.Path:
    """Makes a package without files that stands for those which the root has."""
    spec = folder / "base.spec"
    spec.write_text(BASE)
    run("rpmbuild", "-bb", "--quiet", "--define", f"_topdir {folder}", spec)
    return folder / "RPMS/noarch/base-1-1.noarch.rpm"


@proof
def rpm_packages_have_the_files_of_debian_packages() -> None:
    """Compares the programs, units, manuals and completions of both."""
    need("rpm", "dpkg-deb")
    for path in ours():
        machine = "arm64" if ".aarch64." in path.name else "amd64"
        name = re.sub(r"-\d.*", "", path.name)
        (debian,) = OUT.glob(f"{name}_*_{machine}.deb")
        listed = run("dpkg-deb", "--contents", debian).splitlines()
        theirs = {re.split(r"\s+", line)[5].removeprefix(".") for line in listed if line[0] != "d"}
        found = set(run("rpm", "--query", "--list", "--package", path).split())
        assert common(found) == common(theirs), common(found) ^ common(theirs)


def common(paths: set[str]) -> set[str]:
    """Returns the paths that are equal in all distributions."""
    moved = {path.replace("zsh/vendor-completions", "zsh/site-functions") for path in paths}
    return {path for path in moved if not path.startswith(("/usr/share/doc/", "/usr/share/lintian/"))}


@proof
def a_repository_lists_the_rpm_packages() -> None:
    """Makes a repository of the packages, and reads what it says of them."""
    need("createrepo_c")
    with tempfile.TemporaryDirectory() as folder:
        for path in ours():
            shutil.copy(path, folder)
        run("createrepo_c", "--general-compress-type", "gz", folder)
        (primary,) = pathlib.Path(folder, "repodata").glob("*-primary.xml.gz")
        listed = gzip.decompress(primary.read_bytes()).decode()
        places = set(re.findall(r'<location href="([^"]+)"', listed))
        assert places == {path.name for path in ours()}, places
        assert listed.count(f'name="glibc" flags="GE" epoch="0" ver="{GLIBC}"') == len(places), listed
