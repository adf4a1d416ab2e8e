# SPDX-License-Identifier: MIT
"""Errors of layers and calls: the exception, and a message that names the value and its place."""

import re

import numpy
import pytest

import inlay

CALLS = [
    ({}, ([[1, 2], [3, 50000]],), {}, IndexError, "id 50000 at [1, 1] is not in the table"),
    ({}, ([[[0], [-1]]],), {}, IndexError, "id -1 at [0, 1, 0] is not in the table"),
    ({}, ([1, 2, 50],), {"offsets": [0, 1, 3]}, IndexError, "id 50 at [2] is not in the table"),
    ({"positions": 3}, ([[1, 2], [3, 4]],), {"start": 2}, IndexError, "position 3 at [0, 1] is not in the table of"),
    ({"positions": 3}, ([[1, 2]],), {"start": -1}, IndexError, "position -1 at [0, 0] is not in the table of posit"),
    ({"positions": 3}, ([[1, 2]],), {"position_ids": [[0, 7]]}, IndexError, "position 7 at [0, 1] is not in the table"),
    ({"positions": 3}, ([1, 2, 3],), {"offsets": [0, 1, 3], "starts": [0, 2]}, IndexError, "position 3 at [2] is n"),
    ({"positions": inlay.Sinusoid()}, ([[1, 2]],), {"start": 2**31 - 1}, IndexError,
     "position 2147483648 at [0, 1] is not in [0, 2147483648)"),
    ({"segments": 2}, ([[1, 2]],), {"segment_ids": [[0, 2]]}, IndexError, "segment 2 at [0, 1] is not in the table of"),
    ({}, ([1, 2],), {"offsets": [0, 3]}, ValueError, "offsets[1] is 3: offsets begin at 0, never decrease and end"),
    ({}, ([1, 2],), {"offsets": [1, 2]}, ValueError, "offsets[0] is 1: offsets begin at 0"),
    ({}, ([1, 2],), {"offsets": [0, 2], "padded": 1}, ValueError, "offsets[1] is 2: offsets begin at 0, never decrease and "
     "end at the number of tokens, 2, and no sequence is longer than padded"),
    ({}, ([1, 2],), {"offsets": [0, 0], "padded": True}, ValueError, "padded is 0, but the sequences have 2 tokens"),
    ({}, ([1, 2],), {"offsets": []}, ValueError, "offsets must have one dimension, and one more number"),
    ({}, ([[1, 2]],), {"offsets": [0, 2]}, ValueError, "ids has 2 dimensions, expected 1 with offsets"),
    ({}, ([1, 2],), {"padded": 3}, ValueError, "padded was given, but there are no offsets"),
    ({}, ([1, 2],), {"position_ids": [1, 2]}, ValueError, "position_ids: needs a layer with positions"),
    ({}, ([1, 2],), {"starts": [1]}, ValueError, "starts was given, but this layer has no positions"),
    ({}, ([1, 2],), {"segment_ids": [1, 2]}, ValueError, "segment_ids: needs a layer with segments"),
    ({}, ([1, 2],), {"weights": [1, 2]}, ValueError, "weights: needs a layer with pooling"),
    ({"positions": 3}, ([1],), {"position_ids": [1], "start": 1}, ValueError, "position_ids was given, but start or star"),
    ({"positions": 3}, ([[1], [2]],), {"starts": [1, 2, 3]}, ValueError, "starts has shape [3], expected [2]"),
    ({"positions": 3}, ([[1, 2]],), {"position_ids": [[1, 2, 3]]}, ValueError, "position_ids has shape [1, 3], expected"),
    ({"positions": 3}, ([[1, 2]],), {"position_ids": [[0.5, 1]]}, TypeError, "position_ids has elements of type float64,"),
    ({"positions": 3}, ([1],), {"start": 2**63}, ValueError, "start is 9223372036854775808, which is out of range"),
    ({}, ([1],), {"dropout": 1}, ValueError, "dropout is 1, not in [0, 1)"),
    ({}, ([1],), {"dropout": 0.5, "seed": -1}, ValueError, "seed is -1, which is out of range"),
    ({}, ([1.5],), {}, TypeError,
     'ids has elements of type float64, expected integers: convert it with ids.astype("int64"), or '
     'ids.to(torch.int64) in PyTorch'),
    ({}, (numpy.zeros(2, complex),), {}, TypeError,
     "ids has elements of type complex128, which inlay does not read: take ids.real, or ids.imag"),
    ({}, ([[1, 2], [3]],), {}, ValueError,
     "ids has lists of different lengths: give all ids in one list, and offsets, as in layer([1, 2, 3], offsets=[0, 2, 3])"),
    ({}, ([[[1], [2]], [[3], [4, 5]]],), {}, ValueError, "ids has lists of different lengths: give all ids in one list"),
    ({"positions": 3}, ([1, 2],), {"position_ids": [[1, 2], [1]]}, ValueError, "position_ids has lists of different lengths"),
    ({"positions": 3}, ([1, 2],), {"position_ids": numpy.zeros(2, "f2")}, TypeError,
     'position_ids has elements of type float16, expected integers: convert it with position_ids.astype("int64")'),
    ({"pooling": "sum"}, ([1, 2],), {"weights": numpy.ones(2)}, TypeError,
     'weights has elements of type float64, expected float32: convert it with weights.astype("float32"), or'),
    ({}, ([1], numpy.zeros((1, 12))), {}, TypeError, "out has elements of type float64, expected float32"),
    ({}, ([True],), {}, TypeError, "ids has elements of type bool, expected integers"),
    ({}, (["word"],), {}, TypeError, "ids has elements of type <U4, which inlay does not read"),
    ({}, (numpy.array([1], ">i4"),), {}, TypeError,
     'ids has elements of type >i4; inlay reads little-endian ones: ids.astype("<i4")'),
    ({}, ([1, 2**63],), {}, IndexError, "ids has 9223372036854775808 at [1], which is out of range: it does not fit in"),
    ({}, ([[1], (-(2**63) - 1,)],), {}, IndexError, "ids has -9223372036854775809 at [1, 0], which is out of range"),
    ({}, ([1.5, 2**70],), {}, IndexError, "ids has 1180591620717411303424 at [1], which is out of range"),
    ({}, (2**64,), {}, IndexError, "ids is 18446744073709551616, which is out of range"),
    ({}, ([1, [2**63]],), {}, IndexError, "ids has 9223372036854775808 at [1, 0], which is out of range"),
    ({}, (5,), {"offsets": [0, 1]}, ValueError, "ids has 0 dimensions, expected 1 with offsets: give ids.reshape(-1)"),
    ({}, (numpy.zeros((1,) * 8, "i8"),), {}, ValueError, "ids has 8 dimensions, more than 7"),
    ({}, (numpy.zeros((1,) * 9, "i8"),), {}, ValueError, "ids has 9 dimensions, more than 8"),
    ({}, (object(),), {}, TypeError, "ids has type object, which is not an array"),
    ({}, (), {}, TypeError, "ids is missing"),
    ({}, (None,), {}, TypeError, "ids is missing"),
    ({}, ([1], None, 3), {}, TypeError, "a layer takes ids and out by position, but 3 arguments were given"),
    ({}, ([1],), {"start_position": 3}, TypeError, "a layer has no argument 'start_position'"),
    ({}, ([1],), {"ids": [2]}, TypeError, "'ids' was given twice"),
    ({"segments": 2}, ([1],), {"segment_ids": [0], "token_type_ids": [0]}, TypeError, "'token_type_ids' was given twice"),
]


