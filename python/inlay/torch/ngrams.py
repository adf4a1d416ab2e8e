# SPDX-License-Identifier: MIT
"""NGramEmbedding: the rows of hashed n-grams as a module for inference, and the operator torch.ops.inlay.ngram.

The operator is stateless as the others are: compiled and exported graphs hold tensors and numbers only.
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


class Tables(NamedTuple):
    """The arrays and types of tables, as inlay.Table has them; groups are 0 where a type has none."""

    data: list[Tensor]
    scales: list[Optional[Tensor]]
    zeros: list[Optional[Tensor]]
    types: list[str]
    dims: list[int]
    groups: list[int]


class Hash(NamedTuple):
    """A spec of inlay.NGram as tensors and numbers; columns are [columns, 5] in the order of inlay.NGram."""

    columns: Tensor
    multipliers: Tensor
    token_map: Optional[Tensor]
    resets: Tensor
    masks: Tensor
    vocab: int
    mix: int
    pad: int
    zero_is_none: bool


def _ngram(
    ids: Tensor,
    offsets: Optional[Tensor],
    history: Optional[Tensor],
    history_lengths: Optional[Tensor],
    data: Sequence[Tensor],
    scales: Sequence[Optional[Tensor]],
    zeros: Sequence[Optional[Tensor]],
    types: Sequence[str],
    dims: Sequence[int],
    groups: Sequence[int],
    columns: Tensor,
    multipliers: Tensor,
    token_map: Optional[Tensor],
    resets: Tensor,
    masks: Tensor,
    vocab: int,
    mix: int,
    pad: int,
    zero_is_none: bool,
    scale: float,
    combine: int,
    dtype: torch.dtype,
) -> Tensor:
    tables = [
        inlay.Table(array, kind, dim=dim, group=group or None, scales=scale_array, zeros=zero_array)
        for array, scale_array, zero_array, kind, dim, group in zip(data, scales, zeros, types, dims, groups)
    ]
    ngram = _core.NGram(
        vocab,
        multipliers.shape[1],
        MIXES[mix],
        columns,
        multipliers,
        pad,
        token_map,
        resets,
        masks,
        zero_is_none,
    )
    return ngram(
        ids,
        tables,
        offsets=offsets,
        history=history,
        history_lengths=history_lengths,
        scale=scale,
        combine=COMBINES[combine],
        dtype=dtype,
    )


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
    """Returns the arrays of tables, or None if there is one that is no tensor."""
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
    """Returns a Table of a tensor, which it keeps without its gradient, or of an array."""
    if isinstance(table, inlay.Table):
        return table
    return inlay.Table(table.detach() if isinstance(table, Tensor) else table)


class _NoGradient(torch.autograd.Function):
    """Rows of tables that want gradients, which nothing computes: says so instead of leaving them out."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, *tables: Tensor) -> Tensor:
        return rows.view_as(rows)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        raise NotImplementedError(
            "an NGramEmbedding computes no gradients: call requires_grad_(False) on its tables, or train them by "
            "torch.nn.functional.embedding() on the ids of inlay.NGram.ids()"
        )


class NGramEmbedding(nn.Module):
    """The rows that each token takes at hashes of its id and the ids before it, for inference.

    tables are one table or several: tensors, or Tables of any type; at first those of the NGram. scale is a
    factor of their rows, such as that of a quantised checkpoint. They are no parameters: they stay on the CPU and of
    their types whatever is done to the module, and are not in its state_dict(). combine is "concat" or "sum"; dtype
    is that of the output, at first that of the first table if that is a type of outputs, else bfloat16.

    A cache of transformers keeps the ids before a call: as state `state_idx` of layer `layer_idx`, which holds
    `masked_id` where a sequence begins later. Positions that an attention mask leaves out count as that id too.
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
        self._learning = [table for table in given if isinstance(table, Tensor) and table.requires_grad]
        self.scale, self.combine = float(scale), choose("combine", combine, COMBINES)
        factors = {table.scale for table in self.tables}
        if len(factors) > 1:
            raise ValueError(f"tables have different scales: {sorted(factors)}")
        # Operators know no Tables: the product is rounded to float32 here, as calls of an NGram round it.
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
        """Makes the drop-in replacement of a Qwen4ExpTextNGramEmbedding of transformers, on its table or another one.

        Its forward takes the same arguments and returns the same bits; a cache can be handed from one to the other.
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
        """Makes the lookup of one Engram layer of sglang: of its EngramHasher, the index of the layer there, and a
        table such as inlay.Table(embed.weight, "e4m3_e8m0", scales=embed.scale)."""
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
        """Returns rows [..., columns * dim], or [..., dim] of a sum.

        input_ids is [..., length], or [tokens] with offsets [sequences + 1]. The ids before them come from a cache of
        transformers, which is updated, or are history [sequences, n - 1] with history_lengths.
        """
        if attention_mask is not None:
            if self.masked_id is None:
                raise ValueError("attention_mask needs masked_id, the id that masked positions count as")
            input_ids = torch.where(attention_mask[..., -input_ids.shape[-1] :].bool(), input_ids, self.masked_id)
        if past_key_values is None:
            return self._rows(input_ids, offsets, history, history_lengths)
        if offsets is not None or history is not None:
            raise ValueError("past_key_values excludes offsets and history: drop them")
        rows = self._rows(input_ids, None, self._remembered(past_key_values), None)
        self._remember(past_key_values, input_ids.long())
        return rows

    def _remembered(self, cache: Any) -> Optional[Tensor]:
        """Returns the ids before a call, of which a cache that records its past has more than are needed."""
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

    def _rows(
        self, ids: Tensor, offsets: Optional[Tensor], history: Optional[Tensor], history_lengths: Optional[Tensor]
    ) -> Tensor:
        device = ids.device
        arrays = [None if array is None else array.cpu() for array in (ids, offsets, history, history_lengths)]
        recorded = way_of(*arrays) == OPERATOR
        if recorded and self._tensors is not None:
            combine = COMBINES.index(self.combine)
            rows = torch.ops.inlay.ngram(*arrays, *self._tensors, *self._hash, self._factor, combine, self.dtype)
        elif torch.compiler.is_compiling():
            rows = _call_outside(self, *arrays)
        else:
            rows = self.call(*arrays)
        if self._learning and torch.is_grad_enabled() and not recorded:
            rows = _NoGradient.apply(rows, *self._learning)
        return rows.to(device)

    def call(
        self, ids: Tensor, offsets: Optional[Tensor], history: Optional[Tensor], history_lengths: Optional[Tensor]
    ) -> Tensor:
        """Calls the handle directly, with an output from the pool."""
        return self.ngram(
            ids,
            self.tables,
            offsets=offsets,
            history=history,
            history_lengths=history_lengths,
            scale=self.scale,
            combine=self.combine,
            dtype=self.dtype,
        )


@torch.compiler.disable
def _call_outside(module: NGramEmbedding, *arrays: Optional[Tensor]) -> Tensor:
    """Calls a module whose tables are no tensors: compilers break their graph here."""
    return module.call(*arrays)
