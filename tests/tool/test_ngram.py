# SPDX-License-Identifier: MIT
"""Hashed n-grams: the models' specs against golden row ids, rows against the plain definition, hostile specs."""

import copy
import json
import math
import os
import struct

from harness import (
    array, check, check_error, has_threads, memory_limit, number_list, parse_npy, read, run, table, write,
)
from test_numbers import f32, random_row

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GOLDEN = os.path.join(TESTS, "data", "ngram")
SPECS = os.path.join(os.path.dirname(TESTS), "examples", "ngram")
MODELS = {"engram-v41": "engram-v41", "qwen4exp": "qwen-flash-next", "longcat-lite": "longcat-lite",
          "longcat-next": "longcat-next", "blt": "blt-3to8"}

SMALL = {
    "vocab": 50, "length": 3, "mix": "add", "pad": 4, "zero_is_none": True, "resets": [2], "masks": [7, 8],
    "multipliers": [[3, 5, 7], [-1, 2**62, -(2**63)]],
    "columns": [{"length": 1, "vector": 0, "modulus": 3, "offset": 0},
                {"length": 2, "vector": 1, "modulus": 11, "table": 1, "offset": 2},
                {"length": 3, "vector": 0, "modulus": 13, "offset": 3},
                {"length": 3, "vector": 1, "modulus": 5, "table": 1, "offset": 13}],
}
ROWS = 16, 18  # of its tables


def save(directory, spec, name="spec.json"):
    return write(os.path.join(directory, name), (spec if isinstance(spec, str) else json.dumps(spec)).encode())


def hashed(spec, sequences, histories):
    """Returns the row ids [token][column] by the definition in inlay/ngram.h."""
    mapped = spec.get("token_map") or range(spec["vocab"])
    out = []
    for ids, history in zip(sequences, histories):
        before = history + ids
        for t in range(len(history), len(before)):
            words, blocked = [], False
            for s in range(spec["length"]):
                identity = before[t - s] if t >= s else None
                blocked |= identity is None or identity in spec.get("masks", ())
                blocked |= s >= 1 and identity in spec.get("resets", ())
                words.append(spec.get("pad", 0) if blocked else mapped[identity])
            row = []
            for column in spec["columns"]:
                total = 0
                for w, m in zip(words[: column["length"]], spec["multipliers"][column["vector"]]):
                    product = w * m % 2**64
                    total = (total ^ product) if spec["mix"] == "xor" else (total + product) % 2**64
                signed = total - 2**64 if total >= 2**63 else total
                remainder = signed % column["modulus"]
                none = spec.get("zero_is_none") and remainder == 0
                row.append(-1 if none else column["offset"] + remainder)
            out.append(row)
    return out


def inputs(sequences, histories=None):
    args = [part for ids in sequences for part in ("--ids", " ".join(map(str, ids)))]
    return args + [part for ids in histories or () for part in ("--history", " ".join(map(str, ids)))]


def row_ids(*args, **more):
    """Returns the row ids of a command, through --out -: [token][column]."""
    result = run("ngram", *args, "--out", "-", **more)
    if not check(result.returncode == 0 and not result.stderr, f"ngram {args}", result.stderr.strip()):
        return []
    (_, columns), values = parse_npy(result.stdout, "<i8")
    return [values[i : i + columns] for i in range(0, len(values), columns)]


def golden_file(name):
    """Returns (the token map or None, calls as (name, sequences, histories, rows)) of a golden file."""
    lines = iter(read(os.path.join(GOLDEN, f"{name}.txt")).decode("ascii").splitlines())
    take = lambda: next(lines).split()
    numbers = lambda words: [int(word) for word in words]
    token_map, calls, vocab = None, [], 0
    for line in lines:
        key, *words = line.split()
        if key == "vocab":
            vocab = int(words[0])
        if key == "map" and words[0] == "affine":
            a, b, m = numbers(words[1:])
            token_map = [(a * i + b) % m for i in range(vocab)]
        if key == "call":
            offsets = numbers(take()[1:])
            histories = [numbers(take()[2:]) for _ in offsets[1:]]
            ids = numbers(take()[1:])
            rows = [numbers(take()) for _ in ids]
            sequences = [ids[start:end] for start, end in zip(offsets, offsets[1:])]
            calls.append((words[0], sequences, histories, rows))
    return token_map, calls


