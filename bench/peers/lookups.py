# SPDX-License-Identifier: MIT
"""The shapes and memory of lookups in large tables of short rows, as in Engram, Qwen4Exp and BLT.

A shape is a stage of a lookup. `hash` computes the row ids of a call's tokens, `rows` gathers the rows of given ids,
and `lookup` does both. All contenders read the same table, ids and histories. Ids differ from call to call, so no cache
holds the rows. lookup_contenders.py has the implementations of each stage.
"""
import collections
import functools
import itertools

import numpy

from fixture import free_bytes, pages

TABLE_BYTES = 2 << 30  # or a third of free memory
CALL_TOKENS = 1 << 16  # of all calls before ids repeat; they use 1.0 or 1.6 million rows
SCALE = 181 / 2**14  # of a whole E4M3 table: 8 bits, so bfloat16 holds it and products with it are rounded
SUM_TOLERANCE = 2.0**-7  # relative to the sum of magnitudes: a peer may add in another order or in bfloat16
TARGET = 3  # times faster than every peer
BLOCK = 32  # columns per E8M0 scale
E4M3 = "e4m3", "e4m3_e8m0"

# The rows that a model's tokens use. N-grams have 2 to `length` ids, with equally many columns per length. Moduli and
# multipliers are made up like the model's: only their sizes matter.
Family = collections.namedtuple("Family", "name vocab mapped length columns")
ENGRAM = Family("Engram", 129280, 99092, 4, 24)  # ids with the same text share a number
QWEN = Family("Qwen", 248320, None, 3, 16)  # the end of a text resets the hash
END_OF_TEXT = 7


class Shape(collections.namedtuple("Shape", "stage family type dim out combine batch seq")):
    @property
    def name(self):
        if self.stage == "hash":
            return f"hash {self.family.name} {self.family.columns} rows, t{self.seq}"
        summed = " summed" if self.combine == "sum" else ""
        return f"{self.stage} {self.type} {self.family.columns}x{self.dim}{summed} to {self.out}, t{self.seq}"

    @property
    def output(self):
        if self.stage == "hash":
            return self.seq, self.family.columns
        return self.seq, self.dim * (1 if self.combine == "sum" else self.family.columns)

    @property
    def output_bytes(self):
        item = 8 if self.stage == "hash" else 4 if self.out == "float32" else 2
        return item * self.output[0] * self.output[1]

    @property
    def bytes(self):
        """The table with scales, ids, outputs, and each peer's float32 intermediates."""
        return table_bytes() * 33 // 32 + CALL_TOKENS * 8 * (self.family.columns + 2) + 16 * self.output_bytes


TABLES = [
    (ENGRAM, "bfloat16", 64, "bfloat16", "concat"),
    (QWEN, "bfloat16", 160, "bfloat16", "concat"),
    (QWEN, "e4m3", 160, "bfloat16", "concat"),
    (QWEN, "e4m3", 160, "float32", "concat"),
    (ENGRAM, "e4m3_e8m0", 256, "bfloat16", "concat"),
    (ENGRAM, "bfloat16", 64, "bfloat16", "sum"),
]
SHAPES = [
    *(Shape("rows", *table, 1, tokens) for table in TABLES for tokens in (1, 16, 256, 4096)),
    *(Shape("lookup", *table, 1, tokens) for table in TABLES for tokens in (1, 16, 256, 4096)),
    *(Shape("hash", *table, 1, tokens) for table in (TABLES[0], TABLES[2]) for tokens in (1, 16, 256, 4096)),
]


