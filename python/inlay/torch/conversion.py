# SPDX-License-Identifier: MIT
"""convert(model): inlay computes a model's embeddings and the operations up to the norm in one pass.

Each model has its own code for the input layer: rows, a sum or two, a factor, a norm. The embedding modules of known
encoders become one layer each (encoders.py). Other converted embeddings return pending rows. Sums, factors, LayerNorm,
RMSNorm and dropout in inference are only recorded on them. Any other operation computes the rows, in one layer.
"""

import dataclasses
import math
import sys
import weakref
from typing import Any, Callable, NamedTuple, Optional

import torch
from torch import Tensor, nn
from torch.utils import _pytree

from . import rotations
from .encoders import convert_encoder, is_listed
from .modules import EmbeddingBag, plain_options
from .operators import DIRECT, NORMS, PLAIN, Arguments, embed, way_of, way_of_layer

# With smaller outputs, PyTorch is as fast as recording and one pass (python/bench/models.py).
MIN_BYTES = 8 << 20

# Same for 16-bit rows, and for rows without a factor or second term, where one pass saves no reads. Larger outputs of
# PyTorch are new pages in each call, since glibc's malloc() doesn't keep them.
MIN_BYTES_OF_PAGES = 32 << 20


class Term(NamedTuple):
    """Rows of a table, with its version. Without ids, a token's row is its position in the sequence."""

    table: Tensor
    version: Optional[int]
    ids: Optional[Tensor]


class Norm(NamedTuple):
    """A norm. kind is an inlay_norm. Vectors have their versions."""

    kind: int
    gamma: tuple[Optional[Tensor], Optional[int]]
    beta: tuple[Optional[Tensor], Optional[int]]
    epsilon: float


def _held(tensor: Optional[Tensor]) -> tuple[Optional[Tensor], Optional[int]]:
    """Returns a tensor to be read later, and its version. In inference mode, PyTorch counts no versions, so this
    returns a copy."""
    if tensor is None or tensor.is_inference():
        return None if tensor is None else tensor.clone(), None
    return tensor, tensor._version


def _term(table: Tensor, ids: Optional[Tensor]) -> Term:
    """Returns a term with a copy of ids, since the model may change them before the rows are computed."""
    return Term(*_held(table), None if ids is None else ids.clone())


class PendingRows(Tensor):
    """The rows of an embedding, computed on first use."""

    owner: Any
    terms: tuple[Term, ...]
    factor: float
    norm: Optional[Norm]
    rows: Optional[Tensor]

    @staticmethod
    def __new__(cls, owner: Any, shape: Any, terms: tuple[Term, ...], factor: float = 1.0, norm: Any = None):
        table = terms[0].table
        self = Tensor._make_wrapper_subclass(cls, shape, dtype=table.dtype, device=table.device)
        self.owner, self.terms, self.factor, self.norm, self.rows = owner, terms, factor, norm, None
        return self

    def materialize(self, function: Any = None) -> Tensor:
        """Computes the rows once, for a function that needs them."""
        if self.rows is None:
            if function is not None and not torch.compiler.is_compiling():
                _report_need(self, function)
            if not torch.compiler.is_compiling() and self._is_changed():
                raise RuntimeError(
                    "a table or a vector of a norm was changed in place before the rows of a converted embedding were "
                    "computed; call inlay.torch.restore() on the model, or use the rows before the change"
                )
            self.owner.rows_alone = len(self.terms) == 1 and self.factor == 1.0
            with torch.no_grad():
                self.rows = embed(self._arguments())
        return self.rows

    def _is_changed(self) -> bool:
        held = [term[:2] for term in self.terms] + list(self.norm[1:3] if self.norm is not None else ())
        return any(version is not None and tensor._version != version for tensor, version in held)

    def _arguments(self) -> Arguments:
        shape = _shape(self)[:-1]
        tokens, *others = [
            term._replace(ids=None if term.ids is None else term.ids.expand(shape)) for term in self.terms
        ]
        given = Arguments(tokens.ids, tokens.table, scale=self.factor)
        if len(others) > 1 and others[1].ids is None:  # only positions have no ids
            others.reverse()
            given = given._replace(segments_first=True)
        if others:
            given = given._replace(positions=others[0].table, position_ids=others[0].ids)
        if len(others) > 1:
            given = given._replace(segments=others[1].table, segment_ids=others[1].ids)
        if self.norm is not None:
            kind, (gamma, _), (beta, _), epsilon = self.norm
            given = given._replace(gamma=gamma, beta=beta, epsilon=epsilon, norm=kind)
        return given

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function in _METADATA and all(rows.rows is None for rows in args if isinstance(rows, PendingRows)):
            with torch._C.DisableTorchFunctionSubclass():
                return function(*args, **(kwargs or {}))
        recorder = _RECORDERS.get(function) if not torch.is_grad_enabled() and way_of() == DIRECT else None
        recorded = recorder(*args, **(kwargs or {})) if recorder is not None else None
        if recorded is not None:
            return recorded
        return function(*_computed(args, function), **_computed(kwargs or {}, function))

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return function(*_computed(args), **_computed(kwargs or {}))


