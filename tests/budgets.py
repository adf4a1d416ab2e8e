#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts the lines of code of each room and compares them with its budget.

    budgets.py ROOT [--list]      --list prints all rooms

tests/budgets.txt has the budgets. Lines of C and C++ are what the preprocessor leaves without comments and blank lines,
headers and generated lists included; of scripts those that are neither blank nor a comment. The exit status is 1 if a
room has more than its budget; that a budget is more than the room and its goal need is only said.
"""
import pathlib
import re
import subprocess
import sys

C = (".c", ".cc", ".h", ".inc")
WITHOUT_COMMENTS = ["gcc", "-fpreprocessed", "-dD", "-E", "-P", "-x", "c", "-"]


def lines_of(root, room):
    """The lines of code of the files of a room that git knows."""
    listed = subprocess.run(["git", "ls-files", room], cwd=root, capture_output=True, text=True, check=True).stdout
    paths = [root / path for path in listed.splitlines() if (root / path).exists()]
    sources = [path.read_bytes() for path in paths if path.suffix in C]
    code = subprocess.run(WITHOUT_COMMENTS, input=b"\n".join(sources), capture_output=True, check=True).stdout
    scripts = b"\n".join(path.read_bytes() for path in paths if path.suffix == ".sh")
    return len(re.findall(rb"(?m)^.*\S", code)) + len(re.findall(rb"(?m)^[ \t]*[^\s#]", scripts))


def main():
    root, listed = pathlib.Path(sys.argv[1]), "--list" in sys.argv
    status = 0
    for line in (root / "tests/budgets.txt").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        room, budget, goal = line.split()
        lines = lines_of(root, room)
        if listed:
            print(f"budgets: {room} has {lines} lines, budget {budget}, goal {goal}")
        if lines > int(budget):
            status = 1
            print(f"budgets: {room} has {lines} lines, {lines - int(budget)} more than its budget (tests/budgets.txt)")
        elif int(budget) > max(lines, int(goal)):
            print(f"budgets: the budget of {room}, {budget} lines, can shrink to {max(lines, int(goal))}")
    sys.exit(status)


if __name__ == "__main__":
    main()
