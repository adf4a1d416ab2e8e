# SPDX-License-Identifier: MIT
"""Tables of 8-bit floats and of ggml's types, and tables with rows in several arrays."""

import copy
import gc
import pickle
import weakref

import numpy
import pytest

import inlay

f4 = numpy.float32
# Columns and bytes of a block of each of ggml's types.
GGML = {
    "q8_0": (32, 34),
    "q4_0": (32, 18),
    "q4_1": (32, 20),
    "q5_0": (32, 22),
    "q5_1": (32, 24),
    "iq4_nl": (32, 18),
    "mxfp4": (32, 17),
    "nvfp4": (64, 36),
    "q3_k": (256, 110),
    "q4_k": (256, 144),
    "q5_k": (256, 176),
    "q6_k": (256, 210),
    "q2_k": (256, 84),
    "iq4_xs": (256, 136),
    "iq3_s": (256, 110),
}


def read(table):
    return inlay.Layer(table)(numpy.arange(table.rows))


def e4m3(codes):
    """The definition: a sign, 4 bits of exponent with bias 7, 3 bits of fraction; no infinities."""
    codes = codes.astype(int)
    exponent, fraction = codes >> 3 & 15, codes & 7
    magnitude = numpy.where(exponent == 0, fraction * 2.0**-9, (8 + fraction) * 2.0 ** (exponent - 10))
    magnitude[codes & 127 == 127] = numpy.nan
    return numpy.where(codes & 128, -magnitude, magnitude).astype(f4)


def test_all_8_bit_floats():
    codes = numpy.arange(256, dtype="u1").reshape(4, 64)
    numpy.testing.assert_array_equal(read(inlay.Table(codes, "e4m3")), e4m3(codes))
    scales = numpy.array([0.5, -3, 1e-3, 7], f4)
    scaled = inlay.Table(codes, "e4m3", scales=scales)
    numpy.testing.assert_array_equal(read(scaled), e4m3(codes) * scales[:, None])
    powers = numpy.array([[127, 120], [255, 130], [0, 1], [118, 254]], "u1")
    with numpy.errstate(over="ignore"):
        factors = numpy.ldexp(f4(1), powers.astype(int) - 127)
        factors[powers == 255] = numpy.nan
        expected = e4m3(codes) * numpy.repeat(factors, 32, 1)
    numpy.testing.assert_array_equal(read(inlay.Table(codes, "e4m3_e8m0", scales=powers)), expected)


def test_ml_dtypes_name_them(way):
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="there is no ml_dtypes")
    codes = numpy.arange(256, dtype="u1").reshape(4, 64)
    table = inlay.Table(codes.view(ml_dtypes.float8_e4m3fn))
    assert table.type == "e4m3"
    numpy.testing.assert_array_equal(read(table), e4m3(codes))
    powers = numpy.full((4, 2), 126, "u1").view(ml_dtypes.float8_e8m0fnu)
    halved = inlay.Table(codes.view(ml_dtypes.float8_e4m3fn), "e4m3_e8m0", scales=powers)
    numpy.testing.assert_array_equal(read(halved), e4m3(codes) / 2)


def test_outputs_are_no_8_bit_floats(table):
    with pytest.raises(TypeError, match="dtype is 'float8_e4m3fn', not float32, float16 or bfloat16"):
        inlay.Layer(table, dtype="float8_e4m3fn")


def test_quantized_8_bit_floats(rng):
    original = rng.standard_normal((7, 64)).astype(f4)
    for name, scales in [("e4m3", (7,)), ("e4m3_e8m0", (7, 2))]:
        table = inlay.quantize(original, name)
        assert table.data.dtype == numpy.uint8 and table.scales.shape == scales
        error = numpy.abs(original - read(table)).max()
        assert error == pytest.approx(table.largest_error) and error < numpy.abs(original).max() / 16


@pytest.mark.parametrize("name", GGML)
def test_types_of_ggml(rng, name):
    columns, size = GGML[name]
    original = rng.standard_normal((5, 2 * columns)).astype(f4)
    table = inlay.quantize(original, name)
    assert table.data.shape == (5, 2 * size) and table.dim == 2 * columns and table.scales is None
    error = numpy.abs(original - read(table)).max()
    assert error == pytest.approx(table.largest_error) and error < 1
    assert inlay.Table(table.data.view("i1"), name).dim == 2 * columns
    with pytest.raises(ValueError, match=f"cannot have dim {columns - 1}"):
        inlay.quantize(original[:, : columns - 1], name)


def test_numbers_of_iq4_nl():
    block = numpy.concatenate([numpy.array([2], "f2").view("u1"), numpy.arange(16, dtype="u1") * 16 + 15])
    numbers = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113]
    expected = numpy.array([numbers[15]] * 16 + numbers, f4) * 2
    numpy.testing.assert_array_equal(read(inlay.Table(block[None], "iq4_nl"))[0], expected)