def _computed(arguments: Any, function: Any = None) -> Any:
    return _pytree.tree_map_only(PendingRows, lambda rows: rows.materialize(function), arguments)


def _shape(tensor: Tensor) -> torch.Size:
    with torch._C.DisableTorchFunctionSubclass():
        return tensor.shape


# Functions that don't need rows.
_METADATA = {
    *(getattr(Tensor, name).__get__ for name in ("shape", "dtype", "device", "ndim", "layout", "requires_grad")),
    *(getattr(Tensor, name).__get__ for name in ("is_cuda", "is_sparse", "is_quantized", "is_meta", "is_nested")),
    *(getattr(Tensor, name) for name in ("size", "dim", "numel", "is_floating_point", "is_complex")),
    torch.is_floating_point,
    torch.is_complex,
    torch.numel,
}


# ---- Recorders: implementations of PyTorch's functions that return pending rows, or None if they can't


def _record_number(input: Any, other: Any, *, out: Any = None) -> Optional[PendingRows]:
    rows, factor = (input, other) if isinstance(input, PendingRows) else (other, input)
    untouched = isinstance(rows, PendingRows) and rows.rows is None and rows.norm is None and out is None
    if not untouched or len(rows.terms) > 1 or rows.factor != 1.0:
        return None
    if type(factor) is Tensor:
        on_cpu = factor.dim() == 0 and factor.device.type == "cpu"
        fits_rows = on_cpu and factor.dtype == rows.terms[0].table.dtype
    else:
        fits_rows = type(factor) in (int, float)
    return PendingRows(rows.owner, _shape(rows), rows.terms, float(factor)) if fits_rows else None


def _terms_of(side: Any, shape: torch.Size) -> Optional[tuple[Term, ...]]:
    """Returns the terms of one side of a sum: recorded ones, or a tensor with one row per position in a sequence."""
    if isinstance(side, PendingRows):
        return side.terms if side.rows is None and side.norm is None else None
    by_place = way_of(side) == DIRECT and side.dim() > 1 and side.shape[-2:] == shape[-2:]
    if not by_place or side.numel() != side.shape[-1] * side.shape[-2]:
        return None
    return (_term(side.reshape(side.shape[-2:]), None),)


def _larger(one: torch.Size, other: torch.Size) -> Optional[torch.Size]:
    """Returns the shape of the two that the other broadcasts to, or None."""
    for large, small in ((one, other), (other, one)):
        if len(large) >= len(small) and all(b in (1, a) for a, b in zip(reversed(large), reversed(small))):
            return large
    return None


