# SPDX-License-Identifier: MIT
"""inlay convert: tables in model file formats have the same bytes as .npy files, and can be read back."""

import errno
import os
import pathlib
import re
import resource
import struct

from harness import (
    array, check, check_error, parse_gguf, parse_npy, parse_safetensors, read, run, safetensors, table, write,
)
from test_quantize import numbers, types

DIM = 512

# Types of elements, with the dtype of their scales; and with ggml's number.
SAFETENSORS = {"float32": ("F32",), "float16": ("F16",), "bfloat16": ("BF16",), "i8": ("I8", "F32"),
               "e4m3": ("F8_E4M3", "F32"), "e4m3_e8m0": ("F8_E4M3", "F8_E8M0")}
LIST = pathlib.Path(__file__).resolve().parents[1] / "tables" / "types_of_ggml.inc"
GGUF = {
    {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}.get(name, name.lower()): int(number)
    for name, number in re.findall(r'"(\w+)", (\d+), .* INLAY_', LIST.read_text(encoding="utf-8"))
}


def elements(path):
    """Returns the bytes of a .npy file after its header, or b"" if it doesn't exist."""
    return read(path)[128:] if os.path.exists(path) else b""


def convert(source, kind, out, *args):
    """Returns the report of a successful conversion."""
    result = run("convert", source, "--type", kind, "--out", out, "--force", *args)
    check(result.returncode == 0 and not result.stderr, f"convert to {kind} {args}", result.stderr)
    return result.stdout


def convert_to_npy(source, kind, directory):
    """Returns the report, elements and scales of a conversion to a .npy file."""
    out = os.path.join(directory, f"{kind}.reference.npy")
    return convert(source, kind, out), elements(out), elements(out[:-4] + ".scales.npy")


def test_formats(directory):
    """Each type in each format has the same bytes as in a .npy file, and the same report."""
    source = write(os.path.join(directory, "in.npy"), table(numbers(7, DIM)))
    for kind in sorted(set(SAFETENSORS) | set(GGUF)):
        report, data, scales = convert_to_npy(source, kind, directory)
        out = os.path.join(directory, kind)
        if kind in SAFETENSORS:
            check(convert(source, kind, out + ".safetensors", "--name", "wte.weight") == report, f"report of {kind}")
            check_safetensors(out + ".safetensors", "wte.weight", kind, 7, data, scales)
        if kind in GGUF:
            check(convert(source, kind, out + ".gguf", "--name", "token_embd.weight") == report, f"report of {kind}")
            check_gguf(out + ".gguf", "token_embd.weight", kind, 7, data)
    for kind in set(types()) - set(SAFETENSORS):
        check_error(run("convert", source, "--type", kind, "--out", "x.safetensors", "--name", "x"), 2,
                    f"{kind} in safetensors", f"--type {kind}: safetensors files cannot store it; they store float32, ")
    for kind in set(types()) - set(GGUF):
        check_error(run("convert", source, "--type", kind, "--out", "x.gguf", "--name", "x"), 2, f"{kind} in GGUF",
                    f"--type {kind}: GGUF files cannot store it; they store float32, ", "nvfp4")


