# SPDX-License-Identifier: MIT
"""Tables of other element types: inlay convert writes them, inlay embed reads them, and the errors are checked."""

import math
import os
import re
import resource
import shutil
import struct

from harness import array, check, check_error, memory_limit, parse_npy, read, run, table, write
from test_numbers import f32, random_row

HEADER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "include", "inlay", "table.h")
DIM = 512  # a multiple of every block


def types():
    """Returns the names of all element types, from the command's help."""
    text = " ".join(run("convert", "--help").stdout.decode().split())
    return re.search(r"byte for byte: (.*) --out", text).group(1).split(", ")


def numbers(rows, dim):
    """Returns rows of different magnitudes, with values of both signs."""
    return [[f32(value * 2.0 ** (row % 5)) for value in random_row(1, row, dim)] for row in range(rows)]


def quantize(source, kind, out, *args):
    """Returns (largest error, root mean square, bytes before, bytes after) of a successful conversion, or None."""
    result = run("convert", source, "--type", kind, "--out", out, "--force", *args)
    text = result.stdout.decode()
    found = re.fullmatch(r"table   (\w+) \[(\d+), (\d+)\], (\d+) bytes\nto      (\w+), (\d+) bytes\n"
                         r"error   largest (\S+), root mean square (\S+)\n", text)
    if not check(result.returncode == 0 and not result.stderr and found and found[5] == kind, f"quantize to {kind} {args}",
                 text + result.stderr):
        return None
    return float(found[7]), float(found[8]), int(found[4]), int(found[6])


def rows_back(path, kind, rows, *args):
    """Returns a table as read by inlay embed, as one list; or if the ids don't fit in an argument, as converted to
    float32."""
    if rows > 1000:
        whole = path + ".whole.npy"
        run("convert", path, "--table-type", kind, "--type", "float32", "--out", whole, "--force")
        return parse_npy(read(whole))[1]
    ids = " ".join(map(str, range(rows)))
    result = run("embed", "--ids", ids, "--table", path, "--table-type", kind, "--positions", "none", "--out", "-", *args)
    if not check(result.returncode == 0, f"embed reads {kind} {args}", result.stderr.strip()):
        return []
    return parse_npy(result.stdout)[1]


def check_conversion(directory, kind, rows, *args):
    """Converts rows, and compares the values read back with the report."""
    source = write(os.path.join(directory, "in.npy"), table(rows))
    out = os.path.join(directory, f"{kind}.npy")
    found = quantize(source, kind, out, *args)
    what = f"{kind} {' '.join(args)}"
    if found is None:
        return out
    flat = [value for row in rows for value in row]
    back = rows_back(out, kind, len(rows))
    errors = [abs(a - b) for a, b in zip(back, flat)]
    largest, mean = max(errors, default=0), math.sqrt(sum(error * error for error in errors) / len(flat))
    check(len(back) == len(flat) and math.isclose(largest, found[0], rel_tol=1e-5, abs_tol=1e-12), f"error of {what}",
          (largest, found))
    check(math.isclose(mean, found[1], rel_tol=1e-5, abs_tol=1e-12), f"mean error of {what}", (mean, found))
    bits = 8 * (len(read(out)) - 128) / len(flat)  # of a value
    share = max(0.2, 2.2 / 2 ** bits)
    check(mean <= share * math.sqrt(sum(value * value for value in flat) / len(flat)), f"{what} is close", mean)
    files = [path for path in (out, out[:-4] + ".scales.npy", out[:-4] + ".zeros.npy") if os.path.exists(path)]
    data = sum(len(read(path)) - 128 for path in files)  # headers of 128 bytes
    check(found[2] == 4 * len(flat) and found[3] == data, f"bytes of {what}", (found, data))
    return out


