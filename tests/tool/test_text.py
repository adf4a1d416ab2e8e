# SPDX-License-Identifier: MIT
"""Text vectorization and the golden tensor of `inlay embed`."""

import os
import re
import string

from harness import check, check_error, read, run, table, vectors, write

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data")


def vocab(*texts, more=()):
    """Returns the words of the vocabulary, by id."""
    args = [part for text in texts for part in ("--text", text)]
    result = run("embed", *args, "--print-vocab", *more)
    check(result.returncode == 0, f"vocabulary of {texts}", result.stderr)
    lines = result.stdout.decode("utf-8").split("\n")[:-1]
    check([line.split("\t")[0] for line in lines] == [str(i) for i in range(len(lines))], f"ids run from 0, {texts}")
    return [line.split("\t")[1] for line in lines]


def ids(directory, *args):
    """Returns the ids, through a table with [id] in row `id`."""
    path = write(os.path.join(directory, "identity.npy"), table([[float(i)] for i in range(64)]))
    shape, values = vectors("embed", *args, "--table", path, "--positions", "none")
    length = shape[1] if len(shape) == 3 else 0
    return [[int(v) for v in values[i : i + length]] for i in range(0, len(values), length or 1)]


def test_vocabulary():
    reserved = ["", "[UNK]"]
    expect = [
        (("Apple apple APPLE",), ["apple"], "ASCII letters become lower-case"),
        (("it's well-known, isn't it?",), ["wellknown", "its", "it", "isnt"], "punctuation does not separate"),
        ((f"a{string.punctuation}b",), ["ab"], "all 32 marks are deleted"),
        (("... ,,, !",), [], "what is only punctuation is no word"),
        (("a\tb\nc\vd\fe\rf  g",), ["g", "f", "e", "d", "c", "b", "a"], "every ASCII white space separates"),
        (("b a c",), ["c", "b", "a"], "ties fall by word"),
        (("b a a c c b d",), ["c", "b", "a", "d"], "frequency comes before the word"),
        (("ab abc a",), ["abc", "ab", "a"], "a longer word is the later one"),
        (("Ärger Über ärger",), ["ärger", "Über", "Ärger"], "other letters keep their case and sort by bytes"),
        (("a\u00a0b c\u3000d",), ["c\u3000d", "a\u00a0b"], "white space beyond ASCII does not separate"),
        (("日本 日本 語",), ["日本", "語"], "UTF-8 stays as it is"),
        (("one two", "two three"), ["two", "three", "one"], "the vocabulary is that of all texts"),
        (("[UNK]",), ["unk"], "a text cannot name the unknown word"),
        (("",), [], "an empty text has no words"),
        (("a\x1b[2Jb \x7f",), ["\\x7f", "a\\x1b2jb"], "control characters are escaped"),
    ]
    for texts, words, what in expect:
        got = vocab(*texts)
        check(sorted(got[:2]) == reserved and got[2:] == words, what, got)
    check(vocab("c c b b a", more=("--max-tokens", "3")) == ["", "[UNK]", "c"], "--max-tokens counts all words")
    check(vocab("c c b b a", more=("--max-tokens", "4")) == reserved + ["c", "b"], "--max-tokens cuts a single word")
    check(vocab("c c b", more=("--max-tokens", "2")) == reserved, "--max-tokens 2 leaves no word")
    check(vocab("c c b", more=("--max-tokens", "99")) == reserved + ["c", "b"], "--max-tokens above the words")


