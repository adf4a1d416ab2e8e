#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fuses models of transformers that PyTorch exports, and compares the outputs of ONNX Runtime before and after.

    onnx_models.py [--rounds N]

Models are small and random, with one block. TorchScript's exporter writes opsets 14 (a LayerNorm is several nodes) and 17,
torch.export opset 18. A line has the nodes before and after, the time in ms of 8 x 512 tokens for the same model without
blocks, and the largest difference of outputs, relative to the largest output. That must be within TOLERANCE. A model that
cannot be exported is skipped with the reason. The exit status is 1 if a model differs or nothing in it was fused.
"""
import argparse
import io
import logging
import os
import sys
import time
import warnings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
warnings.filterwarnings("ignore")

# pylint: disable=wrong-import-position
import numpy
import onnx
import onnxruntime
import torch
import transformers

import inlay.onnx

TOLERANCE = 2e-6
BATCH, LENGTH, VOCAB, DIM = 8, 512, 30000, 256
COMMON = {"vocab_size": VOCAB, "attn_implementation": "eager"}
LAYERS = ("num_hidden_layers", "n_layers", "n_layer", "num_layers")
HEADS = {"num_attention_heads": 2, "num_hidden_layers": 1, "hidden_size": DIM, "intermediate_size": 64}

# Class of transformers, options of its configuration, and inputs other than input_ids.
MODELS = {
    "BERT": ("Bert", "BertModel", HEADS, ("token_type_ids",)),
    "DistilBERT": ("DistilBert", "DistilBertModel", {"dim": DIM, "n_layers": 1, "n_heads": 2, "hidden_dim": 64}, ()),
    "GPT-2": ("GPT2", "GPT2Model", {"n_embd": DIM, "n_layer": 1, "n_head": 2, "n_inner": 64, "use_cache": False}, ()),
    "T5": ("T5", "T5EncoderModel", {"d_model": DIM, "d_kv": 64, "d_ff": 64, "num_layers": 1, "num_heads": 2}, ()),
    "Llama": ("Llama", "LlamaModel", HEADS | {"num_key_value_heads": 2, "use_cache": False}, ()),
}
EXPORTERS = {
    "TorchScript, opset 14": {"dynamo": False, "opset_version": 14},
    "TorchScript, opset 17": {"dynamo": False, "opset_version": 17},
    "torch.export": {"dynamo": True},
}


class Wrapper(torch.nn.Module):
    """A model of tensors alone: its first output of ids, segments, and a mask, which models need not make then."""

    def __init__(self, model, names):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *tensors):
        return self.model(**dict(zip(self.names, tensors)), return_dict=False)[0]


def export(name, options, layers=1):
    family, model, sizes, others = MODELS[name]
    config, model = getattr(transformers, f"{family}Config"), getattr(transformers, model)
    sizes = {key: layers if key in LAYERS else size for key, size in sizes.items()}
    torch.manual_seed(0)
    names = ["input_ids", "attention_mask", *others]
    wrapper = Wrapper(model(config(**COMMON, **sizes)).eval(), names)
    ids = torch.randint(1, VOCAB, (2, 16))
    mask = torch.zeros(2, 1, 16, 16)
    given = [ids, mask, *(torch.zeros_like(ids) for _ in others)]
    axes = {0: "batch", 1: "length"}
    file = io.BytesIO()
    if options["dynamo"]:
        any_size = torch.export.Dim.AUTO
        shapes = (tuple(dict.fromkeys(range(tensor.ndim), any_size) for tensor in given),)
        program = torch.onnx.export(wrapper, tuple(given), None, input_names=names, dynamic_shapes=shapes, **options)
        return program.model_proto
    dynamic = {n: axes for n in names} | {"attention_mask": {0: "batch", 2: "length", 3: "length"}}
    torch.onnx.export(wrapper, tuple(given), file, input_names=names, dynamic_axes=dynamic, **options)
    return onnx.load_model_from_string(file.getvalue())


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    options.register_custom_ops_library(inlay.onnx.library_path())
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def inputs_of(session, batch, length, rng):
    makers = {
        "input_ids": lambda: rng.integers(1, VOCAB, (batch, length)),
        "attention_mask": lambda: numpy.zeros((batch, 1, length, length), "f4"),
        "token_type_ids": lambda: rng.integers(0, 2, (batch, length)),
    }
    return {value.name: makers[value.name]() for value in session.get_inputs()}


def best(sessions, given, rounds):
    times = [[] for _ in sessions]
    for _ in range(rounds):
        for session, list_of_times in zip(sessions, times):
            begin = time.perf_counter()
            session.run(None, given)
            list_of_times.append(time.perf_counter() - begin)
    return [1e3 * min(t) for t in times]


def compare(name, exporter, rounds):
    """Returns whether a model has the same outputs, and prints its line."""
    what = f"| {name} | {exporter} |"
    try:
        model = export(name, EXPORTERS[exporter])
    except Exception as error:  # pylint: disable=broad-exception-caught # of exporters, which raise anything
        print(what, "skipped: the exporter fails:", str(error).splitlines()[0][:80])
        return True
    before, count = session_of(model), len(model.graph.node)
    fusion = inlay.onnx.fuse(model)
    after = session_of(model)
    rng = numpy.random.default_rng(0)
    worst = 0
    for batch, length in ((2, 16), (1, 5), (3, 1), (1, 1), (4, 64)):
        given = inputs_of(before, batch, length, rng)
        (a,), (b,) = before.run(None, given), after.run(None, given)
        worst = max(worst, abs(a - b).max() / abs(a).max())
    layer = export(name, EXPORTERS[exporter], layers=0)
    plain = session_of(layer)
    inlay.onnx.fuse(layer)
    times = best((plain, session_of(layer)), inputs_of(plain, BATCH, LENGTH, rng), rounds)
    holds = bool(fusion) and worst <= TOLERANCE
    replaced = sum(fused.nodes for fused in fusion)
    print(
        what,
        f"{replaced} by {len(model.graph.node) - count + replaced} | {times[0]:.2f} | {times[1]:.2f} | {worst:.1g} |",
        "" if holds else " BROKEN",
    )
    for fused in fusion:
        print(f"    {fused}; then {fused.end}")
    for skipped in fusion.skipped:
        print(f"    {skipped}")
    return holds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    logging.disable(logging.WARNING)
    print("| model | exporter | nodes | ms before | ms after | largest difference |")
    holds = [compare(name, exporter, rounds) for name in MODELS for exporter in EXPORTERS]
    return not all(holds)


if __name__ == "__main__":
    sys.exit(main())
