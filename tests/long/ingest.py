"""Documents are loaded completely, whatever happens in between.

`bash tests/long/run ingest`: a made corpus of 2,000 files of all formats, of which 5 % are hostile.
After `ziggurat-rag ingest` the table holds what this script knows of each document: its title, its
address, its metadata, its words in their order, and vectors that are computed here, too. Each
hostile file is named. A second run embeds nothing. Then the corpus changes and the program is killed
at a random time, again and again: each document in the table is whole at every time, and the next
run that is not killed gives the same end state. Memory and time of the largest process are printed.
"""

import hashlib
import io
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from contextlib import ExitStack
from pathlib import Path

import psycopg

from faults import Faults
from processes import database

TENTH = "--tenth" in sys.argv
FILES = 200 if TENTH else 2000
KILLS = 8 if TENTH else 200
PATIENCE = 300
# Nothing that a document needs, a small part of what the hostile ones would take.
MAX_KIB = 1 << 20
TOKENS = 60

WORDS = """bed soil loam sand rain frost fern moss wool silk yarn loom kiln clay glaze brass iron
kettle vinegar lamp wick oak ash birch reed pond heron otter mud gate hinge bolt rope knot sail mast
tar pitch salt rye barley oat malt hop crock lid shelf ladder rung beam thatch slate lead pipe""".split()
STOP = """a an and are as at be but by do does for from has how i if in is it its my no not of on or
so than that the then there to was what when which with you""".split()


# === The corpus ===


class Document:
    """A document as it was made: what the table has to hold of it."""

    def __init__(self, identifier, source, title, sections, url=None, metadata=None):
        self.identifier, self.source, self.title = identifier, source, title
        self.sections, self.url, self.metadata = sections, url, metadata or {}

    def words(self):
        return [word for _, text in self.sections for word in text.split()]


