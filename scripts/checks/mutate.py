#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Breaks copies of the sources, one bug of mutations.txt at a time, and requires a failing test for each.

    mutate.py SOURCE_DIR [WORD...]     all mutations, or those with one of the words in their description
    mutate.py --fits SOURCE_DIR        only reports which mutations still fit the sources

A mutation names a function and some of its C tokens, not a file or text: whitespace, comments, moved lines and moved
functions don't matter. If the tokens are not found under the names of mutations.txt, each name may be replaced by
another, consistently; if the function was renamed, all functions are searched. So unlike a patch, mutations survive
renames, and the sources need no markers. A mutation that fits nowhere, or at several places, is reported as an error.

Two copies are built in parallel. A mutation rebuilds the changed files and runs the test that should fail, and the
others only if that one passes. "TEST@CPU=ISA" is that test on an emulated CPU of qemu-x86_64, which must choose that
ISA. The exit status is 1 if a mutation is not detected or does not fit.
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import platform
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile

FOLDERS = ["src", "file", "tools"]
SUITES = {"inlay:isa", "inlay:api", "inlay:file", "inlay:audit", "inlay:tool"}
COPIES = 2
SECONDS = 600  # a test that takes longer has failed
SKIP = 77
DISTINCT_TOKENS = 12  # a pattern of this length is unique even without its names

TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/|\\\n)|(?P<name>[A-Za-z_]\w*)|(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)"""
    r"""|(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(?P<sign>->|\+\+|--|<<=|>>=|<<|>>|[-+*/%&|^=!<>]=|&&|\|\||.)""",
    re.DOTALL | re.VERBOSE,
)
KEYWORDS = set(
    "break case char const continue default do double else enum extern float for goto if inline int long return short "
    "signed sizeof static struct switch typedef union unsigned void volatile while bool size_t int8_t int16_t int32_t "
    "int64_t uint8_t uint16_t uint32_t uint64_t NULL".split()
)

Token = collections.namedtuple("Token", "text start end is_name")
Fit = collections.namedtuple("Fit", "file text function renamed")
Mutation = collections.namedtuple("Mutation", "what function test before after")


def tokens_of(text):
    return [
        Token(m.group(), m.start(), m.end(), m.lastgroup == "name" and m.group() not in KEYWORDS)
        for m in TOKEN.finditer(text)
        if m.lastgroup != "space"
    ]


def closing(tokens, i):
    """Returns the index of the bracket that closes the one at i."""
    depth = 0
    for j in range(i, len(tokens)):
        depth += {"(": 1, "{": 1, "[": 1, ")": -1, "}": -1, "]": -1}.get(tokens[j].text, 0)
        if depth == 0:
            return j
    return len(tokens) - 1


def functions_of(tokens):
    """Returns the name and the tokens, including parameters, of each function definition."""
    i = 0
    while i + 1 < len(tokens):
        if tokens[i].is_name and tokens[i + 1].text == "(":
            end = closing(tokens, i + 1)
            if end + 1 < len(tokens) and tokens[end + 1].text == "{":
                last = closing(tokens, end + 1)
                yield tokens[i].text, tokens[i : last + 1]
                i = last
            elif tokens[i].text == "__attribute__":
                i = end
        elif tokens[i].text == "{":
            i = closing(tokens, i)
        i += 1


class Sources:
    """The functions of a tree. Each file is also one, under its path, for code outside functions."""

    def __init__(self, root):
        self.texts, self.functions = {}, []
        for folder in FOLDERS:
            for path in sorted(pathlib.Path(root, folder).rglob("*.[ch]")):
                name = str(path.relative_to(root))
                self.texts[name] = path.read_text(encoding="utf-8")
                tokens = tokens_of(self.texts[name])
                self.functions += [(name, function, body) for function, body in functions_of(tokens)]
                self.functions.append((name, name, tokens))

    def find(self, mutation):
        """Returns a Fit, with the text of the file after the mutation, or the reason why there is none."""
        folder, _, function = mutation.function.rpartition(":")
        pattern = tokens_of(mutation.before)
        named = [f for f in self.functions if f[1] == function and folder in f[0]]
        others = [f for f in self.functions if f[1].endswith((".c", ".h")) == function.endswith((".c", ".h"))]
        ways = [(named, False), (named, True), (others, False)]
        if len(pattern) >= DISTINCT_TOKENS:
            ways.append((others, True))
        for functions, renamed in ways:
            places = [(f, place) for f in functions for place in matches(pattern, f[2], renamed)]
            if len(places) > 1:
                return f"{len(places)} places have its tokens"
            if places:
                ((file, found, _), (start, end, names)) = places[0]
                text = self.texts[file]
                text = text[:start] + renamed_text(mutation.after, names) + text[end:]
                return Fit(file, text, found, renamed or found != function)
        return "no place has its tokens"


def matches(pattern, tokens, renamed):
    """Yields the matches of a pattern: first and last character, and the actual names."""
    for i in range(len(tokens) - len(pattern) + 1):
        names = {}
        for wanted, token in zip(pattern, tokens[i : i + len(pattern)]):
            if renamed and wanted.is_name and token.is_name:
                if names.setdefault(wanted.text, token.text) != token.text:
                    break
            elif wanted.text != token.text:
                break
        else:
            if len(set(names.values())) == len(names):
                yield tokens[i].start, tokens[i + len(pattern) - 1].end, names


def renamed_text(text, names):
    for token in reversed(tokens_of(text)):
        if token.is_name:
            text = text[: token.start] + names.get(token.text, token.text) + text[token.end :]
    return text


def read_mutations(path):
    """Reads paragraphs: a description, "function, test" and the tokens, - before and + after."""
    for paragraph in path.read_text(encoding="utf-8").split("\n\n"):
        lines = [line for line in paragraph.splitlines() if line and not line.startswith("#")]
        if lines:
            function, test = lines[1].split()
            before, after = ("\n".join(line[1:] for line in lines[2:] if line[0] == sign) for sign in "-+")
            yield Mutation(lines[0], function, test, before, after)


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)


def status_of(command, environment, folder, seconds):
    """Returns the exit status of a test, or None on timeout. No process of it is left, not even in an endless loop."""
    silent = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, env=environment, cwd=folder, start_new_session=True, **silent) as process:
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            kill_session(process.pid)


def kill_session(session):
    """Kills all processes of a test, including libcheck's process groups."""
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, _, rest = stat.read_text(encoding="utf-8", errors="replace").partition(" ")
            if int(rest.rpartition(")")[2].split()[3]) == session:
                os.kill(int(pid), signal.SIGKILL)
        except (OSError, ValueError):
            pass  # already ended


class Copy:
    """A copy of the tree with two build directories. One has all ISAs. The other has only AVX2, which compiles in a
    third of the time; tests named *-avx2 run there, and detect most mutations of kernels."""

    def __init__(self, source, folder):
        self.root, self.build = folder / "inlay", folder / "build"
        names = run(["git", "-C", str(source), "ls-files", "-zco", "--exclude-standard"]).stdout.split("\0")
        for name in filter(None, names):
            if (source / name).exists():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source / name, self.root / name)
        self.tests = self.configure(self.build)
        alone = self.configure(folder / "avx2", "-Disas=avx2")
        self.tests.update({name: test for name, test in alone.items() if name.endswith("-avx2")})
        self.sound = None

    def configure(self, build, *options):
        """Makes a build directory, and returns its tests by name."""
        # A function without a return could return any value, even the right one.
        always = ["-Dtests=enabled", "-Dtool=enabled", "-Dc_args=-Werror=return-type"]
        setup = run(["meson", "setup", str(build), str(self.root), *always, *options])
        if setup.returncode != 0:
            raise ValueError("cannot be configured:\n" + setup.stdout)
        tests = json.loads((build / "meson-info" / "intro-tests.json").read_text(encoding="utf-8"))
        return {test["name"]: {**test, "build": build} for test in tests if set(test["suite"]) & SUITES}

    def has(self, name):
        emulates = platform.machine() == "x86_64" and shutil.which("qemu-x86_64")
        return name.partition("@")[0] in self.tests and ("@" not in name or emulates)

    def fails(self, name, seconds=SECONDS):
        """Returns true if a test fails or times out; false if it is skipped."""
        name, _, emulated = name.partition("@")
        cpu, _, best = emulated.partition("=")
        test = self.tests[name]
        build, program = test["build"], pathlib.Path(test["cmd"][0])
        target = str(program.relative_to(build)) if program.is_relative_to(build) else "all"
        if run(["ninja", "-C", str(build), target]).returncode != 0:
            raise ValueError("does not compile")
        own = {"INLAY_TOOL_FIRST": "", **({"INLAY_TEST_BEST": best} if cpu else {})}
        environment = {**os.environ, **test["env"], **own}
        command = (["qemu-x86_64", "-cpu", cpu] if cpu else []) + test["cmd"]
        return status_of(command, environment, build, seconds) not in (0, SKIP)

    def sees(self, mutation):
        """Returns if a mutation is detected, and by which test or why not."""
        fit = Sources(self.root).find(mutation)
        if isinstance(fit, str):
            return False, f"NO LONGER FITS: {fit}"
        try:
            if self.has(mutation.test) and self.failing(fit, [mutation.test]):
                return True, mutation.test
            if self.sound is None:  # check once that the expected tests pass on unchanged sources
                self.sound = [name for name in self.tests if not self.fails(name)]
            name = self.failing(fit, [name for name in self.sound if name != mutation.test])
            return name is not None, name or "NOT SEEN"
        except ValueError as error:
            return False, str(error).upper()

    def failing(self, fit, names):
        """Returns the first of these tests that fails on the mutation, or None."""
        path = self.root / fit.file
        original = path.read_text(encoding="utf-8")
        path.write_text(fit.text, encoding="utf-8")
        try:
            return next((name for name in names if self.fails(name)), None)
        finally:
            path.write_text(original, encoding="utf-8")


