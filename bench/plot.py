#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws the results of a run of the harness.

    plot.py RUN.json DIRECTORY

Writes ratios.png (time over the limit, per kernel, shape and ISA), tokens.png (the fused pass, from few tokens to many)
and threads.png (speed-up, next to that of plain copies and fills). Pictures without rows in the run are skipped. Scalar
and portable rows are left out: they aren't meant to be fast.
"""

import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402  pylint: disable=wrong-import-position

import results  # noqa: E402  pylint: disable=wrong-import-position

# Okabe and Ito's colors, and a marker per ISA, so the lines also differ without color.
ISAS = {"avx512": ("#0072b2", "o"), "avx2": ("#d55e00", "s"), "neon": ("#009e73", "D")}
LIMITS = {
    "copy": ("#000000", ":"),
    "copy_nt": ("#7f7f7f", "--"),
    "copy_nt_ahead": ("#7f7f7f", "-."),
    "copy_t1_blocks": ("#cc79a7", ":"),
    "copy_nt_t1_blocks": ("#cc79a7", "--"),
}
GROWING = "b10_s"  # the series `growing` of bench/shapes/shapes.h
MAX_RATIO = 3  # larger ratios are drawn at the edge, with their number


def unique(values):
    return list(dict.fromkeys(values))


def drawn(rows, threads):
    return [row for row in rows if row.isa in ISAS and row.ratio is not None and (row.threads > 1) == threads]


def draw_ratio_panel(axes, rows):
    shapes = unique(row.shape for row in rows)
    for isa, (color, marker) in ISAS.items():
        own = [row for row in rows if row.isa == isa]
        if not own:
            continue
        x = [min(row.ratio, MAX_RATIO) for row in own]
        y = [shapes.index(row.shape) for row in own]
        axes.scatter(x, y, c=color, marker=marker, s=30, label=isa, zorder=3, alpha=0.85)
        for row, at in zip(own, y):
            if row.ratio > MAX_RATIO:
                # Puts the ISAs' numbers next to each other, not on top of each other.
                shift = -8 - 34 * list(ISAS).index(isa)
                axes.annotate(f"{row.ratio:.1f}", (MAX_RATIO, at), (shift, 0), textcoords="offset points", fontsize=7,
                              color=color, ha="right", va="center")
    axes.axvline(1, color="black", linewidth=1)
    axes.set_yticks(range(len(shapes)), [shape.replace("_", " ") for shape in shapes], fontsize=7)
    axes.set_ylim(len(shapes) - 0.5, -0.5)
    axes.set_xlim(0.5, MAX_RATIO + 0.1)
    axes.grid(axis="both", color="#dddddd", linewidth=0.6)
    axes.set_title(rows[0].kernel, fontsize=10, loc="left")


def draw_ratios(rows, path):
    rows = drawn(rows, threads=False)
    kernels = unique(row.kernel for row in rows)
    if not kernels:
        return False
    sizes = {kernel: len({row.shape for row in rows if row.kernel == kernel}) for kernel in kernels}
    # Two columns of panels; each kernel goes to the shorter column so far.
    columns = ([], [])
    for kernel in sorted(kernels, key=lambda kernel: -sizes[kernel]):
        min(columns, key=lambda column: sum(sizes[other] + 3 for other in column)).append(kernel)
    columns = [column for column in columns if column]
    lines = max(sum(sizes[kernel] + 3 for kernel in column) for column in columns)
    figure = plt.figure(figsize=(6.5 * len(columns), 0.19 * lines + 1.2), layout="constrained")
    for part, column in zip(figure.subfigures(1, len(columns), squeeze=False)[0], columns):
        panels = part.subplots(len(column), 1, squeeze=False, height_ratios=[sizes[kernel] + 1 for kernel in column])
        for axes, kernel in zip(panels[:, 0], column):
            draw_ratio_panel(axes, [row for row in rows if row.kernel == kernel])
        panels[-1, 0].set_xlabel("time over that of the limit (lower is better; 1: as fast as a bare copy or fill)", fontsize=8)
        panels[0, 0].legend(loc="upper right", fontsize=8)
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return True


def draw_tokens(rows, path):
    rows = [row for row in rows if row.shape.startswith(GROWING) and row.threads == 1]
    kernels = [row for row in drawn(rows, threads=False) if row.kernel == "embed"]
    if len({row.tokens for row in kernels}) < 2:
        return False
    figure, (speed, ratio) = plt.subplots(2, 1, figsize=(8, 7.5), sharex=True, layout="constrained")
    for name, (color, style) in LIMITS.items():
        own = [row for row in rows if row.isa == "limit" and row.kernel == name]
        speed.plot([row.tokens for row in own], [row.bytes_per_second / 1e9 for row in own], color=color,
                   linestyle=style, label=f"limit: {name}")
    for isa, (color, marker) in ISAS.items():
        own = [row for row in kernels if row.isa == isa]
        if not own:
            continue
        tokens = [row.tokens for row in own]
        speed.plot(tokens, [row.bytes_per_second / 1e9 for row in own], color=color, marker=marker, label=f"embed, {isa}")
        ratio.errorbar(tokens, [row.ratio for row in own], [row.ratio * row.scatter for row in own], color=color,
                       marker=marker, capsize=3, label=f"embed, {isa}")
    speed.set_xscale("log")
    speed.set_ylim(bottom=0)
    speed.set_ylabel("GB/s, read from the table and written")
    speed.set_title("The fused pass from few to many tokens: 10 sequences, dim 512, 50,000 rows", fontsize=10, loc="left")
    ratio.axhline(1, color="black", linewidth=1)
    ratio.set_ylim(0.8, max(1.4, max(row.ratio for row in kernels) + 0.1))
    ratio.set_ylabel("time over that of the fastest limit\n(bars: scatter of the rounds)")
    ratio.set_xlabel("tokens")
    for axes in speed, ratio:
        axes.grid(color="#dddddd", linewidth=0.6)
        axes.legend(fontsize=8)
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return True


def draw_threads(rows, path):
    kernels = drawn(rows, threads=True)
    if not kernels:
        return False
    found = {row.name: row for row in rows}
    groups = unique((row.kernel, row.shape, row.threads) for row in kernels)
    figure, axes = plt.subplots(figsize=(8.5, 0.42 * len(groups) + 1.6), layout="constrained")
    isas = [isa for isa in ISAS if any(row.isa == isa for row in kernels)]
    height = 0.8 / len(isas)
    for i, isa in enumerate(isas):
        own = [row for row in kernels if row.isa == isa]
        y = [groups.index((row.kernel, row.shape, row.threads)) - 0.4 + height * (i + 0.5) for row in own]
        axes.barh(y, [row.speed_up for row in own], height * 0.9, color=ISAS[isa][0], label=isa, zorder=2)
        limits = [found.get(f"limit/{row.limit}/{row.shape}_t{row.threads}") for row in own]
        known = [(limit.speed_up, at) for limit, at in zip(limits, y) if limit]
        axes.scatter([speed for speed, _ in known], [at for _, at in known], marker="|", s=90, color="black", zorder=3,
                     label="its limit: plain copies or fills side by side" if i == 0 else None)
    for threads in unique(row.threads for row in kernels):
        axes.axvline(threads, color="black", linewidth=1, linestyle=":")
    names = [f"{kernel}\n{shape.replace('_', ' ')}, {threads} threads" for kernel, shape, threads in groups]
    axes.set_yticks(range(len(groups)), names, fontsize=7)
    axes.set_ylim(len(groups) - 0.5, -0.5)
    axes.set_xlim(left=0)
    axes.set_xlabel("speed-up: time on one thread over time on several (fastest rounds)")
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.legend(loc="lower center", bbox_to_anchor=(0.4, 1), ncols=len(isas) + 1, fontsize=8, frameon=False)
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return True


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    _, rows = results.read(sys.argv[1])
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in ("ratios.png", draw_ratios), ("tokens.png", draw_tokens), ("threads.png", draw_threads):
        if draw(rows, folder / name):
            print(folder / name)


if __name__ == "__main__":
    main()
