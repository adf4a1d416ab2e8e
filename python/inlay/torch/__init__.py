# SPDX-License-Identifier: MIT
"""inlay for PyTorch: modules, operators, and convert(model). See docs/pytorch.md."""

from . import operators
from .conversion import Report, convert, restore
from .modules import Embedding, EmbeddingBag, InputLayer, PositionalEncoding, StaticEmbedding
from .ngrams import NGramEmbedding
from .rotary import Rotary

__all__ = [
    "Embedding",
    "EmbeddingBag",
    "InputLayer",
    "NGramEmbedding",
    "PositionalEncoding",
    "Report",
    "Rotary",
    "StaticEmbedding",
    "convert",
    "operators",
    "restore",
]
