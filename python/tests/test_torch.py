# SPDX-License-Identifier: MIT
"""inlay.torch: operators, gradients and modules compared with PyTorch's, in eager mode, compiled and exported."""

import concurrent.futures
import copy
import itertools
import pickle
import shutil
import sys
import time
import warnings

import pytest
from measure import resident_bytes

torch = pytest.importorskip("torch", reason="there is no PyTorch")

# pylint: disable=wrong-import-position
import inlay
import inlay.torch
from inlay.torch import operators
from inlay.torch.operators import Arguments

ROWS, DIM, SHAPE = 40, 12, (3, 7)
BACKENDS = ["aot_eager"] + (["inductor"] if shutil.which("g++") else [])


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def arguments(**options):
    given = Arguments(torch.randint(ROWS, SHAPE), torch.randn(ROWS, DIM), scale=1.5)
    return given._replace(**options)


def cases():
    """Arguments of every kind."""
    torch.manual_seed(1)
    learned, types, gamma, beta = torch.randn(20, DIM), torch.randn(3, DIM), torch.randn(DIM), torch.randn(DIM)
    segment_ids = torch.randint(3, SHAPE)
    return {
        "gather": arguments(),
        "int32": arguments(ids=torch.randint(ROWS, SHAPE, dtype=torch.int32)),
        "one": arguments(ids=torch.tensor(3)),
        "none": arguments(ids=torch.zeros((0, 4), dtype=torch.int64)),
        "learned": arguments(positions=learned, start=4),
        "position_ids": arguments(positions=learned, position_ids=torch.randint(20, SHAPE)),
        "segments": arguments(segments=types, segment_ids=segment_ids),
        "bert": arguments(
            positions=learned,
            segments=types,
            segment_ids=segment_ids,
            segments_first=True,
            gamma=gamma,
            beta=beta,
            norm=1,
            epsilon=1e-12,
        ),
        "bare norm": arguments(norm=1, epsilon=1e-5),
        "rms": arguments(gamma=gamma, norm=2, epsilon=1e-6),
        "padding": arguments(padding_id=3, positions=learned),
    }


@pytest.fixture(params=list(cases()))
def given(request):
    return cases()[request.param]


def with_gradients(given, dtype=torch.float32):
    """Returns copies with tables that require gradients."""
    return given._replace(
        **{
            name: getattr(given, name).detach().to(dtype).clone().requires_grad_()
            for name in operators.DIFFERENTIABLE
            if getattr(given, name) is not None
        }
    )


def gradients_of(function, given, dtype=torch.float32):
    """The gradients of a sum of the output with fixed factors."""
    own = with_gradients(given, dtype)
    out = function(own)
    factors = torch.linspace(-1, 2, out.numel(), dtype=torch.float64).reshape(out.shape)
    (out * factors.to(dtype)).sum().backward()
    return {name: getattr(own, name).grad for name in operators.DIFFERENTIABLE if getattr(own, name) is not None}


def eager(given):
    return operators.embed(given)


def operator(given):
    return torch.ops.inlay.forward(*given)


# ---- Operators


