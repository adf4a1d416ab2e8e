# SPDX-License-Identifier: MIT
"""Shared by the tests of the command: running it, .npy files, PNG files, and counting.

Standard library only. Imported by test_tool.py and the other test files.
"""

import ast
import json
import os
import resource
import struct
import subprocess
import sys
import zlib

COMMAND = []  # the command under test, after an emulator if any
ADDRESS_SPACE = 1 << 30  # memory limit of the command for hostile input
TIMEOUT = float(os.environ.get("INLAY_TOOL_SECONDS", "60"))  # of a command
FIRST_ALONE = "INLAY_TOOL_FIRST" in os.environ  # stop at the first failure, for mutations

# Codes of the struct module for the types of .npy files.
CODES = {"<f4": "f", "<f8": "d", "<f2": "e", "<u2": "H", "<i4": "i", "<u4": "I", "<i8": "q", "|i1": "b", "|u1": "B"}

passed = 0
failed = 0


def check(good, what, detail=""):
    """Counts one expectation, and prints it if it is not met."""
    global passed, failed
    if good:
        passed += 1
    else:
        failed += 1
        print(f"FAIL {what}" + (f": {detail}" if detail != "" else ""), flush=True)
        if FIRST_ALONE:
            sys.exit(1)
    return good


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))


def memory_limit():
    """Returns a preexec_fn that limits memory, or None if the command can't run under it (emulators, sanitizers)."""
    if len(COMMAND) > 1:
        return None
    try:
        bounded = subprocess.run(COMMAND + ["--version"], capture_output=True, preexec_fn=limit_memory, timeout=TIMEOUT)
    except subprocess.SubprocessError:
        return None
    return limit_memory if bounded.returncode == 0 else None


def run(*args, stdin=b"", env=None, **more):
    """Runs the command; returncode, stdout and stderr (as text) of the result."""
    environment = {k: v for k, v in os.environ.items() if k != "INLAY_ISA"}
    # Builds with the address sanitizer: memory that fontconfig keeps is not our leak.
    leaks = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fontconfig.leaks")
    environment["LSAN_OPTIONS"] = f"suppressions={leaks}:print_suppressions=0"
    environment.update(env or {})
    more.setdefault("stdout", subprocess.PIPE)
    more.setdefault("timeout", TIMEOUT)
    more["input" if isinstance(stdin, bytes) else "stdin"] = stdin
    try:
        result = subprocess.run(COMMAND + list(args), stderr=subprocess.PIPE, env=environment, **more)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(args, "timeout", b"", f"still running after {more['timeout']} s")
    result.stderr = result.stderr.decode("utf-8", "replace")
    return result


def draws_pictures():
    """Returns True if this build of the command can draw."""
    return "pictures  none" not in run("info").stdout.decode()


def has_threads():
    """Returns True if this build of the command has threads."""
    return "threads   none" not in run("info").stdout.decode()


def check_error(result, code, what, *needles):
    """Expects an exit code, one line on stderr with the command's name and the needles, and no other output."""
    lines = result.stderr.split("\n")
    one_line = len(lines) == 2 and lines[1] == "" and lines[0].startswith("inlay")
    printable = all(c.isprintable() for c in lines[0])
    named = all(needle in lines[0] for needle in needles)
    good = result.returncode == code and one_line and printable and named and not result.stdout
    check(good, what, f"exit {result.returncode}, stderr {result.stderr!r}, stdout {(result.stdout or b'')[:80]!r}")


def vectors(*args, **more):
    """Returns the float32 result of a command, through --out -: (shape, values)."""
    result = run(*args, "--out", "-", **more)
    if not check(result.returncode == 0, " ".join(map(str, args)), result.stderr.strip()):
        return (0,), []
    return parse_npy(result.stdout)


def parse_npy(data, descr="<f4"):
    """Returns (shape, values) of a .npy file of version 1.0, and checks every rule for its header."""
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    length = struct.unpack("<H", data[8:10])[0]
    header = data[10 : 10 + length]
    assert (10 + length) % 64 == 0 and header.endswith(b"\n")
    fields = ast.literal_eval(header.decode("ascii"))
    assert set(fields) == {"descr", "fortran_order", "shape"}
    assert fields["descr"] == descr and fields["fortran_order"] is False
    count = 1
    for size in fields["shape"]:
        count *= size
    code = CODES[descr]
    values = struct.unpack(f"<{count}{code}", data[10 + length :])
    return fields["shape"], list(values)


def npy(header, data=b"", version=b"\x01\x00", length=None):
    """Returns a .npy file with any header text, and its length, or a wrong `length`."""
    text = header.encode("latin-1") if isinstance(header, str) else header
    size = len(text) if length is None else length
    packed = struct.pack("<H" if version[0] == 1 else "<I", size)
    return b"\x93NUMPY" + version + packed + text + data


def array(descr, shape, values):
    """Returns a valid .npy file of an array."""
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    return npy(header, struct.pack(f"<{len(values)}{CODES[descr]}", *values))


