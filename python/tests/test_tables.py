# SPDX-License-Identifier: MIT
"""Tables of all element types, compared with values decoded in NumPy; quantized and random tables."""

import copy
import hashlib
import pathlib
import pickle
import re

import numpy
import pytest

import inlay

f4 = numpy.float32
HALF = numpy.float16


def nibbles(data):
    """The two 4-bit numbers of each byte, the lower half first."""
    return numpy.stack([data & 15, data >> 4], -1).reshape(*data.shape[:-1], -1)


def grouped(table, zero):
    zero = nibbles(table.zeros)[:, : table.dim // table.group] if table.zeros is not None else f4(zero)
    zero = numpy.repeat(zero, table.group, -1) if table.zeros is not None else zero
    return (nibbles(table.data).astype(f4) - zero.astype(f4)) * numpy.repeat(table.scales, table.group, -1)


def grouped_bytes(table, zero):
    zero = f4(zero) if table.zeros is None else numpy.repeat(table.zeros, table.group, -1).astype(f4)
    return (table.data.astype(f4) - zero) * numpy.repeat(table.scales, table.group, -1)


def affine(table, bits):
    rows = numpy.unpackbits(table.data, axis=1, bitorder="little").reshape(table.rows, table.dim, bits)
    numbers = (rows.astype(f4) * 2.0 ** numpy.arange(bits)).sum(-1).astype(f4)
    scale, bias = (numpy.repeat(table.scales[:, i::2], table.group, -1) for i in (0, 1))
    return numbers * scale + bias


def e2m1_f32(table):
    magnitudes = numpy.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], f4)
    values = numpy.concatenate([magnitudes, 0 - magnitudes])
    return values[nibbles(table.data)] * numpy.repeat(table.scales, 16, -1)


def grouped_flat(table, zero):
    if table.zeros is None:
        return grouped(table, zero)
    groups = table.dim // table.group
    zeros = nibbles(table.zeros)[: table.rows * groups].reshape(table.rows, groups)
    zeros = numpy.repeat(zeros, table.group, -1)
    return (nibbles(table.data).astype(f4) - zeros.astype(f4)) * numpy.repeat(table.scales, table.group, -1)


def u8_rowwise(table):
    numbers, tail = table.data[:, : table.dim], table.data[:, table.dim :].copy().view(f4)
    return numbers.astype(f4) * tail[:, :1] + tail[:, 1:]


def rowwise(table, bits, first):
    packed = table.data[:, 4:] if first else table.data[:, :-4]
    pair = (table.data[:, :4] if first else table.data[:, -4:]).copy().view(HALF).astype(f4)
    numbers = packed[..., None] >> numpy.arange(0, 8, bits, "u1") & numpy.uint8(2**bits - 1)
    return numbers.reshape(table.rows, -1)[:, : table.dim].astype(f4) * pair[:, :1] + pair[:, 1:]


def blocks(table, block_bytes):
    data = table.data.reshape(table.rows, -1, block_bytes)
    return data[..., :2].copy().view(HALF).astype(f4), data[..., 2:]


def q8_0(table):
    d, numbers = blocks(table, 34)
    return (numbers.view(numpy.int8).astype(f4) * d).reshape(table.rows, -1)


def q4_0(table):
    d, data = blocks(table, 18)
    numbers = numpy.concatenate([data & 15, data >> 4], -1).astype(f4) - 8
    return (numbers * d).reshape(table.rows, -1)


READ = {
    "float32": lambda t: t.data,
    "float16": lambda t: t.data.astype(f4),
    "bfloat16": lambda t: t.data.astype(f4),
    "i8": lambda t: t.data.astype(f4) * t.scales[:, None],
    "i8_inverse": lambda t: t.data.astype(f4) * (f4(1) / t.scales[:, None]),
    "u8_rowwise": u8_rowwise,
    "u4_rowwise": lambda t: rowwise(t, 4, False),
    "u2_rowwise": lambda t: rowwise(t, 2, False),
    "u8_rowwise_first": lambda t: rowwise(t, 8, True),
    "u4_rowwise_first": lambda t: rowwise(t, 4, True),
    "u2_rowwise_first": lambda t: rowwise(t, 2, True),
    "u4_grouped": lambda t: grouped(t, 8),
    "u4_grouped_flat": lambda t: grouped_flat(t, 0),
    "i8_grouped": lambda t: grouped_bytes(t, 0),
    "u8_grouped": lambda t: grouped_bytes(t, 128),
    "e2m1_f32": e2m1_f32,
    "q8_0": q8_0,
    "q4_0": q4_0,
}
AFFINE = {f"u{bits}_affine": bits for bits in (2, 3, 4, 5, 6, 8)}
READ.update({name: lambda t, bits=bits: affine(t, bits) for name, bits in AFFINE.items()})
GROUPED = [
    ("u4_grouped", 32, True),
    ("u4_grouped", 64, False),
    ("u4_grouped_flat", 32, True),
    ("i8_grouped", 64, True),
    ("i8_grouped", 32, False),
    ("u8_grouped", 32, True),
    ("u8_grouped", 64, False),
]