@pytest.mark.parametrize("function", [eager, operator])
def test_outputs(given, function):
    exact = operators.reference(with_gradients(given, torch.float64)).detach()
    torch.testing.assert_close(function(given).double(), exact, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("function", [eager, operator])
def test_gradients(given, function):
    """Results match PyTorch's operators in double, to float32 precision."""
    exact = gradients_of(operators.reference, given, torch.float64)
    for name, gradient in gradients_of(function, given).items():
        torch.testing.assert_close(gradient.double(), exact[name], rtol=1e-5, atol=1e-4, msg=name)


def test_reference_by_differences(given):
    """Reference gradients."""
    own = with_gradients(given, torch.float64)
    names = [name for name in operators.DIFFERENTIABLE if getattr(own, name) is not None and own.padding_id < 0]
    tables = [getattr(own, name) for name in names]
    if tables and own.ids.numel() > 0:
        assert torch.autograd.gradcheck(lambda *t: operators.reference(own._replace(**dict(zip(names, t)))), tables)


def backward_of(given, gradient):
    """Returns the arguments of the backward operator for the arguments of a call."""
    tables = [getattr(given, name) for name in operators.DIFFERENTIABLE[:3]]
    return (
        gradient,
        *(given.ids, given.position_ids, given.segment_ids, given.offsets, given.weights),
        [0 if table is None else table.shape[0] for table in tables],
        [table is not None for table in tables],
        *(given.scale, given.padding_id, given.start, given.pooling),
    )


def test_opcheck(given):
    torch.library.opcheck(torch.ops.inlay.forward.default, tuple(with_gradients(given)))
    gradient = torch.randn_like(operator(given)).requires_grad_()
    torch.library.opcheck(torch.ops.inlay.backward.default, backward_of(given, gradient))


@pytest.mark.parametrize("pooling", [1, 2])
def test_opcheck_of_bags(pooling):
    ids, offsets = torch.randint(ROWS, (30,)), torch.tensor([0, 4, 4, 30])
    bags = arguments(ids=ids, offsets=offsets, weights=torch.rand(30), pooling=pooling)
    for given in (bags, arguments(pooling=pooling)):
        torch.library.opcheck(torch.ops.inlay.forward.default, tuple(with_gradients(given)))


def test_ragged_batches():
    """Positions restart in each sequence, and the output is packed."""
    learned, places = torch.randn(9, DIM), torch.tensor([0, 1, 2, 0, 0, 1])
    ids = torch.randint(ROWS, (6,))
    given = arguments(ids=ids, positions=learned, offsets=torch.tensor([0, 3, 3, 4, 6]))
    expected = given.table[ids] * 1.5 + learned[places]
    assert torch.equal(operator(given), expected) and torch.equal(eager(given), expected)
    torch.library.opcheck(torch.ops.inlay.forward.default, tuple(given))
    single = given._replace(offsets=None, position_ids=places)
    for name, gradient in gradients_of(operator, given).items():
        assert torch.equal(gradient, gradients_of(eager, single)[name])


def test_padding_gets_no_gradient():
    given = arguments(padding_id=3, ids=torch.tensor([[3, 1, 3, 2]]))
    found = gradients_of(eager, given)["table"]
    assert not found[3].any() and found[1].any() and found[2].any()
    assert torch.equal(eager(given)[0, 0], given.table[3] * 1.5)


def test_dropout_has_one_mask():
    given = arguments(dropout=0.5, seed=torch.tensor([5, 2**61]), ids=torch.arange(20))
    out = eager(given)
    assert torch.equal(out, operator(given)) and 0.3 < (out == 0).float().mean() < 0.7
    own = with_gradients(given)
    eager(own).sum().backward()
    kept = (out != 0).float()
    assert torch.equal(own.table.grad[:20], kept * 2 * 1.5)
    assert not torch.equal(eager(given._replace(seed=torch.tensor([6, 2**61]))), out)


@pytest.mark.parametrize("function", [eager, operator])
def test_bad_ids(function):
    with pytest.raises(IndexError, match=r"id 40 at \[1, 1\] is not in the table"):
        function(arguments(ids=torch.tensor([[0, 1], [2, ROWS]])))


def test_bad_arguments():
    given = arguments()
    for message, change in {
        "ids has elements of type float32": {"ids": torch.ones(3)},
        "ids has elements of type bool": {"ids": torch.ones(3, dtype=torch.bool)},
        "table has 1 dimensions, expected 2": {"table": torch.ones(3)},
        "table has elements of type float64": {"table": torch.ones(3, DIM, dtype=torch.float64)},
        r"gamma has shape \[3\], expected \[12\]": {"gamma": torch.ones(3), "norm": 1},
        r"position_ids has shape \[2\]": {"positions": torch.ones(9, DIM), "position_ids": torch.ones(2).long()},
        r"position 10 at \[0, 6\] is not in the table of positions": {"positions": torch.ones(10, DIM), "start": 4},
        r"segment 5 at \[0, 0\] is not in the table of segments": {"segments": torch.ones(2, DIM), "segment_ids": torch.full(SHAPE, 5)},
        "dropout is 1.0, not in": {"dropout": 1.0, "seed": torch.tensor([5, 6])},
    }.items():
        with pytest.raises((IndexError, TypeError, ValueError), match=message):
            operator(given._replace(**change))
    for gradient in (torch.ones(2, 7, DIM), torch.ones(*SHAPE, DIM + 1)[..., 1:].transpose(0, 1)):
        with pytest.raises(ValueError, match="has shape"):
            torch.ops.inlay.backward(*backward_of(given, gradient))


def test_operators_take_every_layout():
    given = arguments(ids=torch.randint(ROWS, (7, 3)).T, table=torch.randn(DIM, ROWS).T)
    expected = given.table[given.ids] * 1.5
    assert torch.equal(operator(given), expected) and torch.equal(eager(given), expected)
    gradient = torch.randn(DIM, 7, 3).permute(2, 1, 0)
    found = torch.ops.inlay.backward(*backward_of(given, gradient))[0]
    torch.testing.assert_close(found, torch.zeros(ROWS, DIM).index_put((given.ids,), gradient * 1.5, accumulate=True))


def test_types_of_tables():
    given = arguments()
    for dtype in (torch.float16, torch.bfloat16):
        half = given._replace(table=given.table.to(dtype))
        expected = (half.table.float()[half.ids] * 1.5).to(dtype)
        assert torch.equal(eager(half), expected) and torch.equal(operator(half), expected)
        gradient = gradients_of(eager, half, dtype)["table"]
        assert gradient.dtype == dtype and gradient.any()


def flop_counted(given):
    from torch.utils.flop_counter import FlopCounterMode  # pylint: disable=import-outside-toplevel

    with FlopCounterMode(display=False):
        return eager(given)


def traced(given):
    names = [name for name in given._fields[:11] if getattr(given, name) is not None]

    def call(*tensors):
        return eager(given._replace(**dict(zip(names, tensors))))

    tensors = [getattr(given, name) for name in names]
    return torch.jit.trace(call, tensors, check_trace=False)(*tensors)


def penalty_of(function, given, dtype=torch.float32):
    """The gradients of a gradient penalty for the tables and for later layers."""
    own = with_gradients(given, dtype)
    torch.manual_seed(3)
    weight = torch.randn(DIM, 3, dtype=torch.float64).to(dtype).requires_grad_()
    learned = {name: getattr(own, name) for name in operators.DIFFERENTIABLE if getattr(own, name) is not None}
    loss = torch.tanh(function(own) @ weight).sum()
    first = torch.autograd.grad(loss, [*learned.values(), weight], create_graph=True)
    sum(gradient.square().sum() for gradient in first).backward()
    return {name: tensor.grad for name, tensor in {**learned, "weight": weight}.items()}


@pytest.mark.parametrize("bits", [2, 4])
def test_rowwise_tables_of_torch(bits):
    pack, unpack = (getattr(torch.ops.quantized, f"embedding_bag_{bits}bit_{way}pack") for way in ("pre", "un"))
    rows = pack(torch.randn(1000, 96))
    first = torch.cat([rows[:, -4:], rows[:, :-4]], 1)  # as in table-batched embeddings of FBGEMM
    for data, name in (rows, f"u{bits}_rowwise"), (first, f"u{bits}_rowwise_first"):
        assert torch.equal(inlay.Layer(inlay.Table(data, name))(torch.arange(1000)), unpack(rows))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", [eager, operator, flop_counted, traced])
def test_second_derivatives(given, function):
    if given.ids.numel() == 0:
        given = given._replace(ids=torch.tensor([[1, 2]]))  # the next layer has no derivative for empty inputs in PyTorch
    exact = penalty_of(operators.reference, given, torch.float64)
    for name, gradient in penalty_of(function, given).items():
        torch.testing.assert_close(gradient.double(), exact[name], rtol=1e-4, atol=2e-3, msg=name)


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_second_derivatives_of_bags(mode):
    """Second and third derivatives with weights, padding and an empty bag."""
    flat, offsets, weights = torch.tensor([1, 3, 3, 2, 3, 0]), torch.tensor([0, 2, 2]), torch.rand(6)
    weights = weights if mode == "sum" else None
    counts = torch.zeros(3, 5, dtype=torch.float64)
    for place, row in enumerate(flat.tolist()):
        if row != 1:
            counts[0 if place < 2 else 2, row] += 1 if weights is None else weights[place]
    if mode == "mean":
        counts /= counts.sum(1, keepdim=True).clamp(min=1)
    table = torch.randn(5, 4)
    bag = inlay.torch.EmbeddingBag(5, 4, mode=mode, padding_idx=1, _weight=table)
    exact = table.double().requires_grad_()
    found = []
    for out, tensor in ((bag(flat, offsets, weights), bag.weight), (counts @ exact, exact)):
        (first,) = torch.autograd.grad(out.pow(3).sum(), tensor, create_graph=True)
        (second,) = torch.autograd.grad(first.square().sum(), tensor, create_graph=True)
        found.append([t.double() for t in (first, second, torch.autograd.grad(second.square().sum(), tensor)[0])])
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-3)


