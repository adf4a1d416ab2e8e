#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the code blocks of the documents, and compares the output with the page.

    code_blocks.py SOURCE BUILD [--cc COMMAND] [--update]

The language of a block determines how it is tested:

    c        a program, which is compiled, linked with the libraries of BUILD and run; or without main() the inside of a
             function, which is compiled. A comment `<!-- given: const int32_t *ids, size_t n -->` before it declares
             its variables
    console  commands after "$ " and their output; `$ cc` below a program runs that program
    sh       commands
    text     anything else: output, formulas, files
    python, pycon    run by python/tests/test_package.py
    none, indented   commands if each line starts like one, else text

`inlay` commands run in a folder with the files that pages mention. ./dev commands are checked against its help. Other
programs must be listed in OTHERS. Output below `<!-- output of one CPU -->` is compared by the first word of each line.
--update writes the output into the pages. Exit status: 1 if something failed.
"""
import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

FOLDERS = [".", "bench", "docs", "docs/guides", "docs/site", "examples"]
LANGUAGES = ["c", "console", "sh", "text", "python", "pycon"]
DIRECTIVE = re.compile(r"\{[\w-]+\}")  # for the site: {toctree}
GIVEN = re.compile(r"^<!-- given: (.*) -->$")
ONE_CPU = "<!-- output of one CPU -->"
PROMPT = "$ "

# Programs in pages that this script doesn't run, and the test that does.
OTHERS = {
    "cc": "tests/install builds the examples",
    "c++": "tests/install builds the examples",
    "make": "tests/install builds the examples",
    "cmake": "tests/install builds the examples",
    "meson": "tests/install installs the library",
    "ninja": "tests/install installs the library",
    "mpicc": "./dev mpi",
    "mpirun": "./dev mpi",
    "pip": "./dev python builds the wheel",
    "git": "it needs a clone",
    "cd": "it needs a clone",
    "./server": "tests/install runs the server",
    "llama-server": "./dev ggml runs llama.cpp",
    ".ci/run": "continuous integration",
}
HEAD = "#include <inlay/file.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"


@dataclass
class Block:
    page: str
    line: int  # of its first line of code, from 1
    language: str  # "" for indented blocks
    lines: list = field(default_factory=list)
    given: str = ""
    one_cpu: bool = False

    @property
    def place(self):
        return f"{self.page}:{self.line}"

    @property
    def text(self):
        return "".join(line + "\n" for line in self.lines)


def blocks_of(page, text):
    """Returns the code blocks of a page, in order."""
    found, open_fence, above, last = [], None, "", ""
    for number, line in enumerate(text.splitlines(), 1):
        fence = re.match(r"(`{3,})(.*)$", line)
        if open_fence is not None:
            if fence and len(fence[1]) >= open_fence and not fence[2]:
                open_fence = None
                last = line
            else:
                found[-1].lines.append(line)
            continue
        if fence:
            given = GIVEN.match(above)
            words = fence[2].split()
            found.append(Block(page, number + 1, words[0] if words else "none", given=given[1] if given else "",
                               one_cpu=above == ONE_CPU))
            open_fence = len(fence[1])
        elif line.startswith("    ") and (last == "" or (found and not found[-1].language and last.startswith("    "))):
            if last == "" and (not found or found[-1].language or not found[-1].lines[-1] == ""):
                found.append(Block(page, number, "", one_cpu=above == ONE_CPU))
            found[-1].lines.append(line[4:])
        elif line == "" and found and not found[-1].language and last.startswith("    "):
            found[-1].lines.append("")  # a block continues after an empty line
        elif found and not found[-1].language and found[-1].lines and found[-1].lines[-1] == "":
            found[-1].lines.pop()
        above = line or above
        last = line
    return found


def is_commands(block):
    first = [line for line in block.lines if line]
    if not block.language:
        return all(re.match(r"(\$|\./dev|inlay [a-z]+|pip)( |$)", line) for line in first[:1])
    return block.language in ("console", "sh")


def commands_of(block):
    """Returns pairs of a command and its output lines."""
    prompts = any(line.startswith(PROMPT) for line in block.lines)
    found = []
    for line in block.lines:
        if found and found[-1][0].endswith("\\"):
            found[-1][0] = found[-1][0][:-1] + line
        elif prompts and line.startswith(PROMPT):
            found.append([line[len(PROMPT) :], []])
        elif prompts:
            found[-1][1].append(line)
        elif line and not line.startswith(" "):  # continuation of an explanation after a command
            found.append([re.split(r" {3,}(?! *#)", line)[0], []])
    return found


def simple_commands(line):
    """Returns the words of each command of a line, without assignments to variables and redirections."""
    lexer = shlex.shlex(line.replace("$(", "( "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    parts = [[]]
    for word in lexer:
        if re.fullmatch(r"[<>]+", word):
            next(lexer)
        elif re.fullmatch(r"[&|;()]+", word):
            parts.append([])
        elif parts[-1] or not re.match(r"\w+=", word):
            parts[-1].append(word)
    return [part for part in parts if part and not (part[0] == "pkg-config" or part[0].startswith("-"))]


class Checks:
    def __init__(self, source, build, compiler, update):
        self.source, self.build, self.compiler, self.update = source, build, compiler, update
        self.passed, self.failed, self.skipped, self.reasons = 0, 0, 0, set()
        self.program = None  # the program above the block, and its page
        self.scratch = None
        self.updates = {}  # page -> list of (old lines, new lines)
        self.help = {}

    def ok(self):
        self.passed += 1

    def fail(self, block, what):
        self.failed += 1
        print(f"{block.place}: {what}")

    def skip(self, command, why):
        self.skipped += 1
        self.reasons.add(f"{command}: {why}")

    def run(self, command, **options):
        environment = {**os.environ, "PATH": f"{self.build / 'tools'}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
        environment.pop("INLAY_ISA", None)
        return subprocess.run(command, cwd=self.scratch, env=environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=120, check=False, **options)

    def check_c(self, block):
        program = "int main(" in block.text
        text = block.text if program else f"{HEAD}void fragment({block.given or 'void'});\n" \
            f"void fragment({block.given or 'void'})\n{{\n{block.text}}}\n"
        file = self.scratch / "block.c"
        file.write_text(text, encoding="utf-8")
        unused = [] if program else ["-Wno-unused-variable", "-Wno-unused-but-set-variable", "-c"]
        libraries = [self.build / "file/libinlay-file.so", self.build / "src/libinlay.so", f"-Wl,-rpath,{self.build}/src",
                     f"-Wl,-rpath,{self.build}/file"] if program else []
        done = self.run([*self.compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", *unused, "-I", self.source / "include",
                         file, *libraries, "-o", self.scratch / "block"])
        if done.returncode != 0:
            self.fail(block, f"does not compile:\n{done.stdout}")
            return
        self.ok()
        if program:
            (self.scratch / "block").rename(self.scratch / "program")
            self.program = block

    def compare(self, block, expected, printed):
        """Compares the page with the output; ... matches any lines."""
        if self.update and expected != printed and not block.one_cpu and "..." not in expected:
            self.updates.setdefault(block.page, []).append((block.line, expected, printed))
        if block.one_cpu:
            same = [line.split()[:1] for line in expected] == [line.split()[:1] for line in printed]
        else:
            pattern = "\n".join(".*" if line == "..." else re.escape(line) for line in expected)
            same = re.fullmatch(pattern, "\n".join(printed), re.DOTALL)
        if same:
            self.ok()
        else:
            self.fail(block, "prints\n" + "\n".join(printed))

    def check_command(self, block, line, expected):
        parts = simple_commands(line)
        if parts and parts[0][0] == "cc" and self.program is not None:
            done = self.run([self.scratch / "program"])
            self.program = None
            if done.returncode != 0:
                self.fail(block, f"exit status {done.returncode}")
            self.compare(block, expected, done.stdout.splitlines())
            return
        for words in parts:
            if words[0] == "./dev":
                self.check_dev(block, words[1:])
            elif words[0] in ("python", "python3"):
                self.check_script(block, words[1])
            elif words[0] in OTHERS:
                self.skip(words[0], OTHERS[words[0]])
            elif words[0] != "inlay":
                self.fail(block, f"nobody runs {words[0]}")
        if parts and all(words[0] == "inlay" for words in parts):
            done = self.run(["bash", "-c", line])
            if done.returncode != 0:
                self.fail(block, f"{line}: exit status {done.returncode}\n{done.stdout}")
            elif expected:
                self.compare(block, expected, done.stdout.splitlines())
            else:
                self.ok()

    def check_script(self, block, script):
        if any((self.source / folder / script).exists() for folder in (".", "examples")):
            self.skip("python3", "a script of the tree, which is there")
        else:
            self.fail(block, f"{script} does not exist")

    def check_dev(self, block, words):
        """Checks a ./dev command and its options against its help; options after -- belong to another program."""
        if "dev" not in self.help:
            text = subprocess.run([self.source / "dev", "help"], stdout=subprocess.PIPE, text=True, check=True).stdout
            self.help["dev"] = re.split(r"\n(?=  \w)", text.partition("\n\n")[2])
        while words and words[0] == "--sudo":
            words = words[1:]
        if not words:
            self.ok()
            return
        sections = [section for section in self.help["dev"] if section.split()[0] == words[0]]
        own = words[: words.index("--")] if "--" in words else words
        unknown = [word for word in own if re.match(r"--\w", word) and word.partition("=")[0] not in " ".join(sections)]
        if not sections:
            self.fail(block, f"./dev has no command {words[0]}")
        elif unknown and "OPTION" not in sections[0].split("\n")[0]:
            self.fail(block, f"./dev {words[0]} has no {unknown[0]}")
        else:
            self.ok()

    def make_files(self):
        """Makes the files that pages mention, in the folder where commands run."""
        for folder in ("examples", "docs", "bench"):
            (self.scratch / folder).symlink_to(self.source / folder)
        for folder in ("ngram", "layers", "files"):
            (self.scratch / folder).symlink_to(self.source / "examples" / folder)
        shutil.copy(self.source / "LICENSE", self.scratch / "book.txt")
        (self.scratch / "bytes.txt").write_text("104 101 108 108 111\n", encoding="ascii")
        self.run(["inlay", "table", "--dim", "512", "--positions", "0:64", "--out", "weights.npy"])

    def check_page(self, path):
        page = str(path.relative_to(self.source))
        self.program = None
        with tempfile.TemporaryDirectory() as scratch:
            self.scratch = pathlib.Path(scratch)
            self.make_files()
            for block in blocks_of(page, path.read_text(encoding="utf-8")):
                if DIRECTIVE.match(block.language):
                    continue
                if block.language not in ("", *LANGUAGES):
                    self.fail(block, f"the language {block.language} is not one of {', '.join(LANGUAGES)}")
                elif block.language == "c":
                    self.check_c(block)
                elif is_commands(block):
                    for line, expected in commands_of(block):
                        self.check_command(block, line, expected)
        for line, old, new in reversed(self.updates.get(page, [])):
            self.rewrite(path, line, old, new)

    def rewrite(self, path, line, old, new):
        lines = path.read_text(encoding="utf-8").split("\n")
        for at in range(line - 1, len(lines)):
            if lines[at : at + len(old)] == old:
                lines[at : at + len(old)] = new
                path.write_text("\n".join(lines), encoding="utf-8")
                return


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    checks = Checks(options.source.resolve(), options.build.resolve(), shlex.split(options.cc), options.update)
    for folder in FOLDERS:
        for path in sorted((checks.source / folder).glob("*.md")):
            checks.check_page(path)
    for reason in sorted(checks.reasons):
        print(f"skipped {reason}")
    print(f"{checks.passed} passed, {checks.failed} failed, {checks.skipped} skipped")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
