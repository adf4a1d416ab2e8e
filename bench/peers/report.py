# SPDX-License-Identifier: MIT
"""The results as rows, as a table for people, and as JSON.

A row compares one peer with inlay on one shape, in the same rounds, with outputs reused, kept or allocated. The slower
of inlay's two contenders is used, so ratios never favor inlay.
"""
import itertools
import json
import math

from fixture import ALLOCATED, KEPT, NEW, REUSED, USED

MODES = {
    REUSED: "outputs reused: each call writes to the same memory",
    KEPT: "outputs kept: each call returns a new output in memory that an arena keeps; inlay reuses one output",
    ALLOCATED: "outputs allocated: each call returns a new output, which is freed before the next call",
    USED: "as each is used: a peer from Python, which returns a new output; inlay from C, with memory of the caller",
    NEW: "outputs new, all from Python: inlay's come from the pool of its package, a peer's as it allocates by itself",
}
READ = ", read"  # appended to a mode if each output is also read once
LARGE = 32 << 20
COLUMNS = 10  # of a table of ratios; with more shapes, shapes become lines


def belongs(contender, mode, ours):
    """True if a contender belongs in a mode's table. In USED and NEW, a peer returns new outputs."""
    if mode in (USED, NEW) and contender.name not in ours:
        return contender.mode in (ALLOCATED, KEPT)
    return contender.mode == mode


def make_rows(shape, timings, differences, ours, fused):
    """Returns the rows of one shape. `ours` are the names of inlay's contenders; fused(name) is true for peers that
    fuse."""
    rows = []
    for read, mode in itertools.product((False, True), MODES):
        same = [timing for timing in timings if timing.contender.read == read]
        of_mode = [timing for timing in same if belongs(timing.contender, mode, ours)]
        beside = REUSED if mode == KEPT else mode  # neither allocates memory from the system
        rivals = [t for t in same if t.contender.name in ours and t.contender.mode == beside]
        if not rivals:  # the package could not be built
            continue
        inlay = max(rivals, key=lambda t: t.median)
        for timing in of_mode:
            name = timing.contender.name
            rows.append(
                {
                    "peer": name,
                    "is_inlay": name in ours,
                    "fused": name in ours or fused(name),
                    "shape": shape.name,
                    "output_bytes": shape.output_bytes,
                    "decode": shape.seq == 1,
                    "one_token": shape.batch * shape.seq == 1,
                    "outputs": mode + READ * read,
                    "median_seconds": timing.median,
                    "minimum_seconds": timing.minimum,
                    "inlay_median_seconds": inlay.median,
                    "inlay_minimum_seconds": inlay.minimum,
                    "median_over_inlay": timing.median / inlay.median,
                    "minimum_over_inlay": timing.minimum / inlay.minimum,
                    "page_faults": timing.faults,
                    "difference": differences[name, timing.contender.mode],
                    "processor_share": timing.share,
                }
            )
    return rows


def time(seconds):
    for unit, scale in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale or unit == "us":
            return f"{seconds / scale:.{max(0, 2 - math.floor(math.log10(seconds / scale)))}f} {unit}"


def ratio(x):
    return f"{x:.2f}" if x < 10 else f"{x:.1f}" if x < 100 else f"{x:.0f}"


def table(cells, left=1):
    """Yields cells in aligned columns, the first `left` of them left-aligned."""
    widths = [max(map(len, column)) for column in zip(*cells)]
    for row in cells:
        yield "  ".join(f"{c:<{w}}" if i < left else f"{c:>{w}}" for i, (c, w) in enumerate(zip(row, widths))).rstrip()


def verdict(peers):
    faster = [row for row in peers if row["median_over_inlay"] < 1]
    for row in faster:
        yield (
            f"FASTER THAN INLAY: {row['peer']}, {row['shape']}, outputs {row['outputs']}: "
            f"{ratio(row['median_over_inlay'])} of inlay's time (minima: {ratio(row['minimum_over_inlay'])})"
        )
    if not faster and peers:
        row = peers[0]
        yield (
            f"no peer is faster than inlay anywhere; nearest: {row['peer']}, {row['shape']}, outputs {row['outputs']}: "
            f"{ratio(row['median_over_inlay'])} times inlay's time (minima: {ratio(row['minimum_over_inlay'])})"
        )