def dual_call(function, given):
    """The tangent of an output from tangents of all tables."""
    from torch.autograd import forward_ad  # pylint: disable=import-outside-toplevel

    with forward_ad.dual_level():
        torch.manual_seed(4)
        duals = {
            name: forward_ad.make_dual(getattr(given, name), torch.randn(getattr(given, name).shape).to(given.table.dtype))
            for name in operators.DIFFERENTIABLE
            if getattr(given, name) is not None
        }
        return forward_ad.unpack_dual(function(given._replace(**duals))).tangent


@pytest.mark.parametrize("enabled", [True, False])
def test_forward_derivatives(given, enabled):
    """PyTorch computes them for modules. The operators raise an error instead of dropping them silently."""
    with torch.set_grad_enabled(enabled):
        torch.testing.assert_close(dual_call(eager, given), dual_call(operators.reference, given))
        with pytest.raises(NotImplementedError, match="inlay::forward has no forward-mode derivative"):
            dual_call(operator, given)


def test_forward_derivatives_of_gradients():
    from torch.autograd import forward_ad  # pylint: disable=import-outside-toplevel

    own = with_gradients(arguments())
    out = eager(own)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.ones_like(out), torch.ones_like(out))
        with pytest.raises(NotImplementedError, match="inlay::backward has no forward-mode derivative"):
            torch.autograd.grad(out, own.table, dual)


def test_tables_may_change_before_backward():
    """Same as torch.nn.Embedding, unless a norm reads the tables again. Changed ids are an error in both."""
    given, zeros = with_gradients(cases()["learned"]), torch.zeros(ROWS, DIM)
    expected = gradients_of(operator, given)
    for function in (eager, operator, torch.compile(operator, backend="aot_eager")):
        own = with_gradients(given)
        out = function(own)
        with torch.no_grad():
            own.table.zero_(), own.positions.zero_()
            own.table.data = zeros[:0]
        factors = torch.linspace(-1, 2, out.numel(), dtype=torch.float64).reshape(out.shape).float()
        found = torch.autograd.grad((out * factors).sum(), own.positions)[0]
        assert torch.equal(found, expected["positions"])
    normed = with_gradients(cases()["bert"])
    out = eager(normed)
    with torch.no_grad():
        normed.table.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()
    own = with_gradients(arguments())
    out = eager(own)
    own.ids.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_threads_share_layers():
    """All threads remove kept layers, and none may trip over what another one does meanwhile."""
    end = time.monotonic() + 3

    class Layer:
        def _disown(self):
            return self

    def run(thread):
        for number in itertools.takewhile(lambda _: time.monotonic() < end, itertools.count()):
            assert operators._kept((thread, number), lambda self_tuning: Layer())

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(run, range(4)))
    finally:
        sys.setswitchinterval(interval)
        operators._layers.clear()


def test_layers_of_one_call_do_not_tune_themselves(monkeypatch):
    """The second call with the same tensors makes the cached layer."""
    made = []
    layer = inlay.Layer
    monkeypatch.setattr(operators, "_layers", {})
    monkeypatch.setattr(operators, "MAX_LAYERS", 3)
    monkeypatch.setattr(inlay, "Layer", lambda *args, **options: made.append(options["self_tuning"]) or layer(*args, **options))
    given = cases()["bert"]
    for _ in range(4):
        operator(given)
    assert made == [False, True]
    for scale in range(5):
        eager(given._replace(scale=float(scale)))
    assert made == [False, True] + [False] * 5 and len(operators._layers) == 3


@pytest.mark.parametrize("bad", [False, True])
def test_operators_release_their_arguments(bad):
    """Successful and failed calls leak no tensors and no boxes of optional ones."""
    given = cases()["bert"]._replace(start=20 if bad else 0)

    def call(times):
        for _ in range(times):
            try:
                operator(given)
            except IndexError:
                assert bad

    call(1000)
    before = resident_bytes()
    call(20000)
    assert resident_bytes() - before < 1 << 20


# ---- Modules


