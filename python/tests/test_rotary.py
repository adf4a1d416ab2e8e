# SPDX-License-Identifier: MIT
"""inlay.Rotary compared with rotations in extended precision: layouts, types, strides, positions, outputs, errors."""

import re

import numpy
import pytest
import reference
from measure import leaks, resident_bytes, run_together

import inlay

TYPES = ["float32", "float16", "bfloat16"]
TOLERANCE = {"float32": 3e-7, "float16": 2e-3, "bfloat16": 2e-2}
BASE, DIM, BATCH, LENGTH = 500000.0, 8, 2, 5
INV_FREQ = numpy.longdouble(BASE) ** -(numpy.arange(DIM // 2, dtype=numpy.longdouble) / (DIM // 2))


def typed(name):
    return numpy.dtype(getattr(pytest.importorskip("ml_dtypes"), name) if name == "bfloat16" else name)


def normal(rng, *shape, dtype="float32"):
    return numpy.clip(rng.standard_normal(shape), -2, 2).astype(typed(dtype))


def check(y, x, positions, inv_freq=INV_FREQ, **options):
    """Compares with extended precision. x is [..., length, heads, columns]."""
    assert y.shape == x.shape and y.dtype == x.dtype
    if numpy.ndim(positions) < x.ndim - 1:  # one for all pairs
        positions = numpy.broadcast_to(positions, x.shape[:-2])
    expected = reference.rotate(x.astype("f8"), positions, inv_freq, **options)
    assert numpy.abs(y.astype("f8") - expected).max(initial=0) <= TOLERANCE[x.dtype.name] * options.get("attention", 1)
    columns = 2 * len(inv_freq)
    numpy.testing.assert_array_equal(y[..., columns:], x[..., columns:])


@pytest.mark.parametrize("layout", ["halves", "interleaved"])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("columns", [DIM, DIM + 3])
@pytest.mark.parametrize("inverse", [False, True])
def test_rotations(rng, way, layout, dtype, columns, inverse):
    """Queries and keys with different heads and columns, in both orders, with and without a batch."""
    rotary = inlay.Rotary(DIM, BASE, layout=layout, cached_positions=9)
    q, k = normal(rng, BATCH, LENGTH, 3, columns, dtype=dtype), normal(rng, BATCH, LENGTH, 1, DIM, dtype=dtype)
    options = {"start": 7, "inverse": inverse}
    rotated = rotary(q, k, **options)
    assert isinstance(rotated, tuple)
    for y, x in zip(rotated, (q, k)):
        check(y, x, range(7, 7 + LENGTH), layout=layout, inverse=inverse)
        assert y.tobytes() == rotary(x, **options).tobytes()
        assert y[1].tobytes() == rotary(x[1], **options).tobytes()
        for view in (x.transpose(0, 2, 1, 3), numpy.ascontiguousarray(x.transpose(0, 2, 1, 3))):
            turned = rotary(view, heads_first=True, **options)
            assert turned.shape == view.shape and turned.transpose(0, 2, 1, 3).tobytes() == y.tobytes()
            assert rotary(view[1], heads_first=True, **options).tobytes() == turned[1].tobytes()


def test_positions(rng):
    rotary = inlay.Rotary(DIM, BASE, cached_positions=64)
    x = normal(rng, BATCH, LENGTH, 3, DIM)
    count = numpy.arange(LENGTH)
    starts = numpy.array([3, 60])
    check(rotary(x), x, count)
    for numbers in (starts, [3, 60], starts.astype("u2")):
        check(rotary(x, starts=numbers), x, starts[:, None] + count)
    check(rotary(x[0], starts=[61]), x[0], 61 + count)
    ids = rng.integers(0, 2**20, (BATCH, LENGTH))
    for dtype in ("i8", "i4", "u4", "u8"):
        check(rotary(x, position_ids=ids.astype(dtype)), x, ids)
    check(rotary(x, position_ids=ids[:, ::-1]), x, ids[:, ::-1])
    for shared in (ids[0], ids[:1]):
        check(rotary(x, position_ids=shared), x, ids[0])
    check(rotary(x[0], position_ids=ids[0]), x[0], ids[0])
    far = numpy.array([2**31 - 1] * LENGTH)
    check(rotary(x, position_ids=far), x, far)
    flat = x.reshape(-1, 3, DIM)
    offsets = numpy.array([0, 4, 4, 10])
    packed = numpy.concatenate([numpy.arange(4), numpy.arange(6)])
    check(rotary(flat, offsets=offsets), flat, packed)
    check(rotary(flat, offsets=offsets, start=2), flat, packed + 2)
    check(rotary(flat, offsets=offsets, starts=[9, 0, 100]), flat, packed + numpy.repeat([9, 100], [4, 6]))
    check(rotary(flat, offsets=offsets, position_ids=ids.reshape(-1)), flat, ids.reshape(-1))
    turned = rotary(flat.transpose(1, 0, 2), offsets=offsets, heads_first=True)
    numpy.testing.assert_array_equal(turned.transpose(1, 0, 2), rotary(flat, offsets=offsets))


AXES = [
    ({"scaling": {"mrope_section": [1, 1, 2]}}, [0, 1, 2, 2]),
    ({"scaling": {"mrope_section": [2, 1, 1], "mrope_interleaved": True}}, [0, 1, 2, 0]),
    ({"scaling": {"mrope_section": [4, 0, 0]}, "axes": 3}, [0, 0, 0, 0]),
    ({"pair_axes": [1, 0, 1, 0]}, [1, 0, 1, 0]),
    ({"pair_axes": numpy.array([0, 2, 0, 2]), "axes": 4}, [0, 2, 0, 2]),
    ({"pair_axes": [0, 3, 2, 1], "inv_freq": INV_FREQ, "base": None}, [0, 3, 2, 1]),
]


@pytest.mark.parametrize("key", [{}, {"mrope_interleaved": False}, {"mrope_interleaved": True}, {"interleaved": True}])
@pytest.mark.parametrize(
    "model_type, pair_axes",
    [
        ("qwen2_vl", [0, 1, 2, 2]),
        ("qwen2_5_omni_talker", [0, 1, 2, 2]),
        ("Glm4vMoe_text", [0, 1, 2, 2]),
        ("paddleocr_vl", [0, 1, 2, 2]),
        ("qwen3_vl_text", [0, 1, 2, 0]),
        ("qwen3_omni_moe_talker_text", [0, 1, 2, 0]),
        ("qwen4_exp_text", [0, 1, 2, 0]),
        ("cosmos3_edge_text", [0, 1, 2, 0]),
        ("hy_v4_vl_text", [0, 1, 2, 0]),
        ("cohere_compass_text", [0, 1, 2, 0]),
    ],
)
def test_model_type_decides_the_order_of_sections(key, model_type, pair_axes):
    """Classes of transformers don't read the keys. An entry without its model follows them."""
    entry = {"rope_type": "default", "rope_theta": BASE, "mrope_section": [1, 1, 2], **key}
    positions = numpy.arange(12).reshape(3, 4) ** 2
    order = {"mrope_interleaved": pair_axes[3] == 0, "interleaved": False}
    wanted = inlay.rotary(positions, DIM, BASE, {**entry, **order})
    for name in ("rope_parameters", "rope_scaling"):
        config = {"model_type": model_type, name: entry}
        assert list(inlay.Rotary(DIM, scaling=config).spec["pair_axes"]) == pair_axes
        numpy.testing.assert_array_equal(inlay.rotary(positions, DIM, scaling=config), wanted)


@pytest.mark.parametrize(
    "model_type, text",
    [
        ("qwen2_vl_next", "unknown for model_type 'qwen2_vl_next': drop mrope_section, and give inlay.Rotary pair_axes"),
        ("qwen3_vl_vision", "model_type 'qwen3_vl_vision'"),
        ("", "model_type ''"),
        ("hunyuan_vl_text", "mrope_section of 'hunyuan_vl_text' isn't supported"),
        ("ernie4_5_vl_moe_text", "its own formulas for patches"),
    ],
)
def test_sections_of_unknown_models(model_type, text):
    entry = {"rope_type": "default", "rope_theta": BASE, "mrope_section": [1, 1, 2]}
    for make in (inlay.Rotary, lambda **given: inlay.rotary([[1], [2], [3]], **given)):
        with pytest.raises(ValueError, match=re.escape(text)):
            make(dim=DIM, scaling={"model_type": model_type, "rope_parameters": entry})


@pytest.mark.parametrize("options, pair_axes", AXES)
@pytest.mark.parametrize("layout", ["halves", "interleaved"])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("inverse", [False, True])
def test_several_axes(rng, way, options, pair_axes, layout, dtype, inverse):
    """Rows of positions that are equal, repeat, or differ; cached and computed."""
    rotary = inlay.Rotary(**{"base": BASE, "dim": DIM, "layout": layout, "cached_positions": 9, **options})
    axes = rotary.spec["axes"]
    assert axes == max(len(set(pair_axes)), options.get("axes", 0), 3 if "scaling" in options else 0)
    assert list(rotary.spec["pair_axes"]) == pair_axes and inlay.Rotary(**rotary.spec).spec == rotary.spec
    q, k = normal(rng, BATCH, LENGTH, 3, DIM + 1, dtype=dtype), normal(rng, BATCH, LENGTH, 1, DIM, dtype=dtype)
    ids = rng.integers(0, 12, (axes, BATCH, LENGTH))
    ids[:, 0, 1:3], ids[0, 1], ids[-1, 1, 2:] = 4, 2**31 - 1, 7
    given = {"layout": layout, "inverse": inverse}

    def compare(y, x, positions):
        positions = numpy.broadcast_to(positions, (axes, *x.shape[:-2]))
        check(y, x, numpy.moveaxis(positions, 0, -1)[..., pair_axes], **given)

    for dtype_of_ids in ("i8", "i4", "u8"):
        for y, x in zip(rotary(q, k, position_ids=ids.astype(dtype_of_ids), inverse=inverse), (q, k)):
            compare(y, x, ids)
    turned = rotary(numpy.swapaxes(q, 1, 2), position_ids=ids, inverse=inverse, heads_first=True)
    compare(numpy.swapaxes(turned, 1, 2), q, ids)
    for shared in (ids[:, :1], ids[:1], ids[0], ids[0, 0], ids[..., ::-1]):
        compare(rotary(q, position_ids=shared, inverse=inverse), q, shared)
    compare(rotary(q[0], position_ids=ids[:, 0], inverse=inverse), q[0], ids[:, 0])
    flat, offsets = q.reshape(-1, 3, DIM + 1), numpy.array([0, 4, 4, 10])
    compare(rotary(flat, offsets=offsets, position_ids=ids.reshape(axes, -1), inverse=inverse), flat, ids.reshape(axes, -1))
    plain = inlay.Rotary(**{**rotary.spec, "axes": 1, "pair_axes": None})
    for text in ({}, {"start": 7}, {"starts": [3, 2**31 - 5]}):
        assert rotary(q, inverse=inverse, **text).tobytes() == plain(q, inverse=inverse, **text).tobytes()


def test_errors_of_axes(rng):
    """Errors name the place in position_ids."""
    rotary, ids = inlay.Rotary(DIM, pair_axes=[0, 1, 2, 2]), numpy.zeros((3, BATCH, LENGTH), "i8")
    out = numpy.zeros_like(X)
    for place in ((0, 0, 0), (1, 1, 3), (2, 0, 4)):
        for value in (-7, 2**31):
            bad = ids.copy()
            bad[place] = value
            text = f"position {value} at {list(place)} is not in [0, 2147483648)"
            with pytest.raises(IndexError, match=re.escape(text)):
                rotary(X, out=out, position_ids=bad)
            flat = X.reshape(-1, 3, DIM)
            text = f"position {value} at [{place[0]}, {place[1] * LENGTH + place[2]}] is not in"
            for offsets in (None, [0, 4, 4, 10]):
                with pytest.raises(IndexError, match=re.escape(text)):
                    rotary(flat, out=out.reshape(flat.shape), position_ids=bad.reshape(3, -1), offsets=offsets)
    with pytest.raises(IndexError, match=re.escape("position 2147483648 at [1, 1] is not in")):
        rotary(X, out=out, starts=[0, 2**31 - 1])
    for shape in ((2, BATCH, LENGTH), (3, 3, LENGTH), (3, LENGTH)):
        with pytest.raises(ValueError, match=r"position_ids has shape .*, expected \[3, 2, 5\]"):
            rotary(X, out=out, position_ids=numpy.zeros(shape, "i8"))
    with pytest.raises(ValueError, match=r"position_ids has shape .*, expected \[2, 5\]"):
        inlay.Rotary(DIM)(X, out=out, position_ids=ids)
    assert not out.any()


def test_frequencies(rng):
    """Scalings, configurations, own frequencies, and angles in float32."""
    x = normal(rng, 1, LENGTH, 2, DIM)
    own = rng.random(DIM // 2)
    check(inlay.Rotary(inv_freq=own)(x, start=5), x, range(5, 5 + LENGTH), own)
    check(inlay.Rotary(inv_freq=list(own), attention_factor=1.5)(x), x, range(LENGTH), own, attention=1.5)
    entry = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64, "rope_theta": 1e4}
    scaled = inlay.Rotary(DIM, scaling=entry)
    cos, sin = inlay.rotary(list(range(LENGTH)), DIM, scaling=entry, layout="pairs")
    first, second = x[..., : DIM // 2], x[..., DIM // 2 :]
    cos, sin = cos[:, None], sin[:, None]
    expected = numpy.concatenate([first * cos - second * sin, second * cos + first * sin], -1)
    numpy.testing.assert_array_equal(scaled(x), expected)
    config = {"model_type": "llama", "rope_parameters": entry, "max_position_embeddings": 256}
    assert inlay.Rotary(DIM, scaling=config).spec == scaled.spec
    longrope = {"rope_type": "longrope", "short_factor": [1.0] * 4, "long_factor": [2.0] * 4, "attention_factor": 1.25}
    longrope |= {"original_max_position_embeddings": 64, "rope_theta": BASE}
    check(inlay.Rotary(DIM, scaling=longrope, length=65)(x), x, range(LENGTH), INV_FREQ / 2, attention=1.25)
    layers = {"full": {"rope_theta": BASE}, "local": {"rope_theta": 1e4}}
    check(inlay.Rotary(DIM, scaling=layers, layer_type="full")(x), x, range(LENGTH))
    part = {"rope_type": "proportional", "partial_rotary_factor": 0.5, "rope_theta": BASE}
    check(inlay.Rotary(DIM, scaling=part)(x), x, range(LENGTH), [*INV_FREQ[:2], 0, 0])
    far, narrow = 10**6 + numpy.arange(LENGTH), own.astype("f4")
    rounded = inlay.Rotary(inv_freq=narrow, float_angles=True)(x, position_ids=far)
    angles = (far.astype("f4")[:, None] * narrow).astype("f8")[:, None]
    turned = first * numpy.cos(angles) - second * numpy.sin(angles)
    assert numpy.abs(rounded[..., : DIM // 2] - turned).max() < 1e-6
    assert numpy.abs(inlay.Rotary(inv_freq=narrow)(x, position_ids=far) - rounded).max() > 1e-3


def test_strides(rng, way):
    """Packed projections, sliced columns and skipped tokens are read in place; unaligned memory too."""
    rotary = inlay.Rotary(DIM, BASE)
    packed = normal(rng, BATCH, 2 * LENGTH, 7, DIM + 4)
    for view in (packed[:, ::2, 1:4, 2:], packed[::2, LENGTH:, ::3], packed[:1, :LENGTH], packed[:, :1], packed[:, :, :1]):
        check(rotary(view, start=3), view, range(3, 3 + view.shape[1]))
    # Strides of single elements don't matter.
    for view in (packed[:1][::-1], packed[:, :1][:, ::-1], packed[:, :, :1][:, :, ::-1], packed[0, :LENGTH][None]):
        assert view.flags.c_contiguous or min(view.strides) < 0
        check(rotary(view), view, range(view.shape[1]))
    raw = numpy.zeros(4 * LENGTH * DIM + 1, "u1")
    odd = raw[1:].view("f4").reshape(LENGTH, 1, DIM)
    odd[:] = packed[0, :LENGTH, :1, :DIM]
    assert not odd.flags.aligned
    check(rotary(odd), odd, range(LENGTH))


def test_in_place_and_into_outputs(rng, way):
    rotary = inlay.Rotary(DIM, BASE)
    packed = normal(rng, BATCH, LENGTH, 7, DIM + 2)
    expected, before = rotary(packed[:, :, :4], packed[:, :, 4:6]), packed.copy()
    q, k = packed[:, :, :4], packed[:, :, 4:6]
    rotated = rotary(q, k, out=(q, k))
    assert rotated[0] is q and rotated[1] is k
    for found, one in zip((q, k), expected):
        numpy.testing.assert_array_equal(found, one)
    numpy.testing.assert_array_equal(packed[:, :, 6], before[:, :, 6])
    cache = numpy.zeros((BATCH, 2, 32, DIM + 4), "f4")
    room = cache[:, :, 9 : 9 + LENGTH, 2:]
    keys = before[:, :, 4:6]
    new, same = rotary(before[:, :, :4], keys, start=9, out=[None, room.transpose(0, 2, 1, 3)])
    check(new, before[:, :, :4], range(9, 9 + LENGTH))
    check(room.transpose(0, 2, 1, 3), keys, range(9, 9 + LENGTH))
    assert same.base is not None and numpy.count_nonzero(cache) == numpy.count_nonzero(room)
    single = before[:1, :, :4].copy()
    assert rotary(single, out=single) is single and rotary(single, out=(single,), inverse=True) is single
    assert numpy.abs(single - before[:1, :, :4]).max() < 1e-6


def test_empty_arrays():
    rotary = inlay.Rotary(DIM)
    for shape in ((0, LENGTH, 3, DIM), (BATCH, 0, 3, DIM), (BATCH, LENGTH, 0, DIM), (0, 3, DIM)):
        x = numpy.zeros(shape, "f4")
        assert rotary(x).shape == shape and rotary(x[::-1], out=x) is x
        assert rotary(x.swapaxes(-3, -2), heads_first=True).shape == x.swapaxes(-3, -2).shape
    assert rotary(numpy.zeros((0, 3, DIM), "f4"), offsets=[0]).shape == (0, 3, DIM)
    q, k = rotary(numpy.ones((LENGTH, 0, DIM), "f4"), numpy.ones((LENGTH, 2, DIM), "f4"))
    assert q.size == 0 and k.all()
    assert rotary(numpy.zeros((0, LENGTH, 3, DIM), "f4"), position_ids=numpy.zeros((0, LENGTH), "i8")).size == 0


def test_frameworks(rng):
    rotary, x = inlay.Rotary(DIM, BASE), normal(rng, LENGTH, 2, DIM)
    expected = rotary(x)
    assert type(rotary(x.tolist())) is numpy.ndarray
    numpy.testing.assert_array_equal(rotary(x.tolist()), expected)
    numpy.testing.assert_array_equal(rotary(memoryview(x)), expected)
    mixed = []
    try:
        import torch  # pylint: disable=import-outside-toplevel

        mixed.append((torch.from_numpy(x), torch.Tensor))
    except ImportError:
        pass
    try:
        import jax  # pylint: disable=import-outside-toplevel

        mixed.append((jax.numpy.asarray(x), jax.Array))
        with pytest.raises(TypeError, match="^out is a JAX array, which is immutable$"):
            rotary(x, out=mixed[-1][0])
    except ImportError:
        pass
    rotated = rotary(x, *(array for array, _ in mixed), out=None)
    for y, kind in zip(rotated if mixed else [rotated], [numpy.ndarray, *(kind for _, kind in mixed)]):
        assert isinstance(y, kind)
        numpy.testing.assert_array_equal(numpy.asarray(y), expected)


X = numpy.ones((BATCH, LENGTH, 3, DIM), "f4")
LOCKED = X.copy()
LOCKED.flags.writeable = False
WIDE = numpy.ones(64, "f4")
WINDOWS = numpy.lib.stride_tricks.as_strided(WIDE, (LENGTH, 2, DIM), (16, 4, 4))
COPY = " must have contiguous columns and other strides above 0: make a copy with numpy.ascontiguousarray(), or .conti"
CALLS = [
    ((), {}, TypeError, "a Rotary takes 1 to 8 arrays by position, but 0 were given"),
    ((X,) * 9, {}, TypeError, "a Rotary takes 1 to 8 arrays by position, but 9 were given"),
    ((X, None), {}, TypeError, "arrays is missing"),
    ((None, X), {}, TypeError, "arrays[0] has type NoneType, which is not an array"),
    ((X,), {"arrays": X}, TypeError, "'arrays' was given twice"),
    ((X,), {"positions": 1}, TypeError, "a Rotary has no argument 'positions'; nearest: position_ids; all others: "),
    ((X, X.astype("f8")), {}, TypeError, "arrays[1] has elements of type float64, expected float32, float16 or bfloat16: con"),
    ((X.astype("i4"),), {}, TypeError, "arrays[0] has elements of type int32, expected float32, float16 or bfloat16"),
    ((X[0, 0],), {}, ValueError, "arrays[0] has 2 dimensions, expected 3 or 4: [length, heads, columns], with a batch"),
    ((X[None],), {}, ValueError, "arrays[0] has 5 dimensions, expected 3 or 4"),
    ((X, X[..., :6]), {}, ValueError, "arrays[1] has 6 columns, and 8 of them rotate: make the Rotary with that dim"),
    ((X, X[:, :4]), {}, ValueError, "arrays[1] has 2 sequences of 4 tokens, and arrays[0] has 2 of 5"),
    ((X, X[0]), {}, ValueError, "arrays[1] has 1 sequences of 5 tokens, and arrays[0] has 2 of 5"),
    ((X[..., ::-1],), {}, ValueError, "arrays[0]" + COPY),
    ((numpy.ones((LENGTH, 3, 2 * DIM), "f4")[..., ::2],), {}, ValueError, "arrays[0]" + COPY),
    ((X, X[:, ::-1]), {}, ValueError, "arrays[1]" + COPY),
    ((numpy.broadcast_to(X[:1], X.shape),), {}, ValueError, "arrays[0]" + COPY),
    ((WINDOWS,), {}, ValueError, "an array has heads that overlap each other: make a copy with numpy.ascontiguousarray()"),
    ((X,), {"out": X[::-1]}, ValueError, "out" + COPY),
    ((X,), {"out": numpy.broadcast_to(X[:1].copy(), X.shape)}, ValueError, "out is read-only: give an array that can be"),
    ((X,), {"out": LOCKED}, ValueError, "out is read-only: give an array that can be written"),
    ((X,), {"out": X[:1]}, ValueError, "out has shape [1, 5, 3, 8], expected [2, 5, 3, 8]"),
    ((X,), {"out": X.astype("f2")}, TypeError, "out has elements of type float16, expected float32"),
    ((X,), {"out": "here"}, TypeError, "out has type str, which is not an array"),
    ((X, X), {"out": X}, TypeError, "out must be a tuple with an array, or None for a new one, for each of 2 arrays"),
    ((X, X), {"out": (X,)}, ValueError, "out has 1 items, and there are 2 arrays: give one for each"),
    ((X,), {"out": [X, X]}, ValueError, "out has 2 items, and there are 1 arrays: give one for each"),
    ((X, X), {"out": (X, X)}, ValueError, "out overlaps an array: give the array itself to rotate it in place, or memory"),
    ((X[:, 1:],), {"out": X[:, :-1]}, ValueError, "out overlaps an array: give the array itself"),
    ((X,), {"start": -1}, IndexError, "position -1 at [0, 0] is not in [0, 2147483648)"),
    ((X,), {"start": 2**31 - 2}, IndexError, "position 2147483648 at [0, 2] is not in [0, 2147483648)"),
    ((X,), {"start": 2**63}, ValueError, "start is 9223372036854775808, which is out of range"),
    ((X,), {"start": 0.5}, TypeError, ""),
    ((X,), {"starts": [0, 2**31 - 1]}, IndexError, "position 2147483648 at [1, 1] is not in [0, 2147483648)"),
    ((X,), {"starts": [0]}, ValueError, "starts has shape [1], expected [2]"),
    ((X,), {"starts": [0, 1], "start": 1}, ValueError, "starts was given, but start was given too"),
    ((X,), {"starts": [0.5, 1]}, TypeError, "starts has elements of type float64, expected integers"),
    ((X,), {"position_ids": [0] * LENGTH, "start": 1}, ValueError, "position_ids was given, but start or starts was given"),
    ((X,), {"position_ids": [[0] * LENGTH] * 3}, ValueError, "position_ids has shape [3, 5], expected [2, 5]"),
    ((X,), {"position_ids": [[0] * LENGTH, [0, 1, -7, 2**31, 3]]}, IndexError, "position -7 at [1, 2] is not in"),
    ((X,), {"offsets": [0, 5]}, ValueError, "arrays[0] has 4 dimensions, expected 3 with offsets: [tokens, heads, col"),
    ((X[0],), {"offsets": [0, 4]}, ValueError, "offsets[1] is 4: offsets begin at 0, never decrease and end at the numb"),
    ((X[0],), {"offsets": [0, 3, 2, 5]}, ValueError, "offsets[2] is 2: offsets begin at 0, never decrease"),
    ((X[0],), {"offsets": []}, ValueError, "offsets must have one dimension, and one more number than there are sequences"),
    ((X[0],), {"offsets": [0, 2, 5], "starts": [0, 2**31 - 2]}, IndexError, "position 2147483648 at [4] is not in"),
    ((X[0],), {"heads_first": True, "offsets": [0, 5]}, ValueError, "offsets[1] is 5: offsets begin at 0, never decrease"),
    ((X,), {"inverse": numpy.ones(2)}, ValueError, ""),
]


@pytest.mark.parametrize("arrays, named, error, text", CALLS)
def test_errors(way, arrays, named, error, text):
    """Errors say what to do, and nothing is written."""
    before = X.copy()
    out = numpy.zeros_like(X) if "out" not in named and len(arrays) == 1 and arrays[0] is X else named.get("out")
    rotary = inlay.Rotary(DIM, BASE)
    with pytest.raises(error, match="^" + re.escape(text)):
        rotary(*arrays, **{**named, "out": out})
    numpy.testing.assert_array_equal(X, before)
    assert out is None or named.get("out") is out or not out.any()
    check(rotary(X), X, range(LENGTH))


@pytest.mark.parametrize(
    "arguments, options, error, text",
    [
        ((), {}, ValueError, "dim is missing: the rotary columns of a head"),
        ((7,), {}, ValueError, "dim is 7, not an even number in [2, 1024]"),
        ((0,), {}, ValueError, "dim is 0, not an even number in [2, 1024]"),
        ((2**30,), {"scaling": {"rope_type": "linear", "factor": 2.0}, "base": 1e4}, ValueError, "dim is 1073741824, not"),
        ((8.0,), {}, TypeError, ""),
        ((8, 0.5), {}, ValueError, "base is 0.5, not a number from 1 to 1e+30"),
        ((8,), {"layout": "pairs"}, ValueError, "layout is 'pairs', not one of halves, interleaved"),
        ((8,), {"inv_freq": [1.0]}, ValueError, "inv_freq has 1 numbers, expected dim / 2 = 4"),
        ((), {"inv_freq": []}, ValueError, "dim is 0, not an even number"),
        ((), {"inv_freq": [1.0, -1.0]}, ValueError, "inv_freq[1] is -1.0, not a number from 0 to 2147483648"),
        ((), {"inv_freq": [float("nan")]}, ValueError, "inv_freq[0] is nan, not a number from 0"),
        ((), {"inv_freq": [1.0], "base": 1e4}, ValueError, "base was given, but inv_freq has the frequencies: drop one"),
        ((), {"inv_freq": [1.0], "length": 3}, ValueError, "length was given, but inv_freq has the frequencies"),
        ((), {"inv_freq": [1.0], "attention_factor": 0.0}, ValueError, "attention_factor is 0.0, not a number from"),
        ((8,), {"attention_factor": 2.0}, ValueError, "attention_factor needs inv_freq: put that of a model into scaling"),
        ((8, 1e4, {"mrope_section": [1, 1, 1]}), {}, ValueError, "mrope_section is [1, 1, 1], not three numbers whose sum"),
        ((8, 1e4, {"mrope_section": [1, 1, 2]}), {"pair_axes": [0] * 4}, ValueError, "pair_axes was given, but scaling has"),
        ((8, 1e4, {"mrope_section": [1, 1, 2]}), {"axes": 1}, ValueError, "axes is 1, but mrope_section of scaling has 3"),
        ((8,), {"pair_axes": [0, 1, 2]}, ValueError, "pair_axes has 3 numbers, expected dim / 2 = 4"),
        ((8,), {"pair_axes": [0, 1, 2, 4]}, ValueError, "pair_axes[3] is 4, not in [0, 4)"),
        ((8,), {"pair_axes": [0, -1, 2, 1]}, ValueError, "pair_axes[1] is -1, not in [0, 4)"),
        ((8,), {"pair_axes": [0, 0.5, 2, 1]}, TypeError, ""),
        ((8,), {"pair_axes": [0, 0, 2, 1], "axes": 2}, ValueError, "axes is 2, not in [3, 4]: pair_axes uses axis 2"),
        ((8,), {"pair_axes": [0, 0, 0, 1], "axes": 5}, ValueError, "axes is 5, not in [2, 4]"),
        ((8,), {"axes": 3}, ValueError, "axes is 3, but pair_axes is None: give the axis of each pair"),
        ((8, 1e4, {"rope_type": "linear"}), {}, ValueError, "rope_type linear needs factor"),
        ((8,), {"cached_positions": -1}, ValueError, "cached_positions is -1, which is out of range"),
        ((8,), {"cached_positions": 2**62}, ValueError, ""),
        ((8,), {"threads": 0}, ValueError, "threads is 0, not in [1, 1024]"),
        ((8,), {"head_dim": 8}, TypeError, "Rotary() has no argument 'head_dim'; nearest: dim"),
    ],
)
def test_errors_of_options(arguments, options, error, text):
    with pytest.raises((error, MemoryError) if not text else error, match="^" + re.escape(text)):
        inlay.Rotary(*arguments, **options)


def test_bits_do_not_depend_on_caches_and_threads(rng, threads):
    x = normal(rng, 3, 700, 4, 64)
    starts = [0, 5000, 10**9]
    expected = inlay.Rotary(64, threads=1)(x, starts=starts)
    threads(2)
    for options in ({}, {"cached_positions": 0}, {"cached_positions": 6000}, {"threads": 3}):
        assert inlay.Rotary(64, **options)(x, starts=starts).tobytes() == expected.tobytes()


def test_threads_share_a_rotary(rng):
    """Calls of 1 MiB use the package's threads."""
    rotary, x = inlay.Rotary(64, threads=2), normal(rng, 1200, 4, 64)
    expected, wrong = rotary(x).tobytes(), []

    def work():
        for _ in range(30):
            if rotary(x).tobytes() != expected:
                wrong.append(1)

    run_together(3, work)
    assert not wrong


def test_specs_make_equal_ones():
    for rotary in (
        inlay.Rotary(DIM, BASE, cached_positions=3, threads=2),
        inlay.Rotary(inv_freq=[0.5, 0.25], attention_factor=1.5, layout="Interleaved", float_angles=True),
        inlay.Rotary(DIM, 1e4, {"rope_type": "linear", "factor": 2.0}),
    ):
        x = numpy.ones((LENGTH, 1, rotary.dim), "f4")
        other = inlay.Rotary(**rotary.spec)
        assert other.spec == rotary.spec and other(x, start=8).tobytes() == rotary(x, start=8).tobytes()
    assert repr(rotary) == "inlay.Rotary(dim 8, halves)"


def test_calls_leave_no_references(rng, way, pool):
    x, out, ids = normal(rng, BATCH, LENGTH, 3, DIM), numpy.zeros((BATCH, LENGTH, 3, DIM), "f4"), numpy.array([1, 2, 3, 4, 5])
    big, rotary = normal(rng, 400, 3, DIM), inlay.Rotary(DIM)
    outputs, rows = [out, None], inlay.Rotary(DIM, pair_axes=[0, 1, 2, 2])
    calls = [
        lambda: rotary(x, big, position_ids=ids),
        lambda: rotary(x, x, out=(out, None), position_ids=ids),
        lambda: rotary(x, x, out=outputs, starts=ids),
        lambda: rotary(x, x, out=(out, ids)),
        lambda: rotary(x, x, out=(out, out)),
        lambda: rotary(x, ids),
        lambda: rotary(big, out=big, offsets=ids),
        lambda: rotary(big, start=-1),
        lambda: rows(x, position_ids=numpy.zeros((3, 1, LENGTH), "i8")),
        lambda: rows(x, position_ids=numpy.full((3, 1, LENGTH), -1)),
        lambda: rotary(big),
        lambda: inlay.Rotary(DIM, threads=-1),
        lambda: inlay.Rotary(DIM, 1e4)(x),
    ]
    objects = [x, out, ids, big, outputs, rotary, inlay.Rotary, inlay._core.Rotary, inlay._core.Output, numpy.ndarray]

    changes, blocks = leaks(calls, objects)
    assert max(map(abs, changes)) < 10, changes
    assert blocks == 0


def test_tables_are_freed():
    """40 tables of 10 MiB."""
    rotary = inlay.Rotary(128, cached_positions=20000)
    before = resident_bytes()
    for _ in range(40):
        rotary = inlay.Rotary(128, cached_positions=20000)
    assert resident_bytes() - before < 100 << 20 and rotary.dim == 128


def test_without_numpy():
    """Arrays with the buffer protocol need no NumPy."""
    inlay._core.use_numpy(None)
    try:
        x = memoryview(bytearray(4 * LENGTH * DIM)).cast("f", (LENGTH, 1, DIM))
        for i in range(LENGTH):
            x[i, 0, 0] = 1.0
        y = inlay.Rotary(DIM)(x)
        assert isinstance(y, memoryview) and y.shape == (LENGTH, 1, DIM) and abs(y[1, 0, 0] - 0.5403023) < 1e-6
        assert inlay.Rotary(DIM)(x, out=x) is x and x.tobytes() == y.tobytes()
    finally:
        inlay._core.use_numpy(numpy)
