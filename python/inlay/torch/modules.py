# SPDX-License-Identifier: MIT
"""Modules whose forward() is one pass of inlay. They train, compile and export like PyTorch's own modules.

They fall back to PyTorch's operators for other devices, float64, and torch.nn options that inlay lacks.
"""

import math
from typing import Any, Optional, Union

import torch
from torch import Tensor, nn

import inlay
from inlay import _core
from inlay.names import fold
from inlay.norms import norm_of
from inlay.positions import sinusoid_of

from .operators import NORMS, POOLINGS, Arguments, embed, new_seed


def plain_options(module: Union[nn.Embedding, nn.EmbeddingBag]) -> bool:
    """Returns True if inlay supports all options of a torch.nn embedding."""
    return module.max_norm is None and not module.scale_grad_by_freq and not module.sparse


def _padding(module: Union[nn.Embedding, nn.EmbeddingBag]) -> int:
    return -1 if module.padding_idx is None else module.padding_idx


class Embedding(nn.Embedding):
    """torch.nn.Embedding with an optional factor for its rows."""

    def __init__(self, num_embeddings: int, embedding_dim: int, *args: Any, scale: float = 1.0, **options: Any) -> None:
        super().__init__(num_embeddings, embedding_dim, *args, **options)
        self.scale = scale

    def forward(self, input: Tensor) -> Tensor:
        if not plain_options(self):
            rows = super().forward(input)
            return rows if self.scale == 1.0 else rows * self.scale
        return embed(Arguments(input, self.weight, scale=self.scale, padding_id=_padding(self)))


class EmbeddingBag(nn.EmbeddingBag):
    """torch.nn.EmbeddingBag. PyTorch computes mode "max" and gradients of per_sample_weights."""

    def forward(
        self, input: Tensor, offsets: Optional[Tensor] = None, per_sample_weights: Optional[Tensor] = None
    ) -> Tensor:
        # Leave errors about shapes to PyTorch.
        if offsets is None:
            good, bags = input.dim() == 2, input.shape[0] if input.dim() else 0
        else:
            good = input.dim() == 1 == offsets.dim() and offsets.dtype in (torch.int64, torch.int32)
            bags = offsets.numel() - self.include_last_offset
        weights = per_sample_weights
        if weights is not None:
            good = good and self.mode == "sum" and weights.shape == input.shape
        if good and bags == 0:  # PyTorch would read out of bounds
            return nn.functional.embedding(input.new_empty(0), self.weight, sparse=self.sparse)
        trains_weights = weights is not None and (weights.requires_grad or weights.dtype != torch.float32)
        fits = self.mode in POOLINGS and plain_options(self) and self.embedding_dim <= 4096
        if not good or trains_weights or not fits:
            return super().forward(input, offsets, weights)
        cuts = offsets
        if offsets is not None:
            cuts = offsets.long()
            if not self.include_last_offset:
                cuts = torch.cat([cuts, cuts.new_tensor([input.shape[0]])])
        given = Arguments(
            input,
            self.weight,
            offsets=cuts,
            weights=weights,
            padding_id=_padding(self),
            pooling=POOLINGS.index(self.mode),
        )
        try:
            return embed(given, lambda: super(EmbeddingBag, self).forward(input, offsets, weights))
        except ValueError as error:
            # PyTorch allows offsets that end before the ids, and raises errors for those that end after them.
            if offsets is None or (offsets < 0).any() or (offsets.diff() < 0).any():
                raise RuntimeError(str(error)) from None
            return super().forward(input, offsets, weights)


