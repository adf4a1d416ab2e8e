#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures, and prints which rows became slower than in an older run on the same machine.

    against.py OLD INLAY_BENCH [OPTION...]

OLD is the JSON of an older run, or the harness of an older version or its build directory.

With a JSON: compares times over the limit, since a slow hour of the machine slows row and limit alike. A row became slower if its
ratio grew by more than 5 % and by more than twice the combined scatter of both runs, sqrt(old^2 + new^2), where scatter
is how far the ratio varied from round to round.

With a harness: runs both in turn, two rounds each, and compares the minima of times, since each version may have other
limits. A row became slower if its minimum grew by more than 5 % and by more than twice the combined spread of both, where
the spread is half the distance between the minima of the two rounds, over the smaller one.

Rows that became slower are measured again and count only if they are slower again.
Exit status: 0 none, 1 some are slower, 2 the runs cannot be compared.
"""

import math
import pathlib
import sys

import results

LEAST = 0.05
SCATTERS = 2
ROUNDS = 2


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


def repeat_option(names):
    """Says that rows are measured again and returns the option of Google Benchmark that chooses them. It matches names
    with suffixes that it does not print here."""
    print(f"measuring {len(names)} rows again", file=sys.stderr)
    return f"--benchmark_filter=^({'|'.join(names)})(/|$)"


def harness_of(argument):
    """Returns the path of a harness, given itself or its build directory, or None for a JSON."""
    path = pathlib.Path(argument)
    if path.is_dir():
        return str(path / "bench" / "inlay_bench")
    return None if path.suffix == ".json" else str(path)


def measure_in_turn(old_command, new_command):
    """Returns {row: [minima of the old harness]} and the same of the new one. The order changes from round to round."""
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
    """Returns {row: (old minimum, new minimum, noise)} of the rows that became slower; rows of only one do not count."""
    found = {}
    for name in new.keys() & old.keys():
        noise = max(LEAST, SCATTERS * math.hypot(spread(old[name]), spread(new[name])))
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


def compare_with_run(path, command):
    machine, old = results.read(path)
    here, new = results.parse(results.measure(command))
    if here != machine:
        print(f"{path} was measured on another machine: {machine}; this one is {here}", file=sys.stderr)
        return 2
    common = {row.name for row in old if row.ratio is not None} & {row.name for row in new if row.ratio is not None}
    if not common:
        print(f"{path} has no row in common with this run", file=sys.stderr)
        return 2
    suspects = slower(old, new)
    if suspects:
        again = repeat_option([row.name for _, row in suspects])
        suspects = slower(old, results.parse(results.measure([*command, again]))[1])
    if suspects:
        print_slower(suspects)
    print(f"{len(common)} rows compared, {len(suspects)} slower")
    return 1 if suspects else 0


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    harness = harness_of(sys.argv[1])
    if harness is None:
        return compare_with_run(sys.argv[1], sys.argv[2:])
    return compare_harnesses([harness, *sys.argv[3:]], sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
