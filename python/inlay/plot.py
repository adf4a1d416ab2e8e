# SPDX-License-Identifier: MIT
"""Draws tables with matplotlib, which is imported on first use.

Nothing here writes a file. Use ax.figure.savefig(path), which overwrites an existing file.
"""

from typing import Any, Optional

from . import _core
from .positions import Sinusoid


def _draw(rows: Any, ax: Any, limit: float, labels: tuple[str, str]) -> Any:
    """Draws rows as a color map, symmetric around zero. Returns the axes."""
    import matplotlib.pyplot  # pylint: disable=import-outside-toplevel

    if ax is None:
        ax = matplotlib.pyplot.subplots(figsize=(10, 6), layout="constrained")[1]
    image = ax.imshow(rows, cmap="RdBu", vmin=-limit, vmax=limit, aspect="auto", interpolation="nearest")
    ax.set_xlabel(labels[1])
    ax.set_ylabel(labels[0])
    ax.figure.colorbar(image, ax=ax)
    return ax


def sinusoid(length: int = 2048, dim: int = 512, *, ax: Any = None, **variant: Any) -> Any:
    """Draws the sinusoids of positions [0, length). Returns the axes. Other arguments are those of Sinusoid."""
    import numpy  # pylint: disable=import-outside-toplevel

    formula = Sinusoid(**variant).formula(dim)
    rows = _core.sinusoid_rows(formula, numpy.arange(length), "float32", None)
    return _draw(rows, ax, 1.0, ("position", "column"))


def table(table: Any, *, rows: Optional[int] = None, ax: Any = None) -> Any:
    """Draws a dequantized table, or its first `rows` rows. Returns the axes."""
    import numpy  # pylint: disable=import-outside-toplevel

    layer = _core.Layer(table)
    count = layer.table.rows if rows is None else min(rows, layer.table.rows)
    values = layer(numpy.arange(count))
    limit = float(numpy.abs(values).max(initial=0.0)) or 1.0
    return _draw(values, ax, limit, ("row", "column"))
