#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts the instructions of the fast paths under callgrind and compares them with instructions.txt.

    instructions.py PROGRAM COMPILER EXPECTED [--update]

Instruction counts don't depend on machine load, so they detect longer fast paths more reliably than times. PROGRAM is
instructions.c, COMPILER the compiler of the library ("gcc 12"). Fails if a count grew or fell by more than 3 %; if it
fell, use --update. Exit status 77, with the reason, if nothing can be compared: valgrind has no AVX-512, AVX2 is
counted on x86-64 only, and counts depend on the compiler.
"""

import argparse
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

MAX = 0.03
SKIPPED = 77
CALLER, PREFIX = "measure_all", "count_"


def parse_expected(text):
    """Returns (compiler, {case: count}) from the text of instructions.txt."""
    compiler, counts = None, {}
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if not words:
            continue
        if words[0] == "compiler":
            compiler = " ".join(words[1:])
        else:
            counts[words[0]] = float(words[1])
    return compiler, counts


def parse_profile(text):
    """Returns {case: instructions of its call by measure_all()} of a callgrind profile.

    Names are written once, as "(3) name", and then as "(3)". "fn=" starts the costs of a function, "cfn=" names a
    function that it calls, and the line after "calls=" ends with the cost of those calls.
    """
    names, costs = {}, {}
    caller = callee = ""
    lines = iter(text.splitlines())
    for line in lines:
        found = re.match(r"(c?)fn=\((\d+)\)(?: (.*))?$", line)
        if found:
            name = names[found[2]] = found[3] or names[found[2]]
            caller, callee = (caller, name) if found[1] else (name, "")
        elif line.startswith("calls="):
            cost = int(next(lines).split()[-1])
            if caller.startswith(CALLER) and callee.startswith(PREFIX):
                costs[callee[len(PREFIX) :]] = cost
    return costs


def judge(expected, counts):
    """Returns (cases that grew, cases that fell), by more than 3 %; new cases count as fallen."""
    grew = [case for case in counts if case in expected and counts[case] > expected[case] * (1 + MAX)]
    fell = [case for case in counts if case not in expected or counts[case] < expected[case] * (1 - MAX)]
    return grew, fell + [case for case in expected if case not in counts]


def count(program):
    """Returns {case: instructions per row or call}."""
    with tempfile.TemporaryDirectory() as folder:
        profile = pathlib.Path(folder, "profile")
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", "--collect-atstart=no",
                   f"--toggle-collect={CALLER}*", program]
        environment = {**os.environ, "INLAY_ISA": "avx2"}
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr.decode()}")
        costs = parse_profile(profile.read_text(encoding="utf-8"))
    divisors = dict(line.split() for line in done.stdout.decode().splitlines())
    return {case: costs[case] / int(per) for case, per in divisors.items()}


def reason_to_skip(compiler, expected_compiler):
    if platform.machine() != "x86_64":
        return "the counts are of AVX2 on x86-64"
    if shutil.which("valgrind") is None:
        return "valgrind is not installed"
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        if not re.search(r"^flags.* avx2( |$)", file.read(), re.M):
            return "this CPU has no AVX2"
    if compiler != expected_compiler:
        return f"the counts are of {expected_compiler}, and this build is of {compiler}"
    return None


def table_of(compiler, counts):
    lines = [
        "# Instructions of AVX2 per call of one token, else per row (tests/promises/instructions.c), as callgrind counts them.",
        "# Written by ./dev instructions --update; compared by ./dev instructions.",
        f"compiler {compiler}",
    ]
    return "\n".join([*lines, *(f"{case:<20} {counts[case]:10.1f}" for case in counts)]) + "\n"


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program")
    parser.add_argument("compiler")
    parser.add_argument("expected", type=pathlib.Path)
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    expected_compiler, expected = parse_expected(options.expected.read_text(encoding="utf-8"))
    reason = reason_to_skip(options.compiler, options.compiler if options.update else expected_compiler)
    if reason:
        print(f"instructions: skipped: {reason}")
        return SKIPPED
    counts = count(options.program)
    if options.update:
        options.expected.write_text(table_of(options.compiler, counts), encoding="utf-8")
    grew, fell = judge(expected, counts)
    print(f"{'instructions':<20} {'expected':>10} {'counted':>10}")
    for case, counted in counts.items():
        verdict = "  MORE" if case in grew else "  fewer" if case in fell else ""
        print(f"{case:<20} {expected.get(case, 0):10.1f} {counted:10.1f}{verdict}")
    if options.update:
        print(f"written to {options.expected}")
        return 0
    if grew:
        print("a fast path needs more instructions; if it has to, write the new counts by: ./dev instructions --update")
    elif fell:
        print("a fast path needs fewer instructions; write the new counts by: ./dev instructions --update")
    return 1 if grew or fell else 0


if __name__ == "__main__":
    sys.exit(main())
