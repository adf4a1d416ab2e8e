#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the command `inlay`, from outside.

    test_tool.py [EMULATOR ...] PATH/TO/inlay

Prints one line per failure and a count at the end; exits with 1 if anything failed. Standard library only.
"""

import os
import re
import sys
import tempfile

import harness
import test_completion
import test_convert
import test_faults
import test_files
import test_model
import test_ngram
import test_numbers
import test_outputs
import test_quantize
import test_table
import test_text
from harness import check, check_error, has_threads, run

NGRAM = ("ngram", "--spec", "/none/spec.json", "--ids", "1 2")
TYPED = ("convert", "/none/in.npy", "--type", "q8_0", "--out", "x.npy")
CONVERT = ("convert", "a.gguf", "--type", "i8", "--out", "x.safetensors")
EMBED = ("embed", "--ids", "1 2", "--dim", "4")
TABLE = ("table", "--dim", "4", "--positions", "0:2")

USAGE = [
    ((), "the command is missing"),
    (("frobnicate",), "'frobnicate'"),
    (("convrt",), "unknown command 'convrt': the nearest are convert, ngram and model"),
    (("--versoin",), "unknown command '--versoin': the nearest are "),
    (("--frobnicate",), "'--frobnicate'"),
    (("\x1b[31mred",), "\\x1b"),
    (("--version", "x"), "'x'"),
    (("embed",), "nothing to embed"),
    ((*EMBED, "--text", "a"), "only one of"),
    ((*EMBED, "--text-file", "a"), "only one of"),
    (("embed", "--text", "a", "--text-file", "b"), "only one of"),
    ((*EMBED, "--frobnicate"), "'--frobnicate'"),
    ((*EMBED, "--tabel=x"), "'--tabel=x': the nearest are --table, ", "; see inlay embed --help"),
    ((*EMBED, "--postions", "none"), "'--postions': the nearest are --positions, "),
    ((*EMBED, "--frob\nnicate"), "\\x0a"),
    ((*EMBED, "--ma"), "'--ma'"),
    ((*EMBED, "--l", "2"), "'--l'"),
    ((*EMBED, "-x"), "'-x'"),
    ((*EMBED, "-xyz"), "'-x'"),
    ((*EMBED, "stray"), "'stray'"),
    ((*EMBED, "--", "stray"), "'stray'"),
    ((*EMBED, "--dim"), "'--dim' needs a value"),
    ((*EMBED, "--explain=yes"), "takes none"),
    (("embed", "--ids", ""), "no ids"),
    (("embed", "--ids", " , "), "no ids"),
    (("embed", "--ids", "1 x 2"), "'x'"),
    (("embed", "--ids", "1 2.0"), "'2.0'"),
    (("embed", "--ids", "0x10"), "'0x10'"),
    (("embed", "--ids", "1;2"), "'1;2'"),
    (("embed", "--ids", "-"), "'-'"),
    (("embed", "--ids", "9223372036854775808"), "'9223372036854775808'"),
    (("embed", "--ids", "-9223372036854775809"), "'-9223372036854775809'"),
    (("embed", "--ids", "1" * 5000), "..."),
    ((*EMBED, "--dim", "0"), "--dim '0'"),
    ((*EMBED, "--dim", "-1"), "--dim '-1'"),
    ((*EMBED, "--dim", "4x"), "--dim '4x'"),
    ((*EMBED, "--dim", " 4"), "--dim ' 4'"),
    ((*EMBED, "--dim", "4 "), "--dim '4 '"),
    ((*EMBED, "--dim", ""), "--dim ''"),
    ((*EMBED, "--dim", "1e3"), "--dim '1e3'"),
    ((*EMBED, "--dim", "2147483648"), "2147483647"),
    ((*EMBED, "--dim", "99999999999999999999"), "--dim"),
    ((*EMBED, "--vocab", "0"), "--vocab"),
    ((*EMBED, "--vocab", "2147483649"), "--vocab"),
    ((*EMBED, "--length", "0"), "--length"),
    ((*EMBED, "--start", "-1"), "--start"),
    ((*EMBED, "--start", "2147483648"), "--start"),
    ((*EMBED, "--start", "1", "--positions", "none"), "--start"),
    ((*EMBED, "--seed", "1"), "--table random"),
    ((*EMBED, "--seed", "-1", "--table", "random"), "--seed"),
    ((*EMBED, "--max-tokens", "9"), "--max-tokens"),
    (("embed", "--text", "a", "--max-tokens", "1"), "--max-tokens"),
    ((*EMBED, "--print-vocab"), "--print-vocab"),
    (("embed", "--text", "a", "--print-vocab", "--threads", "2"), "drop --threads"),
    ((*EMBED, "--threads", "0"), "--threads '0' is not an integer from 1 to 1024"),
    ((*EMBED, "--threads", "1025"), "--threads"),
    ((*EMBED, "--threads", "two"), "--threads 'two'"),
    (("embed", "--text", "a", "--print-vocab", "--out", "x"), "--print-vocab", "drop --out"),
    (("embed", "--text", "a", "--print-vocab", "--explain"), "drop --explain"),
    ((*EMBED, "--explain", "--out", "x"), "--explain only prints the plan", "drop --out"),
    ((*EMBED, "--explain", "--plot", "x"), "drop --plot"),
    ((*EMBED, "--table", "fixd"), "'fixd'"),
    ((*EMBED, "--table", ""), "--table ''"),
    ((*EMBED, "--positions", "learned"), "'learned'"),
    ((*EMBED, "--positions", "learned:"), "'learned:'"),
    ((*EMBED, "--scale", "nan"), "'nan'"),
    ((*EMBED, "--scale", "inf"), "'inf'"),
    ((*EMBED, "--scale", "1e39"), "'1e39'"),
    ((*EMBED, "--scale", "0x1p3"), "'0x1p3'"),
    ((*EMBED, "--scale", " 1"), "' 1'"),
    ((*EMBED, "--scale", "1,5"), "'1,5'"),
    ((*EMBED, "--scale", ""), "--scale"),
    ((*EMBED, "--scale", "e"), "--scale"),
    ((*EMBED, "--base", "0.5"), "--base"),
    ((*EMBED, "--base", "1e31"), "--base"),
    ((*EMBED, "--base", "nan"), "--base"),
    ((*EMBED, "--base", "1e999"), "--base"),
    ((*EMBED, "--base", "10", "--table", "random", "--positions", "none"), "--base"),
    ((*EMBED, "--layout", "sideways"), "'sideways' must be interleaved, split or split-cos-first"),
    ((*EMBED, "--layout", "split", "--table", "random", "--positions", "none"), "--layout"),
    (("table",), "--dim is missing"),
    (("table", "--dim", "4"), "--positions is missing"),
    (("table", "--positions", "0:4"), "--dim is missing"),
    ((*TABLE, "--dim", "0"), "--dim"),
    ((*TABLE, "--dim", "2147483648"), "--dim"),
    ((*TABLE, "--base", "0"), "--base"),
    ((*TABLE, "--layout", ""), "--layout"),
    ((*TABLE, "--recipe", "torch"), "--recipe 'torch' is unknown: the nearest are torch-exp and torch-div"),
    ((*TABLE, "--recipe", "PyTorch"), "are torch-exp (PyTorch tutorials) and torch-div (PyTorch notebooks)"),
    ((*TABLE, "--recipe", "whisper"), "--recipe 'whisper' is unknown: the nearest is fairseq (Whisper)"),
    ((*TABLE, "--recipe", "fairsqe"), "--recipe 'fairsqe' is unknown: the nearest are fairseq, "),
    ((*TABLE, "--recipe", "x" * 5000), "' is unknown: the nearest are "),
    ((*TABLE, "--compare", "mae2"), "--compare 'mae2' is unknown: the nearest are mae, "),
    ((*TABLE, "--spacing", "full"), "--spacing 'full' must be dim or half"),
    ((*TABLE, "--shift", "2"), "--shift '2' is not an integer from 0 to 1"),
    ((*TABLE, "--shift", "1"), "--shift only applies to --spacing half"),
    ((*TABLE, "--shift", "1", "--recipe", "fairseq"), "--shift only applies to --spacing half"),
    ((*TABLE, "--spacing", "half", "--recipe", "ggml"), "--spacing only applies to --recipe exact"),
    ((*TABLE, "--odd", "even"), "--odd 'even' must be formula, zero, wrap or error"),
    ((*TABLE, "--dim", "5", "--odd", "error"), "--dim 5 is odd, which --odd error does not allow"),
    ((*TABLE, "--dim", "5", "--recipe", "torch-exp"), "--dim 5 is odd", "framework does not allow", "--odd formula"),
    ((*TABLE, "--layout", "cos"), "--layout 'cos' must be interleaved, split or split-cos-first"),
    ((*TABLE, "--amplitude", "0"), "--amplitude '0' is not a number from 9.536743164e-07 to 1024"),
    ((*TABLE, "--amplitude", "1025"), "--amplitude"),
    ((*TABLE, "--dtype", "q8_0"), "--dtype 'q8_0' must be float32, float16 or bfloat16"),
    ((*TABLE, "--inv-freq", "1,x"), "--inv-freq '1,x': 'x' is not a number"),
    ((*TABLE, "--inv-freq", "1,-2"), "--inv-freq '1,-2': number 2, -2, must be from 0 to 2147483648"),
    ((*TABLE, "--inv-freq", "1,2", "--base", "9"), "--base has no effect with --inv-freq"),
    ((*TABLE, "--inv-freq", "1,2", "--spacing", "half"), "--spacing", "--inv-freq gives other frequencies"),
    ((*TABLE, "--inv-freq", "1,2", "--spacing", "half", "--shift", "1"), "--spacing"),
    ((*TABLE, "--inv-freq", "1,2", "--shift", "1"), "--shift only applies to"),
    ((*TABLE, "--inv-freq", "1,2", "--recipe", "ggml"), "--recipe ggml defines its own frequencies"),
    ((*TABLE, "--float-angles"), "--float-angles", "neither is given"),
    ((*TABLE, "--float-angles=1"), "takes none"),
    ((*TABLE, "--compare", "mae", "--out", "x"), "drop --out"),
    ((*TABLE, "--compare", "mae", "--plot", "x"), "drop --plot"),
    ((*TABLE, "--compare", "mae", "--dtype", "float16"), "drop --dtype"),
    ((*TABLE, "--positions", "1,2,"), "--positions '1,2,': '' is not a number"),
    ((*TABLE, "--positions", "1 2"), "--positions '1 2': '1 2' is not a number"),
    ((*TABLE, "--positions", "0x1"), "'0x1' is not a number"),
    ((*TABLE, "--positions", "nan"), "'nan' is not a number"),
    ((*TABLE, "--positions", "1e999"), "'1e999' is not a number"),
    ((*TABLE, "--positions", "0." + 200 * "1"), "is not a number"),
    ((*TABLE, "--positions", "1,\x1b[31m"), "\\x1b"),
    ((*TABLE, "--positions", "3,2147483648"), "number 2, 2147483648, must be from"),
    ((*TABLE, "--positions", "-2147483648"), "number 1, -2147483648, must be from"),
    ((*TABLE, "--rope", "su"), "--rope 'su' must be default, linear, ntk,"),
    ((*TABLE, "--rope", "default", "--rope-layout", "thirds"), "'thirds' must be pairs, halves or interleaved"),
    ((*TABLE, "--rope", "default", "--dim", "5"), "--dim 5 is odd"),
    ((*TABLE, "--rope", "default", "--positions", "1,2"), "--rope", "--positions as A:B"),
    ((*TABLE, "--rope", "default", "--factor", "2"), "--factor has no effect on --rope default"),
    ((*TABLE, "--rope", "linear"), "--rope linear needs --factor"),
    ((*TABLE, "--rope", "linear", "--factor", "0.5"), "--factor '0.5' is not a number from 1 to 1000000"),
    ((*TABLE, "--rope", "llama3", "--factor", "2"), "--rope llama3 needs --original-length"),
    ((*TABLE, "--factor", "2"), "--factor has no effect without --rope"),
    ((*TABLE, "--no-truncate"), "--no-truncate has no effect without --rope"),
    ((*TABLE, "--print-frequencies"), "--print-frequencies has no effect without --rope"),
    ((*TABLE, "--threads", "2"), "--threads", "give --out or --plot"),
    ((*TABLE, "--threads", "0", "--out", "x"), "--threads '0'"),
    ((*TABLE, "--threads", "2", "--compare", "mae"), "drop --threads"),
    ((*TABLE, "--threads", "2", "--rope", "default", "--print-frequencies"), "--print-frequencies"),
    ((*TABLE, "stray"), "'stray'"),
    ((*TABLE, "--ids", "1"), "'--ids'"),
    ((*EMBED, "--table-type", "q8_0"), "--table-type is the element type of --table FILE.npy"),
    ((*EMBED, "--table-type", "f32"), "--table-type is the element type of --table FILE.npy"),
    (("ngram",), "--spec or --model is missing"),
    (("ngram", "--spec", "x"), "nothing to hash"),
    ((*NGRAM, "--spec", "-", "--ids-file", "-"), "both read standard input"),
    ((*NGRAM, "--ids", "1 x"), "--ids: 'x' is not an id"),
    ((*NGRAM, "--ids", "3", "--history", ""), "1 --history for 2 sequences: give one for each"),
    ((*NGRAM, "--columns", "3"), "--columns '3' is not FIRST:END"),
    ((*NGRAM, "--columns", "3:3"), "--columns '3:3'"),
    ((*NGRAM, "--columns", "-1:3"), "--columns '-1:3'"),
    ((*NGRAM, "--columns", "1:x"), "--columns '1:x'"),
    ((*NGRAM, "--table", "fixed"), "--table 'fixed' must be random, model or a .npy file"),
    ((*NGRAM, "--table", "random", "--table", "a.npy"), "--table random is for all tables"),
    ((*NGRAM, "--table", "a.npy", "--table", "random"), "--table random is for all tables"),
    ((*NGRAM, "--table", "random", "--table-type", "q8_0"), "--table-type"),
    ((*NGRAM, "--table", "a.npy", "--seed", "1"), "--seed"),
    ((*NGRAM, "--table", "random", "--scale", "nan"), "--scale 'nan'"),
    ((*NGRAM, "--table", "random", "--combine", "mean"), "--combine 'mean' must be concat or sum"),
    ((*NGRAM, "--table", "random", "--dtype", "f61"), "--dtype 'f61'"),
    *[((*NGRAM, f"--{name}", value), f"--{name} has no effect on row ids") for name, value in
      (("table-type", "i8"), ("dim", "4"), ("seed", "1"), ("scale", "2"), ("combine", "sum"), ("dtype", "float16"))],
    ((*NGRAM, "--model", "m"), "--spec and --model both define"),
    ((*NGRAM, "--layer", "1"), "--layer needs --model"),
    ((*NGRAM, "--table", "model"), "--table model needs --model"),
    (("ngram", "--model", "m", "--ids", "1", "--token-map", "t.npy"), "--token-map is for --spec"),
    (("ngram", "--model", "m", "--ids", "1", "--table", "model", "--table", "a.npy"), "--table model is for all"),
    (("ngram", "--model", "m", "--ids", "1", "--table", "model", "--seed", "1"), "--seed is the seed of --table random"),
    (("ngram", "--model", "m", "--ids", "1", "--table", "model", "--dim", "4"), "--dim has no effect on rows of a model"),
    ((*NGRAM, "stray"), "'stray'"),
    ((*TYPED, "--type", "q9_9"), "--type 'q9_9' is unknown: the nearest are "),
    ((*TYPED, "--type", "q4_k_m"), "--type 'q4_k_m' is unknown: the nearest are q4_k, q4_0 and q4_1"),
    ((*TYPED, "--type", "f61"), "the nearest are float16 (F16), float32 (F32) and bfloat16 (BF16)"),
    ((*TYPED, "--type", "folat"), "the nearest are float32 (float), float16 and bfloat16"),
    ((*TYPED, "--type", "GROUPED"), "--type 'GROUPED' is unknown: the nearest are u4_grouped, "
     "u4_grouped_flat and i8_grouped"),
    ((*TYPED, "--type", "Q8-0", "--zeros"), "--zeros is only for grouped types, and q8_0 is not one"),
    ((*TYPED, "--group", "32"), "--group is only for grouped types, and q8_0 is not one"),
    ((*TYPED, "--zeros"), "--zeros is only for grouped types"),
    ((*TYPED, "--type", "u4_grouped", "--group", "33"), "--group 33 must be 16, 32, 64 or 128"),
    ((*TYPED, "--type", "u4_affine", "--group", "16"), "--group 16 must be 32, 64 or 128"),
    ((*TYPED, "--type", "u4_grouped", "--group", "256"), "--group '256'"),
    (("model",), "FILE is missing"),
    (("model", "a", "b"), "stray argument 'b'"),
    (("model", "--json"), "'--json'"),
    (("convert",), "FROM is missing"),
    (("convert", "a.gguf"), "--type is missing"),
    (("convert", "--type", "i8", "a.gguf"), "--out is missing"),
    ((*CONVERT, "stray"), "stray argument 'stray'"),
    ((*CONVERT, "--type", "q8_0"), "--type q8_0: safetensors files cannot store it; they store float32, float16,"),
    ((*CONVERT, "--out", "x.bin"), "--out 'x.bin' must end in .safetensors, .gguf or .npy"),
    ((*CONVERT, "--out", "-", "--name", "x"), "--name names a tensor, but the one in '-' has no name"),
    ((*CONVERT, "--group", "32"), "--group is only for grouped types"),
    ((*CONVERT, "--table-type", "i8"), "--table-type is only for .npy files, and 'a.gguf' is not one"),
    (("convert", "a.npy", *CONVERT[2:], "--table", "x"), "--table names a tensor, but the only one in 'a.npy'"),
    ((*EMBED[:3], "--model", "m", "--dim", "4"), "--dim is defined by the layer of --model"),
    ((*EMBED[:3], "--model", "m", "--positions", "none"), "--positions is defined by the layer of --model"),
    (("embed", "--text", "a", "--model", "m"), "tokenizer"),
    ((*EMBED[:3], "--prefix", "a."), "--prefix requires --model without --table"),
    ((*EMBED[:3], "--model", "m", "--table", "t", "--prefix", "a."), "--prefix requires --model without --table"),
    ((*EMBED[:3], "--model", "m", "--table", "t", "--table-type", "i8"), "--table-type is the element type of"),
    (("selftest", "x"), "'x'"),
    (("selftest", "--digests=1"), "has a value, but the option takes none"),
    (("info", "x"), "'x'"),
    (("info", "--all"), "'--all'"),
]

RANGES = ["", ":", "1:", ":5", "1:2:3", "1-2", "a:b", " 1:2", "1:2 ", "1:0x2", "1.0:2", "5:5", "6:5", "-1:5",
          "0:-1", "0:2147483649", "2147483648:2147483649", "0:99999999999999999999"]


def test_usage():
    for args, *needles in USAGE:
        check_error(run(*args), 2, f"usage: {args}", *needles)
    for text in RANGES:
        result = run("table", "--dim", "4", "--positions", text)
        check_error(result, 2, f"--positions {text!r}", f"--positions '{text}'")
    for text, rows in ("0:1", 1), ("+0:5", 5), ("2147483647:2147483648", 1), ("2147483000:2147483648", 648):
        result = run("table", "--dim", "2", "--positions", text)
        check(result.stdout.startswith(b"float32 [%d, 2]\n" % rows), f"--positions {text}", result.stderr)


def test_names():
    """Names in another case, with other separators and synonyms are accepted as in the library."""
    table = ("table", "--dim", "4", "--positions", "0:2")
    for option, name, *others in ("dtype", "float16", "f16", "FP16", "half"), ("dtype", "bfloat16", "BF16"), \
            ("recipe", "torch-exp", "Torch_Exp", "torchexp"), ("layout", "split-cos-first", "split_cos_first"), \
            ("rope", "dynamic-ntk", "Dynamic_NTK"):
        more = ("--factor", "2", "--original-length", "8", "--length", "9") if option == "rope" else ()
        expect = run(*table, f"--{option}", name, *more)
        for other in others:
            result = run(*table, f"--{option}", other, *more)
            good = result.returncode == 0 and result.stdout == expect.stdout
            check(good, f"--{option} {other}", result.stderr)
    embed = ("embed", "--ids", "1 2", "--dim", "4")
    check(run(*embed, "--positions", "Sinusoidal").stdout == run(*embed).stdout != b"", "--positions Sinusoidal")


def test_help():
    for args in ("--help",), ("-h",), ("embed", "--help"), ("embed", "-h"), ("table", "--help"), ("ngram", "--help"), \
            ("model", "--help"), ("convert", "--help"), ("info", "--help"), \
            ("selftest", "--help"):
        result = run(*args)
        good = result.returncode == 0 and result.stdout.startswith(b"Usage: inlay ") and not result.stderr
        check(good, f"help: {args}", result.stderr)
        check(max(map(len, result.stdout.split(b"\n"))) < 80, f"lines of help: {args}")
    result = run("--version")
    version = result.stdout.decode()
    check(result.returncode == 0 and version.startswith("inlay ") and version.count(".") == 2, "--version", version)
    locale = {"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"}
    check(b"0.84147096" in run(*TABLE, env=locale).stdout, "numbers have a point in every locale")


def isas(env=None):
    """Returns (the ISA in use, all that run, all output) of `inlay info`."""
    text = run("info", env=env).stdout.decode()
    states = [line.split()[1:] for line in text.splitlines() if line.startswith("isa ")]
    runs = [name.rstrip(":") for name, *state in states if state in (["in", "use"], ["runs"])]
    in_use = [name.rstrip(":") for name, *state in states if state == ["in", "use"]]
    check(len(in_use) == 1 and "scalar" in runs, "one ISA is in use, and scalar runs", text)
    return in_use[0], runs, text


def test_info():
    in_use, runs, text = isas()
    check(in_use == runs[0], "the best ISA is in use", text)
    for key in "version", "sleef", "threads", "pictures":
        check(f"\n{key} " in "\n" + text, f"info prints {key}", text)
    # Only sums of products: a sinusoid may differ in its last bit between scalar and the others.
    gather = ("embed", "--ids", "3 1 2", "--dim", "67", "--table", "random", "--positions", "none", "--scale", "sqrt")
    expect = run(*gather, "--out", "-").stdout
    for name in runs:
        env = {"INLAY_ISA": name}
        got, _, text = isas(env)
        check(got == name and "ignored" not in text, f"INLAY_ISA={name}", text)
        check(run(*gather, "--out", "-", env=env).stdout == expect, f"{name} gives the same bits")
    for name in "", "avx3", "AVX2", "scalar ", "scalar,avx2", "\x1b[31m", "x" * 5000:
        got, _, text = isas({"INLAY_ISA": name})
        ignored = [line for line in text.splitlines() if line.startswith("INLAY_ISA")]
        check(got == in_use and len(ignored) == 1, f"INLAY_ISA={name[:20]!r} is ignored", text)
        check(all(c.isprintable() or c == "\n" for c in text), f"INLAY_ISA={name[:20]!r} is escaped", text)


def test_defaults():
    """As documented in the header."""
    lines = run("info").stdout.decode().split("layer     defaults:\n")[1].splitlines()
    values = {line.split()[0]: re.match(r" +\w+ +(.*)", line).group(1) for line in lines}
    check([*values] == ["cached_positions", "stream_bytes", "compute_bytes", "block_bytes", "prefetch"] and
          values["cached_positions"].startswith("4096 ") and values["block_bytes"].startswith("8192 "), "defaults", lines)
    unknown = run("info", env={"INLAY_CPU": "unknown"}).stdout.decode()
    check("measured  no CPU of this kind" in unknown, "info of a CPU that was not measured", unknown)


def test_threads():
    """Work large enough to be split gives the same bytes for any number of threads."""
    ids = " ".join(str(i * 7919 % 400) for i in range(400))
    embed = ("embed", "--ids", ids, "--ids", ids, "--dim", "512", "--table", "random")
    table = ("table", "--dim", "130")
    cases = [embed, (*embed, "--positions", "none"), (*table, "--positions", "5:9000"),
             (*table, "--positions", ",".join(str(i + 0.5) for i in range(3000))),
             (*table, "--positions", "0:5000", "--dtype", "float16"),
             (*table, "--positions", "0:5000", "--rope", "default", "--rope-layout", "pairs")]
    if not has_threads():
        print("skipped: --threads above 1, which this build does not have")
        check_error(run(*embed, "--threads", "2"), 1, "--threads without pthreadpool", "built without pthreadpool")
        return
    for args in cases:
        alone = run(*args, "--out", "-")
        for threads in "1", "2", "5":
            together = run(*args, "--out", "-", "--threads", threads)
            good = together.returncode == 0 and together.stdout == alone.stdout and len(alone.stdout) > 1000
            check(good, f"{args[0]} --threads {threads}", together.stderr)


def test_explain():
    """The plan has a line per decision, with the reason."""
    keys = ["isa:", "route:", "positions:", "post-ops:", "stores:", "prefetch:", "parts:"]
    learned = os.path.abspath("learned.npy")
    harness.write(learned, harness.table([[0.0] * 4] * 9))
    stores = "self-tuning times both kinds of stores" if isas()[0].startswith("avx") else "no non-temporal stores"
    cases = {(): "fast path", ("--positions", "none"): "none", ("--positions", f"learned:{learned}"): "learned",
             ("--scale", "sqrt", "--start", "7"): "computed", ("--length", "300000"): stores,
             ("--length", "30000", "--threads", "2"): "parts"}
    for args, word in cases.items():
        if "--threads" in args and not has_threads():
            continue
        result = run(*EMBED, *args, "--explain")
        text = result.stdout.decode()
        found = [line.split()[0] for line in text.splitlines()]
        good = result.returncode == 0 and not result.stderr and found == keys and word in text
        check(good, f"embed {args} --explain", text + result.stderr)
    check_error(run("embed", "--ids", "0 99", "--vocab", "9", "--explain"), 1, "a plan of bad ids", "ids[0][1] = 99")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    harness.COMMAND[:] = sys.argv[1:-1] + [os.path.abspath(sys.argv[-1])]
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        test_usage()
        test_names()
        test_help()
        test_info()
        test_defaults()
        test_threads()
        test_explain()
        for module in (test_text, test_numbers, test_table, test_ngram, test_quantize, test_convert, test_model, test_files,
                       test_outputs, test_faults, test_completion):
            own = os.path.join(directory, module.__name__)
            os.mkdir(own)
            module.run_all(own)
    print(f"tool: {harness.passed} passed, {harness.failed} failed")
    sys.exit(harness.failed > 0)


if __name__ == "__main__":
    main()
