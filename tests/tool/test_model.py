# SPDX-License-Identifier: MIT
"""inlay model and inlay embed --model: listing a file, its tables and layers, and broken files."""

import json
import os
import re
import struct

from harness import (
    check, check_error, draws_pictures, gguf, memory_limit, png_size, read, run, safetensors, table, vectors, write,
)
from test_numbers import f32
from test_quantize import numbers

VOCAB, PLACES, DIM = 9, 6, 32

# Characters that a terminal would interpret; escaped, they are plain text.
EVIL = "\x1b[31m\x1b]0;title\x07\x9b1m\u202e\u2028\n\r\t\x7f"


def packed(rows):
    return struct.pack(f"<{len(rows) * len(rows[0])}f", *[value for row in rows for value in row])


def lines_of(*args):
    """Returns the lines of a successful run, all of them printable."""
    result = run("model", *args)
    text = result.stdout.decode()
    good = result.returncode == 0 and not result.stderr and all(c.isprintable() or c == "\n" for c in text)
    check(good, f"inlay model {args}", result.stderr or text)
    return text.splitlines()


def test_listing(directory):
    """Every tensor and every value has its own line."""
    tokens = numbers(VOCAB, DIM)
    path = write(os.path.join(directory, "m.safetensors"), safetensors(
        {"wte.weight": ("F32", (VOCAB, DIM), packed(tokens)), "odd": ("F16", (2, 3, 1), bytes(12)),
         "one": ("I64", (), bytes(8)), "none": ("F8_E5M2", (0, 4), b"")}, {"format": "pt", "text": "x" * 500}))
    lines = lines_of(path)
    check(lines[0] == f"tensors   4, {VOCAB * DIM * 4 + 20} bytes", "the number of tensors", lines)
    listed = [re.split("  +", line.strip()) for line in lines[1:5]]
    check(sorted(listed) == sorted([["wte.weight", "F32", f"[{VOCAB}, {DIM}]", f"{VOCAB * DIM * 4} bytes"],
                                    ["odd", "F16", "[2, 3, 1]", "12 bytes"], ["one", "I64", "[]", "8 bytes"],
                                    ["none", "F8_E5M2", "[0, 4]", "0 bytes"]]), "the tensors", listed)
    check(lines[5:8] == ["metadata  2", '  format  "pt"', f'  text    "{"x" * 60}"...'], "the metadata", lines[5:8])
    check(lines[8].startswith("layer"), "the layer", lines[8:])
    path = write(os.path.join(directory, "m.gguf"), gguf(
        {"token_embd.weight": (0, (VOCAB, DIM), packed(tokens))},
        {"general.name": "a name", "a.count": 7, "a.number": 1.5, "a.flag": True, "a.few": [1, 2],
         "a.list": list(range(9)), "a.words": ["a", "b", "c", "d", "e"], "a.numbers": [0.5, 2.0]}))
    lines = lines_of(path)
    wanted = ["metadata  8", "  a.count       7", "  a.few         [1, 2]", "  a.flag        true",
              "  a.list        [0, 1, 2, 3, ...], 9 elements", "  a.number      1.5", "  a.numbers     [0.5, 2]",
              '  a.words       ["a", "b", "c", "d", ...], 5 elements', '  general.name  "a name"']
    check(lines[2:11] == wanted, "values of GGUF", lines[2:11])
    lines = lines_of(write(os.path.join(directory, "m.npy"), table(tokens)))
    check(lines[1].split() == ["data", "<f4", f"[{VOCAB},", f"{DIM}]", str(VOCAB * DIM * 4), "bytes"], "an array", lines)
    lines = lines_of(write(os.path.join(directory, "empty.safetensors"), safetensors({})))
    check(lines[:2] == ["tensors   0, 0 bytes", "metadata  0"], "no tensors", lines)


