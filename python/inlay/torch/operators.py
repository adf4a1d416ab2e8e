# SPDX-License-Identifier: MIT
"""The operators torch.ops.inlay.forward and .backward, their gradients, and embed(), which chooses between them and
PyTorch.

Operators are stateless: each call makes a layer, so compiled and exported graphs hold only tensors and numbers.
"""

import ctypes
import functools
from typing import Any, Callable, NamedTuple, Optional

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor
from torch.autograd import forward_ad

import inlay
from inlay import _core


class Arguments(NamedTuple):
    """The arguments of torch.ops.inlay.forward.

    positions and segments are tables; position_ids and segment_ids have the shape of ids. norm is an inlay_norm,
    pooling an inlay_pooling. Like padding_idx in PyTorch, padding_id gets no gradient and is skipped by pooling, but
    doesn't change other outputs. seed holds the key and the step of dropout.
    """

    ids: Tensor
    table: Tensor
    positions: Optional[Tensor] = None
    segments: Optional[Tensor] = None
    gamma: Optional[Tensor] = None
    beta: Optional[Tensor] = None
    position_ids: Optional[Tensor] = None
    segment_ids: Optional[Tensor] = None
    offsets: Optional[Tensor] = None
    weights: Optional[Tensor] = None
    seed: Optional[Tensor] = None
    scale: float = 1.0
    padding_id: int = -1
    start: int = 0
    norm: int = 0
    epsilon: float = 0.0
    segments_first: bool = False
    pooling: int = 0
    dropout: float = 0.0


NORMS = (None, "layer", "rms")
POOLINGS = (None, "sum", "mean")
DIFFERENTIABLE = ("table", "positions", "segments", "gamma", "beta")
# The first fields are tensors: ids, then DIFFERENTIABLE, then the others. Slice only plain tuples: the compiler of
# PyTorch 2.7 doesn't support slices of named tuples.
_TENSORS = Arguments._fields.index("scale")
_PARAMETERS = slice(1, 1 + len(DIFFERENTIABLE))
_FIRST_OF_LAYER = Arguments._fields.index("norm")

# The operators are pure functions for all compilers. Arguments keep their strides.
TAGS = (torch.Tag.pt2_compliant_tag, torch.Tag.needs_fixed_stride_order)

_library = torch.library.Library("inlay", "DEF")
_library.define(
    "forward(Tensor ids, Tensor table, Tensor? positions, Tensor? segments, Tensor? gamma, Tensor? beta, "
    "Tensor? position_ids, Tensor? segment_ids, Tensor? offsets, Tensor? weights, Tensor? seed, float scale, "
    "int padding_id, SymInt start, int norm, float epsilon, bool segments_first, int pooling, float dropout) -> Tensor",
    tags=TAGS,
)
# rows gives the number of rows of each table, 0 for none. wanted selects gradients; the others are empty.
_library.define(
    "backward(Tensor gradient, Tensor ids, Tensor? position_ids, Tensor? segment_ids, Tensor? offsets, Tensor? weights, "
    "SymInt[] rows, bool[] wanted, float scale, int padding_id, SymInt start, int pooling) -> (Tensor, Tensor, Tensor)",
    tags=TAGS,
)


# ---- What computes a layer

TORCH, DIRECT, OPERATOR = range(3)

PLAIN = (Tensor, torch.nn.Parameter)
_RECORDED = (FakeTensor, FunctionalTensor)
_TABLE_TYPES = (torch.float32, torch.float16, torch.bfloat16)
_ID_TYPES = (torch.int64, torch.int32)


def is_recorded() -> bool:
    """Returns True if a compiler, a tracer or a dispatch mode records operators."""
    return torch.compiler.is_compiling() or torch._C._is_tracing() or torch._C._len_torch_dispatch_stack() > 0


def way_of(*tensors: Optional[Tensor]) -> int:
    """Returns what computes with these tensors: a DIRECT call; the OPERATOR if a compiler, a tracer or a dispatch mode
    records operators; TORCH for tensor subclasses, other devices, lazily negated tensors, torch.func and forward-mode
    derivatives.
    """
    recorded = is_recorded()
    for tensor in tensors:
        if tensor is not None:
            kind = type(tensor)
            if kind not in PLAIN:
                if kind not in _RECORDED:
                    return TORCH
                recorded = True
            if not tensor.is_cpu or tensor.is_nested or (not recorded and tensor.is_neg()):
                return TORCH
    if torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0:
        return TORCH
    return OPERATOR if recorded else DIRECT


