# SPDX-License-Identifier: MIT
"""Lifetimes of files' memory, and reads of mapped tables by several threads and from the disk."""

import gc
import os
import resource
import subprocess
import sys
import threading
import weakref

import numpy
import pytest
from model_files import safetensors, write
from numpy.testing import assert_array_equal

import inlay

f32 = numpy.float32


@pytest.fixture
def rows(rng):
    return rng.standard_normal((600, 64)).astype(f32)


@pytest.fixture
def path(rows, tmp_path):
    return write(tmp_path / "model.safetensors", safetensors({"wte.weight": rows, "wpe.weight": rows[:40]}))


def mappings(path):
    """Returns the number of mappings of a file in this process."""
    with open("/proc/self/maps", encoding="ascii", errors="replace") as lines:
        return sum(line.rstrip().endswith(os.fspath(path)) for line in lines)


USERS = {
    "tensor": lambda file: file.tensors["wte.weight"],
    "numpy": lambda file: numpy.asarray(file.tensors["wte.weight"]),
    "memoryview": lambda file: memoryview(file.tensors["wte.weight"]),
    "raw": lambda file: file.tensors["wte.weight"].raw,
    "capsule": lambda file: file.tensors["wte.weight"].__dlpack__(max_version=(1, 0)),
    "table": lambda file: file.table("wte.weight"),
    "layer": lambda file: file.layer(),
    "layer of a table": lambda file: inlay.Layer(file.table("wte.weight")),
    "layer of a tensor": lambda file: inlay.Layer(file.tensors["wte.weight"]),
}


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("close", ["close", "del", "with"])
def test_the_last_user_unmaps(user, close, path, rows):
    assert mappings(path) == 0
    if close == "with":
        with inlay.open(path) as file:
            used = USERS[user](file)
        assert file.closed
    else:
        file = inlay.open(path)
        used = USERS[user](file)
        if close == "close":
            file.close()
            file.close()
            assert file.closed and "closed" in repr(file)
    if close != "with":
        del file
    gc.collect()
    assert mappings(path) == 1
    if callable(used):
        assert used([599]).shape == (1, 64)
    elif isinstance(used, numpy.ndarray):
        assert_array_equal(used, rows)
    del used
    gc.collect()
    assert mappings(path) == 0


def test_nothing_stays_open(path):
    file = inlay.open(path)
    reference = weakref.ref(file)
    layer = file.layer()
    del file
    gc.collect()
    assert reference() is None and layer([1]).shape == (1, 64) and mappings(path) == 1
    with pytest.raises(inlay.FileError):
        inlay.open(write(path.with_name("x"), b"x"))
    assert mappings(path.with_name("x")) == 0


def test_closed_files_say_so(path):
    file = inlay.open(path)
    table = file.table("wte.weight")
    file.close()
    for use in (
        lambda: file.tensors["wte.weight"], lambda: list(file.tensors), lambda: len(file.metadata),
        lambda: file.table("wte.weight"), file.layer, file.ngram, lambda: file.prefetch(table, [1]),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="the file is closed"):
            use()


def test_prefetch(path, rows):
    file = inlay.open(path)
    table = file.table("wte.weight")
    ids = numpy.array([[1, 599], [-1, 600]])
    assert file.prefetch(table, ids) is None and file.prefetch(table, []) is None
    assert file.prefetch(table, ids.astype(numpy.uint16)) is None
    with pytest.raises(TypeError, match="integers"):
        file.prefetch(table, [0.5])
    with pytest.raises(TypeError, match="not an inlay.Table"):
        file.prefetch("wte.weight", [1])
    for other in (inlay.Table(rows), inlay.open(path).table("wte.weight")):
        with pytest.raises(ValueError, match="not from this file"):
            file.prefetch(other, [1])
    copied = inlay.open(path, memory="copied")
    copied.prefetch(copied.table("wte.weight"), [1])


