# SPDX-License-Identifier: MIT
"""Tests the completion requests of shells, and compares the man page with --help. test_shells.py uses real shells."""

import pathlib
import re

from harness import check, run

PAGE = pathlib.Path(__file__).resolve().parents[2] / "tools" / "inlay.1"
ROTARY = "ROTARY TABLES"  # the only section of one command without its name

# Words of a line, and all completions at its end.
LINES = [
    (("conv",), ["convert"]),
    (("--v",), ["--version"]),
    (("x",), []),
    (("embed", "x"), []),
    (("embed", "--ta"), ["--table", "--table-type"]),
    (("embed", "--text", "--ta"), []),  # a text
    (("embed", "--text", "--table", "fi"), []),
    (("embed", "--table", ""), ["fixed", "random", "*.npy"]),
    (("embed", "--table", "fixed", "--table-t"), ["--table-type"]),
    (("embed", "--table=fi"), ["--table=fixed", "--table=*.npy"]),
    (("embed", "--print-vocab="), []),
    (("embed", "--frobnicate="), []),
    (("embed", "--positions", "l"), ["learned:"]),
    (("embed", "--positions", "learned:a"), ["learned:*.npy"]),
    (("embed", "--positions=learned:"), ["--positions=learned:*.npy"]),
    (("embed", "--dim", ""), []),
    (("embed", "--plot", "a"), ["*.png"]),
    (("embed", "--model", "a"), ["*"]),
    (("table", "--inv-freq", "a"), ["*"]),
    (("table", "--recipe", "torch"), ["torch-exp", "torch-div"]),
    (("table", "--shift", ""), ["0", "1"]),
    (("convert", "--type", "q8"), ["q8_0"]),
    (("convert", "--type=q8"), ["--type=q8_0"]),
    (("convert", "--group", ""), ["16", "32", "64", "128"]),
    (("convert", ""), ["*"]),
    (("convert", "a"), ["*"]),
    (("convert", "a", "b"), []),
    (("convert", "--type", "i8", ""), ["*"]),
    (("convert", "a", "--zer"), ["--zeros"]),
    (("model", "a", ""), ["--prefix", "--help"]),
]


def answers(*words):
    """Returns the offered words, without their meanings."""
    result = run("--complete", *words)
    check(result.returncode == 0 and not result.stderr, f"completion of {words}", result.stderr)
    return [line.partition("\t")[0] for line in result.stdout.decode().splitlines()]


def named(text):
    return set(re.findall(r"--[a-z][a-z-]*", text))


def choices(argument):
    """Returns the completions for an argument of the page, if it lists choices."""
    found = []
    for word in argument.split("|"):
        fixed, file, end = re.fullmatch(r" *([a-z0-9:-]*)(FILE|)(.*?) *", word).groups()
        if fixed and not end or file:
            found.append(fixed or "*" + end)
    return sorted(set(found))


def sections():
    """Returns the text of each section of the page, and the options of its tags with their arguments."""
    text = re.sub(r"\\f[A-Z]", "", PAGE.read_text(encoding="ascii")).replace("\\-", "-")
    for section in re.split(r"^\.SH ", text, flags=re.MULTILINE)[1:]:
        tags = " ".join(re.findall(r"^\.TP\n(\.B.*)", section, re.MULTILINE)).replace('"', "")
        yield section.partition("\n")[0], section, re.findall(r"(--[a-z-]+)([^,.]*(?:\.[a-z]+)?)", tags)


def test_page(commands):
    """The page lists the options and choices of every command, and no others."""
    found = list(sections())
    for command in commands:
        own = [part for part in found if part[0].endswith(f" OF {command.upper()}")
               or (command, part[0]) == ("table", ROTARY)]
        common = [part for part in found if " OF " not in part[0] and part[0] != ROTARY]
        options = set(answers(command, "--"))
        listed = re.findall(r"^  (--[a-z-]+)", run(command, "--help").stdout.decode(), re.MULTILINE)
        check(sorted(options) == sorted(listed), f"options of {command} --help", listed)
        check(options - {"--help"} <= named("".join(text for _, text, _ in own + common)), f"page: options of {command}")
        others = {option for _, _, tags in own for option, _ in tags} - options
        check(not others, f"page: other options in sections of {command}", others)
        tags = {option: argument for _, _, tags in common + own for option, argument in tags}
        for option, argument in tags.items():
            if option in options and choices(argument):
                check(choices(argument) == sorted(answers(command, option, "")), f"page: {command} {option} {argument}",
                      answers(command, option, ""))
    page = PAGE.read_text(encoding="ascii").replace("\\-", "-")
    for name in answers("table", "--recipe", ""):
        check(re.search(rf"\b{name}\b", page), f"page: table --recipe {name}")


def run_all(_):
    commands = [word for word in answers("") if not word.startswith("-")]
    help_text = run("--help").stdout.decode()
    check(commands == re.findall(r"^  ([a-z]+)  ", help_text, re.MULTILINE) and len(commands) > 5, "commands", commands)
    check(answers() == answers(""), "completion of nothing")
    for words, expected in LINES:
        check(answers(*words) == expected, f"completion of {words}", answers(*words))
    for command in commands:
        line = run("--complete", command, "--he").stdout.decode()
        check(line == "--help\tprint help\n", f"completion of {command} --he", line)
    check(b"embed\ttext or token ids" in run("--complete", "em").stdout, "commands have meanings")
    check(b"--dim\tcolumns" in run("--complete", "table", "--di").stdout, "options have meanings")
    test_page(commands)