def way_of_layer(given: Arguments) -> int:
    """Returns what computes a layer: also TORCH for types that the kernels don't support, and for empty tables."""
    way = way_of(*tuple(given)[:_TENSORS])
    if way == TORCH or given.ids.dtype not in _ID_TYPES or given.table.dtype not in _TABLE_TYPES:
        return TORCH
    for vector in (given.gamma, given.beta):
        if vector is not None and vector.dtype != torch.float32:
            return TORCH
    if torch.compiler.is_compiling() or not torch._C._is_tracing():  # tracing warns about conditions on shapes
        for table in (given.table, given.positions, given.segments):
            if table is not None and 0 in table.shape:
                return TORCH
    return way


def embed(given: Arguments, otherwise: Optional[Callable[[], Tensor]] = None) -> Tensor:
    """Computes a layer. `otherwise` computes it with PyTorch, by default reference()."""
    way = way_of_layer(given)
    if way == TORCH:
        return reference(given) if otherwise is None else otherwise()
    if way == OPERATOR:
        return torch.ops.inlay.forward(*given)
    if torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in given[_PARAMETERS]):
        return _Forward.apply(_call, *given)
    return _call(*given)


def reference(given: Arguments) -> Tensor:
    """Computes a layer with PyTorch's operators. Draws another dropout mask. Doesn't support pooling."""
    x = torch.nn.functional.embedding(given.ids, given.table, given.padding_id if given.padding_id >= 0 else None)
    x = x if given.scale == 1.0 else x * given.scale
    terms = []
    if given.positions is not None:
        at = given.position_ids
        if at is None:
            at = torch.arange(given.start, given.start + given.ids.shape[-1], device=given.ids.device)
        terms.append(torch.nn.functional.embedding(at, given.positions))
    if given.segments is not None:
        at = given.segment_ids if given.segment_ids is not None else torch.zeros_like(given.ids)
        terms.append(torch.nn.functional.embedding(at, given.segments))
    for term in reversed(terms) if given.segments_first else terms:
        x = x + term
    if given.norm == 1:
        x = torch.nn.functional.layer_norm(x, x.shape[-1:], given.gamma, given.beta, given.epsilon)
    elif given.norm == 2:
        x = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + given.epsilon)
        x = x if given.gamma is None else x * given.gamma
    return x if given.seed is None else torch.nn.functional.dropout(x, given.dropout)


def new_seed() -> Tensor:
    """Returns a random seed for dropout from PyTorch's generator."""
    return torch.randint(2**62, (2,), dtype=torch.int64, device="cpu")


# ---- Calls

# Layers by options, and by addresses and shapes of tensors. They don't own their tensors, so PyTorch can free the
# memory. None marks a layer that was called once: the first layer serves a single call, without self-tuning.
_layers: dict[Any, Any] = {}
MAX_LAYERS = 256


def _kept(made_of: Any, make: Callable[..., Any]) -> Any:
    """Returns the cached layer, or a new one. A layer is cached from its second use on."""
    layer = _layers.get(made_of)
    if layer is None:
        again = made_of in _layers
        layer = make(self_tuning=again)._disown()
        if len(_layers) >= MAX_LAYERS:
            _layers.pop(list(_layers)[0], None)  # other threads may change it during iteration
        _layers[made_of] = layer if again else None
    return layer


def _readable(table: Optional[Tensor]) -> Optional[Tensor]:
    """Returns a tensor with contiguous rows that don't overlap, by a copy if necessary."""
    if table is None or not (
        table.stride(-1) != 1 or table.stride(0) < table.shape[-1] * (table.dim() - 1) or table.is_neg()
    ):
        return table
    return table.resolve_neg().contiguous()


def _layer(given: Arguments, parameters: list[Optional[Tensor]], self_tuning: bool) -> Any:
    table, positions, segments, gamma, beta = parameters
    norms = (None, inlay.LayerNorm(gamma, beta, given.epsilon), inlay.RMSNorm(gamma, given.epsilon))
    return inlay.Layer(
        table,
        scale=given.scale,
        positions=positions,
        segments=segments,
        norm=norms[given.norm],
        padding_id=given.padding_id if given.pooling and given.padding_id >= 0 else None,
        pooling=POOLINGS[given.pooling],
        segments_first=given.segments_first,
        dtype=given.table.dtype,
        self_tuning=self_tuning,
    )