def test_types(directory):
    """All element types."""
    names = types()
    values = re.search(r"define INLAY_ELEMENT_TYPES (\d+)", read(HEADER).decode())  # one more than the last
    check(len(names) == int(values[1]) - 1 and "q8_0" in names, "types", names)
    rows = numbers(7, DIM)
    for kind in names:
        if "grouped" in kind:
            continue
        own = os.path.join(directory, kind)
        os.mkdir(own)
        out = check_conversion(own, kind, rows)
        result = run("convert", out, "--table-type", kind, "--type", "float32",
                     "--out", os.path.join(own, "back.npy"))
        back = parse_npy(read(os.path.join(own, "back.npy")))[1] if result.returncode == 0 else None
        check(back == rows_back(out, kind, 7), f"{kind} to float32", result.stderr)
    positive = [[abs(value) for value in row] for row in rows]
    for group in "16", "32", "64", "128":
        for kind in "u4_grouped", "u4_grouped_flat", "i8_grouped", "u8_grouped":
            for zeros in ("--zeros",), ():
                own = os.path.join(directory, f"{kind}{group}{len(zeros)}")
                os.mkdir(own)
                # Without zero points the flat type holds no negative values.
                check_conversion(own, kind, positive if kind.endswith("flat") and not zeros else rows, "--group", group, *zeros)
                check(os.path.exists(os.path.join(own, f"{kind}.zeros.npy")) == bool(zeros), "zero points")
    # Affine types have no groups of 16, so they can't take those of the table.
    narrow, out = os.path.join(directory, "u4_grouped161", "u4_grouped.npy"), os.path.join(directory, "affine.npy")
    convert = ("convert", narrow, "--table-type", "u4_grouped", "--type", "u8_affine", "--out", out)
    check_error(run(*convert), 1, "groups of 16 of the table", "u8_affine cannot have groups of 16 columns", "give --group 32, 64 or 128")
    check(run(*convert, "--group", "32").returncode == 0, "another group")


def test_files(directory):
    """The files have the type and shape that NumPy users expect."""
    rows = numbers(5, 64)
    shapes = {"float32": ("<f4", 64), "float16": ("<f2", 64), "bfloat16": ("<u2", 64), "i8": ("|i1", 64),
              "i8_inverse": ("|i1", 64), "u8_rowwise": ("|u1", 72), "u4_rowwise": ("|u1", 36), "q8_0": ("|u1", 68),
              "q4_0": ("|u1", 36)}
    for kind, (descr, columns) in shapes.items():
        out = check_conversion(directory, kind, rows)
        check(parse_npy(read(out), descr)[0] == (5, columns), f"the file of {kind}")
    check(parse_npy(read(os.path.join(directory, "i8.scales.npy")))[0] == (5,), "scales of rows")
    out = check_conversion(directory, "u4_grouped", rows, "--zeros")
    check(parse_npy(read(out), "|u1")[0] == (5, 32), "the file of u4_grouped")
    check(parse_npy(read(out[:-4] + ".scales.npy"))[0] == (5, 2), "scales of groups")
    check(parse_npy(read(out[:-4] + ".zeros.npy"), "|u1")[0] == (5, 1), "zero points in rows")
    out = check_conversion(directory, "u4_grouped_flat", rows, "--zeros")
    check(parse_npy(read(out[:-4] + ".zeros.npy"), "|u1")[0] == (5,), "zero points in one run")
    # Types that the elements of a file determine.
    for kind in "float16", "bfloat16", "i8":
        path = os.path.join(directory, f"{kind}.npy")
        plain = run("embed", "--ids", "0 4", "--table", path, "--positions", "none", "--out", "-").stdout
        named = run("embed", "--ids", "0 4", "--table", path, "--table-type", kind, "--positions", "none", "--out", "-")
        check(plain == named.stdout and len(plain) == 128 + 4 * 128, f"{kind} by its elements", named.stderr)
    learned = f"learned:{os.path.join(directory, 'float16.npy')}"
    result = run("embed", "--ids", "0 4", "--table", "random", "--dim", "64", "--positions", learned)
    check(result.returncode == 0, "positions of float16", result.stderr)
    # Types with optional scales.
    for kind, value in ("i8", 127), ("e4m3", 0x7E):
        out = write(os.path.join(directory, "plain.npy"), array("|i1" if kind == "i8" else "|u1", (2, 3), [value] * 6))
        check(rows_back(out, kind, 2) == [127.0 if kind == "i8" else 448.0] * 6, f"{kind} without scales")
    # Two dims have rows of the same size.
    source = write(os.path.join(directory, "seven.npy"), table(numbers(5, 7)))
    for kind in "u4_grouped", "u4_rowwise":
        out = os.path.join(directory, f"{kind}_odd.npy")
        quantize(source, kind, out)
        even, odd = rows_back(out, kind, 5), rows_back(out, kind, 5, "--dim", "7")
        check(len(even) == 40 and odd == [value for i, value in enumerate(even) if i % 8 < 7], f"{kind} of odd dims")
        whole = ("convert", out, "--table-type", kind, "--type", "float32", "--out", "-", "--dim")
        check(parse_npy(run(*whole, "7").stdout) == ((5, 7), odd), f"an odd dim of {kind} is converted")
        check_error(run(*whole, "6"), 1, "neither dim", "--dim 6 contradicts", "dim 8 or 7: give one of them")
    for dim in 1, 2, 3, 31:
        source = write(os.path.join(directory, "narrow.npy"), table(numbers(5, dim)))
        quantize(source, "u8_rowwise", out)
        check(len(rows_back(out, "u8_rowwise", 5)) == 5 * dim, f"rows of {dim} columns")
    check(quantize(write(os.path.join(directory, "none.npy"), array("<f4", (0, 32), [])), "q8_0", out) == (0, 0, 0, 0),
          "a table without rows")