def _record_sum(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Optional[PendingRows]:
    """Records (a + b) + c, but no other order. Only the first term can have a factor."""
    if alpha != 1 or out is not None or not isinstance(input, Tensor) or not isinstance(other, Tensor):
        return None
    sides = sorted((input, other), key=_begins)
    shape = _larger(_shape(input), _shape(other))
    if shape is None:
        return None
    first, second = (_terms_of(side, shape) for side in sides)
    if first is None or second is None or len(second) > 1 or len(first) > 2 or getattr(sides[1], "factor", 1.0) != 1.0:
        return None
    terms = first + second
    if any(term.table.dtype != terms[0].table.dtype for term in terms) or sum(term.ids is None for term in terms) > 1:
        return None
    return PendingRows(sides[0].owner, shape, terms, sides[0].factor)


def _begins(side: Any) -> tuple[bool, bool, int]:
    """Returns a sort key: the side with the tokens first, i.e. pending rows, with a factor, or with more terms."""
    if not isinstance(side, PendingRows):
        return (True, True, 0)
    return (False, side.factor == 1.0, -len(side.terms) * (1 << 40) - _shape(side).numel())


def _record_sum_in_place(input: Any, other: Any, *, alpha: Any = 1) -> Optional[Tensor]:
    recorded = _record_sum(input, other, alpha=alpha) if isinstance(input, PendingRows) else None
    if recorded is None or _shape(recorded) != _shape(input):
        return None
    input.owner, input.terms, input.factor = recorded.owner, recorded.terms, recorded.factor
    return input


def _record_norm(
    input: Any, shape: Any, kind: int, gamma: Optional[Tensor], beta: Optional[Tensor], epsilon: float
) -> Optional[PendingRows]:
    untouched = isinstance(input, PendingRows) and input.rows is None and input.norm is None
    if not untouched or tuple(shape) != tuple(_shape(input)[-1:]) or way_of(gamma, beta) != DIRECT:
        return None
    if any(vector is not None and vector.dtype != torch.float32 for vector in (gamma, beta)):
        return None
    if not 0 <= epsilon < math.inf:
        return None
    norm = Norm(kind, _held(gamma), _held(beta), epsilon)
    return PendingRows(input.owner, _shape(input), input.terms, input.factor, norm)


def _record_layer_norm(
    input: Any, normalized_shape: Any, weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, eps: float = 1e-5
) -> Optional[PendingRows]:
    return _record_norm(input, normalized_shape, NORMS.index("layer"), weight, bias, eps)


def _record_rms_norm(
    input: Any, normalized_shape: Any, weight: Optional[Tensor] = None, eps: Optional[float] = None
) -> Optional[PendingRows]:
    """Records a float32 norm. For other types, the default epsilon depends on PyTorch's version."""
    if input.dtype != torch.float32:
        return None
    epsilon = torch.finfo(torch.float32).eps if eps is None else eps
    return _record_norm(input, normalized_shape, NORMS.index("rms"), weight, None, epsilon)


def _record_dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Optional[Tensor]:
    return input if not training else None


def _record_move(input: Any, *args: Any, **options: Any) -> Optional[Tensor]:
    same = (torch.float32, torch.device("cpu"), "cpu")
    if options.get("copy") or not all(value in same for value in (*args, *options.values())):
        return None
    return input if input.dtype == torch.float32 else None


_RECORDERS: dict[Any, Callable[..., Optional[Tensor]]] = {
    **dict.fromkeys((torch.add, Tensor.add, Tensor.__add__, Tensor.__radd__), _record_sum),
    **dict.fromkeys((Tensor.add_, Tensor.__iadd__), _record_sum_in_place),
    **dict.fromkeys((torch.mul, Tensor.mul, Tensor.__mul__, Tensor.__rmul__), _record_number),
    nn.functional.layer_norm: _record_layer_norm,
    nn.functional.rms_norm: _record_rms_norm,
    nn.functional.dropout: _record_dropout,
    Tensor.to: _record_move,
}


# ---- Modules


class ConvertedEmbedding(nn.Embedding):
    """A torch.nn.Embedding after convert(). In training and in compilers, it works as before."""

    _inlay_original: type = nn.Embedding
    rows_alone = False  # True if its latest rows had no factor and no second term

    def forward(self, input: Tensor) -> Tensor:
        elements, table = input.numel() * self.embedding_dim, self.weight
        small = elements * 4 < MIN_BYTES or (
            elements * table.element_size() < MIN_BYTES_OF_PAGES and (self.rows_alone or table.dtype != torch.float32)
        )
        if small and type(input) is Tensor and type(table) in PLAIN:  # faster than the other checks
            return torch.embedding(table, input, -1 if self.padding_idx is None else self.padding_idx)
        if small or torch.is_grad_enabled() or way_of_layer(Arguments(input, table)) != DIRECT or table.is_inference():
            return super().forward(input)
        return PendingRows(self, (*input.shape, self.embedding_dim), (_term(table, input),))


class ConvertedEmbeddingBag(EmbeddingBag):
    """A torch.nn.EmbeddingBag after convert()."""

    _inlay_original: type = nn.EmbeddingBag


_classes: dict[type, type] = {nn.Embedding: ConvertedEmbedding, nn.EmbeddingBag: ConvertedEmbeddingBag}


def _converted_class(kind: type) -> type:
    """Returns the converted class. For a model's own class, super().forward() is the converted one."""
    if kind not in _classes:
        _classes[kind] = type(f"Converted{kind.__name__}", (kind, ConvertedEmbedding), {"_inlay_original": kind})
    return _classes[kind]


@dataclasses.dataclass(frozen=True)
class Report:
    """The result of convert(): the names of replaced modules with their classes, and those of skipped ones with the
    reason. `rotations` has the functions of transformers that rotate queries and keys: the layout of a replaced one,
    or the reason why it was skipped.

    The first large call can add a module to `skipped`: the one before the blocks of the model (an nn.ModuleList) that
    calls a function without a recorder, e.g. its own norm or positions. PyTorch continues from there.
    """

    replaced: dict[str, str]
    skipped: dict[str, str]
    rotations: dict[str, str] = dataclasses.field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"{name or 'the model'}: {kind}" for name, kind in (*self.replaced.items(), *self.rotations.items())]
        return "\n".join(lines + [f"{name or 'the model'}: skipped, {why}" for name, why in self.skipped.items()])


