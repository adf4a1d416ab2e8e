#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the result of `meson test`: comparisons per ISA, every skip with its reason, every failure.

    summary.py BUILD_DIR [LOG_BASE]

Reads BUILD_DIR/meson-logs/LOG_BASE.json (default: testlog). The last line is "N passed, N failed, N skipped", in test
programs.
"""
import collections
import json
import re
import sys

BUILD = sys.argv[1]
LOG = sys.argv[2] if len(sys.argv) > 2 else "testlog"

comparisons = collections.Counter()
tests = collections.Counter()
counts = collections.Counter()
with open(f"{BUILD}/meson-logs/{LOG}.json", encoding="utf-8") as log:
    for line in log:
        test = json.loads(line)
        output = test.get("stdout", "")
        name = test["name"].split(" / ")[-1]
        for isa, n, functions in re.findall(r"^checks on (\w+): (\d+) comparisons in (\d+) tests", output, re.M):
            comparisons[isa] += int(n)
            tests[isa] += int(functions)
        for said in re.findall(r"^(?:dispatch chose|audit:|bench scripts:|install:|tool:).*", output, re.M):
            print(f"  {name}: {said}")
        for said in re.findall(r"^(?:skipped\b.*)", output, re.M):
            print(f"  {name}: {said}")
        result = {"OK": "passed", "EXPECTEDFAIL": "passed", "SKIP": "skipped"}.get(test["result"], "failed")
        counts[result] += 1
        if result == "failed":
            print(f"  FAILED {name} ({test['result']}): {' '.join(test['command'])}")
            print("    " + "\n    ".join((output + test.get("stderr", "")).strip().splitlines()[-12:]))
for isa in sorted(comparisons):
    print(f"  {isa}: {comparisons[isa]:,} comparisons in {tests[isa]} tests")
print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
sys.exit(counts["failed"] > 0 or counts["passed"] == 0)
