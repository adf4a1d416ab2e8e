# SPDX-License-Identifier: MIT
"""All options of layers and calls, compared with the layer in NumPy."""

import numpy
import pytest
import reference

import inlay

IDS = numpy.array([[3, 7, 7, 0], [49, 1, 2, 5]])


def test_gather_alone(table):
    numpy.testing.assert_array_equal(inlay.Layer(table)(IDS), table[IDS])


def test_scale_and_sinusoids(table):
    y = inlay.Layer(table, scale="sqrt", positions=inlay.Sinusoid())(IDS)
    expected = reference.embed(table, IDS, 12**0.5, reference.sinusoid(range(4), 12))
    numpy.testing.assert_array_equal(y, expected)
    assert y.dtype == numpy.float32 and y.flags.c_contiguous and y.flags.writeable


@pytest.mark.parametrize("scale", [0, 1, -2.5, 1e-3, numpy.float32(3)])
def test_scales(table, scale):
    numpy.testing.assert_array_equal(inlay.Layer(table, scale=scale)(IDS), table[IDS] * numpy.float32(scale))


def test_learned_positions_with_start(table, rng):
    learned = rng.standard_normal((20, 12)).astype("f4")
    layer = inlay.Layer(table, positions=learned)
    numpy.testing.assert_array_equal(layer(IDS, start=5), table[IDS] + learned[5:9])
    numpy.testing.assert_array_equal(layer(IDS, starts=[16, 2]), table[IDS] + learned[[[16, 17, 18, 19], [2, 3, 4, 5]]])
    places = numpy.array([[1, 1, 9, 0], [19, 3, 2, 1]], "i2")
    numpy.testing.assert_array_equal(layer(IDS, position_ids=places), table[IDS] + learned[places])
    numpy.testing.assert_array_equal(layer(IDS, position_ids=places[:1]), table[IDS] + learned[places[:1]])
    numpy.testing.assert_array_equal(layer(IDS, position_ids=places[0]), table[IDS] + learned[places[:1]])


def test_clamped_positions(table, rng):
    learned = rng.standard_normal((3, 12)).astype("f4")
    y = inlay.Layer(table, positions=learned, clamp_positions=True)(IDS)
    numpy.testing.assert_array_equal(y, table[IDS] + learned[[0, 1, 2, 2]])


@pytest.mark.parametrize("cached", [0, 2, None])
def test_cached_positions_change_nothing(table, cached):
    layer = inlay.Layer(table, positions=inlay.Sinusoid(), cached_positions=cached)
    expected = table[IDS] + inlay.sinusoid(numpy.arange(1000, 1004), 12)
    numpy.testing.assert_array_equal(layer(IDS, start=1000), expected)


def test_padding(table):
    positions = inlay.sinusoid(numpy.arange(30), 12)
    ids = numpy.array([[1, 1, 8, 9], [4, 5, 1, 1]])
    bare = inlay.Layer(table, positions=positions, padding_id=1)(ids)
    expected = table[ids] + positions[:4]
    expected[ids == 1] = 0
    numpy.testing.assert_array_equal(bare, expected)
    positioned = inlay.Layer(table, positions=positions, padding_id=1, zero_rows="positioned")(ids)
    numpy.testing.assert_array_equal(positioned, numpy.where((ids == 1)[..., None], 0, table[ids]) + positions[:4])
    aware = inlay.Layer(table, positions=positions, padding_id=1, position_mode="padding_aware")(ids, start=2)
    expected = table[ids] + positions[[[0, 0, 2, 3], [2, 3, 0, 0]]]
    expected[ids == 1] = 0
    numpy.testing.assert_array_equal(aware, expected)
    options = {"positions": positions, "padding_id": 1, "position_mode": "padding_aware"}
    kept = inlay.Layer(table, **options, zero_rows="table")(ids, start=2)
    numpy.testing.assert_array_equal(kept, table[ids] + positions[[[1, 1, 2, 3], [2, 3, 1, 1]]])


