# SPDX-License-Identifier: MIT
"""inlay.torch.Rotary: eager, differentiated, compiled and exported, compared with rotations in extended precision."""

import copy
import pickle
import shutil
import types

import numpy
import pytest
import reference

torch = pytest.importorskip("torch", reason="there is no PyTorch")

# pylint: disable=wrong-import-position
import inlay
import inlay.torch
from torch.autograd import forward_ad

BACKENDS = ["aot_eager"] + (["inductor"] if shutil.which("g++") else [])
DIM, LENGTH = 8, 5
OWN = {"inv_freq": [1.0, 0.25, 0.0, 0.003], "attention_factor": 1.5}
IDS = torch.tensor([[1, 2, 3, 4, 100], [0, 0, 9, 5, 2]])


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def pair(dtype=torch.float32):
    return torch.randn(2, LENGTH, 3, DIM + 2).to(dtype), torch.randn(2, LENGTH, 1, DIM).to(dtype)


def exact(x, positions, **options):
    """The rotation in float64. x is [..., length, heads, columns]."""
    positions = numpy.broadcast_to(positions, x.shape[:-2])
    options = {"inv_freq": OWN["inv_freq"], "attention": OWN["attention_factor"], **options}
    return torch.from_numpy(reference.rotate(x.detach().double().numpy(), positions, **options).astype("f8"))


TOLERANCES = {torch.float64: 1e-14, torch.float32: 2e-6, torch.float16: 8e-3, torch.bfloat16: 6e-2}
POSITIONS = [({"start": 3}, range(3, 8)), ({"position_ids": IDS}, IDS), ({"position_ids": IDS[:1].int()}, IDS[0])]


def test_outputs_need_gradients_as_their_inputs_do():
    q, k = pair()
    rotated = inlay.torch.Rotary(**OWN)(q.requires_grad_(), k)
    assert [x.requires_grad for x in rotated] == [True, False]
    rotated[0].sum().backward()
    assert q.grad is not None


def test_numbers_of_numpy_and_single_positions():
    module = inlay.torch.Rotary(cached_positions=numpy.int64(16), threads=numpy.int64(1), **OWN)
    for dtype in (torch.float32, torch.float64):
        x = pair(dtype)[1].transpose(1, 2)
        assert torch.equal(
            module(x[:, :, :1], position_ids=torch.tensor(3), heads_first=True),
            module(x[:, :, :1], start=3, heads_first=True),
        )


@pytest.mark.parametrize("layout", ["halves", "interleaved"])
@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("options, positions", POSITIONS)
@pytest.mark.parametrize("inverse", [False, True])
def test_rotations(layout, dtype, options, positions, inverse):
    """inlay rotates three types, and PyTorch float64."""
    module = inlay.torch.Rotary(layout=layout, **OWN)
    given = pair(dtype)
    for y, x in zip(module(*given, inverse=inverse, **options), given):
        assert y.dtype == dtype and y.is_contiguous()
        expected = exact(x, positions, layout=layout, inverse=inverse)
        torch.testing.assert_close(y.double(), expected, rtol=0, atol=TOLERANCES[dtype])
        turned = module(x.transpose(1, 2), inverse=inverse, heads_first=True, **options)
        assert torch.equal(turned.transpose(1, 2), y)


@pytest.mark.parametrize("options", [OWN, {"dim": DIM, "base": 5e5, "float_angles": True}])
@pytest.mark.parametrize("layout", ["halves", "interleaved"])
def test_fallback_has_the_same_bits(options, layout):
    """Cosines that PyTorch computes in float64 and rounds are those of inlay."""
    module = inlay.torch.Rotary(layout=layout, **options)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x = torch.randn(2, 300, 3, DIM + 1).to(dtype)
        assert torch.equal(module._reference(x, 7, None, False, False), module(x, start=7))