def test_ids(directory):
    check(ids(directory, "--text", "b a a", "--text", "a") == [[3, 2, 2], [2, 0, 0]], "shorter texts are padded with 0")
    check(ids(directory, "--text", "c c b b a", "--max-tokens", "3") == [[2, 2, 1, 1, 1]], "words cut off become [UNK]")
    check(ids(directory, "--text", "a b c", "--length", "2") == [[4, 3]], "--length cuts")
    check(ids(directory, "--text", "a", "--length", "3") == [[2, 0, 0]], "--length pads")
    check(ids(directory, "--ids", "5 6,7", "--ids", "1", "--length", "2") == [[5, 6], [1, 0]], "--length of ids")
    check(ids(directory, "--ids", " +5,\t6 , ") == [[5, 6]], "separators of ids")
    first = write(os.path.join(directory, "a.txt"), b"x y\nx\n")
    check(ids(directory, "--text-file", first) == [[2, 3, 2]], "--text-file")
    check(ids(directory, "--text-file", first, "--text-file", first) == [[2, 3, 2]] * 2, "two files are two sequences")
    result = run("embed", "--text-file", "-", "--print-vocab", stdin=b"p q p\n")
    check(result.stdout == b"0\t\n1\t[UNK]\n2\tp\n3\tq\n", "--text-file - reads standard input", result.stdout)
    result = run("embed", "--text-file", "-", "--print-vocab", stdin=b"a\x00b \xff\xfe \xc3\xa9")
    expect = b"0\t\n1\t[UNK]\n2\t\\xff\\xfe\n3\t\xc3\xa9\n4\ta\\x00b\n"
    check(result.stdout == expect, "NUL bytes and invalid UTF-8 are kept", result.stdout)
    many = b" ".join(b"w%d" % (i * 7919 % 1000) for i in range(50000))
    result = run("embed", "--text-file", "-", "--print-vocab", stdin=many)
    words = [line.split(b"\t")[1] for line in result.stdout.split(b"\n")[2:-1]]
    check(words == sorted(set(many.split()), reverse=True), "50000 words of equal frequency")
    check(vectors("embed", "--text", "", "--dim", "4") == ((1, 0, 4), []), "a text without words gives [1, 0, dim]")
    check(run("embed", "--text", "").stdout == b"float32 [1, 0, 512]\n[]\n", "an empty tensor is printed")


def golden():
    """Returns (sentences, ids, values) of the tutorial's data file."""
    sentences, rows, values = [], [], []
    for line in read(os.path.join(DATA, "keras-tutorial-part-2.txt")).decode("ascii").splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "sentence":
            sentences.append(rest)
        elif kind == "ids":
            rows.append([int(i) for i in rest.split()])
        elif kind == "out":
            values += [float(v) for v in rest.split()]
    return sentences, rows, values


def test_golden(directory):
    sentences, rows, values = golden()
    check(len(sentences) == 2 and len(values) == 60, "the data file is complete")
    texts = [part for sentence in sentences for part in ("--text", sentence)]
    options = ("--max-tokens", "8", "--length", "5")
    check(ids(directory, *texts, *options) == rows, "the tutorial's ids")
    shape, got = vectors("embed", *texts, *options, "--dim", "6")
    check(shape == (2, 5, 6), "the tutorial's shape", shape)
    worst = max((abs(a - b) for a, b in zip(got, values)), default=1)
    check(len(got) == 60 and worst <= 1e-6, "the tutorial's tensor", worst)
    result = run("embed", *texts, *options, "--dim", "6")
    text = result.stdout.decode("ascii")
    check(text.startswith("float32 [2, 5, 6]\n[[["), "the tensor is printed with its shape", text[:40])
    printed = [float(word) for word in text.split("\n", 1)[1].replace("[", " ").replace("]", " ").split()]
    worst = max((abs(a - b) for a, b in zip(printed, got)), default=1)
    check(len(printed) == 60 and worst <= 1e-7, "what is printed is what is written", worst)
    check("[[[-0.9589243   1.2836622   0.23000172  1.9731903 " in text, "the fewest digits that identify a float32", text)
    check(not re.search(r"\.\d*0[ \]\n]", text), "no number has zeros at its end", text)
    lists = [part for row in rows for part in ("--ids", " ".join(map(str, row)))]
    check(vectors("embed", *lists, "--dim", "6")[1] == got, "the same from ids")


def test_errors(directory):
    embed = lambda *args: run("embed", *args)
    check_error(embed("--text-file", "/nonexistent/x"), 1, "missing text", "/nonexistent/x", "No such file")
    check_error(embed("--text-file", directory), 1, "a directory as text", "directory")
    check_error(embed("--text-file", "/dev/zero"), 1, "an endless text", "256 MiB")
    check_error(embed("--text-file", "/nonexistent/\x1b[31m\n"), 1, "control characters in a path", "\\x1b", "\\x0a")


def run_all(directory):
    test_vocabulary()
    test_ids(directory)
    test_golden(directory)
    test_errors(directory)
