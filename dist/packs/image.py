"""Images of the servers: a program, certificates, and no shell."""
import datetime
import hashlib
import json
import pathlib

from packs import builds, contents
from packs.project import OUT, SERVERS, TOOLS, Missing, Program, Target, epoch, names, version
from packs.tree import Entry, folder, gz, program, tar, text

USER = 65532
DATA = "/data"
PORT = 8080
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"

LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
CONFIG = "application/vnd.oci.image.config.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"


def write(targets: list[Target]) -> None:
    """Writes an OCI layout with all architectures, and an archive for `docker load` for each."""
    for server in SERVERS:
        layout = Layout()
        manifests = []
        for target in targets:
            layer = tar(inside(server, target), epoch())
            config = encoded(configuration(server, target, layer))
            manifests.append(layout.image(target, config, layer))
            archive = docker_archive(server, config, layer)
            (OUT / f"{server.name}-{version()}-{target.oci}.docker.tar.gz").write_bytes(gz(archive))
        (OUT / f"{server.name}-{version()}.oci.tar").write_bytes(layout.packed(manifests))


def inside(server: Program, target: Target) -> list[Entry]:
    """Returns the files of an image."""
    entries = [*machine(), program(f"usr/bin/{server.name}", builds.static(target).program(server))]
    for licence in contents.licences():
        entries.append(Entry(f"usr/share/doc/{server.name}/{licence.path}", licence.content))
    return entries


def machine() -> list[Entry]:
    """Returns the files that a program expects of a machine."""
    return [
        text("etc/passwd", f"ziggurat:x:{USER}:{USER}::{DATA}:/sbin/nologin\n"),
        text("etc/group", f"ziggurat:x:{USER}:\n"),
        Entry(CERTIFICATES.removeprefix("/"), certificates()),
        folder("tmp", 0o1777),
        folder(DATA.removeprefix("/"), 0o700, USER),
    ]


def certificates() -> bytes:
    """Returns the certificates of public authorities."""
    found = list(TOOLS.glob("lib/python3*/site-packages/certifi/cacert.pem"))
    if not found:
        raise Missing("certificates of public authorities (certifi)")
    return pathlib.Path(found[0]).read_bytes()


def settings(server: Program) -> dict:
    """Returns how the program of an image runs."""
    project = names()["project"]
    labels = {
        "org.opencontainers.image.title": server.name,
        "org.opencontainers.image.version": version(),
        "org.opencontainers.image.licenses": "Apache-2.0 OR MIT",
        "org.opencontainers.image.url": project["home"],
        "org.opencontainers.image.source": project["source"],
        "org.opencontainers.image.documentation": project["manual"],
    }
    registry = names()["programs"][server.name].get("registry")
    if registry:
        labels["io.modelcontextprotocol.server.name"] = registry
    return {
        "User": str(USER),
        "ExposedPorts": {f"{PORT}/tcp": {}},
        "Env": ["PATH=/usr/bin", f"HOME={DATA}", f"SSL_CERT_FILE={CERTIFICATES}", f"ZIGGURAT_DATA_DIR={DATA}"],
        "Entrypoint": [f"/usr/bin/{server.name}"],
        "Volumes": {DATA: {}},
        "WorkingDir": DATA,
        "Labels": labels,
    }


def dockerfile(server: Program) -> str:
    """Returns the file that makes the image from an unpacked archive."""
    run = settings(server)
    labels = " \\\n    ".join(f'{key}="{value}"' for key, value in run["Labels"].items())
    licences = " ".join(entry.path for entry in contents.licences())
    return f"""\
# The image of {server.name}, from an unpacked archive. In its folder:
# docker build --file image/{server.name}.Dockerfile --tag {server.name}:{version()} .
FROM scratch
ADD image/root.tar /
COPY bin/{server.name} /usr/bin/{server.name}
COPY {licences} /usr/share/doc/{server.name}/
USER {run["User"]}
EXPOSE {PORT}
ENV {" ".join(run["Env"])}
VOLUME {DATA}
WORKDIR {run["WorkingDir"]}
LABEL {labels}
ENTRYPOINT {json.dumps(run["Entrypoint"])}
# Knows the environment and the configuration file of the server, but not its arguments.
HEALTHCHECK --interval=10s --start-period=10s CMD {json.dumps([*run["Entrypoint"], "-healthcheck"])}
"""


def configuration(server: Program, target: Target, layer: bytes) -> dict:
    """Returns the configuration of an image."""
    time = timestamp()
    return {
        "created": time,
        "architecture": target.oci,
        "os": "linux",
        "config": settings(server),
        "rootfs": {"type": "layers", "diff_ids": [digest(layer)]},
        "history": [{"created": time, "created_by": "dist/build"}],
    }


class Layout:
    """An image layout of the Open Container Initiative."""

    def __init__(self) -> None:
        self.entries = [text("oci-layout", json.dumps({"imageLayoutVersion": "1.0.0"}))]

    def image(self, target: Target, config: bytes, layer: bytes) -> dict:
        """Adds an image, and returns how the index names it."""
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": self.blob(CONFIG, config),
            "layers": [self.blob(LAYER, gz(layer))],
        }
        named = self.blob(MANIFEST, encoded(manifest))
        return {**named, "platform": {"architecture": target.oci, "os": "linux"}}

    def packed(self, manifests: list[dict]) -> bytes:
        """Returns the layout with an index of these images, which is named like the version."""
        images = self.blob(INDEX, encoded({"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests}))
        named = {**images, "annotations": {"org.opencontainers.image.ref.name": version()}}
        index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [named]}
        return tar([*self.entries, Entry("index.json", encoded(index))], epoch())

    def blob(self, kind: str, content: bytes) -> dict:
        """Adds a content, and returns its descriptor."""
        name = digest(content)
        self.entries.append(Entry(f"blobs/{name.replace(':', '/')}", content))
        return {"mediaType": kind, "digest": name, "size": len(content)}


def docker_archive(server: Program, config: bytes, layer: bytes) -> bytes:
    """Returns the archive that `docker load` reads."""
    config_file = f"{digest(config).removeprefix('sha256:')}.json"
    tag = f"{names()['programs'][server.name]['image']}:{version()}"
    manifest = [{"Config": config_file, "RepoTags": [tag], "Layers": ["layer.tar"]}]
    entries = [Entry(config_file, config), Entry("layer.tar", layer), Entry("manifest.json", encoded(manifest))]
    return tar(entries, epoch())


def encoded(value: object) -> bytes:
    """Encodes JSON in one way."""
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


def digest(content: bytes) -> str:
    """Returns the digest by which content is named."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def timestamp() -> str:
    """Returns the time of the commit as RFC 3339."""
    return datetime.datetime.fromtimestamp(epoch(), datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
