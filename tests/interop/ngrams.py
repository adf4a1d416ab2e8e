#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares n-gram embeddings with the code of transformers (Qwen4Exp) and sglang (Engram, LongCat), bit by bit.

    ngrams.py FOLDER

Run by `./dev interop`. FOLDER is for sglang's LongCat kernel, which g++ compiles for the CPU. The classes are taken from
the packages' sources, so nothing else of them runs.
"""

import abc
import ast
import ctypes
import importlib.util
import math
import pathlib
import subprocess
import sys
import types
import typing

import numpy
import torch

import inlay
import inlay.torch
from compared import compare, finish

def source(package, path):
    """Returns a file of an installed package. None of its code runs."""
    return pathlib.Path(importlib.util.find_spec(package).submodule_search_locations[0]) / path


def definitions(path, names, space):
    """Runs the named definitions of a Python file, with the names in `space` for their dependencies."""
    wanted = [
        node
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if getattr(node, "name", None) in names
        or (isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) in names)
    ]
    missing = names - {getattr(node, "name", None) or node.targets[0].id for node in wanted}
    if missing:
        raise SystemExit(f"BROKEN: {path} has no {', '.join(sorted(missing))}")
    future = ast.parse("from __future__ import annotations").body
    exec(compile(ast.Module(future + wanted, []), str(path), "exec"), space)  # pylint: disable=exec-used
    return types.SimpleNamespace(**space)


def draw(vocab, shape, often, rng):
    """Returns random ids, a fifth of them from `often`."""
    ids = rng.integers(vocab, size=shape)
    return torch.from_numpy(numpy.where(rng.random(shape) < 0.2, rng.choice(often, shape), ids))


# ---- Qwen4Exp


class Ids(torch.nn.Module):
    """Replaces the table of 320 million rows: row i is the number i."""

    def __init__(self, _rows, dim):
        super().__init__()
        self.weight, self.dim = torch.empty(0), dim

    def forward(self, ids):
        return ids.unsqueeze(-1)


def qwen_space(embedding):
    nn = types.SimpleNamespace(Module=torch.nn.Module, Buffer=torch.nn.Buffer, Embedding=embedding)
    space = {"torch": torch, "nn": nn, "math": math, "deprecate_kwarg": lambda *_, **__: lambda forward: forward}
    names = {"_MASK64", "_SPLITMIX_GAMMA", "_SPLITMIX_M1", "_SPLITMIX_M2", "_PRIME_1", "_splitmix64", "_is_prime"}
    names |= {"_build_layer_multipliers", "_find_nth_prime_after", "Qwen4ExpTextNGramEmbedding"}
    return definitions(source("transformers", "models/qwen4_exp/modeling_qwen4_exp.py"), names, space)


class Cache:
    """A layer's cache in transformers."""

    def __init__(self):
        space = {"torch": torch, "ABC": abc.ABC, "abstractmethod": abc.abstractmethod}
        space["is_torchdynamo_compiling"] = lambda: False
        names = {"LinearAttentionCacheLayerMixin", "LinearAttentionLayer"}
        layer = definitions(source("transformers", "cache_utils.py"), names, space).LinearAttentionLayer
        self.layer = layer(number_of_states=3)

    def get_conv_state(self, _layer_idx, state_idx):
        return self.layer.conv_states[state_idx] if self.layer.has_previous_state[state_idx] else None

    def update_conv_state(self, ids, _layer_idx, **options):
        return self.layer.update_conv_state(ids, **options)


def qwen(rng):
    eos = 248044
    config = types.SimpleNamespace(
        ngram_size=3,
        heads_per_ngram=8,
        vocab_size=248320,
        ngram_vocab_size_base=20_000_000,
        seed=1234,
        eos_token_id=eos,
        make_ngram_vocab_size_divisible_by=128,
    )
    theirs = qwen_space(Ids).Qwen4ExpTextNGramEmbedding(config, 2560, 0, 0)
    ngram = inlay.torch.NGramEmbedding.from_qwen4_exp(theirs, table=torch.empty(1, 1)).ngram
    for shape in ((3, 50), (1, 1), (2, 7)):
        ids = draw(config.vocab_size, shape, [eos], rng)
        compare(f"Qwen3.8-Flash-Next, row ids of {list(shape)}", ngram.ids(ids), theirs(ids, None).long())
    config.ngram_vocab_size_base = 500
    for dtype in (torch.float32, torch.bfloat16):
        theirs = qwen_space(torch.nn.Embedding).Qwen4ExpTextNGramEmbedding(config, 2560, 0, 0)
        theirs.ngram_embedding.to(dtype)
        ours = inlay.torch.NGramEmbedding.from_qwen4_exp(theirs)
        caches = [Cache(), Cache()]
        with torch.no_grad():
            for length in (1, 9, 1, 1, 4):
                ids = draw(config.vocab_size, (3, length), [eos], rng)
                rows = [ours(ids, caches[0]), theirs(ids, caches[1])]
                compare(f"Qwen4Exp, rows of {length} tokens after a cache, {dtype}", *rows)
                compare("    the cache", *(cache.get_conv_state(0, 2) for cache in caches))


