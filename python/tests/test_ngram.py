# SPDX-License-Identifier: MIT
"""inlay.NGram: row ids, gathered rows and histories, compared with the definition in Python integers."""

import copy
import gc
import json
import pathlib
import pickle
import weakref

import ngram_definition as definition
import numpy
import pytest

import inlay

VOCAB, DIM = 50, 12
ROOT = pathlib.Path(__file__).parents[2]
# The specs of examples/ngram, and the golden files in tests/data/ngram with the same hash.
MODELS = {
    "engram-v41": "engram-v41",
    "qwen4exp": "qwen-flash-next",
    "longcat-lite": "longcat-lite",
    "longcat-next": "longcat-next",
    "blt": "blt-3to8",
}


def xor_spec(**options):
    """Two orders with two heads each, an end of text and an image."""
    return {
        "vocab": VOCAB,
        "length": 3,
        "mix": "xor",
        "columns": [
            {"length": 2, "vector": 0, "modulus": 11, "table": 0, "offset": 0},
            {"length": 2, "vector": 1, "modulus": 13, "table": 0, "offset": 11},
            {"length": 3, "vector": 0, "modulus": 17, "table": 0, "offset": 24},
            {"length": 3, "vector": 1, "modulus": 1, "table": 0, "offset": 41},
        ],
        "multipliers": [[0x123456789ABCDEF, 0x3333333333333331, 7], [5, 11, 2**63 - 25]],
        "pad": 2,
        "resets": [2, 9],
        "masks": [4],
        **options,
    }


def add_spec(**options):
    """Sums that wrap to negative numbers, separate tables, and remainders that mean no row."""
    return {
        "vocab": VOCAB,
        "length": 4,
        "mix": "add",
        "columns": [
            {"length": 1, "vector": 0, "modulus": 5, "table": 0, "offset": 0},
            {"length": 4, "vector": 0, "modulus": 42, "table": 1, "offset": 0},
            {"length": 3, "vector": 1, "modulus": 7, "table": 0, "offset": 3},
        ],
        "multipliers": [[-(2**63) + 1, 2**62 + 1, 3, -(2**40)], [-1, 50, 2500, 125000]],
        "pad": 2**32 - 1,
        "token_map": numpy.arange(VOCAB, dtype=numpy.uint32)[::-1] * 3,
        "zero_is_none": True,
        **options,
    }


SPECS = {"xor": xor_spec(), "add": add_spec(), "long": xor_spec(length=5, multipliers=[[3, 5, 7, 9, 11], [1] * 5])}


@pytest.fixture(params=SPECS)
def spec(request):
    return SPECS[request.param]


@pytest.fixture
def tables(rng):
    return [rng.standard_normal((42, DIM)).astype("f4") for _ in range(2)]


@pytest.fixture
def ids(rng):
    found = rng.integers(VOCAB, size=(3, 8))
    found[:, 3], found[1, 5], found[2, 4] = 2, 4, 9
    return found


def test_row_ids(spec, ids, way):
    ngram = inlay.NGram(**spec)
    made = ngram.ids(ids)
    assert made.shape == (3, 8, len(spec["columns"])) and made.dtype == numpy.int64
    numpy.testing.assert_array_equal(made.reshape(24, -1), definition.row_ids(spec, ids))
    numpy.testing.assert_array_equal(ngram.ids(ids[1]), made[1])
    numpy.testing.assert_array_equal(ngram.ids(ids.reshape(3, 1, 8)), made[:, None])
    numpy.testing.assert_array_equal(ngram.ids(ids.astype("i4"), dtype="int32"), made)
    numpy.testing.assert_array_equal(ngram.ids(ids.tolist(), dtype=numpy.int32), made)
    numpy.testing.assert_array_equal(ngram.ids(ids.astype("u1")), made)
    numpy.testing.assert_array_equal(ngram.ids(ids.T[::-1, ::-1].T[::-1, ::-1], threads=2), made)
    numpy.testing.assert_array_equal(ngram.ids(int(ids[0, 0])), made[0, 0])
    assert ngram.ids(ids, dtype="int32").dtype == numpy.int32
    assert ngram.ids(ids[:, :0]).shape == (3, 0, len(spec["columns"])) and ngram.ids([]).shape[0] == 0


