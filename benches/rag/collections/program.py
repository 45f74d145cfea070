"""Loads a collection with one build of ziggurat-rag, and asks it the questions."""

import contextlib
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import time
from urllib.parse import unquote, urlsplit

import psycopg


@contextlib.contextmanager
def database(program):
    """Keeps a database of tests/local_pg, and returns its URL."""
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        yield child.stdout.readline().strip()
        child.stdin.close()


class Statistics:
    """The statistics of PostgreSQL."""

    def __init__(self, url):
        self.connection = psycopg.connect(url, autocommit=True)

    def renew(self, table):
        """Counts the rows; without it, methods and scores depend on the time of the automatic count."""
        self.connection.execute(f"VACUUM ANALYZE {table}")

    def milliseconds(self):
        """Returns the time that PostgreSQL worked for sessions that ended."""
        # Sessions report when they end.
        for _ in range(100):
            others = "datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
            if not self.connection.execute(f"SELECT count(*) FROM pg_stat_activity WHERE {others}").fetchone()[0]:
                break
            time.sleep(0.05)
        active = "SELECT active_time FROM pg_stat_database WHERE datname = current_database()"
        return self.connection.execute(active).fetchone()[0]


class Program:
    """A build of ziggurat-rag with a folder for its files."""

    def __init__(self, path, url, folder):
        self.path = pathlib.Path(path).resolve()
        self.digest = hashlib.sha256(self.path.read_bytes()).hexdigest()[:8]
        self.url = url
        self.folder = pathlib.Path(folder)
        self.statistics = Statistics(url)

    def _run(self, *words, **options):
        environment = {**os.environ, "VOYAGE_API_KEY": "none", "ZIGGURAT_LOG": "warn"}
        done = subprocess.run([self.path, *words], capture_output=True, text=True, env=environment, **options)
        if done.returncode:
            raise SystemExit(f"{words[0]}: {(done.stderr or done.stdout)[-2000:]}")
        return done.stdout

    def _configuration(self, table, language, embedding, settings):
        url = urlsplit(self.url)
        reach = {
            "host": url.hostname,
            "port": url.port or 5432,
            "database": url.path[1:],
            "username": unquote(url.username),
        }
        reach |= {"password": unquote(url.password or "")} if url.password else {}
        columns = {"table": table, "text_column": "content", "vector_column": "embedding", "id_column": "id"}
        columns |= {"title_column": "title", "url_column": "url", "text_search_config": language}
        pipeline = {
            "name": "measured",
            "database": reach,
            "ingest": {"database": reach},
            "tables": [columns | settings["table"]],
        }
        pipeline |= {"embedding_llm": embedding, "rag_llm": {"provider": "local"}} | settings["pipeline"]
        path = self.folder / f"{table}.yaml"
        # JSON is YAML.
        path.write_text(json.dumps({"pipelines": [pipeline]}, indent=1), encoding="utf-8")
        path.chmod(0o600)
        return path

    def _documents(self, collection):
        """Writes the documents and the questions, and returns their paths."""
        folder = self.folder / collection.name
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "documents").mkdir(parents=True)
        if collection.is_markdown:
            for name, _, text in collection.documents:
                (folder / name).write_text(text, encoding="utf-8")
        else:
            with (folder / "documents/all.jsonl").open("w", encoding="utf-8") as lines:
                for name, title, text in collection.documents:
                    document = {"id": name, "text": text} | ({"title": title} if title else {})
                    lines.write(json.dumps(document) + "\n")
        with (folder / "questions.jsonl").open("w", encoding="utf-8") as lines:
            for text, names in collection.questions:
                lines.write(json.dumps({"query": text, "relevant": dict.fromkeys(sorted(names), 1)}) + "\n")
        return folder / "documents", folder / "questions.jsonl"

    def measure(self, collection, provider, embedding, settings):
        """Returns the figures of a collection with vectors of a provider."""
        table = re.sub(r"\W", "_", f"{collection.name}_{provider}_{self.digest}")
        configuration = self._configuration(table, collection.language, embedding, settings)
        documents, questions = self._documents(collection)
        started = time.monotonic()
        # One after another, so that rows with equal scores have the same order in each run.
        loaded = self._run("ingest", "-config", configuration, "-concurrency", "1", documents)
        ingest = time.monotonic() - started
        self.statistics.renew(table)
        before = self.statistics.milliseconds()
        report = self.folder / f"{table}.json"
        started = time.monotonic()
        self._run("eval", "-config", configuration, "-by-document", questions, "-o", report)
        evaluation = time.monotonic() - started
        after = self.statistics.milliseconds()
        figures = json.loads(report.read_text(encoding="utf-8"))
        passages = re.search(r"([\d,]+) passages", loaded)
        return {
            "documents": len(collection.documents),
            "passages": int(passages[1].replace(",", "")) if passages else None,
            "questions": figures["questions"],
            "arms": {arm["arm"]: arm for arm in figures["arms"]},
            "database_ms": (after - before) / figures["questions"],
            "seconds": {"ingest": round(ingest, 1), "eval": round(evaluation, 1)},
            "per_question": figures["per_question"],
        }
