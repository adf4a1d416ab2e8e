# SPDX-License-Identifier: MIT
"""Embedding modules of encoders in transformers: in inference, one call of a layer replaces their forward().

FORMS lists the classes with a known forward(). A module of such a class must have plain children, and its layer must
return the module's outputs for random ids. Each call first compares everything that the layer depends on. If anything
is unusual, PyTorch runs the original forward().
"""

import functools
import inspect
import sys
from typing import Any, NamedTuple, Optional, Union

import torch
from torch import Tensor, nn
from torch.nn.modules.module import _global_forward_hooks, _global_forward_pre_hooks

import inlay

from .modules import plain_options
from .operators import DIRECT, PLAIN, way_of

# Largest difference from PyTorch's outputs after a norm, relative to the largest value of the row. 16-bit outputs may
# differ by 2 ULP of that value, since PyTorch rounds each sum. Sums in float32 must be equal.
TOLERANCE = 1e-5

# Exceptions of inlay, and of PyTorch in a verification. Their subclasses, and all others, are the application's, e.g. a
# signal handler's.
ERRORS = (AttributeError, KeyError, TypeError, ValueError, IndexError, RuntimeError, NotImplementedError)


class Form(NamedTuple):
    """A known forward(): names of children, or None. Positions start at 0. If they are `counted`, only ids other than
    padding_idx are counted, from padding_idx + 1, and padding has position padding_idx. Attributes in `values` must
    have these values, if they exist. forward() ignores the arguments in `ignored`."""

    words: str = "word_embeddings"
    positions: Optional[str] = "position_embeddings"
    segments: Optional[str] = "token_type_embeddings"
    norm: Optional[str] = "LayerNorm"
    dropout: Optional[str] = "dropout"
    counted: bool = False
    segments_first: bool = True
    values: tuple[tuple[str, Any], ...] = (("position_embedding_type", "absolute"),)
    ignored: tuple[str, ...] = ()


# By module and class: "bert.Bert" is transformers.models.bert.modeling_bert.BertEmbeddings. These forms follow from the
# sources in transformers 4.57 and 5.24.
FORMS: dict[tuple[str, str], Form] = {
    (f"transformers.models.{model}.modeling_{model}", f"{prefix}Embeddings"): form
    for names, form in {
        "albert.Albert bert.Bert electra.Electra rembert.RemBert": Form(),
        "ernie.Ernie": Form(values=(("position_embedding_type", "absolute"), ("use_task_id", False))),
        "big_bird.BigBird": Form(values=(("rescale_embeddings", False),)),
        "megatron_bert.MegatronBert": Form(norm=None),
        "convbert.ConvBert squeezebert.SqueezeBert": Form(segments_first=False),
        "bert_generation.BertGeneration distilbert.": Form(segments=None),
        "roformer.RoFormer": Form(positions=None),
        "jina_embeddings_v3.JinaEmbeddingsV3 nomic_bert.NomicBert": Form(positions=None, ignored=("position_ids",)),
        "funnel.Funnel": Form(positions=None, segments=None, norm="layer_norm"),
        "modernbert.ModernBert": Form("tok_embeddings", None, None, "norm", "drop"),
        "modernbert_decoder.ModernBertDecoder": Form("tok_embeddings", None, None, "norm", "drop"),
        "clip.CLIPText": Form("token_embedding", "position_embedding", None, None, None),
        "altclip.AltRoberta bridgetower.BridgeTowerText camembert.Camembert roberta.Roberta": Form(counted=True),
        "roberta_prelayernorm.RobertaPreLayerNorm xlm_roberta.XLMRoberta xmod.Xmod": Form(counted=True),
        "longformer.Longformer": Form(counted=True, segments_first=False),
        "mpnet.MPNet": Form(counted=True, segments=None),
        "xlm_roberta_xl.XLMRobertaXL": Form(counted=True, norm=None),
    }.items()
    for model, prefix in (name.split(".") for name in names.split())
}


def is_listed(kind: type) -> bool:
    return (kind.__module__, kind.__name__) in FORMS


def _has_own_source(kind: Any, function: Any = None) -> bool:
    """Returns True if a function, by default forward(), is from the file that defines the class, not a patch."""
    code = getattr(function or vars(kind).get("forward"), "__code__", None)
    return code is not None and code.co_filename == getattr(sys.modules[kind.__module__], "__file__", None)


def _is_plain(tensor: Tensor) -> bool:
    return type(tensor) in PLAIN and tensor.is_cpu and tensor.layout is torch.strided and not tensor.is_nested


def _versions(*tensors: Optional[Tensor]) -> list[Optional[int]]:
    return [None if one is None or one.is_inference() else one._version for one in tensors]


# The function that counts positions, a static method or one of the class's file.
COUNT = "create_position_ids_from_input_ids"

