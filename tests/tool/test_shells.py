#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Types lines and tabs into a real shell on a pseudo-terminal, and reads the completions of inlay.

    test_shells.py bash|zsh|fish SCRIPT [EMULATOR ...] PATH/TO/inlay

Prints one line per failure and a count at the end; exit status 77 if the shell is not installed. Standard library only.
"""

import os
import pathlib
import pty
import re
import select
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

TIMEOUT_S = 60

# Text typed before a tab, and the resulting line; or the words listed below it after two tabs.
COMPLETED = {
    "inlay em": "inlay embed ",
    "inlay embed --print": "inlay embed --print-vocab ",
    "inlay embed --text --te": "inlay embed --text --te",
    "inlay embed --text --table fi": "inlay embed --text --table fi",
    "inlay embed --table fi": "inlay embed --table fixed ",
    "inlay embed --table ro": "inlay embed --table rows.npy ",
    "inlay embed --table=ro": "inlay embed --table=rows.npy ",
    "inlay embed --table pl": "inlay embed --table pl",
    "inlay embed --table data/": "inlay embed --table data/more.npy ",
    "inlay embed --positions l": "inlay embed --positions learned:",
    "inlay embed --positions learned:r": "inlay embed --positions learned:rows.npy ",
    "inlay convert --type q8": "inlay convert --type q8_0 ",
    "inlay convert --type=q8": "inlay convert --type=q8_0 ",
    "inlay model pl": "inlay model plain.txt ",
    "inlay model da": "inlay model data/",
    "inlay model wi": "inlay model with\\ spaces.npy ",
    'inlay model "wi': 'inlay model "with spaces.npy" ',
    "./inlay em": "./inlay embed ",
}
LISTED = {
    "inlay ": ["--help", "--version", "convert", "embed", "info", "model", "ngram", "selftest", "table"],
    "inlay selftest --": ["--digests", "--help"],
    "inlay convert --group ": ["128", "16", "32", "64"],
    "inlay convert --type q5_": ["q5_0", "q5_1", "q5_k"],
    "inlay convert --type=q5_": ["q5_0", "q5_1", "q5_k"],
    "inlay table --recipe torch-": ["torch-div", "torch-exp"],
    "inlay embed --table ": ["data/", "fixed", "random", "rows.npy", "with spaces.npy"],
}

# Lists without questions and pagers, and no menus.
SETUP = {
    "bash": "bind 'set bell-style none'; bind 'set enable-bracketed-paste off'; bind 'set page-completions off'; "
            "bind 'set completion-query-items 0'; bind 'set completion-display-width 0'; source {script}; PS1=@",
    "zsh": "fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D; unsetopt beep auto_menu prompt_sp; LISTMAX=9999; "
           "unset zle_bracketed_paste; PROMPT=@",
}
COMMAND = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}


class Terminal:
    """A shell on a pseudo-terminal, wide enough not to wrap."""

    def __init__(self, shell, folder, script):
        self.process, self.file = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            os.environ.update(TERM="dumb", LC_ALL="C", HOME=str(folder), COLUMNS="400", LINES="50")
            os.execvp(shell, COMMAND[shell])
        self.count = 0
        self.type(SETUP[shell].format(folder=shlex.quote(str(folder)), script=shlex.quote(str(script))) + "\r")

    def type(self, text):
        """Returns the terminal's output for a text followed by a comment; both are removed at the end."""
        self.count += 1
        os.write(self.file, f"{text}#{self.count}\x01\x0b echo end''-{self.count}\r".encode())
        shown, deadline = "", time.monotonic() + TIMEOUT_S
        while "@" not in shown.partition(f"end-{self.count}")[2]:  # up to the next prompt; the quotes distinguish input from output
            ready, _, _ = select.select([self.file], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError(f"after {TIMEOUT_S} s: {shown!r}")
            shown += os.read(self.file, 65536).decode()
        return shown

    def completed(self, typed):
        """Returns the line after a tab."""
        shown = self.type(f"{typed}\t")
        found = re.findall(rf"([^\r\n@]*)#{self.count}", shown)
        line = found[-1] if found else shown
        while "\b" in line:  # zsh repeats a space or slash that it may remove
            line = re.sub("[^\b]\b", "", line)
        return line

    def listed(self, typed):
        """Returns the words below the line after two tabs."""
        shown = self.type(f"{typed}\t\t").partition("\n")[2].partition("@")[0]
        return [word for line in shown.splitlines() for word in re.split(r" {2,}", line.partition(" -- ")[0].strip()) if word]


class Fish:
    """fish can print its completions directly."""

    def __init__(self, folder, script):
        self.folder, self.script = folder, script

    def listed(self, typed):
        command = f"source {shlex.quote(str(self.script))}; complete -C {shlex.quote(typed)}"
        done = subprocess.run(["fish", "--no-config", "-c", command], cwd=self.folder, capture_output=True, text=True,
                              env={**os.environ, "HOME": str(self.folder)}, timeout=TIMEOUT_S, check=True)
        return [line.partition("\t")[0] for line in done.stdout.splitlines()]

    def completed(self, typed):
        """Returns the line with the only offered word, and a space unless it continues."""
        words = self.listed(typed)
        if len(words) != 1:
            return typed if not words else words
        before, _, last = typed.rpartition(" ")
        word = f'"{words[0]}"' if last.startswith('"') else words[0].replace(" ", "\\ ")
        return f"{before} {word}" + ("" if word[-1] in "/:" else " ")


def main():
    shell, script, tool = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), sys.argv[3:]
    if shutil.which(shell) is None:
        print(f"skipped: there is no {shell}")
        return 77
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder).resolve()
        tool[-1] = os.path.abspath(tool[-1])
        (folder / "inlay").write_text(f'#!/bin/sh\nexec {shlex.join(tool)} "$@"\n', encoding="utf-8")
        (folder / "inlay").chmod(0o755)
        (folder / "_inlay").symlink_to(script)
        (folder / "data").mkdir()
        for name in "rows.npy", "plain.txt", "with spaces.npy", "data/more.npy":
            (folder / name).touch()
        os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"
        os.environ.pop("INPUTRC", None)
        asked = Fish(folder, script) if shell == "fish" else Terminal(shell, folder, script)
        for typed, expected in (COMPLETED | LISTED).items():
            if typed in COMPLETED:
                found = asked.completed(typed)
            else:  # some list whole words, as typed
                found = sorted(word.rpartition("=")[2].replace("\\", "") for word in asked.listed(typed))
            if found != expected:
                failed += 1
                print(f"FAIL {typed!r} becomes {found!r}, not {expected!r}")
    print(f"completion in {shell}: {len(COMPLETED | LISTED) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
