# SPDX-License-Identifier: MIT
"""The clock. Imported by peers.py; knows neither inlay nor a peer.

On the wall, since some peers compute on threads of their own; `share` tells whether the process had its cores.
"""
import gc
import itertools
import statistics
import time

SAMPLE_SECONDS = 5e-3  # as inlay_bench: calls of a sample fill so much time, or are one
WARM_UP_SECONDS = 10e-3  # ahead of each sample, until the caches hold what this contender leaves there
WARM_UP_CALLS = 2


def seconds_for(call, calls):
    """Of one call, on the wall; and of the process, on the processor."""
    busy = time.process_time()
    start = time.perf_counter()
    for _ in itertools.repeat(None, calls):
        call()
    return (time.perf_counter() - start) / calls, (time.process_time() - busy) / calls


class Timing:
    def __init__(self, contender):
        self.contender, self.seconds, self.busy = contender, [], []
        seconds_for(contender.call, 3)  # some compile twice
        one = max(1e-7, seconds_for(contender.call, 1)[0])
        self.warm_up = max(WARM_UP_CALLS, int(WARM_UP_SECONDS / one))
        self.calls = max(1, int(SAMPLE_SECONDS / one))

    def sample(self):
        seconds_for(self.contender.call, self.warm_up)
        seconds, busy = seconds_for(self.contender.call, self.calls)
        self.seconds.append(seconds)
        self.busy.append(busy)

    @property
    def median(self):
        return statistics.median(self.seconds)

    @property
    def minimum(self):
        return min(self.seconds)

    @property
    def share(self):
        """How much of the time a processor worked for this process: 1 on one undisturbed thread."""
        return sum(self.busy) / sum(self.seconds)


def measure(contenders, rounds):
    """A Timing of each: all in turn, round after round, another one first each time."""
    timings = [Timing(contender) for contender in contenders]
    order = list(timings)
    gc.collect()
    gc.disable()
    for _ in range(rounds):
        for timing in order:
            timing.sample()
        order.append(order.pop(0))
    gc.enable()
    return timings