# ---- Engram


def engram_space():
    struct = types.SimpleNamespace(Struct=type("Struct", (), {"__init_subclass__": classmethod(lambda *_, **__: None)}))
    space = {"torch": torch, "np": numpy, "nn": torch.nn, "Optional": typing.Optional, "msgspec": struct}
    space |= {"MODE_DECODE": 0, "MODE_VERIFY": 1, "MODE_EXTEND": 2, "MM_PAD_SHIFT_VALUE": 1 << 30, "FP8_BLOCK_SIZE": 32}
    space |= {"_cuda_kernels": lambda tensor: False}
    names = {"_MILLER_RABIN_WITNESSES", "_is_prime", "_find_next_prime", "compute_hash_multipliers"}
    names |= {"EngramHasher", "compute_engram_hash_ids", "EngramEmbedding"}
    return definitions(source("sglang", "srt/layers/engram.py"), names, space)


def engram_layout(code, layers, orders, heads, base):
    """Repeats EngramLayout.from_config: distinct primes in the order of layers, orders and heads."""
    seen, primes = set(), []
    for _ in layers:
        of_layer = []
        for _ in range(orders):
            sizes, current = [], base - 1
            for _ in range(heads):
                current = code._find_next_prime(current, seen)
                seen.add(current)
                sizes.append(current)
            of_layer.append(tuple(sizes))
        primes.append(tuple(of_layer))
    return types.SimpleNamespace(max_ngram_size=orders + 1, layer_ids=layers, primes=tuple(primes))


def engram(rng):
    vocab, mapped, image = 129280, 99092, 128815
    code = engram_space()
    token_map = [int(n) for n in rng.integers(mapped, size=vocab)]
    code.EngramHasher.__init__.__globals__["build_compressed_token_map"] = lambda tokenizer: (token_map, mapped)
    layout = engram_layout(code, (1, 14), 3, 8, 16_000_000)
    hasher = code.EngramHasher(layout, None, 2, mapped)
    hasher.image_token_id = image
    modules = [inlay.torch.NGramEmbedding.from_engram(hasher, i, torch.empty(1, 1)) for i in (0, 1)]
    lengths, before = torch.tensor([5, 1, 40, 2]), [0, 3, 2, 7]
    ids = draw(vocab, (int(lengths.sum()),), [image, 2], rng)
    history = draw(vocab, (4, 3), [image], rng).int()
    starts = torch.cumsum(lengths, 0) - lengths
    row = torch.repeat_interleave(torch.arange(4), lengths)
    positions = torch.cat([torch.arange(n) + b for n, b in zip(lengths.tolist(), before)])
    theirs, _ = hasher._torch_hash_ids(ids, positions, code.MODE_EXTEND, history, len(ids), 1, row, starts)
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), torch.cumsum(lengths, 0)])
    given = {"history": history, "history_lengths": [min(b, 3) for b in before]}
    for i, module in enumerate(modules):
        compare(f"Engram, layer {(1, 14)[i]}, prefill", module.ngram.ids(ids, offsets=offsets, **given), theirs[:, i])
    blocks = draw(vocab, (4, 4), [image], rng)
    positions = torch.tensor([[b + t for t in range(4)] for b in before]).reshape(-1)
    theirs, _ = hasher._torch_hash_ids(blocks.reshape(-1), positions, code.MODE_VERIFY, history, 16, 4, None, None)
    ours = modules[0].ngram.ids(blocks, **given)
    compare("Engram, a block to verify", ours.reshape(16, -1), theirs[:, 0])
    hasher.history = history.clone()
    accepted = torch.tensor([1, 4, 2, 3])
    hasher.commit_after_verify(blocks, torch.arange(4), accepted)
    ours, counts = modules[0].ngram.history(blocks, accepted, **given)
    known = torch.arange(3) >= 3 - counts[:, None]
    compare("Engram, histories after it", torch.where(known, ours, 0), torch.where(known, hasher.history, 0).long())
    engram_rows(code, rng)


