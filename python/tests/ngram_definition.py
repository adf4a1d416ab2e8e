# SPDX-License-Identifier: MIT
"""Hashed n-grams by the definition in inlay/ngram.h, one token at a time with Python integers."""

import numpy

f32 = numpy.float32


def words(spec, before, ids, t):
    """Returns the numbers of an n-gram: pad from the first blocked place on."""
    sequence = [*before, *ids[: t + 1]]
    made, blocked = [], False
    for s in range(spec["length"]):
        absent = s >= len(sequence)
        place = None if absent else int(sequence[-1 - s])
        blocked = blocked or absent or place in spec.get("masks", ()) or (s > 0 and place in spec.get("resets", ()))
        token_map = spec.get("token_map")
        made.append(spec.get("pad", 0) if blocked else place if token_map is None else int(token_map[place]))
    return made


def row_id(spec, column, places):
    """Returns the row of a column, or -1 for none."""
    total = 0
    for word, multiplier in zip(places[: column["length"]], spec["multipliers"][column.get("vector", 0)]):
        product = word * int(multiplier) % 2**64
        total = total ^ product if spec["mix"] == "xor" else (total + product) % 2**64
    signed = total - 2**64 if total >= 2**63 else total
    remainder = signed % column["modulus"]
    if remainder == 0 and spec.get("zero_is_none"):
        return -1
    return column.get("offset", 0) + remainder


def row_ids(spec, sequences, histories=None):
    """Returns the row ids [tokens, columns] of concatenated sequences, each with the ids before it."""
    histories = histories if histories is not None else [[]] * len(sequences)
    rows = [
        [row_id(spec, column, words(spec, before, ids, t)) for column in spec["columns"]]
        for before, ids in zip(histories, sequences)
        for t in range(len(ids))
    ]
    return numpy.array(rows, numpy.int64).reshape(-1, len(spec["columns"]))


def gather(spec, tables, ids, scale=1):
    """Returns rows [tokens, columns, dim] of float32 tables for row ids, with zeros for -1."""
    rows = numpy.zeros((*ids.shape, tables[0].shape[1]), f32)
    for c, column in enumerate(spec["columns"][: ids.shape[1]]):
        table = tables[column.get("table", 0)].astype(f32)
        there = ids[:, c] >= 0
        rows[there, c] = table[ids[there, c]] * f32(scale)
    return rows


def add_up(rows, ids):
    """Adds the rows of each token in the order of columns."""
    sums = numpy.zeros((rows.shape[0], rows.shape[2]), f32)
    for t in range(rows.shape[0]):
        there = [rows[t, c] for c in range(rows.shape[1]) if ids[t, c] >= 0]
        if there:
            sums[t] = there[0]
        for row in there[1:]:
            sums[t] = sums[t] + row
    return sums