@functools.cache
def table_bytes():
    return min(TABLE_BYTES, free_bytes() // 3)


@functools.cache
def table_memory():
    """Returns the bytes of all tables. As bfloat16 they are normal numbers below 2. As E4M3 none is NaN, and some are
    subnormal."""
    memory, step = pages((table_bytes() // 4,), numpy.uint32), 1 << 20
    for i in range(0, len(memory), step):
        part = memory[i : i + step]
        part[:] = numpy.arange(i, i + len(part), dtype=numpy.uint32) * numpy.uint32(2654435761)
        part ^= part >> 15
        part &= 0xBFBFBFBF
        part |= 0x01010101
    return memory.view(numpy.uint8)


@functools.cache
def scale_memory(rows, blocks):
    """Returns E8M0 scales, powers of two from 2^-10 to 2^5."""
    scales = pages((rows, blocks), numpy.uint8)
    scales[:] = numpy.random.default_rng(2).integers(117, 133, scales.shape, numpy.uint8)
    return scales


def e4m3_values():
    """Returns the values of all 256 codes, as float32."""
    codes = numpy.arange(256)
    exponent, mantissa = codes >> 3 & 15, codes & 7
    magnitude = numpy.where(exponent > 0, (8 + mantissa) * 2.0 ** (exponent - 10), mantissa * 2.0**-9)
    magnitude[codes & 127 == 127] = numpy.nan
    return numpy.where(codes > 127, -magnitude, magnitude).astype(numpy.float32)


def bfloat16_bits(x):
    """Returns the bits of finite float32 numbers rounded to bfloat16, to nearest even."""
    bits = x.view(numpy.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(numpy.uint16)


class Hash:
    """The hash of a family over `rows` rows of a table, with arrays as in checkpoints."""

    def __init__(self, family, rows):
        rng = numpy.random.default_rng(3)
        self.family, self.pad, self.per_length = family, END_OF_TEXT, family.columns // (family.length - 1)
        part = rows // family.columns
        numbers = numpy.arange(family.columns)
        self.lengths = 2 + numbers // self.per_length
        self.moduli = part - 2 * (numbers + 1) | 1  # odd, and different for each column
        self.offsets = numbers * part
        self.multipliers = 2 * rng.integers(2**62 // family.vocab, size=family.length) + 1  # products are below 2^63
        self.resets = [] if family.mapped else [END_OF_TEXT]
        self.token_map = rng.integers(family.mapped, size=family.vocab) if family.mapped else None

    def rows(self, ids):
        """The definition. Returns the rows of all ids except the first length - 1, which are history."""
        words = (ids if self.token_map is None else self.token_map[ids]).astype(numpy.uint64)
        first, blocked = self.family.length - 1, numpy.zeros(len(ids) - self.family.length + 1, bool)
        mixed, out = numpy.uint64(0), numpy.empty((len(blocked), self.family.columns), numpy.int64)
        for place in range(self.family.length):
            behind = slice(first - place, len(ids) - place)
            if place > 0:
                blocked = blocked | numpy.isin(ids[behind], self.resets)
            word = numpy.where(blocked, numpy.uint64(self.pad), words[behind])
            mixed = mixed ^ word * numpy.uint64(self.multipliers[place])
            for column in numpy.flatnonzero(self.lengths == place + 1):
                out[:, column] = mixed.view(numpy.int64) % self.moduli[column] + self.offsets[column]
        return out


@functools.cache
def calls_of(family, rows):
    """Returns the hash, ids preceded by a history, and their rows."""
    made = Hash(family, rows)
    rng = numpy.random.default_rng(1)
    ids = pages((family.length - 1 + CALL_TOKENS,), numpy.int64)
    ids[:] = rng.integers(0, family.vocab, ids.shape)  # random over the whole vocabulary
    ids[rng.random(len(ids)) < 1 / 128] = END_OF_TEXT
    given = pages((CALL_TOKENS, family.columns), numpy.int64)
    given[:] = made.rows(ids)
    return made, ids, given


class Fixture:
    """One shape. `ids`, `histories` and `row_ids` have an entry per call; step() returns the index of the next one."""

    own_tolerance = 0  # of inlay

    def __init__(self, shape):
        self.shape = shape
        self.scale = SCALE if shape.type == "e4m3" else 1.0
        row_bytes = shape.dim * (2 if shape.type == "bfloat16" else 1)
        count = table_bytes() // row_bytes
        self.table = table_memory()[: count * row_bytes].reshape(count, row_bytes)
        if shape.type == "bfloat16":
            self.table = self.table.view(numpy.uint16)
        self.scales = scale_memory(count, shape.dim // BLOCK) if shape.type == "e4m3_e8m0" else None
        self.hash, ids, rows = calls_of(shape.family, count)
        before = shape.family.length - 1
        starts = range(0, CALL_TOKENS, shape.seq)
        self.ids = [ids[before + i : before + i + shape.seq].reshape(1, -1) for i in starts]
        self.histories = [ids[i : i + before].reshape(1, -1) for i in starts]
        self.row_ids = [rows[i : i + shape.seq] for i in starts]
        self.step = itertools.cycle(range(len(self.ids))).__next__
        self.out_dtype = numpy.dtype(numpy.int64 if shape.stage == "hash" else self._element)
        self.out = pages(shape.output, self.out_dtype)
        self.tolerance = SUM_TOLERANCE if shape.combine == "sum" and shape.stage != "hash" else 0

    @property
    def _element(self):
        """bfloat16 is stored as its bits: NumPy has no such type."""
        return numpy.float32 if self.shape.out == "float32" else numpy.uint16

    def clear(self):
        self.out.view(numpy.uint8).fill(255)  # NaN, or an id of no row

    def _expand(self, ids):
        """Returns rows of the table as float32 [..., dim]."""
        codes = self.table[ids]
        if self.shape.type == "bfloat16":
            return (codes.astype(numpy.uint32) << 16).view(numpy.float32)
        values = e4m3_values()[codes]
        if self.scales is None:
            return values * numpy.float32(self.scale)
        powers = numpy.exp2(self.scales[ids].astype(numpy.float32) - 127)
        return values * powers.repeat(BLOCK, -1)

    def difference(self, output):
        """Returns the deviation of the last call's output from the definition: 0 if all bits agree, infinite if shape
        or type are wrong, else the largest difference. For sums it is relative to the sum of magnitudes."""
        ids = self.row_ids[self.step() - 1]  # of the last call: the index before this one
        output = output.view(self.out_dtype) if output.itemsize == self.out_dtype.itemsize else output
        if output.size != self.out.size or output.dtype != self.out_dtype:
            return numpy.inf
        output = output.reshape(self.out.shape)
        if self.shape.stage == "hash":
            return 0.0 if numpy.array_equal(output, ids) else numpy.inf
        rows = self._expand(ids)
        magnitudes = numpy.float32(1)
        if self.shape.combine == "sum":
            magnitudes = numpy.abs(rows).sum(1)
            rows = functools.reduce(numpy.add, rows.swapaxes(0, 1))
        right = rows.reshape(output.shape)
        if self.out_dtype == numpy.uint16:
            right = bfloat16_bits(numpy.ascontiguousarray(right))
        if numpy.array_equal(output.view(right.dtype), right):
            return 0.0
        if self.out_dtype == numpy.uint16:
            output, right = ((x.astype(numpy.uint32) << 16).view(numpy.float32) for x in (output, right))
        most = (numpy.abs(output - right) / magnitudes).max()
        return float(most) if most == most else numpy.inf


def is_fp8(row):
    return row["type"] in E4M3


# The project's goals: description, how many times faster, which rows.
GOALS = [
    ("rows of FP8, every peer", TARGET, lambda r: r["stage"] == "rows" and is_fp8(r)),
    ("rows of bfloat16, every peer", TARGET, lambda r: r["stage"] == "rows" and not is_fp8(r)),
    ("hashed lookups of FP8 rows, every peer", TARGET, lambda r: r["stage"] == "lookup" and is_fp8(r)),
    ("hashed lookups of bfloat16 rows, every peer", TARGET, lambda r: r["stage"] == "lookup" and not is_fp8(r)),
    ("the hash alone, every peer", TARGET, lambda r: r["stage"] == "hash"),
    ("every peer, everywhere", 1, lambda r: True),
]


def describe(shape):
    """Returns fields of the report's rows that the shape's name doesn't have."""
    return {"stage": shape.stage, "type": shape.type if shape.stage != "hash" else "", "tokens": shape.seq}
