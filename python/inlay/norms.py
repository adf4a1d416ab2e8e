# SPDX-License-Identifier: MIT
"""The norms of a layer, which are computed in float64 and rounded once."""

import dataclasses
from typing import Any, ClassVar


@dataclasses.dataclass(frozen=True, eq=False)
class LayerNorm:
    """(x - mean) / sqrt(variance + eps) * gamma + beta; gamma and beta are float32 [dim], or None for none."""

    kind: ClassVar[str] = "layer"
    gamma: Any = None
    beta: Any = None
    eps: float = 1e-5


@dataclasses.dataclass(frozen=True, eq=False)
class RMSNorm:
    """x / sqrt(mean square + eps) * gamma; gamma is float32 [dim], or None for none."""

    kind: ClassVar[str] = "rms"
    gamma: Any = None
    eps: float = 1e-6


@dataclasses.dataclass(frozen=True, eq=False)
class L2Norm:
    """x / max(length of x, eps) * gamma; gamma is float32 [dim], or None for none. model2vec has eps 1e-32."""

    kind: ClassVar[str] = "l2"
    gamma: Any = None
    eps: float = 1e-12
