# SPDX-License-Identifier: MIT
"""The operators torch.ops.inlay.forward and .backward: schemas, shapes for compilers, gradients; and embed().

The kernels are those of the extension module, which reaches PyTorch by its stable shims, so that one binary serves all
versions from 2.7 on.
"""

import ctypes
import pathlib
import weakref
from typing import Any, Callable, NamedTuple, Optional

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

import inlay
from inlay import _core

ARGUMENTS = (
    "Tensor ids, Tensor table, Tensor? positions, Tensor? segments, Tensor? gamma, Tensor? beta, "
    "Tensor? position_ids, Tensor? segment_ids, Tensor? offsets, Tensor? weights, Tensor? seed, float scale, "
    "int padding_id, SymInt start, int norm, float epsilon, bool segments_first, int pooling, float dropout"
)

# Pure functions that every compiler may call, and whose arguments keep their strides.
TAGS = (torch.Tag.pt2_compliant_tag, torch.Tag.needs_fixed_stride_order)


class Arguments(NamedTuple):
    """The arguments of the operators.

    positions and segments are tables; position_ids and segment_ids have the shape of ids. norm is that of
    inlay_norm, pooling that of inlay_pooling. padding_id is the token whose row is left out of pooled ones, and gets no
    gradient: as padding_idx of PyTorch, it does not change other outputs. seed holds the key and the step of dropout.
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
TABLES = DIFFERENTIABLE[:3]
_PLACES = tuple(Arguments._fields.index(name) for name in DIFFERENTIABLE)
# The first fields are tensors. Slices are of plain tuples: the compiler of PyTorch 2.7 knows none of named ones.
_TENSORS = Arguments._fields.index("scale")


def _addresses() -> list[int]:
    """Returns the addresses of the functions that the kernels need. libtorch_cpu is loaded already, with its libraries."""
    library = ctypes.CDLL(str(pathlib.Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
    return [ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in _core.torch_names()]


_library = torch.library.Library("inlay", "DEF")
_library.define(f"forward({ARGUMENTS}) -> Tensor", tags=TAGS)
_library.define(
    f"backward(Tensor gradient, {ARGUMENTS}, Tensor(a!)? to_table, Tensor(b!)? to_positions, Tensor(c!)? to_segments) -> ()",
    tags=TAGS,
)
_core.use_torch(_addresses())


# ---- Shapes


@torch.library.register_fake("inlay::forward", lib=_library)
def _fake_forward(*values: Any) -> Tensor:
    given = Arguments(*values)
    dim = given.table.shape[1]
    if given.offsets is not None:
        rows = given.offsets.shape[0] - 1 if given.pooling else given.ids.shape[0]
        return given.table.new_empty((rows, dim))
    return given.table.new_empty((*(given.ids.shape[:-1] if given.pooling else given.ids.shape), dim))


@torch.library.register_fake("inlay::backward", lib=_library)
def _fake_backward(*_values: Any) -> None:
    """Only adds to tensors that are there."""


# ---- Gradients


def _through_dropout(given: Arguments, gradient: Tensor) -> Tensor:
    """Multiplies by the mask, which a layer over a table of ones with the same seed makes."""
    if given.dropout == 0.0:
        return gradient
    ones = Arguments(
        torch.zeros_like(given.ids), gradient.new_ones(1, gradient.shape[-1]), seed=given.seed, dropout=given.dropout
    )
    return gradient * torch.ops.inlay.forward(*ones)


def _through_norm(given: Arguments, gradient: Tensor) -> tuple[Tensor, Optional[Tensor], Optional[Tensor]]:
    """Returns the gradients of the sum, of gamma and of beta. The sum is computed again instead of being kept."""
    if given.norm == 0:
        return gradient, None, None
    bare = given._replace(gamma=None, beta=None, norm=0, epsilon=0.0, dropout=0.0, seed=None)
    x = torch.ops.inlay.forward(*bare).float()
    dim = x.shape[-1:]
    rows = tuple(range(x.dim() - 1))
    if given.norm == 1:
        _, mean, factor = torch.ops.aten.native_layer_norm(x, dim, None, None, given.epsilon)
        normal = (x - mean) * factor
    else:
        factor = torch.rsqrt(x.square().mean(-1, keepdim=True) + given.epsilon)
        normal = x * factor
    along = gradient * given.gamma if given.gamma is not None else gradient
    through = along - normal * (along * normal).mean(-1, keepdim=True)
    if given.norm == 1:
        through = through - along.mean(-1, keepdim=True)
    return (
        factor * through,
        (gradient * normal).sum(rows) if given.gamma is not None else None,
        gradient.sum(rows) if given.beta is not None else None,
    )


def _zeros(table: Tensor) -> Tensor:
    return torch.zeros(table.shape, dtype=torch.float32)


def _pooled_zeros(table: Tensor) -> Tensor:
    return _core.zeros(tuple(table.shape), table)


def gradients(
    given: Arguments, gradient: Tensor, needed: tuple[bool, ...], zeros: Callable[[Tensor], Tensor] = _zeros
) -> list[Optional[Tensor]]:
    """Returns a gradient for each name of DIFFERENTIABLE, or None where it is not needed."""
    originals = [getattr(given, name) if need else None for name, need in zip(DIFFERENTIABLE, needed)]
    gradient, gamma, beta = _through_norm(given, _through_dropout(given, gradient.float()))
    bare = given._replace(gamma=None, beta=None, norm=0, epsilon=0.0, dropout=0.0, seed=None)
    tables = [None if table is None else zeros(table) for table in originals[: len(TABLES)]]
    torch.ops.inlay.backward(gradient.contiguous(), *bare, *tables)
    return [
        None if original is None or found is None else found.to(original.dtype)
        for original, found in zip(originals, (*tables, gamma, beta))
    ]


def _save(ctx: Any, given: Arguments) -> None:
    ctx.save_for_backward(*tuple(given)[:_TENSORS])
    ctx.others = tuple(given)[_TENSORS:]


def _differentiate(
    ctx: Any, gradient: Tensor, needed: tuple[bool, ...], zeros: Callable[[Tensor], Tensor] = _zeros
) -> tuple[Optional[Tensor], ...]:
    """Returns a gradient for each of Arguments, most of which have none."""
    given = Arguments(*ctx.saved_tensors, *ctx.others)
    found = gradients(given, gradient, tuple(needed[place] for place in _PLACES), zeros)
    by_place = dict(zip(_PLACES, found))
    return tuple(by_place.get(place) for place in range(len(given)))


torch.library.register_autograd(
    "inlay::forward",
    lambda ctx, gradient: _differentiate(ctx, gradient, ctx.needs_input_grad),
    setup_context=lambda ctx, inputs, output: _save(ctx, Arguments(*inputs)),
    lib=_library,
)


class _Eager(torch.autograd.Function):
    """The same gradients with less overhead, and the output from the pool."""

    @staticmethod
    def forward(ctx: Any, owner: Any, *values: Any) -> Tensor:
        given = Arguments(*values)
        _save(ctx, given)
        return _call(owner, given)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Optional[Tensor], ...]:
        return None, *_differentiate(ctx, gradient, ctx.needs_input_grad[1:], _pooled_zeros)


# ---- Direct calls

# The layer of each owner's latest call, which holds the memory of its tensors, and what it was made of.
_layers: weakref.WeakKeyDictionary[Any, tuple[Any, Any]] = weakref.WeakKeyDictionary()


def _layer(owner: Any, given: Arguments) -> Any:
    """Returns the layer of these tensors and options, made again only if one of them has changed."""
    made_of: list[Any] = [given.scale, given.norm, given.epsilon, given.segments_first, given.pooling, given.padding_id]
    for tensor in given[_PLACES[0] : _PLACES[-1] + 1]:
        if tensor is None:
            made_of.append(None)
        else:
            made_of += (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype)
    known = _layers.get(owner)
    if known is not None and known[0] == made_of:
        return known[1]
    norm = None
    if given.norm == 1:
        norm = inlay.LayerNorm(given.gamma, given.beta, given.epsilon)
    elif given.norm == 2:
        norm = inlay.RMSNorm(given.gamma, given.epsilon)
    layer = inlay.Layer(
        given.table,
        scale=given.scale,
        positions=given.positions,
        segments=given.segments,
        norm=norm,
        padding_id=given.padding_id if given.pooling and given.padding_id >= 0 else None,
        pooling=POOLINGS[given.pooling],
        segments_first=given.segments_first,
        dtype=given.table.dtype,
    )
    _layers[owner] = (made_of, layer)
    return layer


def _call(owner: Any, given: Arguments) -> Tensor:
    """Calls a layer without PyTorch's dispatcher. The output comes from the pool."""
    key, step = given.seed.tolist() if given.seed is not None else (0, 0)
    return _layer(owner, given)(
        given.ids,
        start=given.start if given.positions is not None and given.position_ids is None else None,
        positions=given.position_ids,
        segments=given.segment_ids,
        offsets=given.offsets,
        weights=given.weights,
        dropout=given.dropout,
        key=key % 2**64,
        step=step % 2**64,
    )


