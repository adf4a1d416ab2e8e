# SPDX-License-Identifier: MIT
"""Hashed n-gram embeddings: NGram, and its spec as a mapping or a JSON file. docs/ngrams.md gives the specs of known
models.
"""

import array
import json
import operator
import os
from typing import Any, Iterable, Mapping, Optional, Sequence, Union

from . import _core
from .names import choose

MIXES = ("xor", "add")
COMBINES = ("concat", "sum")

# The fields of a column in order, with their defaults.
_COLUMN = {"length": None, "vector": 0, "modulus": None, "table": 0, "offset": 0}
_SPEC = ("vocab", "length", "mix", "columns", "multipliers", "pad", "token_map", "resets", "masks", "zero_is_none")


def _plain(values: Any) -> Any:
    """Returns arrays and tensors as lists, and other values unchanged."""
    return values.tolist() if hasattr(values, "tolist") else values


def _column(column: Any, index: int) -> list[int]:
    """Returns the numbers of a column, given as a mapping or as a sequence in the order of the fields."""
    if not isinstance(column, Mapping):
        column = dict(zip(_COLUMN, column, strict=True))
    unknown = column.keys() - _COLUMN.keys()
    if unknown:
        raise ValueError(
            f"columns[{index}] has {', '.join(sorted(map(str, unknown)))}, not one of {', '.join(_COLUMN)}"
        )
    numbers = {**_COLUMN, **column}
    for name, number in numbers.items():
        if number is None:
            raise ValueError(f"columns[{index}] has no {name}")
    return [int(numbers[name]) for name in _COLUMN]


def _by_field(columns: Mapping[str, Any]) -> list[dict[str, int]]:
    """Splits a mapping from fields to lists into columns. A number in place of a list applies to all columns."""
    lists = {name: _plain(values) for name, values in columns.items()}
    lengths = {name: len(values) for name, values in lists.items() if isinstance(values, Sequence)}
    if len(set(lengths.values())) != 1:
        raise ValueError(f"columns has lists of different lengths: {lengths}" if lengths else "columns has no list")
    count = next(iter(lengths.values()))
    return [{name: values[i] if name in lengths else values for name, values in lists.items()} for i in range(count)]


def _numbers(values: Iterable[int], what: str) -> array.array:
    """Returns integers as int64. Those from 2^63 to 2^64 - 1 wrap around."""
    try:
        return array.array("q", ((int(n) + 2**63) % 2**64 - 2**63 if n < 2**64 else n for n in values))
    except OverflowError:
        raise ValueError(f"{what} has a number that does not fit in 64 bits") from None


def _table(rows: Sequence[Sequence[int]], what: str) -> memoryview:
    """Returns rows of equal length as a two-dimensional array of int64."""
    widths = {len(row) for row in rows}
    if len(widths) != 1 or 0 in widths:
        raise ValueError(f"{what} is empty, or its rows have different lengths")
    numbers = _numbers([number for row in rows for number in row], what)
    return memoryview(numbers).cast("B").cast("q", (len(rows), widths.pop()))


def _check_columns(columns: Sequence[Sequence[int]], length: int, vectors: int) -> None:
    """Raises ValueError if a number of a column is out of range."""
    for index, column in enumerate(columns):
        highest = (length, vectors - 1, 2**32 - 1, 2**32 - 1, 2**63 - 1 - column[2])
        for name, number, low, high in zip(_COLUMN, column, (1, 0, 1, 0, 0), highest):
            if not low <= number <= high:
                raise ValueError(f"columns[{index}] has {name} {number}, not in [{low}, {high}]")


def _in_range(value: Any, what: str, low: int, high: int) -> int:
    """Returns an integer. Raises ValueError unless it is in [low, high]."""
    number = operator.index(value)
    if not low <= number <= high:
        raise ValueError(f"{what} is {number}, not in [{low}, {high}]")
    return number


def _ids(ids: Any, what: str, vocab: int) -> array.array:
    """Returns token ids as int64. Raises ValueError unless all are in [0, vocab)."""
    ids = _plain(ids)
    numbers = _numbers([ids] if isinstance(ids, int) else ids or (), what)
    for index, number in enumerate(numbers):
        if not 0 <= number < vocab:
            raise ValueError(f"{what}[{index}] is {number}, not in [0, {vocab})")
    return numbers


