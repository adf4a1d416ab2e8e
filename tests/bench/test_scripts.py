#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests the scripts of bench/ on made-up runs, which are read and compared, and on a made-up loop.

Run as `test_scripts.py BENCH_DIR`. The comparison with other frameworks needs NumPy; the last line says if it was
skipped.
"""

import collections
import importlib.util
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

BENCH = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(BENCH))
sys.path.insert(0, str(BENCH.parent / "scripts" / "checks"))
sys.path += [str(BENCH / "peers"), str(BENCH.parent / "python" / "tests")]
sys.dont_write_bytecode = True

import instructions  # noqa: E402  pylint: disable=wrong-import-position
import neon_mca  # noqa: E402  pylint: disable=wrong-import-position
import results  # noqa: E402  pylint: disable=wrong-import-position
import saved  # noqa: E402  pylint: disable=wrong-import-position

CONTEXT = {"cpu": "a CPU", "num_cpus": 2, "load_avg": [0.5]}


def run_of(name, **counters):
    return {"name": name, "run_type": "iteration", "real_time": 2.0, "time_unit": "us", "bytes_per_second": 3e9, **counters}


def json_of(*runs, **context):
    return json.dumps({"context": {**CONTEXT, **context}, "benchmarks": runs})


def embed(ratio, scatter=0.01, name="embed/avx2/b32_s512_d512_v50000"):
    return run_of(name, time_over_limit=ratio, scatter=scatter, label="copy_nt")


def test_rows():
    machine, (one, two, three, limit) = results.parse(
        json_of(
            embed(1.25),
            run_of("sinusoid/neon/r512_d64_t16", time_over_limit=1.5, speed_up=9.0, label="fill"),
            run_of("embed_i8/avx2/b1_s2_d3_v4_stored", time_over_limit=1.2, time_over_streams=1.1, seconds_minimum=1e-6,
                   label="expand_i8_nt; streams_i8_nt"),
            run_of("limit/copy_nt/b10_s31623_d512_v50000_at16"),
            {**embed(9), "run_type": "aggregate"},
        )
    )
    assert machine == {"cpu": "a CPU", "num_cpus": 2}
    assert (one.kernel, one.isa, one.shape, one.threads) == ("embed", "avx2", "b32_s512_d512_v50000", 1)
    assert (one.ratio, one.scatter, one.limit, one.seconds, one.tokens) == (1.25, 0.01, "copy_nt", 2e-6, 16384)
    assert (two.shape, two.threads, two.speed_up, two.tokens) == ("r512_d64", 16, 9.0, None)
    assert (one.over_streams, one.minimum) == (None, 2e-6), "an older harness has neither"
    assert (three.limit, three.ratio, three.over_streams, three.minimum) == ("expand_i8_nt", 1.2, 1.1, 1e-6)
    assert (limit.kernel, limit.isa, limit.ratio, limit.tokens) == ("copy_nt", "limit", None, 316230)
    assert limit.shape.endswith("_at16") and limit.threads == 1


def test_loop():
    """Finds the vector loop, without its rare branch, next to a scalar loop and the exit."""
    lines = """ldr s0, [x1]|fmul s0, s0, s1|str s0, [x3], #4|b.ne 0 <f>|\
        ldr q0, [x1]|ldp q2, q3, [x2]|fmul v0.4s, v0.4s, v2.4s|cbz x5, 24 <f+0x24>|bl 0 <g>|\
        stp q0, q3, [x3]|b.ne 10 <f+0x10>|ret""".split("|")
    function = neon_mca.Function([(4 * i, text.strip("\\\n ")) for i, text in enumerate(lines)])
    assert function.heads == {0, 4}, function.heads
    loop = neon_mca.shortest_cycle(function, ((r"fmul\s+v", 1), ("ld", 3), ("st", 2)), r"bl\s")
    assert loop == function.text[4:8] + function.text[9:11], loop
    assert neon_mca.shortest_cycle(function, (("ld", 4),), r"bl\s") is None


def test_instructions():
    """Reads the costs of one function's calls only, with a margin of 3 %."""
    profile = """fn=(1) main
16 5
cfn=(2) count_a
calls=1 20
16 700
fn=(3) measure_all.constprop.0
16 5
cfn=(2)
calls=1 20
16 100
cfn=(4) printf
calls=1 0
16 9000
fn=(2)
20 80
cfn=(5) count_b
calls=1 0
20 50
"""
    assert instructions.parse_profile(profile) == {"a": 100}
    compiler, expected = instructions.parse_expected("# comment\ncompiler gcc 12\na 100.0\nb 50.5 # more\n")
    assert (compiler, expected) == ("gcc 12", {"a": 100.0, "b": 50.5})
    assert instructions.parse_expected(instructions.table_of("gcc 12", expected)) == ("gcc 12", expected)
    assert instructions.judge(expected, {"a": 103, "b": 49.5}) == ([], [])
    assert instructions.judge(expected, {"a": 103.1, "b": 48}) == (["a"], ["b"])
    assert instructions.judge(expected, {"a": 100, "c": 1}) == ([], ["c", "b"]), "new and missing cases ask for an update"


