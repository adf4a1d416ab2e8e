#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of `inlay selftest`: it passes, its digests and golden values are those of the tree, and it reports the errors
of a wrong library.

    test_selftest.py [EMULATOR...] INLAY

The wrong library is selftest_faults.c, which is preloaded; prints a line if that isn't possible.
"""

import hashlib
import math
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import harness
from harness import check, check_error, run

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data" / "ngram"
SECONDS = 900  # under emulation, on a loaded machine
GAP = b"ZZ"  # the bytes between output rows

# sin p, cos p, sin(p / 100) and cos(p / 100) for p = 1, 2000000000 and 2147483647, from mpmath at 300 bits.
SINUSOIDS = [0x3F576AA4, 0x3F0A5140, 0x3C23D657, 0x3F7FFCB9, 0x3F6A2A77, 0x3ECEE77D, 0xBF435A98, 0x3F25728C,
             0xBF399422, 0xBF30579A, 0x3F338BA5, 0xBF367B35]

# The first known answer of Philox4x32-10 in Random123's kat_vectors: counter 0, key 0.
PHILOX = [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


def selftest(*args, **more):
    return run("selftest", *args, timeout=SECONDS, **more)


def isas():
    """Returns the names of all ISAs of this build, and of those that run here."""
    states = re.findall(r"^isa +(\w+): (.*)", run("info").stdout.decode(), re.MULTILINE)
    return [name for name, _ in states], [name for name, state in states if state != "does not run here"]


def kept(family=""):
    """Returns the digests in the sources, one per check; of all families, or of one."""
    text = (ROOT / "tools" / "selftest" / "digests.inc").read_text(encoding="utf-8")
    text = text.split(f"/* {family} */")[1].split("/*")[0] if family else text
    return [int(digits, 16) for digits in re.findall(r"0x([0-9a-f]{16}),", text)]


def digest(data):
    """64-bit FNV-1a."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & (1 << 64) - 1
    return value


def element(value, name):
    """Returns the bytes of a number in an output type."""
    if math.isnan(value):
        return {"f32": b"\0\0\xc0\x7f", "f16": b"\xff\x7f", "bf16": b"\xff\x7f"}[name]
    try:
        data = struct.pack("<e" if name == "f16" else "<f", value)
    except OverflowError:
        return element(math.copysign(math.inf, value), name)
    if name != "bf16":
        return data
    (bits,) = struct.unpack("<I", data)
    return struct.pack("<H", (bits + 0x7FFF + (bits >> 16 & 1)) >> 16)


def numbers(digits):
    """Converts floats of eight hexadecimal digits each; dashes are a NaN."""
    words = re.findall(r"[0-9a-f-]{8}", digits)
    return [math.nan if word[0] == "-" else struct.unpack(">f", bytes.fromhex(word))[0] for word in words]


def test_pass():
    """All checks pass on every ISA, for any INLAY_ISA."""
    known, running = isas()
    checks = len(kept())
    page = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
    check(f"computes {checks} checks" in page, "docs/testing.md says how many checks there are", checks)
    result = selftest(env={"INLAY_ISA": "scalar"})
    lines = result.stdout.decode().splitlines()
    good = result.returncode == 0 and not result.stderr and len(lines) == len(known) + 1
    if not check(good, "selftest", result.stdout.decode() + result.stderr):
        return
    passed = dict(line.split(maxsplit=1) for line in lines[:-1])
    for name in known:
        wanted = f"{checks} of {checks} checks passed" if name in running else "does not run here"
        check(passed.get(name) == wanted, f"selftest on {name}", passed)
    absent = " ".join(name for name in known if name not in running)
    pattern = (rf"inlay \d+\.\d+\.\d+ selftest: passed, {checks * len(running) + 1} checks, {' '.join(running)}"
               + (rf" \(not run: {absent}\)" if absent else "")
               + r", INLAY_ISA='scalar', \S.*, Linux \S+ \S+, (glibc \d|libc ).*, (gcc|clang) \d+\.\d+, \d+\.\d s")
    check(re.fullmatch(pattern, lines[-1]), "the line for reports", lines[-1])


def test_digests():
    """The digests in the sources are those of --digests."""
    result = selftest("--digests")
    text = (ROOT / "tools" / "selftest" / "digests.inc").read_bytes()
    check(result.returncode == 0 and result.stdout == text and len(kept()) > 200, "selftest --digests", result.stderr)


def fp8():
    """Returns the products of E4M3 numbers and E8M0 scales: per output type, a row of all numbers for each scale."""
    text = (DATA / "fp8.txt").read_text(encoding="utf-8")
    codes, scales = (numbers(re.search(rf"^{name} (.*)", text, re.MULTILINE)[1]) for name in ("e4m3", "e8m0"))
    rows = {}
    for name, sha256 in re.findall(r"^pairs-sha256 (\w+) (\w+)", text, re.MULTILINE):
        products = [[element(code * scale, name) for scale in scales] for code in codes]
        pairs = b"".join(map(b"".join, products))
        check(hashlib.sha256(pairs).hexdigest() == sha256, f"all products of FP8 in {name} are PyTorch's")
        rows[name] = b"".join(b"".join(row) + GAP for row in zip(*products))
    return rows["f32"] + rows["f16"] + rows["bf16"]