def test_several(directory):
    """Tensors of several files are listed under their file's name."""
    for i in 1, 2:
        write(os.path.join(directory, f"part{i}.safetensors"), safetensors({f"t{i}": ("F32", (2, 2), bytes(16))}))
    index = {"weight_map": {"t1": "part1.safetensors", "t2": "part2.safetensors"}}
    path = write(os.path.join(directory, "model.safetensors.index.json"), json.dumps(index).encode())
    for given in path, directory:
        lines = lines_of(given)
        names = [os.path.basename(line) if line[1] != " " else line.split()[0] for line in lines[1:5]]
        check(names == ["part1.safetensors", "t1", "part2.safetensors", "t2"], "two files", lines)
    lines = lines_of(os.path.join(directory, "part2.safetensors"))
    check(len(lines) == 4 and lines[1].split()[0] == "t2", "one of them", lines)


def test_evil(directory):
    """Text from a file never reaches the terminal unescaped, neither in the listing nor in messages."""
    path = write(os.path.join(directory, "evil.safetensors"), safetensors(
        {EVIL: ("F32", (2, 4), bytes(32)), "x" * 3000: ("F32", (1,), bytes(4)),
         "2": ("F32", (2, 4), bytes(32))}, {EVIL: EVIL, "k" * 3000: "v" * 3000}))
    text = "\n".join(lines_of(path))
    check(text.count("\\x1b[31m\\x1b]0;title\\x07\\xc2\\x9b1m\\xe2\\x80\\xae\\xe2\\x80\\xa8\\x0a\\x0d\\x09\\x7f") == 3,
          "a name, a key and a value are escaped", text)
    check(max(map(len, text.splitlines())) < 600, "long names are cut")
    out = os.path.join(directory, "out.gguf")
    check_error(run("convert", path, "--type", "i8", "--out", os.path.join(directory, "x.npy")), 1, "two tables", "more than one tensor")
    run("convert", path, "--type", "float32", "--out", out, "--table", EVIL)
    result = run("model", out)
    check(result.returncode == 0 and b"\x1b" not in result.stdout, "a copy of it", result.stderr)
    folder = os.path.join(directory, "\x1b[31m")
    os.mkdir(folder)
    inside = write(os.path.join(folder, "x.gguf"), b"GGUX")
    check_error(run("model", inside), 1, "the name of a file", "x.gguf")


def hostile():
    """Returns broken files. Tests in tests/file cover the parsers."""
    good = safetensors({"wte.weight": ("F32", (VOCAB, DIM), bytes(4 * VOCAB * DIM))})
    entry = '{"wte.weight":{"dtype":"%s","shape":%s,"data_offsets":[%s]}}'
    tensor = lambda dtype, shape, ends: safetensors({}, header=(entry % (dtype, shape, ends)).encode()) + bytes(16)
    model = gguf({"t": (0, (4, 8), bytes(128))}, {"k": "v"})
    return {
        "empty": b"", "text": b"hello, world\n" * 9, "short": good[:7], "a torn header": good[:40], "torn data": good[:-1],
        "a huge header": struct.pack("<Q", 2**63) + b"{}", "deep nesting": safetensors({}, header=b'{"a":' + b"[" * 100000),
        "an evil dtype": tensor("\\u001b[31m", "[4]", "0,16"), "a shape that overflows": tensor("F32", f"[{2**63},8]", "0,16"),
        "GGUF without data": model[:-128], "GGUF of version 9": model[:4] + b"\x09" + model[5:],
        "GGUF with 2^60 tensors": model[:8] + struct.pack("<Q", 2**60) + model[16:],
        "an array of objects": b"\x93NUMPY\x01\x00\x46\x00{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
        "a pickle": b"\x80\x02}q\x00.",
    }


def test_hostile(directory):
    """One clear line with the file's name, and no more memory than the file's size."""
    limit = memory_limit()
    for what, data in hostile().items():
        path = write(os.path.join(directory, "hostile"), data)
        result = run("model", path, preexec_fn=limit)
        check_error(result, 1, f"model: {what}", "inlay model: ", "hostile")
        check("Traceback" not in result.stderr and len(result.stderr) < 700, f"model: {what}: the message", result.stderr)
        check_error(run("convert", path, "--table", "t", "--type", "i8", "--out", "x.npy", preexec_fn=limit), 1,
                    f"convert: {what}", "inlay convert: ", "hostile")
        check_error(run("embed", "--model", path, "--ids", "1", preexec_fn=limit), 1, f"embed: {what}", "hostile")
    for path in "/nonexistent", "/dev/zero", "/dev/null", os.path.join(directory, "none"):
        check_error(run("model", path), 1, f"model {path}", path)
    fifo = os.path.join(directory, "fifo")
    os.mkfifo(fifo)
    check_error(run("model", fifo), 1, "a pipe", "fifo")
    empty = os.path.join(directory, "folder")
    os.mkdir(empty)
    check_error(run("model", empty), 1, "an empty folder", "folder")
    check(not os.path.exists("x.npy"), "nothing is written")