def loss_of(function, tensors):
    """A loss with different gradients for all elements."""
    found = function(*tensors)
    return sum((y.double() ** 3 * torch.linspace(-1, 2, y.numel()).reshape(y.shape)).sum() for y in found)


def derivatives(function, dtype, wanted=(True, True), views=lambda x: x):
    """First derivatives, and those of their squares."""
    torch.manual_seed(1)
    leaves = [x.to(dtype).requires_grad_(want) for x, want in zip(pair(), wanted)]
    learned = [x for x in leaves if x.requires_grad]
    first = torch.autograd.grad(loss_of(function, [views(x) for x in leaves]), learned, create_graph=True)
    second = torch.autograd.grad(sum(gradient.double().square().sum() for gradient in first), learned)
    return [gradient.detach().double() for gradient in (*first, *second)]


@pytest.mark.parametrize("wanted", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("inverse", [False, True])
def test_gradients(wanted, inverse):
    """The gradients of float32 are those of PyTorch's rotation in float64."""
    module = inlay.torch.Rotary(**OWN)

    def direct(*tensors):
        return module(*tensors, position_ids=IDS, inverse=inverse)

    def operator(*tensors):
        return torch.ops.inlay.rotate(list(tensors), IDS, 0, module._json, inverse, False)

    expected = derivatives(direct, torch.float64, wanted)
    for function in (direct, operator):
        torch.testing.assert_close(derivatives(function, torch.float32, wanted), expected, rtol=1e-5, atol=2e-4)
    for y, x in zip(direct(*pair()), pair()):
        assert not y.requires_grad and y.shape == x.shape


def test_gradients_by_differences():
    """Those of float64, which the test above takes as exact."""
    module = inlay.torch.Rotary(layout="interleaved", **OWN)
    x = torch.randn(2, 3, 2, DIM + 1, dtype=torch.float64, requires_grad=True)
    for inverse in (False, True):
        assert torch.autograd.gradcheck(lambda x: module(x, start=2, inverse=inverse), (x,))  # pylint: disable=W0640


def test_gradients_of_views():
    """Gradients can be broadcast, and tensors can be views that only PyTorch reads."""
    module = inlay.torch.Rotary(**OWN)
    x = torch.randn(2, LENGTH, 3, DIM, requires_grad=True)
    module(x, start=1).sum().backward()
    ones = torch.ones(2, LENGTH, 3, DIM)
    torch.testing.assert_close(x.grad.double(), exact(ones, range(1, 6), inverse=True), rtol=0, atol=2e-6)
    found = x.grad
    (y,) = torch.ops.inlay.rotate([x], None, 1, module._json, False, False)
    torch.testing.assert_close(torch.autograd.grad(y, x, torch._neg_view(ones)), (-found,))
    for view in (
        x.detach()[:1].expand(4, -1, -1, -1),
        x.detach()[:, :, :1].expand(-1, -1, 4, -1),
        x.detach().transpose(-1, -2).contiguous().transpose(-1, -2),
        torch.randn(2, LENGTH, 3, DIM, dtype=torch.complex64).conj().imag,
        torch.nn.Parameter(x.detach()),
    ):
        with torch.no_grad():
            y = module(view, start=1)
        torch.testing.assert_close(y.double(), exact(view, range(1, 6)), rtol=0, atol=2e-6)


def test_position_ids_may_not_change_before_backward():
    module, ids = inlay.torch.Rotary(**OWN), IDS.clone()
    y = module(pair()[0].requires_grad_(), position_ids=ids)
    ids.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize("backend", BACKENDS)
def test_compiles(backend):
    """In one graph, with gradients, for changing lengths and starts."""
    module = inlay.torch.Rotary(**OWN)
    compiled = torch.compile(module, fullgraph=True, backend=backend)
    for length, start in ((5, 0), (4, 7), (3, 9)):
        found = []
        for function in (module, compiled):
            torch.manual_seed(length)
            tensors = [x[:, :length].requires_grad_() for x in pair()]
            rotated = function(*tensors, start=start)
            loss_of(lambda *y: y, rotated).backward()
            found.append([*rotated, *(x.grad for x in tensors)])
        assert all(torch.equal(a, b) for a, b in zip(*found))
    ids = torch.compile(lambda x: module(x, position_ids=IDS, heads_first=True), fullgraph=True, backend=backend)
    x = torch.randn(2, 3, LENGTH, DIM)
    assert torch.equal(ids(x), module(x, position_ids=IDS, heads_first=True))
    wide = torch.randn(2, LENGTH, 3, DIM, dtype=torch.float64)
    torch.testing.assert_close(compiled(wide), module(wide))


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rotary = inlay.torch.Rotary(**OWN)

    def forward(self, q, k, position_ids):
        return self.rotary(q, k, position_ids=position_ids)


def test_exports():
    module, (q, k), length = Attention(), pair(), torch.export.Dim("length", min=2, max=16)
    program = torch.export.export(module, (q, k, IDS), dynamic_shapes=({1: length}, {1: length}, {1: length}))
    assert any("inlay.rotate" in str(node.target) for node in program.graph.nodes)
    for n in (5, 3):
        given = q[:, :n], k[:, :n], IDS[:, :n]
        assert all(torch.equal(a, b) for a, b in zip(program.module()(*given), module(*given)))


@pytest.mark.filterwarnings("ignore")
def test_traces():
    given = (*pair(), IDS)
    module = Attention()
    traced = torch.jit.trace(module, given, check_trace=False)
    graph = torch.fx.experimental.proxy_tensor.make_fx(lambda *tensors: module(*tensors))(*given)  # pylint: disable=W0108
    other = [x[:, :4] for x in given]
    assert all(torch.equal(a, b) for a, b in zip(traced(*other), module(*other)))
    assert all(torch.equal(a, b) for a, b in zip(graph(*given), module(*given)))


def test_opcheck():
    spec = inlay.torch.Rotary(**OWN)._json
    q, k = pair()
    for tensors in ([q, k], [q.requires_grad_(), k], [k.half()]):
        for positions in ((None, 3), (IDS, 0)):
            torch.library.opcheck(torch.ops.inlay.rotate.default, (tensors, *positions, spec, True, False))
    turned = [q.detach().transpose(1, 2)]
    torch.library.opcheck(torch.ops.inlay.rotate.default, (turned, None, 3, spec, False, True))


def test_transforms_of_functions():
    """PyTorch rotates under torch.func and for forward-mode derivatives. The operator refuses the latter."""
    module, (q, _) = inlay.torch.Rotary(**OWN), pair()
    torch.testing.assert_close(torch.func.vmap(module)(q), module(q))
    torch.testing.assert_close(torch.func.vmap(module, in_dims=2, out_dims=2)(q[..., None, :]), module(q)[..., None, :])
    given = q.clone().requires_grad_()
    module(given).square().sum().backward()
    torch.testing.assert_close(torch.func.grad(lambda x: module(x).square().sum())(q), given.grad)
    with forward_ad.dual_level():
        tangent = torch.randn_like(q)
        dual = forward_ad.make_dual(q, tangent)
        torch.testing.assert_close(forward_ad.unpack_dual(module(dual)).tangent, module(tangent))
        with pytest.raises(NotImplementedError, match="inlay::rotate has no forward-mode derivative"):
            torch.ops.inlay.rotate([dual], None, 0, module._json, False, False)


AXES = {**OWN, "pair_axes": [0, 1, 2, 1]}
ROWS = torch.tensor([[[1, 2, 3, 3, 3], [0, 5, 9, 9, 9]], [[1, 2, 3, 3, 4], [0, 5, 7, 8, 9]], [[1, 2, 3, 4, 4], [0, 5, 0, 1, 2]]])


@pytest.mark.parametrize("layout", ["halves", "interleaved"])
def test_several_axes(layout):
    """Every way computes the same, as do gradients, compiled and exported graphs."""
    module, given = inlay.torch.Rotary(layout=layout, **AXES), pair()
    positions = ROWS.movedim(0, -1)[..., AXES["pair_axes"]]
    rotated = module(*given, position_ids=ROWS)
    for y, x in zip(rotated, given):
        expected = reference.rotate(x.double().numpy(), positions, OWN["inv_freq"], layout=layout, attention=1.5)
        torch.testing.assert_close(y.double(), torch.from_numpy(expected.astype("f8")), rtol=0, atol=2e-6)
        assert torch.equal(module._reference(x, 0, ROWS, False, False), y)
        turned = module(x.transpose(1, 2), position_ids=ROWS, heads_first=True)
        assert torch.equal(turned.transpose(1, 2), y)
        assert torch.equal(module._reference(x.transpose(1, 2), 0, ROWS, False, True), turned)
        for shared in (ROWS[:, :1], ROWS[0], ROWS[0, 0], ROWS[0, 0, 0]):
            assert torch.equal(module._reference(x, 0, shared, True, False), module(x, position_ids=shared, inverse=True))

    def rotate(*tensors):
        return module(*tensors, position_ids=ROWS)

    expected = derivatives(rotate, torch.float64)
    torch.testing.assert_close(derivatives(rotate, torch.float32), expected, rtol=1e-5, atol=2e-4)
    for backend in BACKENDS:
        found = torch.compile(rotate, fullgraph=True, backend=backend)(*given)
        assert all(torch.equal(a, b) for a, b in zip(found, rotated))
    attention, length = Attention(), torch.export.Dim("length", min=2, max=16)
    attention.rotary = module
    program = torch.export.export(attention, (*given, ROWS), dynamic_shapes=({1: length}, {1: length}, {2: length}))
    shorter = (*(x[:, :4] for x in given), ROWS[..., :4])
    assert all(torch.equal(a, b) for a, b in zip(program.module()(*shorter), attention(*shorter)))
    torch.library.opcheck(torch.ops.inlay.rotate.default, (list(given), ROWS, 0, module._json, False, False))


SECTIONS = [
    ("qwen2_vl", [16, 24, 24], False, 128, "halves"),
    ("qwen2_5_vl", [16, 24, 24], False, 128, "halves"),
    ("qwen3_vl", [24, 20, 20], True, 128, "halves"),
    ("qwen3_5", [11, 11, 10], True, 64, "halves"),
    ("glm4v", [8, 12, 12], False, 64, "interleaved"),
]


@pytest.mark.parametrize("folder, section, interleaved, dim, layout", SECTIONS)
def test_sections_of_transformers(folder, section, interleaved, dim, layout):
    """Their functions choose the angles of each pair and rotate, in float64."""
    name = f"transformers.models.{folder}.modeling_{folder}"
    theirs = pytest.importorskip(name, reason=f"there is no {name}")
    positions = torch.randint(5000, (3, 2, 40))
    positions[:, :, :9] = torch.arange(9)
    q, k = torch.randn(2, 4, 40, 128, dtype=torch.float64), torch.randn(2, 2, 40, 128, dtype=torch.float64)
    q, k = (q, k) if dim < 128 else (q[..., :dim], k[..., :dim])
    angles = positions[..., None] * 1e6 ** (torch.arange(0, -dim, -2, dtype=torch.float64) / dim)
    tables = [angles.cos(), angles.sin()]
    own = [c for n, c in vars(theirs).items() if n.endswith("RotaryEmbedding") and "Vision" not in n]
    if hasattr(own[0], "recomposition_frequencies"):  # transformers 5
        config = types.SimpleNamespace(mrope_section=section)
        tables = [own[0].recomposition_frequencies(config, table) for table in tables]
        expected = theirs.apply_rotary_pos_emb(q, k, *tables)
    elif interleaved:
        tables = [own[0].apply_interleaved_mrope(None, table, section).repeat(1, 1, 2) for table in tables]
        expected = theirs.apply_rotary_pos_emb(q, k, *tables)
    else:
        tables = [table.repeat(1, 1, 1, 2) for table in tables]
        expected = theirs.apply_multimodal_rotary_pos_emb(q, k, *tables, section)
    scaling = {"mrope_section": section, "mrope_interleaved": interleaved}
    module = inlay.torch.Rotary(dim, 1e6, scaling, layout)
    for dtype, tolerance in ((torch.float64, 1e-11), (torch.float32, 2e-6)):
        found = module(q.to(dtype), k.to(dtype), position_ids=positions, heads_first=True)
        for y, wanted in zip(found, expected):
            torch.testing.assert_close(y.double(), wanted, rtol=0, atol=tolerance)


def test_sections_of_ernie():
    """Height and width alternate. Their angles are computed in float32."""
    name = "transformers.models.ernie4_5_vl_moe.modeling_ernie4_5_vl_moe"
    theirs = pytest.importorskip(name, reason=f"there is no {name}")
    parameters = {"rope_theta": 5e5, "rope_type": "default", "mrope_section": [22, 22, 20]}
    config = types.SimpleNamespace(rope_parameters=parameters, head_dim=128, max_position_embeddings=1000)
    positions, q = torch.randint(900, (3, 2, 40)), torch.randn(2, 4, 40, 128)
    cos, sin = theirs.Ernie4_5_VLMoeTextRotaryEmbedding(config)(q, positions)
    module = inlay.torch.Rotary(128, 5e5, layout="interleaved", pair_axes=[1, 2] * 22 + [0] * 20)
    found = module(q, position_ids=positions, heads_first=True)
    torch.testing.assert_close(found, theirs.apply_rotary_pos_emb(q, q, cos, sin)[0], rtol=0, atol=1e-3)


def test_wrong_positions_without_the_operator():
    """PyTorch rotates float64. It accepts the same positions as the operator."""
    module, rows, x = inlay.torch.Rotary(**OWN), inlay.torch.Rotary(**AXES), pair(torch.float64)[0]
    for start in (-1, 2**31 - 4):
        with pytest.raises(IndexError, match=r"positions -?\d+ to \d+ are not in \[0, 2147483648\)"):
            module(x, start=start)
        empty = x[:, :0]
        assert module(empty, start=start).shape == module(empty.float(), start=start).shape == empty.shape
    for dtype in (torch.uint8, torch.int16, torch.uint16, torch.uint32, torch.uint64):
        for ids, rotary in ((IDS, module), (torch.stack([IDS, IDS, IDS]), rows)):
            wanted = rotary(x, position_ids=ids)
            assert torch.equal(rotary(x, position_ids=ids.to(dtype)), wanted), dtype
            assert torch.equal(rotary(x.float(), position_ids=ids.to(dtype)), rotary(x.float(), position_ids=ids))
    for value in (-1, 2**31):
        bad = IDS.clone()
        bad[1, 2] = value
        three = torch.stack([IDS, IDS, bad])
        with pytest.raises(IndexError, match=rf"position {value} is not in \[0, 2147483648\)"):
            module(x, position_ids=bad)
        with pytest.raises(IndexError, match=f"position {value} is not in"):
            rows(x, position_ids=three)
        with pytest.raises(IndexError, match=f"position {value} is not in"):
            torch.func.vmap(lambda x, ids: module(x, position_ids=ids))(x, bad)
        with pytest.raises(IndexError, match=f"position {value} is not in"):
            torch.func.grad(lambda x: module(x, position_ids=bad).sum())(x)  # pylint: disable=W0640
        compiled = torch.compile(lambda x, ids: module(x, position_ids=ids), fullgraph=True, backend="aot_eager")
        torch.testing.assert_close(compiled(x, IDS), module(x, position_ids=IDS))
        with pytest.raises(RuntimeError, match=r"a position is not in \[0, 2147483648\)"):
            compiled(x, bad)
    with pytest.raises(TypeError, match="position_ids has elements of torch.float32, expected integers"):
        module(x, position_ids=IDS.float())
    torch.testing.assert_close(
        torch.func.vmap(lambda x, ids: module(x, position_ids=ids))(x, IDS), module(x, position_ids=IDS)
    )
    on_meta = module(x.to("meta"), position_ids=IDS.to("meta"))
    assert on_meta.is_meta and on_meta.shape == x.shape


def test_copies_share_no_state():
    module = inlay.torch.Rotary(DIM, 5e5)
    assert not module.state_dict() and not list(module.parameters())
    x = pair()[0]
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert torch.equal(other(x, start=4), module(x, start=4))
    assert repr(module) == "Rotary(dim 8, halves)"


@pytest.mark.parametrize(
    "tensors, options, error, text",
    [
        ([], {}, TypeError, "a Rotary takes 1 to 8 arrays by position, but 0 were given"),
        ([torch.ones(2, LENGTH, 3, 6)], {}, ValueError, r"arrays\[0\] has 6 columns, and 8 of them rotate"),
        ([torch.ones(2, LENGTH, 3, 6).double()], {}, ValueError, "a tensor has 6 columns, and 8 of them rotate"),
        ([torch.ones(())], {}, ValueError, r"arrays\[0\] has 0 dimensions"),
        ([*pair(), torch.ones(1, 4, 1, DIM)], {}, ValueError, r"arrays\[2\] has 1 sequences of 4 tokens"),
        (pair(), {"start": 1, "position_ids": IDS}, ValueError, "give start or position_ids"),
        ((torch.ones(2, 5, 1, DIM, dtype=torch.long),), {}, TypeError, "a tensor has elements of torch.int64"),
        (pair(), {"start": -1}, IndexError, r"position -1 at \[0, 0\] is not in"),
        (pair(), {"position_ids": IDS[:, :3]}, ValueError, r"position_ids has shape \[2, 3\], expected \[2, 5\]"),
        (pair(), {"position_ids": IDS.float()}, TypeError, "position_ids has elements of type float32, expected integers"),
    ],
)
def test_errors(tensors, options, error, text):
    with pytest.raises(error, match="^" + text):
        inlay.torch.Rotary(**OWN)(*tensors, **options)


def test_arrays_of_torch():
    """inlay.Rotary reads tensors in place, counts changes, and rejects those that need a gradient."""
    rotary, (q, k) = inlay.Rotary(**OWN), pair()
    expected = inlay.torch.Rotary(**OWN)(q, k, start=2)
    found = rotary(q, k, start=2)
    assert all(type(y) is torch.Tensor and torch.equal(y, wanted) for y, wanted in zip(found, expected))
    cache = torch.zeros(2, 1, 32, DIM)
    room = cache[:, :, 2 : 2 + LENGTH].transpose(1, 2)
    assert rotary(q, k, out=(q, room), start=2)[0] is q
    assert torch.equal(q, expected[0]) and torch.equal(room, expected[1]) and not cache[:, :, 7:].any()
    assert q._version == 1 and cache._version == 1
    with pytest.raises(RuntimeError, match=r"^arrays\[1\] requires a gradient, which calls don't compute: call it under"):
        rotary(q, k.requires_grad_())
    with pytest.raises(RuntimeError, match="^out requires a gradient"):
        rotary(q, out=q.clone().requires_grad_())
    with torch.no_grad():
        assert torch.equal(rotary(k, start=2), expected[1])
    with torch.inference_mode():
        plain = torch.empty_like(k)  # without a version
        assert rotary(k, start=2, out=plain) is plain and torch.equal(plain, expected[1])
    with pytest.raises(ValueError, match="^arrays.0. must have contiguous columns and other strides above 0"):
        rotary(q[:, :, :1].expand(-1, -1, 4, -1))