def pairs():
    """Modules of inlay, the equivalents of PyTorch, and their arguments."""
    torch.manual_seed(2)
    ids = torch.randint(ROWS, SHAPE)
    flat, offsets, weights = torch.randint(ROWS, (30,)), torch.tensor([0, 4, 4, 20]), torch.rand(30)
    bag, nn = inlay.torch.EmbeddingBag, torch.nn
    return {
        "embedding": (inlay.torch.Embedding(ROWS, DIM), nn.Embedding(ROWS, DIM), (ids,)),
        "padding": (inlay.torch.Embedding(ROWS, DIM, padding_idx=2), nn.Embedding(ROWS, DIM, padding_idx=2), (ids,)),
        "max_norm": (inlay.torch.Embedding(ROWS, DIM, max_norm=1.0), nn.Embedding(ROWS, DIM, max_norm=1.0), (ids,)),
        "mean": (bag(ROWS, DIM), nn.EmbeddingBag(ROWS, DIM), (ids,)),
        "offsets": (bag(ROWS, DIM), nn.EmbeddingBag(ROWS, DIM), (flat, offsets)),
        "sum": (bag(ROWS, DIM, mode="sum"), nn.EmbeddingBag(ROWS, DIM, mode="sum"), (flat, offsets, weights)),
        "max": (bag(ROWS, DIM, mode="max"), nn.EmbeddingBag(ROWS, DIM, mode="max"), (flat, offsets)),
        "bag padding": (bag(ROWS, DIM, padding_idx=1), nn.EmbeddingBag(ROWS, DIM, padding_idx=1), (ids % 4,)),
        "last offset": (
            bag(ROWS, DIM, include_last_offset=True),
            nn.EmbeddingBag(ROWS, DIM, include_last_offset=True),
            (flat, torch.tensor([0, 7, 30])),
        ),
    }


@pytest.mark.parametrize("kind", list(pairs()))
def test_modules_equal_those_of_torch(kind):
    ours, theirs, call = pairs()[kind]
    theirs.load_state_dict(ours.state_dict())
    outputs = [module(*call) for module in (ours, theirs)]
    torch.testing.assert_close(*outputs, rtol=1e-6, atol=1e-6)
    for out in outputs:
        (out * torch.linspace(-1, 2, out.numel()).reshape(out.shape)).sum().backward()
    torch.testing.assert_close(ours.weight.grad, theirs.weight.grad, rtol=1e-5, atol=1e-5)
    with torch.no_grad():
        assert torch.equal(ours(*call), outputs[0].detach())
    same = copy.deepcopy(ours)
    assert torch.equal(same(*call), outputs[0])


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int64, torch.bool, torch.float64])
@pytest.mark.parametrize("options", [{}, {"max_norm": None, "scale_grad_by_freq": True}])
def test_pretrained_tables_keep_their_types(dtype, options):
    table = torch.randint(2, (5, 3)).to(dtype)
    rows = inlay.torch.Embedding.from_pretrained(table, **options)(torch.tensor([4, 0]))
    assert rows.dtype == dtype and torch.equal(rows, table[[4, 0]])


@pytest.mark.parametrize("rows, dim", [(10, 0), (0, 0), (0, 4)])
def test_tables_of_nothing(rows, dim):
    module = inlay.torch.Embedding(rows, dim)
    ids = torch.zeros((2, 3) if rows else (2, 0), dtype=torch.int64)
    assert module(ids).shape == (*ids.shape, dim)
    module(ids).sum().backward()
    assert module.weight.grad.shape == (rows, dim)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("padding_idx", [None, 1])
def test_zero_bags(mode, dtype, padding_idx):
    """PyTorch crashes on ids without a bag."""
    options = {"mode": mode, "dtype": dtype, "padding_idx": padding_idx}
    bag = inlay.torch.EmbeddingBag(ROWS, DIM, **options)
    last = inlay.torch.EmbeddingBag(ROWS, DIM, include_last_offset=True, **options)
    empty, some = torch.zeros(0, dtype=torch.int64), torch.arange(5)
    for module, call in (
        (bag, (empty, empty)),
        (bag, (some, empty)),
        (last, (some, torch.tensor([0]))),
        (bag, (torch.zeros(0, 3, dtype=torch.int64),)),
    ):
        out = module(*call)
        out.sum().backward()
        assert out.shape == (0, DIM) and out.dtype == dtype and not module.weight.grad.any()


@pytest.mark.parametrize("padding_idx", [None, 61])
def test_last_offsets_may_end_early(padding_idx):
    """In PyTorch, the last bag has the ids up to the last offset, or all remaining ids with padding."""
    options = {"include_last_offset": True, "padding_idx": padding_idx}
    ours, theirs = inlay.torch.EmbeddingBag(100, 3, **options), torch.nn.EmbeddingBag(100, 3, **options)
    theirs.load_state_dict(ours.state_dict())
    ids = torch.arange(4)
    for offsets in (torch.tensor([0, 3, 3]), torch.tensor([0, 3, 4])):
        torch.testing.assert_close(ours(ids, offsets), theirs(ids, offsets))


def test_bags_refuse_offsets_as_those_of_torch_do():
    """Includes decreasing and negative offsets, for which PyTorch reads out of bounds."""
    ids, options = torch.arange(6), {"include_last_offset": True}
    for offsets in ([1, 3], [0, 9], [[0, 2]]):
        message = message_of(lambda: torch.nn.EmbeddingBag(ROWS, DIM)(ids, torch.tensor(offsets)))  # pylint: disable=W0640
        assert message_of(lambda: inlay.torch.EmbeddingBag(ROWS, DIM)(ids, torch.tensor(offsets))) == message  # pylint: disable=W0640
    for offsets in ([0, 4, 2], [0, -1]):
        assert message_of(lambda: inlay.torch.EmbeddingBag(ROWS, DIM)(ids, torch.tensor(offsets)))[0] is RuntimeError  # pylint: disable=W0640
    with pytest.raises(RuntimeError, match="number of offset should be at least 1"):
        inlay.torch.EmbeddingBag(ROWS, DIM, **options)(ids, ids[:0])