class InputLayer(nn.Module):
    """dropout(norm(row * scale + position + segment)): the input layer of a Transformer in one pass.

    positions is None, an inlay.Sinusoid, "sinusoid" or "learned", with max_length rows. segments is the number of token
    types. norm is None, "layer" or "rms" with eps, or an inlay.LayerNorm or RMSNorm with initial values of the
    parameters. segments_first adds the segment before the position, as in BERT. scale is a number or "sqrt".
    """

    def __init__(
        self,
        vocab: int,
        dim: int,
        *,
        positions: Any = None,
        max_length: int = 512,
        segments: int = 0,
        norm: Union[str, inlay.LayerNorm, inlay.RMSNorm, None] = None,
        eps: float = 1e-5,
        scale: Union[float, str] = 1.0,
        dropout: float = 0.0,
        padding_idx: Optional[int] = None,
        segments_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options = {"device": device, "dtype": dtype}
        norm, eps = norm_of(norm, NORMS[1:]), eps if norm is None or isinstance(norm, str) else norm.eps
        self._initial = norm
        self.vocab, self.dim, self.eps, self.dropout = vocab, dim, eps, dropout
        self.scale = math.sqrt(dim) if scale == "sqrt" else float(scale)
        self.norm, self.segments_first = NORMS.index(norm and norm.kind), segments_first
        if padding_idx is not None and not -vocab <= padding_idx < vocab:
            raise ValueError(f"padding_idx is {padding_idx}, not in [{-vocab}, {vocab})")
        self.padding_idx = padding_idx if padding_idx is None else padding_idx % vocab
        self.weight = nn.Parameter(torch.empty(vocab, dim, **options))
        self.register_parameter("segments", nn.Parameter(torch.empty(segments, dim, **options)) if segments else None)
        self.register_parameter("gamma", nn.Parameter(torch.empty(dim, **options)) if norm else None)
        self.register_parameter("beta", nn.Parameter(torch.empty(dim, **options)) if self.norm == 1 else None)
        if isinstance(positions, str) and fold(positions) == "learned":
            self.positions = nn.Parameter(torch.empty(max_length, dim, **options))
        else:
            self._sinusoid = sinusoid_of(positions, '"learned"')
            rows = None if self._sinusoid is None else torch.empty(max_length, dim, **options)
            self.register_buffer("positions", rows, persistent=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for table in (self.weight, self.segments, self.positions):
            if isinstance(table, nn.Parameter):
                nn.init.normal_(table, std=self.dim**-0.5)
        if isinstance(self.positions, Tensor) and not isinstance(self.positions, nn.Parameter):
            fill_sinusoid(self.positions, self._sinusoid)
        for name, otherwise in (("gamma", 1.0), ("beta", 0.0)):
            vector, initial = getattr(self, name), getattr(self._initial, name, None)
            if vector is not None:
                with torch.no_grad():
                    vector.copy_(torch.as_tensor(initial)) if initial is not None else vector.fill_(otherwise)
        if self.padding_idx is not None:
            with torch.no_grad():
                self.weight[self.padding_idx].fill_(0)

    def extra_repr(self) -> str:
        return f"{self.vocab}, {self.dim}, scale={self.scale:g}, norm={NORMS[self.norm]}, dropout={self.dropout}"

    def forward(
        self,
        ids: Tensor,
        *,
        start: int = 0,
        position_ids: Optional[Tensor] = None,
        segment_ids: Optional[Tensor] = None,
        token_type_ids: Optional[Tensor] = None,
    ) -> Tensor:
        segment_ids = token_type_ids if segment_ids is None else segment_ids
        drops = self.training and self.dropout > 0
        given = Arguments(
            ids,
            self.weight,
            self.positions,
            self.segments,
            self.gamma,
            self.beta,
            position_ids=None if position_ids is None else position_ids.expand_as(ids),
            segment_ids=None if segment_ids is None else segment_ids.expand_as(ids),
            seed=new_seed() if drops else None,
            scale=self.scale,
            padding_id=-1 if self.padding_idx is None else self.padding_idx,
            start=start,
            norm=self.norm,
            epsilon=self.eps if self.norm else 0.0,
            segments_first=self.segments_first,
            dropout=self.dropout if drops else 0.0,
        )
        return embed(given)


def fill_sinusoid(buffer: Tensor, sinusoid: inlay.Sinusoid) -> None:
    """Writes rows [rows, dim] of a sinusoid. With an exact recipe, entries are correctly rounded."""
    if not buffer.is_meta:
        rows = torch.empty(buffer.shape, device="cpu")
        _core.sinusoid_rows(sinusoid.formula(rows.shape[1]), torch.arange(rows.shape[0], device="cpu"), "float32", rows)
        buffer.copy_(rows)


class PositionalEncoding(nn.Module):
    """Adds a sinusoid to x [..., length, dim], then applies dropout. PyTorch adds; the sinusoid is exact."""

    def __init__(
        self, dim: int, max_length: int = 5000, dropout: float = 0.0, sinusoid: inlay.Sinusoid = inlay.Sinusoid()
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self._sinusoid = sinusoid_of(sinusoid) or inlay.Sinusoid()
        self.register_buffer("rows", torch.empty(max_length, dim, dtype=torch.float32), persistent=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        fill_sinusoid(self.rows, self._sinusoid)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        if start < 0 or start + x.shape[-2] > self.rows.shape[0]:
            raise IndexError(f"positions {start} to {start + x.shape[-2] - 1} are not in [0, {self.rows.shape[0]})")
        x = x + self.rows[start : start + x.shape[-2]].to(x.dtype)
        return nn.functional.dropout(x, self.dropout, self.training)


class StaticEmbedding(nn.Module):
    """Static embeddings for inference: the mean of the rows of a text's tokens. The table may have any inlay.Table
    type.

    Call the module with ids [texts, length], or with the ids of all texts and the offset of each text. It can replace
    `embedding` of StaticEmbedding in sentence-transformers. padding_idx tokens are skipped. token_mapping [vocab] is
    the row of each id, and token_weights [vocab] a factor of each id. With norm=inlay.L2Norm(), vectors have length 1.
    """

    def __init__(
        self,
        table: Any,
        *,
        padding_idx: Optional[int] = None,
        pooling: str = "mean",
        token_mapping: Any = None,
        token_weights: Any = None,
        norm: Any = None,
    ) -> None:
        super().__init__()
        self.options = {
            "padding_id": padding_idx,
            "pooling": pooling,
            "token_mapping": token_mapping,
            "token_weights": token_weights,
            "norm": norm,
        }
        self.layer = inlay.Layer(table, **self.options)

    @classmethod
    def from_model2vec(cls, model: Any) -> "StaticEmbedding":
        """Makes the module from a StaticModel of model2vec, with its table, mapping, weights and norm."""
        table, weights = model.embedding, getattr(model, "weights", None)
        return cls(
            inlay.Table(table, "i8") if str(table.dtype) == "int8" else table,
            token_mapping=getattr(model, "token_mapping", None),
            token_weights=None if weights is None else torch.as_tensor(weights).float().contiguous(),
            norm=inlay.L2Norm(eps=1e-32) if model.normalize else None,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Returns the state for copies and pickles, with the table in place of the layer."""
        return {**self.__dict__, "layer": self.layer.table}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.layer = inlay.Layer(self.layer, **self.options)

    def forward(self, ids: Tensor, offsets: Optional[Tensor] = None) -> Tensor:
        if offsets is not None:
            offsets = torch.cat([offsets.long(), offsets.new_tensor([ids.shape[0]], dtype=torch.int64)])
        return self.layer(ids, offsets=offsets)