def engram_rows(code, rng):
    weight = torch.from_numpy(rng.integers(256, size=(300, 256), dtype=numpy.uint8)).view(torch.float8_e4m3fn)
    scale = torch.from_numpy(rng.integers(256, size=(300, 8), dtype=numpy.uint8)).view(torch.float8_e8m0fnu)
    # PyTorch 2.7 can't index these types; the code converts the result to float32.
    floats = {"weight": weight.float(), "scale": scale.float()}
    layer = types.SimpleNamespace(row_start=0, rows=300, host_table=None, **floats)
    ids = torch.arange(300)
    theirs = code.EngramEmbedding._owned_rows(layer, ids)
    table = inlay.Table(weight, "e4m3_e8m0", scales=scale)
    ours = inlay.Layer(table, dtype="bfloat16")(ids)
    compare("Engram, rows of E4M3 and E8M0", ours, theirs)


# ---- LongCat

SHIM = """
#include <cstdint>
#define __global__ static
#define __restrict__
static struct { int x; } blockIdx, threadIdx{0}, blockDim{1}, gridDim{1};
%s
extern "C" void run(int batch, int n, int k, int *weights, int *mods, int *sums, int *tokens, int *ends, int *table,
                    int context, const int64_t *rows, int *starts, int *ids, int eos)
{
    for (blockIdx.x = 0; blockIdx.x < batch * (n - 1) * k; blockIdx.x++)
        ComputeNGramIdsKernel(batch, n, k, weights, mods, sums, tokens, ends, table, context, rows, starts, ids, eos);
}
"""


def longcat_kernel(folder):
    text = source("sglang", "kernels/jit/csrc/speculative/ngram_embedding.cuh").read_text(encoding="utf-8")
    begin = text.index("__global__ void ComputeNGramIdsKernel")
    body = text[begin : text.index("__global__", begin + 10)]
    path = folder / "longcat.cc"
    path.write_text(SHIM % body, encoding="utf-8")
    library = folder / "liblongcat.so"
    subprocess.run(["g++", "-O1", "-shared", "-fPIC", "-w", path, "-o", library], check=True)
    return ctypes.CDLL(str(library.resolve())).run


def longcat(rng, folder):
    """The buffers are those of NgramEmbedding in sglang's n_gram_embedding.py."""
    run = longcat_kernel(folder)
    for vocab, ratio, n, k, eos in ((131072, 78, 4, 4, 2), (500, 3, 3, 2, 7)):
        heads, most = (n - 1) * k, ratio * vocab
        moduli = [most + 2 * i + 1 for i in range(heads)]
        weights = [[pow(vocab, s, m) for s in range(n)] for m in moduli]
        sums = numpy.cumsum([0, *moduli]).astype(numpy.int32)
        lengths, before, context = numpy.array([6, 1, 30]), numpy.array([0, 5, 2], numpy.int32), 64
        table = draw(vocab, (3, context), [eos], rng).int().numpy()
        ends = numpy.concatenate([[0], numpy.cumsum(lengths)]).astype(numpy.int32)
        ids = numpy.concatenate([row[b : b + t] for row, b, t in zip(table, before, lengths)])
        arrays = [numpy.array(weights, numpy.int32), numpy.array(moduli, numpy.int32), sums, ids, ends, table]
        out = numpy.zeros((len(ids), heads), numpy.int32)
        pointer = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        rows = numpy.arange(3, dtype=numpy.int64)
        tail = [ctypes.c_void_p(array.ctypes.data) for array in (rows, before, out)]
        run(3, n, k, *pointer, context, *tail, eos)
        ngram = inlay.NGram(
            vocab,
            n,
            "add",
            columns={
                "length": [2 + i // k for i in range(heads)],
                "modulus": moduli,
                "offset": sums[:-1],
                "vector": list(range(heads)),
            },
            multipliers=weights,
            resets=eos,
        )
        history = numpy.zeros((3, n - 1), numpy.int32)
        known = [min(b, n - 1) for b in before]
        for row, count, b, full in zip(history, known, before, table):
            row[n - 1 - count :] = full[b - count : b]
        made = ngram.ids(ids, offsets=ends, history=history, history_lengths=known, dtype="int32")
        compare(f"LongCat, vocab {vocab}, orders to {n}", torch.from_numpy(made), torch.from_numpy(out))


def main():
    rng = numpy.random.default_rng(1)
    qwen(rng)
    engram(rng)
    longcat(rng, pathlib.Path(sys.argv[1]))
    print("skipped: BLT and LongCat-Next, whose code is in no package; the vectors in tests/data/ngram have them")
    return finish()


if __name__ == "__main__":
    sys.exit(main())