def check(table, original, bound):
    rows = inlay.Layer(table)(numpy.arange(table.rows))
    numpy.testing.assert_array_equal(rows, READ[table.type](table))
    error = numpy.abs(original.astype(numpy.float64) - rows).max()
    assert error <= bound and abs(error - table.largest_error) <= 1e-6 * bound


@pytest.mark.parametrize("name", [name for name in READ if name not in ("float32", "bfloat16") and "group" not in name
                                  and name not in AFFINE])
def test_types(rng, name):
    original = rng.standard_normal((7, 64)).astype(f4)
    table = inlay.quantize(original, name)
    assert (table.type, table.rows, table.dim) == (name, 7, 64)
    step = numpy.ptp(original) / (255 if "8" in name else 3 if "2" in name[:2] else 15)
    check(table, original, 2e-3 if name == "float16" else step)


def test_bfloat16(rng):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    original = rng.standard_normal((7, 64)).astype(f4)
    table = inlay.quantize(original, "bfloat16")
    assert table.data.dtype == ml_dtypes.bfloat16
    numpy.testing.assert_array_equal(table.data, original.astype(ml_dtypes.bfloat16))
    check(table, original, 0.02)
    bits = inlay.Table(table.data.view("u2"), "bfloat16")
    numpy.testing.assert_array_equal(inlay.Layer(bits)([3]), inlay.Layer(table.data)([3]))


@pytest.mark.parametrize("name, group, zeros", GROUPED)
def test_grouped_types(rng, name, group, zeros):
    original = rng.standard_normal((7, 192)).astype(f4)
    table = inlay.quantize(original, name, group=group, zeros=zeros)
    assert (table.group, table.zeros is not None) == (group, zeros)
    check(table, original, numpy.ptp(original) / 14)


@pytest.mark.parametrize("name", AFFINE)
def test_affine_types(rng, name):
    original = rng.standard_normal((7, 192)).astype(f4)
    table = inlay.quantize(original, name, group=64)
    assert table.group == 64 and table.scales.shape == (7, 6)
    check(table, original, numpy.ptp(original) / (2 ** AFFINE[name] - 1))
    made = inlay.Table(table.data, name, group=64, scales=table.scales)
    numpy.testing.assert_array_equal(inlay.Layer(made)([3]), inlay.Layer(table)([3]))
    with pytest.raises(ValueError, match="takes no zeros"):
        inlay.quantize(original, name, group=64, zeros=True)
    with pytest.raises(ValueError, match="takes no zeros"):
        inlay.Table(table.data, name, group=64, scales=table.scales, zeros=table.data)


def test_odd_dims_of_4_bits_are_stated(rng):
    original = rng.standard_normal((3, 33)).astype(f4)
    table = inlay.quantize(original, "u4_rowwise")
    assert table.dim == 33
    check(table, original, numpy.ptp(original) / 15)
    assert inlay.Table(table.data, "u4_rowwise").dim == 34
    assert inlay.Table(table.data, "u4_rowwise", dim=33).dim == 33


def test_tables_serve_as_positions_and_segments(rng, table):
    other = rng.standard_normal((9, 12)).astype(f4)
    quantized = inlay.quantize(other, "u8_rowwise")
    values = READ["u8_rowwise"](quantized)
    ids = numpy.array([[4, 5, 6]])
    y = inlay.Layer(table, positions=quantized, segments=quantized)(ids, segment_ids=[[8, 0, 3]])
    numpy.testing.assert_array_equal(y, table[ids] + values[:3] + values[[8, 0, 3]])


def test_shards_add_up(table):
    ids = numpy.arange(50)
    whole = inlay.Layer(table, scale=2, positions=inlay.Sinusoid())(ids)
    parts = [inlay.Table(table[:20], vocab=50), inlay.Table(table[20:], first_row=20, vocab=50)]
    sums = sum(inlay.Layer(part, scale=2, positions=inlay.Sinusoid())(ids) for part in parts)
    numpy.testing.assert_array_equal(sums, whole)


