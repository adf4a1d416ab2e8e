# SPDX-License-Identifier: MIT
"""The results of a run of inlay_bench: its JSON as rows."""

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from typing import Optional

# Runs with the same values of these can be compared.
MACHINE = ("cpu", "num_cpus")


@dataclass(frozen=True)
class Row:
    name: str
    kernel: str
    isa: str  # "limit" for a limit
    shape: str  # without the number of threads
    threads: int
    seconds: float
    bytes_per_second: float
    ratio: Optional[float]  # time over the limit's time; None for a limit
    scatter: float  # of the ratio between rounds, relative to it
    limit: str
    over_streams: Optional[float]  # time over a loop that also reads positions and scales; None: no such loop
    minimum: float  # seconds, of the fastest round
    speed_up: Optional[float]  # None on one thread

    @property
    def tokens(self):
        """The tokens of all sequences; None if the shape has none."""
        found = re.match(r"b(\d+)_s(\d+)_", self.shape)
        return int(found[1]) * int(found[2]) if found else None


def row_of(run):
    first, second, shape = run["name"].split("/")
    limit = first == "limit"
    seconds = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}[run["time_unit"]] * run["real_time"]
    plain = re.sub(r"_t\d+$", "", shape)
    return Row(
        name=run["name"],
        kernel=second if limit else first,
        isa="limit" if limit else second,
        shape=plain,
        threads=int(shape[len(plain) + 2 :] or 1),
        seconds=seconds,
        bytes_per_second=run["bytes_per_second"],
        ratio=run.get("time_over_limit"),
        scatter=run.get("scatter", 0.0),
        limit=run.get("label", "").partition("; ")[0],
        over_streams=run.get("time_over_streams"),
        minimum=run.get("seconds_minimum", seconds),
        speed_up=run.get("speed_up"),
    )


def parse(text):
    """Returns (machine, rows in order) from the JSON of a run."""
    found = json.loads(text)
    machine = {key: found["context"].get(key) for key in MACHINE}
    return machine, [row_of(run) for run in found["benchmarks"] if run["run_type"] == "iteration"]


def read(path):
    with open(path, encoding="utf-8") as file:
        return parse(file.read())


def measure(command):
    """Runs the harness and returns its JSON output."""
    done = subprocess.run([*command, "--benchmark_format=json"], stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(f"{command[0]}: exit status {done.returncode}")
    return done.stdout.decode()
