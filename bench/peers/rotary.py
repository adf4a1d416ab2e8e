# SPDX-License-Identifier: MIT
"""The rotation of queries and keys, as in Llama: shapes, memory, and the contenders. All share queries and keys
[1, heads, tokens, columns], in the memory order that projections write: all heads of a token, then the next token.
peers.py sets the environment variables of the frameworks before it imports this file.
"""
import collections
import functools

import numpy

import contenders
from fixture import ALLOCATED, NEW, REUSED, Contender, fill, pages
from layer import Package as LayerPackage

HEADS = QUERIES, KEYS = 32, 8
COLUMNS, BASE, LIMIT = 128, 500000.0, 4096  # the tokens of a call are the last ones below position LIMIT
ABSENT = [
    "ONNX Runtime is missing in bfloat16: its RotaryEmbedding has float32 and float16 on CPUs",
    "ggml is missing: its rotation is an operation of graphs, which Python can't build",
]


class Shape(collections.namedtuple("Shape", "seq type")):
    batch = 1

    @property
    def name(self):
        return f"{self.seq} tokens {self.type}"

    @property
    def output(self):
        return self.seq, sum(HEADS), COLUMNS

    @property
    def output_bytes(self):
        return numpy.prod(self.output) * (4 if self.type == "float32" else 2)

    @property
    def bytes(self):
        return 8 * self.output_bytes


SHAPES = [Shape(tokens, kind) for kind in ("float32", "bfloat16") for tokens in (1, 64, 512, 4096)]


class Fixture:
    """`pair` and `out` are queries and keys, as tensors of PyTorch: NumPy has no bfloat16."""

    def __init__(self, shape):
        import torch

        self.shape, self.torch, self.start = shape, torch, LIMIT - shape.seq
        exact = shape.type == "float32"
        self.own_tolerance = 2.0**-21 if exact else 1.01 * 2.0**-8  # results are below 2
        self.tolerance = 4e-6 if exact else 3 * 2.0**-8  # peers round cosines, sines and products to bfloat16
        self.pair, self.out = ([self._tensor(heads) for heads in HEADS] for _ in range(2))
        angles = numpy.arange(self.start, LIMIT)[:, None] * BASE ** -(numpy.arange(0, COLUMNS, 2) / COLUMNS)
        self.cos, self.sin = numpy.cos(angles), numpy.sin(angles)

    def _tensor(self, heads):
        """Returns [1, heads, tokens, columns] of numbers in [-1, 1)."""
        numbers = numpy.empty((1, self.shape.seq, heads, COLUMNS), numpy.float32)
        fill(numbers)
        if self.shape.type == "float32":
            made = self.torch.from_numpy(pages(numbers.shape))
        else:
            made = self.torch.from_numpy(pages(numbers.shape, numpy.int16)).view(self.torch.bfloat16)
        made.copy_(self.torch.from_numpy(numbers))
        return made.transpose(1, 2)

    def array(self, pair):
        """Returns queries and keys as one array [tokens, heads, columns] of float32."""
        return self.torch.cat([x[0].transpose(0, 1).float() for x in pair], 1).numpy()

    def clear(self):
        for x in self.out:
            x.fill_(self.torch.nan)

    def difference(self, output):
        """Returns the largest deviation of an output from the definition in float64; infinite if its shape is wrong or
        it has a NaN."""
        if output.shape != self.shape.output:
            return numpy.inf
        first, second = numpy.split(self.array(self.pair).astype(numpy.float64), 2, -1)
        cos, sin = self.cos[:, None], self.sin[:, None]
        right = numpy.concatenate([first * cos - second * sin, second * cos + first * sin], -1)
        most = numpy.abs(right - output).max()
        return numpy.inf if numpy.isnan(most) else float(most)


class Package(LayerPackage):
    arrays, module = "inlay.Rotary", "inlay.torch.Rotary"

    def contenders(self, fixture):
        import inlay.torch

        rotary, module = self.inlay.Rotary(COLUMNS, BASE), inlay.torch.Rotary(COLUMNS, BASE)
        options = {"start": fixture.start, "heads_first": True}
        call = functools.partial(rotary, *fixture.pair, **options)
        yield Contender(self.arrays, REUSED, functools.partial(call, out=tuple(fixture.out)), fixture.array)
        yield Contender(self.arrays, NEW, call, fixture.array)
        yield Contender(self.module, NEW, functools.partial(module, *fixture.pair, **options), fixture.array)


