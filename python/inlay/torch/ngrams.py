# SPDX-License-Identifier: MIT
"""NGramEmbedding: hashed n-gram embeddings as a module for inference, and the operator torch.ops.inlay.ngram.

The operator is stateless like the others: compiled and exported graphs hold only tensors and numbers.
"""

from typing import Any, NamedTuple, Optional, Sequence

import torch
from torch import Tensor, nn

import inlay
from inlay import _core
from inlay.names import choose
from inlay.ngrams import COMBINES, MIXES

from .operators import OPERATOR, TAGS, way_of

ARGUMENTS = (
    "Tensor ids, Tensor? offsets, Tensor? history, Tensor? history_lengths, Tensor[] data, Tensor?[] scales, "
    "Tensor?[] zeros, str[] types, int[] dims, int[] groups, Tensor columns, Tensor multipliers, Tensor? token_map, "
    "Tensor resets, Tensor masks, int vocab, int mix, int pad, bool zero_is_none, float scale, int combine, "
    "ScalarType dtype"
)


_BATCH = ("offsets", "history", "history_lengths")


class Tables(NamedTuple):
    """The arrays and types of tables, as in the properties of inlay.Table. groups is 0 for types without groups."""

    data: list[Tensor]
    scales: list[Optional[Tensor]]
    zeros: list[Optional[Tensor]]
    types: list[str]
    dims: list[int]
    groups: list[int]


class Hash(NamedTuple):
    """A spec of inlay.NGram as tensors and numbers. columns is [columns, 5] in the order of inlay.NGram."""

    columns: Tensor
    multipliers: Tensor
    token_map: Optional[Tensor]
    resets: Tensor
    masks: Tensor
    vocab: int
    mix: int
    pad: int
    zero_is_none: bool


def _ngram(*values: Any) -> Tensor:
    (ids, *others), arrays, spec = values[:4], Tables(*values[4:10]), Hash(*values[10:19])
    scale, combine, dtype = values[19:]
    tables = [
        inlay.Table(data, kind, dim=dim, group=group or None, scales=scales, zeros=zeros)
        for data, scales, zeros, kind, dim, group in zip(*arrays)
    ]
    options = (spec.columns, spec.multipliers, spec.pad, spec.token_map, spec.resets, spec.masks, spec.zero_is_none)
    ngram = _core.NGram(spec.vocab, spec.multipliers.shape[1], MIXES[spec.mix], *options)
    return ngram(ids, tables, **dict(zip(_BATCH, others)), scale=scale, combine=COMBINES[combine], dtype=dtype)


def _fake_ngram(ids: Tensor, *others: Any) -> Tensor:
    dims, columns, combine, dtype = others[7], others[9], others[-2], others[-1]
    width = dims[0] * (1 if combine else columns.shape[0])
    return ids.new_empty((*ids.shape, width), dtype=dtype)


_library = torch.library.Library("inlay", "FRAGMENT")
_library.define(f"ngram({ARGUMENTS}) -> Tensor", tags=TAGS)
_library.impl("ngram", _ngram, "CPU")
torch.library.register_fake("inlay::ngram", _fake_ngram, lib=_library)


def _hash_of(ngram: inlay.NGram) -> Hash:
    spec = ngram.spec
    token_map = spec["token_map"]
    return Hash(
        torch.tensor([list(column.values()) for column in spec["columns"]]),
        torch.tensor([[(n + 2**63) % 2**64 - 2**63 for n in row] for row in spec["multipliers"]]),
        token_map if token_map is None or isinstance(token_map, Tensor) else torch.as_tensor(token_map),
        torch.tensor(spec["resets"], dtype=torch.int64),
        torch.tensor(spec["masks"], dtype=torch.int64),
        spec["vocab"],
        MIXES.index(spec["mix"]),
        spec["pad"],
        spec["zero_is_none"],
    )


def _tensors_of(tables: Sequence[Any]) -> Optional[Tables]:
    """Returns the arrays of tables, or None if any of them isn't a tensor."""
    arrays = [(table.data, table.scales, table.zeros) for table in tables]
    if not all(array is None or isinstance(array, Tensor) for row in arrays for array in row):
        return None
    return Tables(
        *(list(column) for column in zip(*arrays)),
        [table.type for table in tables],
        [table.dim for table in tables],
        [table.group or 0 for table in tables],
    )


