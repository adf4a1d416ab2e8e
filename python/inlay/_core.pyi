# SPDX-License-Identifier: MIT
# The extension module. Arrays are NumPy's, PyTorch's or JAX's, or any object with DLPack or the buffer protocol.
from typing import Any, Mapping, Optional, Sequence, Union

Array = Any
version: str
MAX_NGRAM_LENGTH: int

class Output: ...

class Formula:
    def __init__(self, dim: int, *options: Any) -> None: ...

class Table:
    rows: int
    dim: int
    type: str
    group: Optional[int]
    first_row: int
    vocab: Optional[int]
    nbytes: int
    data: Array
    scales: Optional[Array]
    zeros: Optional[Array]
    tables: Optional[tuple[Table, ...]]
    scale: float
    largest_error: Optional[float]
    def __init__(
        self,
        data: Array,
        type: Optional[str] = None,
        *,
        dim: Optional[int] = None,
        group: Optional[int] = None,
        scales: Optional[Array] = None,
        zeros: Optional[Array] = None,
        first_row: Optional[int] = None,
        vocab: Optional[int] = None,
        scale: float = 1,
    ) -> None: ...
    @classmethod
    def from_extents(cls, tables: Sequence[Union[Table, Array]], /) -> Table: ...

class Layer:
    dim: int
    table: Table
    dtype: str
    threads: Optional[int]
    start: int
    report: Optional[str]
    complete: bool
    remaining_ops: tuple[tuple[str, Optional[str]], ...]
    def __init__(
        self,
        table: Union[Table, Array],
        *,
        scale: Union[float, str, None] = 1,
        positions: Any = None,
        segments: Union[Table, Array, None] = None,
        norm: Any = None,
        padding_id: Optional[int] = None,
        bad_id: str = "error",
        substitute_id: Optional[int] = None,
        zero_rows: str = "bare",
        position_mode: str = "sequential",
        clamp_positions: bool = False,
        segments_first: bool = False,
        pooling: Optional[str] = None,
        dtype: Any = "float32",
        stores: str = "automatic",
        cached_positions: Optional[int] = None,
        threads: Optional[int] = None,
        token_mapping: Optional[Array] = None,
        token_weights: Optional[Array] = None,
        self_tuning: bool = True,
    ) -> None: ...
    def __call__(
        self,
        ids: Array,
        out: Optional[Array] = None,
        *,
        start: Optional[int] = None,
        starts: Optional[Array] = None,
        offsets: Optional[Array] = None,
        padded: Union[int, bool, None] = None,
        position_ids: Optional[Array] = None,
        segment_ids: Optional[Array] = None,
        weights: Optional[Array] = None,
        dropout: float = 0,
        seed: int = 0,
        step: int = 0,
        token_type_ids: Optional[Array] = None,
    ) -> Array: ...
    def explain(self, ids: Array, out: Optional[Array] = None, **arguments: Any) -> str: ...
    def _time(self, ids: Array, out: Array, calls: int, /) -> float: ...

class FileError(ValueError):
    kind: str
    name: Optional[str]

class FileTensor:
    name: Optional[str]
    type: Optional[str]
    shape: tuple[int, ...]
    dtype: str
    nbytes: int
    path: Optional[str]
    raw: memoryview
    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Any: ...
    def __dlpack__(self, **options: Any) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

class File:
    path: str
    closed: bool
    def __init__(self, path: Any, *, memory: str = "mapped", resident_bytes: Optional[int] = None) -> None: ...
    def close(self) -> None: ...
    def table(self, name: str, /) -> Table: ...
    def prefetch(self, table: Table, ids: Array, /) -> None: ...
    def _tensor(self, name: str, /) -> FileTensor: ...
    def _names(self, tensors: bool, /) -> list[str]: ...
    def _value(self, key: str, /) -> Any: ...
    def _layer(
        self, model: Optional[str], part: Optional[str], prefix: Optional[str], dtype: Any, threads: Optional[int], /
    ) -> Layer: ...
    def _ngram(self, layer: int, /) -> tuple[dict[str, Any], list[Table], str]: ...

class NGram:
    vocab: int
    length: int
    column_count: int
    token_map: Optional[Array]
    tables: Optional[tuple[Optional[Table], ...]]
    def __new__(cls, vocab: int, length: int, mix: str, *options: Any) -> Any: ...
    def __call__(
        self,
        ids: Array,
        tables: Union[Table, Array, Sequence[Union[Table, Array, None]], None] = None,
        *,
        scale: float = 1,
        combine: str = "concat",
        dtype: Any = "float32",
        planar: bool = False,
        stores: str = "automatic",
        out: Optional[Array] = None,
        offsets: Optional[Array] = None,
        history: Optional[Array] = None,
        history_lengths: Optional[Array] = None,
        first_column: int = 0,
        columns: Optional[int] = None,
        threads: Optional[int] = None,
    ) -> Array: ...
    def ids(
        self,
        ids: Array,
        *,
        out: Optional[Array] = None,
        offsets: Optional[Array] = None,
        history: Optional[Array] = None,
        history_lengths: Optional[Array] = None,
        first_column: int = 0,
        columns: Optional[int] = None,
        dtype: Any = "int64",
        threads: Optional[int] = None,
    ) -> Array: ...
    def history(
        self,
        ids: Array,
        accepted: Optional[Array] = None,
        *,
        offsets: Optional[Array] = None,
        history: Optional[Array] = None,
        history_lengths: Optional[Array] = None,
        out: Optional[Array] = None,
        out_lengths: Optional[Array] = None,
    ) -> tuple[Array, Array]: ...

class Rotary:
    dim: int
    def __new__(
        cls,
        dim: int,
        base: float,
        inv_freq: Optional[bytes],
        attention_factor: float,
        layout: str,
        float_angles: bool,
        cached_positions: Optional[int],
        threads: Optional[int],
        axes: int,
        pair_axes: Optional[bytes],
    ) -> Any: ...
    def __call__(
        self,
        *arrays: Array,
        out: Union[Array, Sequence[Optional[Array]], None] = None,
        start: Optional[int] = None,
        starts: Optional[Array] = None,
        position_ids: Optional[Array] = None,
        offsets: Optional[Array] = None,
        inverse: bool = False,
        heads_first: bool = False,
    ) -> Any: ...

def rotate_given(cos: Array, sin: Array, columns: str, heads_first: bool, out: Any, /, *arrays: Array) -> Any: ...
def use_numpy(module: Any, direct: bool = True, /) -> bool: ...
def get_num_threads() -> int: ...
def set_num_threads(threads: int, /) -> None: ...
def pool_stats() -> dict[str, int]: ...
def pool_limit(idle_bytes: int, /) -> None: ...
def pool_trim() -> int: ...
def zeros(shape: tuple[int, int], like: Array, /) -> Array: ...
def isa() -> str: ...
def quantize(table: Union[Table, Array], type: str, group: Optional[int], zeros: bool, /) -> Table: ...
def random(rows: int, dim: int, *options: Any) -> Array: ...
def dtype_name(dtype: Any, /) -> str: ...
def sinusoid_rows(formula: Formula, positions: Array, dtype: Any, out: Optional[Array], /) -> Array: ...
def rotary_rows(formula: Any, positions: Array, dtype: Any, layout: str, /) -> tuple[Array, Array]: ...
def rotary_frequencies(dim: int, base: float, scaling: Optional[str], **numbers: Any) -> tuple[bytes, float]: ...
def xla_handler() -> Any: ...
