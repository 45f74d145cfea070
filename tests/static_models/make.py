#!/usr/bin/env python3
"""Makes small models in the layout of model2vec, and the vectors that its Python library has for texts.

    pip install --requirement tests/references.txt
    python3 tests/static_models/make.py            # writes the folders and vectors.json beside it
    python3 tests/static_models/make.py --check    # fails if the vectors differ from those

Vectors of a table in half precision are computed with the same numbers in single precision: the
library rounds its results to the type of the table, the server does not.
"""

import json
import pathlib
import shutil
import sys
import tempfile

import numpy as np
from model2vec import StaticModel
from model2vec.persistence import load_pretrained
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

FOLDER = pathlib.Path(__file__).parent
DIMENSIONS = 16
FILES = ["config.json", "model.safetensors", "tokenizer.json"]

TEXTS = [
    "Ferns like shade.",
    "How do I wash WOOL?",
    "unwashable, re-washing and washed",
    "Café naïve ÀÉ e\u0301 STRASSE ß İstanbul",
    "雪が降る日は静かです。",
    "snake_case kebab-case 12,345.67$ a/b",
    "emoji 🧿 and \u00a0 spaces\u200b\t\n here",
    "[UNK] [PAD] fern",
    "qqqqq zzzzz",
    "",
    "   ",
    "wool " * 600,
    "x" * 3000,
]

CORPUS = [
    "Ferns like shade and damp soil. A fern in the sun wilts.",
    "Wool is washed by hand in cold water; washing wool in hot water felts it.",
    "A kettle is descaled with vinegar, and washed before it is used again.",
    "Brass is polished with a cloth. Returns are free within 30 days.",
    "Der Farn mag Schatten. Le café est naïf. Snow: 雪が降る。",
    "unable unwashed rewash washable case snake kebab 12 345 67",
]


def wordpiece():
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=260, special_tokens=["[PAD]", "[UNK]"], show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


def unigram():
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=200, special_tokens=["[PAD]", "[UNK]"], unk_token="[UNK]", show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


def table(seed, rows):
    return np.random.default_rng(seed).normal(size=(rows, DIMENSIONS)).astype(np.float32)


def made():
    """Returns models by the name of their folder."""
    words, pieces = wordpiece(), unigram()
    rows = words.get_vocab_size()
    chance = np.random.default_rng(5)
    return {
        "float32": StaticModel(table(1, rows), words, normalize=True),
        "float16": StaticModel(table(2, rows).astype(np.float16), words, normalize=True),
        # The vectors of several tokens are one, and tokens have weights.
        "int8": StaticModel(
            (table(3, 20) * 30).astype(np.int8),
            words,
            normalize=True,
            weights=chance.uniform(0.1, 2.0, size=rows).astype(np.float32),
            token_mapping=chance.integers(0, 20, size=rows),
        ),
        "unigram": StaticModel(table(4, pieces.get_vocab_size()), pieces, normalize=False, max_length=8),
    }


def pad(path):
    """Adds the padding that files of public models have; it must not change vectors."""
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.enable_padding(pad_id=0, pad_token="[PAD]", length=32)
    tokenizer.save(str(path), pretty=False)


def read_as_single(folder):
    """Returns a model with a table in single precision."""
    model = StaticModel.from_pretrained(folder)
    if model.embedding.dtype != np.float16:
        return model
    embeddings, tokenizer, config, *_ = load_pretrained(folder, None, None, False)
    return StaticModel(embeddings.astype(np.float32), tokenizer, config, normalize=model.normalize)


def main():
    is_check = "--check" in sys.argv
    if not is_check:
        for name, model in made().items():
            with tempfile.TemporaryDirectory() as written:
                model.save_pretrained(written)
                (FOLDER / name).mkdir(exist_ok=True)
                for file in FILES:
                    shutil.copy(f"{written}/{file}", FOLDER / name / file)
            pad(FOLDER / name / "tokenizer.json")
    vectors = {}
    for name in ["float32", "float16", "int8", "unigram"]:
        found = read_as_single(FOLDER / name).encode(TEXTS)
        vectors[name] = [[round(float(x), 7) for x in row] for row in found]
    path = FOLDER / "vectors.json"
    if is_check:
        before = json.loads(path.read_text(encoding="utf-8"))
        for name, rows in vectors.items():
            difference = np.abs(np.array(rows) - np.array(before["vectors"][name])).max()
            if difference > 1e-6:
                sys.exit(f"{name}: vectors differ by {difference}")
        return
    lines = [f'"texts": {json.dumps(TEXTS)}']
    models_text = ",\n".join(
        f' "{name}": [\n' + ",\n".join(f"  {json.dumps(row)}" for row in rows) + "\n ]"
        for name, rows in vectors.items()
    )
    lines.append('"vectors": {\n' + models_text + "\n}")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
