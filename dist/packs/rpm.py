"""RPM packages: one for each program, with the files of the Debian packages."""
import json
import os
import pathlib
import subprocess
import tempfile

from packs import builds, contents, installed, parts
from packs.project import OUT, PROGRAMS, ROOT, Program, Target, epoch, names, version
from packs.templates import filled, summary
from packs.tree import Entry, text

COMPLETIONS = {
    "bash": "usr/share/bash-completion/completions",
    "zsh": "usr/share/zsh/site-functions",
    "fish": "usr/share/fish/vendor_completions.d",
}
SCRIPTS = {"post_install_script": "post", "pre_uninstall_script": "preun", "post_uninstall_script": "postun"}
RELEASE = "1"


def write(targets: list[Target]) -> None:
    """Writes a package for each program and architecture."""
    generate = parts.tool("cargo-generate-rpm")
    for target in targets:
        for each in PROGRAMS:
            pack(generate, each, target)


def pack(generate: pathlib.Path, each: Program, target: Target) -> None:
    """Packs the files of a program. The tool reads them, and a manifest that names them."""
    machine = target.triple.partition("-")[0]
    path = OUT / f"{names()['programs'][each.name]['rpm']}-{version()}-{RELEASE}.{machine}.rpm"
    with tempfile.TemporaryDirectory() as place:
        assets = []
        for number, entry in enumerate(files_of(each, target)):
            source = pathlib.Path(place, str(number))
            source.write_bytes(entry.content or b"")
            assets.append({"source": str(source), "dest": f"/{entry.path}", "mode": f"{entry.mode:o}"})
        pathlib.Path(place, "Cargo.toml").write_text(manifest(each, assets))
        words = ("--arch", machine, "--payload-compress", "gzip", "--output", path)
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch()), "LC_ALL": "C", "TZ": "UTC"}
        subprocess.run([generate, *words], cwd=place, env=environment, check=True)


def files_of(each: Program, target: Target) -> list[Entry]:
    """Returns the files that a package installs, in the order of their paths."""
    place = f"usr/share/doc/{names()['programs'][each.name]['rpm']}"
    entries = [
        *installed.files(each, target, COMPLETIONS),
        text(f"{place}/CHANGELOG.md", (ROOT / "CHANGELOG.md").read_text()),
        *(Entry(f"{place}/{licence.path}", licence.content) for licence in contents.licences()),
        *(Entry(f"{place}/examples/{example.path}", example.content) for example in contents.examples(each)),
    ]
    return sorted(entries, key=lambda entry: entry.path)


def manifest(each: Program, assets: list[dict]) -> str:
    """Returns the manifest of a crate that has no more than what the tool reads."""
    project = names()["project"]
    about = {
        "name": names()["programs"][each.name]["rpm"],
        "version": version(),
        "license": "Apache-2.0 OR MIT",
        "description": summary(each),
        "homepage": project["home"],
    }
    package = {"release": RELEASE, "vendor": project["name"], "auto-req": "no"}
    if each.unit:
        package |= {key: filled(f"rpm/{name}", each) for key, name in SCRIPTS.items()}
    return "\n".join([
        "[package]", *pairs(about),
        "[package.metadata.generate-rpm]", *pairs(package),
        f"require-sh = {'true' if each.unit else 'false'}",
        "[package.metadata.generate-rpm.requires]", *pairs({"glibc": f">= {builds.GLIBC}"}),
        "[package.metadata.generate-rpm.recommends]", *pairs({"ca-certificates": "*"}),
        *(line for asset in assets for line in ("[[package.metadata.generate-rpm.assets]]", *pairs(asset))),
    ])


def pairs(values: dict[str, str]) -> list[str]:
    """Returns texts as lines of TOML, which writes them as JSON does."""
    return [f"{key} = {json.dumps(value)}" for key, value in values.items()]
