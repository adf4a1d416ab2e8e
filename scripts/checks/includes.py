#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Finds include cycles: C and C++ files that include each other, directly or indirectly.

    includes.py ROOT

A header and the source of the same name count as one file. So it is a cycle if extents.c includes table.h and table.c
includes extents.h. The same applies to the folders in FOLDERS. The exit status is 1 if there is a cycle.
"""
import itertools
import os
import pathlib
import re
import subprocess
import sys

INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
ROOMS = ("src", "file", "tools", "bench", "python/src", "tests", "fuzz", "ggml", "include")
FOLDERS = ("src", "tools", "bench")


def includes_of(root):
    """Returns the files that each file includes, searched like the compiler does."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "*.c", "*.cc", "*.h"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.splitlines()
    texts = {path: (root / path).read_text(encoding="utf-8") for path in listed if (root / path).exists()}
    found = {}
    for path, text in texts.items():
        places = [os.path.dirname(path), *(room for room in ROOMS if path.startswith(room + "/")), *ROOMS]
        for name in INCLUDE.findall(text):
            candidates = (os.path.normpath(os.path.join(place, name)) for place in places)
            found.setdefault(path, set()).update(itertools.islice((c for c in candidates if c in texts), 1))
    return found


def joined(includes, name_of):
    """Maps both ends of all arrows with name_of()."""
    arrows = {}
    for path, targets in includes.items():
        name = name_of(path)
        arrows.setdefault(name, set()).update(other for other in map(name_of, targets) if other != name)
    return arrows


def circle_in(arrows):
    """Returns a cycle as a list that ends with its first entry, or an empty list."""
    done, way = set(), []

    def visit(node):
        if node in way:
            return way[way.index(node) :] + [node]
        if node in done:
            return []
        way.append(node)
        for target in sorted(arrows.get(node, ())):
            found = visit(target)
            if found:
                return found
        way.pop()
        done.add(node)
        return []

    for node in sorted(arrows):
        found = visit(node)
        if found:
            return found
    return []


def main():
    includes = includes_of(pathlib.Path(sys.argv[1]))
    kinds = {"files": joined(includes, lambda path: os.path.splitext(path)[0])}
    for room in FOLDERS:
        inside = {path: targets for path, targets in includes.items() if path.startswith(room + "/")}
        kinds[f"folders of {room}"] = joined(inside, os.path.dirname)
    circles = {kind: circle for kind, arrows in kinds.items() if (circle := circle_in(arrows))}
    for kind, circle in circles.items():
        print(f"includes: a circle of {kind}: {' -> '.join(circle)}")
    sys.exit(len(circles) > 0)


if __name__ == "__main__":
    main()
