#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares tables of ggml's types with the gguf package of llama.cpp, and FP8 tables with PyTorch.

    formats.py LIBRARY

Runs in the virtual environment of `./dev interop`. Random blocks of every type, including infinite and NaN scales, are
gathered by libinlay.so and dequantized by gguf. All pairs of an FP8 number and a scale are multiplied by PyTorch.
Quantized rows are compared if both use the same rule. Bits must agree, except those of NaNs. The exit status is 1 if
any differ, with a line "BROKEN ..." for each.
"""
import ctypes
import importlib.util
import sys
import types

import numpy
import torch

F32, E4M3, E4M3_E8M0, ID_I64, OK = 1, 12, 13, 2, 0
BLOCKS = 100_000
# Types for which inlay_table_quantize() writes the same bytes as gguf.
SAME_BYTES = ("Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1")

broken = []


class Table(ctypes.Structure):
    """inlay_table."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("data", ctypes.c_void_p),
        ("rows", ctypes.c_size_t),
        ("dim", ctypes.c_size_t),
        ("stride_bytes", ctypes.c_size_t),
        ("type", ctypes.c_uint),
        ("group", ctypes.c_uint32),
        ("scales", ctypes.c_void_p),
        ("zeros", ctypes.c_void_p),
        ("first_row", ctypes.c_size_t),
        ("vocab", ctypes.c_size_t),
        ("extents", ctypes.c_void_p),
        ("extent_count", ctypes.c_size_t),
        ("extent_rows", ctypes.c_size_t),
    ]


class Storage(ctypes.Structure):
    """inlay_table_storage."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("data", ctypes.c_void_p),
        ("stride_bytes", ctypes.c_size_t),
        ("type", ctypes.c_uint),
        ("group", ctypes.c_uint32),
        ("scales", ctypes.c_void_p),
        ("zeros", ctypes.c_void_p),
    ]


def quants():
    """Returns gguf.quants, which only needs NumPy; the package itself would import more."""
    spec = importlib.util.find_spec("gguf")
    package = types.ModuleType("gguf")
    package.__path__ = list(spec.submodule_search_locations)
    sys.modules["gguf"] = package
    return importlib.import_module("gguf.quants"), importlib.import_module("gguf.constants")


def table_of(data, kind, dim, scales=None):
    pointer = None if scales is None else scales.ctypes.data
    return Table(ctypes.sizeof(Table), data.ctypes.data, len(data), dim, data.strides[0], kind, scales=pointer)


def gather(library, table):
    ids = numpy.arange(table.rows, dtype=numpy.int64)
    out = numpy.empty((table.rows, table.dim), numpy.float32)
    status = library.inlay_gather(
        ctypes.byref(table),
        ctypes.c_void_p(ids.ctypes.data),
        ID_I64,
        ctypes.c_size_t(table.rows),
        ctypes.c_float(1),
        ctypes.c_void_p(out.ctypes.data),
        ctypes.c_size_t(out.strides[0]),
        None,
        None,
    )
    if status != OK:
        raise RuntimeError(f"inlay_gather returned {status}")
    return out


def quantize(library, rows, kind, row_bytes):
    made = numpy.zeros((len(rows), row_bytes), numpy.uint8)
    table = table_of(rows, F32, rows.shape[1])
    storage = Storage(ctypes.sizeof(Storage), made.ctypes.data, row_bytes, kind, 0, None, None)
    status = library.inlay_table_quantize(ctypes.byref(table), ctypes.byref(storage), None, None)
    if status != OK:
        raise RuntimeError(f"inlay_table_quantize returned {status}")
    return made


def compare(what, ours, theirs):
    """Counts elements with different bits; all NaNs are equal."""
    theirs = numpy.ascontiguousarray(theirs, ours.dtype).reshape(ours.shape)
    differ = ours.view(f"u{ours.itemsize}") != theirs.view(f"u{ours.itemsize}")
    nan = 0
    if ours.dtype == numpy.float32:
        both = numpy.isnan(ours) & numpy.isnan(theirs)
        differ &= ~both
        nan = int(both.sum())
    count = int(differ.sum())
    print(f"{what:<44}{ours.size:>12}{nan:>10} NaN{count:>6} differ")
    if count:
        where = tuple(numpy.argwhere(differ)[0])
        broken.append(f"{what}: {count} differ, the first at {where}: {ours[where]} and {theirs[where]}")


def compare_ggml(library, rng):
    module, constants = quants()
    library.inlay_element_type_name.restype = ctypes.c_char_p
    names = {}
    while name := library.inlay_element_type_name(len(names) + 1, 0):
        spelling = library.inlay_element_type_name(len(names) + 1, 1)
        names[(spelling or name).decode()] = len(names) + 1
    both = [name for name in names if hasattr(module, name) and names[name] > 3]
    if len(both) < 15:
        broken.append(f"only {both} are types of gguf")
    for name in both:
        kind, theirs = names[name], getattr(module, name)
        theirs.init_grid()
        columns, block_bytes = constants.GGML_QUANT_SIZES[constants.GGMLQuantizationType[name]]
        data = rng.integers(0, 256, (BLOCKS, block_bytes), numpy.uint8)
        with numpy.errstate(all="ignore"):
            compare(name, gather(library, table_of(data, kind, columns)), theirs.dequantize_blocks(data))
        if name in SAME_BYTES:
            rows = rng.standard_normal((20_000, columns), numpy.float32)
            made = module.quantize(rows, constants.GGMLQuantizationType[name])
            compare(f"{name}, quantized", quantize(library, rows, kind, block_bytes), made)


def compare_fp8(library, rng):
    codes = numpy.tile(numpy.arange(256, dtype=numpy.uint8), (256, 1))
    values = torch.from_numpy(codes).view(torch.float8_e4m3fn).float()
    powers = numpy.repeat(numpy.arange(256, dtype=numpy.uint8)[:, None], 8, 1)
    scales = torch.from_numpy(powers[:, :1].copy()).view(torch.float8_e8m0fnu).float()
    table = table_of(codes, E4M3_E8M0, 256, powers)
    compare("E4M3 x E8M0, all pairs", gather(library, table), (values * scales).numpy())
    compare("E4M3 without scales", gather(library, table_of(codes, E4M3, 256)), values.numpy())
    floats = rng.integers(0, 2**32, 256, numpy.uint32).view(numpy.float32)
    floats[:4] = numpy.inf, -numpy.inf, numpy.nan, -0.0
    table = table_of(codes, E4M3, 256, floats)
    compare("E4M3 x float32 of any bits", gather(library, table), (values * torch.from_numpy(floats)[:, None]).numpy())
    rows = rng.standard_normal((1000, 1024), numpy.float32) * numpy.exp2(rng.uniform(-14, 6.5, (1000, 1))).astype("f4")
    rows = rows.clip(-448, 448)
    theirs = torch.from_numpy(rows).to(torch.float8_e4m3fn).view(torch.uint8).numpy()
    compare("E4M3 without scales, quantized", quantize(library, rows, E4M3, 1024), theirs)


def main():
    library = ctypes.CDLL(sys.argv[1])
    rng = numpy.random.default_rng(1)
    compare_fp8(library, rng)
    compare_ggml(library, rng)
    for line in broken:
        print("BROKEN", line)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