def golden():
    """Yields the golden results of other programs, in order: names and bytes."""
    yield "FP8, from PyTorch", fp8()
    yield "sinusoids of mpmath", struct.pack("<12I", *SINUSOIDS)
    yield "uniform numbers of Philox", struct.pack("<4f", *((word + 0.5) / 2**32 for word in PHILOX))
    # Elements with words below 2^31, half of them, are dropped; the others are doubled.
    yield "dropout by Philox", struct.pack("<4f", *(2.0 * (word >= 1 << 31) for word in PHILOX)) + GAP
    demo = (DATA / "demo-n2.txt").read_text(encoding="utf-8").split("call prefill")[1].split("after")[0].splitlines()
    yield "n-gram rows, from Engram", struct.pack("<27i", *(int(row) for line in demo[-9:] for row in line.split()))
    ggml = (ROOT / "tests" / "tables" / "ggml_golden.inc").read_text(encoding="utf-8")
    for name, values in re.findall(r'\{"([^"]+)",[^{]*\(const uint32_t\[\]\)\{([^}]*)\}', ggml):
        words = [int(word, 16) for word in re.findall(r"0x[0-9a-f]{8}", values)]
        yield name, struct.pack(f"<{len(words)}I", *words)


def test_golden():
    """The digests of golden checks are those of the other programs' results."""
    wanted = list(golden())
    check(len(kept("golden")) == len(wanted) > 18, "golden checks", len(wanted))
    for found, (name, data) in zip(kept("golden"), wanted):
        check(found == digest(data), f"golden: {name}")


def build_faults():
    """Returns the path of selftest_faults.c as a library, or None if the command can't run with it."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if len(harness.COMMAND) > 1 or compiler is None:
        return None
    source = pathlib.Path(__file__).resolve().parent / "selftest_faults.c"
    library = os.path.abspath("faults.so")
    built = subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], capture_output=True, text=True)
    if not check(built.returncode == 0, "selftest_faults.c compiles", built.stderr):
        return None
    # Preloading fails with sanitizers, static commands and other architectures.
    probe = run("--version", env={"LD_PRELOAD": library})
    return library if probe.stdout == b"inlay 9.8.7\n" else None


def test_faults():
    """Failures are reported by ISA and check. One run covers them all, since each takes seconds."""
    library = build_faults()
    if library is None:
        print("skipped: no faults, as the command cannot run with a preloaded library")
        return
    _, running = isas()
    wrong, crashing = running[0], "portable" if "portable" in running[1:] else None
    result = selftest(env={"LD_PRELOAD": library, "WRONG_ISA": wrong, "CRASHING_ISA": crashing or ""})
    text = result.stdout.decode()
    check(result.returncode == 1, "selftest fails with a wrong library", text + result.stderr)
    line = text.splitlines()[-1]
    check(", library 9.8.7, " in line, "the line names another library", line)
    first = r"selftest: FAILED, \d+ of \d+ checks \(scalar: golden: Philox numbers"
    check(re.search(first, line), "the first failure", line)
    other = "scalar    FAILED random: normal: the result is not that of other machines"
    check(other in text, "scalar has other digests", text)
    for name in "plain: gather, scale, positions", "golden: Philox dropout, from Random123":
        check(f"{wrong:9} FAILED {name}: the result is not that of other machines" in text, f"{wrong} differs: {name}", text)
    check(re.search(rf"^{wrong} +FAILED plain: square roots of dims: parts, odd addresses and rounding upward change "
                    "the result$", text, re.MULTILINE), f"{wrong} depends on the rounding mode", text)
    check(f"{wrong:9} FAILED error: negative id: something is written" in text, "an error that writes", text)
    if crashing:
        crash = rf"^{crashing} +FAILED plain: gather, scale, positions: dies of signal 4 \("
        check(re.search(crash, text, re.MULTILINE), "a crash", text)
        # All before it pass except one, which reads a random table.
        passed = kept().index(kept("plain")[0]) - 1
        check(f"{crashing:9} {passed} of {len(kept())} checks passed" in text, "what passed before a crash", text)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    harness.COMMAND[:] = sys.argv[1:-1] + [os.path.abspath(sys.argv[-1])]
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        test_golden()
        test_digests()
        test_pass()
        test_faults()
        result = run("selftest", "stray")
        check_error(result, 2, "a stray argument", "stray argument")
    print(f"selftest: {harness.passed} passed, {harness.failed} failed")
    sys.exit(harness.failed > 0)


if __name__ == "__main__":
    main()
