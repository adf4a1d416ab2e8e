# SPDX-License-Identifier: MIT
"""Values: tables, scale, positions, layouts, and how tensors are printed."""

import math
import os
import struct

from harness import check, check_error, parse_npy, read, run, table, vectors, write

MASK = (1 << 64) - 1
GAMMA = 0x9E3779B97F4A7C15


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def sinusoid(position, dim, base=10000.0, layout="interleaved"):
    """Returns a row of sinusoids in double, accurate to about 1e-9 for positions in the thousands."""
    angles = [position * base ** (-2 * i / dim) for i in range((dim + 1) // 2)]
    sines, cosines = [math.sin(a) for a in angles], [math.cos(a) for a in angles]
    if layout == "split":
        return (sines + cosines)[:dim]
    if layout == "split-cos-first":
        return (cosines + sines)[:dim]
    return [value for pair in zip(sines, cosines) for value in pair][:dim]


def mix(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def random_row(seed, row, dim):
    key = mix((seed + GAMMA) & MASK)
    bits = [mix((key + (row * dim + i + 1) * GAMMA) & MASK) >> 40 for i in range(dim)]
    return [(b - (1 << 23)) / (1 << 23) for b in bits]


def close(got, expect, tolerance=1e-6):
    return len(got) == len(expect) and all(abs(a - b) <= tolerance for a, b in zip(got, expect))


def test_tables(directory):
    rows = [[float(10 * i + j) for j in range(3)] for i in range(4)]
    path = write(os.path.join(directory, "words.npy"), table(rows))
    shape, got = vectors("embed", "--ids", "3 0 1", "--table", path, "--positions", "none")
    check((shape, got) == ((1, 3, 3), rows[3] + rows[0] + rows[1]), "a table from a file", got)
    again = os.path.join(directory, "again.npy")
    result = run("embed", "--ids", "0 1 2 3", "--table", path, "--positions", "none", "--out", again)
    check(result.returncode == 0 and not result.stdout and not result.stderr, "--out prints nothing", result.stderr)
    shape, got = parse_npy(read(again))
    check((shape, got) == ((1, 4, 3), [v for row in rows for v in row]), "npy round trip", got)

    for seed, vocab, dim in (0, 8, 5), (7, 3, 4), (2**63 - 1, 9, 2):
        args = ("embed", "--ids", f"0 {vocab - 1} 1", "--table", "random", "--vocab", str(vocab))
        _, got = vectors(*args, "--dim", str(dim), "--seed", str(seed), "--positions", "none")
        expect = [v for row in (0, vocab - 1, 1) for v in random_row(seed, row, dim)]
        check(got == expect, f"the random table of seed {seed}", got[:3])
    shape, got = vectors("embed", "--ids", "1000000000", "--table", "random", "--dim", "1", "--positions", "none")
    check(got == random_row(0, 1000000000, 1), "a large id makes only its own row", got)

    fixed = ("embed", "--ids", "0 7", "--positions", "none", "--dim", "5")
    check(close(vectors(*fixed)[1], sinusoid(0, 5) + sinusoid(7, 5)), "the fixed table is the sinusoid")
    for layout in "interleaved", "split", "split-cos-first":
        expect = sinusoid(0, 5, layout=layout) + sinusoid(7, 5, layout=layout)
        check(close(vectors(*fixed, "--layout", layout)[1], expect), f"--layout {layout}")
    check(close(vectors(*fixed, "--base", "100.5")[1], sinusoid(0, 5, 100.5) + sinusoid(7, 5, 100.5)), "--base")
    check(vectors("embed", "--ids", "1")[0] == (1, 1, 512), "dim is 512 where nothing says otherwise")


def test_layer(directory):
    rows = [[0.5, -1.25, 3.0], [1.0, 2.0, -4.0]]
    words = write(os.path.join(directory, "two.npy"), table(rows))
    offsets = [[float(100 * i + j) for j in range(3)] for i in range(3)]
    places = write(os.path.join(directory, "places.npy"), table(offsets))
    base = ("embed", "--ids", "1 0", "--table", words)
    expect = [a + b for i, row in enumerate((rows[1], rows[0])) for a, b in zip(row, sinusoid(i, 3))]
    check(close(vectors(*base)[1], expect), "sinusoidal positions are added by default")
    expect = [a + b for i, row in enumerate((rows[1], rows[0])) for a, b in zip(row, sinusoid(i + 41, 3))]
    check(close(vectors(*base, "--start", "41")[1], expect), "--start")
    learned = (*base, "--positions", f"learned:{places}")
    check(vectors(*learned)[1] == [1.0, 3.0, -2.0, 100.5, 99.75, 105.0], "learned positions")
    check(vectors(*learned, "--start", "1")[1][0] == 101.0, "learned positions from --start")
    check_error(run(*learned, "--start", "2"), 1, "past the learned positions", "position 3", "the last one, 2")
    plain = (*base, "--positions", "none", "--scale")
    check(vectors(*plain, "none")[1] == rows[1] + rows[0], "--scale none")
    check(vectors(*plain, "-2.5")[1] == [-2.5 * v for v in rows[1] + rows[0]], "--scale of a number")
    check(vectors(*plain, "3", "--scale", "none")[1] == rows[1] + rows[0], "the last --scale counts")
    root = f32(math.sqrt(3))
    check(vectors(*plain, "sqrt")[1] == [f32(root * v) for v in rows[1] + rows[0]], "--scale sqrt")
    check(vectors(*plain, "0.1")[1] == [f32(f32(0.1) * v) for v in rows[1] + rows[0]], "--scale is rounded once")
    last = ("embed", "--start", "2147483647", "--dim", "8", "--ids")
    check(vectors(*last, "1")[0] == (1, 1, 8), "the last position")
    check_error(run(*last, "1 2"), 1, "past the last position", "position 2147483648", "2147483647")

    embed = lambda *args: run("embed", *args)
    fix = "ids[1][3] = 907 is not a row of the table, which has 512: ids run from 0 to 511"
    check_error(embed("--ids", "1", "--ids", "1 2 3 907", "--vocab", "512", "--dim", "2"), 1, "a bad id", fix)
    check_error(embed("--ids", "0 -1", "--dim", "2"), 1, "a negative id", "ids[0][1] = -1")
    for huge in "9223372036854775807", "-9223372036854775808":
        check_error(embed("--ids", huge, "--dim", "2", "--vocab", "9"), 1, "an id of 64 bits", f"ids[0][0] = {huge}")
    check_error(embed("--ids", "0", "--table", words, "--dim", "4"), 1, "--dim against the file", "dim 3", "drop --dim")
    check_error(embed("--ids", "0", "--table", words, "--vocab", "4"), 1, "--vocab against the file", "2 rows")
    check(vectors("embed", "--ids", "0", "--table", words, "--dim", "3", "--vocab", "2")[0] == (1, 1, 3), "as the file")
    check_error(embed("--ids", "0", "--dim", "4", "--positions", f"learned:{places}"), 1, "two dims", "dim 3", "4")
    empty = write(os.path.join(directory, "empty.npy"), table([]))
    check_error(embed("--ids", "0", "--table", empty), 1, "a table without rows", "the table has no rows")


def values_of(text):
    return [word for word in text.split("\n", 1)[1].replace("[", " ").replace("]", " ").split()]


def test_printing(directory):
    embed = lambda *args: run("embed", *args).stdout.decode("ascii")
    text = embed("--ids", " ".join(map(str, range(50))), "--dim", "40")
    check(text.startswith("float32 [1, 50, 40]\n") and text.count("...") == 7, "a large tensor is elided", text)
    check(len(values_of(text)) == 36 + 7, "three at each end", len(values_of(text)))
    check(embed("--ids", "1 2", "--dim", "500").count("...") == 0, "1000 values are printed in full")
    check(embed("--ids", "1 2", "--dim", "501").count("...") == 2, "1002 values are not")
    text = run("table", "--dim", "3", "--positions", "5:1000005").stdout.decode("ascii")
    check(text.startswith("float32 [1000000, 3]\n") and len(values_of(text)) == 19, "a large table is elided", text)
    check(max(map(len, embed("--ids", "1 2 3", "--dim", "99").split("\n"))) <= 80, "lines have at most 80 columns")

    check("e" not in embed("--ids", "1").split("\n", 1)[1], "plain numbers have no exponent")
    odd = [[1e-30, 2.5e-7, -3.0], [float("nan"), float("inf"), float("-inf")], [1e30, 1.0, -0.0], [1e-9, 2e-9, 1.1e-8]]
    odd += [[2e8, 1.0, 0.5], [9.9e7, 1.0, 0.5]]
    odd += [[123456.789, -0.001, 99999.5], [16777216.0, 0.1, 1 / 3]]
    path = write(os.path.join(directory, "odd.npy"), table(odd))
    for i, row in enumerate(odd):
        text = embed("--table", path, "--positions", "none", "--ids", str(i))
        got = [float(word) for word in values_of(text)]
        biggest = max((abs(v) for v in row if math.isfinite(v)), default=0)
        good = all((math.isnan(a) and math.isnan(b)) or a == b or abs(a - b) <= 1e-7 * max(biggest, 1e-30)
                   for a, b in zip(got, row))
        check(good and len(got) == 3, f"printed row {row}", text)
        exponents = biggest != 0 and not 1e-3 <= biggest < 1e8
        check(("e" in text.split("\n", 1)[1]) == exponents, f"exponents of row {row}", text)


def run_all(directory):
    test_tables(directory)
    test_layer(directory)
    test_printing(directory)
