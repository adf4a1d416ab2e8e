# SPDX-License-Identifier: MIT
"""inlay.torch.convert(): rotations of queries and keys in transformers models, for each known form.

In float32, results have the bits of the original function. In 16 bits they are closer to float64 than the original's,
or the same if that one computes in float32.
"""

import copy
import functools
import gc
import importlib
import os
import pickle
import signal
import threading
import weakref
from unittest import mock

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
torch = pytest.importorskip("torch", reason="there is no PyTorch")
transformers = pytest.importorskip("transformers", reason="there is no transformers")

# pylint: disable=wrong-import-position
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import inlay.torch
from inlay.torch import rotations
from inlay.torch.rotation_forms import FORMS

NAME, VISION = rotations.NAMES
# Files with each form, by its function and rotate_half().
FILES = {
    ("whole", "rotate_half"): "llama",
    ("whole", "rotate_pairs_in_list"): "blt",
    ("whole_of_one", "rotate_half"): "gemma3n",
    ("cast_back", "rotate_half"): "olmo",
    ("in_float", "rotate_half"): "modernbert",
    ("from_float", "rotate_pairs_in_list"): "cohere",
    ("partial", "rotate_half"): "gpt_neox",
    ("partial_in_one", "rotate_half"): "phi3",
    ("first_half", "rotate_pairs"): "helium",
    ("first_half_in_float", "rotate_pairs"): "ernie4_5",
    ("first_half_partial", "rotate_pairs"): "glm",
    ("vision", "rotate_half"): "qwen2_vl",
}
DIM = 16
IDS = torch.tensor([[3, 14, 15, 9, 2, 6, 5, 3], [2, 7, 1, 8, 2, 8, 1, 8]])


def name_of(form):
    return form.function.__name__, form.half.__name__


@pytest.fixture(autouse=True)
def clean():
    """Fails a test that leaves a function replaced."""
    yield
    gc.collect()
    for site in rotations._sites:
        assert not site.users and site.file[site.name] is not site.replacement


@pytest.fixture
def rotated(monkeypatch):
    """Records calls of replacements, and whether inlay computed them."""
    found, rotate = [], rotations.Site.rotate

    def record(*given):
        results = rotate(*given)
        found.append(results is not None)
        return results

    monkeypatch.setattr(rotations.Site, "rotate", record)
    return found


def file_of(model):
    return importlib.import_module(type(model).__module__)


