# SPDX-License-Identifier: MIT
"""Files that a command may write: never an input, under any name, and existing ones only with --force."""

import itertools
import json
import os
import struct

from harness import (
    check, check_error, draws_pictures, gguf, number_list, parse_npy, read, run, safetensors, table, write,
)

OLD = b"somebody's file"
ROWS = [[float(row * 32 + column) for column in range(32)] for row in range(4)]
TENSOR = struct.pack("<128f", *itertools.chain(*ROWS))


def make_inputs():
    """Makes files in the current folder for every option that takes one."""
    write("w.npy", table(ROWS))
    run("convert", "w.npy", "--type", "i8", "--out", "i8.npy")
    write("places.npy", table(ROWS))
    write("list.npy", number_list([1.0, 2.0]))
    write("list.txt", b"1\n0.5\n")
    write("words.txt", b"a b a")
    spec = {"vocab": 9, "length": 1, "mix": "xor", "multipliers": [[1]], "token_map": "required",
            "columns": [{"length": 1, "vector": 0, "modulus": 4}]}
    write("spec.json", json.dumps(spec).encode())
    write("map.npy", number_list(range(9), "<i4"))
    write("ids.npy", number_list([1, 2, 3], "<i8"))
    write("m.safetensors", safetensors({"wte.weight": ("F32", (4, 32), TENSOR)}))
    write("m.gguf", gguf({"token_embd.weight": (0, (4, 32), TENSOR)}))
    for part in range(3):  # the first has no tensors
        tensors = {f"rows.{part - 1}": (0, (4, 32), TENSOR)} if part else {}
        write(f"s-0000{part + 1}-of-00003.gguf",
              gguf(tensors, {"split.no": part, "split.count": 3, "split.tensors.count": 2}))
    os.mkdir("model")
    write("model/config.json", b'{"model_type": "gpt2"}')
    write("model/part.safetensors", safetensors(
        {"wte.weight": ("F32", (4, 32), TENSOR), "wpe.weight": ("F32", (4, 32), TENSOR)}))
    write("model/model.safetensors.index.json", json.dumps(
        {"weight_map": {"wte.weight": "part.safetensors", "wpe.weight": "part.safetensors"}}).encode())


def writers():
    """Yields (arguments up to the name of the output, the files that the command reads, suffixes of the output)."""
    words = ("embed", "--text-file", "words.txt", "--table", "i8.npy", "--positions", "learned:places.npy")
    embed_reads = ["words.txt", "i8.npy", "i8.scales.npy", "places.npy"]
    positions = ("table", "--dim", "4", "--positions", "list.npy", "--inv-freq", "@list.txt")
    range_of = ("table", "--dim", "4", "--positions", "0:3")
    yield (*words, "--out"), embed_reads, ""
    yield ("embed", "--text-file", "-", "--out"), ["words.txt"], ""
    yield (*positions, "--out"), ["list.npy", "list.txt"], ""
    yield (*range_of, "--rope", "longrope", "--factor", "2", "--original-length", "8", "--length", "4",
           "--short-factors", "@list.txt", "--long-factors", "list.npy", "--out"), ["list.npy", "list.txt"], ""
    if draws_pictures():
        yield (*words, "--plot"), embed_reads, ""
        yield (*positions, "--plot"), ["list.npy", "list.txt"], ""
    yield ("convert", "i8.npy", "--type", "e4m3", "--out"), ["i8.npy", "i8.scales.npy"], ".npy"
    for end in ".npy", ".safetensors", ".gguf":
        named = () if end == ".npy" else ("--name", "x")
        yield ("convert", "i8.npy", "--type", "float16", *named, "--out"), ["i8.npy", "i8.scales.npy"], end
    ngram = ("ngram", "--spec", "spec.json", "--token-map", "map.npy", "--ids-file", "ids.npy")
    yield (*ngram, "--out"), ["spec.json", "map.npy", "ids.npy"], ""
    yield (*ngram, "--table", "w.npy", "--out"), ["spec.json", "map.npy", "ids.npy", "w.npy"], ""
    model = [f"model/{name}" for name in ("config.json", "part.safetensors", "model.safetensors.index.json")]
    parts = [f"s-0000{part}-of-00003.gguf" for part in (1, 2, 3)]
    yield ("embed", "--model", "model", "--ids", "1", "--out"), model, ""
    yield ("convert", "m.safetensors", "--type", "i8", "--out"), ["m.safetensors"], ".safetensors"
    yield ("convert", "m.gguf", "--type", "q8_0", "--out"), ["m.gguf"], ".gguf"
    yield ("convert", parts[1], "--table", "rows.*", "--name", "x", "--type", "q8_0", "--out"), parts, ".gguf"
    yield ("embed", "--model", "m.safetensors", "--table", "wte.weight", "--ids", "1", "--out"), ["m.safetensors"], ""


def write_by(args, out, *more):
    """Runs a command, with words on standard input if it reads that."""
    with open("words.txt", "rb") as words:
        return run(*args, out, *more, stdin=words if "-" in args else b"")


def everything():
    """Returns all files and links below the current folder, with their contents."""
    paths = [os.path.join(folder, name) for folder, _, names in os.walk(".") for name in names]
    return {path: (os.readlink(path) if os.path.islink(path) else read(path), os.lstat(path).st_ino) for path in paths}


