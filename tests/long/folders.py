"""A folder of hostile documents costs little, and nothing from outside of it is read.

`bash tests/long/run folders`: 300 files with aliases, open brackets, headings and texts without
blanks in them, a few of which are large. `ziggurat-rag ingest` and the knowledge base builder of
`ziggurat-tools` each end within 60 s and 192 MiB. Then files and folders are swapped for links that
lead out while both read the folder again, 200 times: no word from outside is in the table or the
file. A tenth has 30 files, of the same sizes, and 20 rounds.
"""

import json
import os
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import psycopg

from faults import Faults
from processes import database

TENTH = "--tenth" in sys.argv
FILES = 30 if TENTH else 300
ROUNDS = 20 if TENTH else 200
SECONDS = 60
MAX_KIB = 192 << 10
LARGE = 600_000

# Without an index of vectors, which takes most of the time of a row.
TABLE = """CREATE TABLE documents (id text PRIMARY KEY, document_id text, title text, url text,
    content text, metadata jsonb, embedding vector(256), checksum text,
    created_at timestamptz, updated_at timestamptz)"""

SECRET = "outside"


# === The files ===


def front(text):
    return f"---\n{text}\n---\nshort text\n"


def aliases(_):
    many = "[" + "*a, " * 5500 + "*a]"
    return front(f'a: &a "{"x" * 10_000}"\nb: &b {many}\nc: {many.replace("*a", "*b")}')


def brackets(_):
    return front("a: " + "[" * 60_000)


def hidden_brackets(_):
    return front("a: " + "[\n#]\n" * 12_000)


