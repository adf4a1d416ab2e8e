#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures how many small random changes of the library some test notices: mutation testing by universalmutator's rules.

    mutants.py SOURCE_DIR [COUNT [SEED [FILE...]]]

draws lines of src/ and file/ (or of the named files) and one of universalmutator's mutants of each, until COUNT of them
have been tested (default: 50, seed 1). A mutant that does not compile, or whose objects are those of the library, is
discarded. The others are run against the suites that execute their file, the shortest test first, until one fails. A
test that takes ten times as long as before has failed. Survivors are listed at the end; those that tests/survivors.txt
explains do not count. An interrupt ends the session early, with its report. The exit status is 1 if a survivor is left
or nothing was tested. mutate.py tests the defects that somebody has thought of.
"""
import collections
import concurrent.futures
import contextlib
import hashlib
import io
import pathlib
import random
import sys
import tempfile
import threading
import time

from mutate import COPIES, SECONDS, Copy, run
from universalmutator import mutator

RULES = ["universal.rules", "c_like.rules", "c.rules"]
IGNORED = [r"^\s*#", r"^\s*_Static_assert", r"\\$"]
# The suites that execute the files of a folder; the first folder that fits.
SUITES = {
    "file": ["file", "api"],
    "src/avx512": ["avx512", "audit"],
    "src/portable": ["portable", "audit"],
    "src/scalar": ["scalar", "avx2"],
    "src": ["api", "avx2", "file", "audit"],
}

Mutant = collections.namedtuple("Mutant", "file line before after text")


def suites_in(test):
    return {suite.rpartition(":")[2] for suite in test["suite"]}


def suites_of(file):
    return next(suites for folder, suites in SUITES.items() if file.startswith(folder + "/"))


def drawn(source, files, seed):
    """Mutants without end, one for each line that can be mutated, in an order that the seed chooses."""
    lines = []
    for file in files:
        text = (source / file).read_text(encoding="utf-8").splitlines(keepends=True)
        by_line = collections.defaultdict(list)
        with contextlib.redirect_stdout(io.StringIO()):
            mutants = mutator.mutants_regexp(text, RULES, ignorePatterns=IGNORED, ignoreStringOnly=True)
        for number, after, _, _ in mutants:
            by_line[number].append(after)
        for number, variants in sorted(by_line.items()):
            lines.append((file, text, number, variants))
    chance = random.Random(seed)
    chance.shuffle(lines)
    for file, text, number, variants in lines:
        after = chance.choice(variants)
        yield Mutant(file, number, text[number - 1], after, "".join(text[: number - 1] + [after] + text[number:]))


def survivors_of(path):
    """What tests/survivors.txt explains: paragraphs of a reason, a file, the line and its mutant."""
    known = {}
    for paragraph in path.read_text(encoding="utf-8").split("\n\n"):
        lines = [line for line in paragraph.splitlines() if not line.startswith("#")]
        if len(lines) >= 4:
            *reason, file, before, after = lines
            known[file, plain(before[1:]), plain(after[1:])] = " ".join(reason)
    return known


def plain(text):
    return " ".join(text.split())


class Tested(Copy):
    """A copy of the tree that tells what becomes of mutants."""

    def __init__(self, source, folder):
        super().__init__(source, folder)
        self.objects = self.built()

    def built(self):
        """The digests of the objects of the libraries as they are now."""
        if run(["ninja", "-C", str(self.build), "src/libinlay.a", "file/libinlay-file.a"]).returncode != 0:
            raise ValueError("does not compile")
        objects = sorted(self.build.glob("src/**/*.o")) + sorted(self.build.glob("file/**/*.o"))
        return [hashlib.sha256(path.read_bytes()).digest() for path in objects]

    def fate(self, mutant, seconds):
        """
        "killed by TEST", "survived", or why the mutant was discarded. `seconds` has how long each test took when it last
        passed: one that has not passed before kills nothing until it has passed on the sources as they are.
        """
        path = self.root / mutant.file
        original = path.read_text(encoding="utf-8")
        wanted = suites_of(mutant.file)
        names = [name for name, test in self.tests.items() if suites_in(test) & set(wanted)]
        try:
            path.write_text(mutant.text, encoding="utf-8")
            if self.built() == self.objects:
                return "same objects"
            for name in sorted(names, key=lambda name: seconds.get(name, 1)):
                if not self.passes(name, seconds):
                    if name not in seconds:
                        path.write_text(original, encoding="utf-8")
                        if not self.passes(name, seconds):
                            raise RuntimeError(f"already fails: {name}")
                    return "killed by " + name
            return "survived"
        except ValueError:
            return "does not compile"
        finally:
            path.write_text(original, encoding="utf-8")

    def passes(self, name, seconds):
        """Whether a test passes, within ten times what it took before."""
        begin = time.monotonic()
        if self.fails(name, 10 + 10 * seconds[name] if name in seconds else SECONDS):
            return False
        seconds[name] = time.monotonic() - begin
        return True


class Session:
    """Draws mutants and gives them to copies, until as many as wanted have been tested."""

    def __init__(self, source, files, count, seed):
        self.source, self.count = source, count
        self.mutants, self.lock = drawn(source, files, seed), threading.Lock()
        self.known = survivors_of(source / "tests" / "survivors.txt")
        self.seconds, self.fates, self.survivors = {}, collections.Counter(), []

    def take(self):
        """The next mutant; None once enough are tested. One that is in work counts as tested."""
        with self.lock:
            if sum(self.fates[fate] for fate in ("killed", "survived", "explained", "in work")) >= self.count:
                return None
            self.fates["in work"] += 1
            return next(self.mutants, None)

    def work(self, copy):
        while mutant := self.take():
            fate = copy.fate(mutant, self.seconds)
            reason = self.known.get((mutant.file, plain(mutant.before), plain(mutant.after)))
            if fate == "survived" and reason:
                fate = "explained: " + reason
            with self.lock:
                self.fates["in work"] -= 1
                self.fates[fate.split(":")[0].split(" by ")[0]] += 1
                print(f"{mutant.file}:{mutant.line}: {fate}", flush=True)
                if fate == "survived":
                    self.survivors.append(mutant)
                    print(f"-{mutant.before}+{mutant.after}", end="", flush=True)

    def run(self):
        with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(COPIES) as pool:
            copies = list(pool.map(lambda i: Tested(self.source, pathlib.Path(folder, str(i))), range(COPIES)))
            try:
                list(pool.map(self.work, copies))
            except KeyboardInterrupt:
                self.count = 0  # what is in work is finished, and all that was tested is reported

    def report(self):
        for mutant in self.survivors:
            print(f"\nsurvived: {mutant.file}:{mutant.line}\n-{mutant.before}+{mutant.after}", end="")
        killed, survived, explained = (self.fates[fate] for fate in ("killed", "survived", "explained"))
        print(
            f"\n{killed + survived + explained} mutants: {killed} killed, {survived} survived, {explained} survived and are "
            f"explained; discarded: {self.fates['does not compile']} that do not compile, "
            f"{self.fates['same objects']} with the same objects"
        )
        print(f"score: {100 * killed / max(killed + survived, 1):.1f} %")
        print(f"{killed} passed, {survived} failed, {explained} skipped")


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    count, seed = (int(word) for word in sys.argv[2:4] + ["50", "1"][len(sys.argv[2:4]) :])
    files = sys.argv[4:] or sorted(
        str(path.relative_to(source)) for folder in ("src", "file") for path in (source / folder).rglob("*.[ch]")
    )
    for file in files:
        if not file.startswith(("src/", "file/")) or not (source / file).is_file():
            sys.exit(f"mutants.py: {file} is no file of src/ or file/")
    session = Session(source, files, count, seed)
    try:
        session.run()
    except RuntimeError as error:
        sys.exit(f"the source as it is {error}")
    session.report()
    sys.exit(session.fates["survived"] > 0 or session.fates["killed"] + session.fates["explained"] == 0)


if __name__ == "__main__":
    main()
