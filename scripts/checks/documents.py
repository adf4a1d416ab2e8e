#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the documents: links, files and code names exist, pages explain how to install what their Python imports, the
README's program is tested, and the version is the same everywhere.

Run as `documents.py SOURCE_DIR`. Prints a line per error; the exit status is 1 if there are any.
"""
import pathlib
import re
import subprocess
import sys
import tomllib

SOURCE = pathlib.Path(sys.argv[1])
FOLDERS = [".", "bench", "docs", "docs/guides", "docs/site", "examples", "packaging"]
MAX_LINES = {"README.md": 100, "CONTRIBUTING.md": 120}
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
NAMED_FILE = re.compile(r"`((?:file|ggml|src|tests|tools|bench|docs|fuzz|cross|cmake|include)/[\w./-]+)`")
NAME = re.compile(r"`([A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+)(?:\(\))?`")
# Pages that also mention names that are old or from other projects.
FOREIGN = ["CHANGELOG.md", "bench/README.md", "docs/recipes.md", "docs/rotary.md", "examples/README.md"]
SOURCES = [".build", ".c", ".cc", ".h", ".py"]
CODE = re.compile(r"```.*?```", re.DOTALL)


def anchors(text):
    """Returns the anchors that GitHub generates for the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", CODE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def link_faults(page, text):
    for target in LINK.findall(CODE.sub("", text)):
        if re.match(r"https?:", target):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        if not file.exists():
            yield f"{target} does not exist"
        elif anchor and anchor not in anchors(file.read_text(encoding="utf-8")):
            yield f"{target} is no heading"


def names_of_code():
    """Returns every identifier in the sources."""
    folders = ("bench", "file", "ggml", "include", "python", "src", "tests", "tools")
    files = [file for folder in folders for file in (SOURCE / folder).rglob("*.*") if file.suffix in SOURCES]
    return {name for file in files for name in re.findall(r"\w+", file.read_text(encoding="utf-8"))}


def extras():
    """Returns the packages of each extra of the Python package."""
    project = tomllib.loads((SOURCE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needs = {extra: set(re.findall(r"[a-z]+", " ".join(of))) for extra, of in project["optional-dependencies"].items()}
    return {extra: own.union(*(needs.get(name, ()) for name in own)) - {project["name"]} for extra, own in needs.items()}


def install_faults(text, packages):
    """Yields imports of optional packages that no extra named by the page installs."""
    lines = re.findall(r"^import (.*)", "".join(CODE.findall(text)), re.MULTILINE)
    imported = {re.match(r"\w+", name)[0] for line in lines for name in line.split(", ")}
    named = re.findall(r"pip install '\.\[(.*?)\]'", text)
    installed = set().union(*(packages.get(extra, set()) for extras in named for extra in extras.split(",")))
    for package in sorted(imported & set().union(*packages.values()) - installed):
        yield f"its Python imports {package}, and no `pip install '.[EXTRA]'` brings it"


def page_faults(page, known, packages):
    text = page.read_text(encoding="utf-8")
    yield from link_faults(page, text)
    yield from install_faults(text, packages)
    if str(page.relative_to(SOURCE)) not in FOREIGN:
        yield from (f"{name} is no name of the sources" for name in NAME.findall(text) if name not in known)
    for file in NAMED_FILE.findall(text):
        if not (SOURCE / file).exists():
            yield f"{file} does not exist"
    lines, most = len(text.splitlines()), MAX_LINES.get(page.name if page.parent == SOURCE else "")
    if most is not None and lines > most:
        yield f"has {lines} lines, more than {most}"


def program_faults():
    """Compares the README's program and its output with tests/install."""
    readme = (SOURCE / "README.md").read_text(encoding="utf-8")
    program = (SOURCE / "examples/minimal.c").read_text(encoding="utf-8")
    output = (SOURCE / "tests/install/minimal.expected").read_text(encoding="utf-8")
    if f"```c\n{program[program.index('#include'):]}```\n" not in readme:
        yield "its program is not examples/minimal.c"
    if "".join(f"    {line}\n" for line in output.splitlines()) not in readme:
        yield "what its program prints is not tests/install/minimal.expected"


def results_faults():
    """Compares the table of saved benchmark runs with their files."""
    script = [sys.executable, "-B", SOURCE / "bench/saved.py", "table", SOURCE / "bench/results"]
    page = SOURCE / "docs/performance.md"
    if subprocess.run([*script, page, "--check"], stdout=subprocess.DEVNULL, check=False).returncode != 0:
        yield "its table of results is not that of ./dev results"


def family_faults():
    """Compares the number of model families in the README with file/models/models.c."""
    models = (SOURCE / "file/models/models.c").read_text(encoding="utf-8")
    families = len(set(re.findall(r'^    \{"([\w.-]+)"', models, re.MULTILINE)))
    if f"[{families} families]" not in (SOURCE / "README.md").read_text(encoding="utf-8"):
        yield f"it doesn't have the number of families, {families}"


def version_faults():
    """Checks the copies of the version that no build reads against meson.build. packaging/debian adds a revision."""
    def found(path, pattern):
        match = re.search(pattern, (SOURCE / path).read_text(encoding="utf-8"), re.MULTILINE)
        return match[1] if match else "none"

    version = found("meson.build", r"^  version: '(.*)',$")
    places = {
        "CMakeLists.txt": r"^project\(inlay VERSION ([\d.]+) ",
        "tools/inlay.1": r'^\.TH .*"inlay ([\d.]+)"',
        "packaging/debian/changelog": r"\Ainlay \((.*)-",
        "examples/meson-subproject/subprojects/inlay.wrap": r"^revision = v(.*)$",
        "CHANGELOG.md": r"^## \[(\d.*)\]",
    }
    for path, pattern in places.items():
        if found(path, pattern) != version:
            yield f"{path} has version {found(path, pattern)}, meson.build {version}"


def main():
    known, packages = names_of_code(), extras()
    pages = [page for folder in FOLDERS for page in sorted((SOURCE / folder).glob("*.md"))]
    faults = [f"{page.relative_to(SOURCE)}: {fault}" for page in pages for fault in page_faults(page, known, packages)]
    faults += [f"README.md: {fault}" for fault in (*program_faults(), *family_faults())]
    faults += [f"docs/performance.md: {fault}" for fault in results_faults()]
    faults += version_faults()
    print("\n".join(faults) if faults else f"{len(pages)} pages: every link, file and name is there")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
