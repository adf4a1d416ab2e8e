# SPDX-License-Identifier: MIT
"""Files: hostile .npy tables, unwritable outputs, pictures, the streamed table."""

import os
import pty
import resource
import signal
import socket
import subprocess
import time

from harness import (
    COMMAND, TIMEOUT, check, check_error, draws_pictures, memory_limit, npy, parse_npy, png_rows, png_size, read, run,
    table, vectors, write,
)

GOOD = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
DATA = b"\0" * 24


def swap(old, new):
    assert old in GOOD
    return npy(GOOD.replace(old, new), DATA)


HOSTILE = {
    "empty": (b"", "does not begin"),
    "text": (b"hello, this is no table at all\n", "does not begin"),
    "only the magic": (b"\x93NUMPY", "does not begin"),
    "no length": (b"\x93NUMPY\x01\x00\x10", "does not begin"),
    "version 0.0": (npy(GOOD, DATA, b"\x00\x00"), "version"),
    "version 4.0": (npy(GOOD, DATA, b"\x04\x00"), "version"),
    "version 1.1": (npy(GOOD, DATA, b"\x01\x01"), "version"),
    "header past the end": (npy(GOOD, length=4096), "ends within"),
    "header one byte past the end": (npy(GOOD, length=len(GOOD) + 1), "ends within"),
    "12 bytes of version 2": (npy("", version=b"\x02\x00", length=0xFFFFFFF0), "65535"),
    "header of 65536 bytes": (npy(GOOD.ljust(65536), DATA, b"\x02\x00"), "65535"),
    "11 bytes of version 2": (npy("", version=b"\x02\x00", length=4)[:11], "ends within"),
    "no dictionary": (npy("(2, 3)", DATA), "not the dictionary"),
    "an empty header": (npy("", DATA), "not the dictionary"),
    "an empty dictionary": (npy("{}", DATA), "lacks"),
    "not closed": (npy(GOOD[:-1], DATA), "not the dictionary"),
    "tail": (npy(GOOD + "; import os", DATA), "continues"),
    "NUL tail": (npy(GOOD + "\0", DATA), "continues"),
    "no comma": (swap("False, ", "False "), "not the dictionary"),
    "two commas": (swap("False, ", "False,, "), "not the dictionary"),
    "leading comma": (swap("{'d", "{, 'd"), "not the dictionary"),
    "a fourth key": (swap("False, ", "False, 'x': 1, "), "a key other than"),
    "a key twice": (swap("False, ", "False, 'descr': '<f4', "), "twice"),
    "shape twice": (swap("(2, 3), ", "(2, 3), 'shape': (2, 3), "), "twice"),
    "descr missing": (swap("'descr': '<f4', ", ""), "lacks"),
    "order missing": (swap("'fortran_order': False, ", ""), "lacks"),
    "shape missing": (swap("'shape': (2, 3), ", ""), "lacks"),
    "an escape": (swap("'<f4'", r"'\x3cf4'"), "not the dictionary"),
    "a prefix": (swap("'<f4'", "u'<f4'"), "not the dictionary"),
    "a string not closed": (swap("'<f4'", "'<f4"), "not the dictionary"),
    "float64": (swap("<f4", "<f8"), "a.astype('<f4')"),
    "integers": (swap("<f4", "<i4"), "not '<f4', '<f2', '<u2', '|i1' or '|u1'"),
    "bytes of no type": (npy(GOOD.replace("<f4", "|u1"), DATA[:6]), "give the element type with --table-type"),
    "big-endian": (swap("<f4", ">f4"), "a.astype('<f4')"),
    "objects": (swap("<f4", "|O"), "'|O'"),
    "a structure": (swap("'<f4'", "[('a', '<f4')]"), "structures"),
    "a control character": (swap("<f4", "\x1b[2J\n"), "'?[2J?'"),
    "a long type": (swap("<f4", "<f4" * 10000), "not '<f4'"),
    "Fortran order": (swap("False", "True"), "ascontiguousarray"),
    "order 0": (swap("False", "0"), "not the dictionary"),
    "order Falsey": (swap("False", "Falsey"), "not the dictionary"),
    "0 dimensions": (swap("(2, 3)", "()"), "0 dimensions"),
    "1 dimension": (swap("(2, 3)", "(6,)"), "1 dimensions"),
    "3 dimensions": (swap("(2, 3)", "(1, 2, 3)"), "3 dimensions"),
    "33 dimensions": (swap("(2, 3)", "(" + "1, " * 33 + ")"), "33 dimensions"),
    "a number for a shape": (swap("(2, 3)", "6"), "not a tuple"),
    "a number in parentheses": (swap("(2, 3)", "(6)"), "not a tuple"),
    "a list for a shape": (swap("(2, 3)", "[2, 3]"), "not a tuple"),
    "a nested tuple": (swap("(2, 3)", "((2, 3),)"), "not a tuple"),
    "a negative size": (swap("(2, 3)", "(-2, -3)"), "not a tuple"),
    "a signed size": (swap("(2, 3)", "(+2, 3)"), "not a tuple"),
    "a leading zero": (swap("(2, 3)", "(02, 3)"), "not a tuple"),
    "a long of Python 2": (swap("(2, 3)", "(2L, 3L)"), "not a tuple"),
    "an expression": (swap("(2, 3)", "(1<<40, 3)"), "not a tuple"),
    "a float": (swap("(2, 3)", "(2., 3)"), "not a tuple"),
    "an exponent": (swap("(2, 3)", "(2e0, 3)"), "not a tuple"),
    "digits beyond ASCII": (npy(GOOD.replace("(2", "(\u0662").encode("utf-8"), DATA, b"\x03\x00"), "not a tuple"),
    "2^64 rows": (swap("(2, 3)", "(18446744073709551616, 3)"), "not a tuple"),
    "a product of 2^64": (swap("(2, 3)", "(4294967296, 4294967296)"), ""),
    "a product of 2^64 + 6": (swap("(2, 3)", "(2, 9223372036854775811)"), "is not a table: its shape"),
    "bytes of 2^64": (swap("(2, 3)", "(4611686018427387904, 1)"), ""),
    "more rows than data": (swap("(2, 3)", "(1000000000, 3)"), "needs 12000000000 bytes"),
    "dim 0": (npy(GOOD.replace("(2, 3)", "(5, 0)")), "dim 0"),
    "a torn file": (npy(GOOD, DATA[:-1]), "the file has 23"),
}

