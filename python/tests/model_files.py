# SPDX-License-Identifier: MIT
"""Writes model files for tests, using only NumPy: safetensors of arrays or raw bytes, and GGUF."""

import json
import struct

import numpy

NAMES = {
    "float32": "F32", "float16": "F16", "float64": "F64", "int8": "I8", "uint8": "U8", "int16": "I16", "uint16": "U16",
    "int32": "I32", "uint32": "U32", "int64": "I64", "uint64": "U64", "bool": "BOOL",
}  # fmt: skip


def bfloat16(values):
    """Rounds numbers to bfloat16. Returns a tensor of raw bytes, and the values in float32."""
    bits = numpy.asarray(values, numpy.float32).view(numpy.uint32)
    short = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(numpy.uint16)
    return ("BF16", short.shape, short.tobytes()), (short.astype(numpy.uint32) << 16).view(numpy.float32)


def raw(tensor):
    """Returns the type, shape and bytes of a tensor, given as an array or as these three."""
    if isinstance(tensor, tuple):
        return tensor
    return NAMES[tensor.dtype.name], tensor.shape, tensor.tobytes()


def safetensors(tensors, metadata=None, pad=0):
    """Returns the bytes of a safetensors file. `pad` spaces after the header shift the data."""
    header, data = {}, b""
    if metadata is not None:
        header["__metadata__"] = metadata
    for name, tensor in tensors.items():
        kind, shape, content = raw(tensor)
        header[name] = {"dtype": kind, "shape": list(shape), "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode() + b" " * pad
    return struct.pack("<Q", len(text)) + text + data


def _string(text):
    return struct.pack("<Q", len(text.encode())) + text.encode()


def gguf(tensors, values):
    """Returns the bytes of a GGUF file with tensors (number of the ggml type, shape, bytes) and values: strings,
    integers, or lists of these."""
    kinds = {str: (8, _string), int: (5, lambda n: struct.pack("<i", n)), float: (12, lambda x: struct.pack("<d", x))}
    text = b""
    for key, value in values.items():
        text += _string(key)
        if isinstance(value, list):
            kind, write = kinds[type(value[0])]
            text += struct.pack("<iiQ", 9, kind, len(value)) + b"".join(map(write, value))
        else:
            kind, write = kinds[type(value)]
            text += struct.pack("<i", kind) + write(value)
    data = b""
    for name, (kind, shape, content) in tensors.items():
        data += bytes(-len(data) % 32)
        text += _string(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}q", *reversed(shape))
        text += struct.pack("<iQ", kind, len(data))
        data += content
    head = b"GGUF" + struct.pack("<Iqq", 3, len(tensors), len(values)) + text
    return head + bytes(-len(head) % 32) + data


def write(path, content):
    path.write_bytes(content)
    return path