def _call(*values: Any) -> Tensor:
    """Calls a layer without PyTorch's dispatcher. The output comes from the pool."""
    given = Arguments._make(values)
    parameters = [_readable(tensor) for tensor in values[_PARAMETERS]]
    places = [None if t is None else (t.data_ptr(), t.shape, t.stride(), t.dtype) for t in parameters]
    made_of = (*places, given.scale, given.padding_id, *values[_FIRST_OF_LAYER:-1])
    layer = _kept(made_of, functools.partial(_layer, given, parameters))
    if not any(tensor is not None for tensor in values[_PARAMETERS.stop : _TENSORS]):
        return layer(given.ids, start=given.start) if given.start else layer(given.ids)
    key, step = given.seed.tolist() if given.seed is not None else (0, 0)
    return layer(
        given.ids,
        start=given.start if given.positions is not None and given.position_ids is None else None,
        position_ids=given.position_ids,
        segment_ids=given.segment_ids,
        offsets=given.offsets,
        weights=given.weights,
        dropout=given.dropout,
        seed=key % 2**64,
        step=step % 2**64,
    )


def _unread(rows: int, dim: int) -> Optional[memoryview]:
    """Returns a table at an invalid address, since gradients read no table. Returns None if there are no rows."""
    numbers = (ctypes.c_float * (rows * dim)).from_address(2**63)
    return memoryview(numbers).cast("B").cast("f", (rows, dim)) if rows else None


def _layer_of_gradients(
    rows: list[int], dim: int, scale: float, padding_id: int, pooling: int, self_tuning: bool
) -> Any:
    table, positions, segments = (_unread(n, dim) for n in rows)
    return inlay.Layer(
        table,
        scale=scale,
        positions=positions,
        segments=segments,
        padding_id=padding_id if padding_id >= 0 else None,
        zero_rows="bare" if pooling else "positioned",
        pooling=POOLINGS[pooling],
        self_tuning=self_tuning,
    )


def _call_backward(
    gradient: Tensor,
    ids: Tensor,
    position_ids: Optional[Tensor],
    segment_ids: Optional[Tensor],
    offsets: Optional[Tensor],
    weights: Optional[Tensor],
    rows: list[int],
    wanted: list[bool],
    scale: float,
    padding_id: int,
    start: int,
    pooling: int,
) -> tuple[Tensor, ...]:
    """Returns the gradients of tables as float32 from the pool, summed in the order of ids."""
    dim = gradient.shape[-1]
    made_of = (tuple(rows), dim, scale, padding_id, pooling)
    layer = _kept(made_of, functools.partial(_layer_of_gradients, *made_of))
    found = tuple(_core.zeros((n, dim) if want else (0, dim), gradient) for n, want in zip(rows, wanted))
    layer._backward(
        tuple(table if want else None for table, want in zip(found, wanted)),
        ids,
        gradient.resolve_neg().float().contiguous(),
        start=start if rows[1] and position_ids is None else None,
        position_ids=position_ids,
        segment_ids=segment_ids,
        offsets=offsets,
        weights=weights,
    )
    return found


# ---- Gradients


def _through_dropout(given: Arguments, gradient: Tensor) -> Tensor:
    """Multiplies by the dropout mask. A layer with a table of ones and the same seed computes it."""
    if given.dropout == 0.0:
        return gradient
    ids = torch.zeros(gradient.shape[:-1], dtype=torch.int64, device=gradient.device)
    ones = Arguments(ids, gradient.new_ones(1, gradient.shape[-1]), seed=given.seed, dropout=given.dropout)
    return gradient * torch.ops.inlay.forward(*ones)


def _through_norm(given: Arguments, gradient: Tensor) -> tuple[Tensor, Optional[Tensor], Optional[Tensor]]:
    """Returns the gradients of the sum, gamma and beta. Recomputes the sum, which isn't stored."""
    if given.norm == 0:
        return gradient, None, None
    bare = given._replace(gamma=None, beta=None, norm=0, epsilon=0.0, dropout=0.0, seed=None)
    x = torch.ops.inlay.forward(*bare).float()
    if given.norm == 1:
        dim, wanted = x.shape[-1:], [True, given.gamma is not None, given.beta is not None]
        _, mean, factor = torch.ops.aten.native_layer_norm(x, dim, None, None, given.epsilon)
        return torch.ops.aten.native_layer_norm_backward(
            gradient, x, dim, mean, factor, given.gamma, given.beta, wanted
        )
    factor = torch.rsqrt(x.square().mean(-1, keepdim=True) + given.epsilon)
    normal = x * factor
    along = gradient if given.gamma is None else gradient * given.gamma
    through = factor * (along - normal * (along * normal).mean(-1, keepdim=True))
    return through, None if given.gamma is None else (gradient * normal).flatten(0, -2).sum(0), None