FINE = {
    "version 1.0": npy(GOOD, DATA),
    "version 2.0": npy(GOOD + "\n", DATA, b"\x02\x00"),
    "version 3.0": npy(GOOD + "\n", DATA, b"\x03\x00"),
    "other order, other quotes": npy('{"shape":(2,3),"descr":"<f4","fortran_order":False}', DATA),
    "white space": npy(" {\n'descr' :\t'<f4' , 'fortran_order' : False, 'shape': ( 2 , 3 , ) } \n", DATA),
    "bytes after the data": npy(GOOD, DATA + b"\0"),
    "native": npy(GOOD.replace("<f4", "=f4"), DATA),
    "a type without its byte order": npy(GOOD.replace("<f4", "f4"), DATA),
    "65535 bytes of header": npy(GOOD.ljust(65535), DATA),
}


def test_hostile(directory):
    limit = memory_limit()
    if limit is None:
        print("note: hostile files are read without a memory limit, which this command cannot run under")
    embed = lambda path: run("embed", "--ids", "1", "--table", path, preexec_fn=limit)
    for name, (data, *needles) in HOSTILE.items():
        path = write(os.path.join(directory, "hostile.npy"), data)
        check_error(embed(path), 1, f"hostile npy: {name}", "hostile", *needles)
    outputs = set()
    for name, data in FINE.items():
        path = write(os.path.join(directory, "fine.npy"), data)
        result = embed(path)
        check(result.returncode == 0, f"fine npy: {name}", result.stderr.strip())
        outputs.add(result.stdout)
    check(len(outputs) == 1, "fine npy: all have the same rows", str(outputs))
    learned = lambda path: run("embed", "--ids", "1", "--dim", "3", "--positions", f"learned:{path}", preexec_fn=limit)
    check_error(learned(write(os.path.join(directory, "x.npy"), b"nothing")), 1, "hostile positions", "does not begin")

    huge = os.path.join(directory, "huge.npy")
    with open(huge, "wb") as file:
        file.write(npy(GOOD.replace("(2, 3)", "(68719476736, 3)")))
        start = file.tell()
        file.truncate(start + 68719476736 * 12 if limit else start)
    check_error(embed(huge), 1, "a sparse file of 768 GiB", "out of memory: " if limit else "the file has 0")
    os.unlink(huge)

    fifo = os.path.join(directory, "fifo.npy")
    os.mkfifo(fifo)
    check_error(embed(fifo), 1, "a FIFO as table", "not a regular file")
    folder = os.path.join(directory, "folder.npy")
    os.mkdir(folder)
    check_error(embed(folder), 1, "a directory as table", "not a regular file")
    device = os.path.join(directory, "zero.npy")
    os.symlink("/dev/zero", device)
    check_error(embed(device), 1, "/dev/zero as table", "not a regular file")
    address = os.path.join(directory, "socket.npy")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        check_error(embed(address), 1, "a socket as table", "cannot open")
    check_error(embed(os.path.join(directory, "missing.npy")), 1, "a missing table", "No such file")


