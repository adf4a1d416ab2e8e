#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the table of features by ISA in docs/features.md from runs that compare each cell with scalar (features.c).

    features.py FILE --native BUILD --cross BUILD --emulator COMMAND [--check]

Writes the table between its two comments in FILE; --check only reports if it is outdated. If an ISA does not run here,
nothing is written.
"""
import argparse
import pathlib
import shlex
import subprocess
import sys

BEGIN, END = "<!-- features: made by ./dev features -->", "<!-- end of features -->"
SKIP = 77


def column(program, isa):
    """Returns {(feature, case): result} of one ISA, None if it does not run."""
    run = subprocess.run([*program, isa], capture_output=True, text=True, check=False)
    if run.returncode == SKIP:
        return None
    lines = (line.split("\t") for line in run.stdout.splitlines())
    return {tuple(fields[:2]): fields[2] for fields in lines if len(fields) == 3}


def table(columns):
    """Returns a row per feature; a cell has the number of cases with the same bits as scalar."""
    isas = list(columns)
    features = {}
    for feature, case in next(iter(columns.values())):
        features.setdefault(feature, []).append(case)
    yield "| feature | " + " | ".join(isas) + " |"
    yield "|---" * (len(isas) + 1) + "|"
    for feature, cases in features.items():
        cells = []
        for isa in isas:
            exact = sum(columns[isa].get((feature, case)) == "exact" for case in cases)
            cells.append(f"{exact} of {len(cases)}")
        yield f"| {feature}: {', '.join(cases)} | " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--native", required=True, help="a build directory of this machine")
    parser.add_argument("--cross", help="one of 64-bit ARM")
    parser.add_argument("--emulator", default="", help="what runs the latter")
    arguments = parser.parse_args()
    programs = {isa: [f"{arguments.native}/tests/features"] for isa in ("avx512", "avx2")}
    if arguments.cross:
        programs["neon"] = [*shlex.split(arguments.emulator), f"{arguments.cross}/tests/features"]
    for isa in ("portable", "scalar"):
        programs[isa] = [f"{arguments.native}/tests/features"]
    columns = {isa: column(program, isa) for isa, program in programs.items()}
    missing = [isa for isa, found in columns.items() if found is None]
    if missing:
        print(f"features: skipped: {', '.join(missing)} does not run here")
        return SKIP
    text = arguments.file.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    behind = rest.split(END)[1]
    made = "\n".join([before + BEGIN, *table(columns), END + behind])
    if arguments.check:
        print(f"features: the table is {'up to date' if made == text else 'old: run ./dev features'}")
        return 0 if made == text else 1
    arguments.file.write_text(made, encoding="utf-8")
    print("\n".join(table(columns)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