def test_ranges_of_columns(spec, ids):
    ngram = inlay.NGram(**spec)
    made = ngram.ids(ids)
    numpy.testing.assert_array_equal(ngram.ids(ids, first_column=1), made[..., 1:])
    numpy.testing.assert_array_equal(ngram.ids(ids, first_column=1, columns=2), made[..., 1:3])
    numpy.testing.assert_array_equal(ngram.ids(ids, columns=1), made[..., :1])


def test_ragged_row_ids(spec, ids):
    ngram = inlay.NGram(**spec)
    flat, offsets = ids.reshape(-1), [0, 5, 5, 6, 24]
    sequences = [flat[a:b] for a, b in zip(offsets, offsets[1:])]
    numpy.testing.assert_array_equal(ngram.ids(flat, offsets=offsets), definition.row_ids(spec, sequences))
    length = spec["length"] - 1
    history = numpy.arange(4 * length).reshape(4, length) % VOCAB
    lengths = [length, 0, 1, 2]
    befores = [row[length - n :] for row, n in zip(history, lengths)]
    made = ngram.ids(flat, offsets=numpy.array(offsets, "i4"), history=history, history_lengths=lengths)
    numpy.testing.assert_array_equal(made, definition.row_ids(spec, sequences, befores))


def test_a_sequence_in_parts(spec, ids):
    ngram = inlay.NGram(**spec)
    whole = ngram.ids(ids)
    history, lengths = None, None
    for begin, end in [(0, 1), (1, 2), (2, 4), (4, 4), (4, 8)]:
        part = ids[:, begin:end]
        made = ngram.ids(part, history=history, history_lengths=lengths)
        numpy.testing.assert_array_equal(made, whole[:, begin:end])
        history, lengths = ngram.history(part, history=history, history_lengths=lengths)
        n = min(end, spec["length"] - 1)
        assert history.shape == (3, spec["length"] - 1) and history.dtype == ids.dtype
        assert lengths.dtype == numpy.int32 and lengths.tolist() == [n] * 3
        numpy.testing.assert_array_equal(history[:, history.shape[1] - n :], ids[:, end - n : end])
        assert not history[:, : history.shape[1] - n].any()
    assert lengths.tolist() == [spec["length"] - 1] * 3
    numpy.testing.assert_array_equal(
        ngram.ids([[7]] * 3, history=history), ngram.ids([[7]] * 3, history=history, history_lengths=lengths)
    )


def test_rollback_of_rejected_tokens(spec, ids):
    ngram = inlay.NGram(**spec)
    history, lengths = ngram.history(ids[:, :3])
    accepted = [0, 2, 5]
    after, counts = ngram.history(ids[:, 3:], accepted, history=history, history_lengths=lengths)
    for b, count in enumerate(accepted):
        expected = ids[b, : 3 + count][-(spec["length"] - 1) :]
        assert counts[b] == len(expected)
        numpy.testing.assert_array_equal(after[b, after.shape[1] - counts[b] :], expected)


def test_histories_in_place(ids):
    ngram = inlay.NGram(**xor_spec())
    history, lengths = ngram.history(ids)
    expected = ngram.history(ids[:, :1], history=history, history_lengths=lengths)
    made = ngram.history(ids[:, :1], history=history, history_lengths=lengths, out=history, out_lengths=lengths)
    assert made[0] is history and made[1] is lengths
    numpy.testing.assert_array_equal(history, expected[0])


def test_histories_of_one_sequence(ids):
    ngram = inlay.NGram(**xor_spec())
    history, lengths = ngram.history(ids[0])
    assert history.tolist() == [ids[0, 6:].tolist()] and lengths.tolist() == [2]
    whole = ngram.ids([*history[0].tolist(), 7])[-1:]
    numpy.testing.assert_array_equal(ngram.ids([7], history=history, history_lengths=lengths), whole)
    numpy.testing.assert_array_equal(ngram.ids([7], history=history[0], history_lengths=2), whole)
    assert ngram.history(ids[0], 3)[0].tolist() == [ids[0, 1:3].tolist()]


