#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares tables of ggml's types with the gguf package of llama.cpp, and FP8 tables with PyTorch, bit by bit.

Run by `./dev interop`. Random blocks of every type, including infinite and NaN scales, are gathered by inlay and
dequantized by gguf. All pairs of an FP8 number and a scale are multiplied by PyTorch. Quantized rows are compared if both
use the same rule.
"""
import importlib
import importlib.util
import sys
import types

import numpy
import torch

import inlay
from compared import compare, finish, report

BLOCKS = 100_000
# Types for which inlay.quantize() writes the same bytes as gguf.
SAME_BYTES = ("Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1")


def gguf(name):
    """Returns a module of gguf. These only need NumPy; the package itself would import more."""
    if "gguf" not in sys.modules:
        package = types.ModuleType("gguf")
        package.__path__ = list(importlib.util.find_spec("gguf").submodule_search_locations)
        sys.modules["gguf"] = package
    return importlib.import_module(f"gguf.{name}")


def gather(table):
    return inlay.Layer(table)(numpy.arange(table.rows))


def compare_ggml(rng):
    quants, constants = gguf("quants"), gguf("constants")
    compared = []
    for kind in constants.GGMLQuantizationType:
        columns, block_bytes = constants.GGML_QUANT_SIZES[kind]
        theirs = getattr(quants, kind.name, None)
        if theirs is None or columns == 1:
            continue
        data = rng.integers(0, 256, (BLOCKS, block_bytes), numpy.uint8)
        try:
            table = inlay.Table(data, kind.name, dim=columns)
        except ValueError as error:
            print(f"skipped: {error}")
            continue
        compared.append(kind.name)
        theirs.init_grid()
        with numpy.errstate(all="ignore"):
            compare(kind.name, gather(table), theirs.dequantize_blocks(data))
        if kind.name in SAME_BYTES:
            rows = rng.standard_normal((20_000, columns), numpy.float32)
            compare(f"{kind.name}, quantized", inlay.quantize(rows, kind.name).data, quants.quantize(rows, kind))
    report("types of gguf", ", ".join(compared), len(compared) >= 15)


def compare_fp8(rng):
    codes = numpy.tile(numpy.arange(256, dtype=numpy.uint8), (256, 1))
    values = torch.from_numpy(codes).view(torch.float8_e4m3fn).float()
    powers = numpy.repeat(numpy.arange(256, dtype=numpy.uint8)[:, None], 8, 1)
    scales = torch.from_numpy(powers[:, :1].copy()).view(torch.float8_e8m0fnu).float()
    compare("E4M3 x E8M0, all pairs", gather(inlay.Table(codes, "e4m3_e8m0", scales=powers)), values * scales)
    compare("E4M3 without scales", gather(inlay.Table(codes, "e4m3")), values)
    floats = rng.integers(0, 2**32, 256, numpy.uint32).view(numpy.float32)
    floats[:4] = numpy.inf, -numpy.inf, numpy.nan, -0.0
    theirs = values * torch.from_numpy(floats)[:, None]
    compare("E4M3 x float32 of any bits", gather(inlay.Table(codes, "e4m3", scales=floats)), theirs)
    rows = rng.standard_normal((1000, 1024), numpy.float32) * numpy.exp2(rng.uniform(-14, 6.5, (1000, 1))).astype("f4")
    rows = rows.clip(-448, 448)
    rows[:, 0] = 448  # so every row's scale is 1
    theirs = torch.from_numpy(rows).to(torch.float8_e4m3fn).view(torch.uint8)
    compare("E4M3, quantized", inlay.quantize(rows, "e4m3").data, theirs)


def main():
    rng = numpy.random.default_rng(1)
    compare_fp8(rng)
    compare_ggml(rng)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