@pytest.mark.parametrize("change", ["meta", "type", "delete", "data", "replace"])
@pytest.mark.parametrize("make", [inlay.torch.Embedding, inlay.torch.InputLayer])
def test_memory_of_tables_is_freed(change, make):
    module = make(100000, 256)
    with torch.no_grad():
        for _ in range(3):
            module(torch.arange(8))
    module.weight.requires_grad_()
    module(torch.arange(8)).sum()
    before = resident_bytes()
    if change == "meta":
        module.to("meta")
    elif change == "type":
        module.to(torch.bfloat16)
    elif change == "delete":
        del module.weight
    elif change == "data":
        module.weight.data = torch.zeros(100, 256)
    else:
        module.weight = torch.nn.Parameter(torch.zeros(100, 256))
    assert before - resident_bytes() > (40 if change == "type" else 90) << 20


def test_modules_on_the_device_meta():
    """Modules made on `meta` are filled by to_empty() and reset_parameters()."""
    gamma, ids = torch.rand(DIM), torch.randint(ROWS, (2, 5))
    options = {"positions": "sinusoid", "norm": inlay.LayerNorm(gamma), "segments": 2}
    with torch.device("meta"):
        module, encoding = inlay.torch.InputLayer(ROWS, DIM, **options), inlay.torch.PositionalEncoding(DIM, 9)
    assert {tensor.device.type for tensor in (*module.parameters(), *module.buffers(), encoding.rows)} == {"meta"}
    for one in (module, encoding):
        one.to_empty(device="cpu")
        one.reset_parameters()
    same = inlay.torch.InputLayer(ROWS, DIM, **options)
    same.load_state_dict(module.state_dict())
    assert torch.equal(same(ids), module(ids)) and torch.equal(module.gamma, gamma)
    assert torch.equal(encoding.rows, inlay.torch.PositionalEncoding(DIM, 9).rows)
    with torch.device("meta"):
        module.dropout = 0.5
        module(ids).sum().backward()
    assert module.weight.grad.device.type == "cpu"


class Quantized(torch.Tensor):
    """A table stored as int8, as made by quantization libraries."""

    @staticmethod
    def __new__(cls, data):
        return torch.Tensor._make_wrapper_subclass(cls, data.shape, dtype=torch.float32)

    def __init__(self, data):
        self.data_of_8_bits = data

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        if function is torch.ops.aten.detach.default:
            return Quantized(args[0].data_of_8_bits)
        if function in (torch.ops.aten.embedding.default, torch.ops.aten._embedding_bag.default):
            at = function is torch.ops.aten.embedding.default
            return function(args[0].data_of_8_bits.float() / 100, *args[1:], **(kwargs or {})) if at else None
        raise NotImplementedError(f"no {function}")


def test_types_that_extend_tensors():
    """PyTorch computes them, since only they know their contents."""
    data = torch.randint(-100, 100, (ROWS, DIM), dtype=torch.int8)
    module, ids = inlay.torch.Embedding(ROWS, DIM), torch.arange(5)
    module.weight = torch.nn.Parameter(Quantized(data), requires_grad=False)
    assert torch.equal(module(ids), data[:5].float() / 100)
    module = inlay.torch.Embedding(ROWS, DIM)
    for layout in (torch.jagged, torch.strided):
        nested = torch.nested.nested_tensor([torch.tensor([1, 2, 3]), torch.tensor([4])], layout=layout)
        rows = module(nested).unbind()
        assert torch.equal(rows[0], module.weight[1:4]) and torch.equal(rows[1], module.weight[4:5])


def test_distributed_tensors(tmp_path):
    distributed = pytest.importorskip("torch.distributed", reason="there is no torch.distributed")
    if not distributed.is_available() or distributed.is_initialized():
        pytest.skip("torch.distributed is not available, or in use")
    from torch.distributed.device_mesh import init_device_mesh  # pylint: disable=import-outside-toplevel
    from torch.distributed.tensor import Shard, distribute_tensor  # pylint: disable=import-outside-toplevel

    distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/ranks", rank=0, world_size=1)
    try:
        module, ids = inlay.torch.Embedding(ROWS, DIM), torch.arange(5)
        expected = module(ids)
        table = distribute_tensor(module.weight.detach(), init_device_mesh("cpu", (1,)), [Shard(1)])
        module.weight = torch.nn.Parameter(table)
        whole = distribute_tensor(ids, table.device_mesh, [torch.distributed.tensor.Replicate()])
        assert torch.equal(module(whole).full_tensor(), expected)
    finally:
        distributed.destroy_process_group()


@pytest.mark.parametrize("backend", BACKENDS)
def test_compiled_transforms(backend):
    module, ids = layer_of(), torch.randint(ROWS, SHAPE)
    parameters = {name: parameter.detach() for name, parameter in module.named_parameters()}

    def loss(parameters):
        return torch.func.functional_call(module, parameters, (ids,)).square().sum()

    for transform in (torch.func.grad(loss), lambda p: torch.func.jvp(loss, (p,), (p,))[1]):
        found = torch.compile(transform, backend=backend)(parameters)
        torch.testing.assert_close(found, transform(parameters), rtol=1e-4, atol=1e-3)


def test_weights_may_change():
    module = inlay.torch.Embedding(ROWS, DIM)
    ids = torch.arange(5)
    with torch.no_grad():
        module.weight.mul_(2)
        assert torch.equal(module(ids), module.weight[:5])
        module.weight = torch.nn.Parameter(torch.randn(ROWS, DIM))
        assert torch.equal(module(ids), module.weight[:5])
        module.double()
        assert torch.equal(module(ids), module.weight[:5])


