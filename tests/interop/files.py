#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the model files that libinlay-file accepts with the safetensors package and the gguf package of llama.cpp.

    files.py [COUNT [SEED]]

Run by `./dev interop`. Good files with random tensors are broken in random ways, COUNT of
each format. Both readers must accept a file, with the same names, types, shapes and data, or both must reject it,
unless the reason is in the tables below. The exit status is 1 otherwise, with a line "BROKEN ..." for each.
"""
import collections
import json
import pathlib
import random
import re
import signal
import struct
import sys
import tempfile

import numpy
import safetensors

import inlay
from compared import broken, finish
from formats import gguf

# Messages of libinlay-file for files that only the safetensors package accepts, with the reasons.
STRICTER_SAFETENSORS = {
    r"nested too deeply": "keys of later versions are skipped, but only 4 levels of them",
    r"an escape that is not allowed": "U+0000 in names and keys, which would end a C string",
    r"an integer is above 2\^63 - 1": "sizes of an empty tensor can be that large elsewhere; here they are int64 for users",
    r"an array has too many numbers": "more than 8 dimensions, which no layer has",
    r"__metadata__: an object is expected": "null instead of an object, which no writer writes",
    r"an object is expected": "the reference also takes a tensor as an array of its three values",
    r"its shape overflows": "2^64 elements times a size of 0",
}
# Messages of the safetensors package for files that only libinlay-file accepts.
LOOSER_SAFETENSORS = {}

# Same for GGUF. The package reads nothing past the end of a file, and trusts many fields.
STRICTER_GGUF = {
    r"the file ends within its header": "the package reads values past the end as empty",
    r"counts more tensors or values than its bytes can hold": "same",
    r"past the end of the file": "same, for tensors without elements",
    r"the name of a tensor or value is not UTF-8, or has U\+0000": "U+0000, which would end a C string",
    r"the elements of this array have an unknown type": "the package does not look at it if there are none",
    r"array of arrays": "ggml refuses them too",
    r"the alignment is above 2\^20": "padding of a gigabyte is an attack rather than an alignment",
    r"more than 4 dimensions": "ggml's limit",
    r"a size of its shape is negative": "sizes are int64 in ggml",
    r"its shape overflows, or its rows are not whole blocks": "the package multiplies in float64 or wraps, and divides down",
    r"does not start at a multiple of the alignment": "ggml refuses them too",
    r"its data starts at byte": "holes and overlaps, which ggml refuses too",
}
LOOSER_GGUF = {
    r"Duplicate GGUF\.(version|tensor_count|kv_count)": "the package has fields of its own under these names",
}

def read_ours(path):
    """Returns ({name: (type, shape, data)}, None), or (None, message)."""
    try:
        with inlay.open(path) as file:
            return {name: (t.type, t.shape, bytes(t.raw)) for name, t in file.tensors.items()}, None
    except inlay.FileError as error:
        return None, str(error)


# ---- Safetensors ----


def check_unique(keys):
    """Raises for a repeated key: the package keeps the last value, but the format forbids it."""
    keys = list(keys)
    if len(set(keys)) < len(keys):
        raise ValueError("a key occurs twice")


def check_header(header):
    """Checks all keys that a reader uses."""
    tensors = json.loads(header, object_pairs_hook=list)
    check_unique(name for name, _ in tensors)
    for name, pairs in tensors:
        check_unique(key for key, _ in pairs if name == "__metadata__" or key in ("dtype", "shape", "data_offsets"))


def read_safetensors(path):
    contents = path.read_bytes()
    try:
        tensors = safetensors.deserialize(contents)
        check_header(contents[8 : 8 + int.from_bytes(contents[:8], "little")])
    except Exception as error:  # pylint: disable=broad-except
        return None, f"{type(error).__name__}: {error}"
    return {name: (info["dtype"], tuple(info["shape"]), bytes(info["data"])) for name, info in tensors}, None


SIZES = {"BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
         "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32, "C64": 64, "F64": 64, "I64": 64,
         "U64": 64, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6}
NAMES = ["a", "w.weight", "é", "日本", 'q"\\', "", "__metadata__x", "𝄞"]
PIECES = [b'"', b"{", b"}", b"[", b"]", b",", b":", b"0", b"1", b"-1", b"-0", b"1e3", b"1.0", b"01", b"+1", b"null",
          b"true", b" ", b"\n", b"\t", b"\r", b"\x0b", b"\x00", b"\xff", b"\xc3\xa9", b"\xed\xa0\x80", b"\\u0000",
          b"\\ud800", b"\\udc00", b"\\ud83d\\ude00", b"\\u0061", b"\\/", b"\\x", b"\\", b"[]", b"{}", b'"a":', b'"dtype"',
          b'"shape"', b'"data_offsets"', b'"__metadata__":{},', b'"__metadata__":null,', b"9223372036854775807",
          b"9223372036854775808", b"18446744073709551615", b"18446744073709551616", b"/**/", b"NaN", b"'",
          b'"x":[[1]],', b'"x":[[[1]]],', b'"x":{"y":{"z":1}},', b'"x":1,"\\u0078":2,', b'"x":{"y":1,"y":2},']


def good_safetensors(draw):
    header, begin, entries = [], 0, []
    for name in draw.sample(NAMES, draw.randrange(4)):
        dtype = draw.choice(list(SIZES))
        shape = [draw.choice([0, 1, 2, 3, 4, 8]) for _ in range(draw.randrange(4))]
        bits = SIZES[dtype]
        for size in shape:
            bits *= size
        end = begin + bits // 8
        entries.append((name, {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}))
        begin = end
    draw.shuffle(entries)
    if draw.random() < 0.3:
        header.append('"__metadata__":' + json.dumps({"format": "pt", "k": "é"}, ensure_ascii=draw.random() < 0.5))
    for name, info in entries:
        members = list(info.items())
        draw.shuffle(members)
        header.append(json.dumps(name, ensure_ascii=draw.random() < 0.5) + ":" + json.dumps(dict(members)))
    text = (" " * draw.choice([0, 0, 0, 1, 7]) + "{" + ",".join(header) + "}" + " " * draw.choice([0, 0, 1, 5])).encode()
    return text, bytes(draw.randrange(256) for _ in range(begin))


def change_number(draw, text):
    """Replaces a number of the text."""
    found = list(re.finditer(rb"\d+", text))
    if not found:
        return text
    match = draw.choice(found)
    value = int(match[0])
    new = draw.choice([value + 1, max(value - 1, 0), value * 2, 2**31, 2**32, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 0])
    return text[: match.start()] + str(new).encode() + text[match.end() :]


def break_text(draw, text):
    at = draw.randrange(len(text) + 1)
    kind = draw.randrange(6)
    if kind == 0:
        return text[:at] + draw.choice(PIECES) + text[at:]
    if kind == 1:
        return text[:at] + text[at + draw.choice([1, 1, 2, 5]) :]
    if kind == 2 and at < len(text):
        return text[:at] + bytes([text[at] ^ (1 << draw.randrange(8))]) + text[at + 1 :]
    if kind == 3:
        end = min(len(text), at + draw.randrange(1, 60))
        return text[:end] + text[at:end] + text[end:]
    if kind == 4:
        return re.sub(rb'(?<=")(F32|I8|U8|F4|BF16)(?=")', draw.choice(list(SIZES)).encode(), text, count=1)
    return change_number(draw, text)


def broken_safetensors(draw):
    text, data = good_safetensors(draw)
    for _ in range(draw.choice([0, 1, 1, 1, 2, 3])):
        text = break_text(draw, text)
    length = len(text)
    if draw.random() < 0.05:
        length = draw.choice([0, 1, length - 1, length + 1, 100_000_001, 2**31, 2**63, 2**64 - 1, 2**64 - 8])
    if draw.random() < 0.1:
        data = data[: draw.randrange(len(data) + 1)] if draw.random() < 0.5 else data + b"\0"
    return struct.pack("<Q", max(length, 0)) + text + data


# ---- GGUF ----


class TooSlow(Exception):
    """The package would read forever."""


def too_slow(signum, frame):
    raise TooSlow


def read_gguf(reader, path):
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        tensors = reader.GGUFReader(path).tensors
    except Exception as error:  # pylint: disable=broad-except
        return None, f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return {
        tensor.name: (tensor.tensor_type.name, tuple(int(n) for n in reversed(tensor.shape)), tensor.data.tobytes())
        for tensor in tensors
    }, None


def pack_string(text):
    return struct.pack("<Q", len(text)) + text


def good_gguf(draw, constants):
    """Returns the bytes before the data, and the data."""
    formats = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
    alignment = draw.choice([32, 32, 8, 64])
    values = [] if alignment == 32 else [pack_string(b"general.alignment") + struct.pack("<II", 4, alignment)]
    for i in range(draw.randrange(4)):
        key = pack_string(f"k{i}".encode())
        kind = draw.choice([*formats, 8, 9])
        if kind == 8:
            values.append(key + struct.pack("<I", 8) + pack_string(draw.choice([b"", b"abc", "é".encode()])))
        elif kind == 9:
            inner = draw.choice([*formats, 8])
            count = draw.randrange(4)
            item = pack_string(b"xy") if inner == 8 else struct.pack("<" + formats[inner], 1)
            values.append(key + struct.pack("<IIQ", 9, inner, count) + item * count)
        else:
            values.append(key + struct.pack("<I" + formats[kind], kind, 1))
    tensors, data = [], b""
    for i in range(draw.randrange(4)):
        kind = draw.choice(list(constants.GGMLQuantizationType))
        block, size = constants.GGML_QUANT_SIZES[kind]
        shape = [block * draw.choice([1, 2])] + [draw.choice([1, 2, 3]) for _ in range(draw.randrange(4))]
        count = size
        for dim in shape:
            count *= dim
        tensors.append(
            pack_string(draw.choice(["t", "é.weight"]).encode() + str(i).encode())
            + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, len(data))
        )
        data += bytes(draw.randrange(256) for _ in range(64)).ljust(count // block, b"\1")[: count // block]
        data += bytes(-len(data) % alignment)
    head = b"GGUF" + struct.pack("<IQQ", draw.choice([2, 3]), len(tensors), len(values))
    head += b"".join(values) + b"".join(tensors)
    return head + bytes(-len(head) % alignment), data


def broken_gguf(draw, constants):
    head, data = good_gguf(draw, constants)
    head = bytearray(head)
    for _ in range(draw.choice([0, 1, 1, 2])):
        at = draw.randrange(4, len(head))
        if draw.random() < 0.5:
            head[at] ^= 1 << draw.randrange(8)
        else:
            head[at] = draw.choice([0, 1, 2, 4, 8, 9, 31, 32, 127, 128, 255])
    if draw.random() < 0.1:
        data = data[: draw.randrange(len(data) + 1)]
    return bytes(head) + data


# ---- Comparing ----


def find_reason(table, message):
    return next((pattern for pattern in table if re.search(pattern, message)), None)


def compare(name, path, make, read, count, stricter, looser):
    seen = collections.Counter()
    for i in range(count):
        contents = make()
        path.write_bytes(contents)
        ours, our_reason = read_ours(path)
        theirs, their_reason = read(path)
        if ours is not None and theirs is not None:
            seen["accepted"] += 1
            if ours != theirs:
                broken.append(f"{name}: file {i} is read as {ours} and as {theirs}: {contents!r}")
        elif ours is None and theirs is None:
            seen["refused"] += 1
        elif theirs is not None:
            pattern = find_reason(stricter, our_reason)
            seen[pattern or "?"] += 1
            if pattern is None:
                broken.append(f"{name}: file {i} is only refused here: {our_reason}: {contents!r}")
        else:
            pattern = find_reason(looser, their_reason)
            seen[pattern or "?"] += 1
            if pattern is None:
                broken.append(f"{name}: file {i} is only accepted here: {their_reason}: {contents!r}")
    print(f"{name}: {count} files, {seen['accepted']} accepted and {seen['refused']} refused by both")
    for pattern, times in seen.most_common():
        if pattern not in ("accepted", "refused", "?"):
            print(f"    {times} times {pattern}")


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    draw = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    reader, constants = gguf("gguf_reader"), gguf("constants")
    signal.signal(signal.SIGALRM, too_slow)
    numpy.seterr(all="ignore")
    with tempfile.TemporaryDirectory(prefix="inlay-files-") as folder:
        path = pathlib.Path(folder) / "model"
        compare("safetensors", path, lambda: broken_safetensors(draw), read_safetensors, count,
                STRICTER_SAFETENSORS, LOOSER_SAFETENSORS)
        compare("gguf", path, lambda: broken_gguf(draw, constants), lambda path: read_gguf(reader, path), count,
                STRICTER_GGUF, LOOSER_GGUF)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
