# SPDX-License-Identifier: MIT
"""Model files (safetensors, GGUF and npy): opens, validates and maps them, and makes Tables, Layers and NGrams."""

import array
import os
import struct
from collections.abc import Iterator, Mapping
from typing import Any, Callable, Optional, Union

from . import _core
from .ngrams import NGram


class _ByName(Mapping):
    """A read-only mapping from the names in a file to objects made on access."""

    def __init__(self, names: Callable[[], list[str]], make: Callable[[str], Any], what: str) -> None:
        self._names, self._make, self._what = names, make, what

    def __getitem__(self, name: str) -> Any:
        return self._make(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def __repr__(self) -> str:
        return f"<{len(self)} {self._what} of a file>"


class File(_core.File):
    """An open model of one or several files. inlay.open() makes it.

    It is immutable, and any number of threads may use it. As a context manager, it closes itself. Arrays, Tables,
    Layers and NGrams of a file keep its memory alive, even after close().
    """

    @property
    def tensors(self) -> Mapping[str, _core.FileTensor]:
        """The tensors by name, in the order of their data."""
        return _ByName(lambda: self._names(True), self._tensor, "tensors")

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Metadata by key, from GGUF, safetensors' __metadata__ and config.json: str, int, float, bool or tuple."""
        return _ByName(lambda: self._names(False), self._value, "values")

    def layer(
        self,
        model: Optional[str] = None,
        part: Optional[str] = None,
        dtype: Any = "float32",
        *,
        prefix: Optional[str] = None,
        threads: Optional[int] = None,
    ) -> _core.Layer:
        """Makes the input layer of the model from its configuration and the names of its tensors.

        model is the family ("bert", "gpt2", "gemma", ...), required if the files don't name it. part "decoder" selects
        the decoder of BART, T5 and others, "per_layer" the per-layer embedding of Gemma 3n. prefix is the
        prefix of the layer's tensor names ("llm."), required if they don't have their usual names. The
        error then lists candidates. layer.start is the model's first position, the default start of calls.
        layer.report describes the result. layer.complete is False if the model has, or may have, more steps before its
        first block; layer.remaining_ops lists them.
        """
        return self._layer(model, part, prefix, dtype, threads)

    def ngram(self, layer: int = -1) -> NGram:
        """Makes the hashed n-gram embedding of the model, or of one of its layers, with its tables.

        Calls need no tables. report describes the result.
        """
        spec, tables, report = self._ngram(layer)
        for name in ("multipliers", "resets", "masks"):
            spec[name] = array.array("q", spec[name] or b"").tolist()
        numbers, length = spec["multipliers"], spec["length"]
        spec["multipliers"] = [numbers[i : i + length] for i in range(0, len(numbers), length)]
        spec["columns"] = list(struct.iter_unpack("4IQ", spec["columns"]))  # inlay_ngram_column
        if spec["token_map"] is not None:
            spec["token_map"] = array.array("I", spec["token_map"])
        ngram = NGram.from_spec(spec, tables=tables)
        ngram.report = report
        return ngram

    def __repr__(self) -> str:
        try:
            return f"inlay.File({self.path!r}, {len(self.tensors)} tensors)"
        except ValueError:
            return f"inlay.File({self.path!r}, closed)"

    def __enter__(self) -> "File":
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


def open_file(
    path: Union[str, bytes, os.PathLike], *, memory: str = "mapped", resident_bytes: Optional[int] = None
) -> File:
    """Opens a model and validates all headers. Reads data of tensors only with memory="loaded" or "copied".

    path is a .safetensors, .gguf or .npy file (detected by content), an .index.json of several files, any file of a
    split GGUF model, or a directory with one of these. With memory="mapped", pages are read from the disk on first
    access; if the file is truncated while it is open, access kills the process with SIGBUS. "loaded" maps the file and
    reads it at once. "copied" reads it into private memory. resident_bytes is an approximate limit on a mapping's
    resident memory.
    """
    return File(path, memory=memory, resident_bytes=resident_bytes)