def test_histories_of_other_integers(ids):
    ngram = inlay.NGram(**xor_spec())
    history, lengths = ngram.history(ids)
    expected = ngram.ids(ids, history=history)
    for kind in ("i1", "u2", "i4", "u8"):
        numpy.testing.assert_array_equal(ngram.ids(ids, history=history.astype(kind)), expected)
        made = ngram.ids(ids.astype(kind), history=history, history_lengths=lengths.astype(kind))
        numpy.testing.assert_array_equal(made, expected)


@pytest.mark.parametrize("scale", [1, 0.3, 0])
def test_rows(spec, tables, ids, scale):
    ngram = inlay.NGram(**spec)
    rows = ngram.ids(ids).reshape(24, -1)
    expected = definition.gather(spec, tables, rows, scale)
    columns = len(spec["columns"])
    y = ngram(ids, tables, scale=scale)
    assert y.shape == (3, 8, columns * DIM) and y.dtype == numpy.float32
    numpy.testing.assert_array_equal(y.reshape(expected.shape), expected)
    planar = ngram(ids, tables, scale=scale, planar=True)
    assert planar.shape == (columns, 3, 8, DIM)
    numpy.testing.assert_array_equal(planar, expected.reshape(3, 8, columns, DIM).transpose(2, 0, 1, 3))
    total = ngram(ids, tables, scale=scale, combine="sum")
    assert total.shape == (3, 8, DIM)
    numpy.testing.assert_array_equal(total.reshape(24, DIM), definition.add_up(expected, rows))
    part = ngram(ids, tables, scale=scale, first_column=1, columns=2)
    numpy.testing.assert_array_equal(part, y[..., DIM : 3 * DIM])


def test_rows_with_histories(spec, tables, ids):
    ngram = inlay.NGram(**spec)
    whole = ngram(ids, tables)
    history, lengths = ngram.history(ids[:, :3])
    numpy.testing.assert_array_equal(ngram(ids[:, 3:], tables, history=history, history_lengths=lengths), whole[:, 3:])
    made = ngram(ids.reshape(-1), tables, offsets=[0, 8, 16, 24], planar=True)
    numpy.testing.assert_array_equal(made.transpose(1, 0, 2).reshape(whole.shape), whole)


def test_types_of_rows(tables, ids):
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="there is no ml_dtypes")
    spec = add_spec()
    ngram = inlay.NGram(**spec)
    rows = ngram.ids(ids).reshape(24, -1)
    halves = [tables[0].astype("f2"), tables[1].astype(ml_dtypes.bfloat16)]
    expected = definition.gather(spec, halves, rows, 2.5)
    for dtype in ("float32", "float16", ml_dtypes.bfloat16):
        y = ngram(ids, halves, scale=2.5, dtype=dtype)
        numpy.testing.assert_array_equal(y.reshape(expected.shape), expected.astype(dtype))
    quantized = [inlay.quantize(table, "i8") for table in tables]
    read = [inlay.Layer(table)(numpy.arange(42)) for table in quantized]
    numpy.testing.assert_array_equal(ngram(ids, quantized).reshape(expected.shape), definition.gather(spec, read, rows))


def test_one_table_and_missing_ones(tables, ids):
    ngram = inlay.NGram(**xor_spec())
    y = ngram(ids, tables)
    numpy.testing.assert_array_equal(ngram(ids, tables[0]), y)
    numpy.testing.assert_array_equal(ngram(ids, inlay.Table(tables[0])), y)
    numpy.testing.assert_array_equal(ngram(ids, (tables[0], None)), y)
    both = inlay.NGram(**add_spec())
    numpy.testing.assert_array_equal(
        both(ids, [None, tables[1]], first_column=1, columns=1), both(ids, tables)[..., DIM : 2 * DIM]
    )


