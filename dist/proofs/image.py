"""Images: read by the tools of others, equal to those of a Dockerfile, and run without rights."""
import hashlib
import json
import pathlib
import subprocess
import tarfile
import tempfile
import time

from packs.image import DATA, USER
from packs.project import OUT, SERVERS, TOOLS_SERVER, epoch, host, version
from proofs.static import unpacked
from proofs.support import free_address, need, need_root, package, proof, run, serving

FIRST_LIST = 0.1  # seconds

INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "check", "version": "1"}}


@proof
def tools_of_others_read_the_layouts() -> None:
    """Inspects, copies and unpacks each layout."""
    need("skopeo", "umoci")
    for server in SERVERS:
        layout = package(f"{server.name}-{version()}.oci.tar")
        for architecture in architectures():
            about = json.loads(run("skopeo", "--override-arch", architecture, "inspect", f"oci-archive:{layout}"))
            assert about["Architecture"] == architecture, about
            assert about["Labels"]["org.opencontainers.image.version"] == version(), about
            with tempfile.TemporaryDirectory() as folder:
                # umoci does not choose from an index of several architectures.
                single = f"{folder}/single:{version()}"
                copy = ("skopeo", "--override-arch", architecture, "copy", "--quiet")
                run(*copy, f"oci-archive:{layout}", f"oci:{single}")
                bundle = pathlib.Path(folder, "bundle")
                run("umoci", "unpack", "--rootless", "--image", single, bundle)
                assert (bundle / f"rootfs/usr/bin/{server.name}").is_file()


def architectures() -> set[str]:
    """Returns the architectures that were built."""
    return {path.name.split(".docker")[0].rpartition("-")[2] for path in OUT.glob("*.docker.tar.gz")}


@proof
def a_registry_keeps_all_architectures() -> None:
    """Pushes a layout to a registry, and pulls the same index."""
    need("skopeo", "docker-registry")
    layout = package(f"ziggurat-tools-{version()}.oci.tar")
    address = free_address()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "registry.yml")
        storage = f"{{filesystem: {{rootdirectory: {folder}/registry}}}}"
        path.write_text(f"version: 0.1\nstorage: {storage}\nhttp: {{addr: {address}}}\n")
        with serving(["docker-registry", "serve", path], address):
            push_and_pull(layout, address)


def push_and_pull(layout: pathlib.Path, address: str) -> None:
    """Pushes a layout to a registry, and compares the index that it has then."""
    place = f"docker://{address}/ziggurat-tools:{version()}"
    run("skopeo", "copy", "--all", "--dest-tls-verify=false", f"oci-archive:{layout}", place)
    index = json.loads(run("skopeo", "inspect", "--raw", "--tls-verify=false", place))
    found = {manifest["platform"]["architecture"] for manifest in index["manifests"]}
    assert found == architectures(), index


@proof
def a_dockerfile_makes_the_same_files() -> None:
    """Builds each image from the archive with buildah, and compares all files."""
    need("buildah")
    triple = host().triple
    context = unpacked(triple).parent
    for server in SERVERS:
        with tempfile.TemporaryDirectory() as folder:
            storage = ["--storage-driver", "vfs", "--root", f"{folder}/storage", "--runroot", f"{folder}/run"]
            built = ["--timestamp", str(epoch()), "--file", context / f"image/{server.name}.Dockerfile"]
            run("buildah", *storage, "bud", "--isolation", "chroot", *built, "--tag", "built", context)
            run("buildah", *storage, "push", "built", f"oci:{folder}/built")
            theirs = files_of(pathlib.Path(folder, "built"))
        with tempfile.TemporaryDirectory() as folder:
            run("tar", "--extract", "--file", package(f"{server.name}-{version()}.oci.tar"), "--directory", folder)
            ours = files_of(pathlib.Path(folder))
        assert ours == theirs, sorted(set(ours.items()) ^ set(theirs.items()))


def files_of(layout: pathlib.Path) -> dict[str, tuple]:
    """Returns the files of the image for this machine, with modes, owners and digests."""
    architecture = host().oci

    def blob(named: dict) -> bytes:
        return (layout / "blobs" / named["digest"].replace(":", "/")).read_bytes()

    listed = json.loads((layout / "index.json").read_text())
    while "manifests" in listed:
        named = listed["manifests"]
        fitting = [each for each in named if each.get("platform", {}).get("architecture") == architecture]
        listed = json.loads(blob((fitting or named)[0]))
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, layer in enumerate(listed["layers"]):
            path = pathlib.Path(folder, str(number))
            path.write_bytes(blob(layer))
            with tarfile.open(path) as archive:
                for member in archive:
                    content = archive.extractfile(member) if member.isfile() else None
                    sum_ = hashlib.sha256(content.read()).hexdigest() if content else ""
                    found[member.name.strip("/")] = (oct(member.mode & 0o7777), member.uid, member.gid, sum_)
    return found


@proof
def tools_answers_without_rights() -> None:
    """Runs the image as its user, with a root that cannot be written to, and asks for the tools."""
    need_root()
    need("unshare", "setpriv")
    with tempfile.TemporaryDirectory() as folder:
        archive = package(f"ziggurat-tools-{version()}-{host().oci}.docker.tar.gz")
        run("tar", "--extract", "--file", archive, "--directory", folder)
        root = pathlib.Path(folder, "root")
        root.mkdir()
        run("tar", "--extract", "--same-permissions", "--file", f"{folder}/layer.tar", "--directory", root)
        times = sorted(first_list(root) for _ in range(5))
    print(f"  the first list of tools after {times[2] * 1000:.0f} ms")
    assert times[2] < FIRST_LIST, times


def first_list(root: pathlib.Path) -> float:
    """Returns the seconds from the start of tools to its first list of tools, on standard input and output."""
    script = 'mount --bind -o ro "$1" "$1" && cd "$1/data" && exec chroot --userspec=65532:65532 "$1" "$2" "$3"'
    assert (USER, DATA) == (65532, "/data")
    url = "postgres://reader@localhost:1/shop"
    alone = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
    command = [*alone, "sh", "-c", script, "sh", root, f"/usr/bin/{TOOLS_SERVER.name}", url]
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": DATA, "ZIGGURAT_DATA_DIR": DATA}
    start = time.monotonic()
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    running = subprocess.Popen(command, env=environment, text=True, **streams)
    try:
        assert running.stdin and running.stdout
        for message in (
            {"id": 1, "method": "initialize", "params": INITIALIZE},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/list"},
        ):
            running.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        running.stdin.flush()
        answers = [json.loads(running.stdout.readline()) for _ in range(2)]
        taken = time.monotonic() - start
        assert any(tool["name"] == "query_database" for tool in answers[1]["result"]["tools"]), answers
        return taken
    finally:
        running.kill()
        running.wait()
