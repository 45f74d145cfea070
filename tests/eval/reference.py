#!/usr/bin/env python3
"""Makes the judgements, the run and the reference values for the tests of the measures.

    pip install --requirement tests/references.txt
    python3 tests/eval/reference.py            # writes qrels.txt, run.txt and values.txt beside it
    python3 tests/eval/reference.py --check    # fails if the files differ from what it would write

The values are those of pytrec_eval. MRR with a cut is not a measure of trec_eval: it is
`recip_rank` of a run that has only the first ten documents, in the order of trec_eval.
"""

import pathlib
import random
import struct
import sys

import pytrec_eval

FOLDER = pathlib.Path(__file__).parent
MEASURES = {"ndcg_cut.10", "recall.10,100"}


def single(score):
    """Returns a score with 32 bits, as trec_eval stores it."""
    return struct.unpack("f", struct.pack("f", score))[0]


def first(run, depth):
    """Returns the first documents in the order of trec_eval."""
    order = sorted(run.items(), key=lambda item: item[0].encode(), reverse=True)
    order.sort(key=lambda item: single(item[1]), reverse=True)
    return dict(order[:depth])


def special():
    """Returns cases with a reason each."""
    return {
        # Ties are ordered by the id, the last first.
        "ties": ({"d1": 1, "d2": 0, "d3": 2}, {f"d{n}": 0.5 for n in range(1, 5)}),
        # Scores that are equal with 32 bits only.
        "single": ({"a": 1, "b": 0, "c": 2}, {"a": 0.5, "b": 0.50000000001, "c": 0.5}),
        "grades": ({"a": 3, "b": 1, "c": 2}, {"b": 3.0, "c": 2.0, "a": 1.0}),
        "negative": ({"a": -1, "b": 2, "c": 0}, {"a": 3.0, "b": 2.0, "c": 1.0}),
        "unjudged": ({"a": 1}, {"x": 9.0, "y": 8.0, "a": 7.0}),
        "none": ({"a": 0, "b": 0}, {"a": 2.0, "b": 1.0}),
        "missed": ({"a": 1, "b": 2}, {"x": 1.0}),
        "late": ({"a": 1}, {"a": -5.0, **{f"x{n}": float(n) for n in range(10)}}),
        "zero": ({"a": 1, "b": 0}, {"a": -0.0, "b": 0.0}),
        "utf8": ({"ä": 1, "z": 0, "雪": 2}, {"ä": 1.0, "z": 1.0, "雪": 1.0}),
    }


def made(number):
    """Returns a case with many documents, and scores with few different values."""
    chance = random.Random(number)
    documents = [f"doc-{n}" for n in range(400)]
    judged = chance.sample(documents, chance.randint(1, 60))
    grades = {document: chance.choice([0, 0, 1, 1, 2, 3]) for document in judged}
    found = chance.sample(documents, chance.randint(1, 250))
    values = chance.choice([5, 50, 100_000])
    return grades, {document: chance.randrange(values) / values for document in found}


def texts():
    cases = {**special(), **{f"made-{n}": made(n) for n in range(20)}}
    qrels = {name: grades for name, (grades, _) in cases.items()}
    runs = {name: run for name, (_, run) in cases.items()}
    found = pytrec_eval.RelevanceEvaluator(qrels, MEASURES).evaluate(runs)
    cut = {name: first(run, 10) for name, run in runs.items()}
    ranks = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(cut)
    for name in cases:
        found[name]["recip_rank_10"] = ranks[name]["recip_rank"]
    lines = {"qrels.txt": [], "run.txt": [], "values.txt": []}
    for name, (grades, run) in cases.items():
        lines["qrels.txt"] += [f"{name} 0 {id} {grade}" for id, grade in grades.items()]
        # The column of the rank does not count.
        lines["run.txt"] += [f"{name} Q0 {id} 0 {score!r} reference" for id, score in run.items()]
        values = sorted(found[name].items())
        lines["values.txt"] += [f"{name} {measure} {value!r}" for measure, value in values]
    return {name: "\n".join(text) + "\n" for name, text in lines.items()}


def main():
    for name, text in texts().items():
        path = FOLDER / name
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != text:
            sys.exit(f"{path} is not what {__file__} writes")


if __name__ == "__main__":
    main()
