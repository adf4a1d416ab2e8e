#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Finds the positions below 2^31 with angles closest to a multiple of pi/2, as lines for worst_phases.inc.

An angle position * f is near a multiple k of pi/2 where k / position is near f / (pi/2). The best approximations are
the convergents of that ratio's continued fraction. Needs mpmath; the committed list does not.

    python3 tests/positions/worst_phases.py > tests/positions/worst_phases.inc
"""
from mpmath import mp, mpf, pi, floor

mp.prec = 400
LIMIT = 2**31


def nearest(ratio):
    """Returns the denominator below LIMIT of the last convergent of ratio, and its distance to an integer there."""
    x, previous, current = ratio, 0, 1
    while True:
        whole = int(floor(x))
        fraction = x - whole
        if fraction == 0:
            break
        x = 1 / fraction
        term = int(floor(x))
        previous, current = current, term * current + previous
        if current >= LIMIT:
            return previous
    return current


def main():
    print("/* dim, base, pair, position; made by worst_phases.py */")
    for dim in (6, 50, 512, 1024, 4096):
        for base in (2, 1000, 10000, 500000):
            found = []
            for pair in range(dim // 2):
                frequency = mpf(base) ** (mpf(-2 * pair) / dim)
                quarters = frequency / (pi / 2)
                position = nearest(quarters)
                product = quarters * position
                distance = abs(product - floor(product + mpf(1) / 2)) * pi / 2
                found.append((distance, pair, position))
            found.sort()
            for distance, pair, position in found[:3]:
                if distance < mpf(2) ** -40:
                    print("{%d, %d, %d, %d}, /* 2^%.2f */" % (dim, base, pair, position, mp.log(distance, 2)))


main()
