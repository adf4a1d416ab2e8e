# SPDX-License-Identifier: MIT
"""Objects used by a layer live as long as the layer, and no longer."""

import gc
import weakref

import numpy
import pytest
from measure import leaks

import inlay


class Tracked(numpy.ndarray):
    """An array with weak references and attributes."""


def tracked(values):
    return numpy.array(values, "f4").view(Tracked)


def test_layers_keep_what_they_borrow(rng):
    arrays = {name: tracked(rng.standard_normal((8, 16))) for name in ("table", "positions", "segments")}
    gamma, beta = tracked(rng.standard_normal(16)), tracked(rng.standard_normal(16))
    references = [weakref.ref(a) for a in (*arrays.values(), gamma, beta)]
    layer = inlay.Layer(**arrays, norm=inlay.LayerNorm(gamma, beta))
    expected = layer([1, 2, 3])
    del arrays, gamma, beta
    gc.collect()
    assert all(reference() is not None for reference in references)
    numpy.testing.assert_array_equal(layer([1, 2, 3]), expected)
    del layer
    gc.collect()
    assert all(reference() is None for reference in references)


def test_tables_keep_their_arrays(rng):
    table = inlay.quantize(rng.standard_normal((8, 16)).astype("f4"), "i8")
    data, scales = tracked(table.scales), table.data.view(Tracked)
    references = [weakref.ref(data), weakref.ref(scales)]
    table = inlay.Table(scales, "i8", scales=data)
    layer = inlay.Layer(table)
    del table, data, scales
    gc.collect()
    assert all(reference() is not None for reference in references)
    del layer
    gc.collect()
    assert all(reference() is None for reference in references)


def test_buffers_are_locked_while_borrowed(table):
    memory = bytearray(table.tobytes())
    layer = inlay.Layer(memoryview(memory).cast("B").cast("f", table.shape))
    with pytest.raises(BufferError):
        memory.extend(b"more")
    del layer
    gc.collect()
    memory.extend(b"more")


def test_tensors_are_borrowed_for_as_long_as_needed(table):
    class Tensor:
        def __init__(self, values):
            self.values = values

        def __dlpack__(self, **options):
            return self.values.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.values.__dlpack_device__()

    values = table.copy().view(Tracked)
    reference = weakref.ref(values)
    layer = inlay.Layer(Tensor(values))
    del values
    gc.collect()
    assert reference() is not None
    numpy.testing.assert_array_equal(layer([3]), table[[3]])
    del layer
    gc.collect()
    assert reference() is None


def test_layers_and_tables_take_weak_references(table):
    layer = inlay.Layer(table)
    reference, of_table = weakref.ref(layer), weakref.ref(layer.table)
    assert reference() is layer
    del layer
    assert reference() is None and of_table() is None


def test_calls_leave_no_references(table, way):
    """Successful and failed calls leak nothing."""
    positions, ids = table[:9].copy(), numpy.array([[1, 2], [3, 4]])
    out, starts, offsets = numpy.empty((2, 2, 12), "f4"), numpy.array([0, 1]), numpy.array([0, 1, 4])
    segments = numpy.zeros((2, 2), "i8")
    layer = inlay.Layer(table, positions=positions, segments=table)
    pooled = inlay.Layer(table, pooling="sum")
    weights = numpy.ones((2, 2), "f4")
    calls = [
        lambda: layer(ids),
        lambda: layer(ids, out, starts=starts, segment_ids=segments),
        lambda: layer(ids.reshape(-1), offsets=offsets, padded=True),
        lambda: layer(ids, position_ids=segments[:, ::-1]),
        lambda: pooled(ids, weights=weights),
        lambda: layer(ids + 50, out),
        lambda: layer(ids, out[:1]),
        lambda: layer(ids, out, starts=starts, segment_ids=segments[:1, :1], position_ids=ids),
        lambda: layer(ids, starts=starts + 9),
        lambda: layer(ids, nothing=out),
        lambda: pooled(ids, weights=table),
        lambda: inlay.Layer(table, positions=positions, segments=ids),
        lambda: inlay.Layer(table, norm=inlay.LayerNorm(positions)),
        lambda: inlay.Table(table, scales=positions),
        lambda: inlay.sinusoid(ids, 12, out=out),
        lambda: inlay.sinusoid(-ids, 12),
        lambda: inlay.rotary(ids, 12),
        lambda: inlay.rotary(ids / 7, 12),
        lambda: inlay.rotary(ids * 1e12, 12),
        lambda: inlay.quantize(table, "i8"),
        lambda: inlay.quantize(table, "q8_0"),
        lambda: layer.explain(ids, out),
    ]
    objects = [table, positions, ids, out, starts, offsets, segments, layer, pooled, weights, numpy.ndarray]
    objects += [inlay.Layer, inlay.Table, inlay._core.Output, inlay._core.Formula, "float32", None, True]

    changes, blocks = leaks(calls, objects)
    assert max(map(abs, changes[:-3])) < 10 and max(map(abs, changes[-3:])) < 45, changes
    assert blocks == 0
