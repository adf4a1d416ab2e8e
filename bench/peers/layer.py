# SPDX-License-Identifier: MIT
"""inlay's contenders: inlay_forward() of libinlay.so, called through ctypes with prepared arguments, and
inlay.Layer."""
import ctypes
import functools

import numpy

from fixture import ALLOCATED, NEW, REUSED, USED, Contender

POINTER, SIZE = ctypes.c_void_p, ctypes.c_size_t
F32 = 1  # INLAY_F32
SIGNATURES = {
    "inlay_version": (ctypes.c_char_p,),
    "inlay_isa": (ctypes.c_char_p,),
    "inlay_sqrt_dim": (ctypes.c_float, SIZE),
    "inlay_forward": (ctypes.c_int, POINTER, POINTER, POINTER, SIZE, POINTER, POINTER),
    "inlay_layer_destroy": (None, POINTER),
    "inlay_sinusoid_destroy": (None, POINTER),
    "inlay_sinusoid_rows": (ctypes.c_int, POINTER, ctypes.c_int64, SIZE, ctypes.c_int, POINTER, SIZE, POINTER),
    "peers_sinusoid": (POINTER, SIZE),
    "peers_sinusoid_layer": (POINTER, POINTER, SIZE, SIZE, POINTER, SIZE),
    "peers_learned_layer": (POINTER, POINTER, SIZE, SIZE, POINTER, SIZE),
    "peers_encoder_layer": (POINTER, POINTER, SIZE, SIZE, POINTER, SIZE, POINTER, POINTER, POINTER, ctypes.c_float),
    "peers_batch_bytes": (SIZE,),
    "peers_batch": (None, POINTER, POINTER, POINTER, SIZE, SIZE),
    "peers_executor": (POINTER, SIZE),
    "peers_read": (ctypes.c_uint32, POINTER, SIZE, SIZE),
    "peers_repeat": (None, SIZE, POINTER, POINTER, POINTER, SIZE, POINTER, SIZE),
}


class Inlay:
    sinusoid, learned = "inlay, cached sinusoids", "inlay, learned positions"

    def __init__(self, library, handles, threads):
        libraries = {"inlay": ctypes.CDLL(library), "peers": ctypes.CDLL(handles)}
        for name, (result, *arguments) in SIGNATURES.items():
            function = getattr(libraries[name.partition("_")[0]], name)
            function.restype, function.argtypes = result, arguments
            setattr(self, "_" + name, function)
        self.version = f"{self._inlay_version().decode()} ({self._inlay_isa().decode()})"
        self._executor = POINTER(self._peers_executor(threads)) if threads > 1 else None
        self._threads = threads
        self._made = []  # (destroy function, handle)

    def sqrt_dim(self, dim):
        return numpy.float32(self._inlay_sqrt_dim(dim))

    def sinusoids(self, dim, rows):
        """Returns the sinusoids of positions [0, rows)."""
        out, handle = numpy.empty((rows, dim), numpy.float32), self._peers_sinusoid(dim)
        status = self._inlay_sinusoid_rows(handle, 0, rows, F32, out.ctypes.data, out.strides[0], None)
        self._inlay_sinusoid_destroy(handle)
        assert status == 0, status
        return out

    def _keep(self, destroy, handle):
        if not handle:
            raise MemoryError("inlay could not make a handle")
        self._made.append((destroy, handle))
        return handle

    def _layers(self, fixture):
        shape, table, destroy = fixture.shape, fixture.table.ctypes.data, self._inlay_layer_destroy
        sinusoid = self._keep(self._inlay_sinusoid_destroy, self._peers_sinusoid(shape.dim))
        cached = self._peers_sinusoid_layer(table, shape.vocab, shape.dim, sinusoid, shape.seq)
        yield self.sinusoid, self._keep(destroy, cached)
        positions = fixture.positions.ctypes.data
        learned = self._peers_learned_layer(table, shape.vocab, shape.dim, positions, shape.seq)
        yield self.learned, self._keep(destroy, learned)

    def _batch(self, ids, segment_ids, sequences, length):
        batch = ctypes.create_string_buffer(self._peers_batch_bytes())
        self._peers_batch(batch, ids, segment_ids, sequences, length)
        return ctypes.cast(batch, POINTER)  # keeps the buffer alive

    def contenders(self, fixture):
        """Yields a contender per layer and mode. Arguments are ctypes objects, so a call converts nothing."""
        shape, stride = fixture.shape, SIZE(4 * fixture.shape.dim)
        segment_ids = None if fixture.segment_ids is None else fixture.segment_ids.ctypes.data
        batch = self._batch(fixture.ids.ctypes.data, segment_ids, shape.batch, shape.seq)
        forward, executor = self._inlay_forward, self._executor
        size, empty, float32 = shape.output, numpy.empty, numpy.dtype("float32")
        memory = (ctypes.c_char * shape.output_bytes).from_buffer  # faster than out.ctypes.data

        def allocating(layer):
            def call():
                out = empty(size, float32)
                forward(layer, batch, memory(out), stride, executor, None)
                return out

            return call

        for name, layer in self._layers(fixture):
            layer = POINTER(layer)
            call = functools.partial(forward, layer, batch, POINTER(fixture.out.ctypes.data), stride, executor, None)
            yield Contender(name, REUSED, call, lambda status: fixture.out)
            yield Contender(name, ALLOCATED, allocating(layer), lambda out: out)
            calls = max(1, 2**20 // shape.output_bytes)
            call = functools.partial(
                self._peers_repeat, calls, layer, batch, fixture.out.ctypes.data, stride, executor
            )
            for read in (0, shape.output_bytes // 4):
                yield Contender(
                    name, USED, functools.partial(call, read), lambda none: fixture.out, calls, read=read > 0
                )
        # A ctypes call with no sequences: its time is the overhead of ctypes.
        self.without_work = functools.partial(forward, layer, self._batch(None, None, 0, 1), POINTER(), stride, None, None)

    def reading(self, contender, output_bytes):
        """Returns the contender with its output read once after each call, by the same compiled loop for all
        contenders."""
        call, read, words, threads = contender.call, self._peers_read, SIZE(output_bytes // 4), SIZE(self._threads)
        where = contender.where or (lambda result: contender.array(result).__array_interface__["data"][0])

        def both():
            result = call()
            read(where(result), words, threads)

        return contender._replace(call=both, read=True)

    def leave(self):
        """Destroys the handles made for a fixture."""
        while self._made:
            destroy, handle = self._made.pop()
            destroy(handle)


class Package:
    """The Python package, under the same names as the layers in C."""

    def __init__(self, threads):
        import inlay

        self.inlay = inlay
        inlay.set_num_threads(threads)
        self.version = f"its Python package {inlay.__version__} ({inlay.isa()})"

    def contenders(self, fixture):
        inlay = self.inlay
        for name, positions in ((Inlay.sinusoid, inlay.Sinusoid()), (Inlay.learned, fixture.positions)):
            layer = inlay.Layer(fixture.table, scale="sqrt", positions=positions)
            yield Contender(name, NEW, functools.partial(layer, fixture.ids), numpy.asarray)