def test_outputs_of_the_caller(tables, ids):
    ngram = inlay.NGram(**xor_spec())
    y = ngram(ids, tables[0])
    wide = numpy.full((3, 8, 4 * DIM + 5), 9, "f4")
    assert ngram(ids, tables[0], out=wide[..., : 4 * DIM]) is not None
    numpy.testing.assert_array_equal(wide[..., : 4 * DIM], y)
    assert (wide[..., 4 * DIM :] == 9).all()
    planar = numpy.full((4, 3, 8, DIM + 3), 9, "f4")
    ngram(ids, tables[0], planar=True, out=planar[..., :DIM])
    numpy.testing.assert_array_equal(planar[..., :DIM], ngram(ids, tables[0], planar=True))
    assert (planar[..., DIM:] == 9).all()
    rows = numpy.zeros((3, 8, 4), "i4")
    assert ngram.ids(ids, out=rows, dtype="int32") is rows
    numpy.testing.assert_array_equal(rows, ngram.ids(ids))


def test_large_calls_and_threads(tables, rng, threads):
    ngram = inlay.NGram(**xor_spec())
    ids = rng.integers(VOCAB, size=(4, 3000))
    one = ngram(ids, tables[0], threads=1)
    threads(3)
    numpy.testing.assert_array_equal(ngram(ids, tables[0]), one)
    numpy.testing.assert_array_equal(ngram.ids(ids).reshape(12000, 4), definition.row_ids(xor_spec(), ids))


def test_memory_comes_from_the_pool(tables, rng, pool):
    ngram = inlay.NGram(**xor_spec())
    ids = rng.integers(VOCAB, size=(4, 300))
    y = ngram(ids, tables[0])
    assert pool.stats()["used_blocks"] == 1
    del y
    assert pool.stats()["used_blocks"] == 0


def test_token_maps(ids):
    spec = add_spec()
    expected = definition.row_ids(spec, ids)
    for token_map in (spec["token_map"].astype("i4"), spec["token_map"].astype("i8"), spec["token_map"].tolist()):
        made = inlay.NGram(**{**spec, "token_map": token_map}).ids(ids)
        numpy.testing.assert_array_equal(made.reshape(24, -1), expected)
    mine = spec["token_map"].copy()
    ngram = inlay.NGram(**{**spec, "token_map": mine})
    assert ngram.token_map is mine
    reference = weakref.ref(mine)
    mine[:] = 0
    del mine
    gc.collect()
    changed = definition.row_ids({**spec, "token_map": [0] * VOCAB}, ids)
    numpy.testing.assert_array_equal(ngram.ids(ids).reshape(24, -1), changed)
    assert reference() is not None
    del ngram
    gc.collect()
    assert reference() is None


def test_ways_to_give_columns(ids):
    spec = xor_spec()
    expected = inlay.NGram(**spec).ids(ids)
    columns = spec["columns"]
    rows = [tuple(column.values()) for column in columns]
    lists = {name: [column[name] for column in columns] for name in columns[0]}
    for given in (rows, numpy.array(rows), lists, {**lists, "table": 0, "modulus": numpy.array(lists["modulus"])}):
        made = inlay.NGram(**{**spec, "columns": given, "multipliers": numpy.array(spec["multipliers"])})
        numpy.testing.assert_array_equal(made.ids(ids), expected)
    bare = [{"length": 1, "modulus": 7}]
    one = inlay.NGram(VOCAB, 1, "add", columns=bare, multipliers=[2**64 - 1], masks=numpy.int64(3))
    numpy.testing.assert_array_equal(one.ids([3, 1, 8])[:, 0], [0, -1 % 7, -8 % 7])
    assert one.history([3, 1])[0].shape == (1, 0)


