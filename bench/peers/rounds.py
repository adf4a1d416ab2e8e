# SPDX-License-Identifier: MIT
"""Timing.

With one thread, uses the CPU time of the process, like inlay_bench. It stops while the system gives the core to another
process, and includes threads that a framework starts on that core. With more threads, uses wall time.
"""
import gc
import itertools
import resource
import statistics
import time

SAMPLE_SECONDS = 5e-3  # as in inlay_bench: a sample is as many calls as fill this time, at least one
WARM_UP_SECONDS = 10e-3  # before each sample, until the caches hold this contender's data
WARM_UP_CALLS = 2


def seconds_for(call, calls):
    """Returns the wall time and CPU time of one call."""
    busy = time.process_time()
    start = time.perf_counter()
    for _ in itertools.repeat(None, calls):
        call()
    return (time.perf_counter() - start) / calls, (time.process_time() - busy) / calls


class Timing:
    def __init__(self, contender, threads):
        self.contender, self._one_thread = contender, threads == 1
        self._wall, self._busy, self._faults = [], [], []
        seconds_for(contender.call, 3)  # some compile twice
        one = max(1e-7, seconds_for(contender.call, 1)[0])  # of `call`, which may make several calls
        self.warm_up = max(WARM_UP_CALLS, int(WARM_UP_SECONDS / one))
        self.calls = max(1, int(SAMPLE_SECONDS / one))

    def sample(self):
        seconds_for(self.contender.call, self.warm_up)
        calls = self.calls * self.contender.calls
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        wall, busy = seconds_for(self.contender.call, self.calls)
        self._faults.append((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / calls)
        self._wall.append(wall / self.contender.calls)
        self._busy.append(busy / self.contender.calls)

    @property
    def seconds(self):
        return self._busy if self._one_thread else self._wall

    @property
    def median(self):
        return statistics.median(self.seconds)

    @property
    def minimum(self):
        return min(self.seconds)

    @property
    def faults(self):
        """Page faults per call; none if the output is reused, by its owner or by an arena."""
        return statistics.median(self._faults)

    @property
    def share(self):
        """CPU time over wall time: 1 on one undisturbed thread."""
        return sum(self._busy) / sum(self._wall)


def measure(contenders, rounds, threads):
    """Returns a Timing of each contender: all in turn, round after round, starting with another one each time."""
    timings = [Timing(contender, threads) for contender in contenders]
    order = list(timings)
    gc.collect()
    gc.disable()
    for _ in range(rounds):
        for timing in order:
            timing.sample()
        order.append(order.pop(0))
    gc.enable()
    return timings