def test_output(directory):
    small = ("embed", "--ids", "1 2 3", "--dim", "4")
    out = os.path.join(directory, "out.npy")
    flags = ("--out", "--plot") if draws_pictures() else ("--out",)
    listing = lambda: sorted(os.listdir(directory))

    check(run(*small, "--out", out).returncode == 0, "--out")
    check(os.stat(out).st_mode & 0o777 == 0o666 & ~umask(), "the file has the mode the umask leaves")
    os.chmod(out, 0o640)
    run(*small, "--out", out, "--force")
    check(os.stat(out).st_mode & 0o777 == 0o640, "a file that is replaced keeps its mode")
    first = read(out)
    check(run(*small, "--out", "-").stdout == first, "--out - writes the same bytes")
    link = os.path.join(directory, "link.npy")
    os.symlink("out.npy", link)
    run(*small, "--start", "5", "--out", link, "--force")
    check(os.path.islink(link) and read(out) != first, "a symbolic link is followed, not replaced")

    old = write(out, b"the old file")
    before = listing()
    check_error(run("embed", "--ids", "99", "--vocab", "9", "--out", out, "--force"), 1, "a failed run", "ids[0][0] = 99")
    check(read(old) == b"the old file" and listing() == before, "a failed run leaves the old file alone", listing())
    short = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
    check_error(run(*small, "--out", out, "--force", preexec_fn=short), 1, "a full disk", "cannot write", "too large")
    check(read(old) == b"the old file" and listing() == before, "a full disk leaves the old file alone", listing())

    terminated = subprocess.Popen(COMMAND + ["table", "--dim", "65536", "--positions", "0:1000000", "--out", out, "--force"])
    deadline = time.monotonic() + TIMEOUT
    while listing() == before and time.monotonic() < deadline:
        pass  # no sleep: the test needs the moment right after the file appears
    terminated.terminate()
    check(terminated.wait(TIMEOUT) == -signal.SIGTERM, "SIGTERM ends the process", terminated.returncode)
    check(read(old) == b"the old file" and listing() == before, "SIGTERM leaves no half-written file", listing())

    for flag in flags:
        check_error(run(*small, flag, "/nonexistent/x"), 1, f"{flag} into no directory", "/nonexistent/x")
        check_error(run(*small, flag, directory), 1, f"{flag} onto a directory", "directory")
        check_error(run(*small, flag, "/dev/full"), 1, f"{flag} /dev/full", "No space left")
    check(os.path.exists("/dev/full"), "/dev/full is still there")
    check_error(run(*small, "--out", os.path.join(directory, "a\x1b\n", "b")), 1, "control characters", "\\x1b\\x0a")

    with open("/dev/full", "wb") as full:
        for args in small, (*small, "--out", "-"), ("info",), ("--help",), ("embed", "--help"):
            check_error(run(*args, stdout=full), 1, f"a full stdout: {args}", "cannot write standard output")
    for args in small, (*small, "--out", "-"):
        reader, writer = os.pipe()
        os.close(reader)
        check_error(run(*args, stdout=writer), 1, f"a closed pipe: {args}", "Broken pipe")
        os.close(writer)
        closed = run(*args, preexec_fn=lambda: os.close(1), stdout=None)
        check_error(closed, 1, f"a closed stdout: {args}", "cannot write standard output")
    closed = run(*small, "--out", out, "--force", preexec_fn=lambda: os.close(1), stdout=None)
    check(closed.returncode == 0 and read(out) == first, "--out with a closed stdout", closed.stderr)

    for flag in flags:
        terminal, other = pty.openpty()
        check_error(run(*small, flag, "-", stdout=other), 1, f"{flag} - to a terminal", flag, "terminal")
        check_error(run(*small, flag, os.ttyname(other)), 1, f"{flag} to a terminal's device", "terminal")
        os.close(other)
        os.close(terminal)


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_pictures(directory):
    picture = os.path.join(directory, "picture.png")
    small = ("embed", "--ids", "1 2 3", "--dim", "4")
    if not draws_pictures():
        check_error(run(*small, "--plot", picture), 1, "--plot without cairo", "without cairo")
        return

    infinite = [[float("nan"), float("inf"), 1.0], [2.0, float("-inf"), 3.4e38]]
    odd = write(os.path.join(directory, "infinite.npy"), table(infinite))
    constant = write(os.path.join(directory, "constant.npy"), table([[1.0], [1 + 2**-23]]))
    words = " ".join(f"w{i}" for i in range(40))
    sixteen = [part for i in range(16) for part in ("--ids", f"{i} 2 3")]
    plots = {
        "one value": ("embed", "--ids", "1", "--dim", "1"),
        "the tutorial": ("embed", "--text", "I am a robot", "--text", "you too robot", "--dim", "6"),
        "40 words": ("embed", "--text", words, "--dim", "64"),
        "41 words": ("embed", "--text", words + " last", "--dim", "64"),
        "words that are not ASCII": ("embed", "--text", "日本語 naïve \udcff\udc80 \x01 " + "x" * 99, "--dim", "8"),
        "16 sequences": ("embed", *sixteen, "--dim", "128"),
        "values that are not finite": ("embed", "--ids", "0 1", "--table", odd, "--positions", "none"),
        "only such values": ("embed", "--ids", "0", "--table", odd, "--positions", "none", "--scale", "1e38"),
        "a constant except for rounding": (
            "embed", "--ids", "1", "--length", "500000", "--table", constant, "--positions", "none",
        ),
        "a wide tensor": ("embed", "--ids", "1 2", "--dim", "20001"),
        "a long tensor": ("embed", "--ids", "1 2 3 4", "--dim", "3", "--length", "20000"),
        "positions near the end": ("embed", "--ids", "1 2 3", "--dim", "8", "--start", "2147483645"),
        "a table": ("table", "--dim", "512", "--positions", "0:2048"),
        "a large table": ("table", "--dim", "2000", "--positions", "7:20008", "--layout", "split"),
        "one row": ("table", "--dim", "9", "--positions", "2147483647:2147483648"),
        "a list": ("table", "--dim", "64", "--positions", "0.5,3,-8,1e6"),
        "the longest list with labels": ("table", "--dim", "6", "--positions", "1.5," * 39 + "2"),
        "a longer list": ("table", "--dim", "6", "--positions", "1.5," * 40 + "2"),
        "bfloat16": ("table", "--dim", "64", "--positions", "0:100", "--dtype", "bfloat16"),
        "a rotary table": ("table", "--dim", "64", "--positions", "0:3000", "--rope", "linear", "--factor", "2"),
        "a wide rotary table": ("table", "--dim", "9000", "--positions", "5:9", "--rope", "default", "--dtype", "float16"),
        "a recipe": ("table", "--dim", "33", "--positions", "0:500", "--recipe", "marian"),
        "frequencies": ("table", "--dim", "2", "--positions", "0:500", "--inv-freq", "0.1"),
    }
    for name, args in plots.items():
        result = run(*args, "--plot", picture, "--force")
        quiet = not result.stdout and not result.stderr
        if not check(result.returncode == 0 and quiet, f"plot of {name}", result.stderr):
            continue
        width, height = png_size(read(picture))
        check(150 <= width <= 2400 and 100 <= height <= 2600, f"size of the plot of {name}", (width, height))
    test_pixels(directory, picture)
    check(png_size(run(*small, "--plot", "-").stdout)[0] > 100, "--plot - writes to stdout")
    out = os.path.join(directory, "both.npy")
    run(*small, "--plot", picture, "--out", out, "--force")
    check(parse_npy(read(out))[0] == (1, 3, 4) and png_size(read(picture)), "--out and --plot together")
    rotary = ("table", "--dim", "8", "--positions", "0:50000", "--rope", "default", "--rope-layout", "pairs")
    run(*rotary, "--plot", picture, "--out", out, "--force")
    check(parse_npy(read(out)) == vectors(*rotary), "--plot and --out of a rotary table")
    check_error(run("embed", *sixteen, "--ids", "1", "--plot", picture), 1, "17 sequences", "17", "16")
    check_error(run("embed", "--text", "", "--plot", picture), 1, "a plot of nothing", "no tokens")


