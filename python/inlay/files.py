# SPDX-License-Identifier: MIT
"""Model files: safetensors, GGUF and npy, opened, validated and mapped; Tables, Layers and NGrams of them."""

import array
import os
import struct
from collections.abc import Iterator, Mapping
from typing import Any, Callable, Optional, Union

from . import _core
from .ngrams import NGram


class _ByName(Mapping):
    """Names that a file lists, and what it makes of each: a mapping that nobody can change."""

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
    """An open model: one file, or several that belong together. inlay.open() makes it.

    It is immutable, and any number of threads may use it. It is its own context manager, which closes it. Arrays,
    Tables, Layers and NGrams of a file keep its memory, also when it is closed.
    """

    @property
    def tensors(self) -> Mapping[str, _core.FileTensor]:
        """The tensors by name, in the order of their data."""
        return _ByName(lambda: self._names(True), self._tensor, "tensors")

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Strings, numbers, truth values and tuples by key, of GGUF, safetensors' __metadata__ and config.json."""
        return _ByName(lambda: self._names(False), self._value, "values")

    def layer(
        self,
        model: Optional[str] = None,
        part: Optional[str] = None,
        dtype: Any = "float32",
        *,
        threads: Optional[int] = None,
    ) -> _core.Layer:
        """Makes the input layer of the model, as its configuration and the names of its tensors tell.

        model is the family ("bert", "gpt2", "gemma" and so on), if the files do not name it; part "decoder" is the layer
        of the decoder of BART, T5 and others, and "per_layer" the per-layer embedding of Gemma 3n. Calls begin at the
        position that the model begins at, which is layer.start; layer.report says what was found. layer.complete is False
        if the model does more before its first block, or may do so; layer.follows lists the steps.
        """
        return self._layer(model, part, dtype, threads)

    def ngram(self, layer: int = -1) -> NGram:
        """Makes the hashed n-gram embedding of the model, or that of a layer of it, with its tables.

        Calls need no tables; report says what was found.
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
    """Opens a model and validates all headers; reads no data of tensors unless they are copied or loaded.

    path is a .safetensors, .gguf or .npy file, recognised by its contents, the .index.json of several, any file of a
    split GGUF model, or a directory that holds one of these. memory is "mapped": pages come from the disk when they are
    first read, and a file that somebody truncates meanwhile ends the process by SIGBUS; "loaded": the same, read at
    once; or "copied": in private memory. resident_bytes is about how much of a mapping may stay in memory.
    """
    return File(path, memory=memory, resident_bytes=resident_bytes)
