#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs clang-tidy over every file of a build directory, in parallel, and prints each finding once.

    tidy.py CLANG_TIDY BUILD_DIR [WORD...]      all files, or those with one of the words in their path

BUILD_DIR/tidy stores the digest of each file without findings, including all headers, the configurations and its
compile command. Unchanged files are skipped. The exit status is 1 if there are findings.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

# C99 headers are compiled as C++ by files that include a C file.
LEFT_OUT = "tests/header/"
FINDING = re.compile(r"^(\S+?:\d+:\d+): (?:warning|error): ")


def digest_of(*texts):
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def surroundings(tool):
    """Returns everything that the findings of every file depend on."""
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True)
    paths = [path for path in names.stdout.splitlines() if path.endswith((".h", ".inc", ".hpp", ".clang-tidy"))]
    texts = [pathlib.Path(path).read_text(encoding="utf-8") for path in sorted(paths) if pathlib.Path(path).exists()]
    version = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout
    return digest_of(version, *texts)


def findings(tool, build, path):
    """Returns the output of clang-tidy, in paragraphs that start with a finding; empty without findings."""
    result = subprocess.run([tool, "-p", build, "--quiet", path], capture_output=True, text=True, check=False)
    paragraphs, root = [], os.getcwd() + "/"
    for line in result.stdout.replace(root, "").replace("../", "").splitlines():
        if FINDING.match(line):
            paragraphs.append(line)
        elif paragraphs:
            paragraphs[-1] += "\n" + line
    if result.returncode != 0 and not paragraphs:
        paragraphs.append(f"{path}: {result.stderr.strip()}")
    return paragraphs


def main():
    tool, build, *words = sys.argv[1:]
    commands = {}
    for entry in json.loads(pathlib.Path(build, "compile_commands.json").read_text(encoding="utf-8")):
        path = os.path.relpath(os.path.join(entry["directory"], entry["file"]))
        if not path.startswith(LEFT_OUT) and (not words or any(word in path for word in words)):
            commands[path] = entry["command"]
    if not commands:
        sys.exit(f"clang-tidy: no file of {build} has one of these words: {' '.join(words)}")
    kept = pathlib.Path(build, "tidy")
    kept.mkdir(exist_ok=True)
    around = surroundings(tool)

    def look(path):
        stamp = kept / path.replace("/", "_")
        digest = digest_of(around, pathlib.Path(path).read_text(encoding="utf-8"), commands[path])
        if stamp.exists() and stamp.read_text(encoding="utf-8") == digest:
            return []
        found = findings(tool, build, path)
        if not found:
            stamp.write_text(digest, encoding="utf-8")
        return found

    seen = set()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(look, sorted(commands)):
            for paragraph in found:
                if paragraph not in seen:
                    seen.add(paragraph)
                    print(paragraph, flush=True)
    print(f"clang-tidy: {len(seen)} findings in {len(commands)} files")
    sys.exit(len(seen) > 0)


if __name__ == "__main__":
    main()