def drop(path):
    """Evicts a file from the page cache, so its rows are read from the disk."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def test_cold_tables(rng, tmp_path):
    """Layers and n-grams with rows on the disk, and a cap smaller than the table."""
    rows = rng.standard_normal((20000, 256)).astype(f32)
    path = write(tmp_path / "m", safetensors({"t": rows}))
    drop(path)
    file = inlay.open(path, resident_bytes=4 << 20)
    table = file.table("t")
    layer = inlay.Layer(table)
    spec = {"vocab": 20000, "length": 2, "mix": "add", "multipliers": [[1, 7], [3, 5]], "pad": 0}
    columns = [{"length": 2, "vector": i % 2, "modulus": 19997, "table": i // 2} for i in range(4)]
    ngram = inlay.NGram.from_spec({**spec, "columns": columns}, tables=[table, rows])
    for i in range(40):
        if i % 10 == 0:
            drop(path)
        ids = rng.integers(0, 20000, 300)
        assert_array_equal(layer(ids), rows[ids])
        found = ngram(ids[:60], planar=True)
        assert_array_equal(found, rows[ngram.ids(ids[:60])].transpose(1, 0, 2))
    with pytest.raises(IndexError):
        ngram([20000])
    assert_array_equal(layer(rng.integers(0, 20000, 0)), numpy.empty((0, 256)))


def test_threads(path, rows):
    """Many threads open, read and close one file. None reads unmapped memory."""
    shared = inlay.open(path)
    wrong = []

    def work(seed):
        rng = numpy.random.default_rng(seed)
        for _ in range(60):
            try:
                layer = inlay.Layer(shared.table("wte.weight"))
            except ValueError:
                layer = inlay.open(path).layer()
            ids = rng.integers(0, 40, (3, 30))
            out = layer(ids)
            if not numpy.array_equal(out, rows[ids] + (rows[:30] if layer.report else 0)):
                wrong.append(seed)
            if seed == 0 and rng.integers(0, 30) == 0:
                shared.close()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    shared.close()
    gc.collect()
    assert mappings(path) == 0


def test_no_numpy(path):
    """Without NumPy, results are memoryviews."""
    code = (
        "import sys; sys.modules['numpy'] = None\n"
        "import inlay, array\n"
        f"file = inlay.open({str(path)!r})\n"
        "view = memoryview(file.tensors['wte.weight'])\n"
        "assert view.shape == (600, 64) and view.format == 'f' and view.readonly\n"
        "assert file.layer()(array.array('i', [3, 1])).shape == (2, 64)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("reader", ["layer", "ngram", "prefetch"])
def test_rows_are_read_ahead(reader, rng, tmp_path):
    """Rows requested together cause no page faults that wait for the disk, unlike reads of an array."""
    rows = rng.standard_normal((20000, 1024)).astype(f32)
    path = write(tmp_path / "m", safetensors({"t": rows}))
    # At most as many pages as one prefetch requests. Mapped pages stay in the cache, so none is read twice.
    batches = iter(rng.permutation(20000).reshape(-1, 100))
    file = inlay.open(path)
    table = file.table("t")
    array = numpy.asarray(table.data)
    ngram = inlay.NGram(20000, 1, "add", columns=[(1, 0, 20000, 0, 0)], multipliers=[1])

    def faults(table, prefetched=None):
        """Returns the number of page faults of a call that wait for the disk."""
        call = inlay.Layer(table) if reader != "ngram" else lambda ids: ngram(ids, table)
        call(next(batches)[:1])
        drop(path)
        ids = next(batches)
        if prefetched is not None:
            file.prefetch(prefetched, ids)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
        out = call(ids)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
        assert_array_equal(out, rows[ids])
        return after - before

    alone = faults(array)
    if alone < 80:
        pytest.skip(f"rows of a file that was dropped from the cache made {alone} faults: it stayed there")
    assert (faults(array, table) if reader == "prefetch" else faults(table)) < alone / 2
