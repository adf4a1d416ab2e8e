#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Finds circles of includes: files of C and C++ that need each other.

    includes.py ROOT

A header and the source of its name are one file here, since the source has what the header promises: a circle is also
extents.c, which includes table.h, beside table.c, which includes extents.h. Folders are held to the same where no folder
needs another one back; FOLDERS names the rooms of which that is true. The exit status is 1 if there is a circle.
"""
import os
import re
import subprocess
import sys

INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
# Rooms whose folders must not need each other either. Includes name their path from a room.
FOLDERS = ("src", "tools", "bench")
ROOMS = ("src", "file", "tools", "bench", "python/src", "tests", "fuzz", "ggml", "include")


def files_of(root):
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, capture_output=True, text=True, check=True)
    return [path for path in listed.stdout.splitlines() if path.endswith((".c", ".cc", ".h")) and os.path.exists(os.path.join(root, path))]


def includes_of(root, paths):
    """The files that each file includes, as the compiler finds them: beside it, from its room, from any other room."""
    known, found = set(paths), {}
    for path in paths:
        own = [room for room in ROOMS if path.startswith(room + "/")]
        with open(os.path.join(root, path), encoding="utf-8") as file:
            for name in INCLUDE.findall(file.read()):
                places = [os.path.dirname(path), *own, *ROOMS]
                candidates = [os.path.normpath(os.path.join(place, name)) for place in places]
                target = next((candidate for candidate in candidates if candidate in known), None)
                if target:
                    found.setdefault(path, set()).add(target)
    return found


def joined(includes, name_of):
    """The same arrows between what name_of() makes of the files."""
    arrows = {}
    for path, targets in includes.items():
        arrows.setdefault(name_of(path), set()).update(name_of(target) for target in targets if name_of(target) != name_of(path))
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
    root = sys.argv[1]
    paths = files_of(root)
    includes = includes_of(root, paths)
    kinds = {"files": joined(includes, lambda path: os.path.splitext(path)[0])}
    for room in FOLDERS:
        inside = {path: targets for path, targets in includes.items() if path.startswith(room + "/")}
        kinds[f"folders of {room}"] = joined(inside, os.path.dirname)
    status = 0
    for kind, arrows in kinds.items():
        circle = circle_in(arrows)
        if circle:
            status = 1
            print(f"includes: a circle of {kind}: {' -> '.join(circle)}")
    print(f"includes: {sum(map(len, includes.values()))} of {len(paths)} files")
    sys.exit(status)


if __name__ == "__main__":
    main()