# The reports of converted embeddings before their rows are first needed, with their models.
_reports: "weakref.WeakKeyDictionary[nn.Module, tuple[Report, weakref.ref[nn.Module]]]" = weakref.WeakKeyDictionary()


def _report_need(rows: PendingRows, function: Any) -> None:
    """Reports the module that calls a function requiring rows, once for each embedding. Ignores calls after a norm,
    the last step of an input layer, and calls in blocks."""
    report, model_of = _reports.pop(rows.owner, (None, None))
    model = model_of() if model_of is not None else None
    if report is None or model is None or rows.norm is not None:
        return
    frame: Any = sys._getframe(1)
    while frame is not None and not isinstance(frame.f_locals.get("self"), nn.Module):
        frame = frame.f_back
    names = {module: name for name, module in model.named_modules()}
    reader = None if frame is None else frame.f_locals["self"]
    if reader not in names or rows.owner not in names:
        return
    *parents, _ = names[reader].split(".")
    if any(isinstance(model.get_submodule(".".join(parents[:n])), nn.ModuleList) for n in range(1, len(parents) + 1)):
        return
    getter = getattr(function, "__self__", None)  # of attributes, e.g. Tensor.T
    what = getattr(function, "__name__", "a function")
    what = what if what != "__get__" else getter.__name__
    why = f"{type(reader).__name__} computes {what} of the rows of {names[rows.owner]} with PyTorch"
    report.skipped.setdefault(names[reader], why)


def _reason_to_leave(module: Any) -> Optional[str]:
    if isinstance(module, nn.EmbeddingBag) and type(module) is not nn.EmbeddingBag:
        return "its class has a forward of its own"
    if not plain_options(module):
        return "it has max_norm, scale_grad_by_freq or sparse"
    if type(module.weight) not in PLAIN:
        return f"its table is a {type(module.weight).__name__}"
    if module.weight.dtype not in (torch.float32, torch.float16, torch.bfloat16) or module.weight.device.type != "cpu":
        return f"its table is {module.weight.dtype} on {module.weight.device.type}"
    return None


def convert(model: nn.Module) -> Report:
    """Makes inlay compute the input layers of a model in inference. Changes the model in place and returns a Report.

    Replaces the class of each known embedding module of an encoder, and of each other torch.nn.Embedding and
    EmbeddingBag, with a subclass; parameters, names and state_dict() stay. In the files of transformers models,
    replaces the function that rotates queries and keys. PyTorch still computes training, torch.compile, and small
    outputs outside encoders.
    """
    report = Report({}, {})
    inside: set[nn.Module] = set()  # children of converted encoders
    for name, module in model.named_modules():
        kind = type(module)
        if hasattr(kind, "_inlay_encoder"):
            inside.update(module.children())
        is_candidate = is_listed(kind) or isinstance(module, (nn.Embedding, nn.EmbeddingBag))
        if module in inside or hasattr(kind, "_inlay_original") or not is_candidate:
            continue
        why = convert_encoder(module) if is_listed(kind) else _reason_to_leave(module)
        if why is not None:
            report.skipped[name] = why
            continue
        report.replaced[name] = kind.__name__
        if is_listed(kind):
            inside.update(module.children())
        else:
            module.__class__ = _converted_class(kind)
            _reports[module] = (report, weakref.ref(model))
    report.rotations.update(rotations.convert(model))
    return report


def restore(model: nn.Module) -> int:
    """Undoes convert(). Returns the number of restored modules."""
    converted = [module for module in model.modules() if "_inlay_original" in vars(type(module))]
    for module in converted:
        module.__class__ = type(module)._inlay_original
        for name in ("rows_alone", "_inlay_note"):
            module.__dict__.pop(name, None)
    rotations.restore(model)
    return len(converted)
