#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of `inlay selftest`: that it passes, that it keeps the digests and golden values of the tree, and that it fails
and says why with a library that is wrong.

    test_selftest.py [EMULATOR...] INLAY

The wrong library is selftest_faults.c, which is preloaded; where that cannot be, a line says so.
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
SECONDS = 900  # emulated, and beside other work


def selftest(*args, **more):
    return run("selftest", *args, timeout=SECONDS, **more)


def isas():
    """Names of all ISAs of this build, and of those that run here."""
    states = re.findall(r"^isa +(\w+): (.*)", run("info").stdout.decode(), re.MULTILINE)
    return [name for name, _ in states], [name for name, state in states if state != "does not run here"]


def kept(family=""):
    """The digests in the sources, one of each check; of all families, or of one."""
    text = (ROOT / "tools" / "selftest" / "digests.inc").read_text(encoding="utf-8")
    text = text.split(f"/* {family} */")[1].split("/*")[0] if family else text
    return [int(digits, 16) for digits in re.findall(r"0x([0-9a-f]{16}),", text)]


def digest(data):
    """FNV-1a of 64 bits."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & (1 << 64) - 1
    return value


def element(value, name):
    """The bytes of a number in a type of outputs."""
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
    """Floats of eight hexadecimal digits each; dashes are a NaN."""
    words = re.findall(r"[0-9a-f-]{8}", digits)
    return [math.nan if word[0] == "-" else struct.unpack(">f", bytes.fromhex(word))[0] for word in words]


def test_pass():
    """All checks pass on every ISA, whatever INLAY_ISA says."""
    known, running = isas()
    checks = len(kept())
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
    """The sources keep what --digests prints."""
    result = selftest("--digests")
    text = (ROOT / "tools" / "selftest" / "digests.inc").read_bytes()
    check(result.returncode == 0 and result.stdout == text and len(kept()) > 200, "selftest --digests", result.stderr)


def test_golden():
    """Golden values are those of the files that they are said to be from."""
    data = ROOT / "tests" / "data" / "ngram"
    source = (ROOT / "tools" / "selftest" / "golden.c").read_text(encoding="utf-8")
    fp8 = (data / "fp8.txt").read_text(encoding="utf-8")
    codes, scales = (numbers(re.search(rf"^{name} (.*)", fp8, re.MULTILINE)[1]) for name in ("e4m3", "e8m0"))
    for name, sha256 in re.findall(r"^pairs-sha256 (\w+) (\w+)", fp8, re.MULTILINE):
        pairs = b"".join(element(code * scale, name) for code in codes for scale in scales)
        good = hashlib.sha256(pairs).hexdigest() == sha256 and digest(pairs) in kept("golden")
        check(good, f"all products of FP8 in {name}")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = re.findall(r'"(\d: [\d. ]+)"', source)
    check(len(lines) == 2 and all(line in readme for line in lines), "the README's program", lines)
    demo = (data / "demo-n2.txt").read_text(encoding="utf-8").split("call prefill")[1].split("after")[0].splitlines()
    rows = re.findall(r"\{(\d+), (\d+), (\d+)\}", source.split("wanted[9][3]")[1].split(";")[0])
    check([" ".join(row) for row in rows] == demo[-9:], "rows of n-grams", rows)


def build_faults():
    """The path of selftest_faults.c as a library, or None where the command cannot run with it."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if len(harness.COMMAND) > 1 or compiler is None:
        return None
    source = pathlib.Path(__file__).resolve().parent / "selftest_faults.c"
    library = os.path.abspath("faults.so")
    built = subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], capture_output=True, text=True)
    if not check(built.returncode == 0, "selftest_faults.c compiles", built.stderr):
        return None
    # Not so with sanitizers, static commands and those of another architecture.
    probe = run("--version", env={"LD_PRELOAD": library})
    return library if probe.stdout == b"inlay 9.8.7\n" else None


def test_faults():
    """Faults are named by ISA and check. One run shows them all, since each takes seconds."""
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
    first = r"selftest: FAILED, \d+ of \d+ checks \(scalar: golden: numbers of Philox"
    check(re.search(first, line), "the first failure", line)
    check("scalar    FAILED random: normal: the result is not that of other machines" in text, "scalar has no golden value", text)
    differs = rf"^{wrong} +FAILED plain: positions are added: word 3 is [0-9a-f]{{8}}, not scalar's [0-9a-f]{{8}}$"
    check(re.search(differs, text, re.MULTILINE), f"{wrong} differs from scalar", text)
    check(re.search(rf"^{wrong} +FAILED plain: square roots of dims: parts, odd addresses and rounding upward change "
                    "the result$", text, re.MULTILINE), f"{wrong} depends on the rounding mode", text)
    check(f"{wrong:9} FAILED error: negative id: something is written" in text, "an error that writes", text)
    if crashing:
        check(re.search(rf"^{crashing} +FAILED plain: scale: dies of signal 4 \(", text, re.MULTILINE), "a crash", text)


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
        result = run("selftest", "--quiet", "stray")
        check_error(result, 2, "a stray argument", "stray argument")
    print(f"selftest: {harness.passed} passed, {harness.failed} failed")
    sys.exit(harness.failed > 0)


if __name__ == "__main__":
    main()
