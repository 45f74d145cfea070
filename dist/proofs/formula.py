"""Formulae for Homebrew, and the addresses from which `cargo binstall` takes archives."""
import hashlib
import re
import tarfile
import tomllib

from packs import archive
from packs.project import OUT, PROGRAMS, ROOT, TARGETS, names, version
from proofs.support import need, package, proof, run


@proof
def formulae_are_ruby_with_the_checksums_of_archives() -> None:
    """Parses each formula, and compares its checksums and files with the archives."""
    need("ruby")
    for program in PROGRAMS:
        formula = package(f"{names()['programs'][program.name]['formula']}.rb")
        run("ruby", "-cw", formula)
        text = formula.read_text()
        assert ("service do" in text) == program.is_server, program
        found = re.findall(r'url "(\S+)"\n +sha256 "(\w+)"', text)
        assert found, text
        for url, digest in found:
            path = OUT / url.rpartition("/")[2]
            assert url == f"{names()['project']['downloads']}/v{version()}/{path.name}", url
            assert digest == hashlib.sha256(path.read_bytes()).hexdigest(), path
            with tarfile.open(path) as packed:
                inside = {name.partition("/")[2] for name in packed.getnames()}
            taken = set(re.findall(r'"((?:bin|completions|examples)/[^"]+)"', text))
            assert taken and taken <= inside, taken - inside


@proof
def binstall_finds_the_archives() -> None:
    """Compares the addresses in the manifests of the programs with the names of archives, and with their files."""
    for program in PROGRAMS:
        package_ = tomllib.loads((ROOT / program.folder / "Cargo.toml").read_text())["package"]
        described = package_["metadata"]["binstall"]
        assert described["pkg-fmt"] == "tgz", described
        for target in TARGETS.values():
            values = {"version": version(), "target": target.triple, "bin": program.name}
            path = archive.path(target)
            url = filled(described["pkg-url"], values)
            assert url == f"{names()['project']['downloads']}/v{version()}/{path.name}", url
            if path.is_file():
                with tarfile.open(path) as packed:
                    assert packed.getmember(filled(described["bin-dir"], values)).mode == 0o755


def filled(template: str, values: dict[str, str]) -> str:
    """Fills a template of `cargo binstall`."""
    return re.sub(r"\{ ([\w-]+) \}", lambda found: values[found[1]], template)
