# SPDX-License-Identifier: MIT
"""Positional encodings: sinusoids, and rotary tables of cosines and sines."""

import array
import dataclasses
import functools
from typing import Any, Mapping, Optional, Sequence

from . import _core
from .names import fold


@dataclasses.dataclass(frozen=True)
class Sinusoid:
    """The sinusoids of a layer, or their variant in a framework.

    recipe is "exact" or one of docs/recipes.md, such as "torch-exp", "keras-hub" or "fairseq"; the error for another name
    says which frameworks they are of. What is None is as the recipe has it; the exact one is interleaved, base^(-2i / dim). layout is "interleaved", "split" or
    "split_cos_first"; spacing "dim" or "half" with shift 0 or 1; odd "formula", "zero", "wrap" or "error". inv_freq
    are frequencies of your own in radians per position, and float_angles rounds as float32 frameworks do.
    """

    base: Optional[float] = None
    recipe: str = "exact"
    layout: Optional[str] = None
    spacing: Optional[str] = None
    shift: Optional[int] = None
    odd: Optional[str] = None
    amplitude: Optional[float] = None
    inv_freq: Optional[tuple[float, ...]] = None
    float_angles: bool = False

    def __post_init__(self):
        if self.inv_freq is not None:
            object.__setattr__(self, "inv_freq", tuple(float(f) for f in self.inv_freq))
        self.formula(2 * max(1, len(self.inv_freq or ())))  # what no dim can have is refused here

    def formula(self, dim: int) -> _core.Formula:
        """Returns this sinusoid with frequencies for `dim` columns. Layers call it."""
        return _formula(self, dim)


def sinusoid_of(positions: Any, learned: str = "a table [rows, dim]") -> Optional[Sinusoid]:
    """Returns the Sinusoid that is given or named. `learned` is how the caller is given learned positions."""
    name = fold(positions) if isinstance(positions, str) else None
    if positions is None or name == "none":
        return None
    if name in ("sinusoid", "sinusoidal"):
        return Sinusoid()
    if isinstance(positions, Sinusoid):
        return positions
    error = TypeError if name is None else ValueError
    raise error(
        f'positions is {positions!r}, expected inlay.Sinusoid(recipe="exact") or "sinusoid", or {learned} for learned ones; '
        "rotary embeddings turn queries and keys, and inlay.rotary() makes their tables"
    )


def _doubles(numbers: Optional[Sequence[float]]) -> Optional[bytes]:
    """Returns the bytes of float64 numbers, which the extension module reads."""
    return None if numbers is None else array.array("d", tuple(numbers)).tobytes()


# Frequencies take 3 us each, more than the rows of a short call.
@functools.lru_cache(maxsize=64)
def _formula(sinusoid: Sinusoid, dim: int) -> _core.Formula:
    return _core.Formula(
        dim,
        sinusoid.recipe,
        sinusoid.base,
        sinusoid.layout,
        sinusoid.spacing,
        sinusoid.shift,
        sinusoid.odd,
        sinusoid.amplitude,
        _doubles(sinusoid.inv_freq),
        sinusoid.float_angles,
    )


def sinusoid(
    positions: Any,
    dim: int,
    base: Optional[float] = None,
    *,
    recipe: str = "exact",
    layout: Optional[str] = None,
    dtype: Any = "float32",
    out: Any = None,
    **variant: Any,
) -> Any:
    """Returns the sinusoids of positions, an array of the shape of positions with a last dimension `dim`.

    positions are integers in [0, 2^31), or real numbers between -2^31 and 2^31. base is 10000 at first; other arguments
    are those of Sinusoid.
    """
    formula = Sinusoid(base, recipe, layout, **variant).formula(dim)
    return _core.sinusoid_rows(formula, positions, dtype, out)


# What models' configurations call the numbers of a scaling, and what the library does.
_NAMES_OF_MODELS = {
    "original_max_position_embeddings": "original_length",
    "long_factor": "long_factors",
    "short_factor": "short_factors",
}


def _frequencies(dim: int, base: float, scaling: Mapping[str, Any]) -> tuple[tuple[float, ...], float]:
    numbers = {_NAMES_OF_MODELS.get(name, name): value for name, value in scaling.items()}
    kind = numbers.pop("rope_type", numbers.pop("type", "default"))
    for name in ("rope_type", "type"):
        numbers.pop(name, None)
    given = {name: value for name, value in numbers.items() if value is not None}
    for name in given.keys() & {"short_factors", "long_factors"}:
        given[name] = _doubles(given[name])
    inv_freq, attention = _core.rotary_frequencies(dim, given.pop("rope_theta", base), kind, **given)
    return tuple(array.array("d", inv_freq)), attention


def _hashable(value: Any) -> Any:
    if hasattr(value, "tolist"):  # arrays and numbers of NumPy
        value = value.tolist()
    return tuple(value) if isinstance(value, (list, tuple)) else value


def _axes(section: Sequence[int], interleaved: bool, half: int) -> bytes:
    """Returns which row of positions (temporal 0, height 1, width 2) each frequency takes: one section after the other,
    or in turn as long as height and width have any."""
    if len(section) != 3 or sum(section) != half or min(section) < 0:
        raise ValueError(f"mrope_section is {list(section)}, not three numbers whose sum is dim / 2 = {half}")
    if not interleaved:
        return bytes(axis for axis, count in enumerate(section) for _ in range(count))
    return bytes(i % 3 if i < 3 * section[i % 3] else 0 for i in range(half))


@functools.lru_cache(maxsize=64)
def _rotary_formula(dim: int, base: float, scaling: tuple[tuple[str, Any], ...]) -> Any:
    """Returns a formula; with mrope_section which row of positions each frequency takes, and a formula for each."""
    numbers = dict(scaling)
    section = numbers.pop("mrope_section", None)
    if section is None:
        inv_freq, attention = _frequencies(dim, base, numbers)
        return Sinusoid(inv_freq=inv_freq, amplitude=attention).formula(dim)
    turns = [numbers.pop(name, False) for name in ("mrope_interleaved", "interleaved")]
    numbers.pop("partial_rotary_factor", None)  # the sum of the sections tells dim
    for name in ("rope_type", "type"):
        if numbers.get(name) == "mrope":
            numbers[name] = "default"
    inv_freq, attention = _frequencies(dim, base, numbers)
    axes = _axes(section, any(turns), dim // 2)
    own = [tuple(f for f, axis in zip(inv_freq, axes) if axis == row) for row in range(3)]
    return axes, *(
        Sinusoid(inv_freq=f, amplitude=attention, layout="split").formula(2 * len(f)) if f else None for f in own
    )


def rotary(
    positions: Any,
    dim: int,
    base: float = 10000.0,
    scaling: Optional[Mapping[str, Any]] = None,
    layout: str = "halves",
    *,
    dtype: Any = "float32",
) -> tuple[Any, Any]:
    """Returns the cosines and the sines of rotary embeddings for integer positions.

    scaling is the entry rope_scaling of a model's configuration, such as {"rope_type": "llama3", "factor": 8.0, ...};
    docs/rotary.md has the formulas. layout is "pairs" (dim / 2 columns), "halves" (Llama in PyTorch) or "interleaved".
    With mrope_section in scaling (Qwen2-VL to Qwen3-VL), positions are [3, ...]: temporal, height and width.
    """
    key = tuple(sorted((name, _hashable(value)) for name, value in (scaling or {}).items()))
    return _core.rotary_rows(_rotary_formula(dim, base, key), positions, dtype, layout)
