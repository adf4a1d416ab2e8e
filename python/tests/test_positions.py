# SPDX-License-Identifier: MIT
"""Sinusoids compared with golden hashes, extended precision and formulas of frameworks; rotary tables."""

import hashlib
import math
import pathlib
import re

import numpy
import pytest
import reference

import inlay

HASHES = (pathlib.Path(__file__).parents[2] / "tests" / "positions" / "sinusoid_sha256.inc").read_text(encoding="utf-8")
# Lines of that file, and the same table from Python.
GOLDEN = [
    ("dim = 512, .n = 512", (0, 512, 512), {}),
    (
        "dim = 512, .layout = INLAY_SINUSOID_LAYOUT_SPLIT, .first = 100000, .n = 256",
        (100000, 256, 512),
        {"layout": "split"},
    ),
    ("dim = 128, .first = 2147482624, .n = 1024", (2147482624, 1024, 128), {}),
    ("dim = 6, .base = 2, .first = 1, .n = 4096", (1, 4096, 6), {"base": 2}),
    ("dim = 512, .type = INLAY_F16, .first = 1000, .n = 128", (1000, 128, 512), {"dtype": "float16"}),
    ("dim = 512, .type = INLAY_BF16, .first = 1000, .n = 128", (1000, 128, 512), {"dtype": "bfloat16"}),
]


@pytest.mark.parametrize("fields, rows, options", GOLDEN)
def test_golden_hashes(fields, rows, options):
    if options.get("dtype") == "bfloat16":
        pytest.importorskip("ml_dtypes")
    expected = re.search(re.escape(f"{{.{fields},") + r'\s*\.sha256 = "([0-9a-f]{64})"', HASHES)
    assert expected, fields
    first, n, dim = rows
    consecutive = numpy.arange(first, first + n)
    table = inlay.sinusoid(consecutive, dim, **options)
    assert hashlib.sha256(table.tobytes()).hexdigest() == expected[1]
    # A list is computed differently but has the same bits.
    shuffled = numpy.random.default_rng(1).permutation(n)
    assert inlay.sinusoid(consecutive[shuffled], dim, **options).tobytes() == table[shuffled].tobytes()


def test_extended_precision():
    positions = numpy.array([[0, 1, 2], [77, 4095, 12345]])
    y = inlay.sinusoid(positions, 20)
    assert y.shape == (2, 3, 20)
    numpy.testing.assert_array_max_ulp(y, reference.sinusoid(positions, 20), 1)


def test_integers_are_exact_far_out():
    """10^9 radians: math.sin is correctly rounded there to double, and the double to float32."""
    y = inlay.sinusoid(numpy.arange(10**9, 10**9 + 4), 512)
    assert y.shape == (4, 512) and y.dtype == numpy.float32
    for i in range(4):
        assert y[i, 0] == numpy.float32(math.sin(10**9 + i)) and y[i, 1] == numpy.float32(math.cos(10**9 + i))


def test_real_positions():
    y = inlay.sinusoid([0.5, -0.25, 3.0], 2)
    assert [row[0] for row in y] == [numpy.float32(math.sin(p)) for p in (0.5, -0.25, 3)]
    numpy.testing.assert_array_equal(inlay.sinusoid(numpy.float32([1, 2]), 8), inlay.sinusoid([1, 2], 8))


def test_negative_integers_are_the_same_real_numbers():
    for positions in ([-3, 5, -(2**31) + 1], numpy.arange(-70, 70), [[-2, -1], [0, 1]], numpy.int8([-128, 7])):
        positions = numpy.array(positions)
        real = positions.astype("f8")
        numpy.testing.assert_array_equal(inlay.sinusoid(positions, 12), inlay.sinusoid(real, 12))
        for layout in ("pairs", "halves", "interleaved"):
            for table, wanted in zip(inlay.rotary(positions, 12, layout=layout), inlay.rotary(real, 12, layout=layout)):
                numpy.testing.assert_array_equal(table, wanted)
    assert inlay.sinusoid([-1], 2)[0, 0] == -numpy.float32(math.sin(1))


