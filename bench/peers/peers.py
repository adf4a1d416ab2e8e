#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares inlay with other frameworks: the same layer on the same memory, in one process, in interleaved rounds.

    peers.py LIBRARY HANDLES [--only layer|encoders|rotary|lookups] [--threads N] [--rounds N] [--pages huge|small|unset]
             [--shapes REGEX] [--peers REGEX] [--json]

There are four sections: the input layer; that of BERT-like encoders, with segments and LayerNorm; the rotation of queries
and keys; and lookups of short rows in large tables, including hashed n-grams.

Run it in the virtual environment that `./dev peers` makes. Peers whose wheel is missing and shapes that don't fit in
memory are skipped with a message. The exit status is 1 if any output is wrong, inlay's or a peer's.
"""
import argparse
import dataclasses
import gc
import os
import pathlib
import re
import statistics
import sys
import typing

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = {
    "huge": "huge pages for all",
    "small": "small pages for all",
    "unset": "table, positions and ids in huge pages, outputs and temporaries as each framework allocates them",
}


def arguments():
    parser = argparse.ArgumentParser(description="Compares inlay with other frameworks.")
    parser.add_argument("shared_object", help="libinlay.so")
    parser.add_argument("handles", help="handles.c, built")
    parser.add_argument("--only", choices=("layer", "encoders", "rotary", "lookups"), help="only this section")
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
    # Gives the allocations of all contenders the same pages: by default, only NumPy asks for huge ones.
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


@dataclasses.dataclass
class Section:
    """One comparison. Contenders are objects with contenders(fixture) and a version; `ours` are inlay's names."""

    name: str
    shapes: list
    fixture: typing.Callable  # takes a shape
    own: list
    peers: list
    ours: tuple
    about: dict
    conditions: str
    goals: list
    absent: list
    # Of a contender and its output's bytes: the contender, then a read of its output. None: no outputs are read.
    reading: typing.Optional[typing.Callable]
    inlay: typing.Any = None  # inlay through ctypes, for its handles and its call overhead
    describe: typing.Callable = lambda shape: {}


def load(classes, options, absent):
    """Returns the contenders of those classes whose wheels are installed, and descriptions by name."""
    made, about = [], {}
    for each in classes:
        if not any(re.search(options.peers, name) for name in each.about):
            continue
        try:
            made.append(each(options.threads))
            about.update(each.about)
        except (ImportError, OSError) as missing:  # OSError: a library in the wheel doesn't match
            absent.append(skip(f"{each.__name__}: {missing}"))
    return made, about


def package(make, options, absent):
    """Returns inlay's Python package, if it could be built."""
    try:
        return [make(options.threads)]
    except ImportError as missing:
        absent.append(skip(f"inlay from Python: {missing}"))
        return []


def layer_section(options):
    import contenders
    import fixture as fixtures
    import report
    from layer import Inlay, Package

    inlay = Inlay(options.shared_object, options.handles, options.threads)
    absent = list(contenders.ABSENT)
    peers, about = load(contenders.PEERS, options, absent)

    def fixture(shape):
        return fixtures.Fixture(shape, inlay.sqrt_dim(shape.dim), inlay.sinusoids)

    return Section(
        name="the layer",
        shapes=fixtures.SHAPES,
        fixture=fixture,
        own=[inlay, *package(Package, options, absent)],
        peers=peers,
        ours=(inlay.sinusoid, inlay.learned),
        about=about,
        conditions=(
            "float32 tables, int64 ids (int32 for JAX and TensorFlow), random over the vocabulary; inlay's figure is "
            "the slower of its two"
        ),
        goals=report.layer_goals(contenders.PyTorch),
        absent=absent,
        reading=inlay.reading,
        inlay=inlay,
    )


def encoder_section(options):
    import encoders
    import fixture as fixtures
    import report

    inlay = encoders.Inlay(options.shared_object, options.handles, options.threads)
    absent = []
    peers, about = load(encoders.PEERS, options, absent)
    return Section(
        name="encoders",
        shapes=encoders.SHAPES,
        fixture=encoders.Fixture,
        own=[inlay, *package(encoders.Package, options, absent)],
        peers=peers,
        ours=(inlay.encoder,),
        about=about,
        conditions=(
            "tokens + segments + learned positions, then LayerNorm; float32 tables, int64 ids (int32 for ONNX Runtime "
            "and JAX), random over the vocabulary; outputs compared with LayerNorm in double, peers within "
            f"{fixtures.Fixture.tolerance:g}, inlay within {encoders.Fixture.own_tolerance:.2g}"
        ),
        goals=[report.EVERYWHERE],
        absent=absent,
        reading=inlay.reading,
        inlay=inlay,
    )


def rotary_section(options):
    import rotary

    absent = list(rotary.ABSENT)
    own = package(rotary.Package, options, absent)
    peers, about = load(rotary.PEERS, options, absent) if own else ([], {})
    return Section(
        name="rotary",
        shapes=rotary.SHAPES if own else [],
        fixture=rotary.Fixture,
        own=own,
        peers=peers,
        ours=(rotary.Package.arrays, rotary.Package.module),
        about=about,
        conditions=(
            f"{rotary.QUERIES} heads of queries and {rotary.KEYS} of keys, {rotary.COLUMNS} columns, halves; every "
            "contender from Python; cosines and sines are in tables; inlay's figure is the slower one where it has two"
        ),
        goals=rotary.GOALS,
        absent=absent,
        reading=None,
    )


