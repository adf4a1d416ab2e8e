# SPDX-License-Identifier: MIT
"""Makes quantized and random tables."""

import copyreg
from typing import Any, Mapping, Optional

from . import _core


def _table(data: Any, options: Mapping[str, Any]) -> _core.Table:
    return _core.Table(data, **options)


def _reduce(table: _core.Table) -> tuple[Any, ...]:
    if table.tables is not None:
        return _core.Table.from_extents, (table.tables,)
    names = ("type", "dim", "group", "scales", "zeros", "first_row", "vocab", "scale")
    return _table, (table.data, {name: getattr(table, name) for name in names})


# Tables can be copied and pickled if their arrays can. Copies lose largest_error.
copyreg.pickle(_core.Table, _reduce)


def quantize(table: Any, type: str, *, group: Optional[int] = None, zeros: bool = False) -> _core.Table:
    """Converts a float32 table [rows, dim] to another element type.

    type is a type of inlay.Table: "float16", "i8", "e4m3", "u4_grouped", ggml's "q4_k", ..., or a synonym such as
    "f16", "half", "fp8" or "Q4_K". docs/features.md lists all. Grouped types have one scale per `group` columns (16, 32,
    64 or 128; not 16 for affine types) and, with zeros=True, a zero point. largest_error of the result is the maximum of |x - dequantized x|.
    """
    return _core.quantize(table, type, group, zeros)


def random(
    rows: int,
    dim: int,
    *,
    kind: str = "normal",
    mean: float = 0.0,
    std: float = 1.0,
    low: Optional[float] = None,
    high: Optional[float] = None,
    seed: int = 0,
    offset: int = 0,
    first_row: int = 0,
    zero_row: Optional[int] = None,
    out: Any = None,
) -> Any:
    """Returns a random float32 table [rows, dim]. It is the same on all machines, and can be made in parts.

    kind is "normal", "truncated_normal" (low and high in standard deviations, by default -2 and 2) or "uniform" (from
    low to high, by default 0 and 1). offset selects one of 2^64 tables per seed. first_row is the first row of a part.
    zero_row is filled with zeros.
    """
    return _core.random(rows, dim, kind, mean, std, low, high, seed, offset, first_row, zero_row, out)
