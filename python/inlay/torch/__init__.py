# SPDX-License-Identifier: MIT
"""inlay for PyTorch: modules, and operators. docs/pytorch.md tells the rest."""

from . import operators
from .modules import Embedding, EmbeddingBag, InputLayer, PositionalEncoding, StaticEmbedding

__all__ = [
    "Embedding",
    "EmbeddingBag",
    "InputLayer",
    "PositionalEncoding",
    "StaticEmbedding",
    "operators",
]