def test_pixels(directory, picture):
    """Averaging and colors."""

    def colors(*args):
        """Counts each color, without the ink of text and lines."""
        run("embed", *args, "--positions", "none", "--plot", picture, "--force")
        rows = png_rows(read(picture))
        count = {}
        for row in rows:
            for i in range(0, len(row), 3):
                count[row[i : i + 3]] = count.get(row[i : i + 3], 0) + 1
        return count

    names = {"white": b"\xff\xff\xff", "gray": b"\x8a\x8a\x8a", "red": b"\x90\x0c\x18", "blue": b"\x00\x46\x8a"}
    waves = write(os.path.join(directory, "waves.npy"), table([[1.0, 3.0] * 2050 + [2.0]]))
    found = colors("--ids", "0", "--table", waves)
    found.pop(names["white"])
    check(max(found.values()) >= 1026 * 40, "pairs of columns are averaged together", sorted(found.values())[-3:])
    constant = write(os.path.join(directory, "half.npy"), table([[0.5] * 2801]))
    found = colors("--ids", "0", "--table", constant)
    found.pop(names["white"])
    check(max(found.values()) >= 701 * 40, "a cell that is cut has the mean of its part", sorted(found.values())[-3:])
    signs = write(os.path.join(directory, "signs.npy"), table([[-2.0, 2.0, float("nan")]]))
    found = colors("--ids", "0", "--table", signs)
    for name in "blue", "red", "gray":
        check(found.get(names[name], 0) > 1000, f"a picture of -2, 2 and NaN has {name}", found.get(names[name]))
    check(found.get(names["red"], 0) > found.get(names["blue"], 0) * 0.8, "the scale is symmetric")
    words = [part for i in range(3) for part in ("--text", " ".join(f"w{i * 40 + j}" for j in range(40)))]
    run("embed", *words, "--dim", "64", "--plot", picture, "--force")
    check(png_size(read(picture))[1] > 3 * 40 * 14, "every word has the height of its label")
    run("table", "--dim", "2", "--positions", "0:1000", "--plot", picture, "--force")
    check(png_size(read(picture))[1] > 1000, "1000 rows are still drawn one by one")


