"""Servers of PostgreSQL from binaries in a folder."""

import os
import pwd
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import psycopg


class Server:
    """A server on a socket in a folder of its own, as a user that PostgreSQL accepts."""

    def __init__(self, binaries, folder, settings=(), prepare=None):
        self.binaries, self.folder = Path(binaries), Path(folder)
        self.account = {}
        if os.geteuid() == 0:
            entry = pwd.getpwnam("nobody")
            os.chown(folder, entry.pw_uid, entry.pw_gid)
            self.account = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        self.run(
            "initdb",
            "-D",
            self.data,
            "-U",
            "postgres",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--no-locale",
            "--no-sync",
        )
        if prepare:
            prepare(self)
        given = {"listen_addresses": "", "unix_socket_directories": str(folder)} | dict(settings)
        with open(self.data / "postgresql.auto.conf", "a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in given.items())
        self.start()

    def start(self):
        self.run("pg_ctl", "-D", self.data, "-w", "-t", "60", "-l", self.folder / "log", "start")

    @property
    def data(self):
        return self.folder / "data"

    def run(self, program, *arguments):
        done = subprocess.run(
            [self.binaries / program, *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=self.folder,
            check=False,
            timeout=120,
            text=True,
            **self.account,
        )
        assert done.returncode == 0, done.stderr

    def stop(self):
        self.run("pg_ctl", "-D", self.data, "-w", "-m", "immediate", "stop")

    def conninfo(self, user, database="shop"):
        return f"host={self.folder} user={user} dbname={database} connect_timeout=10"

    def connect(self, user="postgres", database="shop"):
        return psycopg.connect(self.conninfo(user, database), autocommit=True)


@contextmanager
def server(binaries, settings=(), prepare=None):
    with tempfile.TemporaryDirectory(prefix="server") as folder:
        os.chmod(folder, 0o755)
        started = Server(binaries, folder, settings, prepare)
        try:
            yield started
        finally:
            started.stop()
