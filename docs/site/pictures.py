# SPDX-License-Identifier: MIT
"""Draws the pictures of the site as SVG, for light and dark pages: from the saved runs in bench/results and from the
tables of docs/performance.md, so pictures always match the numbers on their page."""

import contextlib
import io
import re
import sys

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402  pylint: disable=wrong-import-position

# Narrow, with large letters: a phone shows a picture at half its size.
WIDTH = 5.6
THEMES = {
    "light": {"text": "#1f2328", "grid": "#d5d9de", "muted": "#8b929a"},
    "dark": {"text": "#d8dbe0", "grid": "#3a3f45", "muted": "#8b929a"},
}
# Okabe and Ito's colors and a marker each, to distinguish series without colors too.
SERIES = [("#3b8fd0", "o"), ("#e0762a", "s"), ("#1aa37a", "D"), ("#cc79a7", "^"), ("#b59a00", "v"), ("#56b4e9", "P")]
MAX_RATIO = 2  # larger ratios are drawn at the edge with their number
PEER_SHAPES = ["32 x 512, 512", "8 x 2048, 4096", "8 x 8192, 1024", "1 x 2048, 4096", "64 x 1, 4096"]
TYPES = ["f16", "bf16", "i8", "i8_inverse", "u8_rowwise", "u4_rowwise", "u4_grouped", "u4_grouped_flat", "q8_0", "q4_0"]


@contextlib.contextmanager
def picture(drawn, name, theme, height):
    colors = THEMES[theme]
    style = {
        "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 10, "svg.hashsalt": name,
        "text.color": colors["text"], "axes.labelcolor": colors["text"], "xtick.color": colors["text"],
        "ytick.color": colors["text"], "axes.edgecolor": colors["muted"], "grid.color": colors["grid"],
        "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True,
    }
    with plt.rc_context(style):
        figure, axes = plt.subplots(figsize=(WIDTH, height), layout="constrained")
        yield axes, colors
        text = io.StringIO()
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
        drawn.append((f"{name}-{theme}", text.getvalue()))
        plt.close(figure)


def kept_runs(source):
    """Returns (title, rows, isa) for each CPU with a saved run, and each of its ISAs."""
    sys.path.insert(0, str(source / "bench"))
    import results  # pylint: disable=import-outside-toplevel,import-error
    import saved  # pylint: disable=import-outside-toplevel,import-error

    runs = []
    for path in sorted((source / "bench/results").glob("*.json")):
        machine, rows = results.read(path)
        for isa in saved.ISAS:
            if any(row.isa == isa for row in rows):
                runs.append((f"{machine['cpu']} ({path.stem.partition('-')[2]}), {isa}", rows, isa))
    return runs


def legend(axes, columns=1):
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False, fontsize=9, ncols=columns, borderaxespad=0.2)


def draw_cpus(drawn, theme, runs):
    """Draws the table of results: a line per row, a marker per CPU and ISA."""
    import saved  # pylint: disable=import-outside-toplevel,import-error

    with picture(drawn, "cpus", theme, 0.27 * len(saved.LINES) + 0.9 + 0.2 * len(runs)) as (axes, colors):
        for (title, rows, isa), (color, marker) in zip(runs, SERIES):
            cells = [saved.cell(rows, isa, *which) for _, *which in saved.LINES]
            known = [(float(cell), at) for at, cell in enumerate(cells) if cell]
            axes.scatter([min(ratio, MAX_RATIO) for ratio, _ in known], [at for _, at in known], s=34, c=color,
                         marker=marker, label=title, zorder=3, alpha=0.9)
            for ratio, at in known:
                if ratio > MAX_RATIO:
                    shift = -12 - 26 * SERIES.index((color, marker))
                    axes.annotate(f"{ratio:.1f}", (MAX_RATIO, at), (shift, 0), textcoords="offset points", fontsize=9,
                                  color=color, ha="right", va="center")
        axes.axvline(1, color=colors["text"], linewidth=1)
        axes.set_yticks(range(len(saved.LINES)), [said for said, *_ in saved.LINES], fontsize=9)
        axes.set_ylim(len(saved.LINES) - 0.5, -0.5)
        axes.set_xlim(0.7, MAX_RATIO + 0.05)
        axes.grid(linewidth=0.7)
        axes.set_xlabel("time over the fastest bare loop")
        legend(axes)


def draw_tokens(drawn, theme, runs):
    """Draws the fused pass from few tokens to many."""
    with picture(drawn, "tokens", theme, 3.4 + 0.2 * len(runs)) as (axes, colors):
        for (title, rows, isa), (color, marker) in zip(runs, SERIES):
            own = [row for row in rows if row.isa == isa and row.kernel == "embed" and row.shape.startswith("b10_s")]
            axes.plot([row.tokens for row in own], [row.ratio for row in own], color=color, marker=marker, markersize=5,
                      label=title)
        axes.axhline(1, color=colors["text"], linewidth=1)
        axes.set_xscale("log")
        axes.set_ylim(0.8, None)
        axes.set_xlabel("tokens of a call")
        axes.set_ylabel("time over the fastest bare loop")
        axes.grid(linewidth=0.7)
        legend(axes)


