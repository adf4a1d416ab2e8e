# SPDX-License-Identifier: MIT
"""Races for the names of an output: before each system call of a command, another process renames files.

Whatever happens when, an input keeps a name and its contents, so does a file that is not to be replaced, and no temporary
file stays behind.
"""

import ctypes
import itertools
import json
import os
import re
import signal
import struct
import subprocess
import sys

from harness import COMMAND, array, check, memory_limit, number_list, read, safetensors, table, write

TRACEME, CONTINUE, SYSCALL = 0, 7, 24  # requests of ptrace
LIBC = ctypes.CDLL(None, use_errno=True)

ROWS = [[float(row * 8 + column) for column in range(8)] for row in range(3)]
OTHER = b"somebody's file"


def ptrace(request, process, number=0):
    if LIBC.ptrace(request, process, None, ctypes.c_void_p(number)) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def trace(args, actions, source=None, after=None):
    """Runs the command and does actions {number: function} before its system calls. Returns (exit code, numbers of the
    calls with the file `source`, a descriptor, open or a temporary file there). An action of after {number: earlier call}
    is left out unless that is so at the earlier call: a command may make more calls in one run than in another before it
    opens its input, and until then the input is a file as any other."""
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(COMMAND + list(args), preexec_fn=lambda: ptrace(TRACEME, 0), **quiet)
    last = max(actions, default=sys.maxsize)
    stops, busy = -1, []  # it stops once when it begins, then at the entry and the exit of each call
    while True:
        _, status = os.waitpid(process.pid, 0)
        if not os.WIFSTOPPED(status):
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, busy
        stops += 1
        entered = stops // 2 if stops % 2 == 1 else None
        looks = source is not None and entered is not None and (after is None or entered in after.values())
        if looks and (temporaries() or is_open(process.pid, source)):
            busy.append(entered)
        if entered in actions and (entered not in after or after[entered] in busy):
            actions[entered]()
        request = SYSCALL if (stops + 1) // 2 <= last else CONTINUE
        ptrace(request, process.pid, 0 if os.WSTOPSIG(status) == signal.SIGTRAP else os.WSTOPSIG(status))


def temporaries():
    """The names of temporary files in the current folder."""
    return [name for name in os.listdir(".") if re.search(r"\.\d+\.\d+$", name)]


def is_open(process, file):
    """Whether a process has the file of a descriptor open."""
    return any(os.path.samestat(os.stat(entry.path), os.stat(file)) for entry in os.scandir(f"/proc/{process}/fd"))


def traces():
    """Whether this system and this build of the command let themselves be traced."""
    if len(COMMAND) > 1 or memory_limit() is None:
        return False
    try:
        return trace(("--version",), {})[0] == 0 and os.path.isdir("/proc/self/fd")
    except (OSError, subprocess.SubprocessError):
        return False


class Folder:
    """The current folder with files {name: content} that the command reads and with old files or a link to a device where
    it writes, or nothing; and what another process does to the first of both."""

    def __init__(self, inputs, outs, old):
        for name in os.listdir("."):
            os.unlink(name)
        self.contents = list(inputs.values())
        self.inputs = [open(write(name, content), "rb") for name, content in inputs.items()]
        self.out, self.spare = outs[0], map("kept {}".format, itertools.count())
        self.others = [open(write(name, OTHER), "rb") for name in outs if old == "a file"]
        if old == "a device":
            os.symlink("/dev/null", self.out)

    def name_of_input(self, number=0):
        inode = os.fstat(self.inputs[number].fileno()).st_ino
        return next(name for name in os.listdir(".") if os.lstat(name).st_ino == inode)

    def put(self, make):
        """Gives the name of the output in one step to what make() creates. Whatever has it gets another name before."""
        if os.path.lexists(self.out):
            os.link(self.out, next(self.spare), follow_symlinks=False)
        make("made")
        os.rename("made", self.out)

    def hard_link(self):
        self.put(lambda name: os.link(self.name_of_input(), name))

    def link(self):
        self.put(lambda name: os.symlink(self.name_of_input(), name))

    def move(self):
        self.put(lambda name: os.rename(self.name_of_input(), name))

    def move_last(self):
        self.put(lambda name: os.rename(self.name_of_input(-1), name))

    def swap(self, number=0):
        name = self.name_of_input(number)
        self.put(lambda made: os.rename(name, made))
        write(name, self.contents[number])

    def swap_last(self):
        self.swap(-1)

    def other(self):
        self.put(lambda name: write(name, OTHER))
        self.others.append(open(self.out, "rb"))

    def occupy(self):
        """Gives the name of the output and the temporary one to other files."""
        self.other()
        for name in temporaries():
            self.others.append(open(write("made", OTHER), "rb"))
            os.rename("made", name)

    def remove(self):
        if os.path.lexists(self.out):
            os.rename(self.out, next(self.spare))

    def check(self, what, force, again):
        for file, content in zip(self.inputs, self.contents):
            with file:
                kept = os.fstat(file.fileno()).st_nlink > 0 and file.read() == content
                check(kept, f"{what}: an input is lost")
        for file in self.others:
            with file:
                kept = os.fstat(file.fileno()).st_nlink > 0 and file.read() == OTHER
                check(kept or force, f"{what}: a file is replaced without --force")
        left = [name for name in temporaries() if read(name) != OTHER]  # occupy() puts that there
        if again:  # an input may have the temporary name then, but nothing else
            left = [name for name in left if read(name) not in self.contents]
        check(not left, f"{what}: temporary files stay", left)


