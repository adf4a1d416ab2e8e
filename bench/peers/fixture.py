# SPDX-License-Identifier: MIT
"""The shapes, and the memory of one shape that all contenders share: table, ids, positions and output."""
import collections
import mmap
import os

import numpy

HUGE_PAGE = 1 << 21
HUGE = os.environ.get("NUMPY_MADVISE_HUGEPAGE") != "0"
# Who provides the memory of an output: the caller once, the system in each call, or an arena. USED is inlay as called
# from C, with the caller's memory; NEW is inlay as called from Python.
REUSED, ALLOCATED, KEPT, USED, NEW = "reused", "allocated", "kept", "used", "new"

# call() is timed and makes `calls` calls. array(result) is its output as a NumPy array. where(result) is the output's
# address, if array() copies. `read`: the output is read once after each call.
Contender = collections.namedtuple("Contender", "name mode call array calls where read", defaults=(1, None, False))


class Shape(collections.namedtuple("Shape", "batch seq dim vocab")):
    @property
    def name(self):
        return f"{self.batch}x{self.seq} d{self.dim} v{self.vocab // 1000}k"

    @property
    def output(self):
        return self.batch, self.seq, self.dim

    @property
    def output_bytes(self):
        return 4 * self.batch * self.seq * self.dim

    @property
    def bytes(self):
        """The table, each contender's positions, and outputs: shared, donated, kept in arenas."""
        return 4 * self.dim * (self.vocab + 4 * self.seq) + 8 * self.output_bytes


SHAPES = [
    Shape(32, 512, 512, 50000),
    Shape(32, 512, 768, 50000),
    Shape(8, 2048, 4096, 128000),
    Shape(8, 8192, 1024, 32000),
    Shape(6, 3000, 2560, 20000),
    Shape(12, 700, 1280, 40000),
    Shape(24, 300, 640, 60000),
    Shape(1, 2048, 4096, 32000),
    Shape(1, 6000, 1024, 60000),
    Shape(1, 1500, 3072, 30000),
    Shape(64, 1, 4096, 32000),
    Shape(1, 128, 512, 50000),
    Shape(1, 1, 512, 50000),
]


def pages(shape, dtype=numpy.float32):
    """Returns an array aligned to a huge page, with advice to use huge pages or to avoid them, as in inlay_bench."""
    size = int(numpy.prod(shape)) * numpy.dtype(dtype).itemsize
    whole = -(-size // HUGE_PAGE) * HUGE_PAGE + HUGE_PAGE
    memory = mmap.mmap(-1, whole, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    try:
        memory.madvise(mmap.MADV_HUGEPAGE if HUGE else mmap.MADV_NOHUGEPAGE)
    except (AttributeError, OSError):
        pass  # small pages, for every contender
    raw = numpy.frombuffer(memory, numpy.uint8)
    offset = -raw.ctypes.data % HUGE_PAGE
    return raw[offset : offset + size].view(dtype).reshape(shape)


def free_bytes():
    with open("/proc/meminfo", encoding="ascii") as lines:
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))


def fill(table):
    """Fills with floats in [-1, 1), of both signs and many exponents, by a fast multiplicative hash."""
    flat, step = table.reshape(-1), 1 << 20
    for i in range(0, len(flat), step):
        part = flat[i : i + step]
        hashed = numpy.arange(i, i + len(part), dtype=numpy.uint32) * numpy.uint32(2654435761)
        numpy.multiply(hashed.view(numpy.int32), numpy.float32(2**-31), out=part, casting="unsafe")


class Fixture:
    tolerance = 1e-5  # a peer may fuse the product and the sum: an ULP of |x| < 64 is at most 3.9e-6
    own_tolerance = 0  # of inlay
    segment_ids = None

    def __init__(self, shape, scale, sinusoids):
        """`sinusoids(dim, rows)` returns the positional encodings."""
        self.shape, self.scale = shape, scale
        self.table = pages((shape.vocab, shape.dim))
        fill(self.table)
        self.positions = pages((shape.seq, shape.dim))
        self.positions[:] = sinusoids(shape.dim, shape.seq)
        self.ids = pages((shape.batch, shape.seq), numpy.int64)  # random over the whole vocabulary
        self.ids[:] = numpy.random.default_rng(1).integers(0, shape.vocab, self.ids.shape)
        self.ids32 = pages(self.ids.shape, numpy.int32)  # for peers without int64 ids
        self.ids32[:] = self.ids
        self.out = pages(shape.output)
        self.out.fill(0)

    def clear(self):
        self.out.fill(numpy.nan)

    def difference(self, output):
        """Returns the largest deviation of an output from the definition; infinite if its shape is wrong or it has a
        NaN."""
        if output.shape != self.shape.output or output.dtype != numpy.float32:
            return numpy.inf
        most = 0.0
        for i, rows in enumerate(output):
            right = self.expected(i)
            right -= rows
            numpy.abs(right, out=right)
            most = max(most, float(right.max())) if not numpy.isnan(right.max()) else numpy.inf
        return most

    def expected(self, i):
        """Returns the output rows of sequence i by definition."""
        return self.table[self.ids[i]] * self.scale + self.positions