def test_pieces(directory):
    """Tables converted in several pieces."""
    rows = numbers(997, 32)
    # The last piece has small values, so the largest error is in another one.
    rows = rows * 64 + [[value / 8 for value in row] for row in rows] * 6 + [[value / 8 for value in row] for row in numbers(11, 32)]
    for kind, *args in ("q8_0",), ("u4_grouped_flat", "--zeros"), ("i8",):
        out = check_conversion(directory, kind, rows, *args)
        last = write(os.path.join(directory, "last.npy"), table(rows[-3:]))
        end = os.path.join(directory, f"end.{kind}.npy")
        quantize(last, kind, end, *args)
        whole = run("embed", "--ids", "69798 69799 69800", "--table", out, "--table-type", kind, "--positions", "none",
                    "--out", "-").stdout[128:]
        check(struct.unpack("<96f", whole) == tuple(rows_back(end, kind, 3)), f"the last rows of {kind}")


def test_refused(directory):
    """Failed conversions leave files unchanged."""
    source = write(os.path.join(directory, "in.npy"), table(numbers(4, 64)))
    out = write(os.path.join(directory, "out.npy"), b"the old file")
    base = ("convert", source, "--out", out, "--force", "--type")
    bad = os.path.join(directory, "bad.npy")
    before = sorted(os.listdir(directory) + ["bad.npy"])
    for value, kind, *needles in ((math.nan, "q8_0", "row 2, column 5 is nan, which q8_0 cannot represent"),
                                  (-math.inf, "i8", "row 2, column 5 is infinite"),
                                  (1e30, "q4_0", "row 2, with values from -", "to 1.00000002e+30, does not fit in q4_0"),
                                  (1e38, "u4_grouped", "row 2", "does not fit in u4_grouped without --zeros")):
        rows = numbers(4, 64)
        rows[2][5] = value
        write(bad, table(rows))
        check_error(run("convert", bad, "--out", out, "--force", "--type", kind), 1, f"{value} in {kind}", *needles)
    write(bad, table(numbers(3, 64)))
    check_error(run("convert", bad, "--out", out, "--force", "--type", "u4_grouped_flat"), 1, "negative values",
                "row 0", "does not fit in u4_grouped_flat without --zeros")
    write(bad, table(numbers(3, 33)))
    check_error(run("convert", bad, "--out", out, "--force", "--type", "q8_0"), 1, "33 columns of q8_0",
                "q8_0 rows cannot have 33 columns")
    check_error(run("convert", bad, "--out", out, "--force", "--type", "u8_affine"), 1, "33 columns of u8_affine",
                "u8_affine rows cannot have 33 columns")
    check_error(run(*base[:2], "--type", "i8", "--out", "-"), 2, "scales to stdout", "name a file")
    check_error(run(*base[:2], "--type", "i8", "--out", out + "x"), 2, "a name of another kind", "must end in .safetensors, .gguf or .npy")
    check_error(run(*base[:2], "--type", "i8", "--out", "/nonexistent/x.npy"), 1, "no directory", "/nonexistent/x.npy")
    short = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (150, 150))
    check_error(run(*base, "i8", preexec_fn=short), 1, "a full disk", "cannot write", "out.npy", "too large")
    check(read(out) == b"the old file" and sorted(os.listdir(directory)) == before, "files are left alone",
          os.listdir(directory))
    result = run(*base[:2], "--type", "q8_0", "--out", "-")
    check(parse_npy(result.stdout, "|u1")[0] == (4, 68) and "largest" in result.stderr, "--out -", result.stderr)
    plain = write(os.path.join(directory, "plain.npy"), array("|i1", (2, 3), [1] * 6))
    result = run("convert", plain, "--type", "i8", "--out", "-")
    check(parse_npy(result.stdout, "|i1") == ((2, 3), [1] * 6), "int8 without scales to stdout", result.stderr)
    os.unlink(plain)
    # Files left by an earlier run would be read as zero points.
    check(quantize(source, "u4_grouped", out, "--zeros") is not None, "with zero points")
    for kind, *args in ("u4_grouped",), ("q8_0",):
        check_error(run(*base, kind, *args), 1, f"{kind} next to zero points", "remove it")
    check(quantize(source, "u4_grouped", out, "--zeros", "--group", "64") is not None, "once more")


