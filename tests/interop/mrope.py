#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares inlay.rotary for three rows of positions with the classes of transformers (Qwen2-VL to Qwen3.5, GLM-4V).

    mrope.py

Runs in the virtual environment of `./dev interop`, with the wheel of inlay. The classes are taken from the package's
sources as in ngrams.py. The choice of the position row per frequency is compared bit by bit: their class recombines
inlay's tables of each row. Their own float32 tables must be close. The exit status is 1 if any differ, with a line
"BROKEN ..." for each.
"""

import sys
import types
import typing

import torch

import inlay
from ngrams import broken, compare, definitions, source

# Class, folder and file in transformers, rope_parameters of a model, rotary columns, layout.
MODELS = [
    ("Qwen2VLRotaryEmbedding", "qwen2_vl", {"type": "mrope", "mrope_section": [16, 24, 24]}, 128, "halves"),
    ("Qwen2_5_VLRotaryEmbedding", "qwen2_5_vl", {"type": "mrope", "mrope_section": [16, 24, 24]}, 128, "halves"),
    ("Qwen3VLTextRotaryEmbedding", "qwen3_vl", {"mrope_interleaved": True, "mrope_section": [24, 20, 20]}, 128,
     "halves"),
    ("Qwen3VLMoeTextRotaryEmbedding", "qwen3_vl_moe", {"mrope_interleaved": True, "mrope_section": [24, 20, 20]}, 128,
     "halves"),
    ("Qwen3_5TextRotaryEmbedding", "qwen3_5",
     {"mrope_interleaved": True, "mrope_section": [11, 11, 10], "partial_rotary_factor": 0.25}, 64, "halves"),
    ("Glm4vTextRotaryEmbedding", "glm4v", {"mrope_section": [8, 12, 12], "partial_rotary_factor": 0.5}, 64,
     "interleaved"),
]
BASE = 1000000.0


def theirs_of(name, folder, parameters, dim):
    nn = types.SimpleNamespace(Module=torch.nn.Module, Buffer=torch.nn.Buffer)
    space = {"torch": torch, "nn": nn, "Callable": typing.Callable, "dynamic_rope_update": lambda function: function}
    made = getattr(definitions(source("transformers", f"models/{folder}/modeling_{folder}.py"), {name}, space), name)
    head = int(dim / parameters.get("partial_rotary_factor", 1))
    return made(
        types.SimpleNamespace(
            max_position_embeddings=32768,
            rope_parameters={"rope_theta": BASE, **parameters, "rope_type": "default"},
            head_dim=head,
            hidden_size=2 * head,
            num_attention_heads=2,
        )
    )


def main():
    torch.manual_seed(1)
    positions = torch.randint(300, (3, 2, 200))
    for name, folder, parameters, dim, layout in MODELS:
        theirs = theirs_of(name, folder, parameters, dim)
        ours = inlay.rotary(positions, dim, BASE, parameters, layout)
        near = theirs(torch.empty(0), positions)
        rows = inlay.rotary(positions, dim, BASE, layout="pairs")
        for what, mine, table, other in zip(("cosines", "sines"), ours, rows, near):
            compare(f"{name}, {what}", mine, theirs.recomposition_frequencies(table.clone()))
            if not torch.allclose(mine, other, rtol=0, atol=1e-4):
                broken.append(f"{name}, {what} computed in float32")
    for what in broken:
        print(f"BROKEN {what}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
