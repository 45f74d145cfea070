"""A bastion with sshd between ziggurat-tools and PostgreSQL: `connect_command` with `ssh -W`."""

import getpass
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from callers import Caller, entry, free_port, wait_for_port, write_configuration
from faults import Faults
from processes import PATIENCE, database, running

KILLS = 100


def key(folder, name):
    """Makes a key; returns its file."""
    path = folder / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    return path


def bastion(stack, folder):
    """Starts sshd; returns its port."""
    port = free_port()
    sshd = os.environ.get("POOLERS_SSHD", "/usr/sbin/sshd")
    host, client = key(folder, "host"), key(folder, "client")
    (folder / "authorized").write_text((folder / "client.pub").read_text())
    config = folder / "sshd_config"
    config.write_text(
        f"ListenAddress 127.0.0.1\nPort {port}\nHostKey {host}\nPidFile none\nUsePAM no\n"
        f"AuthorizedKeysFile {folder}/authorized\nPasswordAuthentication no\nStrictModes no\n"
        "MaxStartups 100\nAllowTcpForwarding yes\nPermitRootLogin prohibit-password\n"
    )
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    log = stack.enter_context(open(folder / "sshd.log", "wb"))
    stack.enter_context(running([sshd, "-D", "-e", "-f", config], stdout=log, stderr=log))
    wait_for_port(port)
    public = host.with_suffix(".pub").read_text().split()
    known = " ".join(public[:2])
    (folder / "known").write_text(f"[127.0.0.1]:{port} {known}\n")
    other = key(folder, "other").with_suffix(".pub").read_text().split()
    (folder / "wrong").write_text(f"[127.0.0.1]:{port} {' '.join(other[:2])}\n")
    return port, client


def command(folder, port, client, known):
    options = ["BatchMode=yes", "StrictHostKeyChecking=yes", f"UserKnownHostsFile={folder / known}"]
    options = [word for option in options for word in ("-o", option)]
    account = f"{getpass.getuser()}@127.0.0.1"
    return ["ssh", "-F", "none", *options, "-i", str(client), "-p", str(port)] + [
        "-W",
        "{host}:{port}",
        account,
    ]


def clients_of(port):
    """Returns the processes of ssh that are there."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0] == b"ssh" and str(port).encode() in words:
            found.append(int(folder.name))
    return found


def until_none(port, faults, kind):
    deadline = time.monotonic() + 10
    while clients_of(port) and time.monotonic() < deadline:
        time.sleep(0.02)
    faults.expect(kind, clients_of(port), [])


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    faults, slowest = Faults(), 0
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        variables = stack.enter_context(database(os.environ["POOLERS_DATABASE"]))
        port, client = bastion(stack, folder)
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        program = os.environ["POOLERS_PROGRAM"]

        def through(known):
            words = command(folder, port, client, known)
            return entry("shop", variables, connect_command=words)

        arguments = write_configuration(folder, databases=[through("wrong")])
        check = [program, "-check-config", "-connect", *arguments]
        ran = subprocess.run(
            check, env=environment, capture_output=True, text=True, timeout=PATIENCE
        )
        expected = "database 'shop': connect_command of 'shop' did not connect: exit status 255\n"
        faults.expect("the answer to a wrong host key", (ran.returncode, ran.stdout), (1, expected))

        arguments = write_configuration(folder, databases=[through("known")])
        serve = [program, "-http", "-addr", "127.0.0.1:0", "-no-auth", *arguments]
        # Not stopped by the block: it is killed.
        child = subprocess.Popen(
            serve, env=environment, stderr=open(folder / "log", "wb"), stdout=subprocess.DEVNULL
        )
        try:
            deadline = time.monotonic() + PATIENCE
            while "listening on http://" not in (log := (folder / "log").read_text()):
                if time.monotonic() > deadline:
                    sys.exit(f"the server did not start: {log}")
                time.sleep(0.02)
            caller = Caller(log.split("listening on http://")[1].split()[0])
            for _ in range(KILLS):
                begun = time.monotonic()
                answer = caller.query("SELECT 40 + 2 AS answer")
                slowest = max(slowest, time.monotonic() - begun)
                faults.expect("an answer", (answer.is_error, "42" in answer.text), (False, True))
                for process in clients_of(port):
                    os.kill(process, signal.SIGKILL)
            caller.query("SELECT 1 AS one")
            faults.expect("a tunnel", len(clients_of(port)) > 0, True)
        finally:
            child.kill()
            child.wait()
        until_none(port, faults, "tunnels of a server that was killed")
    print(f"sshd: {KILLS} tunnels killed, the slowest answer took {slowest:.2f} s")
    faults.end()


if __name__ == "__main__":
    main()