def test_hostile(directory):
    """Files that don't match."""
    limit = memory_limit()
    source = write(os.path.join(directory, "in.npy"), table(numbers(4, 64)))
    out = os.path.join(directory, "out.npy")
    scales, zeros = (os.path.join(directory, f"out.{what}.npy") for what in ("scales", "zeros"))
    embed = lambda kind, *args: run("embed", "--ids", "1", "--table", out, "--table-type", kind, *args, preexec_fn=limit)
    quantize(source, "u4_grouped", out, "--zeros")
    check_error(embed("float16"), 1, "bytes as float16", "has elements '|u1', but a table of float16 has '<f2'")
    check_error(embed("q8_0"), 1, "rows of 32 bytes as q8_0", "rows of 32 bytes", "no dim of q8_0")
    check_error(embed("u4_grouped_flat"), 1, "zero points in rows as a run", "the zeros of", "'|u1' [4, 1]", "'|u1' [4]")
    for name, path, data, *needles in (
            ("too few scales", scales, array("<f4", (3, 2), [1.0] * 6), "the scales of", "'<f4' [3, 2]", "[4, 2]"),
            ("scales of a group of 8", scales, array("<f4", (4, 8), [1.0] * 32), "[4, 8]", "[4, 2]"),
            ("scales of no group", scales, array("<f4", (4, 3), [1.0] * 12), "[4, 3]", "[4, 2]"),
            ("scales of bytes", scales, array("|u1", (4, 2), [1] * 8), "'|u1' [4, 2]", "'<f4' [4, 2]"),
            ("scales of float64", scales, array("<f8", (4, 2), [1.0] * 8), "not '<f4' or '|u1'"),
            ("scales of three dimensions", scales, array("<f4", (4, 2, 1), [1.0] * 8), "3 dimensions"),
            ("no scales", scales, None, "cannot open", "No such file"),
            ("too few zero points", zeros, array("|u1", (3, 1), [1] * 3), "the zeros of", "[3, 1]", "[4, 1]")):
        kept = read(path)
        if data is None:
            os.unlink(path)
        else:
            write(path, data)
        check_error(embed("u4_grouped"), 1, name, "out", *needles)
        write(path, kept)
    check_error(embed("u4_grouped", "--dim", "32"), 1, "another dim", "--dim 32 contradicts", "dim 64")
    check(embed("u4_grouped", "--dim", "64").returncode == 0, "the dim of the file")
    check_error(run("convert", source, "--dim", "63", "--type", "i8", "--out", "x.npy"), 1, "another dim",
                "--dim 63 contradicts", "dim 64: drop")
    int8 = write(os.path.join(directory, "int8.npy"), array("|i1", (2, 3), [1] * 6))
    other, link, folder = (os.path.join(directory, name) for name in ("INT8.NPY", "link", "folder"))
    shutil.copy(int8, other)
    os.symlink(int8, link)
    os.mkdir(folder)
    shutil.copy(int8, folder)
    for path in other, link, folder:
        check_error(run("convert", path, "--type", "float32", "--out", "x.npy"), 1, f"int8 in {path}", "int8 from a .npy file")
    check_error(run("embed", "--ids", "1", "--model", int8, "--table", "data"), 1, "int8 as a model", "int8 from a .npy file")
    # Optional zero points that are missing.
    os.unlink(zeros)
    check(embed("u4_grouped").returncode == 0, "without zero points")


def run_all(directory):
    for test in test_types, test_files, test_pieces, test_refused, test_hostile:
        own = os.path.join(directory, test.__name__)
        os.mkdir(own)
        test(own)