def test_bad_ids(table):
    ids = numpy.array([[0, -1, 50], [49, 99, 3]])
    good = (ids >= 0) & (ids < 50)
    rows = table[numpy.where(good, ids, 0)]
    numpy.testing.assert_array_equal(inlay.Layer(table, bad_id="clamp")(ids), table[ids.clip(0, 49)])
    zeros = inlay.Layer(table, bad_id="zero")(ids)
    numpy.testing.assert_array_equal(zeros, numpy.where(good[..., None], rows, 0))
    substituted = inlay.Layer(table, bad_id="substitute", substitute_id=4)(ids)
    numpy.testing.assert_array_equal(substituted, table[numpy.where(good, ids, 4)])
    out = numpy.full((2, 3, 12), 7, "f4")
    assert inlay.Layer(table, bad_id="skip")(ids, out=out) is out
    numpy.testing.assert_array_equal(out, numpy.where(good[..., None], rows, 7))


def test_skipped_rows_of_new_outputs_are_zeros(rng):
    table = rng.standard_normal((10, 2048)).astype("f4")
    full = inlay.Layer(table)([1, 2, 3])
    del full  # the next output reuses its memory
    y = inlay.Layer(table, bad_id="skip")([-1, 5, 99])
    numpy.testing.assert_array_equal(y, [numpy.zeros(2048), table[5], numpy.zeros(2048)])


def test_segments(table, rng):
    learned = rng.standard_normal((4, 12)).astype("f4")
    types = rng.standard_normal((3, 12)).astype("f4")
    segments = numpy.array([[0, 0, 2, 1], [1, 1, 1, 0]], "u1")
    for first in (False, True):
        layer = inlay.Layer(table, scale=1.7, positions=learned, segments=types, segments_first=first)
        expected = reference.embed(table, IDS, 1.7, learned, types[segments], first)
        numpy.testing.assert_array_equal(layer(IDS, segment_ids=segments), expected)
        numpy.testing.assert_array_equal(layer(IDS, token_type_ids=segments), expected)
        expected = reference.embed(table, IDS, 1.7, learned, types[0], first)
        numpy.testing.assert_array_equal(layer(IDS), expected)


def assert_norm(actual, expected, beta=0):
    """Norms are within 4 ULP of the larger of beta and of what it is added to."""
    unit = numpy.spacing(numpy.maximum(abs(expected - beta), abs(beta)).astype("f4"))
    numpy.testing.assert_array_less(abs(actual - expected), 4 * unit)


def test_norms(table, rng):
    gamma, beta = rng.standard_normal((2, 12)).astype("f4")
    x = reference.embed(table, IDS, 2)
    layer = inlay.Layer(table, scale=2, norm=inlay.LayerNorm(gamma, beta, 1e-12))
    assert_norm(layer(IDS), reference.layer_norm(x, gamma, beta, 1e-12), beta)
    layer = inlay.Layer(table, scale=2, norm=inlay.LayerNorm(eps=0.5))
    assert_norm(layer(IDS), reference.layer_norm(x, numpy.ones(12), numpy.zeros(12), 0.5))
    layer = inlay.Layer(table, scale=2, norm=inlay.RMSNorm(gamma, 1e-6))
    assert_norm(layer(IDS), reference.rms_norm(x, gamma, 1e-6))
    layer = inlay.Layer(table, norm=inlay.RMSNorm([1.5] * 12))
    assert_norm(layer(IDS), reference.rms_norm(table[IDS], numpy.full(12, 1.5), 1e-6))


def test_pooling(table, rng):
    ids = IDS.astype("u2")
    numpy.testing.assert_array_equal(inlay.Layer(table, pooling="mean")(ids), table[ids].sum(1) / numpy.float32(4))
    weights = rng.standard_normal((2, 4)).astype("f4")
    expected = numpy.zeros((2, 12), "f4")
    for s in range(4):
        expected += table[ids[:, s]] * weights[:, s : s + 1]
    numpy.testing.assert_array_equal(inlay.Layer(table, pooling="sum")(ids, weights=weights), expected)
    assert inlay.Layer(table, pooling="sum")(ids[0]).shape == (12,)
    pooled = inlay.Layer(table, pooling="sum")(ids.reshape(-1), offsets=[0, 0, 3, 8])
    numpy.testing.assert_array_equal(pooled[0], 0)
    numpy.testing.assert_array_equal(pooled[1], table[3] + table[7] + table[7])