def fits(source, mutations):
    """Prints the mutations that don't fit, and those that fit under other names. Returns the number of the former."""
    sources, bad = Sources(source), 0
    for mutation in mutations:
        fit = sources.find(mutation)
        if isinstance(fit, str):
            bad += 1
            print(f"{mutation.what}: NO LONGER FITS: {fit} (in {mutation.function})")
        elif fit.renamed:
            print(f"{mutation.what}: fits under other names, in {fit.function} of {fit.file}")
    print(f"{len(mutations) - bad} of {len(mutations)} mutations fit")
    return bad


def unseen(source, mutations):
    """Prints the result of each mutation. Returns how many are not detected."""
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(COPIES) as pool:
        copies = queue.SimpleQueue()
        for copy in pool.map(lambda i: Copy(source, pathlib.Path(folder, str(i))), range(COPIES)):
            copies.put(copy)

        def with_copy(method, argument):
            copy = copies.get()
            try:
                return argument, method(copy, argument)
            finally:
                copies.put(copy)

        expected = sorted({m.test for m in mutations if copy.has(m.test)})
        if red := [name for name, fails in pool.map(lambda name: with_copy(Copy.fails, name), expected) if fails]:
            raise ValueError(f"already fails: {', '.join(red)}")
        missed = 0
        for mutation, (seen, text) in pool.map(lambda mutation: with_copy(Copy.sees, mutation), mutations):
            missed += not seen
            print(f"{mutation.what}: {text}", flush=True)
    print(f"{len(mutations) - missed} passed, {missed} failed, 0 skipped")
    return missed


def main():
    words = [word for word in sys.argv[1:] if word != "--fits"]
    source = pathlib.Path(words.pop(0)).resolve()
    mutations = list(read_mutations(source / "scripts/checks/mutations.txt"))
    chosen = [m for m in mutations if not words or any(word in m.what for word in words)]
    try:
        sys.exit((fits if "--fits" in sys.argv else unseen)(source, chosen) != 0)
    except ValueError as error:
        sys.exit(f"the source as it is {error}")


if __name__ == "__main__":
    main()