def check_safetensors(path, name, kind, rows, data, scales, dim=DIM):
    found = parse_safetensors(read(path))
    wanted = {name: (SAFETENSORS[kind][0], (rows, dim), data)}
    if scales:
        stem = name[:-7] if name.endswith(".weight") else name
        wanted[stem + ".scale"] = (SAFETENSORS[kind][1], (rows, dim // 32) if kind == "e4m3_e8m0" else (rows,), scales)
    check(found == wanted, f"{path} holds {kind}", {key: value[:2] for key, value in found.items()})


def check_gguf(path, name, kind, rows, data, dim=DIM):
    found = parse_gguf(read(path))
    good = found[:3] == (name, GGUF[kind], (rows, dim)) and found[3] == data + bytes(-len(data) % 32)
    check(good, f"{path} holds {kind}", found[:3])


def test_pieces(directory):
    """Tables converted in several pieces, and small ones."""
    rows = numbers(997, 32) * 64 + numbers(11, 32)
    for name, source_rows, kind in ("many", rows, "i8"), ("odd", numbers(3, 64), "e4m3_e8m0"), ("narrow", numbers(3, 1), "float16"):
        source = write(os.path.join(directory, name + ".npy"), table(source_rows))
        out = os.path.join(directory, f"{name}.{kind}.safetensors")
        report, data, scales = convert_to_npy(source, kind, directory)
        check(convert(source, kind, out, "--name", "x") == report, f"{name} in {kind}")
        check_safetensors(out, "x", kind, len(source_rows), data, scales, len(source_rows[0]))
    out = os.path.join(directory, "many.gguf")
    convert(os.path.join(directory, "many.npy"), "q8_0", out, "--name", "x")
    check_gguf(out, "x", "q8_0", len(rows), convert_to_npy(os.path.join(directory, "many.npy"), "q8_0", directory)[1], 32)
    source = write(os.path.join(directory, "none.npy"), array("<f4", (0, 32), []))
    convert(source, "float16", os.path.join(directory, "none.safetensors"), "--name", "x")
    check_safetensors(os.path.join(directory, "none.safetensors"), "x", "float16", 0, b"", b"", 32)


def test_names(directory):
    """Names are written unchanged, or rejected."""
    source = write(os.path.join(directory, "in.npy"), table(numbers(2, 32)))
    out = os.path.join(directory, "x.safetensors")
    for name in 'a"b\\c', "\x1b[31m\x01", "Gr\u00fc\u00dfe.weight", "x" * 5000:
        convert(source, "i8", out, "--name", name)
        stem = name[:-7] if name.endswith(".weight") else name
        check(set(parse_safetensors(read(out))) == {name, stem + ".scale"}, f"the name {name[:20]!r}")
    convert(source, "q8_0", os.path.join(directory, "x.gguf"), "--name", "x" * 63)
    check(parse_gguf(read(os.path.join(directory, "x.gguf")))[0] == "x" * 63, "the longest name of GGUF")
    base = ("convert", source, "--type", "float16", "--out")
    for args, *needles in (((*base, "x.gguf", "--name", "x" * 64), "more than 63 bytes", "--name"),
                           ((*base, out, "--name", "__metadata__"), "__metadata__"),
                           ((*base, out, "--name", ""), "is not a tensor name"),
                           ((*base, out, "--name", b"\xff\x1b"), "\\xff", "not UTF-8"),
                           ((*base, out), "--name is missing"),
                           ((*base, "x.npy", "--name", "x"), "--name names a tensor")):
        check_error(run(*args), 2, f"names: {args[5:]}", *needles)


def test_refused(directory):
    """A failed conversion leaves the old file. test_quantize.py covers other errors."""
    source = write(os.path.join(directory, "in.npy"), table(numbers(4, 64)))
    before = sorted(os.listdir(directory) + ["out.gguf", "out.safetensors"])
    for kind, end in ("q8_0", ".gguf"), ("i8", ".safetensors"):
        out = write(os.path.join(directory, "out" + end), b"the old file")
        short = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (150, 150))
        check_error(run("convert", source, "--name", "x", "--type", kind, "--force", "--out", out, preexec_fn=short), 1,
                    "a full disk", "cannot write", "too large")
        check(read(out) == b"the old file", "the old file is left alone")
    check(sorted(os.listdir(directory)) == before, "nothing else is left", os.listdir(directory))
    # A pipe is written in order, which excludes scales.
    for kind, end in ("q8_0", ".gguf"), ("i8", ".safetensors"):
        pipe = os.path.join(directory, "pipe" + end)
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        result = run("convert", source, "--type", kind, "--out", pipe, "--name", "x")
        if kind == "q8_0":
            check(result.returncode == 0 and parse_gguf(os.read(reader, 4096))[2] == (4, 64), "a pipe", result.stderr)
        else:
            check_error(result, 1, "scales to a pipe", "cannot write", "pipe.safetensors", os.strerror(errno.ESPIPE))
        os.close(reader)


def test_models(directory):
    """Reading model files: every type, split tensors, several kinds of scales."""
    source = write(os.path.join(directory, "in.npy"), table(numbers(7, DIM)))
    for kinds, end in (SAFETENSORS, ".safetensors"), (GGUF, ".gguf"):
        for kind in kinds:
            check_back(directory, source, kind, end)
    test_parts(directory)
    test_factors(directory)
    test_mlx(directory)


def check_back(directory, source, kind, end):
    """Writes a type to a model file and reads it, as float32 and copied into another file."""
    out, back, copy = (os.path.join(directory, name) for name in (f"{kind}{end}", "back.npy", f"copy{end}"))
    whole = os.path.join(directory, "whole.npy")
    convert(source, kind, out, "--name", "wte.weight")
    convert(out, "float32", back, *(() if end == ".gguf" else ("--table", "wte.weight")))
    run("convert", source, "--type", kind, "--out", os.path.join(directory, "q.npy"), "--force")
    run("convert", os.path.join(directory, "q.npy"), "--table-type", kind, "--type", "float32", "--out", whole, "--force")
    check(read(back) == read(whole), f"{kind} from {end}")
    for name in "q.scales.npy", "q.npy":
        if os.path.exists(os.path.join(directory, name)):
            os.unlink(os.path.join(directory, name))
    report = convert(out, kind, copy, "--table", "wte.weight")
    check(read(copy) == read(out) and b"error   largest 0, root mean square 0\n" in report, f"a copy of {kind} in {end}")


def test_parts(directory):
    """Tensors that split the rows of one table."""
    rows = numbers(10, 32)
    packed = lambda part: struct.pack(f"<{32 * len(part)}f", *[value for row in part for value in row])
    path = write(os.path.join(directory, "parts.safetensors"), safetensors(
        {f"shard_{i}.weight": ("F32", (len(part), 32), packed(part))  # stored in reverse
         for i, part in reversed((*enumerate((rows[:4], rows[4:8], rows[8:])),))}))
    out = os.path.join(directory, "whole.gguf")
    convert(path, "float32", out, "--table", "shard_*.weight", "--name", "x")
    check_gguf(out, "x", "float32", 10, packed(rows), 32)
    convert(path, "float16", os.path.join(directory, "half.npy"), "--table", "shard_*.weight")
    check(parse_npy(read(os.path.join(directory, "half.npy")), "<f2")[0] == (10, 32), "parts as float16")
    check_error(run("convert", path, "--type", "float32", "--out", out, "--table", "shard_*.weight"), 2, "no name",
                "--table 'shard_*.weight' names several tensors")
    check_error(run("convert", path, "--type", "float32", "--out", out), 1, "several tables",
                "parts.safetensors' has more than one tensor that can be a table: choose one with --table")
    none = write(os.path.join(directory, "none.safetensors"), safetensors({"bias": ("F32", (32,), packed(rows[:1]))}))
    check_error(run("convert", none, "--type", "float32", "--out", out), 1, "no table",
                "none.safetensors' has no table: none of its tensors has rows and columns")
    check_error(run("convert", path, "--type", "float32", "--out", out, "--table", "nosuch\x1b[31m"), 1, "no such tensor",
                "nosuch")
    check_error(run("convert", path, "--type", "float32", "--out", out, "--table", "x", "--dim", "3"), 2, "--dim of a model",
                "--dim is only for .npy files")


def test_factors(directory):
    """A table with a single scale keeps its bytes, and gets that scale in every row."""
    data = bytes([0x38, 0x40, 0xB8, 0x7E] * 8)  # 1, 2, -1 and 448
    path = write(os.path.join(directory, "fp8.safetensors"), safetensors(
        {"wte.weight": ("F8_E4M3", (1, 32), data), "wte.weight_scale": ("F32", (1, 1), struct.pack("<f", 0.75))}))
    whole = os.path.join(directory, "factor.npy")
    convert(path, "float32", whole, "--table", "wte.weight")
    check(parse_npy(read(whole))[1] == [0.75, 1.5, -0.75, 336.0] * 8, "a scale of the table")
    out = os.path.join(directory, "rows.safetensors")
    report = convert(path, "e4m3", out, "--table", "wte.weight")
    check(parse_safetensors(read(out))["wte.weight"][2] == data and b"largest 0," in report, "FP8 keeps its bytes")
    again = os.path.join(directory, "again.npy")
    convert(out, "float32", again, "--table", "wte.weight")
    check(read(again) == read(whole), "and its values")


def test_mlx(directory):
    """The only table of a model is found next to its scales, and keeps its groups and bytes."""
    folder = os.path.join(directory, "mlx")
    os.mkdir(folder)
    pairs = [0.5, -1.0, 2.0, 3.0, 0.25, 1.0, 4.0, -8.0]  # scales and biases of two rows of two groups
    data = bytes(range(128))
    write(os.path.join(folder, "model.safetensors"), safetensors(
        {"e.biases": ("F16", (2, 2), struct.pack("<4e", *pairs[1::2])), "e.weight": ("U32", (2, 16), data),
         "e.scales": ("F16", (2, 2), struct.pack("<4e", *pairs[::2])), "codes": ("U8", (2, 3), bytes(6))}))
    out, zeros, other, back = (os.path.join(directory, f"mlx.{n}.npy") for n in range(4))
    check_error(run("convert", folder, "--type", "float32", "--out", back), 1, "MLX without config.json", "e.weight")
    write(os.path.join(folder, "config.json"), b'{"quantization": {"bits": 4, "group_size": 64}}')
    report = convert(folder, "u4_affine", out, "--table", "e.weight")
    check(b"error   largest 0, root mean square 0\n" in report and elements(out) == data, "MLX keeps its bytes", report)
    check(parse_npy(read(out[:-4] + ".scales.npy")) == ((2, 4), pairs), "and its scales")
    convert(folder, "u4_grouped", zeros, "--zeros")
    check(parse_npy(read(zeros[:-4] + ".scales.npy"))[0] == (2, 2), "the group of the table")
    convert(folder, "u4_affine", other, "--group", "32")
    check(parse_npy(read(other[:-4] + ".scales.npy"))[0] == (2, 8), "another group")
    convert(folder, "float32", back)
    numbers = [byte >> shift & 15 for byte in data for shift in (0, 4)]
    check(parse_npy(read(back))[1] == [q * pairs[i // 64 * 2] + pairs[i // 64 * 2 + 1] for i, q in enumerate(numbers)],
          "the only table of MLX")


def run_all(directory):
    for test in test_formats, test_pieces, test_names, test_refused, test_models:
        own = os.path.join(directory, test.__name__)
        os.mkdir(own)
        test(own)