def test_recipes_have_their_layouts():
    positions = numpy.arange(50)
    half = 8
    frequencies = numpy.exp(numpy.arange(half, dtype="f4") * numpy.float32(-(math.log(10000) / (half - 1))))
    angles = positions[:, None].astype("f4") * frequencies
    whisper = numpy.concatenate([numpy.sin(angles), numpy.cos(angles)], -1)
    y = inlay.sinusoid(positions, 16, recipe="fairseq")
    assert numpy.abs(y - whisper).max() < 2e-5  # NumPy's exp() isn't correctly rounded
    assert numpy.abs(y - inlay.sinusoid(positions, 16)).max() > 0.5
    split = inlay.sinusoid(positions, 16, layout="split")
    numpy.testing.assert_array_equal(split[:, 8:], inlay.sinusoid(positions, 16)[:, 1::2])
    own = inlay.sinusoid(positions, 4, inv_freq=(1.0, 0.5), amplitude=2)
    numpy.testing.assert_array_equal(own[:, 2], (2 * numpy.sin(positions / 2)).astype("f4"))


def test_out_and_shapes():
    out = numpy.empty((2, 1, 6), "f4")
    assert inlay.sinusoid([[3], [4]], 6, out=out) is out
    numpy.testing.assert_array_equal(out[:, 0], inlay.sinusoid([3, 4], 6))
    assert inlay.sinusoid(3, 6).shape == (6,)
    assert inlay.sinusoid([], 6).shape == (0, 6)
    assert inlay.sinusoid(numpy.arange(6, dtype="u1")[::2], 6).shape == (3, 6)


def test_layers_take_recipes(table):
    layer = inlay.Layer(table, positions=inlay.Sinusoid(recipe="keras-hub", base=500))
    expected = table[[4, 5]] + inlay.sinusoid([0, 1], 12, 500, recipe="keras-hub")
    numpy.testing.assert_array_equal(layer([4, 5]), expected)


@pytest.mark.parametrize(
    "arguments, options, error, text",
    [
        (([[1, -(2**31)]], 4), {}, IndexError, r"position -2147483648 at \[0, 1\] is not in \(-2147483648, 2147483648"),
        (([2**31 - 1, 2**31], 4), {}, IndexError, r"position 2147483648 at \[1\] is not in"),
        (([5, 2**31], 4), {}, IndexError, r"position 2147483648 at \[1\] is not in"),
        (([0.0, math.nan], 4), {}, IndexError, "position nan at index 1"),
        (([1], 0), {}, ValueError, r"dim is 0, not in \[1, 2\^31\)"),
        (([1], 4, 0.5), {}, ValueError, "base is 0.5, not a number from 1 to 1e.30"),
        (([1], 4), {"amplitude": 0}, ValueError, "amplitude is 0, not a number from 9.5.* to 1024"),
        (([1], 4), {"amplitude": math.nan}, ValueError, "amplitude is nan, not"),
        (([1], 4), {"inv_freq": [1.0, -0.5]}, ValueError, r"inv_freq\[1\] is -0.5, not a number from 0 to 2147483648"),
        (([1], 4), {"inv_freq": [1.0, 0.5], "recipe": "fairseq"}, ValueError, "inv_freq .* recipe 'fairseq'"),
        (([1], 4), {"float_angles": True}, ValueError, "float_angles .* inv_freq"),
        (([1], 4), {"shift": 2}, ValueError, "shift is 2"),
        (([1], 4), {"recipe": "tf"}, ValueError, r"recipe is 'tf', .* nearest: opennmt-tf"),
        (([1], 4), {"layout": "halves"}, ValueError, "layout is 'halves', not one of interleaved, split"),
        (([1], 4), {"dtype": "float64"}, TypeError, "dtype is 'float64', not float32, float16 or bfloat16"),
        ((numpy.ones(2, "f2"), 4), {}, TypeError, r'positions has .* float16, expected integers.*: convert it with positions.as'),
        ((numpy.ones(2, complex), 4), {}, TypeError, "positions has .* complex128, which inlay does not read: take positions.rea"),
        (([1], 5), {"odd": "error"}, ValueError, None),
        (([1], 4), {"inv_freq": [1.0]}, ValueError, "inv_freq has 1 numbers, expected 2"),
        (([1], 4), {"out": numpy.empty((1, 3), "f4")}, ValueError, r"out has shape \[1, 3\], expected \[1, 4\]"),
        ((["a"], 4), {}, TypeError, "positions has elements of type"),
    ],
)
def test_errors(arguments, options, error, text):
    with pytest.raises(error, match=text):
        inlay.sinusoid(*arguments, **options)