def test_models(directory):
    """The specs in examples/ngram give the same row ids as the models' implementations."""
    for spec, golden in MODELS.items():
        token_map, calls = golden_file(golden)
        args = ["--spec", os.path.join(SPECS, f"{spec}.json")]
        if token_map is not None:
            check_error(run("ngram", *args, "--ids", "1"), 1, f"{spec} without its token map", "give --token-map")
            args += ["--token-map", write(os.path.join(directory, "map.npy"), number_list(token_map, "<u4"))]
        check(len(calls) >= 3, f"{golden} has calls")
        for name, sequences, histories, rows in calls:
            check(row_ids(*args, *inputs(sequences, histories)) == rows, f"row ids of {spec}: {name}")


def test_row_ids(directory):
    """Every way to give ids, histories, token maps and columns."""
    least = {"vocab": 50, "length": 1, "mix": "add", "multipliers": [[3]], "columns": [{"length": 1, "modulus": 7}]}
    check(row_ids("--spec", save(directory, least), "--ids", "5 6") == [[1], [4]], "vector and offset are 0 by default")
    spec = save(directory, SMALL)
    sequences = [[5, 6, 49, 7, 1, 2], [], [3, 2, 8, 9, 11, 0], [6]]
    histories = [[], [1, 2], [4, 5], [1]]
    args = ("--spec", spec, *inputs(sequences, histories))
    expect = hashed(SMALL, sequences, histories)
    check(any(-1 in row for row in expect), "the small spec has columns without a row")
    check(row_ids(*args) == expect, "row ids with histories")
    check(row_ids("--spec", spec, *inputs(sequences)) == hashed(SMALL, sequences, [[]] * 4), "row ids without histories")
    printed = "".join(" ".join(map(str, row)) + "\n" for row in expect)
    check(run("ngram", *args).stdout.decode() == printed, "row ids are printed, a line for each token")
    check(row_ids(*args, "--columns", "1:3") == [row[1:3] for row in expect], "--columns")
    check(row_ids("--spec", "-", *args[2:], stdin=read(spec)) == expect, "a spec from standard input")
    backwards = dict(reversed(SMALL.items()), columns=[dict(reversed(column.items())) for column in SMALL["columns"]])
    check(row_ids("--spec", save(directory, backwards, "backwards.json"), *args[2:]) == expect, "keys in any order")
    one = hashed(SMALL, [[9, 10, 11]], [[]])
    text = write(os.path.join(directory, "ids.txt"), b"9,10\r\n\t11\n")
    check(row_ids("--spec", spec, "--ids-file", text) == one, "ids from a text")
    check(row_ids("--spec", spec, "--ids-file", "-", stdin=b"9 10 11") == one, "ids from standard input")
    for descr in "<i4", "<u4", "<i8":
        path = write(os.path.join(directory, "ids.npy"), number_list([9, 10, 11], descr))
        check(row_ids("--spec", spec, "--ids-file", path) == one, f"ids from a file of {descr}")
    both = row_ids("--spec", spec, "--ids-file", text, "--ids", "5 6 49")
    check(both == one + hashed(SMALL, [[5, 6, 49]], [[]]), "ids of both kinds")
    check(row_ids("--spec", spec, "--ids", "") == [], "no tokens")
    mapped = {**SMALL, "mix": "xor", "token_map": [(i * 3037000493 + 1) % 2**32 for i in range(50)]}
    expect = hashed(mapped, sequences, histories)
    check(row_ids("--spec", save(directory, mapped), *args[2:]) == expect, "a token map in the spec")
    path = write(os.path.join(directory, "map.npy"), number_list(mapped["token_map"], "<i8"))
    for token_map in "required", None:
        other = {**mapped, "token_map": token_map}
        if token_map is None:
            del other["token_map"]
        check(row_ids("--spec", save(directory, other), *args[2:], "--token-map", path) == expect, "--token-map")
    largest = {"comment": "largest", "vocab": 2**31, "length": 16, "mix": "xor", "pad": 2**32 - 1,
               "multipliers": [[2**63 - 1, -(2**63)] * 8],
               "columns": [{"length": 16, "vector": 0, "modulus": 2**32 - 1, "offset": 2**63 - 2**32 + 1}]}
    check(row_ids("--spec", save(directory, largest), "--ids", "2147483647 5") ==
          hashed(largest, [[2**31 - 1, 5]], [[]]), "the largest numbers of a spec")


