# SPDX-License-Identifier: MIT
"""Fixtures of all tests, and the option --soak SECONDS (or INLAY_SOAK_SECONDS) for the long test of threads."""

import gc
import os

import numpy
import pytest

import inlay


def pytest_addoption(parser):
    seconds = float(os.environ.get("INLAY_SOAK_SECONDS", "2"))
    parser.addoption("--soak", type=float, default=seconds, help="seconds of random calls from several threads")


@pytest.fixture
def rng():
    return numpy.random.default_rng(0)


@pytest.fixture
def table(rng):
    return rng.standard_normal((50, 12)).astype(numpy.float32)


@pytest.fixture(params=["fields", "buffers"])
def way(request):
    """Both ways to read NumPy's arrays: their fields, and the buffer protocol."""
    assert inlay._core.use_numpy(numpy, request.param == "fields") == (request.param == "fields")
    yield request.param
    inlay._core.use_numpy(numpy)


@pytest.fixture
def threads():
    """Restores the number of threads afterwards."""
    before = inlay.get_num_threads()
    yield inlay.set_num_threads
    inlay.set_num_threads(before)


class Pool:
    """inlay.pool, without counting memory held by other tests."""

    def __init__(self):
        self.limit, self.trim = inlay.pool.limit, inlay.pool.trim
        self.before = inlay.pool.stats()

    def stats(self):
        stats = inlay.pool.stats()
        return {name: number - self.before[name] if "used" in name else number for name, number in stats.items()}


@pytest.fixture
def pool():
    """An empty pool. Restores its limit afterwards."""
    gc.collect()
    inlay.pool.trim()
    one = Pool()
    yield one
    inlay.pool.limit(one.before["limit_bytes"])
    inlay.pool.trim()
