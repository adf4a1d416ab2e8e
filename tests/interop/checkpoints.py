#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares layers of checkpoints in 16-bit types with the models of transformers, and their n-grams, bit by bit.

Run by `./dev interop`; families.py compares every family in float32. Models are small and random, saved by
save_pretrained() and loaded again. Each has at most one operation that rounds: PyTorch rounds every operation, inlay
rounds once.
"""
import os
import pathlib
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"  # no network access
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"

import numpy  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

import inlay  # noqa: E402
from compared import compare, finish, report  # noqa: E402

TYPES = (torch.float32, torch.float16, torch.bfloat16)
VOCAB, SEQUENCES, LENGTH = 120, 5, 23
SMALL = {"vocab_size": VOCAB, "hidden_size": 48, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
LANGUAGE = {**SMALL, "max_position_embeddings": 40, "num_key_value_heads": 2, "head_dim": 16}
MODELS = [
    ("T5", {"vocab_size": VOCAB, "d_model": 48, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2}),
    *((name, LANGUAGE) for name in ("Llama", "Mistral", "Qwen2", "Qwen3", "Gemma", "Gemma2", "Gemma3Text")),
    ("GPTNeoX", {**SMALL, "max_position_embeddings": 40}),
    ("Granite", {**LANGUAGE, "embedding_multiplier": 12.3}),
]
GEMMA3N = {
    **LANGUAGE, "num_hidden_layers": 3, "hidden_size_per_layer_input": 16, "vocab_size_per_layer_input": 100,
    "num_kv_shared_layers": 1, "layer_types": ["full_attention"] * 3, "activation_sparsity_pattern": [0.0] * 3,
    "intermediate_size": [16] * 3, "laurel_rank": 4,
}  # fmt: skip
QWEN4 = {
    **LANGUAGE, "num_hidden_layers": 3, "eos_token_id": 7, "ple_layer_ids": [1, 2], "ple_embed_dim": 32,
    "layer_types": ["linear_attention", "linear_attention", "full_attention"], "ngram_vocab_size_base": 90,
    "heads_per_ngram": 2, "split_ngram_parts": 4, "make_ngram_vocab_size_divisible_by": 8, "num_experts": 4,
    "num_experts_per_tok": 2, "moe_intermediate_size": 8, "shared_expert_intermediate_size": 8,
    "linear_num_value_heads": 2, "linear_num_key_heads": 2, "linear_key_head_dim": 8, "linear_value_head_dim": 8,
    "hc_count": 2, "hc_lowrank": 4, "indexer_n_heads": 2, "indexer_kv_heads": 1, "indexer_head_dim": 16,
    "indexer_budget": 8, "indexer_compress_ratio": 2,
}  # fmt: skip


def name_of(dtype):
    return str(dtype).removeprefix("torch.")


def model_of(name, options):
    torch.manual_seed(1)
    return getattr(transformers, f"{name}Model")(getattr(transformers, f"{name}Config")(**options)).eval()


def draw_ids(rng):
    return torch.from_numpy(rng.integers(5, VOCAB - 1, size=(SEQUENCES, LENGTH)))


def received(model, ids):
    """Runs a model and returns the input of its first block."""
    seen = []
    blocks = next(m for m in model.modules() if isinstance(m, torch.nn.ModuleList))
    hook = blocks[0].register_forward_pre_hook(
        lambda _module, given, named: seen.append((given[0] if given else named["hidden_states"]).clone()), with_kwargs=True
    )
    inputs = {"input_ids": ids, **({"decoder_input_ids": ids} if model.config.is_encoder_decoder else {})}
    with torch.no_grad():
        model(**inputs)
    hook.remove()
    return seen[0]


def compare_models(folder, rng):
    """Compares each type, and Gemma also in another type than its file's. If that type doesn't hold the file's rows,
    transformers rounds them before the product, and inlay only after it."""
    for name, options in MODELS:
        for saved in TYPES:
            path = folder / f"{name}-{name_of(saved)}"
            model_of(name, options).to(saved).save_pretrained(path)
            for dtype in TYPES if name == "Gemma3Text" else (saved,):
                model = getattr(transformers, f"{name}Model").from_pretrained(path, dtype=dtype).eval()
                ids = draw_ids(rng)
                ours, theirs = inlay.open(path).layer(dtype=dtype)(ids), received(model, ids)
                what = f"{name}, {name_of(saved)} in {name_of(dtype)}"
                if dtype in (saved, torch.float32):
                    compare(what, ours, theirs)
                    continue
                ours, theirs, kind = ours.double(), theirs.double(), torch.finfo(dtype)
                smallest = kind.tiny * LANGUAGE["hidden_size"] ** 0.5  # below it, rows in float16 are subnormal
                within = float(((ours - theirs).abs() / theirs.abs().clamp(min=smallest)).max()) / kind.eps
                bias = float(ours.abs().sum() / theirs.abs().sum()) - 1
                report(what, f"within {within:.2f} of a step, bias {bias:.1e}", within <= 1 and abs(bias) < kind.eps / 20)


def compare_gemma3n(folder, rng):
    for dtype in TYPES:
        path = folder / f"Gemma3n-{name_of(dtype)}"
        model_of("Gemma3nText", GEMMA3N).to(dtype).save_pretrained(path)
        model = transformers.Gemma3nTextModel.from_pretrained(path, dtype=dtype).eval()
        ids, file = draw_ids(rng), inlay.open(path)
        with torch.no_grad():
            compare(f"Gemma3n, {name_of(dtype)}", file.layer(dtype=dtype)(ids), model.embed_tokens(ids))
            theirs = model.get_per_layer_inputs(ids).flatten(-2)
        compare(f"Gemma3n per layer, {name_of(dtype)}", file.layer(part="per_layer", dtype=dtype)(ids), theirs)


def compare_qwen4(folder, rng):
    model = model_of("Qwen4ExpText", QWEN4)
    for dtype in TYPES:
        path = folder / f"Qwen4Exp-{name_of(dtype)}"
        model.to(dtype).save_pretrained(path)
        ids, file = draw_ids(rng), inlay.open(path)
        ids[2, 4] = ids[3, 0] = ids[4, 22] = 7
        with torch.no_grad():
            compare(f"Qwen4Exp, {name_of(dtype)}", file.layer(dtype=dtype)(ids), model.embed_tokens(ids))
            for layer in (0, 1):  # ple_layer_ids counts from 1, names of tensors from 0
                theirs = model.layers[layer].ple.ple_embedding(ids, None)
                ours = file.ngram(layer)(ids, dtype=dtype)
                compare(f"Qwen4Exp n-grams of layer {layer}, {name_of(dtype)}", ours.flatten(2), theirs)


def main():
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    rng = numpy.random.default_rng(1)
    with tempfile.TemporaryDirectory(prefix="inlay-checkpoints-") as folder:
        for run in compare_models, compare_gemma3n, compare_qwen4:
            run(pathlib.Path(folder), rng)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