def test_specs(tmp_path, ids):
    spec = add_spec(token_map=list(range(VOCAB)))
    ngram = inlay.NGram(**spec)
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(spec))
    for same in (
        inlay.NGram.from_json(path),
        inlay.NGram.from_spec(spec),
        inlay.NGram(**ngram.spec),
        copy.deepcopy(ngram),
        pickle.loads(pickle.dumps(ngram)),
    ):
        numpy.testing.assert_array_equal(same.ids(ids), ngram.ids(ids))
    assert ngram.spec["columns"] == spec["columns"] and ngram.spec["resets"] == []
    assert (ngram.vocab, ngram.length, ngram.column_count) == (VOCAB, 4, 3)
    assert repr(ngram) == "inlay.NGram(vocab 50, length 4, 3 columns)"


def golden_calls(name):
    """Yields the calls of a golden file: offsets, histories, ids, row ids and the resulting histories."""
    lines = iter((ROOT / "tests" / "data" / "ngram" / f"{name}.txt").read_text(encoding="ascii").splitlines())

    def take(skipped):
        return [int(word) for word in next(lines).split()[skipped:]]

    for line in lines:
        if line.startswith("call "):
            offsets = take(1)
            histories = [take(2) for _ in offsets[1:]]
            ids = take(1)
            yield offsets, histories, ids, [take(0) for _ in ids], [take(2) for _ in offsets[1:]]


def golden_map(name, vocab):
    """Returns the token map of a golden file as keywords, or none for the identity."""
    text = (ROOT / "tests" / "data" / "ngram" / f"{name}.txt").read_text(encoding="ascii")
    kind, *numbers = next(line for line in text.splitlines() if line.startswith("map ")).split()[1:]
    if kind == "identity":
        return {}
    factor, term, modulus = map(int, numbers)
    return {"token_map": (numpy.arange(vocab) * factor + term) % modulus}


@pytest.mark.parametrize("model, golden", MODELS.items(), ids=MODELS)
def test_specs_of_models(model, golden):
    path = ROOT / "examples" / "ngram" / f"{model}.json"
    spec = json.loads(path.read_text(encoding="utf-8"))
    ngram = inlay.NGram.from_json(path, **golden_map(golden, spec["vocab"]))
    calls = list(golden_calls(golden))
    assert len(calls) >= 3
    for offsets, histories, ids, rows, after in calls:
        before = numpy.zeros((len(histories), ngram.length - 1), "i8")
        for row, history in zip(before, histories):
            row[ngram.length - 1 - len(history) :] = history
        given = {"offsets": offsets, "history": before, "history_lengths": list(map(len, histories))}
        numpy.testing.assert_array_equal(ngram.ids(ids, **given), rows)
        made, lengths = ngram.history(ids, **given)
        assert [row[len(row) - n :].tolist() for row, n in zip(made, lengths)] == after