def test_strided_rows_are_read_in_place(rng):
    wide = rng.standard_normal((10, 40)).astype(f4)
    part = wide[::2, 3:20]
    layer = inlay.Layer(part)
    numpy.testing.assert_array_equal(layer([4, 0]), part[[4, 0]])
    wide[8, 3] = 77
    assert layer(4)[0] == 77


def test_properties(rng):
    table = inlay.quantize(rng.standard_normal((6, 32)).astype(f4), "i8")
    assert table.nbytes == 6 * 32 + 6 * 4
    assert table.data.dtype == numpy.int8 and table.scales.shape == (6,)
    assert repr(table) == "inlay.Table(i8 [6, 32])"
    assert inlay.Table(table.data, "i8", scales=table.scales).largest_error is None


@pytest.mark.parametrize(
    "make, error, text",
    [
        (lambda t: inlay.Table(t.astype("f8")), TypeError, "float64, expected float32, float16 or bfloat16"),
        (lambda t: inlay.Table(t, "q8_0"), TypeError, "rows of type q8_0 must be uint8 or int8"),
        (lambda t: inlay.Table(t.view("u1"), "q9"), ValueError, "type is 'q9', which is unknown; nearest: "),
        (lambda t: inlay.quantize(t, "q4_k_m"), ValueError, "type is 'q4_k_m', .* nearest: q4_k, q4_0, q4_1$"),
        (lambda t: inlay.quantize(t, "f61"), ValueError, r"type is 'f61', .* nearest: float16 \(F16\), "),
        (lambda t: inlay.Table(t.view("u1")[:, :35], "q8_0"), ValueError, "rows of 35 bytes; .* dim 32 has 34"),
        (lambda t: inlay.Table(t.view("i1"), "i8_inverse"), ValueError, "type i8_inverse requires scales"),
        (lambda t: inlay.Table(t, scales=t[:, 0]), ValueError, "type float32 takes no scales"),
        (
            lambda t: inlay.Table(t.view("i1"), "i8", scales=[1.0]),
            ValueError,
            r"scales has shape \[1\], expected \[50\]",
        ),
        (lambda t: inlay.Table(t[0]), ValueError, "has 1 dimensions, expected 2"),
        (lambda t: inlay.Table(t[::-1]), ValueError, "run backward"),
        (lambda t: inlay.Table(t[:, ::2]), ValueError, "not contiguous"),
        (lambda t: inlay.Table(t, first_row=3), ValueError, "first_row requires vocab"),
        (lambda t: inlay.Table(t, first_row=3, vocab=50), ValueError, r"rows \[3, 53\) don't fit in a vocabulary of 50"),
        (lambda t: inlay.quantize(t, "q8_0"), ValueError,
         "type q8_0 cannot have dim 12: dim must be a multiple of the block size, 32 "),
        (lambda t: inlay.quantize(numpy.zeros((4, 896), "f4"), "q4_k"), ValueError,
         "dim 896: dim must be a multiple of the block size, 256"),
        (lambda t: inlay.Table(numpy.zeros((4, 504), "u1"), "q4_k", dim=896), ValueError, "dim 896: dim must be"),
        (lambda t: inlay.Table(numpy.zeros((4, 8), "u1"), "u2_rowwise"), ValueError,
         "table has rows of 8 bytes; the shortest row of type u2_rowwise has 12$"),
        (lambda t: inlay.Table(numpy.zeros((4, 4), "u1"), "u4_rowwise"), ValueError,
         "table has rows of 4 bytes; the shortest row of type u4_rowwise has 5$"),
        (lambda t: inlay.quantize(t, "u4_grouped", group=8), ValueError, "group 8 must be 16, 32, 64 or 128$"),
        (lambda t: inlay.quantize(t, "u4_affine", group=16), ValueError, "group 16 must be 32, 64 or 128$"),
        (lambda t: inlay.quantize(t, "i8", zeros=True), ValueError, "type i8 takes no zeros or group"),
        (lambda t: inlay.quantize(t * numpy.nan, "i8"), ValueError, "type i8 cannot store a value of the table: it is NaN"),
        (lambda t: inlay.quantize(numpy.full((2, 32), 7e4, "f4"), "u2_rowwise"), ValueError,
         "type u2_rowwise cannot store .* types with float16 scales 65504"),
    ],
)
def test_errors(table, make, error, text):
    with pytest.raises(error, match=text):
        make(table)