# ---- What callers use


def reference(given: Arguments) -> Tensor:
    """Computes the same with PyTorch's operators, for devices, types and transforms that the kernels do not have.

    Its dropout draws another mask, and pooling takes no offsets.
    """
    x = torch.nn.functional.embedding(given.ids, given.table, given.padding_id if given.padding_id >= 0 else None)
    x = x * given.scale
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
    return torch.nn.functional.dropout(x, given.dropout, training=given.dropout > 0)


_TABLE_TYPES = (torch.float32, torch.float16, torch.bfloat16)
_ID_TYPES = (torch.int64, torch.int32)
_PLAIN = (Tensor, torch.nn.Parameter)


def is_recorded() -> bool:
    """Returns whether a compiler, a tracer or a dispatch mode must see an operator."""
    return torch.compiler.is_compiling() or torch._C._is_tracing() or torch._C._len_torch_dispatch_stack() > 0


def _is_transformed() -> bool:
    """Returns whether torch.func.grad or vmap is at work, which know no gradients of operators of others."""
    return not torch.compiler.is_compiling() and torch._C._functorch.peek_interpreter_stack() is not None


def fits(given: Arguments) -> bool:
    """Returns whether the kernels take these tensors: on the CPU, of their types, and not of torch.func."""
    if given.ids.dtype not in _ID_TYPES or given.table.dtype not in _TABLE_TYPES or _is_transformed():
        return False
    if any(tensor is not None and tensor.dtype != torch.float32 for tensor in (given.gamma, given.beta)):
        return False
    return all(tensor is None or tensor.is_cpu for tensor in tuple(given)[:_TENSORS])


