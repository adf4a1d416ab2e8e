# SPDX-License-Identifier: MIT
"""Outputs from the pool: reused after the last reference, limited, trimmed, and safe in the child of a fork."""

import gc
import os
import pathlib
import re
import resource

import numpy
import pytest

import inlay

MIB = 1 << 20
STATED = pathlib.Path("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size")
HUGE = int(STATED.read_text(encoding="ascii")) if STATED.exists() else os.sysconf("SC_PAGESIZE") ** 2 // 8


def output(mebibytes):
    """A new output of this size. Its address identifies the block."""
    return inlay.Layer(numpy.ones((2, 1024), "f4"))(numpy.ones(mebibytes * 256, "i8"))


def address(array):
    return array.__array_interface__["data"][0]


def test_reuse(pool):
    y = output(4)
    first = address(y)
    assert first % (HUGE if HUGE <= 4 * MIB else os.sysconf("SC_PAGESIZE")) == 0
    assert pool.stats()["used_bytes"] == 4 * MIB
    del y
    assert pool.stats()["idle_bytes"] == 4 * MIB and pool.stats()["used_bytes"] == 0
    y = output(4)
    assert address(y) == first and pool.stats()["idle_blocks"] == 0
    z = output(4)
    assert address(z) != first
    second = address(z)
    del y, z
    assert address(output(4)) == second, "the last returned is the first reused"


def test_views_keep_their_block(pool):
    y = output(4)
    first = address(y)
    view = y[100:, 3:].T[::2]
    memory = memoryview(y)
    del y
    assert pool.stats()["used_blocks"] == 1
    other = output(4)
    other[:] = 7
    assert (view == 1).all()
    del view
    assert pool.stats()["used_blocks"] == 2
    memory.release()
    assert pool.stats()["used_blocks"] == 1
    assert address(output(4)) == first


def test_tensors_keep_their_block(pool):
    y = numpy.from_dlpack(output(1).base)
    assert y.shape == (256, 1024) and (y == 1).all()
    assert pool.stats()["used_blocks"] == 1
    del y
    assert pool.stats()["used_blocks"] == 0
    block = output(1).base
    capsules = [block.__dlpack__(), block.__dlpack__(max_version=(1, 0))]
    del block
    assert pool.stats()["used_blocks"] == 1
    del capsules
    assert pool.stats()["used_blocks"] == 0


def test_small_outputs_are_numpys(pool):
    layer = inlay.Layer(numpy.ones((2, 8), "f4"))
    small, large = layer(numpy.zeros(127, "i8")), layer(numpy.zeros(128, "i8"))
    assert small.flags.owndata and not large.flags.owndata
    assert pool.stats()["used_bytes"] == 4096


def test_limit(pool):
    pool.limit(2**64 - 1)
    assert pool.stats()["limit_bytes"] == 2**64 - 1
    pool.limit(6 * MIB)
    arrays = [output(2) for _ in range(5)]
    places = [address(a) for a in arrays]
    released = pool.stats()["released"]
    while arrays:
        arrays.pop(0)
    stats = pool.stats()
    assert stats["idle_bytes"] == 6 * MIB and stats["released"] - released == 2
    again = [output(2) for _ in range(3)]
    assert {address(a) for a in again} == set(places[2:]), "the oldest were released"
    del again
    pool.limit(3 * MIB)
    assert pool.stats()["idle_bytes"] == 2 * MIB
    pool.limit(0)
    assert pool.stats()["idle_bytes"] == 0
    output(2)
    assert pool.stats()["idle_bytes"] == 0


def test_trim(pool):
    output(2), output(5), output(1)
    idle = pool.stats()["idle_bytes"]
    assert idle >= 8 * MIB
    assert pool.trim() == idle
    assert pool.stats()["idle_bytes"] == 0 and pool.trim() == 0