@pytest.mark.parametrize("view", ["transposed", "columns", "every second column", "one row"])
def test_tables_of_every_layout(view):
    """With and without gradients. Only contiguous rows are read in place."""
    weight = {
        "transposed": torch.randn(DIM, ROWS).T,
        "columns": torch.randn(ROWS, 2 * DIM)[:, :DIM],
        "every second column": torch.randn(ROWS, 2 * DIM)[:, ::2],
        "one row": torch.randn(1, DIM).expand(ROWS, DIM),
    }[view]
    module, ids = inlay.torch.InputLayer(ROWS, DIM, norm="layer"), torch.randint(ROWS, SHAPE)
    module.weight, module.gamma = torch.nn.Parameter(weight), torch.nn.Parameter(torch.rand(2 * DIM)[::2])
    expected = torch.nn.functional.layer_norm(weight[ids], (DIM,), module.gamma, module.beta, module.eps)
    for enabled in (True, False):
        with torch.set_grad_enabled(enabled):
            torch.testing.assert_close(module(ids), expected, rtol=1e-5, atol=1e-5)
    if view != "one row":
        with torch.no_grad():
            module.weight.zero_()
            assert torch.equal(module(ids), module.beta.expand(*SHAPE, DIM)), "a copy was kept"


def message_of(call):
    with pytest.raises(Exception) as caught:
        call()
    return type(caught.value), str(caught.value)


def test_strided_norms_may_change():
    module, ids = layer_of(), torch.randint(ROWS, SHAPE)
    module.gamma = torch.nn.Parameter(torch.ones(2 * DIM)[::2])
    with torch.no_grad():
        before = module(ids)
        module.gamma.mul_(2)
        torch.testing.assert_close(module(ids), 2 * before)


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_bags_refuse_what_those_of_torch_refuse(mode):
    ours, theirs = inlay.torch.EmbeddingBag(ROWS, DIM, mode=mode), torch.nn.EmbeddingBag(ROWS, DIM, mode=mode)
    flat, batch, weights = torch.arange(6), torch.zeros(2, 3).long(), torch.rand(6)
    calls = [(flat,), (batch, torch.tensor([0, 2])), (batch[None],), (flat, torch.tensor([0.0, 3.0]))]
    if mode == "mean":
        calls.append((flat, torch.tensor([0, 3]), weights))
    for call in calls:
        assert message_of(lambda: ours(*call)) == message_of(lambda: theirs(*call))  # pylint: disable=W0640


def test_padding_counts_from_the_end_too():
    module = inlay.torch.InputLayer(ROWS, DIM, padding_idx=-1)
    module(torch.tensor([[ROWS - 1, 1]])).sum().backward()
    assert module.padding_idx == ROWS - 1 and not module.weight[-1].any() and not module.weight.grad[-1].any()
    for padding_idx in (ROWS, -ROWS - 1):
        with pytest.raises(ValueError, match="padding_idx"):
            inlay.torch.InputLayer(ROWS, DIM, padding_idx=padding_idx)


@pytest.mark.parametrize(
    "typed, expected",
    [
        ({"positions": "sinusoid"}, {"positions": inlay.Sinusoid()}),
        ({"positions": "Sinusoidal"}, {"positions": inlay.Sinusoid()}),
        ({"positions": "None"}, {}),
        ({"norm": "LayerNorm"}, {"norm": "layer"}),
        ({"norm": "rms_norm"}, {"norm": "rms"}),
        ({"norm": inlay.RMSNorm(eps=0.5)}, {"norm": "rms", "eps": 0.5}),
        ({"norm": "none"}, {"norm": None}),
    ],
)
def test_names_of_input_layers(typed, expected):
    modules = [inlay.torch.InputLayer(ROWS, DIM, **options) for options in (typed, expected)]
    modules[0].load_state_dict(modules[1].state_dict())
    ids = torch.randint(ROWS, SHAPE)
    assert torch.equal(modules[0](ids), modules[1](ids))


def test_norms_of_input_layers():
    gamma, beta = torch.randn(DIM), torch.randn(DIM)
    module = inlay.torch.InputLayer(ROWS, DIM, norm=inlay.LayerNorm(gamma, beta.numpy(), 0.25))
    assert torch.equal(module.gamma, gamma) and torch.equal(module.beta, beta) and module.eps == 0.25
    assert module.gamma.requires_grad and module.gamma.data_ptr() != gamma.data_ptr()
    assert inlay.torch.InputLayer(ROWS, DIM, positions="LEARNED").positions.requires_grad


@pytest.mark.parametrize(
    "error, text, options",
    [
        (ValueError, r"norm is 'l2', expected inlay.LayerNorm\(gamma, beta, eps\) or \"layer\", inlay.RMS", {"norm": "l2"}),
        (TypeError, "norm is 3, expected inlay.LayerNorm", {"norm": 3}),
        (TypeError, "norm is <class", {"norm": inlay.RMSNorm}),
        (ValueError, "positions is 'rope', expected inlay.Sinusoid.*, or \"learned\" for", {"positions": "rope"}),
        (TypeError, "positions is tensor.*, expected inlay.Sinusoid", {"positions": torch.zeros(1)}),
    ],
)
def test_unknown_names_of_input_layers(error, text, options):
    with pytest.raises(error, match="^" + text):
        inlay.torch.InputLayer(ROWS, DIM, **options)


def test_names_of_positional_encodings():
    x = torch.randn(2, 5, DIM)
    assert torch.equal(
        inlay.torch.PositionalEncoding(DIM, 9, sinusoid="sinusoid")(x), inlay.torch.PositionalEncoding(DIM, 9)(x)
    )


def layer_of(**options):
    return inlay.torch.InputLayer(
        ROWS, DIM, positions="learned", max_length=16, segments=2, norm="layer", scale="sqrt", padding_idx=0, **options
    )