class Corpus:
    """A folder of documents, made from a seed."""

    def __init__(self, folder):
        self.folder = folder
        self.documents, self.hostile = {}, set()

    def sections(self, chance, number):
        def sentence():
            words = chance.choices(WORDS, k=chance.randint(3, 14))
            return " ".join(words).capitalize() + "."

        sections = []
        for index in range(chance.randint(1, 4)):
            text = " ".join(sentence() for _ in range(chance.randint(1, 25)))
            sections.append((f"Part {number} {index}", text))
        return sections

    def make(self, number, version):
        """Makes the file with a number; another version has another text."""
        chance = random.Random(f"{number} {version}")
        kind = KINDS[number % len(KINDS)]
        name = f"corpus/{number % 7}/{number}.{kind}"
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if number % 20 == 19:
            hostile = HOSTILE[number // 20 % len(HOSTILE)]
            path = path.with_suffix(f".{hostile.extension}")
            path.write_bytes(hostile(chance))
            self.hostile.add(str(path.relative_to(self.folder)))
            return
        title, sections = f"Title {number}", self.sections(chance, number)
        self.forget(name)
        path.write_bytes(getattr(self, f"write_{kind}")(name, title, sections, chance))

    def forget(self, name):
        lines = self.lines(name)
        gone = [one for one, it in self.documents.items() if one == name or it.source == lines]
        for one in gone:
            del self.documents[one]

    def lines(self, name):
        """Returns the source of a file of lines."""
        return f"{self.folder}/corpus//{name.removeprefix('corpus/')}"

    def remove(self, number):
        name = f"corpus/{number % 7}/{number}.{KINDS[number % len(KINDS)]}"
        (self.folder / name).unlink(missing_ok=True)
        self.forget(name)

    def add(self, name, title, sections, **more):
        self.documents[name] = Document(name, str(self.folder / "corpus"), title, sections, **more)

    def write_md(self, name, title, sections, chance):
        metadata = {"tags": chance.sample(WORDS, 2), "url": f"https://e.example/{title[6:]}"}
        self.add(name, title, sections, url=metadata["url"], metadata=metadata)
        front = "".join(f"{key}: {json.dumps(value)}\n" for key, value in metadata.items())
        body = "".join(f"## {heading}\n\n{text}\n\n" for heading, text in sections)
        return f"---\n{front}---\n# {title}\n\n{body}".encode()

    def write_html(self, name, title, sections, _):
        self.add(name, title, sections)
        body = "".join(f"<h2>{heading}</h2><p>{text}</p>" for heading, text in sections)
        return f"<title>{title}</title><script>var x = '<p>no';</script>{body}".encode()

    def write_txt(self, name, _, sections, __):
        sections = [(None, "\n\n".join(text for _, text in sections))]
        self.add(name, Path(name).stem, sections)
        return sections[0][1].encode()

    def write_rst(self, name, title, sections, _):
        self.add(name, title, sections)
        body = "".join(f"{head}\n{'-' * len(head)}\n\n{text}\n\n" for head, text in sections)
        return f"{title}\n{'=' * len(title)}\n\n{body}".encode()

    def write_adoc(self, name, title, sections, _):
        self.add(name, title, sections)
        return (f"= {title}\n\n" + "".join(f"== {h}\n\n{t}\n\n" for h, t in sections)).encode()

    def write_jsonl(self, name, title, sections, chance):
        lines = []
        for index, (_, text) in enumerate(sections):
            identifier = f"{name}:{index}"
            metadata = {"n": chance.randint(0, 9)}
            self.documents[identifier] = Document(
                identifier, self.lines(name), title, [(None, text)], f"/{index}", metadata
            )
            line = {"id": identifier, "title": title, "text": text}
            lines.append(json.dumps(line | {"url": f"/{index}", "metadata": metadata}))
        return "\n".join(lines).encode()

    def write_docx(self, name, title, sections, _):
        self.add(name, title, sections)

        def paragraph(style, text):
            return (
                f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr>'
                f"<w:r><w:t>{text}</w:t></w:r></w:p>"
            )

        body = paragraph("T", title)
        body += "".join(paragraph("H", head) + paragraph("N", text) for head, text in sections)
        styles = "".join(
            f'<w:style w:styleId="{identifier}"><w:name w:val="{style}"/></w:style>'
            for identifier, style in (("T", "Title"), ("H", "heading 2"))
        )
        parts = {"word/document.xml": f"<w:document><w:body>{body}</w:body></w:document>"}
        return zipped(parts | {"word/styles.xml": f"<w:styles>{styles}</w:styles>"})

    def write_pdf(self, name, title, sections, _):
        pages = [(f"page {at}", text) for at, (_, text) in enumerate(sections, 1)]
        self.add(name, title, pages)
        return pdf(title, [text for _, text in sections])


KINDS = ["md", "html", "txt", "rst", "adoc", "jsonl", "docx", "pdf"]


def zipped(parts):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return out.getvalue()


def pdf(title, pages, compress=True):
    """A PDF with a line of text for each ten words."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", None, f"<< /Title ({title}) >>"]
    objects.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
    kids = []
    for text in pages:
        words = text.split()
        lines = [" ".join(words[at : at + 10]) for at in range(0, len(words), 10)]
        shown = "".join(f"({line}) Tj 0 -12 Td\n" for line in lines)
        stream = f"BT /F1 10 Tf 20 800 Td\n{shown}ET".encode()
        stream = zlib.compress(stream) if compress else stream
        how = "/Filter /FlateDecode " if compress else ""
        objects.append((f"<< {how}/Length {len(stream)} >>", stream))
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 850] /Contents {len(objects)} 0 R "
            "/Resources << /Font << /F1 4 0 R >> >> >>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    out, places = bytearray(b"%PDF-1.4\n"), []
    for number, entry in enumerate(objects, 1):
        places.append(len(out))
        head, stream = entry if isinstance(entry, tuple) else (entry, None)
        out += f"{number} 0 obj\n{head}\n".encode()
        if stream is not None:
            out += b"stream\n" + stream + b"\nendstream\n"
        out += b"endobj\n"
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{place:010} 00000 n \n".encode() for place in places)
    out += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R /Info 3 0 R >>\n".encode()
    return bytes(out + f"startxref\n{start}\n%%EOF\n".encode())


def hostile(extension):
    def mark(function):
        function.extension = extension
        return function

    return mark


@hostile("docx")
def bomb(_):
    return zipped({"word/document.xml": "<w:p>" + " " * (200 << 20)})


@hostile("docx")
def deep_xml(_):
    return zipped({"word/document.xml": "<w:p>" * 1_000_000})


@hostile("docx")
def broken_archive(chance):
    return b"PK\x03\x04" + chance.randbytes(1000)


@hostile("pdf")
def broken_pdf(chance):
    return b"%PDF-1.7\n" + chance.randbytes(5000) + b"\nstartxref\n99999999\n%%EOF"


@hostile("pdf")
def deep_pdf(_):
    return b"%PDF-1.4\n1 0 obj\n" + b"[" * 3_000_000 + b"\nstartxref\n9\n%%EOF"


@hostile("pdf")
def without_text(_):
    return pdf("Scan", [""])


@hostile("md")
def no_text(chance):
    return b"\xff" + chance.randbytes(100)


@hostile("txt")
def too_large(_):
    return b"x" * ((16 << 20) + 1)


@hostile("jsonl")
def long_line(_):
    return b'{"id": "' + b"x" * (20 << 20 if TENTH else 100 << 20)


@hostile("jsonl")
def deep_json(_):
    return b'{"id": 1, "text": "", "metadata": ' + b'{"a":' * 100_000


HOSTILE = [bomb, deep_xml, broken_archive, broken_pdf, deep_pdf, without_text, no_text, too_large]
HOSTILE += [long_line, deep_json]


# === The vectors of provider local ===


def fnv(parts):
    value = 0xCBF29CE484222325
    for part in parts:
        for byte in [*part.encode(), 0xFF]:
            value = (value ^ byte) * 0x100000001B3 % 2**64
    value ^= value >> 32
    value = value * 0xD6E8FEB86659FD93 % 2**64
    return value ^ value >> 32


def embed(text):
    vector, before = [0.0] * 256, None

    def add(parts, weight):
        value = fnv(parts)
        vector[value & 255] += -weight if value >> 63 else weight

    words = "".join(c if c.isalnum() else " " for c in text.lower()).split()
    for word in (word for word in words if word not in STOP):
        add(["word", word, ""], 1.0)
        if before:
            add(["pair", before, word], 0.5)
        before = word
        marked = f"<{word}>"
        for at in range(len(marked) - 2):
            add(["run", marked[at : at + 3], ""], 0.5)
    length = math.sqrt(sum(value * value for value in vector))
    return [value / length for value in vector] if length else vector


# === The table ===


def rows(connection):
    """The passages of each document, in their order."""
    found = {}
    if connection.execute("SELECT to_regclass('documents')").fetchone()[0] is None:
        return found
    every = connection.execute(
        "SELECT id, document_id, title, url, content, metadata, embedding::text, checksum"
        " FROM documents ORDER BY document_id, (metadata->>'_passage')::int"
    )
    for row in every:
        found.setdefault(row[1], []).append(row)
    return found


def compare(corpus, connection, faults):
    """Holds the table against what was made."""
    found = rows(connection)
    expected = corpus.documents
    faults.expect("documents that are missing", sorted(expected.keys() - found.keys()), [])
    faults.expect("documents that are left over", sorted(found.keys() - expected.keys()), [])
    for at, (name, document) in enumerate(sorted(expected.items())):
        words = []
        for number, row in enumerate(found.get(name, []), 1):
            identifier, _, title, url, content, metadata, vector, _ = row
            faults.expect("ids", identifier, f"{name}#{number}")
            faults.expect("titles", title, document.title)
            faults.expect("addresses", url, document.url)
            own = {"_source": document.source, "_passage": number}
            faults.expect("metadata", metadata, document.metadata | own)
            headings = [heading for heading, _ in document.sections if heading]
            heading, _, text = content.partition("\n\n")
            if heading not in headings:
                heading, text = None, content
            words += text.split()
            if len(text) > 4 * TOKENS:
                faults.add("passages that are too long", f"{len(text)} characters")
            if at % 10 == 0:
                context = " > ".join(part for part in (document.title, heading) if part)
                made = embed(f"{context}\n\n{text}")
                stored = json.loads(vector)
                if max(abs(a - b) for a, b in zip(made, stored, strict=True)) > 1e-5:
                    faults.add("vectors", name)
        if words != document.words():
            faults.add("words of documents", f"{name}: {words[:5]} and not {document.words()[:5]}")


def digest(connection):
    every = sorted(map(str, (row for passages in rows(connection).values() for row in passages)))
    return hashlib.sha256("\n".join(every).encode()).hexdigest()


# === The runs ===


class Program:
    """`ziggurat-rag ingest` with a configuration."""

    def __init__(self, home, variables):
        role = {"username": variables["PGUSER"], "password": variables["PGPASSWORD"]}
        place = {"host": variables["PGHOST"], "port": int(variables["PGPORT"])}
        role |= place | {"database": variables["PGDATABASE"]}
        table = {"table": "documents", "text_column": "content", "vector_column": "embedding"}
        pipeline = {"name": "docs", "database": role, "tables": [table | {"id_column": "id"}]}
        pipeline |= {"embedding_llm": {"provider": "local"}, "rag_llm": {"provider": "local"}}
        pipeline["ingest"] = {"database": role, "chunk_tokens": TOKENS, "overlap_tokens": 0}
        pipeline["ingest"]["reader_seconds"] = 10
        # JSON is also YAML.
        (home / "rag.yaml").write_text(json.dumps({"pipelines": [pipeline]}))
        self.home = home
        self.kib = 0

    def start(self, *more):
        command = [os.environ["LONG_RAG"], "ingest", "-config", self.home / "rag.yaml"]
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home)}
        with open(self.home / "out", "wb") as out, open(self.home / "err", "wb") as err:
            command += [*more, self.home / "corpus"]
            return subprocess.Popen(command, env=environment, stdout=out, stderr=err)

    def run(self, *more):
        """Runs it to its end; returns its exit code, its output and its errors."""
        child = self.start(*more)
        # Includes its children.
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        self.kib = max(self.kib, used.ru_maxrss)
        return child.returncode, (self.home / "out").read_text(), (self.home / "err").read_text()


def is_whole(connection, faults):
    """Each document in the table has all its passages, of one version."""
    for name, passages in rows(connection).items():
        numbers = [row[5]["_passage"] for row in passages]
        faults.expect("passages of a killed run", numbers, list(range(1, len(passages) + 1)))
        if len({row[7] for row in passages}) != 1:
            faults.add("documents of two versions", name)


def named(corpus, errors, faults):
    for name in corpus.hostile:
        if f"skipped {name}" not in errors:
            faults.add("hostile files that were not named", f"{name} in {errors[:2000]}")


def kill_and_repeat(corpus, program, connection, seconds, faults):
    chance = random.Random(7)
    for turn in range(KILLS):
        for number in chance.sample(range(FILES), FILES // 10):
            if number % 20 != 19:
                corpus.remove(number) if chance.random() < 0.2 else corpus.make(number, turn)
        child = program.start("-concurrency", str(chance.choice([1, 4, 8])))
        time.sleep(chance.uniform(0, seconds))
        child.kill()
        child.wait()
        is_whole(connection, faults)
        if turn % 4 == 3:
            code, _, errors = program.run()
            faults.expect("exit codes after a kill", (code, "could not be read" in errors), (1, True))
            compare(corpus, connection, faults)


def main():
    faults = Faults()
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory())).resolve()
        home.chmod(0o711)
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
        corpus, program = Corpus(home), Program(home, variables)
        for number in range(FILES):
            corpus.make(number, "first")

        begun = time.monotonic()
        code, output, errors = program.run()
        seconds = time.monotonic() - begun
        print(f"first run: {seconds:.1f} s, {program.kib / 1024:.0f} MiB; {output.splitlines()[:1]}")
        faults.expect("exit codes", code, 1)
        named(corpus, errors, faults)
        compare(corpus, connection, faults)

        before = digest(connection)
        begun = time.monotonic()
        code, output, errors = program.run()
        print(f"second run: {time.monotonic() - begun:.1f} s")
        named(corpus, errors, faults)
        if " 0 embedded " not in output or "documents: 0 written" not in output:
            faults.add("second runs that embed", output)
        faults.expect("states after a second run", digest(connection), before)

        kill_and_repeat(corpus, program, connection, seconds, faults)
        program.run()
        compare(corpus, connection, faults)
        shutil.rmtree(home / "corpus")
        (home / "corpus").mkdir()
        code, _, errors = program.run()
        faults.expect("empty folders", "nothing was changed" in errors, True)
        compare(corpus, connection, faults)
        print(f"{KILLS} kills; {program.kib / 1024:.0f} MiB at most")
        if program.kib > MAX_KIB:
            faults.add("memory", f"{program.kib} KiB")
    faults.end()


if __name__ == "__main__":
    main()