BAD_CALLS = [
    (([[1, 2], [3, 50]],), {}, IndexError, "id 50 at [1, 1] is not in [0, 50)"),
    (([1, -1],), {}, IndexError, "id -1 at [1] is not in [0, 50)"),
    (([1, 2, 60],), {"offsets": [0, 1, 3]}, IndexError, "id 60 at [2] is not in [0, 50)"),
    (([[1], [2]],), {"history": [[1, 2], [3, 70]]}, IndexError, "history id 70 at [1, 1] is not in [0, 50)"),
    (([1],), {"history": [-5, 2]}, IndexError, "history id -5 at [0] is not in [0, 50)"),
    (
        ([[1], [2]],),
        {"history": [[70, 2], [70, 60]], "history_lengths": [1, 1]},
        IndexError,
        "history id 60 at [1, 1] is not in [0, 50)",
    ),
    (([[1]],), {"history": [[1, 2]], "history_lengths": [3]}, ValueError, "history_lengths[0] is 3, more than 2"),
    (
        ([[1]],),
        {"history": [[1, 2]], "history_lengths": [-1]},
        ValueError,
        "history_lengths -1 at [0] is not in [0, 4294967296)",
    ),
    (([[1]],), {"history": [[1, 2, 3]]}, ValueError, "history has shape [1, 3], expected [1, 2]"),
    (([[1]],), {"history_lengths": [1]}, ValueError, "history_lengths requires history"),
    (
        ([1, 2],),
        {"offsets": [0, 3]},
        ValueError,
        "offsets[1] is 3: offsets begin at 0, never decrease and end at the number of tokens, 2",
    ),
    (([[1, 2]],), {"offsets": [0, 2]}, ValueError, "ids has 2 dimensions, expected 1 with offsets: give ids.reshape(-1)"),
    (([1.5],), {}, TypeError,
     'ids has elements of type float64, expected integers: convert it with ids.astype("int64"), or '
     'ids.to(torch.int64) in PyTorch'),
    (([1],), {"first_column": 4}, ValueError, "0 columns starting at 4 are not in [0, 4)"),
    (([1],), {"columns": 5}, ValueError, "5 columns starting at 0 are not in [0, 4)"),
    (([1],), {"columns": 0}, ValueError, "0 columns starting at 0 are not in [0, 4)"),
    (([1],), {"threads": 0}, ValueError, "threads is 0, not in [1, 1024]"),
    (([1],), {"start": 0}, TypeError, "ids() has no argument 'start'; nearest: history; all others: ids, out, offsets, "
     "history_lengths, first_column, columns, dtype, threads"),
    ((), {}, TypeError, "ids is missing"),
    (([1], 2), {}, TypeError, "ids() takes ids by position, but 2 arguments were given"),
    (([1],), {"dtype": "int16"}, TypeError, "dtype is 'int16', not int32 or int64"),
    (([1],), {"out": numpy.zeros((1, 4), "i4")}, TypeError, "out has elements of type int32, expected int64"),
]


@pytest.mark.parametrize("args, options, kind, text", BAD_CALLS, ids=[case[3] for case in BAD_CALLS])
def test_bad_calls(args, options, kind, text):
    with pytest.raises(kind) as error:
        inlay.NGram(**xor_spec()).ids(*args, **options)
    assert str(error.value) == text


def test_bad_histories(ids):
    ngram = inlay.NGram(**xor_spec())
    for accepted, text in [([0, 9, 0], "accepted[1] is 9"), ([0, 0, -1], "accepted[2] is -1")]:
        with pytest.raises(ValueError) as error:
            ngram.history(ids, accepted)
        assert str(error.value) == f"{text}, and the sequence has 8 tokens"
    with pytest.raises(ValueError, match=r"accepted has shape \[2\], expected \[3\]"):
        ngram.history(ids, [0, 1])
    with pytest.raises(ValueError, match="out is not contiguous"):
        ngram.history(ids, out=numpy.zeros((3, 4), "i8")[:, :2])


def test_bad_tables(tables, ids):
    ngram = inlay.NGram(**add_spec())
    for given, text in [
        (tables[:1], "column 1 uses tables[1], which was not given"),
        ([None, tables[1]], "column 0 uses tables[0], which was not given"),
        ([tables[0], tables[1][:, :8]], "tables[1] has dim 8, and other tables have 12"),
        ([tables[0], tables[1][:41]], "tables[1] has 41 rows, and column 1 needs 42"),
        ([tables[0], inlay.Table(tables[1], first_row=0, vocab=80)], "tables[1] is a shard: n-grams take whole tables"),
    ]:
        with pytest.raises(ValueError) as error:
            ngram(ids, given)
        assert str(error.value) == text
    with pytest.raises(TypeError, match="tables is missing"):
        ngram(ids)
    with pytest.raises(TypeError, match=r"tables\[1\] has elements of type int64"):
        ngram(ids, [tables[0], numpy.zeros((42, DIM), "i8")])
    with pytest.raises(ValueError, match="planar=True cannot be combined"):
        ngram(ids, tables, planar=True, combine="sum")
    with pytest.raises(ValueError, match="out overlaps"):
        inlay.NGram(**xor_spec())(ids[0, :1], tables[0], out=tables[0].reshape(-1)[: 4 * DIM].reshape(1, -1))


