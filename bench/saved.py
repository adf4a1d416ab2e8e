#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Keeps one run of the harness per CPU model, and writes a table of all runs into a page.

    saved.py save FOLDER INLAY_BENCH [OPTION...]   measures and writes FOLDER/<vendor>-<family>-<model>.json
    saved.py table FOLDER PAGE [--check]           writes the table between its two markers in PAGE; with --check, only
                                                   checks that it is up to date

Exit status: 0 on success, 1 if the table is out of date, 2 if the CPU can't be identified.
"""

import json
import pathlib
import re
import sys

import results

BEGIN, END = "<!-- results: made by ./dev results -->", "<!-- end of results -->"

ISAS = ("avx512", "avx2", "neon")

# The fields of a saved run: enough for results.parse(), and nothing that identifies the machine or its owner.
CONTEXT = ("date", "cpu", "num_cpus")
FIELDS = ("name", "run_type", "real_time", "time_unit", "bytes_per_second", "label", "seconds_minimum", "scatter",
          "time_over_limit", "time_over_streams")

# The lines of the table: label, kernel, shape, and whether to use the loop that also reads positions and separate
# scales. In cache, these streams are as long as the others.
LINES = [
    ("32 x 512, dim 512, vocab 50k", "embed", "b32_s512_d512_v50000", False),
    ("32 x 512, dim 768, vocab 50k", "embed", "b32_s512_d768_v50000", False),
    ("8 x 8192, dim 1024, vocab 32k", "embed", "b8_s8192_d1024_v32000", False),
    ("8 x 2048, dim 4096, vocab 128k", "embed", "b8_s2048_d4096_v128000", False),
    ("32 x 512, dim 64, vocab 100k", "embed", "b32_s512_d64_v100000", False),
    ("32 x 512, dim 511 (rows that share lines)", "embed", "b32_s512_d511_v50000", False),
    ("1 x 2048, dim 4096, positions cached", "embed", "b1_s2048_d4096_v32000", False),
    ("1 x 2048, dim 4096, positions computed", "embed_computed", "b1_s2048_d4096_v32000", False),
    ("64 x 1, dim 4096 (decode)", "embed", "b64_s1_d4096_v32000", True),
    ("64 x 1, dim 4096, different positions", "embed_starts", "b64_s1_d4096_v50000", True),
    ("32 x 8, dim 512 (in cache)", "embed", "b32_s8_d512_v50000", True),
    ("1 x 128, dim 512 (in cache)", "embed", "b1_s128_d512_v50000", True),
    ("10 x 100, dim 512 (outputs of 2 MiB)", "embed", "b10_s100_d512_v50000", True),
    ("32 x 512, dim 512, LayerNorm", "embed_norm", "b32_s512_d512_v50000", True),
    ("32 x 512, dim 512, mean of each sequence", "embed_pooled", "b32_s512_d512_v50000", False),
    ("gather, 32 x 512, dim 512", "gather", "b32_s512_d512_v50000", False),
    ("scale in place, 8 x 2048, dim 4096", "scale", "b8_s2048_d4096_v128000", False),
    ("add_positions, 8 x 2048, dim 4096", "add_positions", "b8_s2048_d4096_v128000", True),
    ("float16 rows, 32 x 512, dim 1024", "embed_f16", "b32_s512_d1024_v32000_stored", True),
    ("int8 rows, 32 x 512, dim 1024", "embed_i8", "b32_s512_d1024_v32000_stored", True),
    ("4-bit rows (Q4_0), 32 x 512, dim 1024", "embed_q4_0", "b32_s512_d1024_v32000_stored", True),
    ("65536 sinusoids, dim 512", "sinusoid", "r65536_d512", False),
    ("16384 sinusoids, dim 4096", "sinusoid", "r16384_d4096", False),
]

# The fields of /proc/cpuinfo that identify a CPU model, on x86 and on ARM.
IDENTITIES = [("vendor_id", "cpu family", "model"), ("CPU implementer", "CPU part", "CPU revision")]


def file_name(cpuinfo):
    """Returns a CPU's file name, given the text of /proc/cpuinfo; None if it doesn't identify the model."""
    found = dict(re.findall(r"^([^:\n]*?)\s*: *(.*)$", cpuinfo.split("\n\n")[0], re.MULTILINE))
    for keys in IDENTITIES:
        if all(found.get(key) for key in keys):
            return re.sub(r"[^a-z0-9-]+", "_", "-".join(found[key] for key in keys).lower()) + ".json"
    return None


def published(row):
    """Returns whether the table or a picture of the docs site shows a row."""
    shown = row.kernel == "embed" or row.shape.endswith("_stored") or (row.kernel, row.shape) in {line[1:3] for line in LINES}
    return row.isa in ISAS and row.threads == 1 and shown


def pruned(text):
    """Returns the text of a run with one line per row that is published."""
    run = json.loads(text)
    context = {key: run["context"][key] for key in CONTEXT if key in run["context"]}
    rows = [{key: row[key] for key in FIELDS if key in row} for row in run["benchmarks"]
            if row["run_type"] == "iteration" and published(results.row_of(row))]
    lines = ",\n".join(json.dumps(row) for row in rows)
    return f'{{"context": {json.dumps(context)},\n"benchmarks": [\n{lines}\n]}}\n'


def save(folder, command):
    name = file_name(pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    if name is None:
        print("saved.py: /proc/cpuinfo has no vendor, family and model", file=sys.stderr)
        return 2
    text = pruned(results.measure(command))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    print(folder / name)
    return 0


def cell(rows, isa, kernel, shape, streams):
    for row in rows:
        if (row.isa, row.kernel, row.shape) == (isa, kernel, shape):
            ratio = row.over_streams if streams and row.over_streams else row.ratio
            return f"{ratio:.2f}" if ratio else ""
    return ""


def table(folder):
    """Returns the lines of the table: time over the fastest bare loop. Each CPU has a column per SIMD ISA."""
    columns = []
    for path in sorted(folder.glob("*.json")):
        machine, rows = results.read(path)
        for isa in ISAS:
            if any(row.isa == isa for row in rows):
                columns.append((f"{machine['cpu']} ({path.stem}), {isa}", rows, isa))
    if not columns:
        return ["No run is kept yet."]
    lines = [[said, *(cell(rows, isa, *which) for _, rows, isa in columns)] for said, *which in LINES]
    head = ["batch x seq", *(title for title, _, _ in columns)]
    return ["| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *lines]]


def write_results(folder, page, check):
    """Writes the table into the page if it differs, or with `check` only reports it; returns the exit status."""
    old = page.read_text(encoding="utf-8")
    before, rest = old.split(BEGIN)
    made = "\n".join([before + BEGIN, *table(folder), END + rest.split(END)[1]])
    if made == old:
        print(f"{page}: the table of results is up to date")
        return 0
    if check:
        print(f"{page}: the table of results is out of date: run ./dev results")
        return 1
    page.write_text(made, encoding="utf-8")
    print(f"{page}: the table of results is written")
    return 0


def main():
    if len(sys.argv) >= 4 and sys.argv[1] == "save":
        return save(pathlib.Path(sys.argv[2]), sys.argv[3:])
    if len(sys.argv) in (4, 5) and sys.argv[1] == "table":
        return write_results(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]), sys.argv[4:] == ["--check"])
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main())
