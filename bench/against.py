#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures, and prints which rows became slower than in an older run on the same machine.

    against.py OLD.json INLAY_BENCH [OPTION...]

Compares times over the limit, since a slow hour of the machine slows row and limit alike. A row became slower if its
ratio grew by more than 5 % and by more than twice the combined scatter of both runs, sqrt(old^2 + new^2), where scatter
is how far the ratio varied from round to round. Such rows are measured again and count only if they are slower again.
Exit status: 0 none, 1 some are slower, 2 the runs cannot be compared.
"""

import math
import sys

import results

LEAST = 0.05
SCATTERS = 2


def threshold(old, new):
    return max(LEAST, SCATTERS * math.hypot(old.scatter, new.scatter))


def slower(old, new):
    """Returns [(old row, new row)] of the rows that became slower; rows of only one run do not count."""
    before = {row.name: row for row in old if row.ratio is not None}
    pairs = [(before[row.name], row) for row in new if row.ratio is not None and row.name in before]
    return [(a, b) for a, b in pairs if b.ratio / a.ratio - 1 > threshold(a, b)]


def print_slower(pairs):
    print(f"{'slower':<48} {'before':>8} {'now':>8} {'grown':>8} {'noise':>8}  limit")
    for old, new in sorted(pairs, key=lambda pair: pair[0].ratio / pair[1].ratio):
        limit = new.limit if new.limit == old.limit else f"{old.limit}, {new.limit}"
        print(f"{new.name:<48} {old.ratio:8.2f} {new.ratio:8.2f} {new.ratio / old.ratio - 1:8.1%} "
              f"{threshold(old, new):8.1%}  {limit}")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    machine, old = results.read(sys.argv[1])
    command = sys.argv[2:]
    here, new = results.parse(results.measure(command))
    if here != machine:
        print(f"{sys.argv[1]} was measured on another machine: {machine}; this one is {here}", file=sys.stderr)
        return 2
    common = {row.name for row in old if row.ratio is not None} & {row.name for row in new if row.ratio is not None}
    if not common:
        print(f"{sys.argv[1]} has no row in common with this run", file=sys.stderr)
        return 2
    suspects = slower(old, new)
    if suspects:
        # Google Benchmark matches names with the suffixes that it does not print here.
        names = "|".join(row.name for _, row in suspects)
        print(f"measuring {len(suspects)} rows again", file=sys.stderr)
        suspects = slower(old, results.parse(results.measure([*command, f"--benchmark_filter=^({names})(/|$)"]))[1])
    if suspects:
        print_slower(suspects)
    print(f"{len(common)} rows compared, {len(suspects)} slower")
    return 1 if suspects else 0


if __name__ == "__main__":
    sys.exit(main())
