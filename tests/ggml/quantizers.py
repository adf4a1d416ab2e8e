#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the errors of `inlay convert` with those of ggml's quantizers, which llama-quantize calls.

    quantizers.py GGML INLAY [FILE:TENSOR ...]

GGML is a folder with libggml-base.so and libggml-cpu.so, INLAY the command. Converts random numbers, and tables of
files in rows of 256 columns. Neither uses an importance matrix. Prints the root mean square of errors, inlay's error
over ggml's, and CPU seconds per million values. Fails if an error is larger than ggml's. Blocks must also be within the
limits of ggml's test-quantize-fns for errors, and for products computed by ggml's own kernels.
"""
import ctypes
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy
from gguf import GGMLQuantizationType, dequantize
from gguf.constants import GGML_QUANT_SIZES

COLUMNS = 256
TYPES = "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"
# Of test-quantize-fns: for errors, and for products.
LIMITS = {"Q2_K": (0.0075, 0.04), "Q3_K": (0.004, 0.02)}
LIMIT = 0.002, 0.02


class Traits(ctypes.Structure):
    """ggml_type_traits_cpu."""

    _fields_ = [
        ("from_float", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)),
        (
            "vec_dot",
            ctypes.CFUNCTYPE(
                None,
                ctypes.c_int,
                ctypes.POINTER(ctypes.c_float),
                ctypes.c_size_t,
                ctypes.c_void_p,
                ctypes.c_size_t,
                ctypes.c_void_p,
                ctypes.c_size_t,
                ctypes.c_int,
            ),
        ),
        ("vec_dot_type", ctypes.c_int),
        ("nrows", ctypes.c_int64),
    ]


class Ggml:
    """The functions of ggml's libraries."""

    def __init__(self, folder):
        self.base = ctypes.CDLL(str(folder / "libggml-base.so"), ctypes.RTLD_GLOBAL)
        self.cpu = ctypes.CDLL(str(folder / "libggml-cpu.so"))
        pointer, integer = ctypes.c_void_p, ctypes.c_int64
        self.base.ggml_quantize_chunk.argtypes = [ctypes.c_int, pointer, pointer, integer, integer, integer, pointer]
        self.base.ggml_quantize_chunk.restype = ctypes.c_size_t
        self.cpu.ggml_get_type_traits_cpu.restype = ctypes.POINTER(Traits)
        self.cpu.ggml_cpu_init()

    def quantize(self, values, kind):
        """Returns the rows in a type, and seconds."""
        columns, block_bytes = GGML_QUANT_SIZES[kind]
        rows = numpy.empty((values.shape[0], values.shape[1] // columns * block_bytes), numpy.uint8)
        begin = time.process_time()
        self.base.ggml_quantize_chunk(kind, values.ctypes.data, rows.ctypes.data, 0, *values.shape, None)
        return rows, time.process_time() - begin

    def product(self, row, kind, other):
        """Returns the product of a quantized row and floats, computed by the kernel that multiplies matrices."""
        traits = self.cpu.ggml_get_type_traits_cpu(kind).contents
        rounded = numpy.empty(8 * other.size, numpy.uint8)
        result = ctypes.c_float()
        self.cpu.ggml_get_type_traits_cpu(traits.vec_dot_type).contents.from_float(
            other.ctypes.data, rounded.ctypes.data, other.size
        )
        traits.vec_dot(other.size, result, 0, row.ctypes.data, 0, rounded.ctypes.data, 0, 1)
        return result.value


def convert(inlay, source, target, *options):
    """Runs `inlay convert`. Returns the array that it wrote, and the seconds that it computed."""
    begin = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([inlay, "convert", source, "--out", target, "--force", *options], check=True, capture_output=True)
    return numpy.load(target), resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begin


def tables(inlay, folder, names):
    """Yields a name and rows of 256 columns: random numbers, then every table."""
    normal = numpy.random.default_rng(1).standard_normal((1 << 12, COLUMNS), numpy.float32)
    yield "normal numbers", normal
    yield "normal numbers - 8", normal[:512] - 8
    yield "numbers from -2 to -1", numpy.random.default_rng(2).random((512, COLUMNS), numpy.float32) - 2
    yield "normal numbers, 0 up to 2", normal[:512] * (abs(normal[:512]) > 2)
    for name in names:
        file, tensor = name.rsplit(":", 1)
        values = convert(inlay, file, folder / "table.npy", "--table", tensor, "--type", "float32")[0].ravel()
        yield name, values[: values.size // COLUMNS * COLUMNS].reshape(-1, COLUMNS)


def root_mean_square(errors):
    return float(numpy.sqrt(numpy.mean(numpy.square(errors, dtype=numpy.float64))))


def compare(ggml, inlay, folder, values):
    """Prints the errors of all types on rows. Returns for each type if its error is at most ggml's."""
    results = {}
    numpy.save(folder / "values.npy", values)
    for name in TYPES:
        kind = GGMLQuantizationType[name]
        theirs, their_seconds = ggml.quantize(values, kind)
        ours, our_seconds = convert(inlay, folder / "values.npy", folder / "ours.npy", "--type", name)
        our_error, their_error = (root_mean_square(dequantize(rows, kind) - values) for rows in (ours, theirs))
        millions = values.size / 1e6
        print(
            f"| {name} | {our_error:.5g} | {their_error:.5g} | {our_error / their_error:.4f} | "
            f"{our_seconds / millions:.3f} | {their_seconds / millions:.3f} |",
            flush=True,
        )
        results[name] = our_error <= their_error
    return results


def compare_limits(ggml, inlay, folder):
    """Returns for each type if it is within the limits of test-quantize-fns, on its data."""
    count = 4096
    first, second = (0.1 + 2 * numpy.cos(numpy.arange(count, dtype=numpy.float32) + shift) for shift in (0, 1))
    first, second = first.astype(numpy.float32), second.astype(numpy.float32)
    numpy.save(folder / "values.npy", first[None])
    results = {}
    for name in TYPES:
        kind = GGMLQuantizationType[name]
        row = convert(inlay, folder / "values.npy", folder / "ours.npy", "--type", name)[0]
        error = root_mean_square(dequantize(row, kind) - first) / count**0.5
        product = abs(ggml.product(row, kind, second) - float(first.astype(float) @ second)) / count
        limit, product_limit = LIMITS.get(name, LIMIT)
        print(f"{name}: error {error:.6f} of {limit}, product {product:.6f} of {product_limit}")
        results[name] = error < limit and product < product_limit
    return results


def main():
    ggml, inlay = Ggml(pathlib.Path(sys.argv[1])), sys.argv[2]
    results = {}
    with tempfile.TemporaryDirectory(prefix="inlay-quantizers-") as name:
        folder = pathlib.Path(name)
        for what, values in tables(inlay, folder, sys.argv[3:]):
            print(f"\n{what}\n\n| type | inlay | ggml | ratio | s, inlay | s, ggml |\n|---|---|---|---|---|---|")
            results |= {f"{what}, {kind}": holds for kind, holds in compare(ggml, inlay, folder, values).items()}
        print()
        results |= {f"limits of {kind}": holds for kind, holds in compare_limits(ggml, inlay, folder).items()}
    failures = [what for what, holds in results.items() if not holds]
    for what in failures:
        print(f"FAILED - {what}")
    print(f"{len(results) - len(failures)} passed, {len(failures)} failed, 0 skipped")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