def test_input_layer():
    module, ids, segment_ids = layer_of(), torch.randint(ROWS, SHAPE), torch.randint(2, SHAPE)
    x = torch.nn.functional.embedding(ids, module.weight) * DIM**0.5 + module.positions[2:9]
    x = x + torch.nn.functional.embedding(segment_ids, module.segments)
    x = torch.nn.functional.layer_norm(x, (DIM,), module.gamma, module.beta, module.eps)
    torch.testing.assert_close(module(ids, start=2, token_type_ids=segment_ids), x, rtol=1e-5, atol=1e-5)
    assert {name for name, _ in module.named_parameters()} == {"weight", "positions", "segments", "gamma", "beta"}
    exact = copy.deepcopy(module).double()(ids, start=2, segment_ids=segment_ids)
    torch.testing.assert_close(exact, x.double(), rtol=1e-5, atol=1e-5)


def test_sinusoids():
    positions = inlay.Sinusoid(base=500.0)
    module = inlay.torch.InputLayer(ROWS, DIM, positions=positions, max_length=50)
    ids = torch.arange(40)
    rows = inlay.sinusoid(torch.arange(50), DIM, 500.0)
    assert torch.equal(module(ids, start=10), module.weight + rows[10:50])
    assert "positions" not in module.state_dict()
    encoding = inlay.torch.PositionalEncoding(DIM, 50, sinusoid=positions)
    x = torch.randn(2, 5, DIM)
    assert torch.equal(encoding(x, start=3), x + rows[3:8])
    with pytest.raises(IndexError, match=r"positions 49 to 53 are not in \[0, 50\)"):
        encoding(x, start=49)


def test_dropout_of_modules():
    module = layer_of(dropout=0.5)
    ids = torch.randint(ROWS, SHAPE)
    torch.manual_seed(7)
    first = module(ids)
    assert not torch.equal(module(ids), first)
    torch.manual_seed(7)
    assert torch.equal(module(ids), first) and (first == 0).any()
    module.eval()
    assert not (module(ids) == 0).any()


def test_static_embeddings():
    table = inlay.random(ROWS, 64, seed=3)
    ids, offsets = torch.randint(ROWS, (9,)), torch.tensor([0, 4])
    for given in (table, inlay.quantize(table, "q8_0")):
        module = inlay.torch.StaticEmbedding(given)
        out = module(ids, offsets)
        expected = torch.stack([torch.from_numpy(table)[part].mean(0) for part in (ids[:4], ids[4:])])
        torch.testing.assert_close(out, expected, rtol=0, atol=0.05)
        assert torch.equal(module(ids[:4][None]), out[:1])
        for same in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
            assert torch.equal(same(ids, offsets), out) and same.layer.table is not module.layer.table


# ---- Tensors in inlay.Layer


def test_tensors_of_every_layout():
    table = torch.randn(ROWS, DIM)
    layer = inlay.Layer(table, scale=2)
    ids = torch.randint(ROWS, (4, 6))
    for view in (ids.T, ids[:, ::2], ids[1], ids[1, 2], ids.int(), ids[:0], ids.expand(2, 4, 6)):
        out = layer(view)
        assert type(out) is torch.Tensor and torch.equal(out, table[view.long()] * 2)
    out = torch.zeros(4, 6, 2 * DIM)
    assert layer(ids, out[..., :DIM]).data_ptr() == out.data_ptr()
    assert torch.equal(out[..., :DIM], table[ids] * 2) and not out[..., DIM:].any()
    kept = layer(ids)
    del layer, table
    assert torch.equal(kept, out[..., :DIM])


def test_outputs_count_their_changes():
    """Writing to a tensor increments its version like in PyTorch, so its gradient is an error."""
    table, ids = torch.randn(ROWS, DIM), torch.tensor([1, 2, 3])
    layer, weight, out = inlay.Layer(table), torch.randn(DIM, 2, requires_grad=True), torch.zeros(3, DIM)
    product = layer(ids, out=out) @ weight
    assert out._version == 1
    layer(ids + 1, out)
    assert out._version == 2
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()
    inlay.sinusoid(ids, DIM, out=out)
    assert out._version == 3
    with pytest.raises(IndexError):
        layer(ids + ROWS, out)
    with pytest.raises(ValueError):
        layer(ids[:2], out)
    assert out._version == 3
    leaf = torch.zeros(3, DIM, requires_grad=True)
    for call in (lambda: layer(ids, out=leaf), lambda: layer(ids, out=leaf * 1), lambda: inlay.sinusoid(ids, DIM, out=leaf)):
        with pytest.raises(RuntimeError, match="out requires a gradient"):
            call()
    assert leaf._version == 0 and not leaf.any()
    with torch.no_grad():
        assert layer(ids, out=leaf) is leaf and leaf._version == 1 and torch.equal(leaf, table[ids])
    with torch.inference_mode():
        assert torch.equal(layer(ids, out=torch.zeros(3, DIM)), table[ids])