def test_saved(folder):
    """A saved run is named after its CPU, has no private data, and becomes columns of the table."""
    amd = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\n\nprocessor: 1\n"
    assert saved.file_name(amd) == "authenticamd-25-17.json", saved.file_name(amd)
    arm = "CPU implementer\t: 0x41\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n"
    assert saved.file_name(arm) == "0x41-0xd0c-1.json", saved.file_name(arm)
    assert saved.file_name("vendor_id: ../../x\ncpu family: 1\nmodel: 2\n") == "_x-1-2.json"
    assert saved.file_name("") is None and saved.file_name("vendor_id : x\nmodel : 3\n") is None
    runs = folder / "results"
    page = folder / "page.md"
    page.write_text(f"before\n{saved.BEGIN}\n{saved.END}\nafter\n", encoding="utf-8")
    assert saved.write_results(runs, page, True) == 1 and saved.write_results(runs, page, False) == 0
    assert "No run is kept yet." in page.read_text(encoding="utf-8")
    runs.mkdir()
    text = saved.pruned(json_of(embed(1.254), embed(7.0, name="embed/avx2/b32_s512_d512_v50000_t2"),
                                {**embed(1.5, name="embed/avx512/b64_s1_d4096_v32000"), "time_over_streams": 1.125},
                                {**embed(3.5, name="embed/avx512/b32_s512_d768_v50000"), "time_over_streams": 1.0},
                                run_of("limit/copy/b32_s512_d512_v50000"), embed(2.0, name="gather/avx2/b1_s1_d1_v1"),
                                embed(2.0, name="embed/scalar/b32_s512_d512_v50000"), host_name="secret"))
    names = [row.name for row in results.parse(text)[1]]
    assert "secret" not in text and len(names) == 3 and all("embed/" in name for name in names), text
    (runs / "a-1-2.json").write_text(text, encoding="utf-8")
    assert saved.write_results(runs, page, True) == 1 and saved.write_results(runs, page, False) == 0
    lines = page.read_text(encoding="utf-8").splitlines()
    assert lines[2] == "| batch x seq | a CPU (a-1-2), avx512 | a CPU (a-1-2), avx2 |", lines[2]
    assert "| 32 x 512, dim 512, vocab 50k |  | 1.25 |" in lines, lines
    assert "| 64 x 1, dim 4096 (decode) | 1.12 |  |" in lines, "over the loop with all streams"
    assert "| 32 x 512, dim 768, vocab 50k | 3.50 |  |" in lines, "over the copy, although there is such a loop"
    assert lines[0] == "before" and lines[-1] == "after" and saved.write_results(runs, page, True) == 0


def write_harness(path, *minima):
    """Writes a program that prints a run with the next of these minima, in microseconds, at each start."""
    texts = [json_of({**embed(1.0), "seconds_minimum": us * 1e-6}) for us in minima]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".log").write_text("", encoding="utf-8")
    path.write_text(
        f"#!{sys.executable} -B\n"
        "import pathlib, sys\n"
        f"log = pathlib.Path({str(path.with_suffix('.log'))!r})\n"
        "calls = log.read_text().splitlines()\n"
        "log.write_text('\\n'.join([*calls, ' '.join(sys.argv[1:])]))\n"
        f"print({texts!r}[len(calls)])\n",
        encoding="utf-8",
    )
    path.chmod(0o755)
    return path