def long_table(peers):
    """Returns a table of all rows, worst for inlay first."""
    cells = [("shape", "peer", "outputs", "over inlay", "minima", "median", "minimum", "inlay's", "minimum")]
    cells[0] += ("faults", "differs")
    for row in peers:
        cells.append(
            (
                row["shape"],
                row["peer"],
                row["outputs"],
                ratio(row["median_over_inlay"]),
                ratio(row["minimum_over_inlay"]),
                time(row["median_seconds"]),
                time(row["minimum_seconds"]),
                time(row["inlay_median_seconds"]),
                time(row["inlay_minimum_seconds"]),
                f"{row['page_faults']:.0f}",
                f"{row['difference']:.1e}",
            )
        )
    return table(cells, 3)


def matrix(rows, mode):
    """Yields peers by shape: medians relative to inlay's, nearest peer first; inlay's own as times."""
    rows = [row for row in rows if row["outputs"] == mode]
    shapes = list(dict.fromkeys(row["shape"] for row in rows))
    value = {(row["peer"], row["shape"]): row for row in rows}
    nearest = {}
    for row in rows:
        nearest[row["peer"]] = min(row["median_over_inlay"], nearest.get(row["peer"], math.inf))
    ours = [row["peer"] for row in rows if row["is_inlay"]]
    names = list(dict.fromkeys(ours)) + sorted((n for n in nearest if n not in ours), key=nearest.get)
    yield ("", *shapes)
    for name in names:
        found = [value.get((name, shape)) for shape in shapes]
        yield (
            name,
            *(
                "-" if r is None else time(r["median_seconds"]) if r["is_inlay"] else ratio(r["median_over_inlay"])
                for r in found
            ),
        )


EVERYWHERE = ("every peer, everywhere", 1, lambda r: True)


def layer_goals(torch):
    """The project's goals for the layer: description, how many times faster, which rows."""
    eager, module = torch.plain, torch.module
    return [
        (f"{module}, outputs of 32 MiB and more", 10, lambda r: r["peer"] == module and r["output_bytes"] >= LARGE),
        (f"{module}, one token", 100, lambda r: r["peer"] == module and r["one_token"]),
        (f"{eager}, outputs of 32 MiB and more", 10, lambda r: r["peer"] == eager and r["output_bytes"] >= LARGE),
        (f"{eager}, one token for each sequence", 100, lambda r: r["peer"] == eager and r["decode"]),
        ("peers that do not fuse, 32 MiB and more", 2, lambda r: not r["fused"] and r["output_bytes"] >= LARGE),
        ("peers that fuse, 32 MiB and more", 1.1, lambda r: r["fused"] and r["output_bytes"] >= LARGE),
        ("every peer, new outputs of 32 MiB and more", 2, lambda r: r["outputs"] == NEW and r["output_bytes"] >= LARGE),
        EVERYWHERE,
    ]


def goals(peers, kinds):
    """Returns the goals, with the worst row of each kind."""
    modes = [mode for mode in MODES if any(row["outputs"] == mode for row in peers)]
    cells = [("goal: times faster than", "", *modes)]
    kinds = [(*kind, "") for kind in kinds] + [("every peer, each output read once", 1, lambda r: True, READ)]
    for what, goal, wanted, read in kinds:
        worst = []
        for mode in modes:
            found = [r["median_over_inlay"] for r in peers if r["outputs"] == mode + read and wanted(r)]
            worst.append("-" if not found else f"{ratio(min(found))}{'' if min(found) >= goal else ' missed'}")
        cells.append((what, str(goal), *worst))
    return table(cells)


def print_table(section, facts, rows, about, absent, kinds):
    peers = sorted((row for row in rows if not row["is_inlay"]), key=lambda row: row["median_over_inlay"])
    print(f"== {section}")
    print(*verdict(peers), sep="\n")
    print("", *facts.values(), "", sep="\n")
    print(*long_table(peers), sep="\n")
    for (mode, what), read in itertools.product(MODES.items(), ("", READ)):
        cells = list(matrix(rows, mode + read))
        if len(cells) > 1:
            print(f"\n{what}{'; then it is read once' * bool(read)}; medians over inlay's")
            print(*table(list(zip(*cells)) if len(cells[0]) > COLUMNS else cells), sep="\n")
    print("\nworst ratio of each kind")
    print(*goals(peers, kinds), sep="\n")
    print("\nhow each differs from inlay")
    lines = [(name, "fused" if fused else "not fused", text) for name, (fused, text) in about.items()]
    print(*table(lines, 3), sep="\n")
    print("", *absent, "", sep="\n")


def print_json(sections):
    print(json.dumps(sections, indent=1))