# The classes of children in the order of a form, and their parameters.
_CHILDREN = (*((nn.Embedding, ["weight"]),) * 3, (nn.LayerNorm, ["weight", "bias"]), (nn.Dropout, []))


class Note:
    """The facts about a module and the layer made for them. Without a layer, PyTorch computes the module."""

    layer: Any = None
    vectors: Any = None  # gamma and beta in float32
    start = 0  # the first position
    limit = sys.maxsize  # the length of the longest sequence
    checked = 0  # the longest length in a verification

    def __init__(self, facts: list[Any], copied: list[Tensor], is_final: bool = False) -> None:
        self.facts, self.copied = facts, [tensor.detach().clone() for tensor in copied]
        self.is_final = is_final

    def is_of(self, facts: list[Any], copied: list[Tensor]) -> bool:
        return self.facts == facts and all(map(torch.equal, self.copied, copied))

    def call(self, ids: Tensor, given: dict[str, Tensor]) -> Tensor:
        if self.start and "position_ids" not in given:
            return self.layer(ids, start=self.start, **given)
        return self.layer(ids, **given)

    def __reduce__(self) -> Any:
        """Leaves copies and pickles of a module without a note."""
        return type(None), ()


class Encoder:
    """The forward() of a listed class."""

    def __init__(self, kind: Any, form: Form) -> None:
        parameters = list(inspect.signature(kind.forward).parameters.values())[1:]
        self.kind, self.form = kind, form
        self.names = [one.name for one in parameters if one.kind == one.POSITIONAL_OR_KEYWORD]
        self.defaults = {one.name: one.default for one in parameters}
        terms = {"position_ids": form.positions, "token_type_ids": form.segments}
        self.terms = {name: child for name, child in terms.items() if child is not None and name in self.names}
        self.children = [name for name in form[:5] if name is not None]
        read = {"position_ids": not form.counted, "token_type_ids": form.segments is not None}
        self.buffers = [name for name, is_read in read.items() if is_read and form.positions is not None]
        self.found = frozenset([*self.buffers, *self.children])

    # ---- Calls

    def embed(self, module: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> Optional[Tensor]:
        """Returns the output of a call, or None if PyTorch must compute it."""
        if module.training or torch._C._len_torch_function_stack() or torch._C._is_any_autocast_enabled():
            return None
        if arguments:
            if len(arguments) > len(self.names) or not named.keys().isdisjoint(self.names[: len(arguments)]):
                return None
            named = dict(zip(self.names, arguments), **named)
        given = {name: value for name, value in named.items() if value is not self.defaults.get(name, self)}
        ids = given.pop("input_ids", None)
        for name in self.form.ignored:
            given.pop(name, None)
        dropout = self.form.dropout
        if ids is None or (dropout is not None and getattr(module._modules.get(dropout), "training", True)):
            return None
        if way_of(ids, *given.values()) != DIRECT or ids.dtype is not torch.int64 or ids.dim() != 2:
            return None
        shape = ids.shape
        for name, value in given.items():
            if name not in self.terms or value is None or value.dtype is not torch.int64:
                return None
            if value.shape != shape and (shape[0] == 0 or value.shape != (1, shape[1])):
                return None
        seen = self._see(module)
        if isinstance(seen, str):
            return None
        facts, tensors, copied, _storages = seen
        if torch.is_grad_enabled() and any([one is not None and one.requires_grad for one in tensors]):
            return None
        note = module.__dict__.get("_inlay_note")
        if note is None or not note.is_of(facts, copied):
            checked = 0 if note is None else note.checked
            module.__dict__["_inlay_note"] = note = Note(facts, copied)
            note.checked = checked
        elif not note.is_final:  # the facts are those of the previous call, so it's worth making a layer
            found = self.find_layer(module, note.checked)[0]
            if found is None:
                return None
            module.__dict__["_inlay_note"] = note = found
            if note.facts != facts:  # another thread changed a tensor, and this call holds the old one
                return None
        if note.layer is None or shape[1] > note.limit:
            return None
        try:
            return note.call(ids, given)
        except ERRORS as error:
            if type(error) not in ERRORS:
                raise
        return None  # PyTorch has its own error

    def _see(self, module: nn.Module) -> Union[str, tuple[list[Any], list[Optional[Tensor]], list[Tensor], list[Any]]]:
        """Returns all that a layer depends on: facts, the parameters of the children, which it reads in each call, and
        tensors that it copies. Also returns the storages of the parameters: while the caller holds them, no other
        thread can free the memory. Returns the reason if there can't be a layer, e.g. a hook."""
        held, outer = module.__dict__, type(module)
        modules, buffers = held["_modules"], held["_buffers"]
        facts: list[Any] = [self.kind.forward, held.get("padding_idx")]
        tensors: list[Optional[Tensor]] = []
        copied: list[Tensor] = []
        storages: list[Any] = []
        if outer is not self.kind and outer.__dict__.get("_inlay_original") is not self.kind:
            return "its class was replaced"
        if _global_forward_hooks or _global_forward_pre_hooks:
            return "all modules have a hook"
        for names in (held, held["_parameters"], outer.__dict__, self.kind.__dict__):
            if not names.keys().isdisjoint(self.found):
                return f"another attribute hides its {', '.join([name for name in self.found if name in names])}"
        if self.form.counted:
            facts += COUNT in held, *self._counts(module)
        for name, value in self.form.values:
            facts.append(held.get(name, value))
        for name in self.buffers:
            buffer = buffers.get(name)
            facts.append(type(buffer))
            if buffer is not None:
                if not _is_plain(buffer):
                    return f"its {name} isn't a plain tensor on the CPU"
                facts.append(buffer.dtype)
                copied.append(buffer)
        for name in self.children:
            child = modules.get(name)
            if child is None or name in buffers:
                return f"its {name} isn't a module"
            own, kind = child.__dict__, type(child)
            if own["_forward_hooks"] or own["_forward_pre_hooks"] or "forward" in own:
                return f"its {name} has a hook or its own forward()"
            if "weight" in own or "bias" in own:
                return f"its {name} has an attribute instead of a parameter"
            facts += kind, kind.forward, own.get("max_norm"), own.get("eps"), own.get("normalized_shape")
            try:
                for key, one in own["_parameters"].items():
                    tensors.append(one)
                    if one is not None:
                        dtype = one.dtype
                        storages.append(one.untyped_storage())
                        facts += key, type(one), one.data_ptr(), one.shape, one.stride(), dtype, one.is_neg()
                        if dtype is not torch.float32 and kind is nn.LayerNorm and _is_plain(one):
                            copied.append(one)
            except (RuntimeError, NotImplementedError) as error:  # of PyTorch, e.g. for sparse tensors
                if type(error) not in ERRORS:
                    raise
                return "its parameters must be plain tensors on the CPU"
        return facts, tensors, copied, storages

    def _counts(self, module: nn.Module) -> tuple[Any, Any]:
        """Returns the functions that can count positions: one of the class, and one of its file."""
        return getattr(type(module), COUNT, None), vars(sys.modules[self.kind.__module__]).get(COUNT)

    # ---- Layers

    def find_layer(self, module: nn.Module, checked: int = 0) -> tuple[Optional[Note], Optional[str]]:
        """Returns a note of the current facts, or None if there is e.g. a hook, and the reason if there is no layer.
        Compares lengths above `checked` again only if the limit grew."""
        seen = self._see(module)
        if isinstance(seen, str):
            return None, seen
        facts, tensors, copied, _storages = seen
        versions = _versions(*tensors, *copied)
        note = Note(facts, copied, is_final=True)
        note.checked = checked
        try:
            self._make_layer(module, note, tensors)
            with torch.no_grad(), torch.autocast("cpu", enabled=False):
                self._verify(module, note)
        except ERRORS as error:
            if type(error) not in ERRORS:
                raise
            note.layer = None
            note.is_final = _versions(*tensors, *copied) == versions
            return note, str(error) or type(error).__name__
        return note, None

    def _make_layer(self, module: nn.Module, note: Note, seen: list[Optional[Tensor]]) -> None:
        """Adds the layer to a note, or raises ValueError. `seen` are the parameters of the children."""
        form, held = self.form, module.__dict__
        if not _has_own_source(self.kind) or "forward" in held:
            raise ValueError("its forward() must be that of its class")
        for name, value in form.values:
            if held.get(name, value) != value:
                raise ValueError(f"its {name} is {held[name]!r}")
        for name in self.children:
            child: Any = module._modules[name]
            kind, parameters = _CHILDREN[form.index(name)]
            same_kind = vars(type(child)).get("_inlay_original", type(child)) is kind and _has_own_source(kind)
            if not same_kind or list(child._parameters) != parameters:
                raise ValueError(f"its {name} isn't a plain {kind.__name__}")
            if kind is nn.Embedding and not plain_options(child):
                raise ValueError(f"its {name} has max_norm, scale_grad_by_freq or sparse")
        if way_of(*seen, *note.copied) != DIRECT or not all(one is None or one.is_contiguous() for one in seen):
            raise ValueError("its parameters must be plain tensors on the CPU")
        tensors, copied = iter(seen), iter(note.copied)
        words, positions, segments, gamma, beta = (next(tensors) if name else None for name in (*form[:4], form.norm))
        if form.counted:
            if type(held["padding_idx"]) is not int:
                raise ValueError(f"its padding_idx is {held['padding_idx']!r}")
            counts = [one for one in self._counts(module) if one is not None]
            if COUNT in held or not counts or not all(_has_own_source(self.kind, one) for one in counts):
                raise ValueError(f"its {COUNT}() must be that of its class")
            note.start = held["padding_idx"] + 1
        if positions is not None:
            note.limit = len(positions) - note.start
        for name in self.buffers:
            if module._buffers.get(name) is None and name == "position_ids":
                raise ValueError(f"its {name} isn't a buffer")
            if module._buffers.get(name) is not None:
                numbers = next(copied)
                count = numbers.shape[-1]
                expected = torch.arange(count, device="cpu")[None] * (name == "position_ids")
                if numbers.dtype != expected.dtype or not torch.equal(numbers, expected):
                    raise ValueError(f"its {name} has other numbers")
                if name == "token_type_ids" and count < len(positions):
                    raise ValueError(f"its {name} is shorter than its {form.positions}")
                note.limit = min(note.limit, count - note.start)
        halves = [one is not None and one.dtype != torch.float32 for one in (gamma, beta)]
        note.vectors = [next(copied).float() if half else one for half, one in zip(halves, (gamma, beta))]
        norm = None
        if form.norm is not None:
            norm = inlay.LayerNorm(*note.vectors, module._modules[form.norm].eps)
        note.layer = inlay.Layer(
            words,
            positions=positions,
            segments=segments,
            norm=norm,
            padding_id=note.start - 1 if form.counted else None,
            zero_rows="table",
            position_mode="padding_aware" if form.counted else "sequential",
            segments_first=form.segments_first and positions is not None and segments is not None,
            dtype=words.dtype,
        )._disown()

    def _verify(self, module: nn.Module, note: Note) -> None:
        """Raises ValueError if the layer and PyTorch disagree for random ids. Changes nothing."""
        form, children = self.form, dict(module._modules)
        if form.dropout is not None:
            children[form.dropout] = nn.Identity()
        plain = self.kind.__new__(self.kind)
        plain.__dict__.update(module.__dict__, _modules=children)
        vocab = len(children[form.words].weight)
        rows = {name: len(children[at].weight) for name, at in self.terms.items()}
        draw = functools.partial(torch.randint, generator=torch.Generator("cpu").manual_seed(0), device="cpu")
        longest = 64 if form.positions is None else note.limit
        for batch, length in ((1, longest), (3, min(longest, 7)), (2, 1))[longest <= note.checked :]:
            ids = draw(vocab, (batch, length))
            if form.counted:
                ids[draw(4, ids.shape) == 0] = note.start - 1
            for names in ((), *((name,) for name in rows), tuple(rows)):
                given = {name: draw(rows[name], (batch if len(names) > 1 else 1, length)) for name in names}
                if not self._agree(note.call(ids, given), self.kind.forward(plain, ids, **given)):
                    raise ValueError("a layer must have the same outputs")
        note.checked = max(note.checked, longest)

    def _agree(self, ours: Tensor, theirs: Tensor) -> bool:
        if type(theirs) is not Tensor or theirs.dtype != ours.dtype or theirs.shape != ours.shape:
            return False
        if theirs.dtype == torch.float32 and self.form.norm is None:
            return torch.equal(ours, theirs)
        tolerance = TOLERANCE if theirs.dtype == torch.float32 else 2 * torch.finfo(theirs.dtype).eps
        ours, theirs = ours.float(), theirs.float()
        return bool(((ours - theirs).abs() <= tolerance * theirs.abs().amax(-1, keepdim=True)).all())


@functools.cache
def converted_class(kind: Any) -> Any:
    """Returns the subclass of a listed class that convert() gives to modules."""
    encoder = Encoder(kind, FORMS[kind.__module__, kind.__name__])

    @functools.wraps(kind.forward)
    def forward(self: nn.Module, *arguments: Any, **named: Any) -> Any:
        rows = None if torch.compiler.is_compiling() else encoder.embed(self, arguments, named)
        return kind.forward(self, *arguments, **named) if rows is None else rows

    def reduce(self: nn.Module, protocol: Any) -> Any:
        reduced = kind.__reduce_ex__(self, protocol)
        return (_new_module, (kind,), *reduced[2:]) if type(self) is converted else reduced

    methods = {"forward": forward, "__reduce_ex__": reduce, "_inlay_original": kind, "_inlay_encoder": encoder}
    converted = type(f"Converted{kind.__name__}", (kind,), methods)
    return converted


def _new_module(kind: Any) -> Any:
    """Makes a converted module for copies and pickles."""
    return (converted := converted_class(kind)).__new__(converted)


def convert_encoder(module: Any) -> Optional[str]:
    """Converts a module of a listed class. Returns None, or the reason to leave it."""
    converted = converted_class(type(module))
    note, why = converted._inlay_encoder.find_layer(module)
    if why is None:
        module.__dict__["_inlay_note"] = note
        module.__class__ = converted
    return why
