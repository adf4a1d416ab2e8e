# SPDX-License-Identifier: MIT
"""inlay for PyTorch: modules, operators, and convert(model). docs/pytorch.md tells the rest."""

from . import operators
from .conversion import Report, convert, restore
from .modules import Embedding, EmbeddingBag, InputLayer, PositionalEncoding, StaticEmbedding

__all__ = [
    "Embedding",
    "EmbeddingBag",
    "InputLayer",
    "PositionalEncoding",
    "Report",
    "StaticEmbedding",
    "convert",
    "operators",
    "restore",
]