@pytest.mark.parametrize("name", ["u4_grouped", "i8_grouped", "u8_grouped"])
@pytest.mark.parametrize("zeros", [False, True])
def test_short_last_group(name, zeros, rng):
    rows = rng.standard_normal((5, 53)).astype(f4)
    whole = inlay.quantize(rows, name, group=16, zeros=zeros)
    last = inlay.quantize(rows[:, 48:].copy(), name, group=16, zeros=zeros)
    assert whole.scales.shape == (5, 4) and last.scales.shape == (5, 1)
    both = [inlay.Layer(table)(list(range(5))) for table in (whole, last)]
    numpy.testing.assert_array_equal(both[0][:, 48:], both[1])
    with pytest.raises(ValueError, match=r"scales has shape \[5, 3\], expected \[5, 4\]"):
        inlay.Table(whole.data, name, dim=53, group=16, scales=numpy.ones((5, 3), f4))


@pytest.mark.parametrize("name", ["float16", "i8", "u4_rowwise", "u4_grouped", "i8_grouped", "e2m1_f32", "q8_0"])
def test_copies(rng, name):
    """Tables, including shards, are copied and pickled with all their properties."""
    table = inlay.quantize(rng.standard_normal((6, 64)).astype(f4), name, zeros="grouped" in name)
    shard = {"scales": table.scales, "zeros": table.zeros, "dim": table.dim, "group": table.group}
    shard = inlay.Table(table.data, name, first_row=10, vocab=20, **shard)
    assert (table.first_row, table.vocab, shard.first_row, shard.vocab) == (0, None, 10, 20)
    for original, ids in ((table, [0, 5]), (shard, [10, 15, 3])):
        for same in (copy.deepcopy(original), pickle.loads(pickle.dumps(original))):
            assert same.data is not original.data and repr(same) == repr(original)
            numpy.testing.assert_array_equal(inlay.Layer(same)(ids), inlay.Layer(original)(ids))


# ---- Random tables ----


def test_random_tables_have_the_bits_of_the_c_library():
    """Three of the tables with hashes in tests/tables/test_random.c."""
    file = pathlib.Path(__file__).parents[2] / "tests" / "tables" / "random_sha256.inc"
    hashes = re.findall(r'"([0-9a-f]{64})"', file.read_text(encoding="utf-8"))
    specs = {
        0: {},
        4: {"kind": "truncated_normal", "mean": 0.25, "std": 0.02, "low": -3, "high": 0.5},
        8: {"kind": "uniform", "mean": 0.25, "std": 0.02, "low": 7, "high": 7, "zero_row": 3},
    }
    for i, spec in specs.items():
        spec.update(seed=i * 12345678912345, offset=i << 33)
        table = inlay.random(40, 33, **spec)
        assert hashlib.sha256(table.tobytes()).hexdigest() == hashes[i]
        parts = [inlay.random(20, 33, first_row=row, **spec) for row in (0, 20)]
        numpy.testing.assert_array_equal(numpy.concatenate(parts), table)


def test_random_distributions():
    normal = inlay.random(1000, 64, seed=1, mean=3, std=0.5)
    assert abs(normal.mean() - 3) < 0.01 and abs(normal.std() - 0.5) < 0.01
    cut = inlay.random(1000, 64, kind="truncated_normal", seed=1)
    assert numpy.abs(cut).max() <= 2 and numpy.abs(cut).max() > 1.99
    uniform = inlay.random(1000, 64, kind="uniform", low=-1, high=3, seed=1, zero_row=2)
    assert uniform.min() >= -1 and uniform.max() <= 3 and abs(uniform.mean() - 1) < 0.02 and not uniform[2].any()
    assert not numpy.array_equal(inlay.random(2, 8, seed=1), inlay.random(2, 8, seed=1, offset=1))
    out = numpy.empty((2, 8), f4)
    assert inlay.random(2, 8, seed=1, out=out) is out


@pytest.mark.parametrize("package", ["numpy", "torch", "jax.numpy"])
def test_tables_without_rows(package):
    """Tables without rows are allowed, rows without columns aren't."""
    package = pytest.importorskip(package)
    table = inlay.Table(package.zeros((0, 8), dtype=package.float32))
    assert (table.rows, table.dim) == (0, 8)
    for layer in inlay.Layer(table), inlay.Layer(numpy.zeros((8, 0), f4).T):
        assert numpy.asarray(layer(numpy.zeros((2, 0), "i8"))).shape == (2, 0, 8)
        with pytest.raises(IndexError, match=r"id 0 at \[0\]"):
            layer([0])
    with pytest.raises(ValueError, match="table has no columns"):
        inlay.Table(numpy.zeros((8, 0), f4))
