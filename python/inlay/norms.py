# SPDX-License-Identifier: MIT
"""The norms of a layer, with statistics in float64, within 4 ULP of the real numbers."""

import dataclasses
from typing import Any, ClassVar, Optional, Union

from .names import fold


@dataclasses.dataclass(frozen=True, eq=False)
class LayerNorm:
    """(x - mean) / sqrt(variance + eps) * gamma + beta; gamma and beta are float32 [dim] or None."""

    kind: ClassVar[str] = "layer"
    gamma: Any = None
    beta: Any = None
    eps: float = 1e-5


@dataclasses.dataclass(frozen=True, eq=False)
class RMSNorm:
    """x / sqrt(mean square + eps) * gamma; gamma is float32 [dim] or None."""

    kind: ClassVar[str] = "rms"
    gamma: Any = None
    eps: float = 1e-6


@dataclasses.dataclass(frozen=True, eq=False)
class L2Norm:
    """x / max(length of x, eps) * gamma; gamma is float32 [dim] or None. model2vec has eps 1e-32."""

    kind: ClassVar[str] = "l2"
    gamma: Any = None
    eps: float = 1e-12


Norm = Union[LayerNorm, RMSNorm, L2Norm]
NORMS = {norm.kind: norm for norm in (LayerNorm, RMSNorm, L2Norm)}


def norm_of(norm: Any, kinds: tuple[str, ...] = tuple(NORMS)) -> Optional[Norm]:
    """Returns the given norm, or a norm without arrays for a name like "layer" or "RMSNorm". It must be one of the
    kinds.
    """
    name = fold(norm).removesuffix("norm") if isinstance(norm, str) else None
    if norm is None or name == "none":
        return None
    if name in kinds:
        return NORMS[name]()
    if isinstance(norm, tuple(NORMS[kind] for kind in kinds)):
        return norm
    ways = []
    for kind in kinds:
        arguments = ", ".join(field.name for field in dataclasses.fields(NORMS[kind]))
        ways.append(f'inlay.{NORMS[kind].__name__}({arguments}) or "{kind}"')
    error = ValueError if isinstance(norm, str) else TypeError
    raise error(f"norm is {norm!r}, expected {', '.join(ways)}")


def parts_of(norm: Any) -> tuple[Any, ...]:
    """Returns the kind, eps, gamma and beta of a norm, given as an object, a name or None. Layers call it."""
    norm = norm_of(norm)
    if norm is None:
        return "none", None, None, None
    return norm.kind, norm.eps, norm.gamma, getattr(norm, "beta", None)
