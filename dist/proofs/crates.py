"""The published crates: a program outside of the workspace is built from the packaged files alone."""
import gzip
import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile
import tomllib
import urllib.error
import urllib.request

from packs.project import OUT, ROOT, WORK, manifests, names, output, version
from proofs.support import free_address, package, proof, run, serving

CONSUMER = pathlib.Path(__file__).with_name("consumer")
CRATES_IO = "https://github.com/rust-lang/crates.io-index"
TOKEN = "open-sesame"


@proof
def names_are_those_of_the_manifests() -> None:
    """Compares names.toml with every manifest, and looks for places of publication in other files."""
    published = {name for name, manifest in manifests().items() if manifest["publish"] is None}
    assert published == set(names()["crates"]["published"]), published
    project = names()["project"]
    places = [project["downloads"], project["images"], project["npm_scope"], "ziggurat.example"]
    files = output("git", "ls-files", "dist", "deploy").splitlines()
    for path in (ROOT / file for file in files):
        if path.name in ("names.toml", "README.md") or path == pathlib.Path(__file__):
            continue
        found = [place for place in places if place in path.read_text()]
        assert not found, f"{path.relative_to(ROOT)} names {found}"


@proof
def a_program_is_built_from_the_packaged_crates() -> None:
    """Builds the consumer through a local index, and runs layers and a server over both transports."""
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        index(place / "index")
        consumer = place / "consumer"
        shutil.copytree(CONSUMER, consumer)
        manifest = consumer / "Cargo.toml"
        manifest.write_text(manifest.read_text().replace("@version@", version()))
        example = f"ziggurat-layers-{version()}/examples/axum_app.rs"
        with tarfile.open(package(f"ziggurat-layers-{version()}.crate")) as crate:
            (consumer / "src/bin/layers.rs").write_bytes(crate.extractfile(example).read())
        environment = {
            **os.environ,
            "CARGO_TARGET_DIR": str(WORK / "consumer"),
            "CARGO_REGISTRIES_PACKAGED_INDEX": f"file://{place}/index",
            "CARGO_NET_GIT_FETCH_WITH_CLI": "true",
        }
        shutil.copy(ROOT / "Cargo.lock", consumer)
        run("cargo", "build", "--quiet", cwd=consumer, env=environment)
        layers_stand_before_an_axum_server(WORK / "consumer/debug/layers")
        a_server_answers_over_both_transports(WORK / "consumer/debug/says")


def index(folder: pathlib.Path) -> None:
    """Makes an index of the packaged crates, as a repository of Git."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"dl": f"file://{OUT}/{{crate}}-{{version}}.crate"}))
    for name in names()["crates"]["published"]:
        path = folder / name[:2] / name[2:4] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(line(package(f"{name}-{version()}.crate"))) + "\n")
    git = ("git", "-C", folder, "-c", "user.name=check", "-c", "user.email=check@localhost")
    run("git", "init", "--quiet", folder)
    run(*git, "add", ".")
    run(*git, "commit", "--quiet", "--message", "Add crates")


def line(path: pathlib.Path) -> dict:
    """Returns the line of a crate in an index, from its manifest."""
    content = path.read_bytes()
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(content))) as archive:
        manifest = tomllib.loads(archive.extractfile(f"{path.stem}/Cargo.toml").read().decode())
    about, tables = manifest["package"], [("", manifest)]
    tables += [(target, table) for target, table in manifest.get("target", {}).items()]
    dependencies = [
        dependency(name, described, target)
        for target, table in tables
        for name, described in table.get("dependencies", {}).items()
    ]
    return {
        "name": about["name"],
        "vers": about["version"],
        "deps": dependencies,
        "cksum": hashlib.sha256(content).hexdigest(),
        "features": {},
        "features2": manifest.get("features", {}),
        "yanked": False,
        "v": 2,
    }


def dependency(name: str, described: dict | str, target: str) -> dict:
    """Returns a dependency in the form of an index."""
    described = {"version": described} if isinstance(described, str) else described
    real = described.get("package", name)
    is_ours = real in names()["crates"]["published"]
    return {
        "name": name,
        "req": described["version"],
        "features": described.get("features", []),
        "optional": described.get("optional", False),
        "default_features": described.get("default-features", True),
        "target": target or None,
        "kind": "normal",
        "registry": None if is_ours else CRATES_IO,
        "package": real if real != name else None,
    }


def layers_stand_before_an_axum_server(program: pathlib.Path) -> None:
    """Asks with and without a token."""
    address = free_address()
    with serving([program], address, TOKEN=TOKEN, LISTEN=address):
        assert fetch(f"http://{address}/hello", None, TOKEN) == (200, b'"hello ali"')
        assert fetch(f"http://{address}/hello")[0] == 401


def a_server_answers_over_both_transports(program: pathlib.Path) -> None:
    """Calls the tool over standard input and output, and over HTTP."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "say", "arguments": {"text": "hi"}}}
    done = subprocess.run([program], input=json.dumps(call) + "\n", capture_output=True, text=True, timeout=60)
    assert '"hi"' in done.stdout, done
    address = free_address()
    with serving([program, address], address, SAYS_TOKEN=TOKEN):
        status, body = fetch(f"http://{address}/mcp", json.dumps(call).encode(), TOKEN)
        assert status == 200 and b'"hi"' in body, (status, body)


def fetch(url: str, body: bytes | None = None, token: str | None = None) -> tuple[int, bytes]:
    """Sends a request, and returns the status and the body of the answer."""
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.read()