def tables(directory):
    """Makes two tables of the small spec: (paths, rows of floats)."""
    rows = [[[f32((table + 1) * 100 + row + column / 8) for column in range(6)] for row in range(ROWS[table])]
            for table in (0, 1)]
    paths = [write(os.path.join(directory, f"table{i}.npy"), table(rows[i])) for i in (0, 1)]
    return paths, rows


def test_rows(directory):
    """Rows of table files, separate and added, in float32 operations in order."""
    spec, sequences = save(directory, SMALL), [[5, 6, 49, 7, 1, 2], [3, 2, 8, 9, 11, 0]]
    paths, rows = tables(directory)
    args = ("ngram", "--spec", spec, *inputs(sequences), "--table", paths[0], "--table", paths[1], "--scale", "0.3")
    scale = f32(0.3)
    taken = [[rows[column.get("table", 0)][row] if row >= 0 else None for row, column in zip(token, SMALL["columns"])]
             for token in hashed(SMALL, sequences, [[], []])]
    concat, added = [], []
    for token in taken:
        total = [0.0] * 6
        for row in token:
            scaled = [f32(value * scale) for value in row] if row else [0.0] * 6
            concat += scaled
            total = [f32(a + b) for a, b in zip(total, scaled)]
        added += total
    shape, values = parse_npy(run(*args, "--out", "-").stdout)
    check(shape == (12, 4, 6) and values == concat, "rows one by one", shape)
    shape, values = parse_npy(run(*args, "--combine", "sum", "--out", "-").stdout)
    check(shape == (12, 6) and values == added, "rows added up", shape)
    half = struct.unpack(f"<{len(concat)}e", struct.pack(f"<{len(concat)}e", *concat))
    shape, values = parse_npy(run(*args, "--dtype", "float16", "--out", "-").stdout, "<f2")
    check(shape == (12, 4, 6) and values == list(half), "rows of float16", shape)
    shape, values = parse_npy(run(*args, "--dtype", "bfloat16", "--out", "-").stdout, "<u2")
    check(shape == (12, 4, 6) and all(abs((bits << 16) - struct.unpack("<I", struct.pack("<f", value))[0]) <= 0x8000
                                      for bits, value in zip(values, concat)), "rows of bfloat16", shape)
    printed = run(*args, "--columns", "0:2", "--ids", "5 6").stdout.decode()
    check(printed.startswith("float32 [14, 2, 6]\n[[["), "rows are printed", printed)
    printed = run(*args, "--combine", "sum", "--dtype", "float16").stdout.decode()
    check(printed.startswith("float16 [12, 6]\n[["), "sums are printed", printed)
    check(parse_npy(run(*args[:3], "--ids", "", *args[-6:], "--out", "-").stdout) == ((0, 4, 6), []), "rows of no tokens")
    if has_threads():
        alone, together = (run(*args, *inputs([list(range(50)) * 40]), "--threads", n, "--out", "-") for n in "13")
        check(together.returncode == 0 and alone.stdout == together.stdout, "rows on three threads", together.stderr)
    # Columns of table 1 need no other table.
    wrong = write(os.path.join(directory, "short.npy"), table([[0.0] * 6]))
    alone = (*args[:-6], "--scale", "0.3", "--columns", "1:2")
    shape, values = parse_npy(run(*alone, "--table", paths[1], "--out", "-").stdout)
    expect = [value for token in range(12) for value in concat[token * 24 + 6 : token * 24 + 12]]
    check(shape == (12, 1, 6) and values == expect, "the table of the columns alone", shape)
    check_error(run(*alone, "--table", paths[0], "--table", paths[1]), 1, "too many tables", "1 of the tables", "--table is given 2 times")
    check_error(run(*args[:-6], "--table", wrong, "--table", paths[1]), 1, "too few rows", "short.npy", "need 16")
    check_error(run(*args[:-4], "--scale", "1"), 1, "too few tables", "2 of the tables", "--table is given 1 times")
    wide = write(os.path.join(directory, "wide.npy"), table([[0.0] * 7] * ROWS[1]))
    check_error(run(*args[:-6], "--table", paths[0], "--table", wide), 1, "two dims", "wide.npy", "dim 7", "the same")
    check_error(run(*args, "--dim", "4"), 1, "another dim", "--dim 4 contradicts", "dim 6")


