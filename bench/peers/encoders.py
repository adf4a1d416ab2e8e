# SPDX-License-Identifier: MIT
"""The input layer of BERT-like encoders: (tokens + segments) + learned positions, then LayerNorm. Shapes, memory, and the
contenders. peers.py sets the environment variables of the frameworks before it imports this file.
"""
import functools

import numpy

import contenders
import fixture
import layer
from fixture import ALLOCATED, NEW, REUSED, Contender

EPSILON = 1e-12
SHAPES = [  # MiniLM, BERT, XLM-R large
    fixture.Shape(1, 16, 384, 30522),
    fixture.Shape(1, 128, 384, 30522),
    fixture.Shape(1, 128, 768, 30522),
    fixture.Shape(8, 128, 768, 30522),
    fixture.Shape(32, 128, 384, 30522),
    fixture.Shape(32, 512, 768, 30522),
    fixture.Shape(1, 16, 1024, 250002),
    fixture.Shape(32, 128, 1024, 250002),
]


class Fixture(fixture.Fixture):
    own_tolerance = 4 * 2.0**-22  # 4 ULP of |y| < 4

    def __init__(self, shape):
        super().__init__(shape, numpy.float32(1), lambda dim, rows: self._filled(rows, dim))
        self.segments = self._filled(2, shape.dim)
        self.gamma, self.beta = self._filled(2, shape.dim) / 4
        self.gamma += 1
        self.segment_ids = fixture.pages(self.ids.shape, numpy.int64)  # the second half of each sequence is a passage
        self.segment_ids[:] = numpy.arange(shape.seq) >= shape.seq // 2
        self.segment_ids32 = fixture.pages(self.ids.shape, numpy.int32)
        self.segment_ids32[:] = self.segment_ids

    @staticmethod
    def _filled(rows, dim):
        table = fixture.pages((rows, dim))
        fixture.fill(table)
        return table

    def expected(self, i):
        x = self.table[self.ids[i]] + self.segments[self.segment_ids[i]] + self.positions
        x = x.astype(numpy.float64)
        x -= x.mean(-1, keepdims=True)
        return x / numpy.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * self.gamma + self.beta


class Inlay(layer.Inlay):
    encoder = "inlay"

    def _layers(self, fixture):
        shape = fixture.shape
        addresses = [x.ctypes.data for x in (fixture.segments, fixture.gamma, fixture.beta)]
        made = self._peers_encoder_layer(
            fixture.table.ctypes.data, shape.vocab, shape.dim, fixture.positions.ctypes.data, shape.seq, *addresses,
            EPSILON
        )
        yield self.encoder, self._keep(self._inlay_layer_destroy, made)


class Package(layer.Package):
    def contenders(self, fixture):
        made = self.inlay.Layer(
            fixture.table, positions=fixture.positions, segments=fixture.segments, segments_first=True,
            norm=self.inlay.LayerNorm(fixture.gamma, fixture.beta, EPSILON)
        )
        call = functools.partial(made, fixture.ids, segment_ids=fixture.segment_ids)
        yield Contender(Inlay.encoder, NEW, call, numpy.asarray)


class PyTorch(contenders.PyTorch):
    plain, compiled = contenders.PyTorch.plain, contenders.PyTorch.compiled
    about = {
        plain: (
            False,
            "embedding, embedding, add, add, layer_norm, each into a new tensor, or reused: index_select(out=), add_, "
            "native_layer_norm.out",
        ),
        compiled: (True, "inductor: C++ loops, one that sums and takes statistics, one that normalizes"),
    }

    def contenders(self, fixture):
        torch, embedding = self.torch, self.torch.nn.functional.embedding
        names = ("ids", "segment_ids", "table", "segments", "positions", "gamma", "beta")
        inputs = [torch.from_numpy(getattr(fixture, name)) for name in names]
        ids, segment_ids, table, segments, positions, gamma, beta = inputs
        out, width = torch.from_numpy(fixture.out), (fixture.shape.dim,)
        rows = torch.empty(fixture.shape.output)
        statistics = [torch.empty(*fixture.shape.output[:2], 1) for _ in range(2)]
        flat_ids, flat_rows = ids.view(-1), rows.view(-1, *width)
        norm_into = torch.ops.aten.native_layer_norm.out

        def encode(ids, segment_ids, table, segments, positions, gamma, beta):
            rows = embedding(ids, table) + embedding(segment_ids, segments) + positions
            return torch.nn.functional.layer_norm(rows, width, gamma, beta, EPSILON)

        def reused():
            torch.index_select(table, 0, flat_ids, out=flat_rows)
            rows.add_(embedding(segment_ids, segments)).add_(positions)
            return norm_into(rows, width, gamma, beta, EPSILON, out0=out, out1=statistics[0], out2=statistics[1])[0]

        yield Contender(self.plain, ALLOCATED, functools.partial(encode, *inputs), torch.Tensor.numpy)
        yield Contender(self.plain, REUSED, reused, torch.Tensor.numpy)
        yield from self.compile(encode, fixture, *inputs)


class OnnxRuntime(contenders.OnnxRuntime):
    plain, valued = contenders.OnnxRuntime.plain, contenders.OnnxRuntime.valued
    about = {
        plain: (
            True,
            "EmbedLayerNormalization; reused: the output is bound; allocated: run(), which copies the output to an "
            "array of NumPy",
        ),
        valued: (True, "the same by run_with_ort_values(), which copies no output and takes longer to call"),
    }

    def model(self, fixture):
        given = {
            "ids": fixture.ids32,
            "segment_ids": fixture.segment_ids32,
            **{name: getattr(fixture, name) for name in ("table", "positions", "segments", "gamma", "beta")},
        }
        node = self.onnx.helper.make_node(
            "EmbedLayerNormalization", list(given), ["out", "mask"], domain="com.microsoft", epsilon=EPSILON
        )
        return [node], [], given


class Jax(contenders.Jax):
    about = {
        contenders.Jax.plain: (
            True,
            "XLA: as in Flax, variance = mean of squares - mean^2; ids not checked; reused: the last output is donated",
        ),
    }

    def contenders(self, fixture):
        jax = self.jax
        names = ("ids32", "segment_ids32", "table", "segments", "positions", "gamma", "beta")

        def encode(ids, segment_ids, table, segments, positions, gamma, beta):
            rows = table.at[ids].get(mode="promise_in_bounds")
            rows = rows + segments.at[segment_ids].get(mode="promise_in_bounds") + positions
            mean = rows.mean(-1, keepdims=True)
            variance = (rows * rows).mean(-1, keepdims=True) - mean * mean
            return (rows - mean) * (jax.lax.rsqrt(variance + EPSILON) * gamma) + beta

        yield from self.jit(encode, fixture, *(jax.dlpack.from_dlpack(getattr(fixture, name)) for name in names))


PEERS = [PyTorch, OnnxRuntime, Jax]