def test_tables(directory):
    """inlay embed uses a tensor of a model as its table."""
    tokens = numbers(VOCAB, DIM)
    path = write(os.path.join(directory, "m.safetensors"), safetensors(
        {"wte.weight": ("F32", (VOCAB, DIM), packed(tokens)), "wpe.weight": ("F32", (VOCAB, DIM), packed(tokens)),
         "a.0": ("F32", (4, DIM), packed(tokens[:4])), "a.1": ("F32", (VOCAB - 4, DIM), packed(tokens[4:])),
         "q": ("F8_E4M3", (2, 2), b"\x38\x40\xb8\x7e"), "q.scale": ("F32", (1,), struct.pack("<f", 2))}))
    plain = write(os.path.join(directory, "m.npy"), table(tokens))
    ids = ("--ids", "8 0 4 3", "--ids", "1")
    for more in (), ("--scale", "sqrt", "--positions", "none"), ("--start", "5"):
        wanted = vectors("embed", *ids, "--table", plain, *more)
        for name in "wte.weight", "a.*":
            check(vectors("embed", *ids, "--model", path, "--table", name, *more) == wanted, f"table {name} {more}")
    found = vectors("embed", "--ids", "0 1", "--model", path, "--table", "q", "--positions", "none", "--scale", "0.5")
    check(found[1] == [1, 2, -1, 448], "a scale of the table", found)
    text = ("--text", "a b a", "--positions", "none")
    check(vectors("embed", *text, "--model", path, "--table", "wte.weight") == vectors("embed", *text, "--table", plain),
          "text with a table of a model")
    base = ("embed", "--ids", "9", "--model", path, "--table")
    check_error(run(*base, "wte.weight"), 1, "an id past the table", "ids[0][0] = 9 is not a row of the table, which has 9")
    check_error(run(*base, "nosuch"), 1, "no such tensor", "nosuch", "there is no such tensor")
    check_error(run(*base, "wte.weight", "--dim", "3"), 1, "another dim", "--dim 3 contradicts 'wte.weight'")
    check_error(run(*base, "random"), 1, "no table is random", "random", "there is no such tensor")


def model(directory, name, tensors, config):
    """Makes a folder with a checkpoint and its config.json."""
    folder = os.path.join(directory, name)
    os.mkdir(folder)
    write(os.path.join(folder, "model.safetensors"), safetensors(
        {key: ("F32", (len(rows), len(rows[0])), packed(rows)) for key, rows in tensors.items()}))
    write(os.path.join(folder, "config.json"), json.dumps(config).encode())
    return folder