def test_random_rows(directory):
    """Random tables are functions of seed, row and column, for any size."""
    spec = copy.deepcopy(SMALL)
    spec["columns"][1]["offset"] = 1 << 24
    args = ("ngram", "--spec", save(directory, spec), "--ids", "5 6 49", "--table", "random", "--dim", "3", "--seed", "7")
    expect = []
    for token in hashed(spec, [[5, 6, 49]], [[]]):
        for row, column in zip(token, spec["columns"]):
            expect += random_row(7 + column.get("table", 0), row, 3) if row >= 0 else [0.0] * 3
    result = run(*args, "--out", "-")
    check(result.returncode == 0 and parse_npy(result.stdout) == ((3, 4, 3), expect), "random rows", result.stderr)
    root = f32(math.sqrt(3))
    values = parse_npy(run(*args, "--scale", "sqrt", "--out", "-").stdout)[1]
    check(values == [f32(value * root) for value in expect], "--scale sqrt")


def changed(*path, to):
    """Returns the small spec with one value changed, or removed if None."""
    spec = copy.deepcopy(SMALL)
    at = spec
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = to
    return spec


def without(*path):
    spec = copy.deepcopy(SMALL)
    at = spec
    for key in path[:-1]:
        at = at[key]
    del at[path[-1]]
    return spec


