#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Finds circles of includes: files of C and C++ that need each other, be it by way of others.

    includes.py ROOT

A header and the source of its name are one file here, since the source has what the header promises: a circle is also
extents.c, which includes table.h, beside table.c, which includes extents.h. The same holds for folders of the rooms in
FOLDERS. The exit status is 1 if there is a circle.
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
    """The files that each file includes, as the compiler finds them: beside it, from its own room, from another one."""
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
    """The same arrows between what name_of() makes of the files."""
    arrows = {}
    for path, targets in includes.items():
        name = name_of(path)
        arrows.setdefault(name, set()).update(other for other in map(name_of, targets) if other != name)
    return arrows


def circle_in(arrows):
    """One circle as a list whose last entry is its first one, or an empty list."""
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
