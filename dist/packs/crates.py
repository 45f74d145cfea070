"""Crates as `cargo publish` would upload them."""
import pathlib
import shutil
import subprocess
import tempfile

from packs.project import OUT, ROOT, Target, names


def write(_: list[Target]) -> None:
    """Writes the published crates. They are the same for every machine."""
    packages = [word for name in names()["crates"]["published"] for word in ("--package", name)]
    with tempfile.TemporaryDirectory() as folder:
        words = ("--offline", "--locked", "--quiet", "--no-verify", "--all-features", "--allow-dirty")
        command = ["cargo", "package", *words, "--target-dir", folder, *packages]
        subprocess.run(command, cwd=ROOT, check=True)
        for path in pathlib.Path(folder, "package").glob("*.crate"):
            shutil.copy(path, OUT)
