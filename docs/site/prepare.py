#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the folder of pages that Sphinx builds the site from.

    prepare.py SOURCE DOXYGEN_XML PAGES

The pages are those in docs/ and the other folders, as shown by a code host. They are copied with their links changed to
the site: headers become pages of the C API, other files listings. Also draws pictures from saved benchmark runs. Exit
status: 1 if a public name has no comment or a link is broken.
"""

import os
import pathlib
import re
import subprocess
import sys

import headers
import pictures

# Pages outside of docs/ and their names on the site. docs/NAME.md is NAME.md there.
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "bench/README.md": "benchmarks.md",
    "examples/README.md": "examples.md",
}
HEADERS = ["inlay", "layer", "ngram", "table", "positions", "rotary", "base", "file"]
LANGUAGES = {".c": "c", ".h": "c", ".cc": "cpp", ".hpp": "cpp", ".py": "python", ".sh": "bash", ".json": "json"}
LINK = re.compile(r"(\[[^\]]*\]\()([^)\s]+)(\))")
FENCE = re.compile(r"(```.*?^```)", re.DOTALL | re.MULTILINE)
PICTURE = re.compile(r"<!-- picture: (\S+): (.*?) -->", re.DOTALL)
IMAGE = "```{{image}} /pictures/{name}-{theme}.svg\n:class: only-{theme}\n:alt: {alt}\n```\n"


class Site:
    """The written pages, and the places of files on the site."""

    def __init__(self, source, pages):
        self.source, self.pages = source, pages
        self.listings = set()
        self.written = set()
        self.faults = []

    def place_of(self, path):
        """Returns the page for a file or folder of the tree, both relative."""
        if path in PAGES:
            return PAGES[path]
        if path.startswith("docs/") and path.endswith(".md"):
            return path.removeprefix("docs/")
        if path == "docs":
            return "index.md"
        header = re.fullmatch(r"include/inlay/(\w+)\.h", path)
        if header:
            return f"api/{header.group(1)}.md"
        self.listings.add(path)
        return f"source/{path}.md"

    def rewritten(self, text, path, place):
        """Returns the text of a page with its links changed for the site."""

        def replace(match):
            target, _, anchor = match.group(2).partition("#")
            if not target or re.match(r"[a-z]+:", target):
                return match.group()
            aim = os.path.normpath(os.path.join(os.path.dirname(path), target))
            if not (self.source / aim).exists():
                self.faults.append(f"{path}: {match.group(2)} does not exist")
                return match.group()
            there = os.path.relpath(self.place_of(aim), os.path.dirname(place) or ".")
            return f"{match.group(1)}{there}{'#' + anchor if anchor else ''}{match.group(3)}"

        def draw(match):
            alt = " ".join(match.group(2).split())
            return "".join(IMAGE.format(name=match.group(1), theme=theme, alt=alt) for theme in ("light", "dark"))

        parts = FENCE.split(text)
        parts[::2] = [LINK.sub(replace, PICTURE.sub(draw, part)) for part in parts[::2]]
        return "".join(parts)

    def write(self, place, text):
        """Writes a file unless it is unchanged, as Sphinx rereads changed files."""
        file = self.pages / place
        self.written.add(file)
        if file.exists() and file.read_text(encoding="utf-8") == text:
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def remove_others(self):
        """Removes files that only an older run wrote, and Sphinx's output for them."""
        for file in self.pages.rglob("*"):
            if file.is_file() and file not in self.written:
                file.unlink()
                made = self.pages.parent / "site" / file.relative_to(self.pages)
                made.with_suffix(".html").unlink(missing_ok=True)

    def copy(self, path, place):
        text = (self.source / path).read_text(encoding="utf-8")
        self.write(place, self.rewritten(text, path, place))

    def write_listings(self):
        """Writes a page for each linked file; a folder lists its files, which are pages too."""
        done = set()
        while self.listings - done:
            path = min(self.listings - done)
            done.add(path)
            if (self.source / path).is_dir():
                files = subprocess.run(["git", "ls-files", "."], cwd=self.source / path, capture_output=True, text=True,
                                       check=True).stdout.split()
                lines = [f"* [{name}]({os.path.basename(path)}/{name})" for name in files]
                text = f"---\norphan: true\n---\n\n# {path}/\n\n" + "\n".join(lines) + "\n"
                text = self.rewritten(text, path, f"source/{path}.md")
            else:
                code = (self.source / path).read_text(encoding="utf-8")
                language = LANGUAGES.get(pathlib.Path(path).suffix, "none")
                text = f"---\norphan: true\n---\n\n# {path}\n\n`````{{code-block}} {language}\n:force:\n\n{code}\n`````\n"
            self.write(f"source/{path}.md", text)


def main():
    source, xml, pages = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    site = Site(source, pages)
    for path, place in PAGES.items():
        if path != "README.md":
            site.copy(path, place)
    site.copy("docs/site/index.md", "index.md")
    site.write("minimal.c", (source / "examples/minimal.c").read_text(encoding="utf-8"))  # the start page shows it
    for path in [*sorted(source.glob("docs/*.md")), *sorted(source.glob("docs/guides/*.md"))]:
        path = str(path.relative_to(source))
        site.copy(path, path.removeprefix("docs/"))
    for header in HEADERS:
        text = (source / f"include/inlay/{header}.h").read_text(encoding="utf-8")
        site.write(f"api/{header}.md", headers.page(text, xml, header))
        site.faults += [f"{header}.h: {name} has no comment" for name in headers.undocumented(xml, header)]
    site.write_listings()
    for name, svg in pictures.draw_all(source):
        site.write(f"pictures/{name}.svg", svg)
    site.remove_others()
    print("\n".join(site.faults), file=sys.stderr, end="\n" if site.faults else "")
    return 1 if site.faults else 0


if __name__ == "__main__":
    sys.exit(main())