def compare_in_turn(folder, old, new):
    """Returns exit status, output, and the calls of two harnesses with these minima. The old one is given by its build
    directory."""
    harnesses = write_harness(folder / "old" / "bench" / "inlay_bench", *old), write_harness(folder / "inlay_bench", *new)
    command = [sys.executable, "-B", str(BENCH / "against.py"), str(folder / "old"), str(harnesses[1]), "--more"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    logs = [harness.with_suffix(".log").read_text(encoding="utf-8").splitlines() for harness in harnesses]
    return done.returncode, done.stdout.decode(), logs


def test_in_turn(folder):
    status, out, (old, new) = compare_in_turn(folder, (2.0, 2.1), (2.05, 2.4))
    assert (status, out) == (0, "1 rows compared in turn, 0 slower\n"), out
    assert old == new == ["--more --benchmark_format=json"] * 2, (old, new)
    status, out, (old, new) = compare_in_turn(folder, (2.0, 2.0, 2.0, 2.0), (3.0, 3.0, 3.0, 3.1))
    assert status == 1 and "50.0%" in out and "3.00 us" in out, out
    assert len(old) == len(new) == 4 and "--benchmark_filter=^(embed/avx2/b32_s512_d512_v50000)(/|$)" in old[2], old
    status, out, _ = compare_in_turn(folder, (2.0, 2.0, 2.0, 2.0), (3.0, 3.0, 2.0, 2.0))
    assert status == 0, "a row that is not slower again does not count"
    status, out, (old, _) = compare_in_turn(folder, (2.0, 2.5), (2.3, 2.3))
    assert (status, len(old)) == (0, 2), "the spread of the old minima is larger than what was lost"


Timing = collections.namedtuple("Timing", "contender median minimum faults share", defaults=(0, 1.0))


def timing(name, mode, seconds, read=False):
    import fixture

    return Timing(fixture.Contender(name, mode, None, None, read=read), seconds, seconds / 2)


def test_peer_rows():
    """A peer is compared with the slower of inlay's contenders in the same mode; faster ones are named."""
    import fixture
    import lookups
    import report

    ours = ("inlay, Layer", "inlay, NGram")
    shape = lookups.Shape("rows", lookups.QWEN, "e4m3", 160, "bfloat16", "concat", 1, 16)
    timings = [
        timing(ours[0], fixture.NEW, 2e-6),
        timing(ours[1], fixture.NEW, 1e-6),
        timing(ours[0], fixture.REUSED, 1e-6),
        timing("quick", fixture.ALLOCATED, 1e-6),
        timing("slow", fixture.ALLOCATED, 8e-6),
        timing("slow", fixture.REUSED, 3e-6),
        timing(ours[0], fixture.REUSED, 4.0, True),
        timing("slow", fixture.REUSED, 5.0, True),
        timing("slow", fixture.ALLOCATED, 9.0, True),
    ]
    differences = {(each.contender.name, each.contender.mode): 0.0 for each in timings}
    rows = report.make_rows(shape, timings, differences, ours, lambda name: name == "quick")
    rows = [{**row, **lookups.describe(shape)} for row in rows]
    ratios = {(row["peer"], row["outputs"]): row["median_over_inlay"] for row in rows if not row["is_inlay"]}
    alone = {("slow", "reused"): 3.0, ("quick", "new"): 0.5, ("slow", "new"): 4.0}
    assert ratios == {**alone, ("slow", "reused, read"): 1.25}, ratios
    assert rows[0]["shape"] == "rows e4m3 16x160 to bfloat16, t16" and rows[0]["output_bytes"] == 16 * 16 * 160 * 2
    peers = [row for row in rows if not row["is_inlay"]]
    said = list(report.verdict(peers))
    assert len(said) == 1 and said[0].startswith("FASTER THAN INLAY: quick, rows e4m3 16x160"), said
    slower = [row for row in peers if row["peer"] == "slow"]
    assert next(report.verdict(slower)).startswith("no peer is faster than inlay anywhere; nearest: slow"), slower
    lines = [" ".join(line.split()) for line in report.goals(peers, lookups.GOALS)]
    assert lines[0] == "goal: times faster than reused new", lines
    assert lines[1] == "rows of FP8, every peer 3 3.00 0.50 missed", lines
    assert lines[2] == "rows of bfloat16, every peer 3 - -" and lines[5] == "the hash alone, every peer 3 - -", lines
    assert lines[6] == "every peer, everywhere 1 3.00 0.50 missed", lines
    assert lines[7] == "every peer, each output read once 1 1.25 -", lines
    assert list(report.matrix(rows, "reused, read"))[2] == ("slow", "1.25")
    cells = list(report.matrix(rows, "new"))
    assert [line[0] for line in cells] == ["", *ours, "quick", "slow"] and cells[4][1] == "4.00", cells


def test_lookup_definition():
    """The hash equals the header's, and a difference of one bit is detected."""
    import lookups
    import ngram_definition
    import numpy

    lookups.TABLE_BYTES, lookups.CALL_TOKENS = 1 << 20, 64
    for family in (lookups.ENGRAM, lookups.QWEN):
        made, ids, rows = lookups.calls_of(family, 5000)
        ids[5] = ids[9] = lookups.END_OF_TEXT
        spec = {"length": family.length, "pad": made.pad, "mix": "xor", "multipliers": [made.multipliers]}
        spec |= {"resets": made.resets, "token_map": made.token_map}
        columns = zip(made.lengths.tolist(), made.moduli.tolist(), made.offsets.tolist())
        spec["columns"] = [{"length": n, "modulus": m, "offset": o} for n, m, o in columns]
        before = family.length - 1
        expected = ngram_definition.row_ids(spec, [ids[before:].tolist()], [ids[:before].tolist()])
        rows[:] = made.rows(ids)
        assert numpy.array_equal(rows, expected) and rows.max() < 5000, family.name
        assert len(numpy.unique(rows)) > 500, "ids reach everywhere"
    values = lookups.e4m3_values()
    assert values[[0x01, 0x08, 0x38, 0x7E, 0xB8]].tolist() == [2.0**-9, 2.0**-6, 1, 448, -1]
    assert numpy.isnan(values).nonzero()[0].tolist() == [0x7F, 0xFF]
    ties = numpy.array([1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20, -2.0], numpy.float32)
    assert lookups.bfloat16_bits(ties).tolist() == [0x3F80, 0x3F82, 0x3F81, 0xC000]
    assert lookups.SCALE == 0xB5 * 2.0**-14, "bfloat16 holds it"


def test_lookup_outputs():
    import lookups
    import numpy

    lookups.TABLE_BYTES, lookups.CALL_TOKENS = 1 << 20, 64
    for given in lookups.SHAPES:
        fixture = lookups.Fixture(given._replace(seq=4))
        i = fixture.step()
        ids, shape = fixture.row_ids[i], fixture.shape
        if shape.stage == "hash":
            assert fixture.difference(ids.copy()) == 0 and fixture.step() == 2
            assert fixture.difference(ids) == numpy.inf, "ids of another call"
            continue
        rows = fixture._expand(ids)
        if shape.combine == "sum":
            total = rows[:, 0].copy()
            for column in range(1, shape.family.columns):
                total += rows[:, column]
            rows = total
        right = rows if shape.out == "float32" else lookups.bfloat16_bits(rows)
        assert fixture.difference(right.reshape(shape.output)) == 0, shape.name
        fixture.step = lambda i=i: i + 1
        wrong = right.copy()
        wrong.view(numpy.uint8)[-1, ..., -1] ^= numpy.uint8(1)
        assert fixture.difference(wrong) > fixture.tolerance, shape.name
        wrong.view(numpy.uint8).fill(255)  # NaN
        assert fixture.difference(wrong) == numpy.inf and fixture.difference(right[1:]) == numpy.inf
        fixture.clear()
        assert fixture.difference(fixture.out) == numpy.inf, "what is not written is wrong"


def test_encoder_outputs():
    """The definition agrees with LayerNorm by hand, and a small difference is detected."""
    import encoders
    import fixture
    import numpy

    made = encoders.Fixture(fixture.Shape(2, 6, 32, 40))
    right = numpy.stack([made.expected(i) for i in range(2)]).astype(numpy.float32)
    row = [float(x) for x in made.table[made.ids[1, 4]] + made.segments[1] + made.positions[4]]
    mean, factor = statistics.fmean(row), (statistics.pvariance(row) + 1e-12) ** -0.5
    by_hand = [(x - mean) * factor * g + b for x, g, b in zip(row, made.gamma.tolist(), made.beta.tolist())]
    assert numpy.allclose(right[1, 4], by_hand, rtol=0, atol=1e-6), right[1, 4] - by_hand
    assert made.difference(right) <= made.own_tolerance < made.tolerance
    right[1, 4, 31] += 2 * made.tolerance
    assert made.difference(right) > made.tolerance
    made.clear()
    assert made.difference(made.out) == numpy.inf


def test_rotary_outputs():
    """The definition agrees with products of complex numbers, and a small difference is detected."""
    import numpy
    import rotary

    for kind in ("float32", "bfloat16"):
        made = rotary.Fixture(rotary.Shape(3, kind))
        x, half = made.array(made.pair), rotary.COLUMNS // 2
        positions = numpy.arange(rotary.LIMIT - 3, rotary.LIMIT)[:, None, None]
        turn = numpy.exp(1j * positions * rotary.BASE ** (-numpy.arange(half) / half))
        turned = (x[..., :half] + 1j * x[..., half:]) * turn
        right = numpy.concatenate([turned.real, turned.imag], -1)
        assert made.difference(right) < 1e-9 < made.own_tolerance < made.tolerance
        right[2, 39, 127] += 2 * made.tolerance
        assert made.difference(right) > made.tolerance
        made.clear()
        assert made.difference(made.array(made.out)) == numpy.inf


def test_peers():
    if importlib.util.find_spec("numpy") is None:
        return "peers were not tested: NumPy is not installed"
    test_peer_rows()
    test_lookup_definition()
    test_lookup_outputs()
    test_encoder_outputs()
    if importlib.util.find_spec("torch") is not None:
        test_rotary_outputs()
    return "peers too"


def main():
    peers = test_peers()
    with tempfile.TemporaryDirectory() as folder:
        test_rows()
        test_loop()
        test_instructions()
        test_saved(pathlib.Path(folder))
        test_in_turn(pathlib.Path(folder))
    print(f"bench scripts: all good; {peers}")


if __name__ == "__main__":
    main()
