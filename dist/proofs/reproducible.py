"""Two builds of one commit have the same bytes."""
import os
import pathlib
import subprocess
import tempfile

from packs.project import OUT, ROOT, TOOLS, output
from proofs.support import NotRun, proof


@proof
def another_build_has_the_same_bytes() -> None:
    """Builds the commit in another folder with another umask, zone and locale, and compares checksums."""
    if output("git", "status", "--porcelain"):
        raise NotRun("there are changes that are not committed")
    with tempfile.TemporaryDirectory(prefix="a folder of another name ") as folder:
        copied = pathlib.Path(folder, "copied")
        subprocess.run(["git", "clone", "--quiet", ROOT, copied], check=True)
        (copied / "target/dist").mkdir(parents=True)
        (copied / "target/dist/tools").symlink_to(TOOLS)
        modules = "services/console/web/node_modules"
        (copied / modules).symlink_to(ROOT / modules)
        sums = (OUT / "SHA256SUMS").read_text()
        environment = {**os.environ, "TZ": "Asia/Kathmandu", "LC_ALL": "C.UTF-8", "LANG": "C.UTF-8"}
        subprocess.run(["sh", "-c", "umask 077; exec dist/build"], cwd=copied, env=environment, check=True)
        again = (copied / "dist/out/SHA256SUMS").read_text()
        different = set(sums.splitlines()) ^ set(again.splitlines())
        assert not different, "\n".join(sorted(different))
