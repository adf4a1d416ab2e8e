#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares inlay's recipes with the tables of NumPy, PyTorch, JAX and others, and prints one table.

Run by `./dev interop`. Differences are printed, since a framework's exp need not be correctly rounded. The exit status is
1 only if inlay breaks a promise.
"""
import pathlib
import platform
import sys

import jax
import numpy
import torch

import definitions
import frameworks
import inlay
from compared import broken, finish

ROWS, DIM = 1000, 512  # of every recipe
LONG_ROWS = 5000  # the table of PyTorch's tutorial
ODD_DIM = 7
STRUCTURE = 1e-3  # a larger difference is not rounding: layout, spacing or first position differ
TUTORIAL = pathlib.Path(__file__).resolve().parent.parent / "data" / "keras-tutorial-part-2.txt"

# recipe, framework, function, first position
COMPARED = [
    ("numpy-fp64", "NumPy", frameworks.numpy_fp64, 0),
    ("torch-exp", "PyTorch", frameworks.torch_exp, 0),
    ("jax-exp", "JAX", frameworks.jax_exp, 0),
    ("torch-div", "PyTorch", frameworks.torch_div, 0),
    ("keras-hub", "PyTorch", frameworks.keras_hub_torch, 0),
    ("keras-hub", "JAX", frameworks.keras_hub_jax, 0),
    ("inv-pow", "PyTorch", frameworks.inv_pow, 0),
    ("tensor2tensor", "NumPy float32", frameworks.tensor2tensor, 0),
    ("fairseq", "PyTorch", frameworks.fairseq, 0),
    ("fairseq", "PyTorch (Whisper)", frameworks.whisper, 0),
    ("opennmt-tf", "NumPy float32", frameworks.opennmt_tf, 1),
    ("marian", "C library", frameworks.marian, 0),
    ("hf-marian", "NumPy", frameworks.hf_marian, 0),
    ("diffusers", "PyTorch", frameworks.diffusers, 0),
    ("ggml", "C library", frameworks.ggml, 0),
    ("mlx", "NumPy float32", frameworks.mlx, 0),
    ("flax", "NumPy", frameworks.flax, 0),
    ("mae", "NumPy", frameworks.mae, 0),
]

def promise(holds, what):
    if not holds:
        broken.append(what)


def ours_of(name, dim, rows, first=0, **options):
    """Returns rows [first, first + rows) of a recipe."""
    return inlay.sinusoid(numpy.arange(first, first + rows), dim, recipe=name, **options)


def ulps(a, b):
    """Returns the number of floats between, per entry."""

    def ordered(x):
        bits = x.view(numpy.int32).astype(numpy.int64)
        return numpy.where(bits < 0, -(bits & 0x7FFFFFFF), bits)

    return numpy.abs(ordered(a) - ordered(b))


def compare(ours, theirs):
    """Returns the number of entries that differ, the largest difference in ULP, and the largest difference."""
    theirs = numpy.ascontiguousarray(theirs, numpy.float32)
    distances = ulps(ours, theirs)
    return (
        int(numpy.count_nonzero(distances)),
        int(distances.max()),
        float(numpy.abs(ours.astype(numpy.float64) - theirs.astype(numpy.float64)).max()),
    )


def line(*cells):
    widths = (-24, -22, 9, 11, 8, 8, 10, 10)
    print("  ".join(f"{c:<{-w}}" if w < 0 else f"{c:>{w}}" for c, w in zip(map(str, cells), widths)).rstrip())


def differing(ours, theirs):
    """Returns how many frequencies are not correctly rounded, as text: "5 of 256"."""
    if ours is None or theirs is None:
        return "-"
    theirs = numpy.asarray(theirs)
    return f"{numpy.count_nonzero(ours != theirs.astype(ours.dtype))} of {len(ours)}"


def at_odd_dim(name, table, first):
    """Compares both tables at an odd dim; both may be errors."""
    try:
        theirs = numpy.ascontiguousarray(table(ODD_DIM, ROWS)[1], numpy.float32)
    except (ValueError, RuntimeError, TypeError):
        theirs = None
    try:
        ours = ours_of(name, ODD_DIM, ROWS, first)
    except ValueError:
        ours = None
    if ours is None or theirs is None:
        agree = ours is None and theirs is None
        return agree, "error" if agree else ("only theirs" if ours is None else "only ours")
    difference = compare(ours, theirs)[2]
    return difference <= STRUCTURE, f"{difference:.1e}"


def recipes():
    for name, who, table, first in COMPARED:
        frequencies, theirs = table(DIM, ROWS)
        ours = ours_of(name, DIM, ROWS, first)
        entries, most, difference = compare(ours, theirs)
        agree, odd = (True, "") if table is frameworks.whisper else at_odd_dim(name, table, first)
        missed = differing(definitions.frequencies(name, DIM), frequencies)
        line(name, who, f"{ROWS}x{DIM}", missed, entries, most, f"{difference:.1e}", odd)
        promise(difference <= STRUCTURE, f"{name}: layout, spacing and first position are those of {who}")
        if odd:
            promise(agree, f"{name}: a dim of {ODD_DIM} gives the same as {who} ({odd})")
    # The UNets of Stable Diffusion and DiT: no shift, cosines first, timesteps that are not integers.
    timesteps = numpy.linspace(0, 999, ROWS).astype(numpy.float32) + numpy.float32(0.125)
    frequencies, theirs = frameworks.diffusers(DIM, timesteps, 0)
    theirs = numpy.concatenate([theirs[:, DIM // 2 :], theirs[:, : DIM // 2]], axis=1)
    ours = inlay.sinusoid(timesteps, DIM, recipe="diffusers", shift=0, layout="split_cos_first")
    entries, most, difference = compare(ours, theirs)
    missed = differing(definitions.frequencies("diffusers", DIM, shift=0), frequencies)
    line("diffusers, as DiT has it", "PyTorch", f"{ROWS}x{DIM}", missed, entries, most, f"{difference:.1e}")
    promise(difference <= STRUCTURE, "diffusers: shift 0 and cosines first, at fractional timesteps, is PyTorch's")


def long_tables():
    """Compares the table of PyTorch's tutorial, by recipe and from the framework's frequencies."""
    theirs = frameworks.numpy_fp64(DIM, LONG_ROWS)[1]
    entries, most, difference = compare(ours_of("numpy-fp64", DIM, LONG_ROWS), theirs)
    line("numpy-fp64", "NumPy", f"{LONG_ROWS}x{DIM}", "-", entries, most, f"{difference:.1e}")
    missed = []
    for name, who, table in (("torch-exp", "PyTorch", frameworks.torch_exp), ("jax-exp", "JAX", frameworks.jax_exp)):
        frequencies, theirs = table(DIM, LONG_ROWS)
        frequencies = numpy.asarray(frequencies)
        right = definitions.frequencies(name, DIM)
        ours = ours_of(name, DIM, LONG_ROWS)
        entries, most, difference = compare(ours, theirs)
        line(name, who, f"{LONG_ROWS}x{DIM}", differing(right, frequencies), entries, most, f"{difference:.1e}")
        fed = ours_of("exact", DIM, LONG_ROWS, inv_freq=tuple(frequencies), float_angles=True)
        entries, most, difference = compare(fed, theirs)
        line("inv_freq, float_angles", who, f"{LONG_ROWS}x{DIM}", "given", entries, most, f"{difference:.1e}")
        if who == "PyTorch":
            promise(most <= 1, f"fed PyTorch's frequencies, the table is within 1 ULP of PyTorch's: {most}")
        missed.append((who, right, frequencies))
    return missed


def by_definition():
    """Compares every recipe with its definition, bit by bit."""
    for name in definitions.RECIPES:
        first = 1 if name == "opennmt-tf" else 0
        positions = numpy.arange(first, first + ROWS)
        for dim in (DIM, 6, 130, ODD_DIM):
            expected = definitions.table(name, dim, positions)
            if expected is None:
                continue
            entries = compare(ours_of(name, dim, ROWS, first), expected)[0]
            promise(entries == 0, f"{name}: {ROWS} x {dim} is its definition, bit for bit ({entries} entries differ)")


def tutorial():
    """Compares the table of 8 positions of the Keras tutorial, and the sums that it prints."""
    ours = ours_of("numpy-fp64", 6, 8)
    entries, most, difference = compare(ours, frameworks.numpy_fp64(6, 8)[1])
    line("numpy-fp64", "NumPy", "8x6", "-", entries, most, f"{difference:.1e}")
    promise(entries == 0, "numpy-fp64: the tutorial's table is NumPy's, bit for bit")
    read = [text.split() for text in TUTORIAL.read_text(encoding="utf-8").splitlines()]
    ids = numpy.array([words[1:] for words in read if words[0] == "ids"], int)
    printed = numpy.array([words[1:] for words in read if words[0] == "out"], numpy.float32)
    sums = (ours[ids] + ours[: ids.shape[1]]).reshape(printed.shape)
    entries, most, difference = compare(sums, printed)
    line("numpy-fp64", "the tutorial's output", "10x6", "-", entries, most, f"{difference:.1e}")
    promise(difference <= 6e-9, "numpy-fp64: the tutorial's output is as it printed it, to eight decimals")


def main():
    print(
        f"numpy {numpy.__version__}, torch {torch.__version__} ({torch.backends.cpu.get_cpu_capability()}), "
        f"jax {jax.__version__}, {' '.join(platform.libc_ver())}, {platform.machine()}\n"
    )
    line("recipe", "framework", "table", "frequencies", "entries", "max ULP", "max", f"dim {ODD_DIM}:")
    line("", "", "", "differing", "differing", "", "difference", "difference")
    tutorial()
    missed = long_tables()
    recipes()
    by_definition()
    for who, right, frequencies in missed:
        columns = numpy.nonzero(right != frequencies)[0]
        if len(columns):
            print(f"\n{who}'s exp is not correctly rounded in {len(columns)} of {len(right)} frequencies:")
        for i in columns:
            print(f"  frequency {i:3}: {frequencies[i]:.9g}, correctly rounded {right[i]:.9g}")
    return finish()


if __name__ == "__main__":
    sys.exit(main())
