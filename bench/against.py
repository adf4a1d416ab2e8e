#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures, and prints which rows became slower than with an older version's harness.

    against.py OLD INLAY_BENCH [OPTION...]

OLD is the older harness or its build directory.

Runs both in turn, two rounds each, and compares minimum times rather than ratios, since each version may have other
limits. A row is slower if its minimum grew by more than 5 % and by more than twice the combined spread of both. The
spread is half the difference between the minima of the two rounds, relative to the smaller one. Slower rows are
measured again and count only if they are slower again.

Exit status: 0 if none are slower, 1 if some are, 2 if the harnesses have no row in common.
"""

import math
import pathlib
import sys

import results

MIN = 0.05
SCATTERS = 2
ROUNDS = 2


def repeat_option(names):
    """Announces that rows are measured again. Returns the Google Benchmark option that selects them: it matches names
    with suffixes that the harness does not print."""
    print(f"measuring {len(names)} rows again", file=sys.stderr)
    return f"--benchmark_filter=^({'|'.join(names)})(/|$)"


def measure_in_turn(old_command, new_command):
    """Returns {row: [minimum per round]} of the old harness and of the new one. The order alternates."""
    minima = ({}, {})
    commands = [(old_command, minima[0]), (new_command, minima[1])]
    for _ in range(ROUNDS):
        for command, found in commands:
            for row in results.parse(results.measure(command))[1]:
                if row.ratio is not None:
                    found.setdefault(row.name, []).append(row.minimum)
        commands.reverse()
    return minima


def spread(minima):
    return (max(minima) - min(minima)) / 2 / min(minima)


def slower_minima(old, new):
    """Returns {row: (old minimum, new minimum, noise)} of slower rows. Rows of only one harness don't count."""
    found = {}
    for name in new.keys() & old.keys():
        noise = max(MIN, SCATTERS * math.hypot(spread(old[name]), spread(new[name])))
        if min(new[name]) / min(old[name]) - 1 > noise:
            found[name] = (min(old[name]), min(new[name]), noise)
    return found


def print_slower_minima(found):
    print(f"{'slower':<48} {'before':>10} {'now':>10} {'grown':>8} {'noise':>8}")
    for name, (old, new, noise) in sorted(found.items(), key=lambda item: item[1][0] / item[1][1]):
        print(f"{name:<48} {1e6 * old:7.2f} us {1e6 * new:7.2f} us {new / old - 1:8.1%} {noise:8.1%}")


def compare_harnesses(old_command, new_command):
    old, new = measure_in_turn(old_command, new_command)
    common = old.keys() & new.keys()
    if not common:
        print(f"{old_command[0]} has no row in common with {new_command[0]}", file=sys.stderr)
        return 2
    found = slower_minima(old, new)
    if found:
        again = repeat_option(sorted(found))
        found = slower_minima(*measure_in_turn([*old_command, again], [*new_command, again]))
    if found:
        print_slower_minima(found)
    print(f"{len(common)} rows compared in turn, {len(found)} slower")
    return 1 if found else 0


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    old = pathlib.Path(sys.argv[1])
    harness = str(old / "bench" / "inlay_bench" if old.is_dir() else old)
    return compare_harnesses([harness, *sys.argv[3:]], sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