class NGram(_core.NGram):
    """A hash of n-grams. It gives the rows of each token.

    vocab is the number of token ids, and length that of the longest n-gram. mix is "xor" or "add". Each column gives
    one row per token. It is a mapping with length, modulus, offset (0), vector (0) and table (0), or a sequence in the
    order length, vector, modulus, table, offset. columns can also be one mapping from these names to lists. multipliers
    is [vectors, length], or [length] for one vector. token_map is an array [vocab] of numbers, not copied if it is
    int32 or uint32. resets and masks are ids, or one id. The fields are those of inlay_ngram_spec (inlay/ngram.h).
    Calls without tables use those given here. report describes an NGram made from a model file, else it is None.
    """

    spec: dict[str, Any]
    report: Optional[str] = None

    def __new__(
        cls,
        vocab: int,
        length: int,
        mix: str,
        *,
        columns: Any,
        multipliers: Any,
        pad: int = 0,
        token_map: Any = None,
        resets: Any = (),
        masks: Any = (),
        zero_is_none: bool = False,
        tables: Any = None,
    ) -> "NGram":
        vocab, length = _in_range(vocab, "vocab", 1, 2**31), _in_range(length, "length", 1, _core.MAX_NGRAM_LENGTH)
        pad = _in_range(pad, "pad", 0, 2**32 - 1)
        columns = _by_field(columns) if isinstance(columns, Mapping) else _plain(columns)
        columns = [_column(column, index) for index, column in enumerate(columns)]
        multipliers = _plain(multipliers)
        if multipliers and not isinstance(multipliers[0], Sequence):
            multipliers = [multipliers]
        if isinstance(token_map, (list, tuple)):
            token_map = array.array("I", token_map) if all(0 <= n < 2**32 for n in token_map) else token_map
        rows, numbers = _table(columns, "columns"), _table(multipliers, "multipliers")
        if numbers.shape[1] != length:
            raise ValueError(f"multipliers has shape {list(numbers.shape)}, expected {[len(multipliers), length]}")
        _check_columns(columns, length, len(multipliers))
        resets, masks = _ids(resets, "resets", vocab), _ids(masks, "masks", vocab)
        options = (pad, token_map, resets, masks, zero_is_none, tables)
        self = super().__new__(cls, vocab, length, mix, rows, numbers, *options)
        self.spec = {
            "vocab": vocab,
            "length": length,
            "mix": choose("mix", mix, MIXES),
            "columns": [dict(zip(_COLUMN, column)) for column in columns],
            "multipliers": [list(map(int, row)) for row in multipliers],
            "pad": pad,
            "token_map": token_map,
            "resets": list(resets),
            "masks": list(masks),
            "zero_is_none": bool(zero_is_none),
        }
        return self

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], **others: Any) -> "NGram":
        """Makes an NGram from a mapping. Its keys are the arguments, i.e. the fields of inlay_ngram_spec, and comment.

        Other arguments override the mapping. A token_map of "required" must be overridden. The mapping has no tables.
        """
        tables = others.pop("tables", None)
        given = {name: value for name, value in {**spec, **others}.items() if name != "comment"}
        unknown = given.keys() - set(_SPEC)
        if unknown:
            raise ValueError(f"the spec has {', '.join(sorted(map(str, unknown)))}, not one of {', '.join(_SPEC)}")
        missing = [name for name in _SPEC[:5] if name not in given]
        if isinstance(given.get("token_map"), str):
            missing.append("token_map, which comes with the model")
        if missing:
            raise ValueError(f"the spec has no {', '.join(missing)}")
        return cls(**given, tables=tables)

    @classmethod
    def from_json(cls, path: Union[str, os.PathLike], **others: Any) -> "NGram":
        """Makes an NGram from a JSON file with such a mapping. The command `inlay ngram` reads the same files."""
        with open(path, encoding="utf-8") as file:
            return cls.from_spec(json.load(file), **others)

    def __repr__(self) -> str:
        return f"inlay.NGram(vocab {self.vocab}, length {self.length}, {self.column_count} columns)"

    def __reduce__(self) -> tuple[Any, ...]:
        return _remake, (type(self), self.spec, self.tables)


def _remake(kind: type[NGram], spec: Mapping[str, Any], tables: Any) -> NGram:
    return kind.from_spec(spec, tables=tables)