def test_streaming(directory):
    whole = os.path.join(directory, "whole.npy")
    one = os.path.join(directory, "one.npy")
    other = os.path.join(directory, "other.npy")
    body = lambda path: read(path)[128:]
    for dim, first, end, middle in (64, 0, 10000, 4999), (1000, 2**31 - 777, 2**31, 2**31 - 300), (1, 3, 200003, 70000):
        for path, low, high in (whole, first, end), (one, first, middle), (other, middle, end):
            result = run("table", "--dim", str(dim), "--positions", f"{low}:{high}", "--out", path, "--force")
            check(result.returncode == 0 and not result.stderr, f"table {low}:{high}", result.stderr)
        check(parse_npy(read(whole))[0] == (end - first, dim), "the shape of a table")
        check(body(whole) == body(one) + body(other), f"[{first}, {end}) of dim {dim} is its two halves")
    piped = run("table", "--dim", "1", "--positions", "3:200003", "--out", "-")
    check(piped.stdout == read(whole), "a table to a pipe")
    limit = memory_limit()
    if limit is not None:
        with open("/dev/null", "wb") as null:
            args = ("table", "--dim", "1000000", "--positions", "0:300", "--out", "/dev/null")
            check(run(*args, preexec_fn=limit, stdout=null).returncode == 0, "1.2 GB of table in 1 GiB of memory")
    else:
        print("skipped: a table larger than memory, as the command cannot run under a limit of its memory")


def test_progress():
    """Progress appears on a terminal if the work is long, and only there."""
    terminal, other = pty.openpty()
    command = COMMAND + ["table", "--dim", "4096", "--positions", "0:2147483648", "--out", "/dev/null"]
    process = subprocess.Popen(command, stderr=other)
    os.close(other)
    shown = b""
    deadline = time.monotonic() + TIMEOUT
    while b"%\r" not in shown and time.monotonic() < deadline:
        shown += os.read(terminal, 100)
    process.kill()
    process.wait()
    os.close(terminal)
    check(b" %\r" in shown, "progress on a terminal", shown)


def run_all(directory):
    for test in test_hostile, test_output, test_pictures, test_streaming:
        own = os.path.join(directory, test.__name__)
        os.mkdir(own)
        test(own)
    test_progress()
