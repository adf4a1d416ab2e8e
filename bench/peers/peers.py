#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares inlay with other frameworks: the same layer on the same memory, in one process, in interleaved rounds.

    peers.py LIBRARY HANDLES [--threads N] [--rounds N] [--pages huge|small|unset] [--shapes REGEX] [--peers REGEX]
             [--json]

Runs in the virtual environment that `./dev peers` makes. A peer whose wheel is missing and a shape that does not
fit in memory are skipped with a line that says so. The exit status is 1 if an output is wrong, inlay's or a peer's.
"""
import argparse
import gc
import os
import pathlib
import re
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = {
    "huge": "huge pages for all",
    "small": "small pages for all",
    "unset": "table, positions and ids in huge pages, outputs and temporaries as each framework allocates them",
}
TOLERANCE = 1e-5  # a peer may fuse the multiplication with the addition: an ULP of |x| < 64 is at most 3.9e-6


def arguments():
    parser = argparse.ArgumentParser(description="Compares inlay with other frameworks.")
    parser.add_argument("shared_object", help="libinlay.so")
    parser.add_argument("handles", help="handles.c, built")
    parser.add_argument("--threads", type=int, default=1, help="threads of inlay and of each peer (default: 1)")
    parser.add_argument("--rounds", type=int, default=7, help="interleaved rounds (default: 7)")
    parser.add_argument(
        "--pages", default="huge", choices=("huge", "small", "unset"),
        help="pages of all memory (default: huge); unset: as each framework allocates by itself"
    )
    parser.add_argument("--shapes", default="", help="only shapes whose name matches this regular expression")
    parser.add_argument("--peers", default="", help="only peers whose name matches this regular expression")
    parser.add_argument("--json", action="store_true", help="print all rows as JSON")
    options = parser.parse_args()
    if not 1 <= options.threads <= len(os.sched_getaffinity(0)):
        parser.error("more threads than cores")
    return options


def prepare_environment(threads, pages):
    """Sets cores and environment before any framework is imported."""
    cores = sorted(os.sched_getaffinity(0))[-threads:]
    os.sched_setaffinity(0, cores)
    # The allocations of every contender get the same pages: by default only NumPy asks for huge ones.
    same_pages = {
        "GLIBC_TUNABLES": f"glibc.malloc.hugetlb={int(pages == 'huge')}",
        "NUMPY_MADVISE_HUGEPAGE": str(int(pages == "huge")),
    }
    wanted = {
        **({} if pages == "unset" else same_pages),
        "OMP_NUM_THREADS": str(threads),
        "XLA_FLAGS": f"--xla_cpu_multi_thread_eigen={str(threads > 1).lower()} intra_op_parallelism_threads={threads}",
        "JAX_PLATFORMS": "cpu",
        "CUDA_VISIBLE_DEVICES": "",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TORCHINDUCTOR_CACHE_DIR": str(ROOT / "build" / "inductor"),
        "PYTHONWARNINGS": "ignore",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **wanted})
    return cores


def skip(what):
    print(f"peers: skipped: {what}", file=sys.stderr, flush=True)
    return f"skipped: {what}"


def main():
    options = arguments()
    cores = prepare_environment(options.threads, options.pages)

    sys.path.append(str(ROOT / "tests" / "interop"))
    import contenders
    import fixture as fixtures
    import report
    import rounds
    from layer import Inlay, Package
    from library import Library

    inlay = Inlay(options.shared_object, options.handles, options.threads)
    sinusoids = Library(options.shared_object)
    ours = (inlay.sinusoid, inlay.learned)
    absent, peers, about = list(contenders.ABSENT), [], {}
    own = [inlay]
    try:
        own.append(Package(options.threads))
    except ImportError as missing:
        absent.append(skip(f"inlay from Python: {missing}"))
    for peer in contenders.PEERS:
        if not any(re.search(options.peers, name) for name in peer.about):
            continue
        try:
            peers.append(peer(options.threads))
            about.update(peer.about)
        except ImportError as missing:
            absent.append(skip(f"{peer.__name__}: {missing}"))

    rows, wrong, empty_calls = [], False, []
    for shape in fixtures.SHAPES:
        if not re.search(options.shapes, shape.name):
            continue
        if shape.bytes > 0.8 * fixtures.free_bytes():
            absent.append(skip(f"{shape.name}: {shape.bytes / 2**30:.1f} GiB of memory are not free"))
            continue
        print(f"peers: {shape.name}", file=sys.stderr, flush=True)
        fixture = fixtures.Fixture(shape, inlay.sqrt_dim(shape.dim), lambda dim, n: sinusoids.table("exact", dim, n))
        chosen, differences = [], {}
        for peer in [*own, *peers]:
            try:
                made = list(peer.contenders(fixture))
            except Exception as failure:  # one framework that fails must not stop the others
                absent.append(skip(f"{type(peer).__name__}, {shape.name}: {failure}"))
                continue
            for contender in made:
                if contender.name not in ours and not re.search(options.peers, contender.name):
                    continue
                if contender.mode in (fixtures.REUSED, fixtures.USED):
                    fixture.out.fill(float("nan"))
                difference = fixture.difference(contender.array(contender.call()))
                differences[contender.name, contender.mode] = difference
                if difference > (0 if contender.name in ours else TOLERANCE):
                    wrong = True
                    absent.append(skip(f"{contender.name}, {shape.name}: WRONG, differs by {difference:g}"))
                else:
                    chosen.append(contender)
            made = contender = None
        timings = rounds.measure(chosen, options.rounds, options.threads)
        empty_calls += [rounds.seconds_for(inlay.without_work, 10000)[1] for _ in range(5)]
        rows += report.make_rows(shape, timings, differences, ours, lambda name: about[name][0])
        chosen = timings = fixture = None
        inlay.leave()
        gc.collect()

    if not rows:
        print("peers: no shape was measured", file=sys.stderr)
        return 1
    share = statistics.median(row["processor_share"] for row in rows)
    least = min(row["processor_share"] for row in rows)
    facts = {
        "versions": f"inlay {', '.join(peer.version for peer in own)} beside {', '.join(peer.version for peer in peers)}",
        "conditions": (
            f"{options.threads} thread{'s' * (options.threads > 1)} on core{'s' * (len(cores) > 1)} "
            f"{', '.join(map(str, cores))}; {options.rounds} rounds; float32 tables, int64 ids (int32 for JAX and "
            f"TensorFlow), random over the vocabulary; {PAGES[options.pages]}; inlay's figure is the slower of its two"
        ),
        "overhead": (
            "a call of inlay_forward through ctypes without work takes "
            f"{report.time(statistics.median(empty_calls))}: it counts as inlay's time except where inlay is used from C"
        ),
        "disturbance": (
            f"the clock is {'CPU time' if options.threads == 1 else 'wall time'}; CPU time over "
            f"wall time: {share:.2f} (median of the rows), {least:.2f} (least); load of the machine: "
            f"{os.getloadavg()[0]:.1f}"
        ),
    }
    if options.json:
        report.print_json(facts, rows, absent)
    else:
        report.print_table(facts, rows, about, absent, contenders.PyTorch)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
