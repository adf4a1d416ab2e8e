# SPDX-License-Identifier: MIT
"""Handles rare cases of arrays, and makes error messages. The extension module calls these functions by name."""

import importlib
import sys
from typing import Any, Callable, Optional


def probe(numpy: Any) -> tuple[Any, int, Any]:
    """Returns an array with known fields, the address of its data, and NumPy's C API or None."""
    array = numpy.zeros((2, 6), "int16")[:, 2::2]
    for name in ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath"):
        try:
            return array, array.__array_interface__["data"][0], importlib.import_module(name)._ARRAY_API
        except (ImportError, AttributeError):
            pass
    return array, array.__array_interface__["data"][0], None


def ml_dtype(name: str) -> Any:
    """Returns an ml_dtypes dtype."""
    import numpy  # pylint: disable=import-outside-toplevel

    try:
        return numpy.dtype(getattr(importlib.import_module("ml_dtypes"), name))
    except (ImportError, AttributeError):
        raise TypeError(f"{name} in NumPy requires the package ml_dtypes") from None


def array_of(tensor: Any, numpy: Any, plain: bool, dtype: Any, copy: Optional[bool]) -> Any:
    """Implements FileTensor.__array__(dtype, copy). `plain` is true if the buffer protocol has a format for the type.
    """
    if plain:
        array = numpy.asarray(tensor)
    else:
        array = numpy.asarray(tensor.raw).view(ml_dtype(tensor.dtype)).reshape(tensor.shape)
    same = dtype is None or array.dtype == dtype
    if same and not copy:
        return array
    if copy is False:
        raise ValueError("copy=False was given, but converting to another dtype requires a copy: leave copy out")
    return array.copy() if same else array.astype(dtype)


def consumer(like: Any) -> Callable[[Any], Any]:
    """Returns the from_dlpack() function of an array's framework: from its array namespace, or in PyTorch from the
    package.
    """
    if hasattr(like, "__array_namespace__"):
        return like.__array_namespace__().from_dlpack
    return importlib.import_module(type(like).__module__.partition(".")[0]).from_dlpack


# ml_dtypes types without a format in the buffer protocol, and integers of their size.
_BITS = {"bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e8m0fnu": "uint8"}


def bits_of(array: Any) -> Optional[tuple[Any, str]]:
    """Returns the elements of an array as integers, and the name of their type, if the framework can't export that
    type. NumPy can't export ml_dtypes types, and PyTorch before 2.10 can't export 8-bit floats. Returns None for other
    types.
    """
    name = str(getattr(array, "dtype", None)).rpartition(".")[2]
    if name not in _BITS:
        return None
    torch = sys.modules.get("torch")
    of_torch = torch is not None and isinstance(array, torch.Tensor)
    return array.view(getattr(torch, _BITS[name]) if of_torch else _BITS[name]), name


def check_gradient(what: str) -> None:
    """Raises RuntimeError for an array that requires a gradient, as PyTorch does for outputs."""
    if sys.modules["torch"].is_grad_enabled():
        way = "call it under torch.no_grad(), or use a module of inlay.torch"
        raise RuntimeError(f"{what} requires a gradient, which calls don't compute: {way}")


def unknown_dtype(array: Any, what: str) -> TypeError:
    """Returns the error for elements of an unsupported type."""
    dtype = getattr(array, "dtype", None)
    if dtype is None:
        return TypeError(f"{what} has elements of a type that inlay does not read")
    try:
        little = dtype.newbyteorder("<").str
        other = little != dtype.str
    except (AttributeError, TypeError):
        other = False
    if other:
        return TypeError(f'{what} has elements of type {dtype}; inlay reads little-endian ones: {what}.astype("{little}")')
    kind = getattr(dtype, "kind", "c" if "complex" in str(dtype) else "")
    ways = {
        "c": f": take {what}.real, or {what}.imag",
        "f": f': {what}.astype("float32")',
        "O": ": lists in it need one length, and numbers one type",
        "U": ": a tokenizer makes ids of text",
    }
    return TypeError(f"{what} has elements of type {dtype}, which inlay does not read{ways.get(kind, '')}")


def _large(values: Any, index: tuple[int, ...] = ()) -> Optional[tuple[int, tuple[int, ...]]]:
    """Returns the first integer in nested lists that doesn't fit in int64, and its indices. Ignores lists that are too
    deep for a view."""
    if isinstance(values, int):
        return None if -(2**63) <= values < 2**63 else (values, index)
    if not isinstance(values, (list, tuple)) or len(index) == 8:
        return None
    return next(filter(None, (_large(value, (*index, i)) for i, value in enumerate(values))), None)


def _is_ragged(values: Any, depth: int = 0) -> bool:
    lists = [value for value in values if isinstance(value, (list, tuple))]
    if not lists or depth == 8:
        return False
    return len(lists) < len(values) or len({len(one) for one in lists}) > 1 or any(_is_ragged(one, depth + 1) for one in lists)


def bad_list(values: Any, what: str) -> Optional[Exception]:
    """Returns the error for integers that don't fit in int64, or for lists of different lengths, else None."""
    found = _large(values)
    if found is None and isinstance(values, (list, tuple)) and _is_ragged(values):
        way = ": give all ids in one list, and offsets, as in layer([1, 2, 3], offsets=[0, 2, 3])" if what == "ids" else ""
        return ValueError(f"{what} has lists of different lengths{way}")
    if found is None:
        return None
    number, index = found
    has = f"has {number} at {list(index)}" if index else f"is {number}"
    return IndexError(f"{what} {has}, which is out of range: it does not fit in 64 bits with a sign")