def _table(table: Any) -> inlay.Table:
    """Returns a Table over an array, or over a detached tensor."""
    if isinstance(table, inlay.Table):
        return table
    return inlay.Table(table.detach() if isinstance(table, Tensor) else table)


class _NoGradient(torch.autograd.Function):
    """Raises an error in the backward pass, since silently missing gradients of tables would be worse."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, *tables: Tensor) -> Tensor:
        return rows.view_as(rows)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        raise NotImplementedError(
            "an NGramEmbedding computes no gradients: call requires_grad_(False) on its tables, or train them with "
            "torch.nn.functional.embedding() on the ids of inlay.NGram.ids()"
        )


class NGramEmbedding(nn.Module):
    """Gathers rows by hashes of each token and the tokens before it, for inference.

    tables is one table or several, as tensors or Tables of any type. It defaults to the tables of the NGram. scale
    multiplies their rows, e.g. for a quantized checkpoint. Tables aren't parameters: moving or casting the module
    doesn't change them, and state_dict() doesn't contain them. combine is "concat" or "sum". dtype is the type of the
    output. It defaults to the type of the first table if outputs can have it, else bfloat16.

    A cache of transformers keeps the ids before a call, in state `state_idx` of layer `layer_idx`. Ids before the start
    of a sequence, and positions excluded by an attention mask, are replaced by `masked_id`.
    """

    def __init__(
        self,
        ngram: inlay.NGram,
        tables: Any = None,
        *,
        scale: float = 1.0,
        combine: str = "concat",
        dtype: Optional[torch.dtype] = None,
        masked_id: Optional[int] = None,
        layer_idx: Optional[int] = None,
        state_idx: int = 2,
    ) -> None:
        super().__init__()
        tables = ngram.tables if tables is None else tables
        given = tables if isinstance(tables, (list, tuple)) else [tables]
        self.ngram = ngram
        self.tables = [_table(table) for table in given]
        self._trained = [table for table in given if isinstance(table, Tensor) and table.requires_grad]
        self.scale, self.combine = float(scale), choose("combine", combine, COMBINES)
        factors = {table.scale for table in self.tables}
        if len(factors) > 1:
            raise ValueError(f"tables have different scales: {sorted(factors)}")
        # The operator takes no Tables. Round the product to float32, as a call of the NGram does.
        self._factor = float(torch.tensor(self.scale) * torch.tensor(factors.pop()))
        own = getattr(torch, self.tables[0].type, None)
        self.dtype = dtype or (own if isinstance(own, torch.dtype) else torch.bfloat16)
        self.masked_id, self.layer_idx, self.state_idx = masked_id, layer_idx, state_idx
        self._hash, self._tensors = _hash_of(ngram), _tensors_of(self.tables)

    def extra_repr(self) -> str:
        tables = ", ".join(f"{table.type} [{table.rows}, {table.dim}]" for table in self.tables)
        return f"{self.ngram!r}, {tables}, combine={self.combine}, dtype={self.dtype}"

    @classmethod
    def from_qwen4_exp(
        cls, module: nn.Module, *, table: Any = None, scale: float = 1.0, dtype: Optional[torch.dtype] = None
    ) -> "NGramEmbedding":
        """Makes a drop-in replacement for a Qwen4ExpTextNGramEmbedding of transformers, with its table or another one.

        forward() takes the same arguments and returns the same bits. Both can use the same cache.
        """
        eos, heads = int(module.eos_token_id), int(module.heads_per_ngram)
        moduli, offsets = module.ngram_heads_vocab_sizes.tolist(), module.ngram_heads_offsets.tolist()
        ngram = inlay.NGram(
            int(module.unigram_vocab_size),
            int(module.ngram_size),
            "xor",
            columns={"length": [2 + c // heads for c in range(len(moduli))], "modulus": moduli, "offset": offsets},
            multipliers=module.layer_multipliers,
            pad=eos,
            resets=eos,
        )
        table = module.ngram_embedding.weight if table is None else table
        return cls(ngram, table, scale=scale, dtype=dtype, masked_id=eos, layer_idx=module.layer_idx)

    @classmethod
    def from_engram(
        cls, hasher: nn.Module, index: int, table: Any, *, dtype: Optional[torch.dtype] = None
    ) -> "NGramEmbedding":
        """Makes the lookup of one Engram layer of sglang from its EngramHasher, the index of the layer in it, and a
        table, e.g. inlay.Table(embed.weight, "e4m3_e8m0", scales=embed.scale)."""
        primes, image = hasher.primes[index], hasher.image_token_id
        orders, heads = primes.shape
        ngram = inlay.NGram(
            hasher.token_map.shape[0],
            orders + 1,
            "xor",
            columns={
                "length": [2 + order for order in range(orders) for _ in range(heads)],
                "modulus": primes.reshape(-1),
                "offset": hasher.offsets[index],
            },
            multipliers=hasher.multipliers[index],
            pad=int(hasher.pad_id),
            token_map=hasher.token_map.int(),
            masks=() if image is None else image,
        )
        return cls(ngram, table, dtype=dtype)

    def forward(
        self,
        input_ids: Tensor,
        past_key_values: Any = None,
        *,
        attention_mask: Optional[Tensor] = None,
        offsets: Optional[Tensor] = None,
        history: Optional[Tensor] = None,
        history_lengths: Optional[Tensor] = None,
    ) -> Tensor:
        """Returns rows [..., columns * dim], or sums [..., dim].

        input_ids is [..., length], or [tokens] with offsets [sequences + 1]. The ids before them come from a cache of
        transformers, which is updated, or from history [sequences, n - 1] with history_lengths.
        """
        if attention_mask is not None:
            if self.masked_id is None:
                raise ValueError("attention_mask requires masked_id, the id used for masked positions")
            input_ids = torch.where(attention_mask[..., -input_ids.shape[-1] :].bool(), input_ids, self.masked_id)
        if past_key_values is None:
            return self._rows(input_ids, offsets, history, history_lengths)
        if offsets is not None or history is not None:
            raise ValueError("past_key_values can't be combined with offsets or history: drop them")
        rows = self._rows(input_ids, None, self._remembered(past_key_values), None)
        self._remember(past_key_values, input_ids.long())
        return rows

    def _remembered(self, cache: Any) -> Optional[Tensor]:
        """Returns the ids before a call. A cache that records its past holds more ids than required."""
        before = self.ngram.length - 1
        ids = cache.get_conv_state(self.layer_idx, state_idx=self.state_idx)
        if ids is None:
            return None
        return nn.functional.pad(ids, (max(before - ids.shape[-1], 0), 0), value=self.masked_id)[..., -before:]

    def _remember(self, cache: Any, ids: Tensor) -> None:
        before = self.ngram.length - 1
        if ids.shape[-1] < before and cache.get_conv_state(self.layer_idx, state_idx=self.state_idx) is None:
            ids = nn.functional.pad(ids, (before - ids.shape[-1], 0), value=self.masked_id)
        cache.update_conv_state(ids, self.layer_idx, state_idx=self.state_idx, conv_kernel_size=before)

    def _rows(self, ids: Tensor, *others: Optional[Tensor]) -> Tensor:
        arrays = [None if array is None else array.cpu() for array in (ids, *others)]
        recorded = way_of(*arrays) == OPERATOR
        if recorded and self._tensors is not None:
            combine = COMBINES.index(self.combine)
            rows = torch.ops.inlay.ngram(*arrays, *self._tensors, *self._hash, self._factor, combine, self.dtype)
        elif torch.compiler.is_compiling():
            rows = _call_outside(self, *arrays)
        else:
            rows = self.call(*arrays)
        if self._trained and torch.is_grad_enabled() and not recorded:
            rows = _NoGradient.apply(rows, *self._trained)
        return rows.to(ids.device)

    def call(self, ids: Tensor, *others: Optional[Tensor]) -> Tensor:
        """Calls the NGram directly, with an output from the pool. Takes the offsets, history and history_lengths."""
        options = {"scale": self.scale, "combine": self.combine, "dtype": self.dtype}
        return self.ngram(ids, self.tables, **dict(zip(_BATCH, others)), **options)


@torch.compiler.disable
def _call_outside(module: NGramEmbedding, *arrays: Optional[Tensor]) -> Tensor:
    """Calls a module with tables that aren't tensors. Compilers break their graph here."""
    return module.call(*arrays)
