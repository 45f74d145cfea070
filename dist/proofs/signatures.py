"""Signatures: verified off line, and refused after a change. The keys are made for the proof alone."""
import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile

from packs.project import DIST, OUT, TOOLS, version
from proofs.support import NotRun, free_address, need, package, proof, run, serving


@proof
def minisign_verifies_the_checksums() -> None:
    """Signs with a key of its own, verifies, and changes one byte."""
    need("minisign")
    with packages() as (folder, keys):
        public, secret = keys / "key.pub", keys / "key"
        run("minisign", "-G", "-W", "-p", public, "-s", secret)
        run(DIST / "sign", "--minisign-key", secret, "--folder", folder)
        sums = folder / "SHA256SUMS"
        verify = ("unshare", "--net", "minisign", "-V", "-p", public, "-x", f"{sums}.minisig", "-m")
        run(*verify, sums)
        refused(*verify, changed(sums, keys))


@proof
def cosign_verifies_each_file_and_an_image() -> None:
    """Signs with a key of its own, verifies without a network, and changes one byte. The image is in a registry."""
    cosign = TOOLS / "bin/cosign"
    if not cosign.is_file():
        raise NotRun("cosign is not installed")
    need("skopeo", "docker-registry")
    address = free_address()
    image = f"{address}/ziggurat-tools:{version()}"
    with packages() as (folder, keys):
        environment = {**os.environ, "COSIGN_PASSWORD": "for the proof"}
        run(cosign, "generate-key-pair", cwd=keys, env=environment)
        settings = keys / "registry.yml"
        storage = f"{{filesystem: {{rootdirectory: {keys}/registry}}}}"
        settings.write_text(f"version: 0.1\nstorage: {storage}\nhttp: {{addr: {address}}}\n")
        with serving(["docker-registry", "serve", settings], address):
            layout = package(f"ziggurat-tools-{version()}.oci.tar")
            run("skopeo", "copy", "--all", "--dest-tls-verify=false", f"oci-archive:{layout}", f"docker://{image}")
            run(DIST / "sign", "--cosign-key", keys / "cosign.key", "--image", image, "--folder", folder, env=environment)
            known = ("--key", keys / "cosign.pub", "--insecure-ignore-tlog=true")
            run(cosign, "verify", *known, image)
        for path in sorted(folder.iterdir()):
            if not path.name.endswith(".sigstore.json"):
                run(*verify_blob(cosign, known, path), path)
        sums = folder / "SHA256SUMS"
        refused(*verify_blob(cosign, known, sums), changed(sums, keys))


def verify_blob(cosign: pathlib.Path, known: tuple, path: pathlib.Path) -> tuple:
    """Returns the command that verifies a file, without the file."""
    return ("unshare", "--net", cosign, "verify-blob", *known, "--bundle", f"{path}.sigstore.json")


@contextlib.contextmanager
def packages():
    """Yields a folder with the packages, to sign them there, and another for keys."""
    package("SHA256SUMS")
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as keys:
        for path in OUT.iterdir():
            if not path.name.endswith((".minisig", ".sigstore.json")):
                pathlib.Path(folder, path.name).symlink_to(path)
        yield pathlib.Path(folder), pathlib.Path(keys)


def changed(path: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """Returns a copy of a file with another first byte."""
    copied = folder / path.name
    shutil.copy(path, copied)
    content = copied.read_bytes()
    copied.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    return copied


def refused(*command: str | pathlib.Path) -> None:
    """Runs a command that has to fail."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0, f"{command} accepts a changed file"
