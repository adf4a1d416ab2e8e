# SPDX-License-Identifier: MIT
"""Calls from many threads: correct rows, no leaks, and other threads keep running. --soak 600 takes ten minutes."""

import os
import random
import statistics
import threading
import time

import numpy
import pytest
from measure import resident_bytes, run_together

import inlay

THREADS, MIN_CALLS = 8, 10


class Caller:
    """A thread of random calls. It keeps some outputs, drops them at random, and checks all rows."""

    def __init__(self, seed, shared):
        self.random, self.numpy = random.Random(seed), numpy.random.default_rng(seed)
        self.table, self.layers, self.positions = shared
        self.kept, self.calls, self.error = [], 0, None

    def expected(self, name, ids, start):
        rows = self.table[ids]
        if name == "plain":
            return rows
        if name == "half":
            return rows.astype("f2")
        return rows + self.positions[start : start + ids.shape[-1]]

    def call(self):
        name = self.random.choice(list(self.layers))
        layer = self.layers[name]
        shape = (self.random.randint(1, 6), self.random.choice([1, 3, 17, 64, 257]))
        ids, start = self.numpy.integers(0, len(self.table), shape), self.random.randint(0, 40)
        if self.random.random() < 0.1:
            ids[-1, -1] = 10**6
            try:
                layer(ids)
            except IndexError as error:
                assert str(error).startswith(f"id 1000000 at [{shape[0] - 1}, {shape[1] - 1}]")
                return
            raise AssertionError("a bad id passed")
        options = {} if name in ("plain", "half") else {"start": start}
        if self.random.random() < 0.2:
            out = numpy.empty((*shape, layer.dim), layer.dtype)
            y = layer(ids, out=out, **options)
        else:
            y = layer(ids, **options)
        self.kept.append((y[:, ::2], self.expected(name, ids, start)[:, ::2]))
        while len(self.kept) > 6 or (self.kept and self.random.random() < 0.4):
            y, expected = self.kept.pop(self.random.randrange(len(self.kept)))
            assert numpy.array_equal(y, expected), f"{name} {ids.shape}"

    def run(self, end):
        try:
            while time.monotonic() < end or self.calls < MIN_CALLS:
                self.call()
                self.calls += 1
                if self.random.random() < 0.001:
                    inlay.pool.trim()
        except BaseException as error:  # pylint: disable=broad-except
            self.error = error


def test_soak(request, rng, threads, pool):
    seconds = request.config.getoption("--soak")
    table = rng.standard_normal((1000, 256)).astype("f4")
    positions = inlay.sinusoid(numpy.arange(300), 256)
    layers = {
        "plain": inlay.Layer(table),
        "half": inlay.Layer(table, dtype="float16"),
        "sinusoid": inlay.Layer(table, positions=inlay.Sinusoid(), cached_positions=100),
        "learned": inlay.Layer(table, positions=positions, threads=3),
    }
    threads(2)
    pool.limit(32 << 20)
    callers = [Caller(seed, (table, layers, positions)) for seed in range(THREADS)]
    begin = time.monotonic()
    running = [threading.Thread(target=caller.run, args=(begin + seconds,)) for caller in callers]
    for thread in running:
        thread.start()
    time.sleep(seconds / 4)  # by then, the pool and malloc() have warmed up
    early = resident_bytes()
    sizes = []
    while not sizes or time.monotonic() < begin + seconds * 0.95:
        time.sleep(seconds / 100)
        sizes.append(resident_bytes())
    for thread in running:
        thread.join()
    errors = [caller.error for caller in callers if caller.error is not None]
    assert not errors, errors
    late = statistics.median_low(sizes[-20:])
    print(
        f"{sum(caller.calls for caller in callers)} calls in {seconds:.0f} s, "
        f"resident {early >> 20} to {late >> 20} MiB"
    )
    assert late < early + (48 << 20), f"resident memory grew from {early} to {late}"
    for caller in callers:
        caller.kept.clear()
    assert pool.stats()["used_blocks"] == 1, "only the positions are left"


@pytest.mark.parametrize("options", [{"norm": inlay.LayerNorm()}, {"pooling": "mean"}], ids=["norm", "pooling"])
def test_other_threads_run_during_large_calls(rng, options):
    """Calls of 128 KiB and more release the GIL, so a counting thread keeps running. With pooling, the size of the rows
    that are read counts, not of the written row."""
    table = rng.standard_normal((1000, 1024)).astype("f4")
    layer = inlay.Layer(table, **options)
    ids = rng.integers(0, 1000, 60000)
    out = numpy.empty(layer(ids).shape, "f4")
    ticks, stop = [], threading.Event()

    def count():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.0005)

    def ticks_during_a_call():
        begin = time.perf_counter()
        layer(ids, out)
        end = time.perf_counter()
        return sum(begin < tick < end for tick in list(ticks))

    thread = threading.Thread(target=count)
    thread.start()
    # Other work may interfere with a call, but hardly with all of them.
    during = max(ticks_during_a_call() for _ in range(30))
    stop.set()
    thread.join()
    assert during >= 3, f"{during} ticks"


def test_executors_are_shared(rng):
    """If the package's threads are busy, a call runs alone with the same result."""
    table = rng.standard_normal((1000, 512)).astype("f4")
    layer = inlay.Layer(table, scale=2, threads=4)
    ids = rng.integers(0, 1000, (8, 256))
    expected, wrong = table[ids] * numpy.float32(2), []

    def work():
        for _ in range(40):
            if not numpy.array_equal(layer(ids), expected):
                wrong.append(1)

    run_together(4, work)
    assert not wrong


@pytest.mark.parametrize("n", [1, 2, 5])
def test_threads_are_used(threads, rng, n):
    """More threads than needed, then fewer."""
    threads(n)
    layer = inlay.Layer(rng.standard_normal((100, 512)).astype("f4"))
    ids = rng.integers(0, 100, (64, 64))
    assert layer(ids).shape == (64, 64, 512)
    started = len(os.listdir("/proc/self/task"))
    assert started >= n