def _contiguous(given: Arguments) -> Arguments:
    return Arguments(
        *(None if t is None else t.contiguous() for t in tuple(given)[:_TENSORS]), *tuple(given)[_TENSORS:]
    )


def _with_rows(given: Arguments) -> Arguments:
    """Copies tables and vectors that direct calls cannot read: those whose rows are not contiguous, or overlap."""
    copies = {
        name: tensor.contiguous()
        for name, tensor in zip(DIFFERENTIABLE, given[_PLACES[0] : _PLACES[-1] + 1])
        if tensor is not None and (tensor.stride(-1) != 1 or tensor.stride(0) < tensor.shape[-1] * (tensor.dim() - 1))
    }
    return given._replace(**copies) if copies else given


def embed(owner: Any, given: Arguments) -> Tensor:
    """Computes the layer by the shortest way there is: the operator where something records operators, else a direct
    call, in training with gradients. `owner` is the module whose layer is kept."""
    tensors = [tensor for tensor in tuple(given)[:_TENSORS] if tensor is not None]
    if is_recorded() or any(type(tensor) not in _PLAIN for tensor in tensors):
        return torch.ops.inlay.forward(*_contiguous(given))
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        return _Eager.apply(owner, *_contiguous(given))
    return _call(owner, _with_rows(given))


def new_seed() -> Tensor:
    """Returns a random seed of dropout, from PyTorch's generator."""
    return torch.randint(2**62, (2,), dtype=torch.int64)