class PyTorch(contenders.PyTorch):
    plain, compiled = contenders.PyTorch.plain, contenders.PyTorch.compiled
    about = {
        plain: (False, "apply_rotary_pos_emb of transformers: two products and a sum per tensor, and a concatenation"),
        compiled: (True, "inductor: the same, fused; reused: out.copy_() inside the compiled function"),
    }

    def contenders(self, fixture):
        torch = self.torch
        tables = [torch.from_numpy(x).repeat(1, 2)[None].to(fixture.pair[0].dtype) for x in (fixture.cos, fixture.sin)]

        def rotate_half(x):
            half = x.shape[-1] // 2
            return torch.cat((-x[..., half:], x[..., :half]), -1)

        def rotate(queries, keys, cos, sin):
            cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
            return queries * cos + rotate_half(queries) * sin, keys * cos + rotate_half(keys) * sin

        def rotate_into(outs, *inputs):
            for out, rotated in zip(outs, rotate(*inputs)):
                out.copy_(rotated)

        torch._dynamo.reset()  # compile each shape as the only one
        inputs = (*fixture.pair, *tables)
        compiled, into = (torch.compile(f, dynamic=False, fullgraph=True) for f in (rotate, rotate_into))
        yield Contender(self.plain, ALLOCATED, functools.partial(rotate, *inputs), fixture.array)
        yield Contender(self.compiled, ALLOCATED, functools.partial(compiled, *inputs), fixture.array)
        reused = functools.partial(into, fixture.out, *inputs)
        yield Contender(self.compiled, REUSED, reused, lambda none: fixture.array(fixture.out))


class OnnxRuntime(contenders.OnnxRuntime):
    plain = contenders.OnnxRuntime.plain
    about = {plain: (True, "RotaryEmbedding for queries and for keys, [1, tokens, heads * columns]; outputs are bound")}

    def contenders(self, fixture):
        if fixture.shape.type != "float32":
            return
        make = self.onnx.helper
        flat = lambda x: x.transpose(1, 2).reshape(1, fixture.shape.seq, -1).numpy()
        given = {
            "queries": flat(fixture.pair[0]), "keys": flat(fixture.pair[1]),
            "positions": numpy.arange(fixture.shape.seq)[None],
            "cos": fixture.cos.astype(numpy.float32), "sin": fixture.sin.astype(numpy.float32),
        }
        out = dict(zip(("new_queries", "new_keys"), map(flat, fixture.out)))
        nodes = [
            make.make_node("RotaryEmbedding", [x, "positions", "cos", "sin"], [f"new_{x}"], domain="com.microsoft")
            for x in ("queries", "keys")
        ]
        infos = [
            [make.make_tensor_value_info(n, make.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in arrays.items()]
            for arrays in (given, out)
        ]
        graph = make.make_graph(nodes, "rotary", *infos)
        domains = [make.make_opsetid("", 17), make.make_opsetid("com.microsoft", 1)]
        model = make.make_model(graph, opset_imports=domains, ir_version=8).SerializeToString()
        session = self.runtime.InferenceSession(model, self.options, providers=["CPUExecutionProvider"])
        fixture.bound = given, out  # a binding keeps no references
        binding = session.io_binding()
        for name, x in given.items():
            binding.bind_input(name, "cpu", 0, x.dtype.type, x.shape, x.ctypes.data)
        for name, x in out.items():
            binding.bind_output(name, "cpu", 0, numpy.float32, x.shape, x.ctypes.data)
        call = functools.partial(session.run_with_iobinding, binding)
        yield Contender(self.plain, REUSED, call, lambda none: fixture.array(fixture.out))


PEERS = [PyTorch, OnnxRuntime]
GOALS = [
    ("PyTorch eager, 64 tokens and more", 10, lambda r: r["peer"] == PyTorch.plain and not r["decode"]),
    ("every peer, everywhere", 1, lambda r: True),
]