def test_ragged(table):
    ids, offsets = numpy.array([3, 1, 4, 1, 5, 9], "i4"), [0, 2, 2, 6]
    positions = inlay.sinusoid(numpy.arange(10), 12)
    layer = inlay.Layer(table, positions=positions)
    packed = table[ids] + positions[[0, 1, 0, 1, 2, 3]]
    numpy.testing.assert_array_equal(layer(ids, offsets=offsets), packed)
    numpy.testing.assert_array_equal(layer(ids, offsets=numpy.array(offsets, "i4")), packed)
    padded = layer(ids, offsets=offsets, padded=True)
    assert padded.shape == (3, 4, 12)
    numpy.testing.assert_array_equal(padded[2], packed[2:])
    numpy.testing.assert_array_equal(padded[0], numpy.concatenate([packed[:2], numpy.zeros((2, 12))]))
    assert not padded[1].any()
    assert layer(ids, offsets=offsets, padded=7).shape == (3, 7, 12)
    numpy.testing.assert_array_equal(
        layer(ids, offsets=offsets, starts=[1, 0, 2]), table[ids] + positions[[1, 2, 2, 3, 4, 5]]
    )
    assert layer([], offsets=[0, 0], padded=True).shape == (1, 0, 12)
    assert layer([], offsets=[0]).shape == (0, 12)


def test_dropout(table):
    layer = inlay.Layer(table, scale=3)
    x = reference.embed(table, IDS, 3)
    for p, seed, step in ((0.25, 5, 0), (0.5, 2**63 + 1, 2**40), (0.9, 0, 1)):
        y = layer(IDS, dropout=p, seed=seed, step=step)
        numpy.testing.assert_array_equal(y, reference.dropout(x, p, seed, step))
    numpy.testing.assert_array_equal(layer(IDS, dropout=0, seed=7), x)


def test_output_types(table):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    numpy.testing.assert_array_equal(inlay.Layer(table, dtype="float16")(IDS), table[IDS].astype("f2"))
    for name in ("bfloat16", ml_dtypes.bfloat16, numpy.dtype(ml_dtypes.bfloat16)):
        y = inlay.Layer(table, dtype=name)(IDS)
        assert y.dtype == ml_dtypes.bfloat16
        numpy.testing.assert_array_equal(y, table[IDS].astype(ml_dtypes.bfloat16))
    assert inlay.Layer(table, dtype=numpy.float16).dtype == "float16"


@pytest.mark.parametrize("shape", [(), (1,), (5,), (2, 3), (2, 3, 4), (1, 2, 1, 3, 1, 2, 2), (0,), (3, 0), (0, 3)])
def test_shapes(table, rng, shape):
    ids = rng.integers(0, 50, shape)
    positions = inlay.sinusoid(numpy.arange(8), 12)
    y = inlay.Layer(table, positions=positions)(ids)
    assert y.shape == shape + (12,)
    length = shape[-1] if shape else 1
    numpy.testing.assert_array_equal(y, table[ids] + (positions[:length] if shape else positions[0]))
    out = numpy.empty(shape + (12,), "f4")
    assert inlay.Layer(table)(ids, out) is out
    numpy.testing.assert_array_equal(out, table[ids])


def test_threads_have_the_same_bits(rng, threads):
    table = rng.standard_normal((1000, 64)).astype("f4")
    ids = rng.integers(0, 1000, (16, 512))
    expected = inlay.Layer(table, scale="sqrt", positions=inlay.Sinusoid())(ids)
    for n in (2, 3, 7):
        layer = inlay.Layer(table, scale="sqrt", positions=inlay.Sinusoid(), threads=n)
        numpy.testing.assert_array_equal(layer(ids), expected)
    threads(4)
    assert inlay.get_num_threads() == 4
    numpy.testing.assert_array_equal(inlay.Layer(table, scale="sqrt", positions=inlay.Sinusoid())(ids), expected)
    assert "parts:     1:" not in inlay.Layer(table).explain(ids)


def test_self_tuning_is_explained_and_changes_nothing(rng):
    large, ids = inlay.random(20000, 256, seed=1), rng.integers(0, 20000, (8, 1024))
    tunes, keeps = inlay.Layer(large), inlay.Layer(large, self_tuning=False)
    for _ in range(4):
        numpy.testing.assert_array_equal(tunes(ids), keeps(ids))
    assert "picked by self-tuning" in tunes.explain(ids) and "of 0 parts" not in tunes.explain(ids)
    assert "learned" not in keeps.explain(ids)


def test_properties(table):
    layer = inlay.Layer(table, threads=3)
    assert (layer.dim, layer.dtype, layer.threads, layer.table.rows) == (12, "float32", 3, 50)
    assert inlay.Layer(layer.table).table is layer.table
    assert repr(layer) == "inlay.Layer(float32 [50, 12] -> float32)"
    assert "fast path" in layer.explain(IDS)
