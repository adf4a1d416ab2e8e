# SPDX-License-Identifier: MIT
"""The peers: the same layer as users of each framework usually write it, and as they write it to avoid allocations.

Each class is one framework. Its constructor raises ImportError if the wheel is missing. contenders(fixture) yields its
ways of computing the layer. For each, `about` gives whether the framework fuses the three operations and how it differs
from inlay. peers.py sets the environment variables of these frameworks before it imports this file.
"""
import functools

import numpy

from fixture import ALLOCATED, KEPT, REUSED, Contender


class NumPy:
    plain, tuned = "NumPy", "NumPy, in place"
    about = {
        plain: (False, "three passes, each into a new array"),
        tuned: (False, "three passes; take(mode='clip', out=), then multiply and add with out="),
    }

    def __init__(self, threads):
        self.version = f"NumPy {numpy.__version__}" + (", which has only one thread" if threads > 1 else "")

    def contenders(self, fixture):
        table, ids, positions, scale, out = fixture.table, fixture.ids, fixture.positions, fixture.scale, fixture.out

        def reused():
            table.take(ids, 0, out, "clip")
            numpy.multiply(out, scale, out)
            return numpy.add(out, positions, out)

        def tuned():
            rows = table.take(ids, 0, None, "clip")
            rows *= scale
            rows += positions
            return rows

        yield Contender(self.tuned, REUSED, reused, numpy.asarray)
        yield Contender(self.plain, ALLOCATED, lambda: table[ids] * scale + positions, numpy.asarray)
        yield Contender(self.tuned, ALLOCATED, tuned, numpy.asarray)


