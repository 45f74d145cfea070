"""Parts that several proofs need: tools, packages, throw-away roots, and names to look up."""
import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

from packs.project import OUT, WORK

SUITES = ("bookworm", "trixie")
SERVICES = ("myhostname", "resolve", "mymachines", "mdns", "sss")


# The proofs by name, in the order in which they run.
PROOFS = {}


def proof(function):
    """Registers a function as a proof. Its name is what it proves."""
    PROOFS[function.__name__] = function
    return function


class NotRun(Exception):
    """A proof needs a tool or a right that this machine does not have."""


def need(*commands: str) -> None:
    """Ends the proof if one of the commands is not installed."""
    for command in commands:
        if not shutil.which(command):
            raise NotRun(f"{command} is not installed")


def need_root() -> None:
    """Ends the proof if it may not make roots and namespaces."""
    if os.geteuid() != 0:
        raise NotRun("only root may do this")


def package(pattern: str) -> pathlib.Path:
    """Returns the one file in dist/out that fits a pattern."""
    found = sorted(OUT.glob(pattern))
    if len(found) != 1:
        raise NotRun(f"dist/out has {len(found)} files {pattern}")
    return found[0]


def run(*command: str | pathlib.Path, **more: object) -> str:
    """Runs a command, and returns what it prints on both streams. A failure ends the proof."""
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600, check=False, **more
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}"
    return done.stdout


def root_of(suite: str) -> pathlib.Path:
    """Returns a Debian with the name services that desktops have. It is made once."""
    need_root()
    need("mmdebstrap")
    root = WORK / "roots" / suite
    if not root.is_dir():
        root.parent.mkdir(parents=True, exist_ok=True)
        making = root.with_suffix(".making")
        shutil.rmtree(making, ignore_errors=True)
        services = ",".join(f"libnss-{service}" for service in SERVICES)
        run("mmdebstrap", "--variant=minbase", f"--include={services},init-system-helpers", suite, making)
        making.rename(root)
    return root


@contextlib.contextmanager
def serving(command: list, address: str, **variables: str):
    """Runs a program while the body of the statement runs, which begins once the program listens."""
    running = subprocess.Popen(
        command, env={**os.environ, **variables}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        end = time.monotonic() + 30
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), 1).close()
                break
            assert time.monotonic() < end and running.poll() is None, f"{command} does not start"
            time.sleep(0.05)
        yield
    finally:
        running.kill()
        running.wait()


def free_address() -> str:
    """Returns an address of this machine at which no program listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


@contextlib.contextmanager
def copy_of(root: pathlib.Path):
    """Yields a copy of a root, which is deleted afterwards."""
    with tempfile.TemporaryDirectory(dir=root.parent) as folder:
        copied = pathlib.Path(folder, "root")
        run("cp", "--archive", "--reflink=auto", root, copied)
        yield copied