class _Forward(torch.autograd.Function):
    """Calls `compute` with gradients. Saves tables only for a norm, which recomputes the sum of their rows."""

    @staticmethod
    def forward(ctx: Any, compute: Callable[..., Tensor], *values: Any) -> Tensor:
        given = Arguments(*values)
        ctx.tables = [None if t is None else (t.shape[0], t.dtype) for t in given[_PARAMETERS]]
        if given.norm == 0:
            given = given._replace(table=None, positions=None, segments=None)
        ctx.save_for_backward(*tuple(given)[:_TENSORS])
        ctx.others = tuple(given)[_TENSORS:]
        return compute(*values)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Optional[Tensor], ...]:
        given = Arguments(*ctx.saved_tensors, *ctx.others)
        wanted = ctx.needs_input_grad[2 : 2 + len(DIFFERENTIABLE)]
        gradient, gamma, beta = _through_norm(given, _through_dropout(given, gradient.float()))
        found: tuple[Optional[Tensor], ...] = (None, None, None)
        if any(wanted[:3]):
            ids = (given.ids, given.position_ids, given.segment_ids, given.offsets, given.weights)
            rows = [0 if table is None else table[0] for table in ctx.tables[:3]]
            numbers = (given.scale, given.padding_id, given.start, given.pooling)
            found = torch.ops.inlay.backward(gradient, *ids, rows, wanted[:3], *numbers)
        gradients = [
            found.to(table[1]) if want and table is not None and found is not None else None
            for found, table, want in zip((*found, gamma, beta), ctx.tables, wanted)
        ]
        return None, None, *gradients, *[None] * (len(given) - 1 - len(DIFFERENTIABLE))


class _Backward(torch.autograd.Function):
    """The gradients of tables. They are linear in the gradient of the output, so their derivative is a layer."""

    @staticmethod
    def forward(ctx: Any, compute: Callable[..., tuple[Tensor, ...]], *values: Any) -> tuple[Tensor, ...]:
        ctx.save_for_backward(*values[1:6])
        ctx.others = values[6:]
        return compute(*values)

    @staticmethod
    def backward(ctx: Any, *tables: Tensor) -> tuple[Optional[Tensor], ...]:
        rows, wanted, scale, padding_id, start, pooling = ctx.others
        ids, position_ids, segment_ids, offsets, weights = ctx.saved_tensors
        table, positions, segments = (t if want else None for t, want in zip(tables, wanted))
        if table is None:
            table = tables[0].new_zeros(rows[0], tables[0].shape[-1])
        elif padding_id >= 0:
            table = table.index_fill(0, torch.tensor([padding_id], device=table.device), 0.0)
        position_ids = None if positions is None else position_ids
        segment_ids = None if segments is None else segment_ids
        given = Arguments(ids, table, positions, segments, None, None, position_ids, segment_ids, offsets, weights)
        given = given._replace(scale=scale, padding_id=padding_id, start=start, pooling=pooling)
        return None, torch.ops.inlay.forward(*given), *[None] * 11


# ---- Registration


def register(library: Any, name: str, kernel: Callable[..., Any], differentiate: Callable[..., Any]) -> None:
    """Registers an operator. differentiate(compute, *values) calls `compute` on the values, with gradients."""
    operator = getattr(torch.ops.inlay, name).default

    def below(*values: Any) -> Any:
        with torch._C._AutoDispatchBelowAutograd():
            return operator(*values)

    def with_gradients(*values: Any) -> Any:
        flat = [one for value in values for one in (value if isinstance(value, (list, tuple)) else (value,))]
        tensors = [one for one in flat if isinstance(one, Tensor)]
        dual = forward_ad._current_level >= 0
        if dual and any(forward_ad.unpack_dual(tensor).tangent is not None for tensor in tensors):
            raise NotImplementedError(f"inlay::{name} has no forward-mode derivative: call a module of inlay.torch")
        compute = kernel if way_of(*tensors) == DIRECT else below  # a second dispatch takes longer than a small call
        if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
            return differentiate(compute, *values)
        return compute(*values)

    library.impl(name, kernel, "CPU")
    library.impl(name, with_gradients, "Autograd")


register(_library, "forward", _call, _Forward.apply)
register(_library, "backward", _call_backward, _Backward.apply)


@torch.library.register_fake("inlay::forward", lib=_library)
def _fake_forward(*values: Any) -> Tensor:
    given = Arguments(*values)
    shape = given.ids.shape[:-1] if given.pooling else given.ids.shape
    if given.pooling and given.offsets is not None:
        shape = (given.offsets.shape[0] - 1,)
    return given.table.new_empty((*shape, given.table.shape[1]))


@torch.library.register_fake("inlay::backward", lib=_library)
def _fake_backward(gradient: Tensor, *others: Any) -> tuple[Tensor, ...]:
    rows, wanted, dim = others[5], others[6], gradient.shape[-1]
    return tuple(
        gradient.new_empty((n if want else 0, dim), dtype=torch.float32) for n, want in zip(rows, wanted)
    )
