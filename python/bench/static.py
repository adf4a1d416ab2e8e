#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares inlay.StaticEmbedding with model2vec on lines of this machine's documentation.

    static.py [--lines N] [--rounds N] [--threads N] [--model FOLDER]

Without --model, a tokenizer (WordPiece, 30,000 tokens) is trained on the lines, and the table is random with dim 256,
as float32 and int8. Each line is the best of the rounds; in each round, all take turns. model2vec encodes in one
process with N threads of the tokenizer, and for N > 1 also in threads of joblib, its default. inlay starts each round
with a new model and an empty cache; "again" is a second run of the same model. "tokens" is the tokenizer alone:
encode_batch_fast() on the same batches, one after the other.
"""

import argparse
import gzip
import os
import pathlib
import tempfile
import time

PLACES = ("/usr/share/common-licenses", "/usr/share/doc", "/usr/share/man")
TEXT = {"", ".txt", ".md", ".rst", ".html", ".1", ".3", ".5", ".7", ".8"}
BATCH = 1024


def read_lines(count):
    """Returns distinct lines of at least four words, in the order of their files."""
    lines = {}
    for path in sorted(path for place in PLACES for path in pathlib.Path(place).rglob("*") if path.is_file()):
        packed = path.suffix == ".gz"
        if (path.with_suffix("") if packed else path).suffix not in TEXT:
            continue
        try:
            with gzip.open(path, "rt") if packed else open(path, encoding="utf-8") as file:
                lines.update(dict.fromkeys(line for line in map(str.strip, file) if line.count(" ") >= 3))
        except (UnicodeDecodeError, OSError):
            continue
        if len(lines) >= count:
            return list(lines)[:count]
    return list(lines)


def train(lines, folder):
    """Saves models as model2vec does: float32 and int8. Returns their folders."""
    import model2vec
    import numpy
    import tokenizers

    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    trainer = tokenizers.trainers.WordPieceTrainer(vocab_size=30000, special_tokens=["[UNK]"], show_progress=False)
    tokenizer.train_from_iterator(lines, trainer)
    rows = numpy.random.default_rng(0).standard_normal((tokenizer.get_vocab_size(), 256)).astype("f4")
    tables = {"float32": rows, "int8": numpy.rint(rows * 127 / abs(rows).max()).astype("i1")}
    for name, table in tables.items():
        model2vec.StaticModel(table, tokenizer, {}, normalize=True).save_pretrained(folder / name)
    return [folder / name for name in tables]


def compare(folder, lines, arguments):
    import model2vec

    import inlay

    theirs, ours = model2vec.StaticModel.from_pretrained(folder), None
    batches = [lines[i : i + BATCH] for i in range(0, len(lines), BATCH)]

    def renew():
        nonlocal ours
        ours = inlay.StaticEmbedding.open(folder)

    ways = {
        "inlay, tokenize()": lambda: list(map(ours.tokenize, batches)),
        "inlay": lambda: ours.encode(lines, threads=arguments.threads),
        "inlay, again": lambda: ours.encode(lines, threads=arguments.threads),
        "model2vec": lambda: theirs.encode(lines, use_multiprocessing=False),
        "tokens": lambda: [ours.tokenizer.encode_batch_fast(batch, add_special_tokens=False) for batch in batches],
    }
    if arguments.threads > 1:
        ways["model2vec, joblib"] = lambda: theirs.encode(lines)
    best = dict.fromkeys(ways, float("inf"))
    results = {}
    for _ in range(arguments.rounds):
        for name, way in ways.items():
            if name in ("inlay, tokenize()", "inlay"):
                renew()
            begin = time.perf_counter()
            results[name] = way()
            best[name] = min(best[name], time.perf_counter() - begin)
            os.environ.pop("TOKENIZERS_PARALLELISM", None)  # model2vec leaves it set
    apart = abs(results["inlay"] - results["model2vec"]).max()
    print(f"{folder.name}, {arguments.threads} threads, largest difference {apart:.2g}")
    fastest = min(seconds for name, seconds in best.items() if name.startswith("model2vec"))
    for name, seconds in best.items():
        print(f"    {name:<22}{len(lines) / seconds:>10,.0f} texts/s")
    share = best["inlay, tokenize()"] / best["inlay"]
    print(f"    inlay is {fastest / best['inlay']:.2f} times as fast; tokenize() alone takes {share:.0%} of its time")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--model", type=pathlib.Path)
    arguments = parser.parse_args()
    os.environ["RAYON_NUM_THREADS"] = str(arguments.threads)  # read when tokenizers first runs
    lines = read_lines(arguments.lines)
    print(f"{len(lines):,} lines, {sum(map(len, lines)) / len(lines):.0f} characters each")
    with tempfile.TemporaryDirectory() as place:
        for folder in [arguments.model] if arguments.model else train(lines, pathlib.Path(place)):
            compare(folder, lines, arguments)


if __name__ == "__main__":
    main()