def headings(size):
    above = "".join("#" * level + f" {str(level) * 290}\n" for level in range(1, 6))
    line = "###### a\nb\n"
    return above + line * (size // len(line))


def headings_of_rst(size):
    marks = "=-~^+*#'`.,:"
    above = "".join(f"{mark} {'h' * 280}\n{mark * 290}\n\n" for mark in marks)
    line = "a\n!!\nb\n\n"
    return above + line * (size // len(line))


def no_blanks(size):
    return "\u00e4" * (size // 2)


def blanks(size):
    return "a" + " \n" * (size // 2) + "b"


def quotes(size):
    return ("|\na\n") * (size // 4)


KINDS = [
    (aliases, "md"),
    (brackets, "md"),
    (hidden_brackets, "md"),
    (headings, "md"),
    (lambda size: headings_of_rst(size // 10), "rst"),
    (no_blanks, "md"),
    (no_blanks, "txt"),
    (blanks, "md"),
    (quotes, "md"),
]


def write(folder):
    for number in range(FILES):
        make, extension = KINDS[number % len(KINDS)]
        size = LARGE if number < len(KINDS) else 1000
        path = folder / f"{number % 5}" / f"{number}.{extension}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(make(size))


# === The programs ===


class Programs:
    def __init__(self, home, variables):
        role = {"username": variables["PGUSER"], "password": variables["PGPASSWORD"]}
        place = {"host": variables["PGHOST"], "port": int(variables["PGPORT"])}
        role |= place | {"database": variables["PGDATABASE"]}
        # A busy machine with an unoptimised build may take its time between two looks at a socket.
        role |= {"connect_timeout": "60s", "acquire_timeout": "60s"}
        table = {"table": "documents", "text_column": "content", "vector_column": "embedding"}
        pipeline = {"name": "docs", "database": role, "tables": [table | {"id_column": "id"}]}
        pipeline |= {"embedding_llm": {"provider": "local"}, "rag_llm": {"provider": "local"}}
        pipeline["ingest"] = {"database": role}
        # JSON is also YAML.
        (home / "rag.yaml").write_text(json.dumps({"pipelines": [pipeline]}))
        base = {"enabled": True, "database_path": str(home / "kb.db"), "embedding_provider": "local"}
        (home / "tools.yaml").write_text(json.dumps({"knowledgebase": base}))
        self.home = home

    def run(self, program, folder):
        """Runs a program to its end; returns its exit code, its seconds and its KiB."""
        if program == "ingest":
            command = [os.environ["LONG_RAG"], "ingest", "-config", self.home / "rag.yaml", folder]
        else:
            command = [os.environ["LONG_TOOLS"], "-config", self.home / "tools.yaml"]
            command += ["-build-knowledgebase", folder, "-kb-project", folder.name]
        began = time.monotonic()
        with open(self.home / f"{program}.log", "wb") as log:
            child = os.posix_spawn(
                command[0],
                [str(word) for word in command],
                {"PATH": os.environ["PATH"], "HOME": str(self.home)},
                file_actions=[(os.POSIX_SPAWN_DUP2, log.fileno(), at) for at in (1, 2)],
            )
        _, status, used = os.wait4(child, 0)
        return os.waitstatus_to_exitcode(status), time.monotonic() - began, used.ru_maxrss

    def log(self, program):
        return (self.home / f"{program}.log").read_text()[-2000:]


def costs_little(programs, folder, faults):
    for program in ("ingest", "knowledge"):
        code, seconds, kib = programs.run(program, folder)
        print(f"{program}: {FILES} files in {seconds:.1f} s, {kib / 1024:.0f} MiB")
        if code != 0:
            faults.add("exit codes", f"{program}: {code}, {programs.log(program)}")
        if seconds > SECONDS or kib > MAX_KIB:
            faults.add("costs", f"{program}: {seconds:.1f} s, {kib} KiB")


# === Links ===


class Swapping:
    """Swaps a file and a folder for links that lead out, as fast as it can."""

    def __init__(self, home):
        self.folder, self.outside = home / "swapped", home / "outside"
        for folder in (self.folder / "inner", self.outside):
            folder.mkdir(parents=True)
            (folder / "a.md").write_text(SECRET if folder == self.outside else "inside")
        (self.folder / "kept.md").write_text("kept")
        self.stopped = threading.Event()
        self.turns = 0

    def run(self):
        link, file = self.folder / ".link", self.folder / ".file"
        while not self.stopped.is_set():
            self.turns += 1
            with suppress(FileNotFoundError):
                link.unlink()
            link.symlink_to(self.outside / "a.md")
            os.replace(link, self.folder / "zzz.md")
            file.write_text(f"inside {self.turns}")
            os.replace(file, self.folder / "zzz.md")
            os.rename(self.folder / "inner", self.folder / ".inner")
            (self.folder / "inner").symlink_to(self.outside)
            (self.folder / "inner").unlink()
            os.rename(self.folder / ".inner", self.folder / "inner")


def reads_nothing_from_outside(programs, connection, home, faults):
    swapping = Swapping(home)
    thread = threading.Thread(target=faults.watch, args=(swapping.run,))
    thread.start()
    try:
        for _ in range(ROUNDS):
            for program in ("ingest", "knowledge"):
                code, _, _ = programs.run(program, swapping.folder)
                if code not in (0, 1):
                    faults.add("exit codes of rounds", f"{program}: {code}, {programs.log(program)}")
            found = "SELECT count(*) FROM documents WHERE content LIKE %s"
            rows = connection.execute(found, (f"%{SECRET}%",)).fetchone()[0]
            faults.expect("rows from outside", rows, 0)
            if SECRET.encode() in (home / "kb.db").read_bytes():
                faults.add("knowledge from outside", "a passage")
    finally:
        swapping.stopped.set()
        thread.join()
    print(f"{ROUNDS} rounds, {swapping.turns} swaps")


def main():
    faults = Faults()
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory())).resolve()
        variables = stack.enter_context(database(os.environ["LONG_DATABASE"]))
        connection = stack.enter_context(
            psycopg.connect(
                host=variables["PGHOST"],
                port=variables["PGPORT"],
                user=variables["PGUSER"],
                password=variables["PGPASSWORD"],
                dbname=variables["PGDATABASE"],
                autocommit=True,
            )
        )
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute(TABLE)
        programs = Programs(home, variables)
        write(home / "hostile")
        costs_little(programs, home / "hostile", faults)
        reads_nothing_from_outside(programs, connection, home, faults)
    faults.end()


if __name__ == "__main__":
    main()