def test_layers(directory):
    """inlay embed runs the input layer of a model."""
    tokens, places = numbers(VOCAB, DIM), numbers(PLACES, DIM)
    plain = write(os.path.join(directory, "tokens.npy"), table(tokens))
    learned = "learned:" + write(os.path.join(directory, "places.npy"), table(places))
    gpt2 = model(directory, "gpt2", {"wte.weight": tokens, "wpe.weight": places}, {"model_type": "gpt2"})
    check("  tokens: wte.weight [9, 32] F32" in lines_of(gpt2), "the report of a layer")
    for more in (), ("--start", "2"), ("--length", "2"), ("--length", "4"):
        ids = ("--ids", "8 0 4", "--ids", "1")
        shape, wanted = vectors("embed", *ids, "--table", plain, "--positions", learned, *more)
        for sequence, length in (0, min(3, shape[1])), (1, 1):
            for token in range(length, shape[1]):
                at = (sequence * shape[1] + token) * DIM
                wanted[at : at + DIM] = [0.0] * DIM  # no token; id 0 is not padding here
        check(vectors("embed", *ids, "--model", gpt2, *more) == (shape, wanted), f"GPT-2 {more}")
    base = ("embed", "--model", gpt2, "--ids")
    text = run(*base, "8 0 4").stdout
    check(text == run("embed", "--ids", "8 0 4", "--table", plain, "--positions", learned).stdout, "GPT-2, printed")
    check(b"positions: read: they are learned" in run(*base, "1", "--explain").stdout, "its plan")
    check_error(run(*base, "3 9"), 1, "an id", "ids[0][1] = 9 is not a row of the table, which has 9: ids run from 0 to 8")
    check_error(run(*base, "1 2 3", "--start", "4"), 1, "a position", "position 6 of token 2 is past the last one, 5")
    check_error(run(*base, "1 2 3 4 5 6 7"), 1, "too many positions", "past the last one, 5")
    # The first position is 2, and padding (id 1) is not counted.
    opt = model(directory, "opt", {"decoder.embed_tokens.weight": tokens, "decoder.embed_positions.weight": places},
                {"model_type": "opt", "pad_token_id": 1})
    wanted = [f32(token + place) for row, at in ((8, 2), (4, 3)) for token, place in zip(tokens[row], places[at])]
    check(vectors("embed", "--model", opt, "--ids", "8 4") == ((1, 2, DIM), wanted), "OPT")
    pooled = model(directory, "static", {"embeddings": [[float(row + column) for column in range(DIM)] for row in range(VOCAB)]},
                   {"model_type": "model2vec", "normalize": False})
    mean = [5.0 + column for column in range(DIM)]
    for more in (), ("--length", "4"):
        found = vectors("embed", "--model", pooled, "--ids", "8 2", "--ids", "5", *more)
        check(found == ((2, DIM), mean + mean), f"a mean of each sequence {more}", found)
    check(run("embed", "--model", pooled, "--ids", "5").stdout.startswith(b"float32 [1, 32]\n[[ 5."), "pooled rows, printed")
    if draws_pictures():
        out = os.path.join(directory, "x.png")
        check_error(run("embed", "--model", pooled, "--ids", "5", "--plot", out), 1, "no picture", "a single row per sequence")
        check(run(*base, "1 2", "--plot", out).returncode == 0 and png_size(read(out))[0] > 100, "a picture of a layer")
    two = model(directory, "two", {"a.wte.weight": places, "a.wpe.weight": places, "b.wte.weight": tokens, "b.wpe.weight": places},
                {"model_type": "gpt2"})
    check_error(run("embed", "--model", two, "--ids", "8 0 4"), 1, "two prefixes", '"a." (wte.weight), "b." (wte.weight)')
    check(run("embed", "--model", two, "--prefix", "b.", "--ids", "8 0 4").stdout == text, "a prefix")
    check(lines_of(two)[-1].startswith("layer     none: "), "which of two prefixes")
    check("  prefix: b. (options)" in lines_of("--prefix", "b.", two), "the report of a prefix")
    unknown = model(directory, "owl", {"x": tokens}, {"model_type": "owl"})
    check_error(run("embed", "--model", unknown, "--ids", "1"), 1, "an unknown model", "owl")
    check(lines_of(unknown)[-1].startswith("layer     none: "), "why there is no layer")