def draw_types(drawn, theme, runs):
    """Draws rows of each element type, relative to a loop that reads the same bytes and writes as many floats."""
    with picture(drawn, "types", theme, 0.38 * len(TYPES) + 0.9 + 0.2 * len(runs)) as (axes, colors):
        height = 0.8 / max(len(runs), 1)
        for at, ((title, rows, isa), (color, _)) in enumerate(zip(runs, SERIES)):
            own = {row.kernel: row for row in rows if row.isa == isa and row.shape == "b32_s512_d1024_v32000_stored"}
            known = [(i, own[f"embed_{name}"]) for i, name in enumerate(TYPES) if f"embed_{name}" in own]
            axes.barh([i - 0.4 + height * (at + 0.5) for i, _ in known], [row.over_streams or row.ratio for _, row in known],
                      height * 0.92, color=color, label=title)
        axes.axvline(1, color=colors["text"], linewidth=1)
        axes.set_yticks(range(len(TYPES)), TYPES, fontsize=9)
        axes.set_ylim(len(TYPES) - 0.5, -0.5)
        axes.grid(axis="x", linewidth=0.7)
        axes.set_xlabel("time over the fastest bare loop")
        legend(axes)


def table_of(page, heading):
    """Returns the first table below a heading of a page, as lists of cells."""
    text = page[page.index(f"\n{heading}\n") :]
    lines = re.search(r"(?:^\|.*\|\n)+", text, re.MULTILINE).group().splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return rows[0], rows[2:]


def draw_recipes(source, drawn, theme):
    """Draws the differences of frameworks' tables from the exact ones, from the table of the page."""
    page = (source / "docs/recipes.md").read_text(encoding="utf-8")
    head, rows = table_of(page, "## How far from the exact formula")
    positions = [int(cell.replace(",", "")) for cell in head[1:]]
    chosen = [row for row in rows if any(f"`{name}`" in row[0] for name in ("torch-exp", "torch-div", "numpy-fp64"))]
    errors = {name.replace("`", ""): list(zip(positions, map(float, cells))) for name, *cells in chosen}
    draw_errors(drawn, "recipes", theme, errors, "largest difference from the exact entry")


def draw_drift(source, drawn, theme):
    """Draws the errors of angles from the output of the last `inlay table --drift` on the page."""
    page = (source / "docs/rotary.md").read_text(encoding="utf-8")
    output = page[page.rindex(" --drift\n") :].partition("```")[0]
    errors = {}
    for position, name, _, angle in (re.split(r" {2,}", line) for line in output.splitlines()[2:]):
        errors.setdefault(name, []).append((int(position), float(angle)))
    draw_errors(drawn, "drift", theme, errors, "largest error of an angle")


def draw_errors(drawn, name, theme, errors, what):
    """Draws lines of (position, error) by name."""
    with picture(drawn, name, theme, 3.6 + 0.2 * len(errors)) as (axes, _):
        for (label, points), (color, marker) in zip(errors.items(), SERIES):
            axes.plot(*zip(*(point for point in points if point[1] > 0)), color=color, marker=marker, label=label)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("position")
        axes.set_ylabel(what)
        axes.grid(linewidth=0.7)
        legend(axes)


def draw_peers(source, drawn, theme):
    """Draws the table of other frameworks: a panel per shape, a bar per framework."""
    page = (source / "docs/performance.md").read_text(encoding="utf-8")
    head, rows = table_of(page, "## Compared with other frameworks")
    rows = [row for row in rows if row[0] in PEER_SHAPES]
    names = ["inlay", *head[1:]]
    with picture(drawn, "peers", theme, 0.19 * len(rows) * (len(names) + 1) + 0.7) as (axes, colors):
        marks = []
        for i, (shape, *cells) in enumerate(rows):
            top = i * (len(names) + 1)
            ratios = [1.0, *map(float, cells)]
            at = [top + j for j in range(len(names))]
            axes.barh(at, ratios, 0.8, color=[SERIES[1][0], *[colors["muted"]] * len(cells)])
            for ratio, y in zip(ratios, at):
                axes.annotate(f"{ratio:g}", (ratio, y), (3, 0), textcoords="offset points", fontsize=8, va="center")
            axes.annotate(shape.replace(", ", ", dim "), (axes.get_xlim()[1], top), ha="right", va="center", fontsize=9)
            marks += zip(at, names)
        axes.set_yticks([y for y, _ in marks], [name for _, name in marks], fontsize=8)
        axes.set_ylim(marks[-1][0] + 0.7, -0.7)
        axes.set_xlabel("time relative to inlay, one thread (Zen 5)")


def draw_all(source):
    """Returns pairs of a picture's name and its SVG."""
    drawn = []
    runs = kept_runs(source)
    for theme in THEMES:
        draw_cpus(drawn, theme, runs)
        draw_tokens(drawn, theme, runs)
        draw_types(drawn, theme, runs)
        draw_recipes(source, drawn, theme)
        draw_drift(source, drawn, theme)
        draw_peers(source, drawn, theme)
    return drawn
