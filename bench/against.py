#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures, and says what became slower than an older run on the same machine.

    against.py OLD.json INLAY_BENCH [OPTION...]

What is compared is the time over the limit, as that of a run forgives a slow hour. A row became slower where it grew by
more than 5 %, and by more than twice the scatter of both runs together, sqrt(old^2 + new^2); scatter is how far the
ratio moved from round to round. Such rows are measured once more, and count only where they are slower again.
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
    """[(old row, new row)] of those that became slower; rows that only one has do not count."""
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
        print(f"{sys.argv[1]} is of another machine: {machine}, and this is {here}", file=sys.stderr)
        return 2
    common = {row.name for row in old if row.ratio is not None} & {row.name for row in new if row.ratio is not None}
    if not common:
        print(f"{sys.argv[1]} has no row of this run", file=sys.stderr)
        return 2
    suspects = slower(old, new)
    if suspects:
        # Google Benchmark sees more behind the names than it is made to print.
        names = "|".join(row.name for _, row in suspects)
        print(f"measuring {len(suspects)} rows once more", file=sys.stderr)
        suspects = slower(old, results.parse(results.measure([*command, f"--benchmark_filter=^({names})(/|$)"]))[1])
    if suspects:
        print_slower(suspects)
    print(f"{len(common)} rows compared, {len(suspects)} slower")
    return 1 if suspects else 0


if __name__ == "__main__":
    sys.exit(main())