def test_ngrams(directory):
    """inlay ngram uses the n-grams of a model, which equal those of a spec with the same numbers."""
    multipliers, moduli, offsets = [23703573157769, 20109073645365, 8052911324071], [11, 13, 17, 19], [0, 11, 24, 41]
    rows = numbers(60, DIM)
    values = {"general.architecture": "qwen4exp", "qwen4exp.vocab_size": 40, "qwen4exp.ple.layers": [1],
              "qwen4exp.ple.head_vocab_sizes": moduli, "qwen4exp.ple.head_offsets": offsets,
              "qwen4exp.ple.eos_token_id": 7}
    data = gguf({"per_layer_token_embd.weight": (0, (60, DIM), packed(rows))},
                {**values, "qwen4exp.ple.layer_multipliers": multipliers})
    path = write(os.path.join(directory, "qwen.gguf"), data)
    check("n-grams" in lines_of(path), "inlay model finds n-grams")
    model = ("ngram", "--model", path)
    ids = ("--ids", "5 6 7 8 9", "--ids", "1 39")
    check_error(run(*model, "--ids", "40"), 1, "an id", "ids[0][0] = 40 is not in the vocabulary of", "qwen.gguf", "0 to 39")
    check_error(run(*model, *ids, "--layer", "3"), 1, "no such layer", "layer")
    check_error(run(*model, *ids, "--columns", "0:5"), 1, "too many columns", "past the last column", "has 4")
    columns = [{"length": 2 + c // 2, "modulus": moduli[c], "offset": offsets[c]} for c in range(4)]
    spec = ("ngram", "--spec", write(os.path.join(directory, "spec.json"), json.dumps(
        {"vocab": 40, "length": 3, "mix": "xor", "pad": 7, "resets": [7], "multipliers": [multipliers],
         "columns": columns}).encode()))
    plain = write(os.path.join(directory, "rows.npy"), table(rows))
    for more in (), ("--history", "3 4", "--history", "5"), ("--columns", "1:3"), ("--layer", "1"):
        wanted = run(*spec, *ids, *(() if "--layer" in more else more))
        found = run(*model, *ids, *more)
        check(found.stdout == wanted.stdout and found.returncode == 0 and wanted.stdout, f"row ids {more}", found.stderr)
        if "--layer" in more:
            continue
        for scale in (), ("--scale", "sqrt", "--combine", "sum"):
            check(vectors(*model, *ids, *more, *scale, "--table", "model") ==
                  vectors(*spec, *ids, *more, *scale, "--table", plain), f"rows {more} {scale}")
    check(run(*model, *ids, "--table", "random", "--dim", "2").stdout ==
          run(*spec, *ids, "--table", "random", "--dim", "2").stdout, "random rows of a model's n-grams")
    test_ngram_layers(directory, multipliers, moduli)
    none = write(os.path.join(directory, "none.gguf"), gguf({"token_embd.weight": (0, (60, DIM), packed(rows))},
                                                            {"general.architecture": "llama"}))
    check_error(run("ngram", "--model", none, *ids), 1, "a model without n-grams", "no tensor is named like")


def test_ngram_layers(directory, multipliers, moduli):
    """Two layers of a checkpoint with a scale per table."""
    integers = lambda values: ("I64", (len(values),), struct.pack(f"<{len(values)}q", *values))
    tensors = {}
    for layer, byte, scale in (1, 0x38, 0.5), (5, 0x40, 3.0):  # tables of 1 and of 2
        stem = f"model.language_model.layers.{layer}.ple.ple_embedding."
        tensors[stem + "layer_multipliers"] = integers([layer * number for number in multipliers])
        tensors[stem + "ngram_heads_vocab_sizes"] = integers(moduli)
        tensors[stem + "ngram_embedding.weight"] = ("F8_E4M3", (60, DIM), bytes([byte]) * (60 * DIM))
        tensors[stem + "ngram_embedding.weight_scale"] = ("F32", (), struct.pack("<f", scale))
    folder = os.path.join(directory, "layers")
    os.mkdir(folder)
    write(os.path.join(folder, "model.safetensors"), safetensors(tensors))
    write(os.path.join(folder, "config.json"), json.dumps(
        {"model_type": "qwen4_exp", "text_config": {"vocab_size": 40, "eos_token_id": 7}}).encode())
    base = ("ngram", "--model", folder, "--ids", "5 6 7")
    first, second = (run(*base, "--layer", layer).stdout for layer in ("1", "5"))
    check(first and second and first != second, "two layers hash differently", (first, second))
    check_error(run(*base), 1, "which of two layers", "layer")
    for layer, value in ("1", 0.5), ("5", 6.0):
        found = vectors(*base, "--layer", layer, "--table", "model")
        check(found == ((3, 4, DIM), [value] * (12 * DIM)), f"rows of layer {layer}", found[1][:4])


def run_all(directory):
    for test in test_listing, test_several, test_evil, test_hostile, test_tables, test_layers, test_ngrams:
        own = os.path.join(directory, test.__name__)
        os.mkdir(own)
        test(own)