def test_sizes_waste_little(pool):
    layer = inlay.Layer(numpy.ones((2, 1), "f4"))
    for n in (1024, 1025, 1500, 4095, 4096, 4097, 10**5, 2**20, 2**20 + 1):
        before = pool.stats()["used_bytes"]
        y = layer(numpy.zeros(n, "i8"))
        waste = pool.stats()["used_bytes"] - before - y.nbytes
        assert 0 <= waste < y.nbytes / 8 + 1, n
        y[:] = 3  # all of it is memory
        del y


def test_no_page_faults_when_reused(pool):
    table = numpy.ones((2, 1024), "f4")
    layer, ids = inlay.Layer(table), numpy.ones(8192, "i8")
    layer(ids)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        layer(ids)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 200, "of 81920 small pages"


def test_failed_allocations(pool):
    pool.limit(64 * MIB)
    output(8)
    with pytest.raises(MemoryError):
        inlay.Layer(numpy.ones((2, 1), "f4"), pooling="sum")(numpy.zeros((2**43, 0), "i8"))
    assert pool.stats()["idle_bytes"] == 0, "what was idle was released for a second try"
    assert pool.stats()["used_blocks"] == 0


def in_child(work):
    """Runs a function in the child of a fork. Returns True if it returned true there."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            status = 0 if work() else 1
        finally:
            os._exit(status)
    return os.waitpid(pid, 0)[1] == 0


def test_fork(pool, threads):
    threads(2)
    layer, ids = inlay.Layer(numpy.ones((2, 1024), "f4")), numpy.ones(4096, "i8")
    kept = layer(ids)
    layer(ids)

    def child():
        one = layer(ids)
        one[:] = 5
        good = (layer(ids) == 1).all() and (kept == 1).all() and (one == 5).all()
        return good and inlay.pool.trim() > 0

    assert in_child(child) and in_child(lambda: in_child(child))
    assert (kept == 1).all() and (layer(ids) == 1).all()


def test_calls_below_1_mib_have_one_thread(threads):
    threads(3)
    layer = inlay.Layer(numpy.ones((2, 1024), "f4"))

    def started(tokens):
        layer(numpy.ones(tokens, "i8"))
        return len(os.listdir("/proc/self/task"))

    assert in_child(lambda: [started(255), started(256)] == [1, 3])


def test_the_child_of_a_fork_has_threads(threads):
    threads(3)
    layer, ids = inlay.Layer(numpy.ones((2, 1024), "f4")), numpy.ones(4096, "i8")
    layer(ids)

    def child():
        before = len(os.listdir("/proc/self/task"))
        layer(ids)
        return before == 1 and len(os.listdir("/proc/self/task")) == 3

    assert in_child(child)


def flags_of(place):
    """Returns the kernel's flags of the mapping at an address."""
    within = False
    with open("/proc/self/smaps", encoding="ascii") as file:
        for line in file:
            head = re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line)
            if head:
                within = int(head[1], 16) <= place < int(head[2], 16)
            elif within and line.startswith("VmFlags:"):
                return line.split()[1:]
    return []


def test_large_blocks_are_on_huge_pages(pool):
    setting = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not setting.exists() or "[never]" in setting.read_text(encoding="ascii"):
        pytest.skip("the system has no huge pages")
    y = output(max(4, HUGE // MIB))
    assert address(y) % HUGE == 0 and "hg" in flags_of(address(y))


def test_outputs_of_quantize_and_random_return_too(pool):
    table = inlay.quantize(inlay.random(2048, 32, seed=3), "i8")
    assert pool.stats()["used_blocks"] == 2
    del table
    gc.collect()
    assert pool.stats()["used_blocks"] == 0


def test_results_do_not_show_old_memory(pool, rng):
    """A reused block contains only the result of the new call."""
    table = rng.standard_normal((50, 96)).astype("f4")
    y = inlay.Layer(table)(rng.integers(0, 50, 400))
    y[:] = numpy.nan
    del y
    padded = inlay.Layer(table)([1, 2, 3], offsets=[0, 1, 3], padded=200)
    assert pool.stats()["reused"] > 0 and numpy.isfinite(padded).all() and not padded[0, 1:].any()