def lookup_section(options):
    import lookup_contenders
    import lookups
    from layer import Inlay

    absent = list(lookup_contenders.ABSENT)
    own = package(lookup_contenders.Inlay, options, absent)
    peers, about = load(lookup_contenders.PEERS, options, absent) if own else ([], {})
    return Section(
        name="lookups",
        shapes=lookups.SHAPES if own else [],
        fixture=lookups.Fixture,
        own=own,
        peers=peers,
        ours=(lookup_contenders.Inlay.layer, lookup_contenders.Inlay.ngram),
        about=about,
        conditions=(
            f"tables of {lookups.table_bytes() / 2**30:.1f} GiB, int64 ids, random over the vocabulary, other ones in "
            "each call; every contender from Python; inlay's figure is the slower one where it has two"
        ),
        goals=lookups.GOALS,
        absent=absent,
        reading=Inlay(options.shared_object, options.handles, options.threads).reading,
        describe=lookups.describe,
    )


def check(section, fixture, options, differences):
    """Returns a shape's contenders with correct outputs, and whether all are correct."""
    import fixture as fixtures

    chosen, right = [], True
    for peer in [*section.own, *section.peers]:
        try:
            made = list(peer.contenders(fixture))
        except Exception as failure:  # one framework that fails must not stop the others
            section.absent.append(skip(f"{type(peer).__name__}, {fixture.shape.name}: {failure}"))
            continue
        for contender in made:
            is_ours = contender.name in section.ours
            if not is_ours and not re.search(options.peers, contender.name):
                continue
            if contender.mode in (fixtures.REUSED, fixtures.USED):
                fixture.clear()
            difference = fixture.difference(contender.array(contender.call()))
            differences[contender.name, contender.mode] = difference
            if difference > (fixture.own_tolerance if is_ours else fixture.tolerance):
                right = False
                where = f"{contender.name}, {fixture.shape.name}, {contender.mode}"
                section.absent.append(skip(f"{where}: WRONG, differs by {difference:g}"))
            else:
                chosen.append(contender)
    unread = [each for each in chosen if section.reading and not each.read and each.mode != fixtures.USED]
    return chosen + [section.reading(each, fixture.shape.output_bytes) for each in unread], right


def measure(section, options):
    """Returns a section's rows, the time of inlay calls without work, and whether all outputs are correct."""
    import fixture as fixtures
    import report
    import rounds

    rows, right, empty_calls = [], True, []
    for shape in section.shapes:
        if not re.search(options.shapes, shape.name):
            continue
        if shape.bytes > 0.8 * fixtures.free_bytes():
            section.absent.append(skip(f"{shape.name}: {shape.bytes / 2**30:.1f} GiB of memory are not free"))
            continue
        print(f"peers: {shape.name}", file=sys.stderr, flush=True)
        fixture, differences = section.fixture(shape), {}
        chosen, all_right = check(section, fixture, options, differences)
        right = right and all_right
        timings = rounds.measure(chosen, options.rounds, options.threads)
        made = report.make_rows(shape, timings, differences, section.ours, lambda name: section.about[name][0])
        rows += [{"section": section.name, **row, **section.describe(shape)} for row in made]
        if section.inlay:
            empty_calls += [rounds.seconds_for(section.inlay.without_work, 10000)[1] for _ in range(5)]
            section.inlay.leave()
        chosen = timings = fixture = None
        gc.collect()
    return rows, empty_calls, right


def facts_of(section, rows, empty_calls, options, cores):
    import report

    share = [row["processor_share"] for row in rows]
    versions = [", ".join(each.version for each in group) for group in (section.own, section.peers)]
    facts = {
        "versions": f"inlay {versions[0]}, compared with {versions[1]}",
        "conditions": (
            f"{options.threads} thread{'s' * (options.threads > 1)} on core{'s' * (len(cores) > 1)} "
            f"{', '.join(map(str, cores))}; {options.rounds} rounds; {section.conditions}; {PAGES[options.pages]}"
        ),
    }
    if empty_calls:
        overhead = report.time(statistics.median(empty_calls))
        facts["overhead"] = (
            f"a call of inlay_forward through ctypes without work takes {overhead}: it counts as inlay's time except "
            "where inlay is used from C"
        )
    facts["disturbance"] = (
        f"the clock is {'CPU time' if options.threads == 1 else 'wall time'}; CPU time over wall time: "
        f"{statistics.median(share):.2f} (median of the rows), {min(share):.2f} (least); load of the machine: "
        f"{os.getloadavg()[0]:.1f}"
    )
    return facts


def main():
    options = arguments()
    cores = prepare_environment(options.threads, options.pages)

    import report

    results, all_right = [], True
    sections = {
        "layer": layer_section, "encoders": encoder_section, "rotary": rotary_section, "lookups": lookup_section
    }
    for name, make in sections.items():
        if options.only not in (None, name):
            continue
        section = make(options)
        rows, empty_calls, right = measure(section, options)
        all_right = all_right and right
        if not rows:
            continue
        facts = facts_of(section, rows, empty_calls, options, cores)
        results.append({"section": section.name, **facts, "absent": section.absent, "rows": rows})
        if not options.json:
            report.print_table(section.name, facts, rows, section.about, section.absent, section.goals)
    if not results:
        print("peers: no shape was measured", file=sys.stderr)
        return 1
    if options.json:
        report.print_json(results)
    return int(not all_right)


if __name__ == "__main__":
    sys.exit(main())
