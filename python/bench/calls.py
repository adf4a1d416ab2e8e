#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures the overhead of a call of one token from Python, compared with the C function.

    calls.py [--dim N] [--rounds N] [--json]

Each line is the minimum over rounds; in each round, the contenders take turns. `C` is inlay_forward() with the same
layer, ids and output, called in a loop by the extension module. The others are Python loops, minus the time of an empty
loop. The second number is the difference to C. NumPy computes `table[ids] * scale + positions` for comparison.
"""

import argparse
import json
import time

import numpy

import inlay

CALLS = 20000


def loop(function, *arguments):
    """Returns the nanoseconds per call, including the loop."""
    repeat = range(CALLS)
    begin = time.perf_counter_ns()
    for _ in repeat:
        function(*arguments)
    return (time.perf_counter_ns() - begin) / CALLS


def loop_with_out(function, ids, out):
    repeat = range(CALLS)
    begin = time.perf_counter_ns()
    for _ in repeat:
        function(ids, out=out)
    return (time.perf_counter_ns() - begin) / CALLS


def empty_loop():
    repeat = range(CALLS)
    begin = time.perf_counter_ns()
    for _ in repeat:
        pass
    return (time.perf_counter_ns() - begin) / CALLS


def ways(dim):
    """Names, and functions that measure once."""
    table = inlay.random(1000, dim, seed=1)
    layer = inlay.Layer(table, scale="sqrt", positions=inlay.Sinusoid())
    ids = numpy.array([[7]])
    out = numpy.empty((1, 1, dim), numpy.float32)
    sinusoids = inlay.sinusoid(numpy.arange(16), dim)
    scale = numpy.float32(dim**0.5)

    def plain(ids):
        return table[ids] * scale + sinusoids[:1]

    def python(function, *arguments):
        return lambda: loop(function, *arguments) - empty_loop()

    return {
        "C": lambda: layer._time(ids, out, CALLS) * 1e9,
        "out=out": lambda: loop_with_out(layer, ids, out) - empty_loop(),
        "new output": python(layer, ids),
        "new output, int list": python(layer, [[7]]),
        "numpy": python(plain, ids),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    measured = {name: [] for name in ways(options.dim)}
    functions = ways(options.dim)
    for _ in range(options.rounds):
        for name, measure in functions.items():
            measured[name].append(measure())
    least = {name: min(times) for name, times in measured.items()}
    if options.json:
        print(json.dumps(least))
        return
    for name, nanoseconds in least.items():
        print(f"{name:24} {nanoseconds:8.0f} ns {nanoseconds - least['C']:+8.0f}")


if __name__ == "__main__":
    main()
