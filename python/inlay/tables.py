# SPDX-License-Identifier: MIT
"""New tables: quantised ones and random ones."""

import copyreg
from typing import Any, Mapping, Optional

from . import _core


def _table(data: Any, options: Mapping[str, Any]) -> _core.Table:
    return _core.Table(data, **options)


def _reduce(table: _core.Table) -> tuple[Any, ...]:
    if table.tables is not None:
        return _core.Table.of_extents, (table.tables,)
    names = ("type", "dim", "group", "scales", "zeros", "first_row", "vocab", "scale")
    return _table, (table.data, {name: getattr(table, name) for name in names})


# Tables can be copied and pickled if their arrays can. A copy does not know the largest error of quantize().
copyreg.pickle(_core.Table, _reduce)


def quantize(table: Any, type: str, *, group: Optional[int] = None, zeros: bool = False) -> _core.Table:
    """Converts a float32 table [rows, dim] to another element type.

    type is that of inlay.Table, all of which docs/features.md has: "float16", "i8", "e4m3", "u4_grouped", ggml's "q4_k" and
    so on, also as "f16", "half", "fp8" or "Q4_K". The grouped types have one scale for each `group` columns (32, 64 or
    128), and a zero point too with zeros=True. largest_error of the result is the largest |x - what is read back|.
    """
    return _core.quantize(table, type, group, zeros)


def random(
    rows: int,
    dim: int,
    *,
    kind: str = "normal",
    mean: float = 0.0,
    deviation: float = 1.0,
    low: Optional[float] = None,
    high: Optional[float] = None,
    key: int = 0,
    offset: int = 0,
    first_row: int = 0,
    zero_row: Optional[int] = None,
    out: Any = None,
) -> Any:
    """Returns a random float32 table [rows, dim], the same on every machine, in whatever parts it is made.

    kind is "normal", "truncated_normal" (low and high in deviations, -2 and 2 at first) or "uniform" (low and high, 0
    and 1 at first). key is the seed, and offset one of its 2^64 tables; first_row is that of a part; zero_row is a
    row of zeros.
    """
    return _core.random(rows, dim, kind, mean, deviation, low, high, key, offset, first_row, zero_row, out)