def test_inputs():
    """Every input of a command, by every name, with and without --force."""
    for args, inputs, end in writers():
        for name in inputs:
            names = ("itself", name), ("./", "./" + name), ("a hard link", "other" + end), ("a link", "other" + end)
            for how, out in names:
                if not out.endswith(end):
                    continue
                if how == "a hard link":
                    os.link(name, out)
                if how == "a link":
                    os.symlink(name, out)
                before = everything()
                for force in (), ("--force",):
                    result = write_by(args, out, *force)
                    read_as = "standard input" if "-" in args else name
                    check_error(result, 1, f"{' '.join(args)} {out}, {how} of {name} {force}", out, read_as,
                                "it is the same file as", "which this command reads")
                    check(everything() == before, f"nothing is touched: {args} {out}")
                if out == "other" + end:
                    os.unlink(out)


def test_existing():
    """Existing files that aren't inputs, including files of scales."""
    for args, _, end in writers():
        names = [f"new/x{end}"]
        os.mkdir("new")
        result = write_by(args, names[0])
        check(result.returncode == 0, f"{args}", result.stderr)
        names = [os.path.join("new", name) for name in sorted(os.listdir("new"))]
        wanted = {name: read(name) for name in names}
        for name in names:
            for other in names:
                os.unlink(other)
            write(name, OLD)
            before = everything()
            check_error(write_by(args, f"new/x{end}"), 1, f"{args}, {name} exists", f"'{name}'",
                        "it already exists; use --force to replace it")
            check(everything() == before, f"nothing is touched: {args} {name}")
            result = write_by(args, f"new/x{end}", "--force")
            check(result.returncode == 0 and sorted(os.listdir("new")) == [os.path.basename(n) for n in names],
                  f"{args}, {name} is replaced", result.stderr)
            check(all(read(other) == data for other, data in wanted.items()), f"as if it had not been there: {args}")
        for name in names:
            os.unlink(name)
        os.rmdir("new")


def test_streams():
    """Standard output can be an input; devices and pipes need no --force."""
    for args in (("embed", "--table", "w.npy", "--ids", "1"), ("embed", "--table", "w.npy", "--ids", "1", "--out", "-"),
                 ("embed", "--table", "w.npy", "--ids", "1", "--out", "/dev/stdout", "--force"),
                 ("convert", "w.npy", "--type", "float16", "--out", "-")):
        before = everything()
        with open("w.npy", "r+b") as file:
            result = run(*args, stdout=file)
        check_error(result, 1, f"{args} into its table", "standard output goes to 'w.npy', which this command reads")
        check(everything() == before, f"nothing is touched: {args}")
    small = ("embed", "--ids", "1 2 3", "--dim", "4")
    expect = run(*small, "--out", "-").stdout
    for _ in range(2):
        check(run(*small, "--out", "/dev/null").returncode == 0, "/dev/null")
        check(run(*small, "--out", "/dev/stdout").stdout == expect, "/dev/stdout, a pipe")
        with open("redirected", "wb") as file:
            result = run(*small, "--out", "/dev/stdout", stdout=file)
        check(result.returncode == 0 and read("redirected") == expect, "/dev/stdout, a file", result.stderr)
    check(parse_npy(expect)[0] == (1, 3, 4), "the result")
    os.unlink("redirected")
    with open("gone", "wb") as file:
        os.unlink("gone")
        before = everything()
        result = run(*small, "--out", f"/dev/fd/{file.fileno()}", "--force", pass_fds=(file.fileno(),))
    check_error(result, 1, "a file without a name", "cannot write", "No such file")
    check(everything() == before, "no file has the name of one that is gone")


def test_long_paths():
    """A path that is too long has a beginning that is the name of another file."""
    for length in range(4090, 4110):
        path = "./" * (length // 2 - 5) + "wanted.npy"[length % 2:]
        write("w", OLD)
        write("wanted.np", OLD)
        before = everything()
        result = run("embed", "--ids", "1", "--dim", "4", "--out", path, "--force")
        if len(path) >= 4096:
            check_error(result, 1, f"a path of {len(path)} bytes", "cannot write", "File name too long")
            check(everything() == before, "nothing is touched")
        else:
            check(result.returncode == 0 and os.path.exists(path), "a path that fits", result.stderr)
            os.unlink(path)
    os.unlink("w")
    os.unlink("wanted.np")


def test_options():
    """--force has an effect or is rejected."""
    rows = ("table", "--dim", "2", "--positions", "0:2")
    for args in ("embed", "--ids", "1"), ("embed", "--ids", "1", "--explain"), rows, (*rows, "--compare", "mae"):
        check_error(run(*args, "--force"), 2, f"{args} --force", "--force", "no option names a file")
    check_error(run("embed", "--text", "a", "--print-vocab", "--force"), 2, "--print-vocab --force", "drop --force")
    check_error(run("table", "--dim", "2", "--rope", "default", "--print-frequencies", "--force"), 2,
                "--print-frequencies --force", "drop --force")


def run_all(directory):
    before = os.getcwd()
    os.chdir(directory)
    make_inputs()
    for test in test_inputs, test_existing, test_streams, test_long_paths, test_options:
        test()
    os.chdir(before)
