#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints line and branch coverage of a gcov build, and compares it with minimums.

    coverage.py BUILD_DIR FLOORS [--list PATH]

FLOORS (scripts/checks/coverage.txt) has the minimum percentages of each folder, and lists the parsers. Every branch of a parser
must be taken, or have a comment that starts with "1 branch never taken:" (or "2 branches never taken:") and the reason.
A count that differs from gcov's is an error in any file. --list also prints uncovered lines and branches below PATH.
Runs from the root of the sources.
"""
import collections
import json
import os
import re
import subprocess
import sys

COUNTED = ("file/", "include/", "src/", "tools/")
ISAS = ("avx2", "avx512", "neon", "portable")
REASON = re.compile(r"/\* (\d+) branch(?:es)? never taken: \w")


def objects(build):
    """Yields gcov's notes of each shipped object, and its ISA or an empty string."""
    for target in ("file", "src", "tools"):
        for folder, _, files in os.walk(os.path.join(build, target)):
            isa = re.search(r"libinlay_(\w+)\.a\.p$", folder)
            for file in sorted(files):
                if file.endswith(".gcno"):
                    yield os.path.abspath(os.path.join(folder, file)), isa.group(1) if isa else ""


def add(counts, more):
    """Adds the branch counts of a line in two copies of a function. If the compiler dropped some in one, keeps the
    longer list."""
    return [a + b for a, b in zip(counts, more)] if len(counts) == len(more) else max(counts, more, key=len)


def read_counts(build):
    """Returns {(path, ISA): {line: [runs, counts of its branches]}}. Counts of headers compiled into several objects,
    and of functions inlined several times, are added; only those of src/simd are kept apart by ISA."""
    result = collections.defaultdict(dict)
    command = [os.environ.get("GCOV", "gcov"), "--json-format", "--branch-probabilities", "--stdout"]
    for notes, isa in objects(build):
        output = subprocess.run(command + [notes], cwd=build, check=True, capture_output=True, text=True).stdout
        for file in json.loads(output)["files"]:
            path = os.path.relpath(os.path.join(build, file["file"]))
            if not path.startswith(COUNTED):
                continue
            lines = result[path, isa if path.startswith("src/simd/") else ""]
            for line in file["lines"]:
                entry = lines.setdefault(line["line_number"], [0, []])
                entry[0] += line["count"]
                entry[1] = add(entry[1], [branch["count"] for branch in line["branches"]])
    return result


def read_reasons(path):
    """Returns {line: number of branches documented as never taken}. A comment on its own lines applies to the next line
    of code, others to the line where they start."""
    result = {}
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    for number, line in enumerate(lines, 1):
        match = REASON.search(line)
        if match and line.lstrip().startswith("/*"):
            while "*/" not in lines[number - 1]:
                number += 1
            number += 1
        if match:
            result[number] = result.get(number, 0) + int(match.group(1))
    return result


def read_floors(path):
    """Returns {row: (lines, branches)}, and the parsers. A row is a folder, with an ISA after src/simd; None means that
    branches are not counted."""
    floors, parsers = {}, []
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split("#")[0].split()
            if words[:1] == ["parser"]:
                parsers.append(words[1])
            elif words:
                floors[" ".join(words[:-2])] = tuple(None if word == "-" else float(word) for word in words[-2:])
    return floors, parsers


def row_of(path, isa, floors):
    """Returns the row of the innermost folder with minimums, or None."""
    folder = os.path.dirname(path)
    while folder:
        row = f"{folder} {isa}".strip()
        if row in floors:
            return row
        folder = os.path.dirname(folder)
    return None


def isas_that_ran(build):
    """Returns the ISAs with a passed test; the CPU lacks the others."""
    with open(os.path.join(build, "meson-logs", "testlog.json"), encoding="utf-8") as log:
        tests = [json.loads(line) for line in log]
    return {test["name"].rpartition("-")[2] for test in tests if test["result"] == "OK"} & set(ISAS)


class Tally:
    """Counts of one row."""

    def __init__(self):
        self.lines = self.run = self.branches = self.taken = self.excused = 0

    def add(self, runs, branches, excused):
        self.lines += 1
        self.run += runs > 0
        self.branches += len(branches)
        self.taken += len(branches) - branches.count(0)
        self.excused += excused


def measure(build, floors, parsers, listed):
    """Returns {row: Tally}, and the errors in branches and reasons."""
    tallies, problems, files = collections.defaultdict(Tally), [], set()
    for (path, isa), lines in sorted(read_counts(build).items()):
        row = row_of(path, isa, floors)
        files.add(path)
        if row is None:
            problems.append(f"{path}: no folder of it has floors" + (f" for {isa}" if isa else ""))
        reasons = read_reasons(path)
        for number, (runs, branches) in sorted(lines.items()):
            untaken, reason = branches.count(0), reasons.pop(number, 0)
            tallies[row].add(runs, branches, min(reason, untaken))
            place = f"{path}:{number}: {untaken} of {len(branches)} branches never taken"
            if reason != untaken and (reason or path in parsers):
                problems.append(f"{place}, but has reasons for {reason}")
            if path.startswith(listed) and (reason < untaken or not runs):
                print(place + ("" if runs else ", line not run"))
        problems += [f"{path}:{number}: a reason, but no code" for number in reasons]
    return tallies, problems + [f"{path}: no such parser" for path in parsers if path not in files]


def report(row, tally, least):
    """Prints a row, and returns true if it reaches its minimums."""
    text, good = f"  {row:20}", True
    found = ((tally.lines, tally.run), (tally.branches, tally.taken + tally.excused))
    for (count, covered), floor in zip(found, least):
        if floor is None:
            text += f"{'-':>10}{'-':>10}{'-':>8}"
            continue
        percentage = 100 * covered / count if count else 100
        good = good and percentage >= floor
        text += f"{count:10}{percentage:8.2f} %{floor:6g} %"
    print(text + f"{tally.excused:9}" + ("" if good else "  BELOW ITS FLOOR"))
    return good


def main():
    build, floors_path = sys.argv[1:3]
    floors, parsers = read_floors(floors_path)
    tallies, problems = measure(build, floors, parsers, sys.argv[4] if sys.argv[3:4] == ["--list"] else "nothing")
    ran = isas_that_ran(build)
    counts = collections.Counter()
    print(f"  {'folder':20}{'lines':>10}{'run':>10}{'floor':>8}{'branches':>10}{'taken':>10}{'floor':>8}{'reasons':>9}")
    for row, least in floors.items():
        isa = re.split("[ /]", row)[-1]
        if row not in tallies and not os.path.isdir(row.split()[0]):
            problems.append(f"{row}: has floors, but is no folder")
        elif row not in tallies or (isa in ISAS and isa not in ran):
            print(f"  {row:20} skipped: {isa if isa in ISAS else 'it'} is not compiled or does not run here")
            counts["skipped"] += 1
        else:
            counts["passed" if report(row, tallies[row], least) else "failed"] += 1
    counts["failed"] += len(problems)
    broken = {problem.partition(":")[0] for problem in problems}
    counts["passed"] += sum(path not in broken for path in parsers)
    for problem in problems:
        print(f"  FAILED {problem}")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return counts["failed"] > 0


if __name__ == "__main__":
    sys.exit(main())
