# SPDX-License-Identifier: MIT
"""Comparing arrays bit by bit, for all programs of this folder. Each prints a line per comparison, repeats those that
fail as "BROKEN ...", and then exits with status 1."""
import numpy
import torch

ULPS = 4  # largest difference of an element from the float64 norm, in ULP of the row's largest absolute value
INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}

broken = []


def report(what, result, holds):
    print(f"{what:<66} {result}{'' if holds else '  BROKEN'}", flush=True)
    if not holds:
        broken.append(f"{what}: {result}")


def compare(what, ours, theirs):
    """Compares type, shape and bits. All NaNs are equal."""
    ours, theirs = (torch.as_tensor(array).detach().contiguous() for array in (ours, theirs))
    if (ours.dtype, ours.shape) != (theirs.dtype, theirs.shape):
        report(what, f"{ours.dtype} {list(ours.shape)}, not {theirs.dtype} {list(theirs.shape)}", False)
        return
    integers = INTEGERS[ours.element_size()]
    differ = ours.view(integers) != theirs.view(integers)
    if ours.is_floating_point() and ours.element_size() > 1:
        differ &= ~(ours.isnan() & theirs.isnan())
    count = int(differ.sum())
    where = tuple(differ.nonzero()[0].tolist()) if count else ()
    first = f", the first at {where}: {ours[where]}, not {theirs[where]}" if count else ""
    report(what, f"{ours.numel()} numbers, {count} differ{first}", count == 0)


def compare_norm(what, ours, theirs, exact):
    """Compares rows with their float64 values. Prints how far a package's float32 norm is from ours."""
    ulp = numpy.spacing(numpy.abs(theirs).max(axis=-1, keepdims=True))
    apart = float((numpy.abs(ours - theirs) / ulp).max())
    off = float((numpy.abs(ours - exact) / ulp).max())
    report(what, f"within {off:.2f} ULP of the norm in float64, the package's within {apart:.2f} of ours", off <= ULPS)


def finish():
    """Returns the exit status."""
    for what in broken:
        print(f"BROKEN {what}")
    return 1 if broken else 0