@pytest.mark.parametrize("options, args, named, error, text", CALLS)
def test_calls(table, way, options, args, named, error, text):
    options = {name: table[:value] if isinstance(value, int) else value for name, value in options.items()}
    layer = inlay.Layer(table, **options)
    with pytest.raises(error, match="^" + re.escape(text)):
        layer(*args, **named)
    layer([[1, 2]])


LAYERS = [
    ({"scale": "cbrt"}, ValueError, "scale must be a number or \"sqrt\", not 'cbrt'"),
    ({"scale": []}, TypeError, ""),
    ({"bad_id": "ignore"}, ValueError, "bad_id is 'ignore', not one of error, clamp, zero, substitute, skip"),
    ({"bad_id": 3}, TypeError, "bad_id is 3, not a string"),
    ({"bad_id": "substitute", "substitute_id": 50}, ValueError, "substitute_id: is not in the vocabulary"),
    ({"positions": numpy.zeros((3, 4), "f4")}, ValueError, "positions has dim 4, and the table has 12"),
    ({"positions": numpy.zeros((3, 12))}, TypeError, "positions has elements of type float64"),
    ({"segments": numpy.zeros((3, 4), "f4")}, ValueError, "segments has dim 4, and the table has 12"),
    ({"positions": inlay.Sinusoid}, TypeError, "positions is <class 'inlay.positions.Sinusoid'>, expected inlay.Sinusoid("),
    ({"positions": "rope"}, ValueError, "positions is 'rope', expected inlay.Sinusoid(recipe=\"exact\") or \"sinusoid\", or a"),
    ({"norm": 3}, TypeError, "norm is 3, expected inlay.LayerNorm(gamma, beta, eps) or \"layer\", inlay.RMSNorm(gamma, eps)"),
    ({"norm": inlay.LayerNorm}, TypeError, "norm is <class 'inlay.norms.LayerNorm'>, expected inlay.LayerNorm(gamma, beta"),
    ({"norm": "batchnorm"}, ValueError, "norm is 'batchnorm', expected inlay.LayerNorm(gamma, beta, eps) or \"layer\", "),
    ({"norm": inlay.LayerNorm(numpy.ones(4, "f4"))}, ValueError, "gamma has shape [4], expected [12]"),
    ({"norm": inlay.LayerNorm(numpy.ones(12))}, TypeError, "gamma has elements of type float64, expected float32"),
    ({"norm": inlay.LayerNorm(numpy.ones(24, "f4")[::2])}, ValueError, "gamma is not contiguous"),
    ({"norm": inlay.RMSNorm(eps=-1)}, ValueError, "eps of a norm must be finite and not negative"),
    ({"pooling": "max"}, ValueError, "pooling is 'max', not one of none, sum, mean"),
    ({"pooling": "sum", "positions": inlay.Sinusoid()}, ValueError, "pooling: excludes positions"),
    ({"position_mode": "padding_aware"}, ValueError, "position_mode: is padding-aware, which needs padding_id"),
    ({"clamp_positions": True}, ValueError, "clamp_positions: needs a table of positions"),
    ({"segments_first": True}, ValueError, "segments_first: needs segments"),
    ({"dtype": "float64"}, TypeError, "dtype is 'float64', not float32, float16 or bfloat16"),
    ({"dtype": float}, TypeError, "dtype is <class 'float'>, not float32"),
    ({"stores": "Stream"}, ValueError, "stores is 'Stream', not one of automatic, cached, streamed"),
    ({"threads": 0}, ValueError, "threads is 0, not in [1, 1024]"),
    ({"cached_positions": -1}, ValueError, "cached_positions is -1, which is out of range"),
    ({"padding": 3}, TypeError, "Layer has no argument 'padding'; nearest: padding_id; all others: table, scale, posi"),
]