@pytest.mark.parametrize("cut", [(10, 20), (10, 13), (1, 2), (0, 25)], ids=str)
@pytest.mark.parametrize("name", ["float32", "float16", "i8", "e4m3_e8m0", "u4_grouped", "q4_k"])
def test_extents(rng, name, cut):
    whole = inlay.quantize(rng.standard_normal((25, 256)).astype(f4), name) if name != "float32" else None
    whole = whole or inlay.Table(rng.standard_normal((25, 256)).astype(f4))
    bounds = [0, *cut, 25]
    parts = [
        inlay.Table(
            whole.data[a:b],
            name,
            dim=256,
            group=whole.group,
            scales=None if whole.scales is None else whole.scales[a:b],
            zeros=None if whole.zeros is None else whole.zeros[a:b],
        )
        for a, b in zip(bounds, bounds[1:])
    ]
    table = inlay.Table.from_extents(parts)
    assert (table.rows, table.dim, table.type, table.nbytes) == (25, 256, name, whole.nbytes)
    assert table.data is None and sum(part.rows for part in table.tables) == 25
    numpy.testing.assert_array_equal(read(table), read(whole))
    for same in (copy.deepcopy(table), pickle.loads(pickle.dumps(table))):
        numpy.testing.assert_array_equal(read(same), read(whole))


def test_extents_keep_arrays_alive(rng):
    arrays = [rng.standard_normal((4, 8)).astype(f4) for _ in range(2)]
    expected, references = numpy.concatenate(arrays), [weakref.ref(array) for array in arrays]
    layer = inlay.Layer(inlay.Table.from_extents(arrays))
    del arrays
    gc.collect()
    numpy.testing.assert_array_equal(layer(numpy.arange(8)), expected)
    del layer
    gc.collect()
    assert [reference() for reference in references] == [None, None]


def test_bad_extents(table):
    for parts, text in [
        ([], "tables have no rows: give at least one table with rows"),
        ([table, table[:, :8]], "tables[1] is float32 with dim 8, but another one is float32 with dim 12"),
        ([table[:5], table[::2]], "tables[1] and another one have different row strides"),
        ([inlay.Table(table, first_row=0, vocab=50)], "tables[0] is a shard"),
        ([inlay.Table.from_extents([table])], "tables[0] consists of extents itself"),
        (
            [inlay.Table(table.view("i1")[:, :12].copy(), "i8"), inlay.quantize(table, "i8")],
            "tables[1] and another one do not both have scales",
        ),
    ]:
        with pytest.raises(ValueError) as error:
            inlay.Table.from_extents(parts)
        assert str(error.value) == text
    with pytest.raises(TypeError, match=r"tables\[1\] has elements of type int64"):
        inlay.Table.from_extents([table, numpy.zeros((2, 12), "i8")])


# ---- Static embeddings


def test_token_mapping(table):
    mapping = numpy.array([3, 3, 49, 0, 7, 8, 1])
    ids = numpy.array([[0, 1, 2], [6, 4, 5]])
    for kind in ("i8", "i4", "u1", "i1"):
        layer = inlay.Layer(table, token_mapping=mapping.astype(kind))
        numpy.testing.assert_array_equal(layer(ids), table[mapping[ids]])
    with pytest.raises(IndexError, match=r"^id 7 at \[0\] is not in the table"):
        inlay.Layer(table, token_mapping=mapping)([7])
    for wrong in (50, -2):
        with pytest.raises(IndexError, match=rf"^token_mapping {wrong} at \[1\] is not in the table$"):
            inlay.Layer(table, token_mapping=[0, wrong])


def test_pruned_ids(table):
    ids, mapping = [[0, 2], [1, 1], [2, 0]], [3, -1, 49]
    zeros = numpy.where(numpy.array(ids)[..., None] == 1, 0, table[numpy.array([3, 0, 49])[ids]])
    numpy.testing.assert_array_equal(inlay.Layer(table, token_mapping=mapping, bad_id="zero")(ids), zeros)
    other = inlay.Layer(table, token_mapping=mapping, bad_id="substitute", substitute_id=2)
    numpy.testing.assert_array_equal(other([1, 2]), table[[49, 49]])
    mean = inlay.Layer(table, token_mapping=mapping, bad_id="skip", pooling="mean")
    numpy.testing.assert_array_equal(mean([[1, 0, 1], [1, 1, 1]]), [table[3], 0 * table[3]])
    with pytest.raises(IndexError, match=r"^id 1 at \[1, 0\] has no row in token_mapping$"):
        inlay.Layer(table, token_mapping=mapping)(ids)
    with pytest.raises(IndexError, match=r"^id 60 at \[0\] is not in the table$"):
        inlay.Layer(table, token_mapping=mapping)([60, 1])
    with pytest.raises(ValueError, match="^bad_id: is CLAMP, but token_mapping has INLAY_NO_ROW"):
        inlay.Layer(table, token_mapping=mapping, bad_id="clamp")


def test_token_weights_and_norm(table, rng):
    mapping, weights = rng.integers(50, size=30), rng.random(30, dtype=f4)
    ids = rng.integers(30, size=(4, 6))
    rows = table[mapping[ids]] * weights[ids][..., None]
    total = rows[:, 0]
    for t in range(1, 6):
        total = total + rows[:, t]
    options = {"token_mapping": mapping, "token_weights": weights, "pooling": "mean"}
    mean = inlay.Layer(table, **options)(ids)
    numpy.testing.assert_array_equal(mean, total / f4(6))
    normed = inlay.Layer(table, **options, norm=inlay.L2Norm())(ids)
    exact = mean.astype("f8") / numpy.sqrt((mean.astype("f8") ** 2).sum(-1, keepdims=True))
    numpy.testing.assert_allclose(normed, exact, rtol=2e-7)
    with pytest.raises(ValueError, match="token_weights: needs pooling"):
        inlay.Layer(table, token_weights=numpy.ones(50, f4))
    with pytest.raises(ValueError, match=r"token_weights has shape \[50\], expected \[30\]"):
        inlay.Layer(table, token_mapping=mapping, token_weights=numpy.ones(50, f4), pooling="sum")
