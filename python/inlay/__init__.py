# SPDX-License-Identifier: MIT
"""The input layer of Transformers on CPUs: token ids in, vectors ready for the first block out, in one pass.

    import inlay, numpy as np
    layer = inlay.Layer(table, scale="sqrt", positions=inlay.Sinusoid())
    y = layer(ids)

Results are arrays of the same framework as `ids`: NumPy, PyTorch or JAX. See docs/python.md.
"""

from . import _core

try:
    import numpy as _numpy
except ImportError:
    _numpy = None
_core.use_numpy(_numpy)

# Imports after use_numpy().
# pylint: disable=wrong-import-position
from . import names, plot, pool
from ._core import FileError, FileTensor, Layer, Table, get_num_threads, isa, set_num_threads
from .files import File
from .files import open_file as open
from .ngrams import NGram
from .norms import L2Norm, LayerNorm, RMSNorm
from .positions import Rotary, Sinusoid, rotary, sinusoid
from .static import StaticEmbedding
from .tables import quantize, random

__version__ = _core.version
__all__ = [
    "File",
    "FileError",
    "FileTensor",
    "L2Norm",
    "Layer",
    "LayerNorm",
    "NGram",
    "RMSNorm",
    "Rotary",
    "Sinusoid",
    "StaticEmbedding",
    "Table",
    "get_num_threads",
    "isa",
    "open",
    "plot",
    "pool",
    "quantize",
    "random",
    "rotary",
    "set_num_threads",
    "sinusoid",
]
for _name in __all__:
    globals()[_name] = names.checked(globals()[_name])