HOSTILE = {
    "empty": ("", "line", "is not JSON"),
    "no JSON": ("\n\nvocab: 5", "line 3", "is not JSON"),
    "two values": ("{} {}", "is not JSON"),
    "a key twice": ('{"vocab": 5, "vocab": 6}', "has a second key 'vocab'"),
    "invalid UTF-8": (b'{"\xff": 5}', "is not JSON"),
    "NUL": ('{"a\\u0000": 5}', "is not JSON"),
    "deep": ("[" * 100000, "is not JSON"),
    "an integer of 65 bits": ('{"vocab": 18446744073709551616}', "vocab is 18446744073709551616, not an integer from 1 to"),
    "an array": ("[1, 2]", "the spec is an array, not an object"),
    "a number": ("7", "the spec is 7, not an object"),
    "an empty object": ("{}", "vocab is missing"),
    "an unknown key": (changed("vocabulary", to=5), "the spec has no key 'vocabulary'"),
    "an unknown key of control characters": (changed("\x1b[31m\n", to=5), "\\x1b[31m\\x0a"),
    "a long key of control characters": (changed("\x01" * 199 + "\u202e" + "xx", to=5), "\\x01\\xe2\\x80\\xae..."),
    "a long unknown key": (changed("x" * 5000, to=5), "the spec has no key 'xxx", "xxx...'"),
    "an unknown key of a column": (changed("columns", 2, "mod", to=5), "columns[2] has no key 'mod'"),
    "a comment that is no text": (changed("comment", to=[]), "comment is an array, not a text"),
    "vocab 0": (changed("vocab", to=0), "vocab is 0, not an integer from 1 to 2147483648"),
    "a large vocab": (changed("vocab", to=2**31 + 1), "vocab is 2147483649"),
    "a real vocab": (changed("vocab", to=50.0), "vocab is 50.0, not an integer"),
    "a vocab of text": (changed("vocab", to="50"), 'vocab is "50", not an integer'),
    "a vocab of control characters": (changed("vocab", to="\x1b[31m"), "vocab is"),
    "a long vocab": (changed("vocab", to="x" * 100000), "vocab is", "..."),
    "vocab null": (changed("vocab", to=None), "vocab is null"),
    "length 0": (changed("length", to=0), "length is 0, not an integer from 1 to 16"),
    "length 17": (changed("length", to=17), "length is 17"),
    "mix": (changed("mix", to="or"), 'mix is "or", not "xor" or "add"'),
    "mix 1": (changed("mix", to=1), "mix is 1"),
    "pad": (changed("pad", to=2**32), "pad is 4294967296, not an integer from 0 to 4294967295"),
    "a negative pad": (changed("pad", to=-1), "pad is -1"),
    "zero_is_none 1": (changed("zero_is_none", to=1), "zero_is_none is 1, not true or false"),
    "a token map of text": (changed("token_map", to="map.npy"), 'token_map is "map.npy"', '"required"'),
    "a short token map": (changed("token_map", to=[1] * 49), "token_map has 49 elements, not 50"),
    "a bad number of a token map": (changed("token_map", to=[1] * 49 + [-1]), "token_map[49] is -1"),
    "no token map": (changed("token_map", to="required"), "give --token-map"),
    "a reset that is no id": (changed("resets", 0, to=50), "resets[0] is 50, not an integer from 0 to 49"),
    "resets 2": (changed("resets", to=2), "resets is 2, not an array"),
    "a mask that is no id": (changed("masks", 1, to=-1), "masks[1] is -1"),
    "no multipliers": (changed("multipliers", to=[]), "multipliers has 0 elements, not from 1 to 1024"),
    "many multipliers": (changed("multipliers", to=[[1, 2, 3]] * 1025), "multipliers has 1025 elements"),
    "a flat list of multipliers": (changed("multipliers", to=[3, 5, 7]), "multipliers[0] is 3, not an array of 3"),
    "a short vector": (changed("multipliers", 1, to=[3, 5]), "multipliers[1] has 2 multipliers, but length is 3"),
    "a multiplier beyond 64 bits": (changed("multipliers", 1, 1, to=2**63), "multipliers[1][1] is 9223372036854775808",
                                    "not an integer from -9223372036854775808 to 9223372036854775807"),
    "a real multiplier": (changed("multipliers", 1, 1, to=1.5), "multipliers[1][1] is 1.5"),
    "no columns": (changed("columns", to=[]), "columns has 0 elements"),
    "many columns": (changed("columns", to=SMALL["columns"][:1] * 1025), "columns has 1025 elements"),
    "an object of columns": (changed("columns", to={}), "columns is an object, not an array"),
    "a column of numbers": (changed("columns", 1, to=[1, 2]), "columns[1] is an array, not an object"),
    "a column's length": (changed("columns", 1, "length", to=4), "columns[1].length is 4, not an integer from 1 to 3"),
    "a column's vector": (changed("columns", 3, "vector", to=2), "columns[3].vector is 2, not an integer from 0 to 1"),
    "a column's modulus": (changed("columns", 0, "modulus", to=0), "columns[0].modulus is 0, not an integer from 1"),
    "a large modulus": (changed("columns", 0, "modulus", to=2**32), "columns[0].modulus is 4294967296"),
    "a column's table": (changed("columns", 0, "table", to=1024), "columns[0].table is 1024"),
    "a column's offset": (changed("columns", 0, "offset", to=2**63 - 2), "columns[0].offset is 9223372036854775806"),
    **{f"without {key}": (without(key), f"{key} is missing") for key in ("vocab", "length", "mix", "multipliers", "columns")},
    **{f"a column without {key}": (without("columns", 2, key), f"columns[2].{key} is missing")
       for key in ("length", "modulus")},
}


