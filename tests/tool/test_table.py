# SPDX-License-Identifier: MIT
"""`inlay table`: recipes, lists of positions, types, rotary tables, comparisons, each against formulas in this file."""

import math
import os
import struct

from harness import check, check_error, npy, number_list, parse_npy, run, table, vectors, write

ULP = 2.0**-24  # half a float32 step at 1, and a whole one below 1
POSITIONS = [0, 1, 2, 9, 100, 4999, 65537]


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def close(got, expect, tolerance=1.01 * ULP):
    return len(got) == len(expect) and all(abs(a - b) <= tolerance for a, b in zip(got, expect))


def joined(numbers):
    return ",".join(map(str, numbers))


# ---- Recipes, as the frameworks compute them: the angle of pair i at a position ------------------------------------


def torch_exp(p, i, d, base):
    c = f32(-math.log(base) / d)
    return f32(f32(p) * f32(math.exp(f32(f32(2 * i) * c))))


def numpy_fp64(p, i, d, base):
    return p / base ** (2 * i / d)


def fairseq(p, i, d, base):
    increment = f32(math.log(base) / (d // 2 - 1))
    return f32(f32(p) * f32(math.exp(f32(f32(i) * -increment))))


def diffusers(p, i, d, base, shift=1):
    exponent = f32(f32(f32(-math.log(base)) * f32(i)) / f32(d // 2 - shift))
    return f32(f32(p) * f32(math.exp(exponent)))


def mlx(p, i, d, base):
    low = math.log(1 / base)
    part = f32(1 - f32(f32(i) / f32(d // 2 - 1)))
    return f32(f32(p) * f32(math.exp(f32(f32(part * f32(0 - low)) + f32(low)))))


INTERLEAVED, SPLIT, COS_FIRST = "interleaved", "split", "split-cos-first"

# name: (angle, layout, odd-dim policy). The hashes in tests/positions cover the values of all recipes.
RECIPES = {
    "exact": (numpy_fp64, INTERLEAVED, "formula"),
    "torch-exp": (torch_exp, INTERLEAVED, "error"),
    "fairseq": (fairseq, SPLIT, "zero"),
    "diffusers": (diffusers, SPLIT, "zero"),
    "mlx": (mlx, SPLIT, "error"),
}
LAYOUTS = {"ggml": COS_FIRST, "inv-pow": INTERLEAVED, **{name: layout for name, (_, layout, _) in RECIPES.items()}}


def arrange(angles, dim, layout, odd, amplitude=1.0):
    """Returns the columns of a row: angles [pairs], with the last column by `odd`."""
    factor = f32(amplitude)
    sines = [f32(f32(math.sin(a)) * factor) for a in angles]
    cosines = [f32(f32(math.cos(a)) * factor) for a in angles]
    if layout == INTERLEAVED:
        row = [value for pair in zip(sines, cosines) for value in pair]
    else:
        row = sines + cosines if layout == SPLIT else cosines + sines
    if dim % 2 == 1 and odd != "formula":
        return row + [0.0 if odd == "zero" else cosines[0]]
    return row[:dim]


def expected(name, positions, dim, base=10000.0, layout=None, odd=None, amplitude=None):
    angle, own_layout, own_odd = RECIPES[name]
    odd = odd or own_odd
    pairs = (dim + 1) // 2 if odd == "formula" else dim // 2
    if amplitude is None:
        amplitude = math.sqrt(2 / dim) if name == "mlx" else 1.0
    rows = [
        arrange([angle(p, i, dim, base) for i in range(pairs)], dim, layout or own_layout, odd, amplitude)
        for p in positions
    ]
    return [value for row in rows for value in row]


def test_recipes():
    words = run("table", "--help").stdout.decode().replace(",", " ").split()
    for name in "jax-exp torch-div keras-hub inv-pow tensor2tensor opennmt-tf marian hf-marian ggml flax mae".split():
        check(name in words and run("table", "--recipe", name, "--dim", "6", "--positions", "0:3").returncode == 0, name)
    for name, (_, _, odd) in RECIPES.items():
        check(name in words, f"--help names {name}")
        args = ("table", "--recipe", name, "--positions", joined(POSITIONS))
        for dim in 6, 64:
            shape, got = vectors(*args, "--dim", str(dim))
            check(shape == (7, dim) and close(got, expected(name, POSITIONS, dim)), f"--recipe {name}, dim {dim}")
        got = vectors(*args, "--dim", "10", "--base", "777.5")[1]
        check(close(got, expected(name, POSITIONS, 10, 777.5)), f"--recipe {name} --base")
        if odd == "error":
            check_error(run(*args, "--dim", "7"), 2, f"{name} and an odd dim", "--odd formula, zero or wrap")
        else:
            check(close(vectors(*args, "--dim", "7")[1], expected(name, POSITIONS, 7)), f"{name} and an odd dim")
        for layout in INTERLEAVED, SPLIT, COS_FIRST:
            for odd in "formula", "zero", "wrap":
                got = vectors(*args, "--dim", "7", "--layout", layout, "--odd", odd)[1]
                good = close(got, expected(name, POSITIONS, 7, layout=layout, odd=odd))
                check(good, f"{name} --layout {layout} --odd {odd}", got[:7])
        got = vectors(*args, "--dim", "6", "--amplitude", "2.5")[1]
        check(close(got, expected(name, POSITIONS, 6, amplitude=2.5), 5 * ULP), f"{name} --amplitude")

    args = ("table", "--recipe", "diffusers", "--positions", "0:100", "--dim", "8", "--shift", "0")
    expect = [v for p in range(100) for v in arrange([diffusers(p, i, 8, 1e4, 0) for i in range(4)], 8, SPLIT, "zero")]
    check(close(vectors(*args)[1], expect), "the shift of diffusers")
    for dim in 1, 2, 3, 6, 9:
        for shift in 0, 1:
            args = ("table", "--dim", str(dim), "--positions", "0:50", "--spacing", "half", "--shift", str(shift))
            step = max(dim // 2 - shift, 1)
            angles = [[p * 10000.0 ** (-i / step) for i in range((dim + 1) // 2)] for p in range(50)]
            expect = [v for row in angles for v in arrange(row, dim, INTERLEAVED, "formula")]
            check(close(vectors(*args)[1], expect), f"--spacing half --shift {shift}, dim {dim}")
    plain = vectors("table", "--dim", "6", "--positions", "0:9", "--spacing", "half")[1]
    none = vectors("table", "--dim", "6", "--positions", "0:9", "--spacing", "half", "--shift", "0")[1]
    check(plain == none, "the shift of --spacing half is 0 by default")


# ---- Positions and frequencies as lists ----------------------------------------------------------------------------


def test_positions(directory):
    base = ("table", "--dim", "6", "--positions")
    real = [0.5, 999.25, -3.0, 7.0, 7.0, 1e-3]
    expect = [v for p in real for v in arrange([numpy_fp64(p, i, 6, 1e4) for i in range(3)], 6, INTERLEAVED, "")]
    shape, got = vectors(*base, "0.5,999.25,-3,7,7,1e-3")
    check(shape == (6, 6) and close(got, expect), "real positions", got)
    path = lambda name, data: write(os.path.join(directory, name), data)
    lists = {
        "@FILE of text": "@" + path("p.txt", b"# times\n0.5\n\n  999.25 # and back\r\n-3\n7\n7\t\n1e-3"),
        "FILE.npy of float64": path("f8.npy", number_list(real)),
        "@FILE.npy": "@" + path("f8.npy", number_list(real)),
    }
    for name, text in lists.items():
        check(vectors(*base, text)[1] == got, f"positions from {name}")
    check(vectors(*base, "@-", stdin=b"0.5\n999.25\n-3\n7\n7\n1e-3\n")[1] == got, "positions from standard input")
    singles = [0.5, 0.125, -8.75]
    got4 = vectors(*base, path("f4.npy", number_list(singles, "<f4")))[1]
    check(got4 == vectors(*base, joined(singles))[1], "positions of <f4")
    whole = [3, 7, 7, 100, 2147483647]
    got = vectors(*base, joined(whole))[1]
    for descr in "<i4", "<i8":
        check(vectors(*base, path("i.npy", number_list(whole, descr)))[1] == got, f"positions of {descr}")
    negative = path("negative.npy", number_list([-5, 5], "<i4"))
    check(vectors(*base, negative)[1] == vectors(*base, "-5,5")[1], "negative positions of <i4")
    for row, position in enumerate(whole):
        one = vectors(*base, f"{position}:{position + 1}")[1]
        check(one == got[6 * row : 6 * row + 6], f"position {position} of a list and of a range")
    check(vectors(*base, "5")[0] == (1, 6), "a list of one")
    check(vectors(*base, "2147483647.5,-2147483647.5")[0] == (2, 6), "the largest positions")
    rounded = ("table", "--dim", "6", "--recipe", "torch-exp", "--positions")
    check(vectors(*rounded, "16777216.75")[1] == vectors(*rounded, "16777216")[1], "recipes of float32 round positions")

    fail = lambda text, *needles, **more: check_error(run(*base, text, **more), 1, f"--positions {text}", *needles)
    fail("@/nonexistent/x", "/nonexistent/x", "No such file")
    fail("/nonexistent/x.npy", "No such file")
    fail("@", "cannot open ''")
    fail("@" + path("bad.txt", b"1\n2\n3 4\n"), "line 3: '3 4' is not a number")
    fail("@" + path("control.txt", b"\x1b[31m\n"), "\\x1b")
    fail("@" + path("nul.txt", b"1\n2\0\n"), "line 2")
    fail("@" + path("empty.txt", b""), "has no numbers")
    fail("@" + path("comments.txt", b"# nothing\n\n"), "has no numbers")
    fail(path("none.npy", number_list([])), "has no numbers")
    fail("@-", "has no numbers")
    fail(path("nan.npy", number_list([1.0, math.nan])), "number 2, nan, must be from")
    fail(path("far.npy", number_list([2**62], "<i8")), "number 1, 4.6116860184273879e+18, must be from")
    fail(path("inf.npy", number_list([-math.inf], "<f4")), "number 1, -inf, must be from")
    fail(path("two.npy", table([[1.0, 2.0]])), "is not a list of numbers", "it has 2 dimensions, and a list has 1")
    half = "{'descr': '<f2', 'fortran_order': False, 'shape': (1,), }"
    fail(path("half.npy", npy(half, b"\0\0")), "'<f2', not '<f4', '<f8', '<i4' or '<i8'", "a.astype('<f8')")
    fail(path("torn.npy", number_list([1.0, 2.0])[:-1]), "its shape [2] needs 16 bytes of data, but the file has 15")
    fail(path("order.npy", npy(half.replace("<f2", "<f4").replace("False", "True").replace("(1,)", "(2, 2)"), bytes(16))), "Fortran order")
    huge = half.replace("<f2", "<f8").replace("(1,)", "(2305843009213693952,)")
    fail(path("huge.npy", npy(huge)), "its shape overflows")
    fifo = os.path.join(directory, "fifo.npy")
    os.mkfifo(fifo)
    fail(fifo, "not a regular file, as a list of numbers must be")


def test_frequencies(directory):
    frequencies = [1.0, 0.3, 1e-5]
    args = ("table", "--dim", "6", "--positions", "0:2000", "--inv-freq")
    expect = [v for p in range(2000) for v in arrange([p * w for w in frequencies], 6, INTERLEAVED, "")]
    got = vectors(*args, joined(frequencies))[1]
    check(close(got, expect), "--inv-freq")
    path = write(os.path.join(directory, "f8.npy"), number_list(frequencies))
    check(vectors(*args, path)[1] == got and vectors(*args, "@" + path)[1] == got, "--inv-freq FILE.npy")
    path = write(os.path.join(directory, "f4.npy"), number_list(frequencies, "<f4"))
    check(vectors(*args, path)[1] == vectors(*args, joined(map(f32, frequencies)))[1], "--inv-freq of float32")
    angles = [[f32(f32(p) * f32(w)) for w in frequencies] for p in range(2000)]
    expect = [v for row in angles for v in arrange(row, 6, SPLIT, "")]
    got = vectors(*args, joined(frequencies), "--float-angles", "--layout", "split")[1]
    check(close(got, expect), "--float-angles")
    plain = vectors(*args, joined(frequencies), "--layout", "split")[1]
    check(max(abs(a - b) for a, b in zip(got, plain)) > 1e-6, "--float-angles has an effect")
    fastest = ("table", "--dim", "4", "--positions", "0:2", "--inv-freq", "2147483648,0")
    check(close(vectors(*fastest)[1][4:], [math.sin(2**31), math.cos(2**31), 0, 1]), "the largest frequency")
    needs = "has 3 numbers, but --dim"
    for dim, odd, pairs in ("8", "formula", 4), ("7", "formula", 4), ("5", "zero", 2):
        wrong = ("table", "--dim", dim, "--odd", odd, "--positions", "0:2", "--inv-freq", "1,2,3")
        check_error(run(*wrong), 1, f"3 frequencies for dim {dim}", f"{needs} {dim} needs {pairs}")
    for dim, odd in ("5", "formula"), ("7", "zero"):
        right = ("table", "--dim", dim, "--odd", odd, "--positions", "0:2", "--inv-freq", "1,2,3")
        check(vectors(*right)[0] == (2, int(dim)), f"3 frequencies for dim {dim}, {odd}")


# ---- Types ---------------------------------------------------------------------------------------------------------


def float16(x):
    return struct.unpack("<e", struct.pack("<e", x))[0]


def bfloat16(x):
    """Returns the bits of the nearest bfloat16, ties to even, from a double to round once."""
    if x == 0:
        return 0
    exponent = max(math.frexp(abs(x))[1] - 8, -133)
    magnitude = round(abs(x) / 2.0**exponent) * 2.0**exponent
    return struct.unpack("<I", struct.pack("<f", math.copysign(magnitude, x)))[0] >> 16


def test_types():
    args = ("table", "--dim", "64", "--positions", "0:300")
    angles = [p * 10000.0 ** (-2 * i / 64) for p in range(300) for i in range(32)]
    exact = [trig(a) for a in angles for trig in (math.sin, math.cos)]
    result = run(*args, "--dtype", "float16", "--out", "-")
    shape, got = parse_npy(result.stdout, "<f2")
    expect = [float16(v) for v in exact]
    check(shape == (300, 64) and got == expect, "--dtype float16")
    shape, got = parse_npy(run(*args, "--dtype", "bfloat16", "--out", "-").stdout, "<u2")
    check(shape == (300, 64) and got == [bfloat16(v) for v in exact], "--dtype bfloat16")
    check(vectors(*args, "--dtype", "float32")[1] == vectors(*args)[1], "--dtype float32")

    small = ("table", "--dim", "2", "--positions", "0,1e-7,-1e-7,2", "--dtype")
    text = run(*small, "float16").stdout.decode()
    got = [float(word) for word in text.split("\n", 1)[1].replace("[", " ").replace("]", " ").split()]
    expect = [float16(trig(p)) for p in (0, 1e-7, -1e-7, 2) for trig in (math.sin, math.cos)]
    check(text.startswith("float16 [4, 2]\n") and close(got, expect, 3e-8), "float16 is printed", text)
    text = run(*small, "bfloat16").stdout.decode()
    check(text.startswith("bfloat16 [4, 2]\n") and "0.91015625" in text, "bfloat16 is printed", text)


# ---- Rotary tables -------------------------------------------------------------------------------------------------


def yarn_frequencies(dim, base, factor, length, fast=32.0, slow=1.0, truncate=True):
    place = lambda turns: dim * math.log(length / (turns * 2 * math.pi)) / (2 * math.log(base))
    low, high = place(fast), place(slow)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, dim - 1)
    ramp = [min(max((i - low) / (high - low), 0), 1) for i in range(dim // 2)]
    return [base ** (-2 * i / dim) * (1 - r + r / factor) for i, r in enumerate(ramp)]


def llama3_frequencies(dim, base, factor, length, low=1.0, high=4.0):
    frequencies = []
    for i in range(dim // 2):
        w = base ** (-2 * i / dim)
        smooth = min(max((length * w / (2 * math.pi) - low) / (high - low), 0), 1)
        frequencies.append(smooth * w + (1 - smooth) * w / factor)
    return frequencies


def rope_cases():
    """Yields (options, frequencies, attention factor) for dim 16, base 10000."""
    dim, base = 16, 10000.0
    plain = [base ** (-2 * i / dim) for i in range(8)]
    stretched = lambda s: [(base * s ** (dim / (dim - 2))) ** (-2 * i / dim) for i in range(8)]
    short, long = [1 + i / 8 for i in range(8)], [2.0 + i for i in range(8)]
    training = ("--original-length", "4096")
    dynamic = ("--factor", "2", *training, "--length")
    llama3 = ("--factor", "8", *training, "--low-freq-factor")
    yarn = ("--factor", "16", *training)
    lists = ("--short-factors", joined(short), "--long-factors", joined(long))
    longrope = (*training, *lists, "--length")
    temperature = 0.1 * math.log(16) + 1
    root = math.sqrt(1 + math.log(32) / math.log(4096))
    return [
        (("default",), plain, 1),
        (("linear", "--factor", "4"), [w / 4 for w in plain], 1),
        (("ntk", "--factor", "4"), stretched(4), 1),
        (("dynamic-ntk", *dynamic, "100"), plain, 1),
        (("dynamic-ntk", *dynamic, "10000"), stretched(2 * 10000 / 4096 - 1), 1),
        (("llama3", *llama3, "1", "--high-freq-factor", "4"), llama3_frequencies(dim, base, 8, 4096), 1),
        (("llama3", *llama3, "0.5", "--high-freq-factor", "50"),
         llama3_frequencies(dim, base, 8, 4096, 0.5, 50), 1),
        (("yarn", *yarn), yarn_frequencies(dim, base, 16, 4096), temperature),
        (("yarn", *yarn, "--no-truncate"), yarn_frequencies(dim, base, 16, 4096, truncate=False), temperature),
        (("yarn", *yarn, "--beta-fast", "100", "--beta-slow", "0.5"),
         yarn_frequencies(dim, base, 16, 4096, 100, 0.5), temperature),
        (("yarn", *yarn, "--mscale", "0.707", "--mscale-all-dim", "2"), yarn_frequencies(dim, base, 16, 4096),
         (0.1 * 0.707 * math.log(16) + 1) / (0.1 * 2 * math.log(16) + 1)),
        (("yarn", *yarn, "--attention-factor", "1.25"), yarn_frequencies(dim, base, 16, 4096), 1.25),
        (("longrope", "--factor", "32", *longrope, "4096"), [w / s for w, s in zip(plain, short)], root),
        (("longrope", "--factor", "32", *longrope, "4097"), [w / s for w, s in zip(plain, long)], root),
        (("longrope", *longrope, "1", "--attention-factor", "0.5"), [w / s for w, s in zip(plain, short)], 0.5),
    ]


def test_rope(directory):
    base = ("table", "--dim", "16", "--rope")
    for options, frequencies, attention in rope_cases():
        name = f"--rope {' '.join(options)}"
        printed = run(*base, *options, "--print-frequencies").stdout
        lines = printed.decode().split("\n")
        got = [float(line) for line in lines if line and line[0] != "#"]
        check(all(abs(a / b - 1) < 1e-13 for a, b in zip(got, frequencies)) and len(got) == 8, f"frequencies of {name}")
        factor = float(lines[1].rsplit(" ", 1)[1])
        check(lines[1].startswith("# attention factor ") and abs(factor / attention - 1) < 1e-14, f"factor of {name}")

        shape, values = vectors(*base, *options, "--positions", "5:1005")
        angles = [[p * w for w in frequencies * 2] for p in range(5, 1005)]
        expect = [attention * trig(a) for trig in (math.cos, math.sin) for row in angles for a in row]
        check(shape == (2, 1000, 16) and close(values, expect, 2.5 * ULP), f"table of {name}")
        pairs = vectors(*base, *options, "--positions", "5:1005", "--rope-layout", "pairs")
        sinusoid = vectors("table", "--dim", "16", "--positions", "5:1005", "--inv-freq", "@-", "--layout", "split",
                           "--amplitude", lines[1].rsplit(" ", 1)[1], stdin=printed)[1]
        sines = [v for row in range(1000) for v in sinusoid[16 * row : 16 * row + 8]]
        cosines = [v for row in range(1000) for v in sinusoid[16 * row + 8 : 16 * row + 16]]
        check(pairs == ((2, 1000, 8), cosines + sines), f"{name}: printed frequencies make the same table")
        halves = [v for i in range(2000) for v in 2 * pairs[1][8 * i : 8 * i + 8]]
        check(values == halves, f"{name}: --rope-layout halves")
        twice = vectors(*base, *options, "--positions", "5:1005", "--rope-layout", "interleaved")[1]
        check(twice == [v for v in pairs[1] for _ in range(2)], f"{name}: --rope-layout interleaved")

    args = (*base, "linear", "--factor", "3", "--base", "500000", "--positions", "0:3000", "--rope-layout", "pairs")
    angles = [f32(f32(p) * f32(500000.0 ** (-2 * i / 16) / 3)) for p in range(3000) for i in range(8)]
    expect = [f32(trig(a)) for trig in (math.cos, math.sin) for a in angles]
    check(close(vectors(*args, "--float-angles")[1], expect), "--rope with --float-angles and --base")
    shape, got = parse_npy(run(*args, "--dtype", "float16", "--out", "-").stdout, "<f2")
    angles = [p * 500000.0 ** (-2 * i / 16) / 3 for p in range(3000) for i in range(8)]
    expect = [trig(a) for trig in (math.cos, math.sin) for a in angles]
    check(shape == (2, 3000, 8) and close(got, expect, 2.0**-12 + 1e-9), "--rope in float16")
    text = run("table", "--dim", "2", "--rope", "default", "--positions", "0:2").stdout.decode()
    expect = "float32 [2, 2, 2]\n[[[1.         1.        ]\n  [0.5403023  0.5403023 ]]\n\n"
    check(text.startswith(expect), "a rotary table is printed", text)
    factors = write(os.path.join(directory, "factors.npy"), number_list([2.0 + i for i in range(8)], "<f4"))
    longrope = (*base, "longrope", "--factor", "2", "--original-length", "64", "--length", "65", "--positions", "0:9")
    lists = ("--short-factors", joined(range(1, 9)), "--long-factors")
    same = vectors(*longrope, *lists, factors) == vectors(*longrope, *lists, joined(range(2, 10)))
    check(same, "--long-factors FILE.npy")

    yarn = (*base, "yarn", "--factor", "2", "--original-length", "64", "--positions", "0:9")
    llama3 = (*base, "llama3", "--factor", "2", "--original-length", "64", "--high-freq-factor", "4", "--positions", "0:9")
    default = (*base, "default", "--positions", "0:9")
    for args, *needles in (
        ((*yarn, "--base", "1"), "--base above 1"),
        ((*yarn, "--beta-fast", "1", "--beta-slow", "2"), "--beta-slow 2 must not be above --beta-fast 1"),
        ((*yarn, "--mscale", "1"), "--mscale and --mscale-all-dim", "give both or neither"),
        ((*yarn, "--mscale", "1", "--mscale-all-dim", "1", "--attention-factor", "1"), "--attention-factor replaces"),
        ((*yarn, "--mscale", "101", "--mscale-all-dim", "1"), "--mscale '101'"),
        ((*yarn, "--length", "9"), "--length has no effect on --rope yarn"),
        ((*llama3, "--low-freq-factor", "4"), "--low-freq-factor 4 must be below --high-freq-factor 4"),
        (llama3, "--rope llama3 needs --low-freq-factor"),
        ((*longrope[:9], "--length", "0", *longrope[11:], *lists, "1"), "--length '0' is not a number from 1"),
        ((*llama3, "--low-freq-factor", "1", "--beta-fast", "4"), "--beta-fast has no effect on --rope llama3"),
        ((*llama3, "--original-length", "1"), "--original-length '1' is not a number from 2 to 2147483647"),
        ((*longrope, *lists, "1", "--attention-factor", "2"), "--attention-factor replaces", "drop one"),
        ((*base, "longrope", *longrope[7:], *lists, "1"), "--rope longrope needs --factor"),
        ((*longrope, *lists, "1,0"), "--long-factors '1,0': number 2, 0, must be from"),
        ((*longrope, "--short-factors", "1"), "--rope longrope needs --long-factors"),
        ((*default, "--recipe", "inv-pow"), "--recipe has no effect on --rope"),
        ((*default, "--spacing", "dim"), "--spacing has no effect on --rope"),
        ((*default, "--shift", "0"), "--shift has no effect on --rope"),
        ((*default, "--layout", "split"), "--rope-layout arranges its columns"),
        ((*default, "--odd", "zero"), "--odd has no effect on --rope"),
        ((*default, "--amplitude", "2"), "--amplitude has no effect on --rope"),
        ((*default, "--inv-freq", "1"), "--inv-freq and --rope both give the frequencies"),
        ((*default, "--compare", "exact"), "--compare only compares sinusoids"),
        ((*default, "--print-frequencies"), "drop --positions"),
        ((*base, "default", "--print-frequencies", "--out", "x"), "drop --out"),
        ((*base, "default", "--print-frequencies", "--plot", "x"), "drop --plot"),
        ((*base, "default", "--print-frequencies", "--dtype", "float16"), "drop --dtype"),
        ((*base, "default", "--print-frequencies", "--float-angles"), "drop --float-angles"),
        ((*base, "default", "--print-frequencies", "--rope-layout", "pairs"), "drop --rope-layout"),
    ):
        check_error(run(*args), 2, f"usage: {args}", *needles)
    wrong = run(*longrope, *lists, "1,2")
    check_error(wrong, 1, "two factors", "--long-factors '1,2' has 2 numbers, but --dim 16 needs 8")


# ---- Drift ---------------------------------------------------------------------------------------------------------


def drift_lines(position, frequencies, base):
    """Returns the errors by name, from the operations of each framework."""
    pairs = len(frequencies)
    powers = [f32(base ** f32(i / pairs)) for i in range(pairs)]
    chain = [f32(position)]
    for _ in range(1, pairs):
        chain.append(f32(chain[-1] * f32(base ** f32(-1 / pairs))))
    angles = {
        "inlay": [position * w for w in frequencies],
        "inlay --float-angles": [f32(f32(position) * f32(w)) for w in frequencies],
        "transformers": [f32(f32(position) * f32(1 / power)) for power in powers],
        "ggml": chain,
    }
    lines = {}
    for name, got in angles.items():
        entry = angle = 0
        for a, w in zip(got, frequencies):
            c, s, right_c, right_s = f32(math.cos(a)), f32(math.sin(a)), math.cos(position * w), math.sin(position * w)
            entry = max(entry, abs(c - right_c), abs(s - right_s))
            angle = max(angle, abs(math.atan2(s * right_c - c * right_s, c * right_c + s * right_s)))
        lines[name] = f"{entry:.1e}", f"{angle:.1e}"
    return lines


def test_drift():
    base = ("table", "--rope", "default", "--dim", "16", "--base", "70000")
    printed = run(*base, "--print-frequencies").stdout.decode()
    frequencies = [float(line) for line in printed.splitlines() if line[0] != "#"]
    lists = ("3,0.5,70001,12345678", [3, 0.5, 70001, 12345678]), ("16777214:16777216", [2**24 - 2, 2**24 - 1])
    for text, positions in lists:
        result = run(*base, "--positions", text, "--drift")
        got = [line.rstrip() for line in result.stdout.decode().splitlines()[1:]]
        expect = []
        for position in positions:
            for name, errors in drift_lines(position, frequencies, 70000.0).items():
                expect.append(f"{position:<8.10g}  {name:20}  {errors[0]:>8}  {errors[1]:>8}")
        check(got == expect, f"--drift at {text}", f"{got} expected {expect}")
    drift = (*base, "--positions", "3:4", "--drift")
    for args, *needles in (
        ((*drift, "--force"), "--drift only prints errors of float32 entries, computed on one thread: drop --force"),
        ((*drift, "--positions", "0:16777217"), "0 <= A < B <= 16777216"),
        ((*drift, "--positions", "5,16777216"), "number 2, 16777216, must be from"),
        ((*drift, "--rope", "linear", "--factor", "2"), "--drift has no effect on --rope linear"),
        (("table", "--dim", "4", "--positions", "0:1", "--drift"), "--drift has no effect without --rope"),
        *(((*drift, *option), f"drop {option[0]}") for option in (
            ("--float-angles",), ("--rope-layout", "pairs"), ("--dtype", "float16"), ("--out", "x"), ("--plot", "x"),
            ("--threads", "2"))),
        ((*base, "--drift", "--print-frequencies"), "drop --print-frequencies"),
    ):
        check_error(run(*args), 2, f"usage: {args}", *needles)


# ---- Comparisons ---------------------------------------------------------------------------------------------------


def step(x):
    """Returns the spacing of float32 in the binade of x."""
    return 2.0 ** (max(math.frexp(abs(x))[1] - 1, -126) - 23) if x else 2.0**-149


def expected_lines(positions, dim, first, second):
    """Returns [(decade, share, mean, max, place, mean ULP, max ULP, place)], the last for all."""
    groups = {}
    for row, position in enumerate(positions):
        decade = len(str(int(abs(position)))) - 1
        for column in range(dim):
            a, b = first[row * dim + column], second[row * dim + column]
            groups.setdefault(decade, []).append((abs(a - b), abs(a - b) / step(a), position, column))
    lines = []
    for decade in [*sorted(groups), "all"]:
        entries = groups[decade] if decade != "all" else [e for d in sorted(groups) for e in groups[d]]
        n = len(entries)
        line = [decade, 100 * sum(e[0] > 0 for e in entries) / n]
        for which in 0, 1:
            worst = max(entries, key=lambda e: e[which])
            place = f"({worst[2]:.10g}, {worst[3]})" if worst[which] > 0 else "-"
            line += [sum(e[which] for e in entries) / n, worst[which], place]
        lines.append(line)
    return lines


def printed_lines(text):
    lines = []
    for line in text.split("\n\n")[1].splitlines()[1:]:
        words = line.replace(", ", ",").split()
        numbers = [float(words[i].rstrip("%")) for i in (1, 2, 3, 5, 6)]
        share, mean, most, ulp_mean, max_ulp = numbers
        place, ulp_place = (words[i].replace(",", ", ") for i in (4, 7))
        lines.append([words[0], share, mean, most, place, ulp_mean, max_ulp, ulp_place])
    return lines


def agree(got, expect):
    """Equal up to the three printed digits."""
    number = lambda a, b: abs(a - b) <= 0.006 * abs(b)
    return all(a == b if isinstance(b, str) else number(a, b) for a, b in zip(got[1:], expect[1:]))


def test_compare():
    whole = "0:1200", list(range(1200))
    real = "0.5,-12.25,3,999.75,1234567,-9.99", [0.5, -12.25, 3, 999.75, 1234567, -9.99]
    cases = [
        ("torch-exp", (), "jax-exp", (), 48, whole),
        ("torch-exp", (), "exact", (), 48, whole),
        ("exact", (), "torch-div", (), 48, whole),
        ("exact", (), "exact", (), 48, whole),
        ("fairseq", (), "exact", ("--spacing", "half", "--shift", "1", "--odd", "zero"), 9, whole),
        ("ggml", ("--base", "500"), "mae", (), 10, whole),
        ("mlx", (), "exact", ("--spacing", "half", "--shift", "1", "--amplitude", str(math.sqrt(2 / 8))), 8, whole),
        ("diffusers", ("--shift", "0"), "exact", ("--spacing", "half", "--shift", "0"), 8, whole),
        ("exact", ("--amplitude", "3"), "keras-hub", (), 6, whole),
        ("inv-pow", (), "exact", (), 6, real),
        ("torch-exp", (), "numpy-fp64", (), 6, ("7:8", [7])),
    ]
    for first, options, second, more, dim, (text, positions) in cases:
        base = ("table", "--dim", str(dim), "--positions", text)
        result = run(*base, "--recipe", first, *options, "--compare", second)
        what = f"{first} {' '.join(options)} against {second} at {text}"
        if not check(result.returncode == 0 and not result.stderr, what, result.stderr):
            continue
        output = result.stdout.decode()
        layout = () if "--layout" in options else ("--layout", LAYOUTS[first])
        # The full options of the second table.
        arranged = options if options[:1] in (("--base",), ("--amplitude",)) else ()
        a = vectors(*base, "--recipe", first, *options)[1]
        b = vectors(*base, "--recipe", second, *layout, *arranged, *more)[1]
        got, expect = printed_lines(output), expected_lines(positions, dim, a, b)
        good = len(got) == len(expect) and all(agree(g, e) for g, e in zip(got, expect))
        check(good, f"distances: {what}", f"{output} expected {expect}")
        check(got[-1][0] == "all" and output.startswith(f"first     {first}, "), f"heading: {what}", output)
        check(f"\nsecond    {second}, " in output, f"heading: {what}", output)
    labels = lambda *args: [line[0] for line in printed_lines(run(*args).stdout.decode())]
    base = ("table", "--dim", "4", "--compare", "mae", "--positions")
    check(labels(*base, "0:5000") == ["0-9", "10-99", "100-999", "1000-4999", "all"], "decades of a range")
    check(labels(*base, "37:120") == ["37-99", "100-119", "all"], "decades are cut")
    check(labels(*base, "10:11") == ["10", "all"], "one position")
    check(labels(*base, "2147483640:2147483648") == ["2147483640-2147483647", "all"], "the last positions")
    check(labels(*base, "1e9,-99.5") == ["10-99", "1000000000-9999999999", "all"], "decades of a list")
    note = b"note      the formulas differ: spacing dim, and spacing half, shift 1\n"
    notes = lambda *args: note in run(*base, "0:9", *args).stdout
    check(not notes(), "no note where the formula is one")
    check(notes("--compare", "fairseq"), "a note where formulas differ")
    check(not notes("--compare", "fairseq", "--spacing", "half", "--shift", "1"), "none where they are made equal")
    half = run(*base, "0:9", "--compare", "fairseq", "--spacing", "half").stdout
    check(b"formulas differ: spacing half, shift 0, and spacing half, shift 1\n" in half, "a note on shifts", half)
    given = run(*base, "0:9", "--compare", "exact", "--inv-freq", "1,0.01", "--float-angles", "--base", "20")
    heading = given.stdout.decode().splitlines()[:2]
    check(heading == ["first     exact, frequencies of '1,0.01', float angles, interleaved",
                      "second    exact, base 20, spacing dim, interleaved"], "frequencies are compared", heading)
    tiny = ("table", "--dim", "6", "--positions", "0:99", "--inv-freq", "0,1e-42,2e-38")
    expect = expected_lines(range(99), 6, vectors(*tiny)[1], vectors("table", "--dim", "6", "--positions", "0:99")[1])
    got = printed_lines(run(*tiny, "--compare", "exact").stdout.decode())
    check(all(agree(g, e) for g, e in zip(got, expect)) and len(got) == 3, "ULP of 0 and of subnormals", got)
    shifted = run(*base, "0:9", "--compare", "diffusers", "--shift", "0").stdout.decode()
    check("second    diffusers, base 10000, shift 0, interleaved" in shifted, "--shift of the second", shifted)


def run_all(directory):
    test_recipes()
    test_positions(directory)
    test_frequencies(directory)
    test_types()
    test_rope(directory)
    test_drift()
    test_compare()
