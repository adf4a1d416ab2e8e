#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Extracts every message of the library, the file library, the command and the Python package from the sources, and
checks its form: at most two lines, states the allowed values and not just the error, no words specific to this project,
no final full stop.

    messages.py ROOT [--list]     --list prints all messages
"""
import ast
import re
import sys
from pathlib import Path

LINES = 2 * 120  # characters of two lines, including the replacements of %s

# Functions that print a message, by folder: the literals in their arguments, joined, are its text.
MAKERS = {
    "file": r"inlay_file_fail\w*|fail\w*|broken\w*|refuse\w*|reject\w*",
    "ggml": r"inlay_ggml_log",
    "tools": r"failed|misused|message",
    "python/src": r"PyErr_Format|PyErr_SetString|raise_\w+|refuse\w*|wrong_\w+",
}
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
VALUE = re.compile(r"%[-+ #0-9.*lhjztA-Za-z]|\{")
# Words that report an error without its cause, and words that this project avoids.
EMPTY = re.compile(r"\b(invalid|illegal|bad|malformed|wrong|unexpected|unsupported|error)\b(?! (id|token)\b)", re.IGNORECASE)
# In Python, only the message can name a value: it must do so, or say what to do.
HELPS = re.compile(r"%|\{|[:;,\"]|\\d|\b(needs?|requires?|must|neither)\b")
METAPHORS = re.compile(r"\b(anew|had better|dear|mend|spoil|unheld|leap)\b")


def arguments(text, at):
    """Returns the text between the parenthesis at `at` and the one that closes it."""
    depth, i = 0, at
    while i < len(text):
        literal = LITERAL.match(text, i)
        if literal:
            i = literal.end()
            continue
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        i += 1
        if depth == 0:
            return text[at:i]
    return text[at:]


def of_c(path, makers):
    text = re.sub(r"/\*.*?\*/|^#[^\n]*$", lambda m: "\n" * m.group().count("\n"), path.read_text(), flags=re.DOTALL | re.M)
    for call in re.finditer(rf"\b(?:{makers})(?=\()", text):
        inside = re.sub(r"\bPRI\w+\b", '"d"', arguments(text, call.end()))
        for joined in re.finditer(r'(?:"(?:[^"\\]|\\.)*"\s*)+', inside):
            message = "".join(LITERAL.findall(joined.group())).replace('\\"', '"').replace("\\n", "\n")
            if message.count(" ") > 1:
                yield text.count("\n", 0, call.start()) + 1, message


def of_python(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            parts = [part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else "{}"
                     for argument in node.exc.args for part in
                     (argument.values if isinstance(argument, ast.JoinedStr) else [argument])]
            yield node.lineno, "".join(parts)


def collect(root):
    for folder, makers in MAKERS.items():
        for path in sorted((root / folder).rglob("*.c")):
            for line, message in of_c(path, makers):
                yield f"{path.relative_to(root)}:{line}", message
    for path in sorted((root / "python/inlay").rglob("*.py")):
        for line, message in of_python(path):
            yield f"{path.relative_to(root)}:{line}", message
    for line, message in enumerate(LITERAL.findall((root / "src/base/status.c").read_text().split("sentences[]")[1])):
        yield f"src/base/status.c:{line}", message


def faults(message, complete=False):
    """Yields what is wrong with a message; `complete` if it has no prefix."""
    if len(VALUE.sub("x" * 8, message)) > LINES or message.count("\n") > 1:
        yield "takes more than two lines"
    if re.search(r"[^.]\.\s*$", message):
        yield "ends in a full stop"
    if EMPTY.search(message) and not re.search(r"\b(not|must|at most|at least|is no|has no|instead of)\b|[;:,] ", message):
        yield "says that something is wrong, and not what is allowed"
    if complete and message.count(" ") > 1 and not message.startswith(" ") and not HELPS.search(message):
        yield "names no value, and does not say what to do"
    if METAPHORS.search(message):
        yield "has a word that nobody else uses"


def main():
    root = Path(sys.argv[1])
    messages = list(collect(root))
    if "--list" in sys.argv:
        print(*(f"{where}: {message}" for where, message in messages), sep="\n")
        return 0
    assert list(faults("invalid argument")) and list(faults("x" * 300)) and list(faults("Done.")) and \
        list(faults("the file is closed", True)), "nothing is a fault"
    found = [f"{where}: {message!r} {fault}" for where, message in messages
             for fault in faults(message, where.startswith("python"))]
    print(*found, sep="\n")
    checked = {folder: sum(where.startswith(folder) for where, _ in messages) for folder in [*MAKERS, "python/inlay", "src"]}
    poor = [folder for folder, count in checked.items() if count < (5 if folder == "ggml" else 10)]
    print(*(f"{folder}: {count} messages" for folder, count in checked.items()), sep="\n")
    print(f"{len(messages) - len(found)} passed, {len(found) + len(poor)} failed, 0 skipped")
    return 1 if found or poor else 0


if __name__ == "__main__":
    sys.exit(main())