def made(family="Llama", **settings):
    """Returns a model with heads of DIM columns."""
    sizes = {"hidden_size": 4 * DIM, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    more = {"num_key_value_heads": 2, "vocab_size": 64, "pad_token_id": 0, "head_dim": DIM, **settings}
    try:
        config = getattr(transformers, f"{family}Config")(**sizes, **more)
        kind = getattr(transformers, f"{family}Model")
    except AttributeError:
        pytest.skip("another version of transformers")
    torch.manual_seed(0)
    return kind(config).eval()


@pytest.fixture(params=FORMS, ids=lambda form: "-".join(name_of(form)))
def site(request):
    """A replaced function of each form."""
    name = FILES[name_of(request.param)]
    file = importlib.import_module(f"transformers.models.{name}.modeling_{name}")
    found = rotations._site_of(file.__name__, VISION if request.param.function.__name__ == "vision" else NAME)
    if isinstance(found, str) or found.form != request.param:
        assert (name, transformers.__version__[0]) == ("modernbert", "4")
        pytest.skip("another version of transformers")
    user = torch.nn.Module()
    found.add(user)
    yield found
    found.remove(id(user))


def batches(site, dtype):
    """Yields arguments in all supported shapes and memory orders."""
    angle = torch.arange(7 * DIM // 2).reshape(7, -1) * 0.37
    both = torch.stack([angle, 3 * angle + 1])
    ways = [(angle, -2, None)] if site.at == -2 else [(angle[None], 1, 3), (both, 1, 3), (both, 2, 2), (angle, 0, 3)]
    columns = DIM + 4 if site.form.partial else DIM
    for angles, at, axis in ways:
        angles = angles.repeat_interleave(2, -1) if site.form.columns == "interleaved" else torch.cat([angles] * 2, -1)
        for order in range(3):
            tensors = []
            for heads in (4, 1)[: len(site.names) - 2]:
                shape = (7, heads, columns) if at == -2 else (2, 7, heads, columns)
                shape = (2, heads, 7, columns) if axis == 3 else shape
                if order == 0:
                    tensors.append(torch.randn(shape).to(dtype))
                elif order == 1:  # the transposed result of a projection
                    other = [*shape[:-3], shape[-2], shape[-3], columns]
                    tensors.append(torch.randn(other).to(dtype).transpose(-2, -3))
                else:  # packed with other projections
                    tensors.append(torch.randn(*shape[:-1], 3 * columns).to(dtype)[..., columns:-columns])
            for of_angles in {dtype, torch.float32 if site.form.mixed else dtype}:
                named = {} if at == -2 else {"unsqueeze_dim": at}
                yield (*tensors, angles.cos().to(of_angles), angles.sin().to(of_angles)), named


def as_list(results):
    return [results] if isinstance(results, torch.Tensor) else list(results)


def strides_of(tensor):
    return [stride for stride, size in zip(tensor.stride(), tensor.shape) if size > 1]


def in_float64(site, given, named):
    """Calls the original function with float64, which functions with .float() round to float32."""
    return as_list(site.original(*[tensor.double() for tensor in given], **named))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@torch.no_grad()
def test_forms(site, rotated, dtype):
    count = 0
    for given, named in batches(site, dtype):
        ours, theirs = (as_list(function(*given, **named)) for function in (site.replacement, site.original))
        for one, other, exact in zip(ours, theirs, in_float64(site, given, named)):
            assert type(one) is torch.Tensor and one.dtype == other.dtype == dtype and one.shape == other.shape
            assert strides_of(one) == strides_of(other)
            if dtype == torch.float32:
                assert torch.equal(one, other)
            else:
                distances = [(result.double() - exact.double()).abs() for result in (one, other)]
                assert distances[0].mean() <= distances[1].mean()
                assert (distances[0] <= torch.finfo(dtype).eps * exact.abs().double() / 2 + 1e-6).all()
        count += 1
    assert rotated == [True] * count and count > 2


@torch.no_grad()
def test_special_values(site):
    """NaN, infinities and signed zeros, as in the original function."""
    for given, named in batches(site, torch.float32):
        for tensor in given:
            values = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1e-40, 3e38])
            if tensor is not given[-1] and tensor is not given[-2]:
                tensor.copy_(values[torch.randint(7, tensor.shape)])
        for one, other in zip(*(as_list(f(*given, **named)) for f in (site.replacement, site.original))):
            assert torch.equal(one.isnan(), other.isnan())
            assert torch.equal(one.nan_to_num().view(torch.int32), other.nan_to_num().view(torch.int32))