def test_tensors_that_are_negated_when_read():
    """z.conj().imag shares the memory of z, where the numbers have the other sign."""
    ids, negated = torch.randint(ROWS, (4, 6)), torch.randn(ROWS, DIM, dtype=torch.complex64).conj().imag
    weights, weight = negated[:4, :6], torch.nn.Parameter(torch.randn(ROWS, DIM))
    assert negated.is_neg() and weights.is_neg()
    bags = inlay.torch.EmbeddingBag(ROWS, DIM, mode="sum")
    expected = torch.nn.functional.embedding_bag(ids, bags.weight, mode="sum", per_sample_weights=weights)
    torch.testing.assert_close(bags(ids, per_sample_weights=weights), expected)
    assert torch.equal(operators.embed(operators.Arguments(ids, negated)), negated[ids])
    assert torch.equal(torch.ops.inlay.forward(*operators.Arguments(ids, negated)), negated[ids])
    operators.embed(operators.Arguments(ids, weight)).backward(torch._neg_view(negated[ids]))
    found, weight.grad = weight.grad, None
    torch.nn.functional.embedding(ids, weight).backward(-negated[ids])
    torch.testing.assert_close(found, weight.grad)
    out = torch._neg_view(torch.zeros(4, 6, DIM))
    pooled = inlay.Layer(weight, pooling="sum")
    for name, call in (
        ("table", lambda: inlay.Layer(negated)),
        ("out", lambda: inlay.Layer(weight.detach())(ids, out=out)),
        ("weights", lambda: pooled(ids, weights=weights)),
    ):
        with pytest.raises(ValueError, match=rf"^{name} is lazily negated: give {name}.resolve_neg\(\)$"):
            call()
    assert not out.any() and out._version == 0


@pytest.mark.filterwarnings("ignore:Accessing the data pointer of FakeTensor")
def test_tensors_without_memory():
    layer = inlay.Layer(torch.randn(ROWS, DIM))
    with torch._subclasses.FakeTensorMode():
        fake = torch.zeros(3, dtype=torch.int64)
    for ids in (fake, torch.zeros(3, dtype=torch.int64, device="meta")):
        with pytest.raises((BufferError, RuntimeError, TypeError, ValueError)):
            layer(ids)


class Hollow(torch.Tensor):
    """A tensor with a shape that rejects all operations."""

    @staticmethod
    def __new__(cls):
        return torch.Tensor._make_wrapper_subclass(cls, (3,), requires_grad=True)

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        raise RuntimeError("there is nothing in it")


def test_refused_tensors_keep_their_references():
    layer, weights = inlay.Layer(torch.randn(ROWS, DIM), pooling="sum"), Hollow()
    before = sys.getrefcount(weights)
    for _ in range(3):
        with pytest.raises((RuntimeError, TypeError)):
            layer(torch.tensor([1, 2, 3]), weights=weights)
    assert sys.getrefcount(weights) == before


# ---- Compilers


@pytest.mark.parametrize("backend", BACKENDS)
def test_compiled_in_one_graph(backend):
    module = layer_of(dropout=0.25)
    compiled = torch.compile(module, fullgraph=True, backend=backend)
    for shape in (SHAPE, (2, 9), (5, 4)):
        ids, segment_ids = torch.randint(ROWS, shape), torch.randint(2, shape)
        for train in (True, False):
            module.train(train)
            module.dropout = 0.0
            expected = module(ids, start=shape[0], segment_ids=segment_ids)
            found = compiled(ids, start=shape[0], segment_ids=segment_ids)
            assert torch.equal(found, expected)
        gradients = []
        for out in (expected, found):
            module.zero_grad()
            out.square().sum().backward()
            gradients.append([parameter.grad.clone() for parameter in module.parameters()])
        torch.testing.assert_close(*gradients, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("backend", BACKENDS)
def test_compiled_dropout_trains(backend):
    module = inlay.torch.InputLayer(ROWS, DIM, dropout=0.5)
    compiled = torch.compile(module, fullgraph=True, backend=backend)
    out = compiled(torch.arange(ROWS))
    out.sum().backward()
    assert torch.equal(module.weight.grad, (out != 0).float() * 2)


def test_compiled_bags():
    ids, offsets = torch.randint(ROWS, (30,)), torch.tensor([0, 4, 20])
    module = inlay.torch.EmbeddingBag(ROWS, DIM)
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(ids, offsets), module(ids, offsets))


def test_export():
    module = layer_of().eval()
    ids = torch.randint(ROWS, SHAPE)
    length = torch.export.Dim("length", min=2, max=16)
    program = torch.export.export(module, (ids,), dynamic_shapes=({1: length},))
    assert any("inlay.forward" in str(node.target) for node in program.graph.nodes)
    for shape in (SHAPE, (3, 11)):
        other = torch.randint(ROWS, shape)
        assert torch.equal(program.module()(other), module(other))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("grad", [True, False])
def test_traces_have_an_operator(grad):
    """torch.jit.trace and make_fx record the call, not its output."""
    module = layer_of().eval()
    ids, other = torch.randint(ROWS, SHAPE), torch.randint(ROWS, SHAPE)
    with torch.set_grad_enabled(grad), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", torch.jit.TracerWarning)
        assert torch.equal(torch.jit.trace(module, (ids,))(other), module(other))
    assert not [warning for warning in warned if warning.category is torch.jit.TracerWarning]
    with torch.no_grad():
        graph = torch.fx.experimental.proxy_tensor.make_fx(lambda ids: module(ids))(ids)  # pylint: disable=W0108
        assert torch.equal(graph(other), module(other))


def test_transforms_of_functions():
    """torch.func uses PyTorch's own operators, which have all derivatives."""
    module, ids = layer_of(), torch.randint(ROWS, SHAPE)
    parameters = {name: parameter.detach() for name, parameter in module.named_parameters()}

    def loss(parameters, ids):
        return torch.func.functional_call(module, parameters, (ids,)).square().sum()

    loss(dict(module.named_parameters()), ids).backward()
    found = torch.func.grad(loss)(parameters, ids)
    each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(parameters, ids)
    for name, parameter in module.named_parameters():
        for gradient in (found[name], each[name].sum(0)):
            torch.testing.assert_close(gradient, parameter.grad, rtol=1e-4, atol=1e-3)


def test_gradients_come_from_the_pool(pool):
    own = with_gradients(arguments(table=torch.randn(5000, DIM)))
    eager(own).sum().backward()
    assert pool.stats()["used_bytes"] >= own.table.nbytes
    del own
    assert pool.stats()["idle_bytes"] >= 5000 * DIM * 4