def test_hostile(directory):
    limit = memory_limit()
    path = os.path.join(directory, "hostile.json")
    for name, (spec, *needles) in HOSTILE.items():
        write(path, spec if isinstance(spec, bytes) else (spec if isinstance(spec, str) else json.dumps(spec)).encode())
        check_error(run("ngram", "--spec", path, "--ids", "1", preexec_fn=limit), 1, f"hostile spec: {name}",
                    "hostile.json", *needles)
    check_error(run("ngram", "--spec", "/none", "--ids", "1"), 1, "a missing spec", "cannot open '/none'")
    check_error(run("ngram", "--spec", directory, "--ids", "1"), 1, "a directory as spec", "cannot read")

    spec = save(directory, SMALL)
    small = ("ngram", "--spec", spec, "--ids", "1 2")
    for ids, value in ("1 50", 50), ("3 -1", -1):
        check_error(run(*small, "--ids", ids), 1, f"id {value}", f"ids[1][1] = {value} is not in", "ids run from 0 to 49")
    check_error(run(*small, "--history", "5 50"), 1, "a bad history", "the history of sequence 0 has 50")
    check_error(run(*small, "--history", "1 2 3"), 1, "a long history", "has 3 ids", "at most 2")
    check_error(run(*small, "--history", "x"), 2, "a history of text", "--history: 'x' is not an id")
    check_error(run(*small, "--columns", "2:5"), 1, "a column too many", "past the last column", "has 4")
    check_error(run(*small, "--columns", "4:5"), 1, "a column beyond", "past the last column")
    text = write(os.path.join(directory, "ids.txt"), b"1 2 \x1b3")
    check_error(run(*small, "--ids-file", text), 1, "ids of text", "ids.txt", "'\\x1b3' is not an id")
    token_map = os.path.join(directory, "map.npy")
    for name, data, needle in (("short", number_list([1] * 49, "<i4"), "49 numbers, but the spec has vocab 50"),
                               ("negative", number_list([1] * 49 + [-1], "<i4"), "id 49 maps to -1"),
                               ("large", number_list([2**32] + [1] * 49, "<i8"), "id 0 maps to 4294967296"),
                               ("real", number_list([1.0] * 50), "not '<i4', '<i8' or '<u4'"),
                               ("square", array("<i4", (5, 10), [1] * 50), "2 dimensions")):
        write(token_map, data)
        check_error(run(*small, "--token-map", token_map), 1, f"a token map: {name}", "map.npy", needle)
    if limit is not None:
        huge = save(directory, changed("columns", 0, "offset", to=2**62))
        check_error(run("ngram", "--spec", huge, "--ids", "1", "--table", "random", preexec_fn=limit), 1,
                    "a random table beyond memory", "out of memory: ")
    out = write(os.path.join(directory, "out.npy"), b"the old file")
    before = sorted(os.listdir(directory))
    check_error(run(*small, "--ids", "99", "--out", out, "--force"), 1, "a failed run", "ids[1][0] = 99")
    check(read(out) == b"the old file" and sorted(os.listdir(directory)) == before, "a failed run leaves files alone")


def run_all(directory):
    for test in test_models, test_row_ids, test_rows, test_random_rows, test_hostile:
        own = os.path.join(directory, test.__name__)
        os.mkdir(own)
        test(own)