class Mode(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


class Dispatch(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


class Own(torch.Tensor):
    pass


@torch.no_grad()
def test_other_calls_run_the_original(rotated, monkeypatch):
    model = made()
    file = file_of(model)
    original = file.apply_rotary_pos_emb
    inlay.torch.convert(model)
    function = file.apply_rotary_pos_emb
    q, k, angles = torch.randn(2, 4, 7, DIM), torch.randn(2, 1, 7, DIM), torch.randn(2, 7, DIM // 2).repeat(1, 1, 2)
    cos, sin = angles.cos(), angles.sin()

    def check(computed, *given, **named):
        del rotated[:]
        try:
            theirs = original(*given, **named)
        except Exception as error:  # pylint: disable=broad-except
            with pytest.raises(type(error)) as raised:
                function(*given, **named)
            assert str(raised.value) == str(error)
        else:
            for one, other in zip(function(*given, **named), theirs):
                torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)
                assert type(one) is type(other) and one.requires_grad == other.requires_grad
        assert rotated in ([computed], [] if not computed else [True])

    def left(*given, **named):
        check(False, *given, **named)

    check(True, q, k, cos, sin)
    check(True, k=k, q=q, sin=sin, cos=cos)
    check(True, q, k, cos, sin=sin, unsqueeze_dim=1)
    check(True, q, k, cos, sin, unsqueeze_dim=-3)
    check(True, q, k, cos[:1], sin[:1])
    check(True, torch.nn.Parameter(q, requires_grad=False), k, cos, sin)
    extra = inspect_parameters(original)[4:]
    check(True, q, k, cos, sin, *[None if name == "position_ids" else 1 for name in extra])
    left(q, k, cos, sin, *[1] * (len(extra) + 1))
    left(q, k, cos)
    left(q, k, cos, sin, unsqueeze_dim=q)
    left(q, k, cos, sin, other=1)
    left(q, k, cos, cos=cos, sin=sin)
    left(q, None, cos, sin)
    for at in (0, 2, 3, 7, 1.0, True, None):
        left(q, k, cos, sin, unsqueeze_dim=at)
    unequal = angles.clone()
    unequal[1, 6, DIM - 1] += 1
    left(q, k, unequal.cos(), sin), left(q, k, cos, unequal.sin())
    for dtype in (torch.float64, torch.complex64, torch.int32):
        left(q.to(dtype), k.to(dtype), cos.to(dtype), sin.to(dtype))
    left(q.half(), k, cos, sin), left(q, k, cos.half(), sin.half()), left(q, k, cos, sin.double())
    left(q.half(), k.half(), cos, sin)
    left(q[..., :0], k[..., :0], cos[..., :0], sin[..., :0]), left(q[:, :, :0], k[:, :, :0], cos[:, :0], sin[:, :0])
    left(q[:0], k[:0], cos[:0], sin[:0]), left(q[:, :0], k, cos, sin)
    left(q[..., :5], k[..., :5], cos[..., :5], sin[..., :5])
    left(q, k[..., :8], cos, sin), left(q[..., :8], k, cos, sin)
    left(q, k[:, :, :1], cos, sin), left(q[:1], k, cos, sin), left(q, k, cos[:, :1], sin[:, :1])
    left(q[0], k[0], cos, sin), left(q[None], k[None], cos, sin), left(q, k, cos[None], sin[None])
    left(q.to_sparse(), k, cos, sin), left(q.to("meta"), k.to("meta"), cos.to("meta"), sin.to("meta"))
    left(torch.view_as_complex(torch.randn(2, 4, 7, DIM, 2)).conj().imag, k, cos, sin)  # lazily negated
    left(q[:1].expand(2, -1, -1, -1), k, cos, sin), left(q.mT.contiguous().mT, k, cos, sin)
    left(q, k, cos[:1].expand(2, -1, -1), sin), left(q.as_subclass(Own), k, cos, sin)
    with Mode():
        left(q, k, cos, sin)
    with Dispatch():
        left(q, k, cos, sin)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        left(q, k, cos, sin)
    with torch.enable_grad():
        check(True, q, k, cos, sin)
        left(q.clone().requires_grad_(), k, cos, sin), left(q, k, cos, sin.clone().requires_grad_())
        check(False, q.clone().requires_grad_(), k, cos, sin)
    with torch.inference_mode():
        check(True, q.clone(), k, cos, sin)
        assert function(q, k, cos, sin)[0].is_inference()
    del rotated[:]
    mapped = torch.func.vmap(function)(q[None], k[None], cos[None], sin[None])
    assert torch.equal(mapped[0][0], original(q, k, cos, sin)[0]) and True not in rotated
    traced = torch.jit.trace(lambda *given: function(*given), (q, k, cos, sin), check_trace=False)
    assert torch.equal(traced(k, q, cos, sin)[1], original(k, q, cos, sin)[1]) and True not in rotated
    del rotated[:]
    for compiled in (torch.compile(function, backend="eager", fullgraph=True), exported(function, q, k, cos, sin)):
        assert torch.equal(compiled(q, k, cos, sin)[0], original(q, k, cos, sin)[0]) and True not in rotated

    def swapped(x):
        return torch.cat((x[..., DIM // 2 :], -x[..., : DIM // 2]), dim=-1)

    half, plain = file.rotate_half, original(q, k, cos, sin)[0]
    with monkeypatch.context() as patch:
        patch.setattr(file, "rotate_half", swapped)
        assert torch.equal(function(q, k, cos, sin)[0], original(q, k, cos, sin)[0])
        assert not torch.equal(original(q, k, cos, sin)[0], plain)
    with monkeypatch.context() as patch:
        patch.setattr(half, "__code__", swapped.__code__)
        patch.setitem(half.__globals__, "DIM", DIM)
        assert torch.equal(function(q, k, cos, sin)[0], original(q, k, cos, sin)[0])
        assert not torch.equal(original(q, k, cos, sin)[0], plain)
    with monkeypatch.context() as patch:
        patch.setattr(original, "__code__", (lambda q, k, cos, sin, unsqueeze_dim=1: (k, q)).__code__)
        assert function(q, k, cos, sin)[0] is k
    check(True, q, k, cos, sin)
    inlay.torch.restore(model)
    del rotated[:]
    assert torch.equal(function(q, k, cos, sin)[0], plain) and not rotated


def inspect_parameters(function):
    return list(function.__code__.co_varnames[: function.__code__.co_argcount])


def exported(function, *given):
    class Exported(torch.nn.Module):
        def forward(self, q, k, cos, sin):
            return function(q, k, cos, sin)

    return torch.export.export(Exported(), given).module()


# ---- Models

MODELS = "Llama GPTNeoX Olmo Cohere Phi3 Glm Ernie4_5 Qwen3 Gemma3Text Helium ModernBert".split()


@pytest.mark.parametrize("family", MODELS)
@torch.no_grad()
def test_models(rotated, family):
    """A converted model in prefill, with a cache, in training and without gradients; then restored."""
    model = made(family)
    file, state = file_of(model), {name: tensor.clone() for name, tensor in model.state_dict().items()}
    function, before = file.apply_rotary_pos_emb, model(IDS)[0]
    report = inlay.torch.convert(model)
    if family == "ModernBert" and NAME not in "".join(report.rotations):
        pytest.skip("another version of transformers")
    name = f"{file.__name__}.{NAME}"
    form = rotations._form_of(function)
    assert report.rotations == {name: form.columns} and f"{name}: {form.columns}" in str(report)
    assert file.apply_rotary_pos_emb is not function and file.apply_rotary_pos_emb.__name__ == NAME
    torch.testing.assert_close(model(IDS)[0], before, rtol=0, atol=1e-5 if family == "ModernBert" else 0)
    assert set(rotated) == {True}
    if hasattr(model.config, "use_cache"):
        past = model(IDS[:, :5], use_cache=True).past_key_values
        after = model(IDS[:, 5:], past_key_values=past, use_cache=True)[0]
        torch.testing.assert_close(after, before[:, 5:], rtol=1e-4, atol=1e-4)
    with torch.enable_grad():
        del rotated[:]
        model(IDS)[0].sum().backward()
        assert set(rotated) == {False} and all(p.grad is not None for p in model.layers.parameters())
    assert all(torch.equal(tensor, state[name]) for name, tensor in model.state_dict().items())
    inlay.torch.restore(model)
    assert file.apply_rotary_pos_emb is function and torch.equal(model(IDS)[0], before)


@torch.no_grad()
def test_lifetimes(rotated):
    """The function stays replaced while a converted module of the file is alive: copies and pickles don't count."""
    first, second = made(), made()
    file = file_of(first)
    original, before = file.apply_rotary_pos_emb, first(IDS)[0]
    inlay.torch.convert(first)
    replacement = file.apply_rotary_pos_emb
    inlay.torch.convert(first)
    assert inlay.torch.convert(second).rotations and file.apply_rotary_pos_emb is replacement
    handle = first.layers[0].self_attn.register_forward_hook(lambda *_: None)
    for model in (first, copy.deepcopy(first), pickle.loads(pickle.dumps(first)) if not handle.remove() else None):
        assert torch.equal(model(IDS)[0], before)
    assert set(rotated) == {True}
    inlay.torch.restore(first)
    inlay.torch.restore(first)
    assert file.apply_rotary_pos_emb is replacement
    shared = torch.nn.ModuleList([second.layers[1]])
    gone = weakref.ref(second)
    del second
    gc.collect()
    assert gone() is None and file.apply_rotary_pos_emb is replacement
    del shared
    gc.collect()
    assert file.apply_rotary_pos_emb is original
    inlay.torch.convert(first)
    assert file.apply_rotary_pos_emb is replacement  # the same, without another verification
    inlay.torch.restore(first.layers)
    assert file.apply_rotary_pos_emb is original
    assert inlay.torch.convert(first.embed_tokens).rotations == {}
    inlay.torch.restore(first)


@torch.no_grad()
def test_patches_of_the_application_stay(rotated):
    model = made()
    file = file_of(model)
    original, before = file.apply_rotary_pos_emb, model(IDS)[0]
    name = f"{file.__name__}.{NAME}"
    calls = []

    @functools.wraps(original)
    def mine(*given, **named):
        calls.append(1)
        return wrapped(*given, **named)

    try:
        wrapped, file.apply_rotary_pos_emb = original, mine
        assert inlay.torch.convert(model).rotations == {name: "skipped, it has no known form"}
        assert file.apply_rotary_pos_emb is mine
        inlay.torch.restore(model)
        file.apply_rotary_pos_emb = original
        inlay.torch.convert(model)
        wrapped, file.apply_rotary_pos_emb = file.apply_rotary_pos_emb, mine
        assert torch.equal(model(IDS)[0], before) and rotated == [True, True] and calls
        assert inlay.torch.convert(model).rotations == {name: "skipped, it has no known form"}
        inlay.torch.restore(model)
        assert file.apply_rotary_pos_emb is mine
        del rotated[:]
        assert torch.equal(model(IDS)[0], before) and not rotated
        file.apply_rotary_pos_emb = wrapped  # undone by the application, after restore()
        assert torch.equal(model(IDS)[0], before) and not rotated
        inlay.torch.convert(model)
        assert torch.equal(model(IDS)[0], before) and rotated == [True, True]
        inlay.torch.restore(model)
        assert file.apply_rotary_pos_emb is original
    finally:
        file.apply_rotary_pos_emb = original


def test_a_patch_that_ends_after_restore():
    """mock.patch puts the replacement back, and another restore() the original."""
    model = made()
    file = file_of(model)
    original = file.apply_rotary_pos_emb
    inlay.torch.convert(model)
    with mock.patch.object(file, NAME):
        inlay.torch.restore(model)
    assert file.apply_rotary_pos_emb is not original
    inlay.torch.restore(model)
    assert file.apply_rotary_pos_emb is original


def test_little_memory(rotated, monkeypatch):
    def fail(*given):
        raise MemoryError

    model = made()
    before = model(IDS)[0]
    inlay.torch.convert(model)
    monkeypatch.setattr(rotations._core, "rotate_given", fail)
    with torch.no_grad():
        assert torch.equal(model(IDS)[0], before) and set(rotated) == {False}
    inlay.torch.restore(model)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_fork_while_another_thread_holds_the_lock():
    model, held, done = made(), threading.Event(), threading.Event()
    inlay.torch.convert(model)

    def hold():
        with rotations._lock:
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        inlay.torch.restore(model)
        os._exit(0)
    done.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
    inlay.torch.restore(model)


def test_functions_that_are_left(monkeypatch):
    """Unknown functions, ones that fail in the verification or disagree with it, and an interrupt."""
    model = made()
    file = file_of(model)
    original, kinds = file.apply_rotary_pos_emb, [type(module) for module in model.modules()]
    monkeypatch.setattr(rotations, "_sites", [])

    def reason():
        (found,) = inlay.torch.convert(model).rotations.values()
        inlay.torch.restore(model)
        assert file.apply_rotary_pos_emb is now
        return found

    def other(q, k, cos, sin, unsqueeze_dim=1):
        return q, k

    for now in (other, torch.nn.Identity(), None, lambda q, k, cos, sin: (q, k), print, transformers.LlamaModel):
        with monkeypatch.context() as patch:
            patch.setattr(file, NAME, now)
            assert reason() == "skipped, it has no known form"
    now = original
    with monkeypatch.context() as patch:
        patch.setattr(file, "rotate_half", other)
        assert reason() == "skipped, it has no known form"
    with monkeypatch.context() as patch:
        patch.setattr(original, "__defaults__", (2,))
        assert reason() == "skipped, it has no known form"
    with monkeypatch.context() as patch:
        patch.setattr(rotations._core, "rotate_given", lambda *given: tuple(tensor * 1.001 for tensor in given[5:]))
        assert reason() == "skipped, both functions must have the same results"
        patch.setattr(rotations._core, "rotate_given", lambda *given: None)
        assert reason() == "skipped, inlay must rotate random numbers"
    with Mode():
        assert reason() == "skipped, a mode of PyTorch is active, e.g. since torch.set_default_device()"
    with monkeypatch.context() as patch:
        patch.setattr(rotations.Site, "verify", lambda _: signal.default_int_handler(signal.SIGINT, None))
        with pytest.raises(KeyboardInterrupt):
            inlay.torch.convert(model)
    assert file.apply_rotary_pos_emb is original and not rotations._sites
    inlay.torch.restore(model)
    assert [type(module) for module in model.modules()] == kinds
    assert reason() == "halves"


@torch.no_grad()
def test_threads(threads):
    """Threads call a model and convert others; a replacement may come and go between two calls."""
    threads(2)
    model = made()
    original, before, wrong = file_of(model).apply_rotary_pos_emb, model(IDS)[0], []

    def call():
        with torch.no_grad():
            for _ in range(30):
                if not torch.equal(model(IDS)[0], before):
                    wrong.append(1)

    def change():
        for _ in range(30):
            other = copy.deepcopy(model)
            inlay.torch.convert(other)
            if _ % 2:
                inlay.torch.restore(other)

    workers = [threading.Thread(target=target) for target in (call, call, change, change)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    gc.collect()
    assert not wrong and file_of(model).apply_rotary_pos_emb is original


def test_rotate_given_rejects_wrong_arguments():
    q, table = torch.randn(2, 7, 3, 8), torch.randn(7, 4).repeat(1, 2)
    rotate, out = inlay._core.rotate_given, (torch.empty_like(q),)
    assert rotate(table, table, "halves", False, out, q) is out[0]
    assert rotate(table, table, "interleaved", False, out, q) is None
    assert rotate(table, table, "interleaved_first", False, (None,), q).shape == q.shape
    for error, text, given in (
        (TypeError, "1 to 8 arrays", (table, table, "halves", False, out)),
        (TypeError, "1 to 8 arrays", (table, table, "halves", False, out, *[q] * 9)),
        (ValueError, 'columns is "half"', (table, table, "half", False, out, q)),
        (TypeError, "bad argument", (table, table, 1, False, out, q)),
        (ValueError, "cos has 1 dimensions", (table[0], table[0], "halves", False, out, q)),
        (ValueError, "cos must have", (table[:, :7], table[:, :7], "halves", False, out, q)),
        (ValueError, "cos must have", (table[:0], table[:0], "halves", False, out, q)),
        (ValueError, "cos must have", (table.double(), table.double(), "halves", False, out, q)),
        (ValueError, "contiguous", (table[:, :6], table[:, :6], "halves", False, out, q)),
        (TypeError, "sin", (table, table.half(), "halves", False, out, q)),
        (ValueError, "sin", (table, table[:6], "halves", False, out, q)),
        (ValueError, "same tokens", (table[:6], table[:6], "halves", False, out, q)),
        (ValueError, "same tokens", (table.repeat(3, 1, 1), table.repeat(3, 1, 1), "halves", False, out, q)),
        (ValueError, "8 of them rotate", (table, table, "halves", False, out, q[..., :6])),
        (ValueError, "1 arrays", (table, table, "halves", False, (q, q), q)),
    ):
        with pytest.raises(error, match=text):
            rotate(*given)
    flags = torch.tensor([True, False] * 28).reshape(7, 8)
    with pytest.raises(ValueError, match="cos must have"):
        rotate(flags, flags, "halves", False, out, q)