@pytest.mark.parametrize("options, error, text", LAYERS)
def test_layers(table, options, error, text):
    with pytest.raises(error, match="^" + re.escape(text)):
        inlay.Layer(table, **options)


@pytest.mark.parametrize(
    "table, options, error, text",
    [
        (numpy.zeros((4, 8)), {}, TypeError, 'table has elements of type float64, expected float32, float16 or bfloat16, or the '
         'bytes of a type that is named: convert it with table.astype("float32"), or table.to(torch.float32) in PyTorch'),
        (numpy.zeros((4, 8), complex), {}, TypeError, "table has elements of type complex128, which inlay does not read: take t"),
        (numpy.zeros((8, 4), "f4").T, {}, ValueError, "table has rows that are not contiguous or run backward: "
         "make a copy with numpy.ascontiguousarray(table), or table.contiguous() in PyTorch"),
        (numpy.zeros((4, 4097), "f4"), {"pooling": "mean"}, ValueError, "pooling: needs a dim of at most 4096"),
        (numpy.zeros((4, 4097), "f4"), {"norm": "rms", "dtype": "float16"}, ValueError, "norm: needs a dim of at most 4096"),
        (numpy.zeros((4, 4097), "f4"), {"positions": "sinusoid", "dtype": "bfloat16"}, ValueError, "sinusoid: needs a dim of at most 4096"),
    ],
)
def test_tables(table, options, error, text):
    with pytest.raises(error, match="^" + re.escape(text)):
        inlay.Layer(table, **options)


def test_threads_and_limits():
    for number, error in ((0, ValueError), (1025, ValueError), (-1, ValueError), ("two", TypeError)):
        with pytest.raises(error):
            inlay.set_num_threads(number)
    with pytest.raises(ValueError, match="the limit of the pool is -1, which is out of range"):
        inlay.pool.limit(-1)
    with pytest.raises(TypeError, match="the limit of the pool must be a number of bytes, not None"):
        inlay.pool.limit(None)


def test_outputs_too_large(table):
    layer = inlay.Layer(table, pooling="sum")
    with pytest.raises(MemoryError):
        layer(numpy.zeros((2**40, 0), "i8"))
    with pytest.raises(ValueError, match="the output does not fit in the address space"):
        layer(numpy.zeros((2**59, 0), "i8"))


def test_copies_too_large(table):
    """Sizes of copies that overflow 64 bits, of arrays that take no memory."""
    with pytest.raises(MemoryError):
        inlay.Layer(table)(numpy.broadcast_to(numpy.int8(0), 2**61 + 1))
