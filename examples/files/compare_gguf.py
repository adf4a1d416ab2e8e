#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares embedding rows of GGUF files, read by inlay and by llama.cpp's gguf package, bit by bit.

    compare_gguf.py INLAY [MODEL.gguf]

INLAY is the inlay command. Without a model, compares small ones: some written by gguf, and one of each type that `inlay
convert` writes. Needs `pip install gguf`. The exit status is 77 if gguf is missing and 1 if rows differ.
"""

import pathlib
import subprocess
import sys
import tempfile

try:
    import gguf
    import numpy
    from gguf.quants import dequantize, quantize
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

TABLE = "token_embd.weight"
ROWS, DIM = 50, 512
WRITTEN_BY_GGUF = ("F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0")


def rows_of_gguf(model, ids):
    """Dequantizes rows of the table with gguf. Returns them and the name of their type."""
    tensor = next(tensor for tensor in gguf.GGUFReader(model).tensors if tensor.name == TABLE)
    return dequantize(tensor.data[ids], tensor.tensor_type), tensor.tensor_type.name


def rows_of_inlay(inlay, model, ids, folder):
    """Gathers the same rows with inlay: --table reads only that tensor, not the rest of the model's input layer."""
    out = folder / "rows.npy"
    subprocess.run([inlay, "embed", "--model", model, "--table", TABLE, "--positions", "none",
                    "--ids", " ".join(map(str, ids)), "--out", out, "--force"], check=True)
    return numpy.load(out)[0]


def compare(inlay, model, folder, written_by):
    count = next(int(tensor.shape[1]) for tensor in gguf.GGUFReader(model).tensors if tensor.name == TABLE)
    ids = [id * 7919 % count for id in range(40)]
    expected, kind = rows_of_gguf(model, ids)
    same = numpy.array_equal(rows_of_inlay(inlay, model, ids, folder).view("u4"), expected.astype("f4").view("u4"))
    print(f"{kind}, written by {written_by}: {'the same bits' if same else 'DIFFERENT'}")
    return same


def small_models(inlay, folder):
    """Yields GGUF files with one table each, and the program that wrote them."""
    table = numpy.random.default_rng(0).normal(size=(ROWS, DIM)).astype("f4")
    for name in WRITTEN_BY_GGUF:
        kind = gguf.GGMLQuantizationType[name]
        model = folder / f"gguf-{name}.gguf"
        writer = gguf.GGUFWriter(model, "llama")
        writer.add_embedding_length(DIM)
        writer.add_tensor(TABLE, quantize(table, kind), raw_dtype=kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        yield model, "gguf"
    numpy.save(folder / "table.npy", table)
    for kind in gguf.GGMLQuantizationType:
        model = folder / f"inlay-{kind.name}.gguf"
        written = subprocess.run([inlay, "convert", folder / "table.npy", "--type", kind.name, "--name", TABLE, "--out",
                                  model], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if written.returncode == 0:  # else inlay doesn't support the type
            yield model, "inlay"


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    inlay = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        models = [(sys.argv[2], "its author")] if len(sys.argv) == 3 else small_models(inlay, folder)
        same = [compare(inlay, model, folder, written_by) for model, written_by in models]
    sys.exit(0 if all(same) else 1)


if __name__ == "__main__":
    main()