ACTIONS = ("hard_link", "link", "move", "swap", "other", "occupy", "remove")


def race(args, folder, actions, busy=()):
    """Runs the command with actions {call: name of one}. Returns the numbers of the calls with the input open or a
    temporary file there; `busy` are those of a run without actions, from which on the actions are done."""
    what = f"{' '.join(args)}: {', '.join(f'{name} before call {call}' for call, name in actions.items())}"
    functions = {call: getattr(folder, name) for call, name in actions.items()}
    after = {call: max(i for i in busy if i <= call) for call in actions if call <= max(busy)} if actions else None
    code, busy = trace(args, functions, folder.inputs[0].fileno(), after)
    check(code in (0, 1), f"{what}: ends", code)
    folder.check(what, "--force" in args, len(actions) > 1)
    return busy


def cases():
    """(arguments, inputs, outputs, actions)."""
    convert = ("convert", "in.npy", "--out", "out.npy", "--type")
    source = {"in.npy": table(ROWS)}
    yield (*convert, "float16"), source, ["out.npy"], ACTIONS
    # Scales are placed before the rest.
    two = {"in.npy": array("|i1", (3, 8), range(24)), "in.scales.npy": number_list([1.0, 2.0, 3.0], "<f4")}
    yield (*convert, "i8_inverse"), two, ["out.npy", "out.scales.npy"], ("move", "other")
    tensor = struct.pack("<24f", *[value for row in ROWS for value in row])
    part = {name: safetensors({name: ("F32", (3, 8), tensor)}) for name in ("x", "y")}
    rows_of = ("convert", "--table", "x", "--type", "float16", "--out", "out.gguf")
    yield (*rows_of, "in.safetensors"), {"in.safetensors": part["x"]}, ["out.gguf"], ("move", "swap")
    index = {"weight_map": {name: f"{name}.safetensors" for name in part}}
    # The one that is opened last stands first: races begin when it is open.
    shards = {f"{name}.safetensors": part[name] for name in ("y", "x")}
    shards["in.index.json"] = json.dumps(index).encode()
    yield (*rows_of, "in.index.json"), shards, ["out.gguf"], ("swap", "swap_last")


def test_races():
    for args, inputs, outs, actions in cases():
        forced = (*args, "--force")
        for command, old in (args, None), (args, "a device"), (forced, None), (forced, "a file"):
            busy = race(command, Folder(inputs, outs, old), {})
            end = max(busy) + 20  # a device is opened behind the inputs
            for action, call in itertools.product(actions, range(min(busy), end)):
                race(command, Folder(inputs, outs, old), {call: action}, busy)
            # The last calls with a temporary file are those that rename: another action before the first is undone.
            calls = range(max(min(busy), max(busy) - 12), max(busy) + 1)
            for call, later, action in itertools.product(calls, (1, 2, 3), ("other", "move_last")):
                if old == "a file":
                    race(command, Folder(inputs, outs, old), {call: "move", call + later: action}, busy)


def run_all(directory):
    if not traces():
        print("skipped: races at each system call, as the command cannot be traced")
        return
    before = os.getcwd()
    os.chdir(directory)
    test_races()
    os.chdir(before)