def table(rows):
    """Returns a valid .npy file of rows of floats."""
    return array("<f4", (len(rows), len(rows[0]) if rows else 1), [value for row in rows for value in row])


def number_list(values, descr="<f8"):
    """Returns a valid .npy file of a list of numbers."""
    return array(descr, (len(values),), values)


def safetensors(tensors, metadata=None, header=None):
    """Returns a .safetensors file of {name: (dtype, shape, bytes)}, or with any text as its header."""
    entries, data = {}, b""
    if metadata is not None:
        entries["__metadata__"] = metadata
    for name, (dtype, shape, elements) in tensors.items():
        entries[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(data), len(data) + len(elements)]}
        data += elements
    text = json.dumps(entries, ensure_ascii=False).encode() if header is None else header
    return struct.pack("<Q", len(text)) + text + data


def parse_safetensors(data):
    """Returns {name: (dtype, shape, bytes)} of a .safetensors file; its tensors must cover its data."""
    begin = 8 + struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:begin])
    ends = sorted(tensor["data_offsets"] for tensor in header.values())
    assert data[8:9] == b"{" and begin % 64 == 0
    assert [first for first, _ in ends] == [0] + [end for _, end in ends[:-1]] and begin + ends[-1][1] == len(data)
    return {name: (tensor["dtype"], tuple(tensor["shape"]), data[begin + tensor["data_offsets"][0] :
                                                                 begin + tensor["data_offsets"][1]])
            for name, tensor in header.items()}


GGUF_VALUES = {int: (4, "<I"), float: (6, "<f"), bool: (7, "<?")}


def gguf_string(text):
    encoded = text.encode()
    return struct.pack("<Q", len(encoded)) + encoded


def gguf_value(value):
    if isinstance(value, str):
        return struct.pack("<I", 8) + gguf_string(value)
    if isinstance(value, list):
        items = [gguf_value(item) for item in value]
        return struct.pack("<I", 9) + items[0][:4] + struct.pack("<Q", len(items)) + b"".join(item[4:] for item in items)
    kind, code = (11, "<q") if isinstance(value, int) and value >= 2**32 else GGUF_VALUES[type(value)]
    return struct.pack("<I", kind) + struct.pack(code, value)


def gguf(tensors, values={}):
    """Returns a .gguf file of {name: (ggml's type number, shape with the slowest dimension first, bytes)}."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values))
    for key, value in values.items():
        head += gguf_string(key) + gguf_value(value)
    data = b""
    for name, (kind, shape, elements) in tensors.items():
        head += gguf_string(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *reversed(shape))
        head += struct.pack("<IQ", kind, len(data))
        data += elements + bytes(-len(elements) % 32)
    return head + bytes(-len(head) % 32) + data


def parse_gguf(data):
    """Returns (name, type number, shape, bytes with padding) of the only tensor of a .gguf file without metadata."""
    magic, version, tensors, values, size = struct.unpack("<4sIQQQ", data[:32])
    assert (magic, version, tensors, values) == (b"GGUF", 3, 1, 0)
    rank, dim, rows, kind, offset = struct.unpack("<IQQIQ", data[32 + size : 64 + size])
    begin = (64 + size + 31) // 32 * 32
    assert rank == 2 and offset == 0 and len(data) % 32 == 0 and not any(data[64 + size : begin])
    return data[32 : 32 + size].decode(), kind, (rows, dim), data[begin:]


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)
    return path


def read(path):
    with open(path, "rb") as file:
        return file.read()


def png_lines(data):
    """Returns (width, height, lines with their filters) of a PNG, and checks all chunks and checksums."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n", data[:8]
    at, width, height, packed, kind = 8, 0, 0, b"", None
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        crc = struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0]
        assert crc == zlib.crc32(kind + body), kind
        if kind == b"IHDR":
            width, height = struct.unpack(">II", body[:8])
            assert body[8:] == b"\x08\x02\x00\x00\x00", body
        if kind == b"IDAT":
            packed += body
        at += 12 + length
    assert kind == b"IEND"
    lines = zlib.decompress(packed)
    assert len(lines) == height * (1 + 3 * width)
    return width, height, lines


def png_size(data):
    """Returns (width, height) of a complete PNG."""
    return png_lines(data)[:2]


def png_rows(data):
    """Returns the rows of a PNG as RGB bytes."""
    width, height, lines = png_lines(data)
    rows = [bytes(3 * width)]
    for start in range(0, len(lines), 1 + 3 * width):
        rows.append(unfilter(lines[start], lines[start + 1 : start + 1 + 3 * width], rows[-1]))
    return rows[1 : height + 1]


def unfilter(kind, line, above):
    """Returns a row of bytes without its PNG filter (PNG specification, section 9.2)."""
    row = bytearray(line)
    for i, value in enumerate(line):
        left = row[i - 3] if i >= 3 else 0
        corner = above[i - 3] if i >= 3 else 0
        guess = left + above[i] - corner
        near = min((left, above[i], corner), key=lambda byte: abs(guess - byte))
        row[i] = value + (0, left, above[i], (left + above[i]) // 2, near)[kind] & 0xFF
    return bytes(row)