# ---- Rotary tables ----


@pytest.mark.parametrize("positions", [[[7, 8, 9], [100, 3, 4]], [[0.5, -2.25], [1e6, 3]]])
def test_rotary_layouts(positions):
    positions = numpy.array(positions)
    angles = positions[..., None] * 10000.0 ** (-numpy.arange(4) / 4)
    for layout, spread in (
        ("pairs", lambda x: x),
        ("halves", lambda x: numpy.concatenate([x, x], -1)),
        ("interleaved", lambda x: numpy.repeat(x, 2, -1)),
    ):
        cos, sin = inlay.rotary(positions, 8, layout=layout)
        numpy.testing.assert_array_max_ulp(cos, spread(numpy.cos(angles).astype("f4")), 1)
        numpy.testing.assert_array_max_ulp(sin, spread(numpy.sin(angles).astype("f4")), 1)
    cos, _ = inlay.rotary(positions, 8, layout="pairs", dtype="float16")
    assert cos.dtype == numpy.float16


def test_rotary_scaling_of_a_model():
    """Llama 3.1: tests/positions/rotary_models.inc has its frequencies, computed with 400 bits."""
    config = {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    _, sin = inlay.rotary([1], 128, 500000, config, "pairs")
    for pair, frequency in {
        0: 1.0,
        28: float.fromhex("0x1.a4ee3f0a6907bp-9"),
        63: float.fromhex("0x1.4985fec80a8cbp-22"),
    }.items():
        assert sin[0, pair] == numpy.float32(math.sin(frequency))
    yarn = {"type": "yarn", "factor": 4, "original_max_position_embeddings": 32768, "attention_factor": None}
    cos, _ = inlay.rotary([0], 128, 1e6, yarn)
    assert cos[0, 0] == numpy.float32(float.fromhex("0x1.237d37fe5d298p+0"))
    longrope = {"rope_type": "longrope", "short_factor": [1.0, 2.0], "long_factor": [4.0, 8.0], "factor": 1.0}
    longrope["original_max_position_embeddings"] = 64
    for length, factor in ((1, 2), (64, 2), (65, 8)):
        _, sin = inlay.rotary([1], 4, 10000, longrope, "pairs", length=length)
        arrays = {name: numpy.array(value) if isinstance(value, list) else value for name, value in longrope.items()}
        arrays["length"] = numpy.int64(length)
        numpy.testing.assert_array_equal(inlay.rotary([1], 4, 10000, arrays, "pairs")[1], sin)
        assert sin[0, 1] == numpy.float32(math.sin(0.01 / factor))


ORIGINAL = "original_max_position_embeddings"
NTK = [10000 ** (-i / 4) * 3 ** (-i / 3) for i in range(4)]
PLAIN = [10000 ** (-i / 4) for i in range(4)]
# Required keys of a scaling, its frequencies for 8 columns and their factor by the formulas of transformers.
COMPLETE = {
    "linear": ({"factor": 4}, [f / 4 for f in PLAIN], 1),
    "ntk": ({"factor": 3}, NTK, 1),
    "dynamic": ({"factor": 2, "max_position_embeddings": 64, "length": 128}, NTK, 1),
    "llama3": ({"factor": 8, ORIGINAL: 64, "low_freq_factor": 1, "high_freq_factor": 4}, None, 1),
    "yarn": ({"factor": 4, ORIGINAL: 64}, None, 0.1 * math.log(4) + 1),
    "longrope": (
        {"factor": 4, ORIGINAL: 64, "length": 65, "short_factor": [1, 1, 1, 1], "long_factor": [1, 2, 4, 8]},
        [f / 2**i for i, f in enumerate(PLAIN)],
        math.sqrt(1 + math.log(4) / math.log(64)),
    ),
    "proportional": ({"partial_rotary_factor": 0.5}, [*PLAIN[:2], 0, 0], 1),
}


@pytest.mark.parametrize("kind", COMPLETE)
def test_nothing_is_invented(kind):
    """A scaling with all keys gives its formula. Without one of them, the error names the key."""
    entry, frequencies, attention = COMPLETE[kind]
    scaling = {"rope_type": kind, "rope_theta": 10000.0, **entry}
    cos, sin = inlay.rotary([0, 1], 8, scaling=scaling, layout="pairs")
    numpy.testing.assert_allclose(cos[0], attention, rtol=1e-7)
    if frequencies is not None:
        numpy.testing.assert_allclose(sin[1], [attention * math.sin(f) for f in frequencies], rtol=1e-7)
    for key in ("rope_theta", *entry):
        for missing in ({name: value for name, value in scaling.items() if name != key}, {**scaling, key: None}):
            with pytest.raises(ValueError, match=key):
                inlay.rotary([0, 1], 8, scaling=missing)
    with pytest.raises(ValueError, match="has .*, but no rope_type"):
        inlay.rotary([0], 8, 1e4, entry if kind != "proportional" else {"beta_fast": 4})


class Configuration:
    """A configuration of transformers."""

    def __init__(self, **attributes):
        self.__dict__.update({"model_type": "llama", "hidden_size": 64, "num_attention_heads": 8, **attributes})


def same(first, second):
    for one, other in zip(first, second):
        numpy.testing.assert_array_equal(one, other)


def test_configurations():
    """Keys that an entry lacks are taken from its configuration like in transformers."""
    yarn = {"rope_type": "yarn", "factor": 4.0, "rope_theta": 1e6}
    wanted = inlay.rotary([1, 2], 8, scaling={**yarn, ORIGINAL: 512})
    for name in ("rope_parameters", "rope_scaling"):
        for keys in ({"max_position_embeddings": 512}, {"max_position_embeddings": 2048, ORIGINAL: 512}):
            keys[name] = yarn
            same(inlay.rotary([1, 2], scaling=Configuration(**keys)), wanted)
            same(inlay.rotary([1, 2], 8, scaling={"model_type": "llama", **keys}), wanted)
    keys = {"rope_theta": 1e6, "rope_scaling": {"type": "yarn"}, "max_position_embeddings": 2048, ORIGINAL: 512}
    same(inlay.rotary([1, 2], scaling=Configuration(**keys)), wanted)
    same(inlay.rotary([1, 2], scaling=Configuration(rope_theta=5e5)), inlay.rotary([1, 2], 8, 5e5))
    part = Configuration(head_dim=16, partial_rotary_factor=0.5, rope_parameters={"rope_theta": 1e4})
    same(inlay.rotary([1, 2], scaling=part), inlay.rotary([1, 2], 8))
    same(inlay.rotary([1, 2], 8, scaling=part), inlay.rotary([1, 2], 8))
    longrope = {"type": "su", "short_factor": [1.0] * 4, "long_factor": [2.0] * 4}
    phi = Configuration(rope_theta=1e4, rope_scaling=longrope, max_position_embeddings=4096, **{ORIGINAL: 64})
    cos, sin = inlay.rotary([0, 1], scaling=phi, layout="pairs", length=65)
    assert cos[0, 0] == numpy.float32(math.sqrt(1 + math.log(64) / math.log(64)))
    numpy.testing.assert_allclose(sin[1], [math.sqrt(2) * math.sin(f / 2) for f in PLAIN], rtol=1e-7)
    alpha = {"type": "dynamic", "alpha": 3.0, "factor": 1.0, "beta_fast": 32, "mscale": 1.0}
    same(inlay.rotary([9], 8, 1e4, alpha), inlay.rotary([9], 8, 1e4, {"rope_type": "ntk", "factor": 3}))


def test_layer_types():
    full = {"rope_type": "proportional", "partial_rotary_factor": 0.5, "rope_theta": 1e6}
    nested = {"full_attention": full, "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}, "none": None}
    layers = Configuration(rope_parameters=nested)
    for scaling, dim in ((nested, 8), (layers, None)):
        same(inlay.rotary([3], dim, scaling=scaling, layer_type="full_attention"), inlay.rotary([3], 8, scaling=full))
        same(inlay.rotary([3], dim, scaling=scaling, layer_type="sliding_attention"), inlay.rotary([3], 8))
        for other in (None, "none", "linear"):
            with pytest.raises(ValueError, match=f"layer_type is {other!r}: .* full_attention, sliding_attention"):
                inlay.rotary([3], dim, scaling=scaling, layer_type=other)
    wide = Configuration(rope_parameters=nested, per_layer_config={"full_attention": Configuration(head_dim=32)})
    assert inlay.rotary([3], scaling=wide, layer_type="full_attention")[0].shape == (1, 32)


def test_real_positions_in_rotary():
    for dtype in ("float32", "float16"):
        cos, sin = inlay.rotary(numpy.linspace(-9, 9, 1000, dtype="f4"), 8, layout="pairs", dtype=dtype)
        rows = inlay.sinusoid(numpy.linspace(-9, 9, 1000, dtype="f4"), 8, layout="split", dtype=dtype)
        numpy.testing.assert_array_equal(numpy.concatenate([sin, cos], -1), rows)
    three = inlay.rotary([[0.5], [0.5], [0.5]], 8, 1e4, {"mrope_section": [1, 1, 2]})
    same(three, inlay.rotary([0.5], 8))


# Entries rope_scaling or rope_parameters of models, and their rotary columns.
MROPE = {
    "Qwen2-VL": ({"type": "mrope", "mrope_section": [16, 24, 24]}, 128),
    "Qwen2.5-VL, saved": ({"rope_type": "default", "type": "default", "mrope_section": [16, 24, 24]}, 128),
    "Qwen2.5-VL, long": (
        {"type": "yarn", "mrope_section": [16, 24, 24], "factor": 4, "original_max_position_embeddings": 32768},
        128,
    ),
    "Qwen3-VL": ({"mrope_interleaved": True, "mrope_section": [24, 20, 20], "rope_type": "default"}, 128),
    "Qwen3-Omni": ({"interleaved": True, "mrope_section": [24, 20, 20], "rope_type": "default"}, 128),
    "Qwen3.5": (
        {
            "mrope_interleaved": True,
            "mrope_section": [11, 11, 10],
            "partial_rotary_factor": 0.25,
            "rope_theta": 5e6,
            "rope_type": "default",
        },
        64,
    ),
    "GLM-4V": ({"rope_type": "default", "mrope_section": [8, 12, 12]}, 64),
    "no height": ({"mrope_section": numpy.array([3, 0, 1])}, 8),
    "only time": ({"mrope_section": (4, 0, 0), "mrope_interleaved": True}, 8),
    "more than a third": ({"mrope_section": [1, 2, 5], "mrope_interleaved": True}, 16),
}


def recompose(tables, section, interleaved):
    """Takes each frequency from one of the tables [3, ..., dim / 2], like recomposition_frequencies() of transformers
    5.23 in Qwen2VLRotaryEmbedding, or in Qwen3VLTextRotaryEmbedding if interleaved."""
    if not interleaved:
        parts = numpy.split(tables, numpy.cumsum(section)[:-1], axis=-1)
        return numpy.concatenate([part[i % 3] for i, part in enumerate(parts)], -1)
    recomposed = tables[0].copy()
    for axis, offset in enumerate((1, 2), start=1):
        columns = slice(offset, section[axis] * 3, 3)
        recomposed[..., columns] = tables[axis][..., columns]
    return recomposed


@pytest.mark.parametrize("model", MROPE)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_rotary_of_three_rows(model, dtype):
    scaling, dim = MROPE[model]
    positions = numpy.random.default_rng(1).integers(0, 2**31, (3, 2, 300))
    positions[:, 0, :64] = numpy.arange(64)  # text, then an image of one time, then anything
    positions[0, 0, 64:128] = 64
    others = {name: value for name, value in scaling.items() if name in ("factor", "original_max_position_embeddings")}
    plain = {**others, "rope_type": "yarn" if others else "default", "rope_theta": scaling.get("rope_theta", 1e6)}
    scaling = {"rope_theta": 1e6, **scaling}
    tables = inlay.rotary(positions, dim, None, plain, "pairs", dtype=dtype)
    interleaved = scaling.get("mrope_interleaved", scaling.get("interleaved", False))
    expected = [recompose(table, scaling["mrope_section"], interleaved) for table in tables]
    for layout, spread in (
        ("pairs", lambda x: x),
        ("halves", lambda x: numpy.concatenate([x, x], -1)),
        ("interleaved", lambda x: numpy.repeat(x, 2, -1)),
    ):
        for table, wanted in zip(inlay.rotary(positions, dim, None, scaling, layout, dtype=dtype), expected):
            assert table.dtype == dtype and table.shape == (2, 300, dim // 2 if layout == "pairs" else dim)
            numpy.testing.assert_array_equal(table, spread(wanted))
    text = numpy.arange(5)
    for table, wanted in zip(inlay.rotary([text] * 3, dim, None, scaling), inlay.rotary(text, dim, None, plain)):
        numpy.testing.assert_array_equal(table, wanted)
    assert inlay.rotary(numpy.empty((3, 0), int), dim, None, scaling)[0].shape == (0, dim)


YARN, LONGROPE = ({"rope_type": kind, **COMPLETE[kind][0]} for kind in ("yarn", "longrope"))


@pytest.mark.parametrize(
    "arguments, error, text",
    [
        (([1], 7), ValueError, "dim is 7, not an even number"),
        (([1, 2], 8, 1e4, {"mrope_section": [1, 1, 2]}), ValueError, r"shape \[2\]; with mrope_section it is \[3, "),
        ((1, 8, 1e4, {"mrope_section": [1, 1, 2]}), ValueError, r"shape \[\]; with mrope_section"),
        (([1, 2, 3], 8, 1e4, {"mrope_section": [1, 1, 1]}), ValueError, r"\[1, 1, 1\], not .* whose sum is .* 4"),
        (([1, 2, 3], 8, 1e4, {"mrope_section": [2, 2]}), ValueError, "not three numbers"),
        (([1, 2, 3], 8, 1e4, {"mrope_section": [-1, 1, 4]}), ValueError, "not three numbers"),
        (([[1], [2], [-(2**31)]], 8, 1e4, {"mrope_section": [1, 1, 2]}), IndexError, r"-2147483648 at \[2, 0\]"),
        (([1, 2, 3], 8, 1e4, {"mrope_section": 4}), ValueError, "not three numbers"),
        (([[1, 2], [2, 2**31], [3, 3]], 8, 1e4, {"mrope_section": [1, 1, 2]}), IndexError, r"2147483648 at \[1, 1\]"),
        (([1, 2, 3], 8, 1e4, {"mrope_section": [1, 1, 2], "rope_type": "magic"}), ValueError, "rope_type is 'magic'"),
        (([[1, -(2**31)]], 8), IndexError, r"position -2147483648 at \[0, 1\]"),
        (([2**31 - 1, 2**31], 8), IndexError, r"position 2147483648 at \[1\]"),
        (([0.5, math.inf], 8), IndexError, "position inf at index 1"),
        ((["a"], 8), TypeError, "positions has elements of type"),
        (([1], 8, 10000, {"rope_type": "magic"}), ValueError, "rope_type is 'magic', not one of default, linear"),
        (([1], 8, 10000, {"rope_type": "axial"}), ValueError, "axial.*by height and by width"),
        (([1], 8, 10000, {"rope_type": 5}), TypeError, "rope_type is 5, not a string"),
        (([1], 8, 10000, {"rope_type": "default", "mystery": 1}), ValueError, "'mystery', which is unknown"),
        (([1], 8, 10000, {"rope_type": "linear", "factor": 0.5}), ValueError, "factor is 0.5, not a number from 1 to"),
        (([1], 8, 10000, {"rope_type": "linear", "factor": "2"}), TypeError, "factor is '2', not a number"),
        (([1], 8, 10000, {**YARN, "beta_fast": 1, "beta_slow": 32}), ValueError, "beta_fast is 1, .* beta_slow, 32"),
        (([1], 8, 10000, {**YARN, "beta_slow": 33}), ValueError, "beta_fast is 32, .* beta_slow, 33"),
        (([1], 8, 10000, {**YARN, "attention_factor": 0}), ValueError, "attention_factor is 0, not"),
        (([1], 8, 5000, {"rope_theta": 10000}), ValueError, "base is 5000, but scaling has rope_theta 10000"),
        (([1], 8, 0.5), ValueError, "base is 0.5, not a number from 1"),
        (([1],), ValueError, "dim is missing"),
        (([1], 16, None, Configuration(rope_theta=1e4)), ValueError, "dim is 16, but .* have 8 rotary columns"),
        (([1], None, None, Configuration(rope_parameters={})), ValueError, "rope_theta"),
        (([1], None, None, Configuration(rope_theta=1e6, rope_local_base_freq=1e4)), ValueError, "rope_local_base"),
        (([1], None, None, Configuration(rope_theta=1e4, patch_size=14)), ValueError, "patches"),
        (([1], 8, None, {"model_type": "llama", "rope_theta": 1e4, "rope_scaling": "linear"}), TypeError, "'linear'"),
        (([1], 8, None, "yarn"), TypeError, "scaling is 'yarn', expected a configuration"),
        (([1], 8, 10000, None, "thirds"), ValueError, "layout is 'thirds', not one of pairs"),
        (([1], 8, 10000, {**LONGROPE, "long_factor": [1.0]}), ValueError, r"long_factor is \(1.0,\), not a list of 4"),
        (([1], 8, 10000, {**LONGROPE, "long_factor": [1, 0, 1, 1]}), ValueError, r"long_factor\[1\] is 0, not"),
    ],
)
def test_rotary_errors(arguments, error, text):
    with pytest.raises(error, match=text):
        inlay.rotary(*arguments)


def test_the_tutorial_of_keras():
    """Its layer with fixed weights for words and positions, to the 8 decimals that it printed."""
    lines = (pathlib.Path(__file__).parents[2] / "tests/data/keras-tutorial-part-2.txt").read_text(encoding="utf-8")
    ids = [[int(n) for n in line.split()[1:]] for line in lines.splitlines() if line.startswith("ids")]
    out = [[float(n) for n in line.split()[1:]] for line in lines.splitlines() if line.startswith("out")]
    words = inlay.sinusoid(numpy.arange(10), 6, recipe="numpy-fp64")
    layer = inlay.Layer(words, positions=inlay.Sinusoid(recipe="numpy-fp64"))
    numpy.testing.assert_allclose(layer(ids).reshape(-1, 6), numpy.array(out, "f4"), rtol=0, atol=6e-9)
