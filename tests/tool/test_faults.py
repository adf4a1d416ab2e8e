# SPDX-License-Identifier: MIT
"""System faults: interrupted and short reads, late disk errors, signals at the worst moment, closed streams, dangling
links, and two outputs to one file."""

import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import time

from harness import (
    COMMAND, TIMEOUT, array, check, check_error, draws_pictures, has_threads, memory_limit, number_list, parse_npy,
    png_size, read, run, table, write,
)

SMALL = ("embed", "--ids", "1 2 3", "--dim", "4")
OLD = b"the old file"


def build_faults(directory):
    """Returns the path of faults.c as a library to preload, or None if the command can't run with it."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if len(COMMAND) > 1 or compiler is None:
        return None
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "faults.c")
    library = os.path.join(directory, "faults.so")
    built = subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], capture_output=True)
    if built.returncode != 0:
        return None
    # Preloading fails with emulators, sanitizers, static commands and other architectures.
    probe = run("--version", env={"LD_PRELOAD": library, "INLAY_FAULT": "probe 1 0"})
    return library if probe.returncode == 0 and probe.stderr == "faults can be injected\n" else None


def test_faults(directory):
    library = build_faults(directory)
    if library is None:
        print("skipped: faults of the system are not injected, as the command cannot run with a preloaded library")
        return
    faulty = lambda fault, *args, **more: run(*args, env={"LD_PRELOAD": library, "INLAY_FAULT": fault}, **more)
    test_reading(directory, faulty)
    test_allocating(directory, faulty)
    test_committing(directory, faulty)
    test_signals(directory, faulty)


def test_reading(directory, faulty):
    path = write(os.path.join(directory, "rows.npy"), table([[1.0, 2.0], [3.0, 4.0]]))
    rows = ("embed", "--ids", "1 0", "--table", path, "--positions", "none", "--out", "-")
    whole = run(*rows).stdout
    check(parse_npy(whole)[1] == [3.0, 4.0, 1.0, 2.0], "a table from a file")
    text = ("embed", "--text-file", "-", "--print-vocab")
    for fault in f"read 1 {errno.EINTR}", f"read 2 {errno.EINTR}", "read 1 short", "read 2 short":
        result = faulty(fault, *rows)
        check(result.returncode == 0 and result.stdout == whole, f"{fault}: a table", result.stderr)
        result = faulty(fault, *text, stdin=b"a b b")
        check(result.stdout == b"0\t\n1\t[UNK]\n2\tb\n3\ta\n", f"{fault}: a text", result.stderr)
    check_error(faulty("read 2 end", *rows), 1, "a table that shrinks", "shrank while it was read")
    check_error(faulty("read 1 end", *rows), 1, "a table that is empty when read", "does not begin")
    for number in 1, 2:
        check_error(faulty(f"read {number} {errno.EIO}", *rows), 1, f"read {number} fails", "cannot read", "rows.npy")
    test_reading_spec(directory, faulty)
    test_reading_directory(os.path.join(directory, "model"), path, faulty)


def test_reading_directory(folder, path, faulty):
    os.mkdir(folder)
    shutil.copy(path, folder)
    check(run("model", folder).returncode == 0, "the model of a directory")
    for number in 1, 3:
        check_error(faulty(f"readdir {number} {errno.EIO}", "model", folder), 1, f"name {number} of a directory",
                    "cannot read it", os.strerror(errno.EIO))
    shutil.rmtree(folder)


def test_reading_spec(directory, faulty):
    path = write(os.path.join(directory, "spec.json"),
                 b'{"vocab": 9, "length": 1, "mix": "xor", "multipliers": [[1]],\n'
                 b'"columns": [{"length": 1, "vector": 0, "modulus": 5, "offset": 10}]}')
    ids = ("ngram", "--spec", path, "--ids", "4 5 6")
    for fault in f"read 1 {errno.EINTR}", "read 1 short", "read 2 short":
        result = faulty(fault, *ids)
        check(result.stdout == b"14\n10\n11\n", f"{fault}: a spec", result.stderr)
    check_error(faulty("read 1 end", *ids), 1, "an empty spec", "spec.json", "is not JSON")
    check_error(faulty(f"read 1 {errno.EIO}", *ids), 1, "a spec that is not read", "cannot read", "spec.json")


def test_allocating(directory, faulty):
    """Every large allocation of a command fails once, also after output has started."""
    if memory_limit() is None:
        print("skipped: allocations that fail, as the command has an allocator of its own, a sanitizer's")
        return
    many = 200_000
    name = lambda file: os.path.join(directory, file)
    out = name("out.npy")
    zeros = write(name("zeros.npy"), number_list([0] * many, "<i8"))
    digits = write(name("zeros.txt"), b"0 " * many)
    lines = write(name("lines.txt"), b"1\n" * many)
    floats = write(name("floats.npy"), number_list([0] * many, "<f4"))
    rows = write(name("rows.npy"), array("<f4", (many, 2), [0] * (2 * many)))
    commands = {
        "a table": ("embed", "--ids", "0", "--table", rows, "--out", out),
        "a random table": ("embed", "--ids", "0", "--vocab", str(many), "--dim", "2", "--out", out),
        "positions of a text": ("table", "--positions", "@" + lines, "--dim", "1", "--out", out),
        "positions of .npy": ("table", "--positions", floats, "--dim", "1", "--out", out),
    }
    spec = {"vocab": many, "length": 1, "mix": "xor", "multipliers": [[1]],
            "columns": [{"length": 1, "vector": 0, "modulus": 5}]}
    ngram = lambda file, more, *args: ("ngram", "--spec", write(name(file), json.dumps({**spec, **more}).encode()),
                                       *args, "--out", out)
    commands["a spec and ids of a text"] = ngram("1.json", {"resets": [0] * many}, "--ids-file", digits)
    commands["ids of .npy"] = ngram("2.json", {}, "--ids-file", zeros)
    commands["a token map"] = ngram("3.json", {"token_map": "required"}, "--token-map", zeros, "--ids", "0")
    before = sorted(os.listdir(directory))
    for what, args in commands.items():
        failures = 0
        while (result := faulty(f"allocate {failures + 1} {errno.ENOMEM}", *args)).returncode != 0 and failures < 40:
            failures += 1
            check_error(result, 1, f"allocation {failures} of {what} fails", "out of memory: ")
            check(sorted(os.listdir(directory)) == before, f"allocation {failures} of {what} leaves nothing")
        check(1 <= failures < 40, f"{what}: {failures} allocations fail", result.stderr)
        os.unlink(out)


def test_committing(directory, faulty):
    out = write(os.path.join(directory, "out.npy"), OLD)
    convert = ("convert", write(os.path.join(directory, "rows.npy"), table([[1.0, 2.0]])), "--type", "float16")
    before = sorted(os.listdir(directory))
    for fault, words in ((f"fsync 1 {errno.EIO}", os.strerror(errno.EIO)),
                         (f"fsync 1 {errno.ENOSPC}", os.strerror(errno.ENOSPC)),
                         (f"rename 1 {errno.EACCES}", os.strerror(errno.EACCES)),
                         (f"create 1 {errno.EROFS}", os.strerror(errno.EROFS))):
        for args in SMALL, ("table", "--dim", "4", "--positions", "0:3"), convert:
            check_error(faulty(fault, *args, "--out", out, "--force"), 1, f"{fault}: {args[0]}", "cannot write", words)
            check(read(out) == OLD and sorted(os.listdir(directory)) == before, f"{fault} leaves the old file alone")
    # If a name is taken, the next one is tried.
    result = faulty(f"create 1 {errno.EEXIST}", *SMALL, "--out", out, "--force")
    check(result.returncode == 0 and parse_npy(read(out))[0] == (1, 3, 4), "a temporary name that is taken")
    check(sorted(os.listdir(directory)) == before, "nothing else is left", os.listdir(directory))
    os.unlink(out)
    check(faulty(f"link 0 {errno.EPERM}", *convert, "--out", out).returncode == 0, "a file system without hard links")
    check(sorted(os.listdir(directory)) == before, "nothing else is left", os.listdir(directory))
    os.unlink(out)
    test_committing_two(directory, faulty)


def test_committing_two(directory, faulty):
    """A table and its scales: nothing is replaced before both are complete."""
    source = write(os.path.join(directory, "rows.npy"), table([[1.0, 2.0], [3.0, 4.0]]))
    out = write(os.path.join(directory, "i8.npy"), OLD)
    scales = write(os.path.join(directory, "i8.scales.npy"), OLD)
    args = ("convert", source, "--type", "i8", "--out", out, "--force")
    before = sorted(os.listdir(directory))
    for call in "create 1", "create 2", "fsync 1", "fsync 2", "rename 1":
        check_error(faulty(f"{call} {errno.EIO}", *args), 1, f"{call}: convert", "cannot write", os.strerror(errno.EIO))
        check(read(out) == read(scales) == OLD, f"{call} leaves both old files alone")
        check(sorted(os.listdir(directory)) == before, f"{call} leaves no other file", os.listdir(directory))
    check_error(faulty(f"rename 2 {errno.EIO}", *args), 1, "rename 2", "cannot write", f"'{out}'")
    check(read(out) == OLD and sorted(os.listdir(directory)) == before, "the second file stays", os.listdir(directory))
    number = int(signal.SIGTERM)
    result = faulty(f"create 2 signal {number}", *args,
                    preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
    check(result.returncode == -number and read(out) == OLD, "SIGTERM at the second file", result.stderr)
    check(sorted(os.listdir(directory)) == before, "SIGTERM leaves no other file", os.listdir(directory))
    result = run(*args)
    check(result.returncode == 0 and parse_npy(read(out), "|i1")[0] == (2, 2), "both files", result.stderr)


def test_signals(directory, faulty):
    """A signal right after the temporary file was created."""
    out = write(os.path.join(directory, "out.npy"), OLD)
    before = sorted(os.listdir(directory))
    for name in "SIGHUP", "SIGINT", "SIGTERM":
        number = int(getattr(signal, name))
        heed = lambda number=number: signal.signal(number, signal.SIG_DFL)  # even if the tests run under nohup
        result = faulty(f"create 1 signal {number}", *SMALL, "--out", out, "--force", preexec_fn=heed)
        check(result.returncode == -number, f"{name} ends the process", result.returncode)
        check(read(out) == OLD and sorted(os.listdir(directory)) == before, f"{name} leaves nothing", os.listdir(directory))
        ignore = lambda number=number: signal.signal(number, signal.SIG_IGN)
        result = faulty(f"create 1 signal {number}", *SMALL, "--out", out, "--force", preexec_fn=ignore)
        check(result.returncode == 0 and read(out) != OLD, f"{name} that the parent ignores is ignored", result.stderr)
        write(out, OLD)


def wait_for(condition):
    deadline = time.monotonic() + TIMEOUT
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)


def test_nohup(directory):
    """SIGHUP arrives before SIGTERM, and must not end the process."""
    out = os.path.join(directory, "out.npy")
    ignore = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
    args = ["table", "--dim", "65536", "--positions", "0:1000000", "--out", out]
    process = subprocess.Popen(COMMAND + args, preexec_fn=ignore)
    wait_for(lambda: os.listdir(directory))
    process.send_signal(signal.SIGSTOP)
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGCONT)
    check(process.wait(TIMEOUT) == -signal.SIGTERM, "SIGHUP stays ignored under nohup", process.returncode)
    check(os.listdir(directory) == [], "SIGTERM leaves nothing")


def test_closed_streams(directory):
    """Files opened later must not become a standard stream."""
    out = os.path.join(directory, "out.npy")
    expect = run(*SMALL, "--out", "-").stdout
    close = lambda *files: {"preexec_fn": lambda: [os.close(file) for file in files], "stdout": None}
    for files in (0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2):
        write(out, OLD)
        result = run(*SMALL, "--out", out, "--force", **close(*files))
        check(result.returncode == 0 and read(out) == expect, f"closed at the start: {files}", result.stderr)
    check_error(run(*SMALL, "--explain", **close(1)), 1, "a plan to a closed stdout", "cannot write standard output")
    check_error(run("embed", "--text-file", "-", **close(0)), 1, "a closed stdin", "cannot read", "standard input")


def test_links(directory):
    inner = os.path.join(directory, "inner")
    os.mkdir(inner)
    target = os.path.join(inner, "target.npy")
    for name, text in ("relative", "inner/target.npy"), ("absolute", target), ("chain", "relative"):
        link = os.path.join(directory, name)
        os.symlink(text, link)
        what = f"a dangling link, {name}"
        check_error(run(*SMALL, "--out", link, "--force"), 1, what, "cannot write", "a symbolic link to a file that does not")
        write(target, OLD)
        result = run(*SMALL, "--out", link, "--force")
        good = os.path.islink(link) and parse_npy(read(target))[0] == (1, 3, 4)
        check(result.returncode == 0 and good, f"a link to a file, {name}", result.stderr)
        os.unlink(target)
    loop = os.path.join(directory, "loop.npy")
    os.symlink("loop.npy", loop)
    check_error(run(*SMALL, "--out", loop), 1, "a link to itself", "cannot write", "a symbolic link to a file that does not")
    check_error(run(*SMALL, "--out", "/nonexistent/x.npy"), 1, "a folder that does not exist", "No such file")


def test_one_file(directory):
    """--out and --plot to the same file or pipe."""
    if not draws_pictures():
        return
    shared = os.path.join(directory, "shared")
    for out, plot in ("/dev/stdout", "-"), ("-", "/dev/stdout"), ("/dev/stdout", "/proc/self/fd/1"):
        what = f"--out {out} --plot {plot}"
        check_error(run(*SMALL, "--out", out, "--plot", plot), 2, f"{what} to a pipe", "--out and --plot both write")
        with open(shared, "wb") as file:
            result = run(*SMALL, "--out", out, "--plot", plot, stdout=file)
        check(result.returncode == 2 and read(shared) == b"", f"{what} to a file", result.stderr)
    for out, plot in ("same", "same"), ("same", "./same"), (os.path.join(directory, "same"), "same"), ("-", "-"):
        check_error(run(*SMALL, "--out", out, "--plot", plot, cwd=directory), 2, f"--out {out} --plot {plot}", "both write")
        check(not os.path.exists(os.path.join(directory, "same")), "nothing is written")
    os.symlink("something", os.path.join(directory, "link"))
    write(os.path.join(directory, "something"), OLD)
    args = ("--out", "link", "--plot", "something", "--force")
    check_error(run(*SMALL, *args, cwd=directory), 2, "a link and its target", "both write")
    check(run(*SMALL, "--out", "/dev/null", "--plot", "/dev/null").returncode == 0, "/dev/null takes both")
    result = run(*SMALL, "--out", shared, "--plot", "-", "--force")
    check(png_size(result.stdout) and parse_npy(read(shared))[0] == (1, 3, 4), "a file and a pipe", result.stderr)


def test_thread_limit():
    """Threads that can't be started are an error, not a hang."""
    limit = memory_limit()
    if limit is None or not has_threads():
        print("skipped: threads that do not start, which takes threads and a limit of memory")
        return
    small_stacks = lambda: (limit(), resource.setrlimit(resource.RLIMIT_STACK, (8 << 20, 8 << 20)))
    check_error(run(*SMALL, "--threads", "1024", preexec_fn=small_stacks), 1, "1024 threads in 1 GiB",
                "--threads 1024: the system cannot start that many")


def run_all(directory):
    for test in test_faults, test_nohup, test_closed_streams, test_links, test_one_file:
        own = os.path.join(directory, test.__name__)
        os.mkdir(own)
        test(own)
    test_thread_limit()