class PyTorch:
    plain, tuned, compiled = "PyTorch eager", "PyTorch eager, tuned", "torch.compile"
    module = "PyTorch module"
    about = {
        module: (False, "the module of tutorials: nn.Embedding, times sqrt(dim), plus a slice of a buffer"),
        plain: (
            False,
            "three passes, each through the dispatcher; each allocates, or reused: index_select(out=), mul_, add_",
        ),
        tuned: (False, "two passes: index_select, then one add whose alpha is the scale, into the gathered rows"),
        compiled: (
            True,
            "inductor: one pass in C++ (gcc -march=native) that reads positions again for each sequence, cached "
            "stores; guards in every call; reused: out.copy_() inside the compiled function",
        ),
    }

    def __init__(self, threads):
        import torch

        self.torch = torch
        torch.set_num_threads(threads)
        if torch.get_num_interop_threads() != 1:  # can only be set once
            torch.set_num_interop_threads(1)
        self.mode = torch.inference_mode()
        self.mode.__enter__()  # never exited
        self.version = f"PyTorch {torch.__version__.partition('+')[0]} ({torch.backends.cpu.get_cpu_capability()})"

    def contenders(self, fixture):
        torch, embedding = self.torch, self.torch.nn.functional.embedding
        table, ids, positions, out = map(torch.from_numpy, (fixture.table, fixture.ids, fixture.positions, fixture.out))
        scale, array = float(fixture.scale), torch.Tensor.numpy
        flat_ids, flat_out = ids.view(-1), out.view(-1, fixture.shape.dim)

        def plain():
            return embedding(ids, table) * scale + positions

        def plain_reused():
            torch.index_select(table, 0, flat_ids, out=flat_out)
            return out.mul_(scale).add_(positions)

        def tuned():
            rows = embedding(ids, table)
            return torch.add(positions, rows, alpha=scale, out=rows)

        def tuned_reused():
            torch.index_select(table, 0, flat_ids, out=flat_out)
            return torch.add(positions, out, alpha=scale, out=out)

        class Module(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.tokens = torch.nn.Embedding.from_pretrained(table)
                self.register_buffer("positions", positions.unsqueeze(0))

            def forward(self, ids):
                return self.tokens(ids) * scale + self.positions[:, : ids.shape[1]]

        yield Contender(self.module, ALLOCATED, functools.partial(Module().eval(), ids), array)
        yield Contender(self.plain, ALLOCATED, plain, array)
        yield Contender(self.plain, REUSED, plain_reused, array)
        yield Contender(self.tuned, ALLOCATED, tuned, array)
        yield Contender(self.tuned, REUSED, tuned_reused, array)

        def layer(ids, table, positions):
            return embedding(ids, table) * scale + positions

        yield from self.compile(layer, fixture, ids, table, positions)

    def compile(self, layer, fixture, *inputs):
        """Yields layer(*inputs), compiled."""
        torch = self.torch

        def layer_into(out, *inputs):
            out.copy_(layer(*inputs))

        torch._dynamo.reset()  # compile each shape as the only one
        call = torch.compile(layer, dynamic=False, fullgraph=True)
        call_into = torch.compile(layer_into, dynamic=False, fullgraph=True)
        out = torch.from_numpy(fixture.out)
        yield Contender(self.compiled, ALLOCATED, functools.partial(call, *inputs), torch.Tensor.numpy)
        yield Contender(self.compiled, REUSED, functools.partial(call_into, out, *inputs), lambda none: fixture.out)


class OnnxRuntime:
    plain, valued = "ONNX Runtime", "ONNX Runtime, OrtValues"
    about = {
        plain: (
            False,
            "Gather, Mul, Add; between them memory of its arena; reused: the output is bound; "
            "allocated: run(), which copies the output to an array of NumPy",
        ),
        valued: (False, "the same by run_with_ort_values(), which copies no output and takes longer to call"),
    }

    def __init__(self, threads):
        import onnx
        import onnxruntime

        self.onnx, self.runtime = onnx, onnxruntime
        self.options = onnxruntime.SessionOptions()
        self.options.intra_op_num_threads = threads
        self.options.inter_op_num_threads = 1
        self.options.log_severity_level = 3
        self.version = f"ONNX Runtime {onnxruntime.__version__}"

    def model(self, fixture):
        """Returns the nodes, the initializers and the inputs. Table and positions are inputs, so they stay in the
        fixture's memory."""
        make, types = self.onnx.helper, self.onnx.TensorProto
        nodes = [
            make.make_node("Gather", ["table", "ids"], ["rows"], axis=0),
            make.make_node("Mul", ["rows", "scale"], ["scaled"]),
            make.make_node("Add", ["scaled", "positions"], ["out"]),
        ]
        scale = make.make_tensor("scale", types.FLOAT, [], [float(fixture.scale)])
        return nodes, [scale], {"table": fixture.table, "ids": fixture.ids, "positions": fixture.positions}

    def _serialized(self, fixture, nodes, initializers, given):
        make = self.onnx.helper
        inputs = [
            make.make_tensor_value_info(name, make.np_dtype_to_tensor_dtype(x.dtype), x.shape)
            for name, x in given.items()
        ]
        outputs = [make.make_tensor_value_info("out", self.onnx.TensorProto.FLOAT, fixture.shape.output)]
        graph = make.make_graph(nodes, "layer", inputs, outputs, initializers)
        domains = [make.make_opsetid("", 17), make.make_opsetid("com.microsoft", 1)]
        return make.make_model(graph, opset_imports=domains, ir_version=8).SerializeToString()

    def contenders(self, fixture):
        nodes, initializers, given = self.model(fixture)
        model = self._serialized(fixture, nodes, initializers, given)

        def session():
            return self.runtime.InferenceSession(model, self.options, providers=["CPUExecutionProvider"])

        bound = session()
        binding = bound.io_binding()
        for name, x in given.items():
            binding.bind_input(name, "cpu", 0, x.dtype.type, x.shape, x.ctypes.data)
        binding.bind_output("out", "cpu", 0, numpy.float32, fixture.out.shape, fixture.out.ctypes.data)
        yield Contender(
            self.plain, REUSED, functools.partial(bound.run_with_iobinding, binding), lambda none: fixture.out
        )
        call = functools.partial(session().run, ["out"], given)
        yield Contender(self.plain, ALLOCATED, call, lambda outputs: outputs[0])
        values = {name: self.runtime.OrtValue.ortvalue_from_numpy(x) for name, x in given.items()}
        call = functools.partial(session().run_with_ort_values, ["out"], values)
        yield Contender(self.valued, ALLOCATED, call, lambda outputs: outputs[0].numpy())


class Jax:
    plain = "JAX (jit)"
    about = {
        plain: (
            True,
            "XLA: one pass, cached stores, ids not checked (promise_in_bounds); reused: the last output is "
            "donated",
        )
    }

    def __init__(self, threads):
        import jax

        self.jax = jax
        jax.config.update("jax_cpu_enable_async_dispatch", False)
        self.version = f"JAX {jax.__version__}"

    def contenders(self, fixture):
        jax, scale = self.jax, fixture.scale
        # Views of the fixture's memory, which is aligned to a page.
        table, ids, positions = map(jax.dlpack.from_dlpack, (fixture.table, fixture.ids32, fixture.positions))

        def layer(ids, table, positions):
            return table.at[ids].get(mode="promise_in_bounds") * scale + positions

        yield from self.jit(layer, fixture, ids, table, positions)

    def jit(self, layer, fixture, *inputs):
        """Yields layer(*inputs), compiled."""
        jax = self.jax

        def layer_into(last, *inputs):
            return layer(*inputs)

        new = jax.jit(layer)
        yield Contender(self.plain, ALLOCATED, lambda: new(*inputs).block_until_ready(), numpy.asarray)
        into = jax.jit(layer_into, donate_argnums=0, keep_unused=True)
        last = [jax.numpy.zeros(fixture.shape.output, "float32")]
        where = last[0].unsafe_buffer_pointer()

        def reused():
            last[0] = into(last[0], *inputs).block_until_ready()
            return last[0]

        if reused().unsafe_buffer_pointer() == where:
            # A copy for the comparison: an array that NumPy views can't be donated.
            where = type(last[0]).unsafe_buffer_pointer
            yield Contender(self.plain, REUSED, reused, lambda output: numpy.array(output.copy()), where=where)


class TensorFlow:
    plain, graph, compiled = "TensorFlow eager", "TensorFlow graph", "TensorFlow XLA"
    about = {
        plain: (False, "three passes; has no out=; new outputs from an arena that keeps their memory"),
        graph: (False, "a concrete tf.function: three operations; the last two may write where the first did"),
        compiled: (True, "the same with jit_compile=True: XLA, one pass, cached stores; no out="),
    }

    def __init__(self, threads):
        import tensorflow

        self.tf = tensorflow
        tensorflow.config.threading.set_intra_op_parallelism_threads(threads)
        tensorflow.config.threading.set_inter_op_parallelism_threads(1)
        self.version = f"TensorFlow {tensorflow.__version__}"

    def contenders(self, fixture):
        tf = self.tf
        # Views of the fixture's memory.
        arrays = (fixture.table, fixture.ids32, fixture.positions)
        table, ids, positions = (tf.experimental.dlpack.from_dlpack(x.__dlpack__()) for x in arrays)
        scale = tf.constant(fixture.scale)

        def layer(ids, table, positions):
            return tf.gather(table, ids) * scale + positions

        def concrete(**options):
            return tf.function(layer, **options).get_concrete_function(ids, table, positions)

        def address(output):  # numpy() copies
            return numpy.asarray(memoryview(output)).__array_interface__["data"][0]

        for name, made in (
            (self.plain, layer),
            (self.graph, concrete()),
            (self.compiled, concrete(jit_compile=True)),
        ):
            call = functools.partial(made, ids, table, positions)
            yield Contender(name, KEPT, call, lambda x: x.numpy(), where=address)


PEERS = [NumPy, PyTorch, OnnxRuntime, Jax, TensorFlow]
# Peers that readers may expect here, and why they are missing.
ABSENT = [
    "CTranslate2 is missing: it has no call for the input layer alone, and its encoder has at least one block",
]