def test_nothing_is_written_before_all_is_validated(tables, ids):
    ngram = inlay.NGram(**xor_spec())
    out = numpy.full((3, 8, 4 * DIM), 9, "f4")
    ids[2, 7] = VOCAB
    with pytest.raises(IndexError, match=r"id 50 at \[2, 7\]"):
        ngram(ids, tables[0], out=out)
    assert (out == 9).all()


def test_row_ids_that_int32_does_not_hold():
    far = [{"length": 1, "modulus": 2, "offset": 5}, {"length": 1, "modulus": 2, "offset": 2**31 - 1}]
    ngram = inlay.NGram(VOCAB, 1, "xor", columns=far, multipliers=[1])
    assert ngram.ids([1]).tolist() == [[6, 2**31]]
    assert ngram.ids([1], columns=1, dtype="int32").tolist() == [[6]]
    with pytest.raises(ValueError, match="column 1 has row ids up to 2147483648, which do not fit in int32"):
        ngram.ids([1], dtype="int32")


BAD_SPECS = [
    ({"vocab": 0}, ValueError, "vocab is 0, not in [1, 2147483648]"),
    ({"length": 17}, ValueError, "length is 17, not in [1, 16]"),
    ({"mix": "or"}, ValueError, "mix is 'or', not one of xor, add"),
    ({"pad": 2**32}, ValueError, "pad is 4294967296, not in [0, 4294967295]"),
    ({"columns": []}, ValueError, "columns is empty, or its rows have different lengths"),
    ({"columns": [{"length": 4, "modulus": 3}]}, ValueError, "columns[0] has length 4, not in [1, 3]"),
    ({"columns": [{"length": 1, "modulus": 0}]}, ValueError, "columns[0] has modulus 0, not in [1, 4294967295]"),
    ({"columns": [{"length": 1, "modulus": 3, "vector": 2}]}, ValueError, "columns[0] has vector 2, not in [0, 1]"),
    (
        {"columns": [{"length": 1, "modulus": 3, "offset": -1}]},
        ValueError,
        "columns[0] has offset -1, not in [0, 9223372036854775804]",
    ),
    ({"columns": [{"length": 1}]}, ValueError, "columns[0] has no modulus"),
    (
        {"columns": [{"length": 1, "modulo": 3}]},
        ValueError,
        "columns[0] has modulo, not one of length, vector, modulus, table, offset",
    ),
    ({"multipliers": [[1, 2]]}, ValueError, "multipliers has shape [1, 2], expected [1, 3]"),
    ({"multipliers": [[1, 2, 2**64]]}, ValueError, "multipliers has a number that does not fit in 64 bits"),
    ({"token_map": [0] * 49}, ValueError, "token_map has shape [49], expected [50]"),
    ({"token_map": numpy.full(50, -1)}, ValueError, "token_map -1 at [0] is not in [0, 4294967296)"),
    ({"resets": [50]}, ValueError, "resets[0] is 50, not in [0, 50)"),
    ({"masks": [0, -1]}, ValueError, "masks[1] is -1, not in [0, 50)"),
]


@pytest.mark.parametrize("options, kind, text", BAD_SPECS, ids=[case[2] for case in BAD_SPECS])
def test_bad_specs(options, kind, text):
    with pytest.raises(kind) as error:
        inlay.NGram(**xor_spec(**options))
    assert str(error.value) == text


def test_specs_with_wrong_keys():
    with pytest.raises(ValueError, match="the spec has modulus, not one of vocab"):
        inlay.NGram.from_spec({**xor_spec(), "modulus": 3})
    with pytest.raises(ValueError, match="the spec has no mix, columns"):
        inlay.NGram.from_spec({"vocab": 3, "length": 2, "multipliers": [1, 2]})
    with pytest.raises(ValueError, match="the spec has no token_map, which comes with the model"):
        inlay.NGram.from_spec(xor_spec(token_map="required"))
    assert (
        inlay.NGram.from_spec(xor_spec(token_map="required", comment="a model"), token_map=list(range(VOCAB)))
        .ids([1])
        .shape
    )
